//! The moment until which everything that arrived has been read.
//!
//! Rules. epoll tells of a bounded number of connections at a time, and a turn reads a bounded part of each.
//! Until it has told of fewer, and all of them are empty, a client whose answer is here may not have been read:
//! its deadline, which has passed meanwhile, does not strike yet. Where that goes on, deadlines are late by
//! [`BEHIND_NS_MAX`] at most: a client that never answers must not hold up the others for ever.

/// The most connections that epoll tells of at a time.
pub(crate) const EVENTS_PER_WAIT: usize = 1024;

/// The longest time by which deadlines are late.
const BEHIND_NS_MAX: u64 = 1_000_000_000;

/// A worker's turn, in which it reads from connections that are ready.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReadTurn {
    /// The time of the wake-up.
    pub(crate) woken_ns: u64,
    /// Connections that epoll reported.
    pub(crate) ready: usize,
    /// Connections with more than a turn may read: an answer may be in what is left.
    pub(crate) unfinished: usize,
}

/// How far a worker has read what arrives.
#[derive(Debug, Default)]
pub(crate) struct Heard {
    until_ns: u64,
    has_more: bool,
}

impl Heard {
    /// Notes that a turn is over.
    pub(crate) fn handle_read(&mut self, turn: ReadTurn, now_ns: u64) {
        self.has_more = turn.ready >= EVENTS_PER_WAIT || turn.unfinished > 0;
        self.until_ns = match self.has_more {
            true => self.until_ns.max(now_ns.saturating_sub(BEHIND_NS_MAX)),
            false => turn.woken_ns,
        };
    }

    /// Returns whether the last turn may have left something that was ready unread.
    pub(crate) fn has_more(&self) -> bool {
        self.has_more
    }

    /// The moment until which everything has been read.
    pub(crate) fn until_ns(&self) -> u64 {
        self.until_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deadlines_wait_for_what_is_unread() {
        const MS: u64 = 1_000_000;
        let mut heard = Heard::default();
        let mut read = |woken_ms: u64, ready, unfinished| {
            let turn = ReadTurn { woken_ns: woken_ms * MS, ready, unfinished };
            heard.handle_read(turn, (woken_ms + 50) * MS);
            heard.until_ns() / MS
        };
        const FULL: usize = EVENTS_PER_WAIT;
        assert_eq!([read(5_000, FULL - 1, 0), read(5_100, FULL, 0), read(5_200, 2, 1)], [5_000; 3]);
        let behind = [read(6_000, FULL, 0), read(7_000, 2, 1)];
        assert_eq!(behind, [5_050, 6_050], "a second behind, and no more");
        assert_eq!(read(7_100, 2, 0), 7_100);
    }
}
