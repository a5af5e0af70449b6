//! Facts and flags of SockJS.

use crate::facts::{AppRules, Body, Facts, Joins, Opening};
use crate::flag::{self, Flag};

pub(super) const TRANSPORT: Flag = Flag::text(
    flag::TRANSPORT,
    "NAME",
    "websocket, raw-websocket, xhr-streaming, xhr-polling, eventsource, htmlfile, jsonp",
)
.or("websocket");
pub(super) const INFO: Flag =
    Flag::switch("info", "ask for /info first, as browsers do; it is part of the handshake");

/// The protocol document recommends 25 seconds.
pub(super) const HEARTBEAT: Flag =
    Flag::time("sockjs-heartbeat", "from one heartbeat to the next", 25_000_000_000);
/// The protocol document says 5 seconds.
pub(super) const DISCONNECT: Flag = Flag::time(
    "sockjs-disconnect",
    "how long a session over requests lives while its client asks for nothing",
    5_000_000_000,
);
/// 128 KiB by the protocol document.
pub(super) const RESPONSE_LIMIT: Flag = Flag::size(
    "sockjs-response-limit",
    "end a streaming answer after this much, except that of /echo, which ends after 4096 bytes",
    128 << 10,
);

pub(super) static FACTS: Facts = Facts {
    name: "sockjs",
    protocol: "sockjs",
    paths: &["/sockjs", "/echo", "/close", "/disabled_websocket_echo", "/cookie_needed_echo"],
    openings: &[Opening::Whole("o")],
    flags: &[TRANSPORT, INFO],
    server_flags: &[HEARTBEAT, DISCONNECT, RESPONSE_LIMIT],
    app: Some(AppRules {
        has_events: false,
        has_replies: false,
        tells_replies: false,
        body: Body::Any,
        joins: Joins::Message,
    }),
    ..Facts::USUAL
};
