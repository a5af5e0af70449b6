//! One stay of a client in a room: when it asked, was let in, left and was gone.
//!
//! ```text
//! outside --asks to be let in--> joining --let in--> inside --leaves--> leaving --gone--> outside
//! joining --refused, or leaves unanswered--> leaving
//! ```
//!
//! Rules. Where a copy belongs is decided by when its message was sent. Inside, it is due. Joining and
//! leaving, it is due once or not at all: the server may have known of the visitor, or not. A visitor is
//! joining from what may have been under way when it asked, [`OVERTAKE_NS`] before; and leaving from what it
//! may have left under way: the latest message of the room that came to any client here stood as far behind
//! what was sent before. Outside, nothing is due, and what comes to a client that is outside has leaked.

use crate::books::absences::OVERTAKE_NS;
use crate::books::announcements::UNCOUNTED;

/// Precision to which the clocks of several machines agree: a client whose leave was confirmed is gone only
/// after this time.
const CLOCKS_NS: u64 = 100_000_000;

/// The membership of a copy's receiver when the message was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MembershipState {
    /// In the room.
    Inside,
    /// Joining or leaving.
    Passing,
    /// Outside, and has come in since: an app may show newcomers what was said before.
    Before,
    /// Outside then, and outside now.
    Outside,
}

/// One stay of one client.
#[derive(Clone, Copy, Debug)]
pub(super) struct Membership {
    /// When it asked to be let in.
    pub(super) asked_ns: u64,
    /// When it was let in; `u64::MAX` if it has not been.
    pub(super) from_ns: u64,
    /// The time up to which messages sent are due; `u64::MAX` if it has not left.
    pub(super) until_ns: u64,
    /// The moment from which the client is outside.
    pub(super) gone_ns: u64,
    /// The number of the client's stay before.
    pub(super) before: u32,
    /// The number by which it was announced in this step, if that is counted.
    pub(super) announced: u32,
}

impl Membership {
    /// The stay of a client that asks to be let in.
    pub(super) fn ask(before: u32, announced: u32, now_ns: u64) -> Self {
        let never = u64::MAX;
        Self { asked_ns: now_ns, from_ns: never, until_ns: never, gone_ns: never, before, announced }
    }

    /// The same stay in the books of a further step, which have no stay before it and no announcement of it.
    pub(super) fn carried_over(self) -> Self {
        Self { before: 0, announced: UNCOUNTED, ..self }
    }

    /// Returns whether the client is joining or inside.
    pub(super) fn is_open(&self) -> bool {
        self.until_ns == u64::MAX
    }

    /// Returns whether the client is joining.
    pub(super) fn is_joining(&self) -> bool {
        self.from_ns == u64::MAX && self.is_open()
    }

    /// Returns whether the client is inside.
    pub(super) fn is_inside(&self) -> bool {
        self.from_ns != u64::MAX && self.is_open()
    }

    /// Returns whether the client left, or was turned away, before it was let in.
    pub(super) fn was_given_up(&self) -> bool {
        self.from_ns == u64::MAX && !self.is_open()
    }

    /// Lets a client in that is joining, and returns when it asked.
    pub(super) fn enter(&mut self, now_ns: u64) -> u64 {
        self.from_ns = now_ns;
        self.asked_ns
    }

    /// Ends the wait of a client that is joining.
    pub(super) fn turn_away(&mut self, now_ns: u64) {
        // A stay of no length: nothing was due, and what comes in the next moments is in passing, not leaked.
        self.end(self.asked_ns, now_ns);
    }

    /// Has a client leave that is inside, where the newest message that came to any client here was sent at
    /// `newest_ns`. Returns the time from which it is leaving.
    pub(super) fn leave(&mut self, newest_ns: u64, now_ns: u64) -> u64 {
        // The newest is by its sender's clock, which may be ahead; and a stay does not end before it begins.
        let until_ns = newest_ns.min(now_ns).saturating_sub(OVERTAKE_NS).max(self.from_ns);
        self.end(until_ns, now_ns);
        until_ns
    }

    /// Ends the stay at `now_ns`; messages sent until `until_ns` are due.
    pub(super) fn end(&mut self, until_ns: u64, now_ns: u64) {
        (self.until_ns, self.gone_ns) = (until_ns, now_ns + OVERTAKE_NS);
    }

    /// Handles an answer to a join that was given up: the server lets the client go behind it.
    pub(super) fn handle_late_answer(&mut self, now_ns: u64) {
        self.gone_ns = self.gone_ns.max(now_ns + OVERTAKE_NS);
    }

    /// Handles the server's word that the client has left. Returns when it left, if it had been let in.
    pub(super) fn confirm(&mut self, now_ns: u64) -> Option<u64> {
        // [`end`](Self::end) put it this far behind the leave, where the client was let in.
        let left_ns = (!self.was_given_up()).then_some(self.gone_ns - OVERTAKE_NS);
        // Once confirmed, the server has no excuse to go on; only senders' clocks may differ.
        self.gone_ns = now_ns + CLOCKS_NS;
        left_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stay_takes_forty_bytes() {
        assert_eq!(size_of::<Membership>(), 40);
    }
}
