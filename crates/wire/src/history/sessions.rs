//! Subscriptions of sessions whose clients may come back and name them.
//!
//! A session is kept while its connection counts as alive, and for [`KEPT_NS`] from then on. A client
//! that comes back takes it over: no client can come back to the same session twice.

use std::collections::HashMap;

/// How long after the time until which it counts as alive (AnyCable's `sessions_ttl`).
const KEPT_NS: u64 = 300_000_000_000;
/// Bytes of all sessions together: one for which there is no room is not kept.
const BYTES_MAX: usize = 16 << 20;
/// Memory of a session beside its own bytes, and of a name in it.
const SESSION_BYTES: usize = 128;
const NAME_BYTES: usize = 32;
/// Sessions below which all may be looked through.
const FEW: usize = 1_024;

/// Sessions by the names that the server gave them.
#[derive(Debug, Default)]
pub(crate) struct Sessions {
    by_name: HashMap<Box<[u8]>, Session>,
    bytes: usize,
    /// How many there may be before those that are over are looked for.
    many: usize,
    /// When those were last looked for.
    swept_ns: u64,
}

/// The subscriptions of a session, in the words in which its client had asked for it.
#[derive(Debug)]
struct Session {
    joined: Vec<Box<[u8]>>,
    /// The time until which it counts as alive.
    alive_ns: u64,
}

impl Sessions {
    /// Keeps a session that has joined this, in place of what it had joined before.
    pub(crate) fn keep(&mut self, name: &[u8], joined: Vec<Box<[u8]>>, now_ns: u64) {
        let alive_ns = self.remove(name).map_or(now_ns, |before| before.alive_ns.max(now_ns));
        let session = Session { joined, alive_ns };
        let is_full = self.bytes + session.bytes() > BYTES_MAX;
        // Where all are alive, not again with each session for which there is no room.
        let may_have_ended = now_ns >= self.swept_ns + KEPT_NS / 16;
        if self.by_name.len() >= self.many.max(FEW) || (is_full && may_have_ended) {
            self.by_name.retain(|_, session| session.alive_ns + KEPT_NS >= now_ns);
            self.bytes = self.by_name.values().map(Session::bytes).sum();
            (self.many, self.swept_ns) = (2 * self.by_name.len(), now_ns);
        }
        if self.bytes + session.bytes() <= BYTES_MAX {
            self.bytes += session.bytes();
            self.by_name.insert(name.into(), session);
        }
    }

    /// Keeps what a session has joined. Without room for that, forgets the session, which could not be
    /// restored as it was.
    pub(crate) fn join(&mut self, name: &[u8], joined: &[u8]) {
        let Some(session) = self.by_name.get_mut(name) else { return };
        session.joined.push(joined.into());
        self.bytes += NAME_BYTES + joined.len();
        if self.bytes > BYTES_MAX {
            self.remove(name);
        }
    }

    /// Removes what a session has left.
    pub(crate) fn leave(&mut self, name: &[u8], joined: &[u8]) {
        let Some(session) = self.by_name.get_mut(name) else { return };
        self.bytes -= session.bytes();
        session.joined.retain(|other| **other != *joined);
        self.bytes += session.bytes();
    }

    /// Notes that a session counts as alive until then, though nothing may come from it.
    pub(crate) fn touch(&mut self, name: &[u8], alive_ns: u64) {
        if let Some(session) = self.by_name.get_mut(name) {
            session.alive_ns = session.alive_ns.max(alive_ns);
        }
    }

    /// Takes its subscriptions, for a client that comes back to it.
    pub(crate) fn take(&mut self, name: &[u8], now_ns: u64) -> Option<Vec<Box<[u8]>>> {
        self.remove(name).filter(|session| session.alive_ns + KEPT_NS >= now_ns).map(|session| session.joined)
    }

    fn remove(&mut self, name: &[u8]) -> Option<Session> {
        let session = self.by_name.remove(name)?;
        self.bytes -= session.bytes();
        Some(session)
    }
}

impl Session {
    fn bytes(&self) -> usize {
        SESSION_BYTES + self.joined.iter().map(|name| NAME_BYTES + name.len()).sum::<usize>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> Vec<Box<[u8]>> {
        names.iter().map(|name| name.as_bytes().into()).collect()
    }

    #[test]
    fn returning_clients_take_over_their_rooms_once() {
        let mut sessions = Sessions::default();
        sessions.keep(b"s", names(&["a"]), 0);
        sessions.join(b"s", b"b");
        sessions.join(b"s", b"c");
        sessions.leave(b"s", b"a");
        sessions.join(b"nobody", b"a");
        assert_eq!(sessions.take(b"nobody", 0), None);
        assert_eq!(sessions.take(b"s", 0), Some(names(&["b", "c"])));
        assert_eq!((sessions.take(b"s", 0), sessions.bytes), (None, 0));
    }

    #[test]
    fn sessions_outlive_their_last_ping() {
        let mut sessions = Sessions::default();
        for name in [b"a", b"b"] {
            sessions.keep(name, Vec::new(), 0);
        }
        sessions.touch(b"b", 2);
        sessions.touch(b"b", 1);
        sessions.keep(b"b", Vec::new(), 1);
        assert_eq!(sessions.take(b"a", KEPT_NS + 1), None);
        assert_eq!(sessions.take(b"b", KEPT_NS + 2), Some(Vec::new()));
    }

    #[test]
    fn full_tables_forget_expired_sessions() {
        let mut sessions = Sessions::default();
        for n in 0..200_000_u32 {
            sessions.keep(&n.to_be_bytes(), names(&["a"]), 0);
        }
        sessions.keep(b"s", names(&["a"]), KEPT_NS);
        assert_eq!(sessions.take(b"s", KEPT_NS), None, "all are alive");
        sessions.keep(b"s", names(&["a"]), 2 * KEPT_NS);
        assert_eq!(sessions.take(b"s", 2 * KEPT_NS), Some(names(&["a"])));
    }

    #[test]
    fn abandoned_sessions_are_bounded() {
        let mut sessions = Sessions::default();
        for n in 0..100_000_u64 {
            sessions.keep(&n.to_be_bytes(), names(&["a"]), n * KEPT_NS / 1_000);
        }
        assert!(sessions.by_name.len() <= 3_000, "{}", sessions.by_name.len());
        let mut sessions = Sessions::default();
        for n in 0..10_000_u32 {
            sessions.keep(&n.to_be_bytes(), Vec::new(), 0);
            sessions.join(&n.to_be_bytes(), &[0; 10_000]);
        }
        assert!(sessions.bytes <= BYTES_MAX, "{}", sessions.bytes);
    }
}
