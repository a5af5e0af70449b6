//! Writes in the midst of which others kept the worker from the CPU.
//!
//! Bytes of such a write went out before that or after it. The time until the worker had its CPU back is held
//! against nobody but those who had it.

use std::collections::VecDeque;

use codec::Stamp;

/// How many are remembered. Answers to messages of earlier ones count as if nothing had held these.
const WRITES_MAX: usize = 64;

/// The latest of those writes, in the order of time.
#[derive(Debug, Default)]
pub(crate) struct HeldWrites(VecDeque<HeldWrite>);

#[derive(Debug)]
struct HeldWrite {
    client: u32,
    began_ns: u64,
    held_ns: u64,
}

impl HeldWrites {
    /// Notes a write of this client that began at this moment, and ended so much later.
    #[cold]
    pub(crate) fn add(&mut self, client: u32, began_ns: u64, held_ns: u64) {
        if self.0.len() == WRITES_MAX {
            self.0.pop_front();
        }
        self.0.push_back(HeldWrite { client, began_ns, held_ns });
    }

    /// For how long the write was held that a client's message went out with; 0: not at all.
    #[inline]
    pub(crate) fn held_ns(&self, client: u32, stamp: Stamp) -> u64 {
        let sent_ns = stamp.sent_ns();
        // Most messages are later than all of them.
        if self.0.back().is_none_or(|latest| latest.began_ns < sent_ns) {
            return 0;
        }
        // A stamp says its time in units, and never too late: the write is the one that gives this stamp.
        let mut writes = self.0.iter().rev().take_while(|write| write.began_ns >= sent_ns);
        let own = writes.find(|write| write.client == client && stamp.sent_at(write.began_ns) == stamp);
        own.map_or(0, |write| write.held_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn held_writes_hold_their_own_messages() {
        let mut writes = HeldWrites::default();
        let due_ns = 1_000_000;
        let stamp = |sent_ns| Stamp::new(0, 1, 7, due_ns, sent_ns);
        assert_eq!(writes.held_ns(1, stamp(due_ns)), 0);
        // No time is a multiple of a stamp's unit.
        let began_ns = |n| due_ns + 10_007 * n;
        for n in 0..=WRITES_MAX as u64 {
            writes.add(1, began_ns(n), 3 + n);
        }
        let held = |client, sent_ns| writes.held_ns(client, stamp(sent_ns));
        assert_eq!([1, 2, 64].map(|n| held(1, began_ns(n))), [4, 5, 67]);
        let others = [held(2, began_ns(2)), held(1, began_ns(2) + 2_048), held(1, began_ns(65))];
        assert_eq!(others, [0; 3], "of others, and of other times");
        assert_eq!(held(1, began_ns(0)), 0, "forgotten");
    }
}
