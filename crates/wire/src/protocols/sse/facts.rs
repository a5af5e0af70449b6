//! Facts and flags of server-sent events.

use crate::backoff::Backoff;
use crate::facts::{AppRules, Body, Facts, Joins, TokenHome};
use crate::flag::Flag;

/// fetch-event-source and most clients of language models ask with a body.
pub(super) const BODY: Flag = Flag::own_text(
    "connect-body",
    "TEXT",
    "the body of the request for the stream, in which {person.COLUMN} and {room} are each client's own; unless it is JSON, give its Content-Type with -H",
);
pub(super) const METHOD: Flag =
    Flag::method("connect-method", "the method of the request for the stream").or("GET; with a body, POST");

/// The HTML standard advises a comment every 15 seconds or so (§9.2.7).
pub(super) const HEARTBEAT: Flag =
    Flag::time("sse-heartbeat", "from one comment on a stream to the next", 15_000_000_000);

pub(super) static FACTS: Facts = Facts {
    name: "sse",
    aliases: &["eventsource", "event-stream"],
    protocol: "sse",
    paths: &["/events"],
    // Chromium, event_source.cc, kDefaultReconnectDelay, unless the server has sent `retry`.
    backoff: Backoff::Steps { ms: &[], then_ms: 3_000.0 },
    only_receives: true,
    token: TokenHome::Authorization,
    flags: &[METHOD, BODY],
    server_flags: &[HEARTBEAT],
    app: Some(AppRules {
        has_events: false,
        has_replies: false,
        tells_replies: false,
        body: Body::Any,
        joins: Joins::Message,
    }),
    ..Facts::USUAL
};
