//! Services' handling of messages. A message stays the way it is written in a JSON string, since that is how
//! it goes out again.

use std::ops::Range;

use app::Kind;
use codec::json::escape;
use codec::ws::frame::{self, Opcode};

use super::frames::{self, Strings};
use super::service::{App, Framing, Service, ServiceRoom};
use crate::apps::bench::json;
use crate::event::{OnServerEvent, ServerEvent};
use crate::failure::Failure;

/// The close of the service `/close`.
pub(crate) const GO_AWAY: CloseReason = CloseReason { code: 3000, text: "Go away!" };

/// The contents of a close frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct CloseReason {
    pub(crate) code: u16,
    pub(crate) text: &'static str,
}

/// Answers the messages of the array that lies in `out`: appends the replies, as strings with commas between.
/// An array that is none is a failure, before anything is done.
pub(crate) fn answer_array(
    service_room: ServiceRoom,
    out: &mut Vec<u8>,
    array: Range<usize>,
    on: &mut impl OnServerEvent,
) -> Result<(), Failure> {
    let mut strings = Strings::default();
    // All of it before any: a session must not see half of a request that is then refused.
    while let Some(string) = strings.next(&out[array.clone()])? {
        frames::check(&out[array.clone()][string])?;
    }
    let start = out.len();
    let mut strings = Strings::default();
    while let Some(string) = strings.next(&out[array.clone()])? {
        if out.len() > start {
            out.push(b',');
        }
        answer(service_room, out, array.start + string.start..array.start + string.end, on);
    }
    Ok(())
}

/// Appends the reply to the message whose string, well escaped, lies in `out`.
pub(crate) fn answer(
    service_room: ServiceRoom,
    out: &mut Vec<u8>,
    string: Range<usize>,
    on: &mut impl OnServerEvent,
) {
    match kind(service_room.service, &out[string.clone()]) {
        Kind::Echo => {
            on(ServerEvent::Echoed { bytes: string.len() as u32 });
            append_string(out, string);
        }
        Kind::Broadcast => {
            broadcast(service_room, out, string.clone(), on);
            out.push(b'"');
            append_result(out, string);
            out.push(b'"');
        }
    }
}

/// Returns whether a message, as a string or not, is but to be sent back, which nearly all are that are no
/// broadcasts.
pub(crate) fn is_echo(service: &Service, message: &[u8]) -> bool {
    service.app != App::Benchmark || memchr::memmem::find(message, b"broadcast").is_none()
}

/// The kind of a message.
fn kind(service: &Service, string: &[u8]) -> Kind {
    const USUAL: &[u8] = br#"{\"type\":\"broadcast\","#;
    // A search for the word is quicker than to unescape: only what has it may be a broadcast at all.
    if is_echo(service, string) {
        return Kind::Echo;
    }
    if string.starts_with(USUAL) {
        return Kind::Broadcast;
    }
    let mut plain = Vec::new();
    let unescaped = frames::unescape(&mut plain, string);
    unescaped.ok().and_then(|()| json::recognise(&plain)).map_or(Kind::Echo, |(kind, _)| kind)
}

/// Appends a string as it goes out, with its marks.
fn append_string(out: &mut Vec<u8>, string: Range<usize>) {
    out.push(b'"');
    if frames::has_mangled(&out[string.clone()]) {
        // Copied, because it lies in the vector that grows; that is rare.
        let string = out[string].to_vec();
        frames::escape_mangled(out, &string);
    } else {
        out.extend_from_within(string);
    }
    out.push(b'"');
}

/// Appends what the sender of a broadcast gets besides its copy.
fn append_result(out: &mut Vec<u8>, string: Range<usize>) {
    let mut plain = Vec::new();
    let unescaped = frames::unescape(&mut plain, &out[string]);
    debug_assert!(unescaped.is_ok(), "checked before");
    if let Some((_, at)) = json::recognise(&plain) {
        plain.splice(at..at + json::BROADCAST_BYTES, json::RESULT.iter().copied());
    }
    escape(out, &plain);
}

/// Sends a message without a sender to everyone in the room.
pub(crate) fn publish(service_room: ServiceRoom, message: &[u8], on: &mut impl OnServerEvent) {
    let mut string = Vec::new();
    escape(&mut string, message);
    let whole = 0..string.len();
    broadcast(service_room, &mut string, whole, &mut |event| {
        on(match event {
            ServerEvent::Broadcast { room, frame } => ServerEvent::Rebroadcast { room, frame },
            other => other,
        });
    });
}

/// Sends a message to everyone in the room, in each of the three encodings.
fn broadcast(
    service_room: ServiceRoom,
    out: &mut Vec<u8>,
    string: Range<usize>,
    on: &mut impl OnServerEvent,
) {
    let start = out.len();
    out.push(b',');
    append_string(out, string.clone());
    on(ServerEvent::Broadcast { room: service_room.room_of_sessions(), frame: &out[start..] });
    let quoted = start + 1..out.len();

    let framed = out.len();
    frame::put(out, Opcode::Text, |out| {
        out.extend_from_slice(b"a[");
        out.extend_from_within(quoted);
        out.push(b']');
    });
    // The same message for those with another encoding: not counted again.
    on(ServerEvent::Rebroadcast { room: service_room.room(Framing::Framed), frame: &out[framed..] });

    let mut plain = Vec::new();
    let unescaped = frames::unescape(&mut plain, &out[string]);
    debug_assert!(unescaped.is_ok(), "checked before");
    let raw = out.len();
    frame::put(out, Opcode::Text, |out| out.extend_from_slice(&plain));
    on(ServerEvent::Rebroadcast { room: service_room.room(Framing::Raw), frame: &out[raw..] });
    out.truncate(start);
}
