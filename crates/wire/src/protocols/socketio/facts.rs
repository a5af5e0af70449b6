//! Facts and flags of Socket.IO.

use crate::backoff::Backoff;
use crate::facts::{AppRules, Body, Facts, Joins, Opening, TokenHome};
use crate::flag::{self, Flag};

pub(super) const TRANSPORT: Flag =
    Flag::text(flag::TRANSPORT, "NAME", "websocket, polling, or upgrade from one to the other")
        .or("websocket");
pub(super) const NAMESPACE: Flag = Flag::text("namespace", "NAME", "the namespace").or("/");
pub(super) const AUTH: Flag = Flag::secret_json(
    "auth",
    "what lets the client into the namespace, e.g. '{\"user\":1}', env:NAME or file:PATH",
);
pub(super) const EIO: Flag =
    Flag::number("eio", "VERSION", "the version of Engine.IO, 3 or 4", 0, u8::MAX as u64).or("4");
pub(super) const BINARY: Flag = Flag::switch("binary", "send payloads as attachments");
pub(super) const MSGPACK: Flag =
    Flag::switch("msgpack", "packets are MessagePack (socket.io-msgpack-parser)");

/// Socket.IO sends one every 25 seconds.
pub(super) const PING_INTERVAL: Flag =
    Flag::time("socketio-ping-interval", "ping every client this often", 25_000_000_000);
/// Socket.IO waits 20 seconds.
pub(super) const PING_TIMEOUT: Flag = Flag::time(
    "socketio-ping-timeout",
    "give up clients that do not answer a ping for this long",
    20_000_000_000,
);
/// Socket.IO waits 45 seconds.
pub(super) const CONNECT_TIMEOUT: Flag = Flag::time(
    "socketio-connect-timeout",
    "give up clients that have not connected to a namespace by then",
    45_000_000_000,
);
/// Socket.IO takes 1,000,000 (`maxHttpBufferSize`).
pub(super) const MAX_PAYLOAD: Flag =
    Flag::size("socketio-max-payload", "the largest message, and the largest body of a request", 1_000_000);

pub(super) static FACTS: Facts = Facts {
    name: "socketio",
    aliases: &["socket.io"],
    protocol: "socketio",
    paths: &["/socket.io", "/engine.io"],
    // Engine.IO's open packet.
    openings: &[Opening::Start(r#"0{"sid":"#)],
    token: TokenHome::Message,
    // socket.io-client 4, manager.ts.
    backoff: Backoff::Grown {
        first_ms: 1_000.0,
        factor: 2.0,
        first_share: (0.5, 1.5),
        share: (0.5, 1.5),
        ms_max: 5_000.0,
    },
    flags: &[TRANSPORT, NAMESPACE, AUTH, EIO, BINARY, MSGPACK],
    server_flags: &[PING_INTERVAL, PING_TIMEOUT, CONNECT_TIMEOUT, MAX_PAYLOAD],
    body_flag: Some(&MAX_PAYLOAD),
    has_callbacks: true,
    app: Some(AppRules {
        has_events: true,
        has_replies: true,
        tells_replies: false,
        body: Body::Values("the event's arguments"),
        joins: Joins::Namespace,
    }),
    ..Facts::USUAL
};
