//! A session in a few words, while it is being recorded.

use std::collections::BTreeMap;

use crate::carried;
use crate::credentials::is_random;
use crate::exchange::Exchange;
use crate::kind::{Kind, Message};
use crate::publish::Published;
use crate::recording::Recording;
use crate::stream::Stream;
use crate::talk::{MESSAGES_MAX, Talk};
use crate::type_member;
use crate::writing::is_of_room;

/// Kinds and rooms that are named: a line has no place for more.
const NAMED_MAX: usize = 3;
/// A name of a room is at most this long.
const ROOM_BYTES_MAX: usize = 32;

/// A session, as far as its messages are understood; nothing in it was typed into a login.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// The protocol's name, as readers know it: `STOMP` where the file has `plain`.
    pub protocol: &'static str,
    /// True if a password was sent.
    pub is_logged_in: bool,
    /// Rooms that were entered.
    pub rooms: Vec<String>,
    /// Kinds of the client's other messages, with their counts, the most frequent first.
    pub said: Vec<(String, usize)>,
    /// Messages of the server but those with which the protocol replies to one; of streams, events.
    pub heard: usize,
    /// Requests whose text came in events of a stream.
    pub published: usize,
    /// Streamed answers of one kind.
    pub answers: usize,
    /// True if it is a stream that was heard, and no WebSocket.
    pub is_stream: bool,
}

impl Summary {
    /// Sums up a session.
    pub fn of(recording: &Recording) -> Summary {
        match &recording.stream {
            Some(stream) => Summary::of_stream(recording, stream),
            None => Summary::of_socket(recording),
        }
    }

    fn of_stream(recording: &Recording, stream: &Stream) -> Summary {
        let carried = carried::read(recording);
        let protocol = carried.name();
        let mut rooms: Vec<String> = Vec::new();
        for (key, room) in recording.socket.url.query_pairs() {
            if is_of_room(&key) && is_shown(&room) && rooms.len() < NAMED_MAX {
                rooms.push(room.into_owned());
            }
        }
        let heard = carried.turns.len() + stream.events.len();
        let talk = Talk::new(carried.turns, None);
        let published = Published::find(recording, &talk).map_or(0, |published| published.count);
        Summary {
            protocol,
            is_logged_in: recording.exchanges.iter().any(Exchange::has_password),
            rooms,
            said: Vec::new(),
            heard,
            published,
            answers: if stream.is_answer { stream.count } else { 0 },
            is_stream: true,
        }
    }

    fn of_socket(recording: &Recording) -> Summary {
        let carried = carried::read(recording);
        let mut summary = Summary {
            protocol: carried.name(),
            is_logged_in: recording.exchanges.iter().any(Exchange::has_password),
            ..Summary::default()
        };
        let mut said: BTreeMap<Kind, usize> = BTreeMap::new();
        let joined = carried.flags.iter().filter(|flag| matches!(flag.name, "channel" | "topic"));
        let mut rooms: Vec<String> = joined.map(|flag| flag.text.clone()).collect();
        let heard = carried.turns.iter().filter(|turn| !turn.is_sent && turn.answers.is_none());
        summary.heard = heard.count();
        let type_at = type_member::find(carried.turns.iter());
        // What the server says is counted and not read: it is most of a session, and this is asked once a second.
        let sent = carried.turns.into_iter().filter(|turn| turn.is_sent).take(MESSAGES_MAX);
        for message in sent.map(|turn| Message::new(turn, type_at.as_deref())) {
            if message.is_login() {
                // Its arguments are no rooms, but a name and a password.
                summary.is_logged_in = true;
            } else if message.kind.is_joining() {
                let is_room = |key: &str, pointer: &str| is_of_room(key) || pointer == "/0";
                let named = message.leaves.iter().filter(|leaf| is_room(&leaf.key, &leaf.pointer));
                rooms.extend(named.map(|leaf| leaf.value.clone()));
            } else {
                *said.entry(message.kind).or_default() += 1;
            }
        }
        summary.said = said.into_iter().map(|(kind, count)| (kind.name(), count)).collect();
        summary.said.sort_by_key(|(_, count)| usize::MAX - count);
        summary.said.truncate(NAMED_MAX);
        rooms.retain(|room| is_shown(room));
        rooms.sort_unstable();
        rooms.dedup();
        rooms.truncate(NAMED_MAX);
        summary.rooms = rooms;
        summary
    }
}

/// Returns whether a value is a room's name and no token.
fn is_shown(room: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-:#. ".contains(c);
    // A number at its end makes no token of a word.
    let word = room.trim_end_matches(|c: char| c.is_ascii_digit());
    !room.is_empty() && room.len() <= ROOM_BYTES_MAX && room.chars().all(is_plain) && !is_random(word)
}
