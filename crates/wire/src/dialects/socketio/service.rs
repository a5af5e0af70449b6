//! Plain requests, on the server's side: who may ask for what, and what is wrong with the others.

use super::session::{Request, Verb};
use super::{Service, Version, query_param, sid};
use crate::dialects::{DialectId, PlainAnswer};
use crate::http::answer::{AnswerHead, cors};
use crate::http::request;
use crate::io::Io;
use crate::server::ServerConfig;
use crate::session::{RequestOf, SessionRequest};
use crate::ws::upgrade;

/// What is wrong with a request, as engine.io numbers it.
type Complaint = (u8, &'static str);

const UNKNOWN_TRANSPORT: Complaint = (0, "Transport unknown");
pub(crate) const UNKNOWN_SESSION: Complaint = (1, "Session ID unknown");
const BAD_METHOD: Complaint = (2, "Bad handshake method");
pub(crate) const BAD_REQUEST: Complaint = (3, "Bad request");
const FORBIDDEN: Complaint = (4, "Forbidden");
const UNKNOWN_VERSION: Complaint = (5, "Unsupported protocol version");

/// Longest name of a session that is looked for.
const SID_BYTES_MAX: usize = 128;

/// Names a session among those of all dialects.
pub(crate) fn session_name(service: Service, sid: &str) -> String {
    let path = match service {
        Service::Socket => "socket.io",
        Service::Engine => "engine.io",
    };
    format!("{path}/{sid}")
}

/// Writes what is wrong with a request.
pub(crate) fn complain(head: &AnswerHead, out: &mut Vec<u8>, status: u16, (code, message): Complaint) {
    let body = format!(r#"{{"code":{code},"message":"{message}"}}"#);
    head.write_whole(out, status, Some("application/json"), body.as_bytes());
}

/// What a request that is no upgrade gets.
pub(crate) fn plain_answer(
    cfg: &ServerConfig,
    request: &request::Request<'_>,
    io: &mut impl Io,
) -> PlainAnswer {
    let head = AnswerHead {
        minor: request.minor,
        keep_alive: request.keep_alive(),
        fields: ["Cache-Control: no-store\r\n", &cors(request)].concat(),
    };
    let mut out = Vec::new();
    if request.method == "OPTIONS" {
        let fields = [&head.fields, "Access-Control-Allow-Methods: GET, POST, OPTIONS\r\n"].concat();
        AnswerHead { fields, ..head }.write_whole(&mut out, 204, None, b"");
        return PlainAnswer::Whole(out);
    }
    match judge(cfg, request) {
        Ok(version) => PlainAnswer::OfSession(Box::new(session_request(request, version, head, io))),
        Err(complaint) => {
            let status = if complaint == FORBIDDEN { 403 } else { 400 };
            complain(&head, &mut out, status, complaint);
            PlainAnswer::Whole(out)
        }
    }
}

/// The version spoken by a request that may be made.
fn judge(cfg: &ServerConfig, request: &request::Request<'_>) -> Result<Version, Complaint> {
    let param = |name| query_param(request.target, name);
    if param("transport") != Some("polling") {
        return Err(if param("transport") == Some("websocket") { BAD_REQUEST } else { UNKNOWN_TRANSPORT });
    }
    let version = param("EIO").and_then(Version::named).ok_or(UNKNOWN_VERSION)?;
    // The script form of version 3, for browsers without a way to read other origins.
    if param("j").is_some() {
        return Err(BAD_REQUEST);
    }
    let refusal = DialectId::Socketio.origin_refusal();
    upgrade::check_origin(&request.fields, &cfg.origins, refusal).map_err(|_| FORBIDDEN)?;
    match (request.method, param("sid")) {
        ("GET", None) => Ok(version),
        (_, None) => Err(BAD_METHOD),
        ("GET" | "POST", Some(sid)) if sid.len() <= SID_BYTES_MAX => Ok(version),
        ("GET" | "POST", Some(_)) => Err(UNKNOWN_SESSION),
        _ => Err(BAD_REQUEST),
    }
}

fn session_request(
    request: &request::Request<'_>,
    version: Version,
    head: AnswerHead,
    io: &mut impl Io,
) -> SessionRequest {
    let service = Service::at(request.path());
    let asked_for = query_param(request.target, "sid");
    let sid = asked_for.map_or_else(|| sid(io).map(char::from).iter().collect(), str::to_owned);
    let verb = if request.method == "POST" { Verb::Push } else { Verb::Poll };
    SessionRequest {
        name: session_name(service, &sid),
        opens: asked_for.is_none(),
        keep_alive: head.keep_alive,
        body: Vec::new(),
        of: RequestOf::Socketio(Request { version, service, verb, head, sid }),
    }
}
