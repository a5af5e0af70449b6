//! What a server did, counted.

use std::borrow::Cow;
use std::collections::BTreeMap;

/// Totals of a server's life: of one worker while it runs, of all when it has ended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stats {
    /// Connections accepted.
    pub connections: u64,
    /// WebSockets opened.
    pub upgrades: u64,
    /// Plain HTTP requests answered.
    pub requests: u64,
    /// Messages echoed.
    pub echoes: u64,
    /// Messages received for everybody.
    pub broadcasts: u64,
    /// Copies of those handed to members, of whichever worker or process.
    pub copies: u64,
    /// Connections cut off because they did not read what was broadcast to them.
    pub slow_dropped: u64,
    /// Copies skipped for members that did not keep up.
    pub copies_skipped: u64,
    /// Broadcasts that another worker or process did not take because its queue was full.
    pub handovers_dropped: u64,
    /// Failures by kind: those of [`wire::Failure::name`], of [`net::errors::ErrorKind::name`], and
    /// `handshake_timeout`.
    pub errors: BTreeMap<Cow<'static, str>, u64>,
}

impl Stats {
    /// Adds another's totals.
    pub fn add(&mut self, other: &Stats) {
        let sums = [
            (&mut self.connections, other.connections),
            (&mut self.upgrades, other.upgrades),
            (&mut self.requests, other.requests),
            (&mut self.echoes, other.echoes),
            (&mut self.broadcasts, other.broadcasts),
            (&mut self.copies, other.copies),
            (&mut self.slow_dropped, other.slow_dropped),
            (&mut self.copies_skipped, other.copies_skipped),
            (&mut self.handovers_dropped, other.handovers_dropped),
        ];
        for (sum, more) in sums {
            *sum += more;
        }
        for (kind, count) in &other.errors {
            *self.errors.entry(kind.clone()).or_default() += count;
        }
    }

    pub(crate) fn count_error(&mut self, kind: &'static str) {
        *self.errors.entry(Cow::Borrowed(kind)).or_default() += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adds_counts_and_kinds() {
        let mut sum = Stats { connections: 1, copies: 5, ..Stats::default() };
        sum.count_error("reset");
        let mut other = Stats { connections: 2, slow_dropped: 1, ..Stats::default() };
        other.count_error("reset");
        other.count_error("eof");
        sum.add(&other);
        assert_eq!((sum.connections, sum.copies, sum.slow_dropped), (3, 5, 1));
        assert_eq!(sum.errors, BTreeMap::from([("eof".into(), 1), ("reset".into(), 2)]));
    }
}
