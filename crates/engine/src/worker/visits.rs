//! A worker has its clients visit rooms.

use net::clock;
use wire::Direction;

use super::Worker;

impl Worker {
    /// Sends a client that is usable into the rooms where it would be if it had been here for long.
    pub(super) fn settle_in(&mut self, client: u32) {
        let Some(visits) = self.visits.as_mut().filter(|_| self.clients.is_visitor(client)) else { return };
        for kind in visits.handle_usable(client) {
            // The client may be lost with the first question: the others are not asked then.
            if !self.clients.is_usable(client) {
                return;
            }
            self.pass(client, kind, Direction::In);
        }
    }

    /// Has visitors do what is due.
    pub(super) fn visit(&mut self, now_ns: u64) {
        while let Some(visits) = &mut self.visits
            && let Some(action) = visits.poll(now_ns, |client| self.clients.is_visitor(client))
        {
            let waits =
                action.way == Direction::Out && self.clients.is_unanswered(action.client, action.kind);
            if waits && visits.postpone(action, now_ns) {
                continue;
            }
            if waits {
                // Each later leave would wait for the same answers.
                self.clients.stop_waiting(action.client);
            }
            visits.handle_done(action);
            self.pass(action.client, action.kind, action.way);
        }
    }

    fn pass(&mut self, client: u32, kind: u16, way: Direction) {
        let now_ns = clock::monotonic_ns();
        if let Err(cause) = self.clients.pass(client, kind, way, now_ns) {
            self.lose(client, cause, now_ns);
        }
    }

    /// Returns whether a client may still come into the rooms where it has something to send.
    pub(super) fn has_visitors(&self) -> bool {
        self.visits.as_ref().is_some_and(|visits| visits.are_on())
    }
}
