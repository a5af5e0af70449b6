//! Action Cable: commands with an identifier, and messages of the subscription that has most.

use super::turn::{Carried, Flag, Turn, left_out, most};
use crate::json::{member, text_member, without};
use crate::recording::{Recording, Text};

const SUBPROTOCOL: &str = "actioncable-v1";
/// Parameters that tell subscriptions of one channel apart, from the side of throng.
const CHANNEL: &str = "channel";

pub(super) fn read(recording: &Recording) -> Option<Carried> {
    let socket = &recording.socket;
    let is_offered = socket.offered().iter().any(|name| name.starts_with(SUBPROTOCOL));
    let subscribes = |text: &Text| text.is_sent && text_member(&text.text, "command").is_some();
    if !is_offered && !socket.frames.iter().any(subscribes) {
        return None;
    }
    let identifiers: Vec<Option<String>> =
        socket.frames.iter().map(|text| text_member(&text.text, "identifier")).collect();
    // A page may be subscribed to more than it speaks in: the one with most messages is the app's.
    let votes = socket.frames.iter().zip(&identifiers).filter(|(text, _)| !is_command(text, "subscribe"));
    let spoken = votes.clone().filter(|(text, _)| text.is_sent).filter_map(|(_, name)| name.as_deref());
    let heard = votes.filter_map(|(_, name)| name.as_deref());
    let identifier = most(spoken).or_else(|| most(heard))?;
    let mut others: Vec<&str> = identifiers.iter().flatten().map(String::as_str).collect();
    others.sort_unstable();
    others.dedup();
    others.retain(|other| *other != identifier);
    let turns = socket.frames.iter().zip(&identifiers);
    let turns =
        turns.filter(|(_, name)| name.as_ref() == Some(&identifier)).filter_map(|(text, _)| turn(text));
    let mut flags = vec![Flag::new(CHANNEL, text_member(&identifier, CHANNEL)?)];
    let params = without(&identifier, &[CHANNEL])?;
    if params != "{}" {
        flags.push(Flag::new("channel-params", params));
    }
    Some(Carried {
        protocol: "actioncable",
        flags,
        turns: turns.collect(),
        notes: left_out(others.into_iter().map(named)),
        ..Carried::default()
    })
}

/// The other subscription, by its channel.
fn named(identifier: &str) -> String {
    match text_member(identifier, CHANNEL) {
        Some(channel) => format!("subscriptions to {channel}"),
        None => "subscriptions without a channel".to_owned(),
    }
}

fn is_command(text: &Text, command: &str) -> bool {
    text.is_sent && text_member(&text.text, "command").as_deref() == Some(command)
}

fn turn(text: &Text) -> Option<Turn> {
    if text.is_sent {
        let data = text_member(&text.text, "data").filter(|_| is_command(text, "message"))?;
        let event = text_member(&data, "action");
        return Some(Turn { event, ..Turn::of(text, without(&data, &["action"])?) });
    }
    let message = member(&text.text, "message")?;
    Some(Turn { event: text_member(message, "action"), ..Turn::of(text, message) })
}
