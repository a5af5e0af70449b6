//! Kinds of servers that a probe finds, and how their clients behave.

use std::time::Duration;

use wire::{DialectId, Settings, Value};

/// A kind of server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Service {
    ActionCable,
    /// Socket.IO, and the version of Engine.IO if the server names it.
    SocketIo(Option<u8>),
    Phoenix,
    LiveView,
    SockJs,
    Graphql,
    /// A WebSocket whose messages are its own.
    Plain,
    /// Server-Sent Events.
    EventStream,
    /// Answers that come in pieces, and the API at whose path they are.
    Answer(Option<&'static str>),
    /// Plain requests.
    Http,
}

impl Service {
    /// The name of the protocol.
    pub(super) fn name(self) -> &'static str {
        match self {
            Service::ActionCable => "Action Cable",
            Service::SocketIo(Some(3)) => "Socket.IO 2 (EIO 3)",
            Service::SocketIo(Some(_)) => "Socket.IO (EIO 4)",
            Service::SocketIo(None) => "Socket.IO, without polling",
            Service::Phoenix => "Phoenix Channels",
            Service::LiveView => "Phoenix LiveView",
            Service::SockJs => "SockJS",
            Service::Graphql => "GraphQL (graphql-transport-ws)",
            Service::Plain => "WebSocket",
            Service::EventStream => "Server-Sent Events",
            Service::Answer(_) => "an answer in pieces",
            Service::Http => "HTTP",
        }
    }

    /// The dialect that a run speaks to it.
    pub(super) fn dialect(self) -> Option<DialectId> {
        match self {
            Service::ActionCable => Some(DialectId::Actioncable),
            Service::SocketIo(_) => Some(DialectId::Socketio),
            Service::Phoenix => Some(DialectId::Phoenix),
            Service::SockJs => Some(DialectId::Sockjs),
            Service::Graphql => Some(DialectId::Graphql),
            Service::Plain => Some(DialectId::Raw),
            Service::EventStream => Some(DialectId::Sse),
            Service::LiveView | Service::Answer(_) | Service::Http => None,
        }
    }

    /// Returns whether it is a WebSocket of a protocol that throng speaks.
    pub(super) fn is_websocket(self) -> bool {
        self.dialect().is_some() && self != Service::EventStream
    }

    /// Returns whether its clients can resume after a disconnect.
    pub(super) fn resumes(self) -> bool {
        matches!(self, Service::SocketIo(_) | Service::EventStream | Service::ActionCable)
    }

    /// The settings of clients that resume: those of Action Cable speak AnyCable's extended protocol.
    pub(super) fn resuming(self, settings: Settings) -> Settings {
        match self {
            Service::ActionCable => settings.with("cable-extended", Value::On),
            _ => settings,
        }
    }

    /// The first message of its clients, without which the server turns them away after a while.
    pub(super) fn opening(self) -> Option<&'static str> {
        match self {
            Service::SocketIo(_) => Some("40"),
            Service::Graphql => Some(r#"{"type":"connection_init"}"#),
            _ => None,
        }
    }

    /// A message on which nothing happens; empty: any message is one.
    pub(super) fn harmless(self) -> &'static str {
        match self {
            // Engine.IO's pong.
            Service::SocketIo(_) => "3",
            Service::Phoenix | Service::LiveView => r#"[null,"1","phoenix","heartbeat",{}]"#,
            Service::Graphql => r#"{"type":"pong"}"#,
            Service::ActionCable => r#"{"command":"none"}"#,
            Service::SockJs => r#"[""]"#,
            Service::Plain | Service::EventStream | Service::Answer(_) | Service::Http => "",
        }
    }

    /// The answer to a heartbeat that comes as a message.
    pub(super) fn heartbeat(self) -> fn(&[u8]) -> Option<&'static str> {
        match self {
            Service::SocketIo(_) => |message| (message == b"2").then_some("3"),
            Service::Graphql => {
                |message| message.starts_with(br#"{"type":"ping""#).then_some(r#"{"type":"pong"}"#)
            }
            _ => |_| None,
        }
    }

    /// The test for a heartbeat that comes as a message; `None` where the protocol has none of its own, so that any
    /// message may be one.
    pub(super) fn is_heartbeat(self) -> Option<fn(&[u8]) -> bool> {
        match self {
            Service::SocketIo(_) => Some(|message| message == b"2"),
            Service::ActionCable => Some(|message| message.starts_with(br#"{"type":"ping""#)),
            Service::SockJs => Some(|message| message == b"h"),
            Service::Graphql => Some(|message| message.starts_with(br#"{"type":"ping""#)),
            _ => None,
        }
    }

    /// Returns whether its clients answer heartbeats that come as messages.
    pub(super) fn answers_heartbeats(self) -> bool {
        matches!(self, Service::SocketIo(_) | Service::Graphql)
    }

    /// The interval of heartbeats that the server's first message announces.
    pub(super) fn announced_interval(self, first: &[u8]) -> Option<Duration> {
        // Before Engine.IO's version 4, it is the client that pings (`0{"sid":…,"pingInterval":25000,…}`).
        let is_servers = matches!(self, Service::SocketIo(version) if version != Some(3));
        let handshake = first.strip_prefix(b"0").filter(|_| is_servers)?;
        let mut ms = None;
        codec::json::object(handshake, |name, value| {
            if name == b"pingInterval" {
                ms = std::str::from_utf8(value).ok().and_then(|value| value.trim().parse().ok());
            }
        })?;
        ms.map(Duration::from_millis)
    }

    /// The protocol of `throng init --from`.
    pub(super) fn example(self) -> Option<&'static str> {
        match self {
            Service::ActionCable => Some("actioncable"),
            Service::SocketIo(_) => Some("socketio"),
            Service::Phoenix => Some("phoenix"),
            Service::LiveView => Some("liveview"),
            Service::SockJs => Some("sockjs"),
            Service::Graphql => Some("graphql"),
            Service::Plain => Some("plain"),
            Service::EventStream => Some("sse"),
            Service::Answer(_) => Some("stream"),
            Service::Http => None,
        }
    }
}
