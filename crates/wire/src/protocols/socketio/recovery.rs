//! Connection state recovery (socket.io 4.6), on the server's side: the rooms of a session whose client comes
//! back, and what was said there meanwhile.

use codec::json;

use super::places::NOWHERE;
use super::sid::SID_CHARS;
use crate::history::{History, Message};
use crate::room::Room;

/// The token by which a session is recovered (`pid`).
pub(super) type Token = [u8; SID_CHARS];

/// A client that lost its connection, and how far it had come.
pub(super) struct Known<'a> {
    pid: &'a [u8],
    offset: u64,
}

/// A session that goes on.
pub(super) struct Recovered {
    pub(super) pid: Token,
    /// The rooms that were kept of it ([`Places::kept`](super::places::Places::kept)).
    pub(super) kept: Vec<u64>,
    pub(super) missed: Vec<Message>,
}

impl Recovered {
    /// A session of which nothing is known.
    pub(super) fn nothing(pid: Token) -> Recovered {
        Recovered { pid, kept: Vec::new(), missed: Vec::new() }
    }
}

impl<'a> Known<'a> {
    /// Reads what a client says among what lets it in.
    pub(super) fn asked(auth: &'a [u8]) -> Option<Known<'a>> {
        let (mut pid, mut offset) = (None, None);
        json::object(auth, |key, value| match key {
            b"pid" => pid = json::string(value),
            b"offset" => offset = json::string(value),
            _ => {}
        })?;
        Some(Known { pid: pid?, offset: json::decimal(offset?)? })
    }

    /// Finds the session in the history, and what was broadcast since in the rooms that it had joined, or in
    /// the `first` if there is none. All are rooms of `namespace`. `None` if this server never gave the token
    /// or the offset, or does not know the session's rooms any more.
    pub(super) fn recover(
        self,
        history: &History,
        namespace: Room,
        first: u64,
        now_ns: u64,
    ) -> Option<Recovered> {
        let pid: Token = self.pid.try_into().ok().filter(|_| history.knows(self.pid))?;
        let kept = history.sessions().take(&pid, now_ns)?;
        let kept: Vec<u64> = kept.iter().filter_map(|room| json::decimal(room)).collect();
        let rooms: &[u64] = if kept.is_empty() { &[first] } else { &kept };
        let rooms = rooms.iter().filter(|&&room| room != NOWHERE);
        let rooms: Vec<Room> = rooms.map(|&room| namespace.within(room)).collect();
        let missed = history.after(&rooms, self.offset, None, now_ns)?.messages;
        Some(Recovered { pid, kept, missed })
    }
}

/// Keeps the rooms of a session.
pub(super) fn keep(history: &History, pid: &Token, kept: impl Iterator<Item = u64>, now_ns: u64) {
    let kept: Vec<Box<[u8]>> = kept.map(|room| room.to_string().into_bytes().into()).collect();
    history.sessions().keep(pid, kept, now_ns);
}
