//! The application protocols spoken over a WebSocket: one file each, both roles, and one line in the registry.
//!
//! A dialect's file has a `Client` and a `Server`: the state of one connection (nothing at all for the simple
//! ones) with the verbs of `ClientDialect` and `ServerDialect`, and its `parts`.

mod actioncable;
mod binary;
mod contract;
pub mod custom;
mod family;
mod http;
mod json;
mod options;
pub(crate) mod over_http;
mod phoenix;
mod raw;
pub(crate) mod socketio;
pub(crate) mod sockjs;
mod token;

pub use http::{HttpOptions, PIPELINING_MAX};
pub use options::{DialectOptions, ServerDialectOptions, TokenPlace};

pub(crate) use contract::{ClientDialect, Link, Parts, ServerDialect, ServerLink};

use crate::config::{BadOption, Options};
use crate::event::{Event, Kind};
use crate::failure::Failure;
use crate::http::request::Request;
use crate::io::Io;
use crate::server::{ServerConfig, ServerEvent};
use crate::session::{SessionRequest, Word};
use crate::stamp::Stamp;
use crate::ws::receiver::Message;

/// What a plain request gets.
#[derive(Debug)]
pub(crate) enum PlainAnswer {
    /// An empty answer.
    Status(u16),
    /// This, already written.
    Whole(Vec<u8>),
    /// Whatever its session says.
    OfSession(Box<SessionRequest>),
}

/// What a request that is no upgrade gets, once its body is in: that of the dialect at its path, or one empty page.
pub(crate) fn plain_answer(cfg: &ServerConfig, request: &Request<'_>, io: &mut impl Io) -> PlainAnswer {
    match cfg.dialect.unwrap_or_else(|| DialectId::at(request.path())) {
        DialectId::Sockjs => sockjs::plain_answer(cfg, request, io),
        DialectId::Socketio => socketio::plain_answer(cfg, request, io),
        _ => PlainAnswer::Status(match (request.path(), request.method) {
            ("/", "GET" | "HEAD") => 200,
            ("/", _) => 405,
            _ => 404,
        }),
    }
}

/// Makes of the registry what knows every dialect: the ids, their names, and the state of a connection of any.
macro_rules! dialects {
    ($(
        #[doc = $doc:literal] $id:ident: $module:ident, $name:literal $(| $alias:literal)* $(, at $($path:literal)|+)?;
    )*) => {
        /// A dialect.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum DialectId {
            $( #[doc = $doc] $id, )*
        }

        impl DialectId {
            /// Every dialect.
            pub const ALL: &'static [DialectId] = &[$(DialectId::$id),*];

            /// The name on the command line and in results.
            pub fn name(self) -> &'static str {
                match self { $(DialectId::$id => $name,)* }
            }

            /// The dialect of that name or alias.
            pub fn from_name(name: &str) -> Option<DialectId> {
                match name {
                    $($name $(| $alias)* => Some(DialectId::$id),)*
                    _ => None,
                }
            }

            /// The paths at which a server speaks it, and below which; the first is the usual one. Those without
            /// share all the others.
            pub fn paths(self) -> &'static [&'static str] {
                match self { $(DialectId::$id => &[$($($path),+)?],)* }
            }

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
        pub(crate) enum ServerState { $($id($module::Server),)* }

        impl ServerState {
            pub(crate) fn open(id: DialectId, request: &Request<'_>, subprotocol: Option<&str>) -> Result<ServerState, u16> {
                match id { $(DialectId::$id => $module::Server::open(request, subprotocol).map(ServerState::$id),)* }
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

dialects! {
    /// wsdemo's: any message comes back.
    Raw: raw, "raw" | "wsdemo";
    /// websocket-bench's, as JSON: echo and broadcast.
    Json: json, "json" | "standard" | "websocket-bench";
    /// websocket-bench's, as binary: echo and broadcast.
    Binary: binary, "binary";
    /// SockJS, over any of its transports: the json dialect's messages in its frames.
    Sockjs: sockjs, "sockjs", at
        "/sockjs" | "/echo" | "/close" | "/disabled_websocket_echo" | "/cookie_needed_echo";
    /// Action Cable, of Rails and of AnyCable.
    Actioncable: actioncable, "actioncable", at "/cable";
    /// The user's own, which the options describe. Servers do not speak it.
    Custom: custom, "custom";
    /// Phoenix channels, with either serializer.
    Phoenix: phoenix, "phoenix", at "/socket/websocket";
    /// Plain requests: a message is a request, and the answer to it is its echo.
    Http: http, "http";
    /// Socket.IO over Engine.IO; and Engine.IO alone, whose messages come back.
    Socketio: socketio, "socketio" | "socket.io", at "/socket.io" | "/engine.io";
}

impl DialectId {
    /// The dialect that a server speaks at a path: raw stands for raw, json and binary, which share all paths
    /// that no other has.
    pub fn at(path: &str) -> DialectId {
        let is_below =
            |of: &&str| path.strip_prefix(*of).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        let serves = |dialect: &&DialectId| dialect.paths().iter().any(is_below);
        DialectId::ALL.iter().find(serves).copied().unwrap_or(family::GROUP)
    }

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

    /// The HTTP status with which a server refuses an origin that it does not serve.
    pub(crate) fn origin_refusal(self) -> u16 {
        if self == DialectId::Actioncable { 404 } else { 403 }
    }

    /// Appends what a client adds to the path that was given: where its own session is.
    pub(crate) fn write_path(self, options: &Options, now_ns: u64, io: &mut impl Io) {
        if self == DialectId::Sockjs {
            sockjs::write_path(options, now_ns, io);
        }
    }

    /// The dialect that stands for all that share a broadcast group with this one: [`Raw`](DialectId::Raw) for
    /// raw, json and binary.
    pub fn group(self) -> DialectId {
        match self {
            DialectId::Raw | DialectId::Json | DialectId::Binary | DialectId::Custom => family::GROUP,
            _ => self,
        }
    }

    /// Whether [`Kind::Broadcast`] may be sent.
    pub fn can_broadcast(self) -> bool {
        !matches!(self, DialectId::Raw | DialectId::Http)
    }

    /// Whether the server acknowledges a broadcast with a result of its own, apart from the sender's copy. What a
    /// custom dialect does is known to [`Config::has_ack`].
    pub(crate) fn has_ack(self) -> bool {
        !matches!(self, DialectId::Raw | DialectId::Http | DialectId::Custom)
    }
}

/// The deterministic filler after a stamp: `1234567890` over and over, so that damage to it shows.
fn padding(bytes: usize) -> impl Iterator<Item = u8> {
    b"1234567890".iter().copied().cycle().take(bytes)
}
