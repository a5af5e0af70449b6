//! Clients that leave in mid-step, while others come in their place: which leave, and when.
//!
//! Rules. At each moment that the pacer names, the next usable client in turn leaves. When none is usable,
//! none leaves, and the moment has passed all the same. After the window, or once everything is sent, no more
//! clients leave.

use load::{Pacer, Schedule, Segment};

/// The churn of a step at one worker.
pub(crate) struct Churn {
    pacer: Pacer,
    start_ns: u64,
    /// The moment from which no client leaves.
    end_ns: u64,
    /// Clients here, usable or not.
    clients: u32,
    /// Departures that were due until now.
    begun: u64,
    /// The client that leaves next, if usable.
    next: u32,
    /// True if no client was usable when one was last to leave, nor has become so since.
    is_deserted: bool,
}

impl Churn {
    /// The churn of a load from `start_ns` to `end_ns`, of a step with these numbers of clients: at all
    /// workers, and here.
    pub(crate) fn new(
        churn: load::Churn,
        segment: Segment,
        clients_of_all: u32,
        clients: u32,
        start_ns: u64,
        end_ns: u64,
    ) -> Self {
        // The rate is for all clients. Workers take its moments in turn, so that all departures together are
        // evenly spaced.
        let rate = Schedule::constant(churn.share_per_s * f64::from(clients_of_all.max(1)));
        let pacer = Pacer::new(rate, u32::from(segment.worker), u32::from(segment.workers));
        Self { pacer, start_ns, end_ns, clients, begun: 0, next: 0, is_deserted: false }
    }

    /// The client that leaves now.
    pub(crate) fn poll(&mut self, now_ns: u64, is_usable: impl Fn(u32) -> bool) -> Option<u32> {
        while self.poll_timeout().is_some_and(|at_ns| at_ns <= now_ns) {
            self.begun += 1;
            // Not looked for at each moment: a server that is gone leaves many of both, clients and moments.
            if self.is_deserted {
                continue;
            }
            let mut in_turn = (0..self.clients).map(|k| (self.next + k) % self.clients);
            if let Some(client) = in_turn.find(|&client| is_usable(client)) {
                self.next = client + 1;
                return Some(client);
            }
            self.is_deserted = true;
        }
        None
    }

    /// Notes that a client is usable.
    pub(crate) fn handle_back(&mut self) {
        self.is_deserted = false;
    }

    /// Ends the churn: all is sent.
    pub(crate) fn handle_loaded(&mut self) {
        self.end_ns = 0;
    }

    /// When the next client leaves.
    pub(crate) fn poll_timeout(&self) -> Option<u64> {
        let at_ns = self.start_ns.saturating_add(self.pacer.due_ns(self.begun));
        (at_ns < self.end_ns).then_some(at_ns)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    const ALONE: Segment = Segment { worker: 0, workers: 1 };
    const S: u64 = 1_000_000_000;

    /// Three clients of which one leaves in a second, from 1 s to 4.5 s.
    fn churn() -> Churn {
        let share = load::Churn { share_per_s: 1.0 / 3.0 };
        Churn::new(share, ALONE, 3, 3, S, 4 * S + S / 2)
    }

    #[test]
    fn clients_leave_in_turn_past_absent_ones() {
        let mut churn = churn();
        assert_eq!((churn.poll(S - 1, |_| true), churn.poll_timeout()), (None, Some(S)));
        assert_eq!(churn.poll(S, |_| true), Some(0));
        assert_eq!((churn.poll(S, |_| true), churn.poll_timeout()), (None, Some(2 * S)));
        assert_eq!(churn.poll(2 * S, |client| client != 1), Some(2));
        assert_eq!(churn.poll(3 * S, |_| true), Some(0), "round again");
        assert_eq!(churn.poll(4 * S, |_| false), None, "its moment has passed");
        churn.handle_back();
        assert_eq!((churn.poll(9 * S, |_| true), churn.poll_timeout()), (None, None), "the window is over");
    }

    #[test]
    fn nobody_usable_is_looked_for_once() {
        let (mut churn, looks) = (churn(), Cell::new(0));
        let is_usable = |client: u32| {
            looks.set(looks.get() + 1);
            client == 2 && looks.get() > 3
        };
        assert_eq!(
            (churn.poll(2 * S, is_usable), looks.get()),
            (None, 3),
            "three clients, at the first of two moments"
        );
        assert_eq!((churn.poll(3 * S, is_usable), looks.get()), (None, 3), "nobody is back");
        churn.handle_back();
        assert_eq!(churn.poll(4 * S, is_usable), Some(2));
    }

    #[test]
    fn nobody_leaves_once_all_is_sent() {
        let mut churn = churn();
        churn.handle_loaded();
        assert_eq!((churn.poll(2 * S, |_| true), churn.poll_timeout()), (None, None));
    }
}
