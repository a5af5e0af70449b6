//! Facts and flags of Action Cable.

use crate::backoff::Backoff;
use crate::facts::{AppRules, Body, Facts, Joins, Opening, OwnRoom, TokenHome};
use crate::flag::Flag;

/// Rails' subprotocol.
const PLAIN: &str = "actioncable-v1-json";
/// AnyCable's subprotocol: session ids and the history of streams.
pub(super) const EXTENDED: &str = "actioncable-v1-ext-json";
/// The subprotocol a client offers so that a server which speaks nothing else it knows can say so.
const UNSUPPORTED: &str = "actioncable-unsupported";

/// The channel of websocket-shootout's Rails server.
pub(super) const CHANNEL: &str = "BenchmarkChannel";

pub(super) const CHANNEL_CLASS: Flag = Flag::text("channel", "CLASS", "the channel").or(CHANNEL);
pub(super) const CHANNEL_PARAMS: Flag =
    Flag::json("channel-params", "parameters of the subscription, e.g. '{\"room\":1}'");
pub(super) const SUBSCRIPTIONS: Flag = Flag::number(
    "subscriptions",
    "N",
    "subscriptions of each client, at most 1000; from the second on they have an id",
    1,
    1_000,
)
.or("1");
pub(super) const IS_EXTENDED: Flag = Flag::switch(
    "cable-extended",
    "speak AnyCable's extended protocol, in which who comes back gets what it missed",
);
pub(super) const PONGS: Flag =
    Flag::switch("cable-pongs", "answer the server's pings, as AnyCable's pong_timeout wants it");

/// Rails sends one every 3 seconds.
pub(super) const PING_INTERVAL: Flag =
    Flag::time("cable-ping-interval", "ping every client this often", 3_000_000_000);
/// AnyCable asks for none.
pub(super) const PONG_TIMEOUT: Flag = Flag::time(
    "cable-pong-timeout",
    "in the extended protocol, disconnect a client that says nothing for this long after a ping; 0s: never",
    0,
);

pub(super) static FACTS: Facts = Facts {
    name: "actioncable",
    protocol: "actioncable",
    paths: &["/cable"],
    own_room: OwnRoom::Flag(CHANNEL_PARAMS.name, r#"{"room":{room}}"#),
    offered: &[PLAIN],
    compiled: &[PLAIN, EXTENDED, UNSUPPORTED],
    // Rails' welcome, and AnyCable's.
    openings: &[Opening::Start(r#"{"type":"welcome"}"#), Opening::Start(r#"{"type":"welcome","sid":"#)],
    origin_refusal: 404,
    token: TokenHome::Query("jid"),
    // @rails/actioncable 7.1, connection_monitor.js.
    backoff: Backoff::Grown {
        first_ms: 6_000.0,
        factor: 1.15,
        first_share: (1.0, 2.0),
        share: (1.0, 1.15),
        ms_max: f64::INFINITY,
    },
    flags: &[CHANNEL_CLASS, CHANNEL_PARAMS, SUBSCRIPTIONS, IS_EXTENDED, PONGS],
    server_flags: &[PING_INTERVAL, PONG_TIMEOUT],
    app: Some(AppRules {
        has_events: true,
        has_replies: false,
        tells_replies: false,
        body: Body::Object("what the action's method gets"),
        joins: Joins::Channel,
    }),
    ..Facts::USUAL
};
