//! Messages to a room from outside, by a request to the server: `POST /publish/ROOM`, whose body is JSON.
//!
//! It arrives as a member's broadcast would, in the words of each protocol, without a sender.

use codec::json;
use codec::ws::frame::{self, Opcode};
use percent_encoding::percent_decode_str;

use crate::event::{OnServerEvent, ServerEvent};
use crate::room::Room;

/// The beginning of a path, before the room's name.
pub(crate) const PATH: &str = "/publish/";

/// A message from outside.
#[derive(Debug)]
pub(crate) struct Publication<'a> {
    /// The room as a URL names it, escapes and all: clients that came by `?room=NAME` have named it so.
    pub(crate) in_url: &'a str,
    /// The room's name without escapes, as it stands in topics and parameters.
    pub(crate) room: Vec<u8>,
    /// JSON.
    pub(crate) payload: &'a [u8],
}

impl<'a> Publication<'a> {
    /// `None` if the body is no JSON text.
    pub(crate) fn new(in_url: &'a str, body: &'a [u8]) -> Option<Publication<'a>> {
        let payload = body.trim_ascii();
        let is_text = std::str::from_utf8(payload).is_ok() && json::is_value(payload);
        let room = percent_decode_str(in_url).collect();
        is_text.then_some(Publication { in_url, room, payload })
    }

    /// The message as websocket-bench's clients broadcast it.
    pub(crate) fn message(&self) -> Vec<u8> {
        [br#"{"type":"broadcast","payload":"#, self.payload, b"}"].concat()
    }

    /// The room's name as JSON: a string, and, where the name is a number, that too.
    pub(crate) fn names(&self) -> Vec<Vec<u8>> {
        let mut quoted = b"\"".to_vec();
        json::escape(&mut quoted, &self.room);
        quoted.push(b'"');
        let is_number = self.room.iter().all(u8::is_ascii_digit) && json::is_value(&self.room);
        [quoted].into_iter().chain(is_number.then(|| self.room.clone())).collect()
    }
}

/// Has a text in a frame sent to every member of a room. The server's driver counts the message, once for all
/// rooms.
pub(crate) fn tell(room: Room, text: &[&[u8]], on: &mut impl OnServerEvent) {
    let mut frame = Vec::new();
    frame::put(&mut frame, Opcode::Text, |out| codec::io::extend(out, text));
    on(ServerEvent::Rebroadcast { room, frame: &frame });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numeric_rooms_have_two_names() {
        let names = |in_url| Publication::new(in_url, b"{}").map(|publication| publication.names());
        assert_eq!(names("7"), Some(vec![b"\"7\"".to_vec(), b"7".to_vec()]));
        assert_eq!(names("07"), Some(vec![b"\"07\"".to_vec()]));
        assert_eq!(names("a%20%22b"), Some(vec![br#""a \"b""#.to_vec()]));
    }

    #[test]
    fn only_json_is_published() {
        for body in [&b""[..], b"{", b"{} {}", b"hello", b"\"\xff\""] {
            assert!(Publication::new("hall", body).is_none(), "{body:?}");
        }
        let publication = Publication::new("hall", b" [1]\n").unwrap();
        assert_eq!(publication.message(), br#"{"type":"broadcast","payload":[1]}"#);
    }
}
