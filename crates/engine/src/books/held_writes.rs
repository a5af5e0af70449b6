//! Writes in the midst of which others kept the worker from the CPU.
//!
//! Bytes of such a write went out before that or after it. The time until the worker had its CPU back is held
//! against nobody but those who had it.

use std::collections::VecDeque;

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
    pub(crate) fn held_ns(&self, client: u32, sent_ns: u64) -> u64 {
        // Most messages are later than all of them.
        if self.0.back().is_none_or(|latest| latest.began_ns < sent_ns) {
            return 0;
        }
        let mut writes = self.0.iter().rev();
        let own = writes.find(|write| write.client == client && write.began_ns == sent_ns);
        own.map_or(0, |write| write.held_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn held_writes_hold_their_own_messages() {
        let mut writes = HeldWrites::default();
        assert_eq!(writes.held_ns(1, 10), 0);
        for n in 0..=WRITES_MAX as u64 {
            writes.add(1, 10 * n, 3 + n);
        }
        let held = |client, sent_ns| writes.held_ns(client, sent_ns);
        assert_eq!([held(1, 10), held(1, 20), held(1, 640)], [4, 5, 67]);
        assert_eq!([held(2, 20), held(1, 21), held(1, 650)], [0; 3], "of others, and of other times");
        assert_eq!(held(1, 0), 0, "forgotten");
    }
}
