//! Facts and flags of Phoenix channels.

use crate::backoff::Backoff;
use crate::facts::{AppRules, Body, Facts, Joins, OwnRoom, TokenHome};
use crate::flag::Flag;

/// The topic of websocket-shootout's Phoenix server.
pub(super) const TOPIC: &str = "room:lobby";
/// The default version of a client.
pub(super) const VSN: &str = "2.0.0";

pub(super) const TOPIC_NAME: Flag =
    Flag::own_text("topic", "NAME", "the topic; {room} in it is the number of the client's room").or(TOPIC);
pub(super) const JOIN_PARAMS: Flag = Flag::secret_json(
    "join-params",
    "parameters of the join, e.g. '{\"user\":1}'; env:NAME and file:PATH keep them out of the list of processes",
);
pub(super) const VERSION: Flag =
    Flag::text("vsn", "VERSION", "the serializer's version, 1.0.0 or 2.0.0").or(VSN);
pub(super) const BINARY: Flag = Flag::switch("binary", "push messages as binary");

/// Phoenix waits 60 seconds.
pub(super) const TIMEOUT: Flag =
    Flag::time("phoenix-timeout", "close connections that are silent for this long", 60_000_000_000);

pub(super) static FACTS: Facts = Facts {
    name: "phoenix",
    protocol: "phoenix",
    paths: &["/socket/websocket"],
    token: TokenHome::Query("token"),
    // phoenix 1.7, socket.js.
    backoff: Backoff::Steps {
        ms: &[10.0, 50.0, 100.0, 150.0, 200.0, 250.0, 500.0, 1_000.0, 2_000.0],
        then_ms: 5_000.0,
    },
    own_room: OwnRoom::Flag(TOPIC_NAME.name, "room:{room}"),
    flags: &[TOPIC_NAME, JOIN_PARAMS, VERSION, BINARY],
    server_flags: &[TIMEOUT],
    app: Some(AppRules {
        has_events: true,
        has_replies: true,
        tells_replies: true,
        body: Body::Value("the event's payload"),
        joins: Joins::Topic,
    }),
    ..Facts::USUAL
};
