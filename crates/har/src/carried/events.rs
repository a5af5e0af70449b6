//! Streams: each event of a subscription is a message of the server's. An answer has none: it is measured as a whole.

use super::turn::{Carried, Turn};
use crate::recording::Recording;

pub(super) fn read(recording: &Recording) -> Option<Carried> {
    let stream = recording.stream.as_ref()?;
    if stream.is_answer {
        return Some(Carried { protocol: "stream", speaks: Some("streamed answers"), ..Carried::default() });
    }
    let frames = &recording.socket.frames;
    let mut notes = Vec::new();
    if stream.comments > 0 {
        notes.push(format!("{} comments kept the stream open; clients pass over them.", stream.comments));
    }
    if stream.has_ids {
        notes
            .push("Events have ids: a client that comes back sends the last one (Last-Event-ID).".to_owned());
    }
    Some(Carried {
        protocol: "sse",
        speaks: Some("event stream"),
        turns: frames.iter().map(|frame| Turn::of(frame, &*frame.text)).collect(),
        notes,
        ..Carried::default()
    })
}
