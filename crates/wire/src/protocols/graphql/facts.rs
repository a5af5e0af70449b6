//! Facts and flags of GraphQL over WebSocket.

use crate::backoff::Backoff;
use crate::facts::{AppRules, Body, Facts, Joins, OwnRoom};
use crate::flag::Flag;

const SUBPROTOCOL: &str = "graphql-transport-ws";

pub(super) const SUBSCRIPTION: Flag =
    Flag::text("subscription", "DOCUMENT", "what each client subscribes to").or("subscription{messages}");
pub(super) const VARIABLES: Flag =
    Flag::json("subscription-variables", "variables of the subscription, e.g. '{\"room\":\"{room}\"}'");
pub(super) const INIT: Flag = Flag::secret_json(
    "init-payload",
    "payload of connection_init, e.g. '{\"token\":\"{token}\"}'; env:NAME and file:PATH keep it out of the list of processes",
);

pub(super) static FACTS: Facts = Facts {
    name: "graphql",
    aliases: &[SUBPROTOCOL],
    protocol: "graphql",
    paths: &["/graphql"],
    offered: &[SUBPROTOCOL],
    compiled: &[SUBPROTOCOL],
    // graphql-ws 6, client.ts, retryWait: doubled from one second on, and 0.3 to 3 s at random, here their
    // mean; five times.
    backoff: Backoff::Steps { ms: &[2_650.0, 3_650.0, 5_650.0, 9_650.0], then_ms: 17_650.0 },
    own_room: OwnRoom::Flag(VARIABLES.name, r#"{"room":{room}}"#),
    flags: &[SUBSCRIPTION, VARIABLES, INIT],
    app: Some(AppRules {
        has_events: true,
        has_replies: true,
        tells_replies: true,
        body: Body::Object("the operation's variables"),
        joins: Joins::Message,
    }),
    ..Facts::USUAL
};
