//! Facts of a dialect before anything is said in it: its protocol's folder declares it.

use crate::backoff::Backoff;
use crate::flag::Flag;

/// Facts of a dialect.
#[derive(Clone, Debug)]
pub struct Facts {
    /// The name on the command line and in results.
    pub name: &'static str,
    /// Other names under which it may be asked for.
    pub aliases: &'static [&'static str],
    /// The name of what carries it: its own, but for the dialects of a plain WebSocket.
    pub protocol: &'static str,
    /// The paths at which a server speaks it, and below which; the first is the usual one. Those without
    /// share all the others.
    pub paths: &'static [&'static str],
    /// The subprotocols that a client offers unless told otherwise.
    pub offered: &'static [&'static str],
    /// The subprotocols that a server speaks unless told otherwise.
    pub compiled: &'static [&'static str],
    /// How its servers open a connection, where they do so with something of their own.
    pub openings: &'static [Opening],
    /// The HTTP status with which a server refuses an origin that it does not serve.
    pub origin_refusal: u16,
    /// The place where its own clients put a token.
    pub token: TokenHome,
    /// How long its own clients wait before they connect again.
    pub backoff: Backoff,
    /// Flags of its clients.
    pub flags: &'static [Flag],
    /// Flags of its servers.
    pub server_flags: &'static [Flag],
    /// The one of these that says how large the body of a request to its servers may be.
    pub body_flag: Option<&'static Flag>,
    /// The form of the benchmark's messages where nothing is around them.
    pub form: Form,
    /// How throng's own server is told which room a client is in.
    pub own_room: OwnRoom,
    /// True if there are broadcasts.
    pub can_broadcast: bool,
    /// True if its clients say nothing: what they hear is published by requests.
    pub only_receives: bool,
    /// True if a message can ask for its own answer ([`Ack::Callback`](crate::settings::Ack)).
    pub has_callbacks: bool,
    /// True if there is nothing around a message: what an app says is all there is.
    pub is_bare: bool,
    /// True if any message, text or binary, comes back as it is.
    pub takes_anything: bool,
    /// True if a message is a request, and the answer to it is its echo.
    pub asks: bool,
    /// The protocol TLS has to agree on for it (RFC 7301); `None`: nothing.
    pub alpn: Option<&'static str>,
    /// The rules of a user's own app over it; `None`: an app has no use for this dialect.
    pub app: Option<AppRules>,
    /// True if it is nothing without a user's own app.
    pub needs_app: bool,
}

impl Facts {
    /// The facts of most dialects, but for their names: a base for others.
    pub(crate) const USUAL: Facts = Facts {
        name: "",
        aliases: &[],
        protocol: "",
        paths: &[],
        offered: &[],
        compiled: &[],
        openings: &[],
        origin_refusal: 403,
        token: TokenHome::Nowhere,
        backoff: Backoff::USUAL,
        flags: &[],
        server_flags: &[],
        body_flag: None,
        form: Form::Json,
        own_room: OwnRoom::Query,
        can_broadcast: true,
        only_receives: false,
        has_callbacks: false,
        is_bare: false,
        takes_anything: false,
        asks: false,
        alpn: None,
        app: None,
        needs_app: false,
    };

    /// Returns whether it may be asked for by this name.
    pub fn is_called(&self, name: &str) -> bool {
        self.name == name || self.aliases.contains(&name)
    }
}

/// How throng's own server is told which room a client is in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OwnRoom {
    /// The room is named by the parameter `room` of the query.
    Query,
    /// The room is named by the flag of this name, whose value is then this text.
    Flag(&'static str, &'static str),
}

/// The first message of a server.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Opening {
    /// This, and nothing behind it.
    Whole(&'static str),
    /// This, and something behind it.
    Start(&'static str),
}

impl Opening {
    /// Returns whether this is what was said.
    pub(crate) fn is(self, text: &str) -> bool {
        match self {
            Opening::Whole(whole) => text == whole,
            Opening::Start(start) => text.starts_with(start),
        }
    }
}

/// Places where a protocol's own clients put a token.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TokenHome {
    /// Nowhere: a user who gives a token must say where it goes.
    Nowhere,
    /// Into this parameter of the query.
    Query(&'static str),
    /// Into the `Authorization` header, as a bearer token unless it names its scheme (RFC 6750 §2.1).
    Authorization,
    /// Into a message of the protocol's own, unless another place was asked for.
    Message,
}

/// The form of the benchmark's messages where nothing is around them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// wsdemo's: the stamp, and padding.
    Raw,
    /// websocket-bench's, as JSON.
    Json,
    /// websocket-bench's, as binary.
    Binary,
}

/// Rules of a user's own app over a protocol.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AppRules {
    /// True if messages go under the name of an event.
    pub has_events: bool,
    /// True if the protocol has replies of its own, which need not carry an id.
    pub has_replies: bool,
    /// True if it says of every message whether that is a reply.
    pub tells_replies: bool,
    /// The body of its messages.
    pub body: Body,
    /// How a client joins a room.
    pub joins: Joins,
}

/// How a client joins a room: what a protocol calls it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Joins {
    /// Clients join by a message of the app's own.
    Message,
    /// Clients join a topic (phoenix).
    Topic,
    /// Clients subscribe to a channel with parameters (actioncable).
    Channel,
    /// Clients join by a message, or by connecting to a namespace (socketio).
    Namespace,
}

/// Bodies of an app's messages; of JSON, also its meaning.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Body {
    /// Anything.
    Any,
    /// A JSON object.
    Object(&'static str),
    /// A JSON value.
    Value(&'static str),
    /// JSON values with commas between them.
    Values(&'static str),
}
