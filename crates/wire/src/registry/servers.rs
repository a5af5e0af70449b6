//! A server's side of a connection, whichever protocol it speaks: over a WebSocket, and before it.

use codec::http::answer::AnswerHead;
use codec::http::request::Request;
use codec::ws::MessageType;

use super::sessions::{SessionRequest, SessionSignal};
use crate::contract::{Protocol, ServerProtocol};
use crate::dialect_id::DialectId;
use crate::event::OnServerEvent;
use crate::failure::Failure;
use crate::gate::Form;
use crate::io::Io;
use crate::link::ServerLink;
use crate::protocols;
use crate::publication;
use crate::room::Room;
use crate::server_config::ServerConfig;
use crate::session::PlainAnswer;

macro_rules! servers {
    ($($id:ident: $module:ident, by $($dialect:ident)|+;)*) => {
        /// A connection's protocol, on the server's side.
        #[derive(Debug)]
        pub(crate) enum ServerState {
            $($id(<protocols::$module::$id as Protocol>::Server),)*
        }

        /// Calls the protocol, whichever it is.
        macro_rules! of_any {
            ($state:expr, $server:ident => $call:expr) => {
                match $state { $(ServerState::$id($server) => $call,)* }
            };
        }

        impl ServerState {
            pub(crate) fn open(
                dialect: DialectId,
                cfg: &ServerConfig,
                request: &Request<'_>,
                subprotocol: Option<&str>,
            ) -> Result<ServerState, u16> {
                match dialect {
                    $($(DialectId::$dialect)|+ => {
                        let server = <<protocols::$module::$id as Protocol>::Server>::open(cfg, request, subprotocol);
                        server.map(ServerState::$id)
                    })*
                }
            }

            pub(crate) fn take_request(&mut self) -> Option<SessionRequest> {
                match self { $(ServerState::$id(server) => server.take_request().map(SessionRequest::$module),)* }
            }

            pub(crate) fn handle_answered<I: Io>(
                &mut self,
                link: &mut ServerLink<'_, I>,
                signal: Option<SessionSignal>,
                on: &mut impl OnServerEvent,
            ) -> Result<(), Failure> {
                match self {
                    $(ServerState::$id(server) => server.handle_answered(link, signal.map(SessionSignal::$module), on),)*
                }
            }
        }

        fn protocol_s_answer(
            dialect: DialectId,
            cfg: &ServerConfig,
            now_ns: u64,
            request: &Request<'_>,
            io: &mut impl Io,
        ) -> Option<PlainAnswer<SessionRequest>> {
            match dialect {
                $($(DialectId::$dialect)|+ => {
                    let answer = protocols::$module::$id::plain_answer(cfg, now_ns, request, io)?;
                    Some(answer.map(SessionRequest::$module))
                })*
            }
        }
    };
}

protocols!(servers);

impl ServerState {
    pub(crate) fn handle_upgraded<I: Io>(
        &mut self,
        link: &mut ServerLink<'_, I>,
        on: &mut impl OnServerEvent,
    ) {
        of_any!(self, server => server.handle_upgraded(link, on));
    }

    #[inline]
    pub(crate) fn handle_message<I: Io>(
        &mut self,
        link: &mut ServerLink<'_, I>,
        message_type: MessageType,
        start: usize,
        on: &mut impl OnServerEvent,
    ) -> Result<(), Failure> {
        of_any!(self, server => server.handle_message(link, message_type, start, on))
    }

    pub(crate) fn put_copy(&self, room: Room, payload: &[u8], out: &mut Vec<u8>) {
        of_any!(self, server => server.put_copy(room, payload, out));
    }

    pub(crate) fn handle_close<I: Io>(&mut self, link: &mut ServerLink<'_, I>) {
        of_any!(self, server => server.handle_close(link));
    }

    pub(crate) fn poll_timeout(&self) -> Option<u64> {
        of_any!(self, server => server.poll_timeout())
    }

    pub(crate) fn follows_reader(&self) -> bool {
        of_any!(self, server => server.follows_reader())
    }

    pub(crate) fn handle_timeout<I: Io>(&mut self, link: &mut ServerLink<'_, I>) -> Result<(), Failure> {
        of_any!(self, server => server.handle_timeout(link))
    }
}

/// The paths of its streamed answers: its own, also over a WebSocket, and the one at which clients of OpenAI's API ask.
const STREAMS: [&str; 2] = ["/stream", "/v1/chat/completions"];
/// The path where a server takes any body.
const UPLOAD: &str = "/upload";
/// The path of its metrics.
const METRICS: &str = "/metrics";

/// The dialect that an upgrade at this path is to.
pub(crate) fn dialect_of_upgrade(cfg: &ServerConfig, path: &str) -> DialectId {
    match path == STREAMS[0] {
        true => DialectId::WsStream,
        false => cfg.dialect.map_or_else(|| DialectId::at(path), DialectId::group),
    }
}

/// The answer to a request that is no upgrade, once its body is in: the answer of the protocol at its path,
/// or an empty page.
pub(crate) fn plain_answer(
    cfg: &ServerConfig,
    now_ns: u64,
    request: &Request<'_>,
    io: &mut impl Io,
) -> PlainAnswer<SessionRequest> {
    let head = || AnswerHead {
        minor: request.minor,
        keep_alive: request.keep_alive(),
        to_head: request.method == "HEAD",
        date: cfg.date(now_ns),
        fields: String::new(),
    };
    let path = request.path();
    let methods = |known| PlainAnswer::Methods(if request.method == "OPTIONS" { 204 } else { 405 }, known);
    // It names no resource of this server (RFC 9110 §9.3.6).
    if request.method == "CONNECT" {
        return methods("GET, HEAD, POST, OPTIONS");
    }
    // Before the dialects: a form to log in by is at its path, whatever else would be.
    if cfg.gate.has_form_at(path) {
        return PlainAnswer::OfForm(Box::new(Form::asked(request, head(), io.random_u64())));
    }
    if let Some(room) = path.strip_prefix(publication::PATH).filter(|room| !room.is_empty()) {
        return match request.method {
            "POST" => {
                PlainAnswer::OfSession(Box::new(SessionRequest::for_publishing(head(), room.to_owned())))
            }
            _ => methods("POST, OPTIONS"),
        };
    }
    let usual = || cfg.dialect.unwrap_or_else(|| DialectId::at(path));
    let dialect = if STREAMS.contains(&path) { DialectId::Http } else { usual() };
    protocol_s_answer(dialect, cfg, now_ns, request, io).unwrap_or_else(|| match (path, request.method) {
        ("/", "POST") => PlainAnswer::Echo(Box::new(head()), Vec::new()),
        ("/", "GET" | "HEAD") | (UPLOAD, "POST" | "PUT" | "PATCH" | "DELETE") => PlainAnswer::Status(200),
        // About the server as a whole (RFC 9110 §9.3.7): that it is there.
        ("*", _) => PlainAnswer::Status(204),
        (METRICS, "GET") => PlainAnswer::OfSession(Box::new(SessionRequest::for_metrics(head()))),
        ("/", _) => methods("GET, HEAD, POST, OPTIONS"),
        (UPLOAD, _) => methods("POST, PUT, PATCH, DELETE, OPTIONS"),
        (METRICS, _) => methods("GET, OPTIONS"),
        _ => PlainAnswer::Status(404),
    })
}
