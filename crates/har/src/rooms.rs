//! Rooms in the URL of an event stream. Clients enter by it, and requests tell a room something by the same name.

use crate::recording::Recording;
use crate::toml_text::plain;
use crate::writing::{is_of_room, numbered_room, with_rooms};

/// Names of rooms in a stream's URL, each with what stands for it; none of a WebSocket.
pub(crate) struct StreamRooms {
    of_query: Vec<(String, String)>,
    /// True if a path may name a room by a number: the stream's does, or there is no stream.
    has_paths: bool,
}

impl StreamRooms {
    pub(crate) fn of(recording: &Recording) -> StreamRooms {
        let url = &recording.socket.url;
        let Some(stream) = &recording.stream else {
            return StreamRooms { of_query: Vec::new(), has_paths: true };
        };
        // A question is asked in no room.
        if stream.is_answer {
            return StreamRooms { of_query: Vec::new(), has_paths: false };
        }
        let named = url.query_pairs().filter_map(|(key, value)| {
            let placeholder = numbered_room(&key, &value)?;
            Some((value.into_owned(), placeholder))
        });
        StreamRooms { of_query: named.collect(), has_paths: with_rooms(url.path()) != plain(url.path()) }
    }

    /// The placeholder of a value under this key.
    pub(crate) fn placeholder(&self, key: &str, value: &str) -> Option<String> {
        let (_, placeholder) = self.of_query.iter().find(|(room, _)| room == value)?;
        is_of_room(key).then(|| placeholder.clone())
    }

    /// A part of a path: as recorded, and as it is written where rooms have numbers.
    pub(crate) fn part(&self, recorded: &str, written: &str) -> String {
        // A number alone may be anything's.
        let is_number = recorded.bytes().all(|byte| byte.is_ascii_digit());
        let named = self.of_query.iter().find(|(room, _)| room == recorded && !is_number);
        match named {
            Some((_, placeholder)) => placeholder.clone(),
            // A stream of all rooms hears the recorded one as well, and there may be no other.
            None if written.contains("{room}") && !self.has_paths && self.of_query.is_empty() => {
                plain(recorded)
            }
            None => written.to_owned(),
        }
    }
}
