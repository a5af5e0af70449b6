//! The registry: the one place that knows every dialect, and calls whichever a connection speaks.

use super::contract::{ClientDialect, Link, ServerDialect, ServerLink};
use super::options::TokenPlace;
use super::parts::Parts;
use super::{actioncable, binary, custom, family, http, json, phoenix, raw, socketio, sockjs, token};
use crate::config::ServerConfig;
use crate::dialect_id::DialectId;
use crate::event::{Event, Kind, ServerEvent};
use crate::failure::Failure;
use crate::http::answer::AnswerHead;
use crate::http::request::Request;
use crate::io::Io;
use crate::options::{BadOption, Options};
use crate::session::{PlainAnswer, RequestOf, SessionRequest, Word};
use crate::stamp::Stamp;
use crate::ws::receiver::Message;

/// Makes of the registry the state of a connection of any dialect.
macro_rules! dialects {
    ($($id:ident: $module:ident, $server:ident;)*) => {
        impl DialectId {
            /// What the dialect encodes once for all clients of a run.
            pub(crate) fn parts(self, options: &Options) -> Result<Parts, BadOption> {
                match self { $(DialectId::$id => $module::parts(options),)* }
            }
        }

        /// A connection's dialect, on the client's side.
        #[derive(Debug)]
        pub(crate) enum ClientState { $($id($module::Client),)* }

        impl ClientState {
            pub(crate) fn new(id: DialectId) -> ClientState {
                match id { $(DialectId::$id => ClientState::$id($module::Client::default()),)* }
            }

            #[inline]
            pub(crate) fn handle_upgraded<I: Io>(&mut self, link: &mut Link<'_, I>, on: &mut impl FnMut(Event)) {
                match self { $(ClientState::$id(d) => d.handle_upgraded(link, on),)* }
            }

            #[inline]
            pub(crate) fn handle_message<I: Io>(
                &mut self,
                link: &mut Link<'_, I>,
                message: &Message<'_>,
                on: &mut impl FnMut(Event),
            ) -> Result<(), Failure> {
                match self { $(ClientState::$id(d) => d.handle_message(link, message, on),)* }
            }

            #[inline]
            pub(crate) fn send<I: Io>(&mut self, link: &mut Link<'_, I>, unix_ns: u64, kind: Kind, stamp: Stamp) {
                match self { $(ClientState::$id(d) => d.send(link, unix_ns, kind, stamp),)* }
            }

            pub(crate) fn is_usable(&self) -> bool {
                match self { $(ClientState::$id(d) => d.is_usable(),)* }
            }

            pub(crate) fn poll_timeout(&self) -> Option<u64> {
                match self { $(ClientState::$id(d) => ClientDialect::poll_timeout(d),)* }
            }

            pub(crate) fn handle_timeout<I: Io>(
                &mut self,
                link: &mut Link<'_, I>,
                on: &mut impl FnMut(Event),
            ) -> Result<(), Failure> {
                match self { $(ClientState::$id(d) => d.handle_timeout(link, on),)* }
            }
        }

        /// A connection's dialect, on the server's side.
        #[derive(Debug)]
        pub(crate) enum ServerState { $($id($server::Server),)* }

        impl ServerState {
            pub(crate) fn open(id: DialectId, request: &Request<'_>, subprotocol: Option<&str>) -> Result<ServerState, u16> {
                match id { $(DialectId::$id => $server::Server::open(request, subprotocol).map(ServerState::$id),)* }
            }

            pub(crate) fn handle_upgraded<I: Io>(&mut self, link: &mut ServerLink<'_, I>, on: &mut impl FnMut(ServerEvent<'_>)) {
                match self { $(ServerState::$id(d) => d.handle_upgraded(link, on),)* }
            }

            #[inline]
            pub(crate) fn handle_message<I: Io>(
                &mut self,
                link: &mut ServerLink<'_, I>,
                text: bool,
                start: usize,
                on: &mut impl FnMut(ServerEvent<'_>),
            ) -> Result<(), Failure> {
                match self { $(ServerState::$id(d) => d.handle_message(link, text, start, on),)* }
            }

            pub(crate) fn take_request(&mut self) -> Option<SessionRequest> {
                match self { $(ServerState::$id(d) => d.take_request(),)* }
            }

            pub(crate) fn handle_answered<I: Io>(
                &mut self,
                link: &mut ServerLink<'_, I>,
                word: Option<Word>,
                on: &mut impl FnMut(ServerEvent<'_>),
            ) -> Result<(), Failure> {
                match self { $(ServerState::$id(d) => d.handle_answered(link, word, on),)* }
            }

            pub(crate) fn handle_close<I: Io>(&mut self, link: &mut ServerLink<'_, I>) {
                match self { $(ServerState::$id(d) => d.handle_close(link),)* }
            }

            pub(crate) fn poll_timeout(&self) -> Option<u64> {
                match self { $(ServerState::$id(d) => ServerDialect::poll_timeout(d),)* }
            }

            pub(crate) fn handle_timeout<I: Io>(
                &mut self,
                link: &mut ServerLink<'_, I>,
                on: &mut impl FnMut(ServerEvent<'_>),
            ) -> Result<(), Failure> {
                match self { $(ServerState::$id(d) => d.handle_timeout(link, on),)* }
            }
        }
    };
}

// Each with the module of its client and that of its server.
dialects! {
    Raw: raw, family;
    Json: json, family;
    Binary: binary, family;
    Sockjs: sockjs, sockjs;
    Actioncable: actioncable, actioncable;
    Custom: custom, family;
    Phoenix: phoenix, phoenix;
    Http: http, family;
    Socketio: socketio, socketio;
}

impl DialectId {
    /// The subprotocols a client offers unless told otherwise.
    pub(crate) fn subprotocols(self) -> &'static [&'static str] {
        match self {
            DialectId::Actioncable => &[actioncable::PLAIN],
            _ => &[],
        }
    }

    /// Adds to a client's request what the dialect's own options ask for.
    pub(crate) fn complete(self, options: &mut Options) -> Result<(), BadOption> {
        if self == DialectId::Http {
            // Bodies are looked at as they come, and not kept.
            options.limits.body_bytes_max = u64::MAX;
        }
        let usual = match self {
            DialectId::Socketio => return socketio::complete(options),
            DialectId::Actioncable => Some(TokenPlace::Query("jid".to_owned())),
            DialectId::Phoenix => Some(TokenPlace::Query("token".to_owned())),
            _ => None,
        };
        if self == DialectId::Phoenix {
            phoenix::complete(options)?;
        }
        token::place(options, usual)
    }

    /// The subprotocols a server speaks unless told otherwise.
    pub(crate) fn spoken_subprotocols(self) -> &'static [&'static str] {
        match self {
            DialectId::Actioncable => actioncable::SPOKEN,
            _ => &[],
        }
    }

    /// Appends what a client adds to the path that was given: where its own session is.
    pub(crate) fn write_path(self, options: &Options, now_ns: u64, io: &mut impl Io) {
        if self == DialectId::Sockjs {
            sockjs::write_path(options, now_ns, io);
        }
    }
}

/// Where a server takes any body.
const UPLOAD: &str = "/upload";
/// Where it shows what it does.
const METRICS: &str = "/metrics";

fn metrics(cfg: &ServerConfig, now_ns: u64, request: &Request<'_>) -> PlainAnswer {
    let head = AnswerHead {
        minor: request.minor,
        keep_alive: request.keep_alive(),
        date: cfg.date(now_ns),
        fields: String::new(),
    };
    PlainAnswer::OfSession(Box::new(SessionRequest {
        name: String::new(),
        opens: false,
        keep_alive: head.keep_alive,
        body: Vec::new(),
        of: RequestOf::Metrics(head),
    }))
}

/// What a request that is no upgrade gets, once its body is in: that of the dialect at its path, or one empty page.
pub(crate) fn plain_answer(
    cfg: &ServerConfig,
    now_ns: u64,
    request: &Request<'_>,
    io: &mut impl Io,
) -> PlainAnswer {
    match cfg.dialect.unwrap_or_else(|| DialectId::at(request.path())) {
        DialectId::Sockjs => sockjs::plain_answer(cfg, now_ns, request, io),
        DialectId::Socketio => socketio::plain_answer(cfg, now_ns, request, io),
        _ => match (request.path(), request.method) {
            ("/", "GET" | "HEAD") | (UPLOAD, "POST" | "PUT" | "PATCH" | "DELETE") => PlainAnswer::Status(200),
            (METRICS, "GET") => metrics(cfg, now_ns, request),
            ("/" | UPLOAD | METRICS, _) => PlainAnswer::Status(405),
            _ => PlainAnswer::Status(404),
        },
    }
}
