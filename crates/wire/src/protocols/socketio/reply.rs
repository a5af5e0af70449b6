//! Answers to events, and broadcasts in the form of each way in which members get them.

use std::sync::Arc;

use codec::ws::frame::{self, Opcode};

use super::output::PacketOutput;
use super::packet::{self, in_packet};
use super::payload;
use super::rooms::{room, room_of_sessions};
use super::version::Version;
use crate::event::{OnServerEvent, ServerEvent};
use crate::history::History;

/// Shared parts of answers and broadcasts.
pub(crate) struct Reply<'a> {
    pub(crate) namespace: &'static [u8],
    pub(crate) room: u64,
    pub(crate) attachments: &'a [Vec<u8>],
    /// Bytes of the message that is answered, its attachments apart.
    pub(crate) bytes: u32,
}

impl Reply<'_> {
    /// Answers an event. One without a handler is ignored.
    pub(crate) fn to_event(
        &self,
        name: &[u8],
        arguments: &[u8],
        id: Option<&[u8]>,
        out: &mut impl PacketOutput,
        on: &mut impl OnServerEvent,
    ) {
        let answer = match name {
            b"echo" => "echo",
            b"broadcast" => {
                self.broadcast(arguments, out.history(), on);
                "broadcastResult"
            }
            b"message" => "message-back",
            b"message-with-ack" | b"join" | b"leave" if id.is_some() => "",
            _ => return,
        };
        if !matches!(name, b"broadcast" | b"join" | b"leave") {
            on(ServerEvent::Echoed { bytes: self.bytes });
        }
        match id.filter(|_| name != b"message") {
            Some(id) => {
                let arguments = arguments.strip_prefix(b",").unwrap_or(arguments);
                self.say([b'3', b'6'], &[&packet::ack_id(id), b"[", arguments], out);
            }
            None => self.say([b'2', b'5'], &[b"[\"", answer.as_bytes(), b"\"", arguments], out),
        }
    }

    /// Sends a packet of the first type, or, with attachments, of the second.
    fn say(&self, types: [u8; 2], payload: &[&[u8]], out: &mut impl PacketOutput) {
        let mut text = Vec::new();
        self.write(&mut text, types, payload);
        out.text(&[&text]);
        for attachment in self.attachments {
            out.attachment(attachment);
        }
    }

    fn write(&self, out: &mut Vec<u8>, [plain, binary]: [u8; 2], payload: &[&[u8]]) {
        out.push(b'4');
        match self.attachments.len() {
            0 => out.push(plain),
            count => {
                out.push(binary);
                out.extend_from_slice(format!("{count}-").as_bytes());
            }
        }
        for part in in_packet(self.namespace).iter().chain(payload) {
            out.extend_from_slice(part);
        }
    }

    /// Sends an event to everyone in the room, in each of the encodings.
    pub(crate) fn broadcast(
        &self,
        arguments: &[u8],
        history: Option<(Arc<History>, u64)>,
        on: &mut impl OnServerEvent,
    ) {
        let mut text = Vec::new();
        self.write(&mut text, [b'2', b'5'], &[br#"["broadcast""#, arguments]);
        let to = room(Version::V4, self.namespace).within(self.room);
        let kept =
            history.map(|(history, now_ns)| history.add(to, now_ns, |number| self.numbered(&text, number)));
        let text = kept.as_ref().map_or(&text, |message| &message[0]);
        on(ServerEvent::Broadcast { room: to, frame: &self.frames(Version::V4, text) });
        // The same message in another form, which is not to be counted again.
        on(ServerEvent::Rebroadcast {
            room: room(Version::V3, self.namespace).within(self.room),
            frame: &self.frames(Version::V3, text),
        });
        let mut packets = Vec::new();
        payload::push_text(&mut packets, &[text]);
        for attachment in self.attachments {
            payload::push_attachment(&mut packets, attachment);
        }
        on(ServerEvent::Rebroadcast {
            room: room_of_sessions(self.namespace).within(self.room),
            frame: &packets,
        });
    }

    /// A packet with its number as the last argument, and its attachments.
    fn numbered(&self, text: &[u8], number: u64) -> Vec<Vec<u8>> {
        let end = memchr::memrchr(b']', text).expect("an event is an array");
        let text = [&text[..end], format!(",\"{number}\"]").as_bytes()].concat();
        [&[text], self.attachments].concat()
    }

    /// The packet as it goes over a WebSocket. Members of the room differ in their compression contexts, so
    /// the common frames are plain.
    fn frames(&self, version: Version, text: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(text.len() + 16);
        let mut frame = |opcode, before: &[u8], payload: &[u8]| {
            frame::put(&mut out, opcode, |out| codec::io::extend(out, &[before, payload]));
        };
        frame(Opcode::Text, b"", text);
        let before = version.before_attachment();
        for attachment in self.attachments {
            frame(Opcode::Binary, before, attachment);
        }
        out
    }
}
