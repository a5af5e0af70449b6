//! What a worker has measured and the crew has not taken in yet.
//!
//! Rules. One delta of a worker is under way at a time: the next waits until whoever has that one has let it go
//! ([`Ticket`](crate::Ticket)). Meanwhile the worker goes on collecting, second by second, for rows are of one second each: a full second
//! is put by, packed. When [`SECONDS_HELD_MAX`] are put by, what follows is collected in one. So nothing is lost, no count
//! of bytes depends on how quick the crew is, and the worker never waits. At the end of a phase all goes out at once, with
//! what ends it behind.

use std::collections::VecDeque;

use crate::messages::Delta;
use crate::ticket::Ticket;

/// Seconds that are put by for a crew that is busy.
pub(crate) const SECONDS_HELD_MAX: usize = 64;
/// As much of a second counts as full: workers wake a little early or late.
const SECOND_FULL_NS: u64 = 900_000_000;

/// The deltas of one worker on their way out.
#[derive(Default)]
pub(crate) struct Outgoing {
    ticket: Ticket,
    held: VecDeque<Delta>,
}

impl Outgoing {
    /// Whether a delta is to be made now, of what was collected in so long.
    pub(crate) fn wants(&self, collected_ns: u64) -> bool {
        self.is_free() || collected_ns >= SECOND_FULL_NS && self.held.len() < SECONDS_HELD_MAX
    }

    /// Whether the crew has taken in all that it was given.
    pub(crate) fn is_free(&self) -> bool {
        self.ticket.is_alone()
    }

    /// Puts a delta by.
    pub(crate) fn add(&mut self, delta: Delta) {
        self.held.push_back(delta);
    }

    /// The next to go out, the earliest first.
    pub(crate) fn poll(&mut self) -> Option<Delta> {
        let delta = self.held.pop_front()?;
        Some(Delta { ticket: self.ticket.clone(), ..delta })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;

    /// Hands everything over, as to a crew that lets nothing go.
    fn hand_over(outgoing: &mut Outgoing) -> Vec<Delta> {
        std::iter::from_fn(|| outgoing.poll()).collect()
    }

    #[test]
    fn the_next_waits_until_the_last_is_let_go() {
        let mut outgoing = Outgoing::default();
        assert!(outgoing.wants(1));
        outgoing.add(Delta::default());
        let under_way = hand_over(&mut outgoing);
        assert!(!outgoing.is_free());
        assert!(!outgoing.wants(S / 4), "it goes on collecting");
        assert!(outgoing.wants(S), "but not into the next second");
        outgoing.add(Delta::default());
        assert!(!outgoing.is_free());
        drop(under_way);
        assert!(outgoing.is_free() && outgoing.wants(1));
        assert_eq!(hand_over(&mut outgoing).len(), 1);
        assert!(outgoing.is_free(), "dropped at once");
    }

    #[test]
    fn no_more_than_so_many_seconds_are_put_by() {
        let mut outgoing = Outgoing::default();
        outgoing.add(Delta::default());
        let _under_way = hand_over(&mut outgoing);
        while outgoing.wants(S) {
            outgoing.add(Delta::default());
        }
        assert_eq!(outgoing.held.len(), SECONDS_HELD_MAX);
        assert!(!outgoing.wants(1_000 * S));
    }

    #[test]
    fn the_ticket_stays_behind_at_a_process_boundary() {
        let mut outgoing = Outgoing::default();
        outgoing.add(Delta { acks: 7, ..Delta::default() });
        let bytes = postcard::to_stdvec(&outgoing.poll().unwrap()).unwrap();
        let arrived: Delta = postcard::from_bytes(&bytes).unwrap();
        assert!(arrived.acks == 7 && outgoing.is_free());
    }
}
