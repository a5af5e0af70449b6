//! Phoenix channels: `[join_ref, ref, topic, event, payload]`, or an object with these names before version 2.

use std::collections::BTreeSet;

use super::turn::{Carried, Flag, Turn, left_out, most};
use crate::json::{items, member, text_of};
use crate::recording::{Recording, Text};

const JOIN: &str = "phx_join";
const REPLY: &str = "phx_reply";
/// Events of the protocol itself.
const OWN: [&str; 6] = [JOIN, "phx_leave", "phx_close", "phx_error", "heartbeat", "access_token"];

/// A message with its envelope.
struct Message<'a> {
    text: &'a Text,
    number: Option<String>,
    topic: String,
    event: String,
    payload: &'a str,
    is_first: bool,
}

pub(super) fn read(recording: &Recording) -> Option<Carried> {
    let frames = &recording.socket.frames;
    let messages: Vec<Message<'_>> = frames.iter().filter_map(message).collect();
    let joins: Vec<&Message<'_>> = messages.iter().filter(|m| m.text.is_sent && m.event == JOIN).collect();
    let is_own = |message: &&Message<'_>| OWN.contains(&message.event.as_str());
    let spoken = messages.iter().filter(|m| m.text.is_sent && !is_own(m)).map(|m| m.topic.as_str());
    let heard = messages.iter().filter(|m| !is_own(m)).map(|m| m.topic.as_str());
    let topic = most(spoken).or_else(|| most(heard))?;
    let join = joins.iter().find(|join| join.topic == topic)?;
    let mut flags = vec![Flag::new("topic", &topic)];
    if join.payload != "{}" {
        flags.push(Flag::new("join-params", join.payload));
    }
    if join.is_first {
        flags.push(Flag::new("vsn", "1.0.0"));
    }
    let others: BTreeSet<&str> = joins.iter().map(|join| join.topic.as_str()).collect();
    let others = others.into_iter().filter(|other| *other != topic);
    // The part before the colon is the channel's; behind it may be a token.
    let kinds = others.map(|other| format!("topics of {}", other.split(':').next().unwrap_or_default()));
    let join_number = join.number.clone();
    let turns = messages.iter().filter(|message| message.topic == topic && !is_own(message));
    let turns = turns.filter(|message| message.event != REPLY || message.number != join_number).map(turn);
    Some(Carried {
        protocol: "phoenix",
        flags,
        own_query: &["vsn"],
        turns: turns.collect(),
        notes: left_out(kinds),
        ..Carried::default()
    })
}

fn message(text: &Text) -> Option<Message<'_>> {
    let is_first = text.text.starts_with('{');
    let parts: Vec<&str> = match is_first {
        true => ["ref", "topic", "event", "payload"]
            .map(|name| member(&text.text, name))
            .into_iter()
            .collect::<Option<_>>()?,
        false => items(&text.text)?.get(1..5)?.to_vec(),
    };
    let [number, topic, event, payload] = parts[..] else { return None };
    let (topic, event) = (text_of(topic)?, text_of(event)?);
    Some(Message { text, number: text_of(number), topic, event, payload, is_first })
}

fn turn(message: &Message<'_>) -> Turn {
    let number = message.number.clone();
    if message.event == REPLY {
        let response = member(message.payload, "response").unwrap_or_default();
        return Turn { answers: number, ..Turn::of(message.text, response) };
    }
    let asks = number.filter(|_| message.text.is_sent);
    Turn { event: Some(message.event.clone()), asks, ..Turn::of(message.text, message.payload) }
}
