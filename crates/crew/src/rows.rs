//! A step second by second.
//!
//! Rules. A delta belongs to the second of the phase whose end is nearest to its own. Workers report in
//! order, but not together: one that runs ahead opens a row while others are seconds behind. A row is
//! complete when every worker has reported of a later second, or is lost; then it is told once, in order, and
//! changed no more. Histograms of open rows are packed, and no more than [`ROWS_OPEN_MAX`] are open: a worker
//! further behind than that has its seconds counted in the first row that still is.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use engine::{Delta, Usage};
use results::Second;
use stats::{Histogram, Packed};

const NS_PER_S: u64 = 1_000_000_000;
const PERCENT: f64 = 100.0;
/// Most rows that wait for a worker: what workers keep while the crew is busy, and as much again.
const ROWS_OPEN_MAX: usize = 128;

/// The rows of one phase of a step.
#[derive(Debug)]
pub(crate) struct Rows {
    /// When the phase began, and the run.
    phase_ns: u64,
    epoch_ns: u64,
    /// The workers that are to report, where that is known, or else the workers that have.
    workers: BTreeSet<u16>,
    /// The last second that each worker has reported of.
    reached: HashMap<u16, u64>,
    open: BTreeMap<u64, Open>,
    /// Clients usable, by worker, at the end of the last row that is complete.
    usable: HashMap<u16, u32>,
    complete: Vec<Second>,
    /// The first second that may still get reports.
    first_open: u64,
    /// How many complete rows have been told.
    told: usize,
}

/// A second that may still change.
#[derive(Debug, Default)]
struct Open {
    at_ns: u64,
    usable: HashMap<u16, u32>,
    sent: u64,
    received: u64,
    errors: u64,
    main: Packed,
    usage: Usage,
    seen: Seen,
}

/// The server's usage when the second had passed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen {
    pub(crate) cpu_percent: Option<f64>,
    pub(crate) rss_bytes: Option<u64>,
    pub(crate) metrics: BTreeMap<String, f64>,
}

impl Rows {
    pub(crate) fn new(phase_ns: u64, epoch_ns: u64) -> Self {
        Self {
            phase_ns,
            epoch_ns,
            workers: BTreeSet::new(),
            reached: HashMap::new(),
            open: BTreeMap::new(),
            usable: HashMap::new(),
            complete: Vec::new(),
            first_open: 0,
            told: 0,
        }
    }

    /// Expects reports of these workers.
    pub(crate) fn expect(&mut self, workers: BTreeSet<u16>) {
        self.workers = workers;
    }

    /// Expects no more reports of this worker.
    pub(crate) fn lose(&mut self, worker: u16) {
        self.workers.remove(&worker);
        self.reached.remove(&worker);
        self.usable.remove(&worker);
        for row in self.open.values_mut() {
            let _ = row.usable.remove(&worker);
        }
        self.close();
    }

    /// Adds a delta. Returns true if it is the first of its second, so that the second before has passed.
    pub(crate) fn add(&mut self, delta: &Delta, main: &Packed) -> bool {
        if delta.at_ns < self.phase_ns {
            return false;
        }
        // The nearest end: workers wake a little early or late.
        let number = (delta.at_ns - self.phase_ns + NS_PER_S / 2) / NS_PER_S;
        let newest = self.open.keys().next_back().copied();
        // Rows that were told do not change: a straggler's second counts in the first that may.
        let row = self.open.entry(number.max(self.first_open)).or_default();
        row.at_ns = row.at_ns.max(delta.at_ns);
        row.usable.insert(delta.worker, delta.usable);
        row.sent += delta.counts.sent;
        row.received += delta.counts.received;
        row.errors += delta.errors.total();
        row.main.merge(main);
        row.usage.merge(&delta.usage);
        let reached = self.reached.entry(delta.worker).or_default();
        *reached = number.max(*reached);
        self.close();
        newest.is_some_and(|newest| number > newest)
    }

    /// Adds the server's usage now that a second has passed.
    pub(crate) fn handle_seen(&mut self, seen: Seen) {
        // The newest row is the second that has just begun; the server's reading is of the one before.
        if let Some((_, row)) = self.open.iter_mut().rev().nth(1) {
            row.seen = seen;
        } else if let Some(last) = self.complete.last_mut() {
            seen.put_into(last);
        }
    }

    /// The next row that is complete and was not told yet.
    pub(crate) fn poll(&mut self) -> Option<Second> {
        let row = self.complete.get(self.told)?;
        self.told += 1;
        Some(row.clone())
    }

    /// The last row that is complete.
    pub(crate) fn last(&self) -> Option<&Second> {
        self.complete.last()
    }

    /// Ends the phase, and returns all rows.
    pub(crate) fn finish(&mut self) -> Vec<Second> {
        while let Some((number, row)) = self.open.pop_first() {
            self.complete(number, row);
        }
        std::mem::take(&mut self.complete)
    }

    /// Completes the rows that every worker has passed.
    fn close(&mut self) {
        while let Some(first) = self.open.first_entry() {
            let number = *first.key();
            let is_past = |worker: &u16| self.reached.get(worker).is_some_and(|&reached| reached > number);
            let are_past = if self.workers.is_empty() {
                self.reached.keys().all(is_past)
            } else {
                self.workers.iter().all(is_past)
            };
            if !are_past && self.open.len() <= ROWS_OPEN_MAX {
                return;
            }
            if let Some((number, row)) = self.open.pop_first() {
                self.complete(number, row);
            }
        }
    }

    fn complete(&mut self, number: u64, row: Open) {
        self.first_open = number + 1;
        self.usable.extend(row.usable);
        let main = Histogram::from(&row.main);
        let quantile = |q| (!main.is_empty()).then(|| main.quantile_ns(q));
        let Usage { cpu_ns, wall_ns, .. } = row.usage;
        // CPU time over the workers' summed time is a mean per worker; times their number it is the
        // generator's.
        let workers = self.usable.len().max(1) as f64;
        let mut second = Second {
            t_ns: row.at_ns.saturating_sub(self.epoch_ns),
            clients: self.usable.values().map(|&usable| u64::from(usable)).sum(),
            sent: row.sent,
            received: row.received,
            errors: row.errors,
            p50_ns: quantile(0.5),
            p95_ns: quantile(0.95),
            p99_ns: quantile(0.99),
            max_ns: (!main.is_empty()).then(|| main.max_ns()),
            density: stats::density::cells(&main),
            generator_cpu_percent: (wall_ns > 0).then(|| PERCENT * cpu_ns as f64 / wall_ns as f64 * workers),
            server_cpu_percent: None,
            server_rss_bytes: None,
            metrics: BTreeMap::new(),
        };
        row.seen.put_into(&mut second);
        self.complete.push(second);
    }
}

impl Seen {
    fn put_into(self, second: &mut Second) {
        second.server_cpu_percent = self.cpu_percent;
        second.server_rss_bytes = self.rss_bytes;
        second.metrics = self.metrics;
    }
}

#[cfg(test)]
mod tests {
    use stats::Counts;

    use super::*;

    const S: u64 = NS_PER_S;

    /// A delta of a worker with 10 clients that received this many messages in the second that ends at
    /// `at_ns`.
    fn delta(worker: u16, at_ns: u64, received: u64) -> Delta {
        let counts = Counts { received, ..Counts::default() };
        let usage = Usage { wall_ns: S, cpu_ns: S / 4, ..Usage::default() };
        Delta { worker, at_ns, usable: 10, counts, usage, ..Delta::default() }
    }

    fn add(rows: &mut Rows, delta: &Delta) -> bool {
        rows.add(delta, &Packed::default())
    }

    fn told(rows: &mut Rows) -> Vec<(u64, u64, u64)> {
        std::iter::from_fn(|| rows.poll()).map(|row| (row.t_ns / S, row.received, row.clients)).collect()
    }

    #[test]
    fn late_workers_get_their_seconds_right() {
        let mut rows = Rows::new(0, 0);
        rows.expect(BTreeSet::from([0, 1]));
        assert!(!add(&mut rows, &delta(0, S, 1)), "no second has passed yet");
        assert!(add(&mut rows, &delta(0, 2 * S, 2)));
        assert!(add(&mut rows, &delta(0, 3 * S, 4)));
        assert_eq!(told(&mut rows), [], "the other one has said nothing");
        assert!(!add(&mut rows, &delta(1, S, 10)), "that was told before");
        assert!(!add(&mut rows, &delta(1, 2 * S, 20)));
        assert_eq!(told(&mut rows), [(1, 11, 20)]);
        add(&mut rows, &delta(1, 3 * S, 40));
        assert_eq!(told(&mut rows), [(2, 22, 20)]);
        let all: Vec<u64> = rows.finish().iter().map(|row| row.received).collect();
        assert_eq!(all, [11, 22, 44]);
    }

    #[test]
    fn nobody_waits_for_a_lost_worker() {
        let mut rows = Rows::new(0, 0);
        rows.expect(BTreeSet::from([0, 1]));
        add(&mut rows, &delta(0, S, 1));
        add(&mut rows, &delta(1, S, 10));
        add(&mut rows, &delta(0, 2 * S, 2));
        assert_eq!(told(&mut rows), []);
        rows.lose(1);
        assert_eq!(told(&mut rows), [(1, 11, 10)]);
    }

    #[test]
    fn open_rows_are_bounded_and_nothing_is_lost() {
        let mut rows = Rows::new(0, 0);
        rows.expect(BTreeSet::from([0, 1]));
        let seconds = 3 * ROWS_OPEN_MAX as u64;
        for k in 1..=seconds {
            _ = add(&mut rows, &delta(0, k * S, 1));
        }
        assert!(rows.open.len() <= ROWS_OPEN_MAX);
        for k in 1..=seconds {
            _ = add(&mut rows, &delta(1, k * S, 1));
        }
        let all = rows.finish();
        assert_eq!(all.len() as u64, seconds);
        assert_eq!(all.iter().map(|row| row.received).sum::<u64>(), 2 * seconds);
    }

    #[test]
    fn server_readings_are_of_the_past_second() {
        let seen = |cpu| Seen { cpu_percent: Some(cpu), ..Seen::default() };
        for workers in [BTreeSet::from([0]), BTreeSet::from([0, 1])] {
            let mut rows = Rows::new(0, 0);
            rows.expect(workers);
            add(&mut rows, &delta(0, S, 1));
            assert!(add(&mut rows, &delta(0, 2 * S, 1)));
            rows.handle_seen(seen(7.0));
            assert!(add(&mut rows, &delta(0, 3 * S, 1)));
            rows.handle_seen(seen(8.0));
            let cpus: Vec<_> = rows.finish().iter().map(|row| row.server_cpu_percent).collect();
            assert_eq!(cpus, [Some(7.0), Some(8.0), None]);
        }
    }
}
