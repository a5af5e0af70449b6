//! GraphQL over WebSocket (`graphql-transport-ws`): one subscription, and operations that are answered by number.

use std::collections::HashMap;

use super::turn::{Carried, Flag, Turn, left_out};
use crate::json::{member, text_member};
use crate::recording::{Recording, Text};

const SUBPROTOCOL: &str = "graphql-transport-ws";

/// An operation that the client began.
struct Operation {
    number: String,
    document: String,
    variables: String,
    is_subscription: bool,
}

pub(super) fn read(recording: &Recording) -> Option<Carried> {
    let socket = &recording.socket;
    if !socket.offered().iter().any(|name| name == SUBPROTOCOL) {
        return None;
    }
    let kind = |text: &Text| text_member(&text.text, "type").unwrap_or_default();
    let mut flags = Vec::new();
    let init = socket.frames.iter().find(|text| text.is_sent && kind(text) == "connection_init");
    if let Some(payload) =
        init.and_then(|text| member(&text.text, "payload")).filter(|payload| *payload != "{}")
    {
        flags.push(Flag::new("init-payload", payload));
    }
    let operations: Vec<Operation> = socket.frames.iter().filter_map(operation).collect();
    let mut subscriptions = operations.iter().filter(|operation| operation.is_subscription);
    let subscription = subscriptions.next();
    if let Some(subscription) = subscription {
        flags.push(Flag::new("subscription", &subscription.document));
        if subscription.variables != "{}" {
            flags.push(Flag::new("subscription-variables", &subscription.variables));
        }
    }
    let notes = left_out(subscriptions.map(|other| format!("subscriptions to {}", name_of(&other.document))));
    // Backwards, so that of several operations with one number the first stays.
    let by_number: HashMap<&str, &Operation> =
        operations.iter().rev().map(|operation| (operation.number.as_str(), operation)).collect();
    let turns = socket.frames.iter().filter_map(|text| turn(text, &by_number));
    Some(Carried { protocol: "graphql", flags, turns: turns.collect(), notes, ..Carried::default() })
}

fn operation(text: &Text) -> Option<Operation> {
    let number = text_member(&text.text, "id")?;
    let payload = member(&text.text, "payload").filter(|_| text.is_sent)?;
    let document = text_member(payload, "query")?;
    let variables = member(payload, "variables").unwrap_or("{}").to_owned();
    let is_subscription = document.trim_start().starts_with("subscription");
    Some(Operation { number, document, variables, is_subscription })
}

/// The operation's name, or the first of its fields where it has none; arguments may be tokens.
fn name_of(document: &str) -> &str {
    let (head, fields) = document.split_once('{').unwrap_or((document, ""));
    let name = head.split(['(', '@']).next().and_then(|head| head.split_whitespace().nth(1));
    let is_other = |c: char| !(c.is_ascii_alphanumeric() || c == '_');
    name.or_else(|| fields.trim_start().split(is_other).next()).unwrap_or_default()
}

fn turn(text: &Text, operations: &HashMap<&str, &Operation>) -> Option<Turn> {
    let number = text_member(&text.text, "id")?;
    let operation = *operations.get(number.as_str())?;
    if text.is_sent {
        let is_begun = member(&text.text, "payload").is_some() && !operation.is_subscription;
        let event = Some(operation.document.clone());
        let body = operation.variables.clone();
        return is_begun.then(|| Turn { event, asks: Some(number), ..Turn::of(text, body) });
    }
    let result = member(&text.text, "payload")?;
    let answers = Some(number).filter(|_| !operation.is_subscription);
    Some(Turn { answers, ..Turn::of(text, result) })
}
