//! Plain requests, on the server's side: which are allowed, and what is wrong with the others.

use codec::http::answer::{AnswerHead, cors};
use codec::http::{query, request};
use codec::ws::upgrade;

use super::complaint::{
    self, BAD_METHOD, BAD_REQUEST, Complaint, FORBIDDEN, UNKNOWN_SESSION, UNKNOWN_TRANSPORT, UNKNOWN_VERSION,
};
use super::facts::FACTS;
use super::request::{Request, Verb};
use super::rooms;
use super::service::Service;
use super::sid;
use super::version::Version;
use crate::io::Io;
use crate::server_config::ServerConfig;
use crate::session::{PlainAnswer, SessionHead};

/// Longest name of a session that is looked for.
const SID_BYTES_MAX: usize = 128;

/// The answer to a request that is no upgrade.
pub(crate) fn plain_answer(
    cfg: &ServerConfig,
    now_ns: u64,
    request: &request::Request<'_>,
    io: &mut impl Io,
) -> PlainAnswer<SessionHead<Request>> {
    let head = AnswerHead {
        minor: request.minor,
        keep_alive: request.keep_alive(),
        to_head: request.method == "HEAD",
        date: cfg.date(now_ns),
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
            complaint::write(&head, &mut out, status, complaint);
            PlainAnswer::Whole(out)
        }
    }
}

/// The version spoken by a request that may be made.
fn judge(cfg: &ServerConfig, request: &request::Request<'_>) -> Result<Version, Complaint> {
    let param = |name| query::param(request.target, name);
    if param("transport") != Some("polling") {
        return Err(if param("transport") == Some("websocket") { BAD_REQUEST } else { UNKNOWN_TRANSPORT });
    }
    let version = param("EIO").and_then(Version::named).ok_or(UNKNOWN_VERSION)?;
    // The script form of version 3, for browsers without a way to read other origins.
    if param("j").is_some() {
        return Err(BAD_REQUEST);
    }
    upgrade::check_origin(&request.fields, &cfg.origins, FACTS.origin_refusal).map_err(|_| FORBIDDEN)?;
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
) -> SessionHead<Request> {
    let service = Service::at(request.path());
    let asked_for = query::param(request.target, "sid");
    let sid = asked_for.map_or_else(|| sid::fresh(io).map(char::from).iter().collect(), str::to_owned);
    let verb = if request.method == "POST" { Verb::Push { begun: false } } else { Verb::Poll };
    SessionHead {
        name: service.session_name(&sid),
        opens: asked_for.is_none(),
        keep_alive: head.keep_alive,
        question: Request { version, service, room: rooms::room_at(request.target), verb, head, sid },
    }
}
