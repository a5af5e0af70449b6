//! A WebSocket without a protocol that throng knows: each frame, or each record in it, is a message.

use super::stomp;
use super::turn::{Carried, Turn};
use crate::json;
use crate::recording::{Recording, Text};

/// The end of a record of SignalR.
const RECORD: char = '\u{1e}';

pub(super) fn read(recording: &Recording) -> Carried {
    let frames = &recording.socket.frames;
    let separator = separator(frames);
    let turns = frames.iter().flat_map(|frame| {
        let records: Vec<&str> = match separator {
            Some(end) => frame.text.split(end).filter(|record| !record.is_empty()).collect(),
            None => vec![&frame.text],
        };
        let turn = |record: &str| {
            let body = Some(record.to_owned());
            let body = if frame.is_sent { body.and_then(stomp::said) } else { body };
            Some(Turn::of(frame, body?))
        };
        records.into_iter().filter_map(turn).collect::<Vec<_>>()
    });
    let is_stomp = stomp::is_spoken(frames.iter().map(|frame| &*frame.text));
    Carried {
        protocol: "plain",
        speaks: is_stomp.then_some("STOMP"),
        separator,
        names_subprotocols: true,
        turns: turns.collect(),
        ..Carried::default()
    }
}

/// The end of each record, if frames have several.
fn separator(frames: &[Text]) -> Option<&'static str> {
    if frames.iter().all(|frame| frame.text.ends_with(RECORD)) {
        return Some("\u{1e}");
    }
    let are_records =
        |text: &str| text.trim_end().contains('\n') && text.lines().all(|line| json::leaves(line).is_some());
    frames.iter().any(|frame| !frame.is_sent && are_records(&frame.text)).then_some("\n")
}
