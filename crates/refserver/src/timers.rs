//! Deadlines of connections: a heap of (time, token), the earliest first.
//!
//! Entries are never removed before their time. The connection remembers which of its entries counts, and the
//! others are ignored when they come up: cheaper than finding them, as most deadlines are met.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

#[derive(Default)]
pub(crate) struct Timers {
    heap: BinaryHeap<Reverse<(u64, u64)>>,
}

impl Timers {
    pub(crate) fn add(&mut self, at_ns: u64, token: u64) {
        self.heap.push(Reverse((at_ns, token)));
    }

    /// The time of the next entry.
    pub(crate) fn next_ns(&self) -> Option<u64> {
        self.heap.peek().map(|Reverse((at_ns, _))| *at_ns)
    }

    /// Takes the next entry whose time has come: (time, token).
    pub(crate) fn pop_due(&mut self, now_ns: u64) -> Option<(u64, u64)> {
        if self.next_ns()? > now_ns {
            return None;
        }
        self.heap.pop().map(|Reverse(entry)| entry)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timers_fire_in_order_and_never_early() {
        let mut timers = Timers::default();
        assert_eq!(timers.next_ns(), None);
        for (at_ns, token) in [(30, 3), (10, 1), (20, 2)] {
            timers.add(at_ns, token);
        }
        assert_eq!(timers.next_ns(), Some(10));
        assert_eq!(timers.pop_due(9), None);
        assert_eq!(timers.pop_due(20), Some((10, 1)));
        assert_eq!(timers.pop_due(20), Some((20, 2)));
        assert_eq!(timers.pop_due(20), None);
        assert_eq!(timers.next_ns(), Some(30));
    }
}
