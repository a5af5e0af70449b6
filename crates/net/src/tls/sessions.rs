//! TLS sessions that clients go on with when they come back: by ticket (RFC 8446 §2.2, RFC 5077) or by id
//! (RFC 5246 §7.3).
//!
//! A session that a server gives to one client is as good for any other, so that the clients of a worker have
//! theirs in one queue. Each is used once, by a client that was there before, and the oldest goes first: a
//! newcomer has none.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustls::NamedGroup;
use rustls::client::{ClientSessionStore, Tls12ClientSessionValue, Tls13ClientSessionValue};
use rustls::pki_types::ServerName;

/// Servers give out two with a handshake (nginx, Node.js, rustls), some of them none with a resumed one, and
/// Chrome keeps two.
const EACH_MAX: usize = 2;

/// The sessions of clients of one server.
#[derive(Debug, Default)]
pub(super) struct Sessions {
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    /// The most of each kind.
    max: usize,
    tls12: VecDeque<Tls12ClientSessionValue>,
    tls13: VecDeque<Tls13ClientSessionValue>,
    /// The key exchange that the server wants.
    group: Option<NamedGroup>,
}

impl Sessions {
    /// Keeps the sessions of `clients` clients from now on.
    pub(super) fn keep(&self, clients: usize) {
        let (mut kept, max) = (self.lock(), EACH_MAX * clients);
        kept.max = max;
        keep_newest(&mut kept.tls12, max);
        keep_newest(&mut kept.tls13, max);
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Adds to a queue what the newest of its clients has; the oldest makes room.
fn push<T>(queue: &mut VecDeque<T>, max: usize, session: T) {
    if queue.len() >= max {
        queue.pop_front();
    }
    if max > 0 {
        queue.push_back(session);
    }
}

/// Drops the oldest of a queue: their tickets are the first that a server no longer takes.
fn keep_newest<T>(queue: &mut VecDeque<T>, max: usize) {
    queue.drain(..queue.len().saturating_sub(max));
}

/// The sessions, as a client sees them.
#[derive(Debug)]
pub(super) struct SessionStore {
    pub(super) sessions: Arc<Sessions>,
    /// True if it was there before.
    pub(super) is_back: bool,
}

impl SessionStore {
    fn take<T>(&self, of: impl FnOnce(&mut Kept) -> Option<T>) -> Option<T> {
        // A newcomer stores what it gets and is given nothing: its handshake must be a whole one.
        if self.is_back { of(&mut self.sessions.lock()) } else { None }
    }
}

impl ClientSessionStore for SessionStore {
    fn set_kx_hint(&self, _: ServerName<'static>, group: NamedGroup) {
        self.sessions.lock().group = Some(group);
    }

    fn kx_hint(&self, _: &ServerName<'_>) -> Option<NamedGroup> {
        self.take(|kept| kept.group)
    }

    fn set_tls12_session(&self, _: ServerName<'static>, session: Tls12ClientSessionValue) {
        let kept = &mut *self.sessions.lock();
        push(&mut kept.tls12, kept.max, session);
    }

    fn tls12_session(&self, _: &ServerName<'_>) -> Option<Tls12ClientSessionValue> {
        self.take(|kept| kept.tls12.pop_front())
    }

    /// It was taken out when it was used.
    fn remove_tls12_session(&self, _: &ServerName<'static>) {}

    fn insert_tls13_ticket(&self, _: ServerName<'static>, session: Tls13ClientSessionValue) {
        let kept = &mut *self.sessions.lock();
        push(&mut kept.tls13, kept.max, session);
    }

    fn take_tls13_ticket(&self, _: &ServerName<'static>) -> Option<Tls13ClientSessionValue> {
        self.take(|kept| kept.tls13.pop_front())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fewer_clients_keep_the_newest_sessions() {
        let mut queue = VecDeque::new();
        for session in 0..6 {
            push(&mut queue, 4, session);
        }
        assert_eq!(queue, [2, 3, 4, 5]);
        for (max, kept) in [(8, &[2, 3, 4, 5][..]), (2, &[4, 5]), (0, &[])] {
            keep_newest(&mut queue, max);
            assert_eq!(queue, kept, "{max}");
        }
    }
}
