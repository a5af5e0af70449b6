//! The moment until which everything that arrived has been read.
//!
//! Rules. epoll tells of a bounded number of connections at a time. Until it has told of fewer, a client whose
//! answer is here may not have been read: its deadline, which has passed meanwhile, does not strike yet. Where
//! that goes on, deadlines are late by [`BEHIND_NS_MAX`] at most: a client that never answers must not hold up
//! the others for ever.

/// The longest time by which deadlines are late.
const BEHIND_NS_MAX: u64 = 1_000_000_000;

/// How far a worker has read what arrives.
#[derive(Debug, Default)]
pub(crate) struct Heard {
    until_ns: u64,
}

impl Heard {
    /// Notes that what was told at `woken_ns` has been read by now; `is_full` if there may have been more.
    pub(crate) fn handle_read(&mut self, woken_ns: u64, is_full: bool, now_ns: u64) {
        self.until_ns = match is_full {
            true => self.until_ns.max(now_ns.saturating_sub(BEHIND_NS_MAX)),
            false => woken_ns,
        };
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
        let mut read = |woken_ms: u64, is_full| {
            heard.handle_read(woken_ms * MS, is_full, (woken_ms + 50) * MS);
            heard.until_ns() / MS
        };
        assert_eq!([read(5_000, false), read(5_100, true), read(5_200, true)], [5_000; 3]);
        assert_eq!([read(6_000, true), read(7_000, true)], [5_050, 6_050], "a second behind, and no more");
        assert_eq!(read(7_100, false), 7_100);
    }
}
