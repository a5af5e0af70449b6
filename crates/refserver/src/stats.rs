//! Counts of a server's work.

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
    /// Messages received that are for all clients, or for all in a room: of members, and published from
    /// outside.
    pub broadcasts: u64,
    /// Copies of broadcasts that were handed to members, at any worker or process.
    pub copies: u64,
    /// Connections cut off because they did not read what was broadcast to them.
    pub slow_dropped: u64,
    /// Copies skipped for members that did not keep up.
    pub copies_skipped: u64,
    /// The number of times that a connection was cut off, or a batch for it skipped, because all slow clients
    /// together held as many bytes as they may.
    pub crowded_out: u64,
    /// Connections closed that were kept alive for a request which did not come.
    pub idle_closed: u64,
    /// Broadcasts that another worker or process did not take because its queue was full.
    pub handovers_dropped: u64,
    /// Failures by kind: the names of [`wire::Failure::name`] and [`net::errors::ErrorKind::name`],
    /// `handshake_timeout`, and `unsent` for last bytes that a peer did not take.
    pub errors: BTreeMap<Cow<'static, str>, u64>,
    /// Faults committed on purpose, by the name of the fault.
    pub faults: BTreeMap<Cow<'static, str>, u64>,
}

impl Stats {
    /// Adds the totals of another worker or process.
    pub fn add(&mut self, other: &Stats) {
        // Counters are only listed for writing, which a borrowed one does not allow.
        let mut other = other.clone();
        for ((_, sum), (_, more)) in self.counters().into_iter().zip(other.counters()) {
            *sum += *more;
        }
        for (kind, count) in other.errors {
            *self.errors.entry(kind).or_default() += count;
        }
        for (name, count) in other.faults {
            *self.faults.entry(name).or_default() += count;
        }
    }

    pub(crate) fn count_error(&mut self, kind: &'static str) {
        *self.errors.entry(Cow::Borrowed(kind)).or_default() += 1;
    }

    /// A line `name count` for every counter, kind of error and fault, for another process to read.
    pub(crate) fn to_lines(&self) -> String {
        let counters = self.totals().into_iter().map(|(name, count)| format!("{name} {count}\n"));
        let errors = self.errors.iter().map(|(kind, count)| format!("error {kind} {count}\n"));
        let faults = self.faults.iter().map(|(name, count)| format!("fault {name} {count}\n"));
        counters.chain(errors).chain(faults).collect()
    }

    pub(crate) fn from_lines(lines: &str) -> Option<Stats> {
        let mut stats = Stats::default();
        for line in lines.lines() {
            // From the end: names of errors and faults stand behind a word of their own.
            let (name, count) = line.rsplit_once(' ')?;
            let count = count.parse().ok()?;
            match name.split_once(' ') {
                Some(("error", kind)) => drop(stats.errors.insert(kind.to_owned().into(), count)),
                Some(("fault", fault)) => drop(stats.faults.insert(fault.to_owned().into(), count)),
                _ => *stats.counters().into_iter().find(|(counter, _)| *counter == name)?.1 = count,
            }
        }
        Some(stats)
    }

    /// Every counter by its name.
    pub(crate) fn totals(&self) -> Vec<(&'static str, u64)> {
        self.clone().counters().map(|(name, count)| (name, *count)).into()
    }

    fn counters(&mut self) -> [(&'static str, &mut u64); 11] {
        [
            ("connections", &mut self.connections),
            ("upgrades", &mut self.upgrades),
            ("requests", &mut self.requests),
            ("echoes", &mut self.echoes),
            ("broadcasts", &mut self.broadcasts),
            ("copies", &mut self.copies),
            ("slow_dropped", &mut self.slow_dropped),
            ("copies_skipped", &mut self.copies_skipped),
            ("crowded_out", &mut self.crowded_out),
            ("idle_closed", &mut self.idle_closed),
            ("handovers_dropped", &mut self.handovers_dropped),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Stats {
        let mut stats = Stats { connections: 2, slow_dropped: 1, handovers_dropped: 9, ..Stats::default() };
        stats.count_error("reset");
        stats.count_error("eof");
        stats.faults.insert("drop".into(), 3);
        stats
    }

    #[test]
    fn adds_counts_and_kinds() {
        let mut sum = Stats { connections: 1, copies: 5, ..Stats::default() };
        sum.count_error("reset");
        sum.add(&sample());
        assert_eq!((sum.connections, sum.copies, sum.slow_dropped), (3, 5, 1));
        assert_eq!(sum.errors, BTreeMap::from([("eof".into(), 1), ("reset".into(), 2)]));
        assert_eq!(sum.faults, BTreeMap::from([("drop".into(), 3)]));
    }

    #[test]
    fn lines_say_the_same() {
        let lines = sample().to_lines();
        assert_eq!(Stats::from_lines(&lines), Some(sample()));
        assert_eq!(lines.lines().count(), 11 + 2 + 1);
        assert_eq!(Stats::from_lines("copies x\n"), None);
        assert_eq!(Stats::from_lines("unheard_of 1\n"), None);
    }
}
