//! When a worker reports.
//!
//! Each second of the load, on its beat; more often while clients connect, for their number is held against the server's
//! memory, and while draining, when the crew waits for what is still under way. But all workers together send no more
//! than [`REPORTS_PER_S_MAX`]: a coordinator among fifty processes has a fiftieth of the CPU.

use super::{Phase, Worker};
use crate::messages::Report;

/// How often a delta is reported.
pub(super) const DELTA_INTERVAL_NS: u64 = 1_000_000_000;
/// The same while clients connect: as often as the server's memory is sampled.
const GROWTH_DELTA_INTERVAL_NS: u64 = 250_000_000;
/// The same while draining.
const DRAIN_DELTA_INTERVAL_NS: u64 = 10_000_000;
/// Deltas of all workers a second beyond which each reports more seldom, though never less than once a second.
const REPORTS_PER_S_MAX: u64 = 100;

impl Worker {
    /// A delta is due: it goes out, unless an earlier one is still under way.
    pub(super) fn handle_delta_due(&mut self, now_ns: u64) {
        let interval_ns = self.delta_interval_ns();
        // On the beat, however late this one is: else an hour would have a few seconds less.
        let beats = (now_ns - self.next_delta_ns) / interval_ns + 1;
        self.next_delta_ns += beats * interval_ns;
        if self.outgoing.wants(self.ledger.meter.collected_ns(now_ns)) {
            self.outgoing.add(self.ledger.meter.take(now_ns, self.ledger.usable));
            if self.outgoing.is_free() {
                self.hand_over();
            }
        }
    }

    /// Reports all that was measured so far, for what follows ends a phase.
    pub(super) fn report_delta(&mut self, now_ns: u64) {
        self.outgoing.add(self.ledger.meter.take(now_ns, self.ledger.usable));
        self.next_delta_ns = now_ns + self.delta_interval_ns();
        self.hand_over();
    }

    /// Reports what was put by.
    pub(super) fn hand_over(&mut self) {
        while let Some(delta) = self.outgoing.poll() {
            self.report(Report::Delta(Box::new(delta)));
        }
    }

    /// Hands on what has been noted of single events.
    pub(super) fn flush_events(&mut self) {
        if let Some(recorder) = &mut self.ledger.meter.recorder {
            recorder.flush();
        }
    }

    pub(super) fn report(&self, report: Report) {
        // A crew that is gone is noticed at the inbox.
        let _ = self.reports.send(report);
    }

    pub(super) fn delta_interval_ns(&self) -> u64 {
        delta_interval_ns(&self.phase, self.segment.workers)
    }
}

fn delta_interval_ns(phase: &Phase, workers: u16) -> u64 {
    let wanted_ns = match phase {
        Phase::Growing(_) => GROWTH_DELTA_INTERVAL_NS,
        Phase::Draining => DRAIN_DELTA_INTERVAL_NS,
        _ => DELTA_INTERVAL_NS,
    };
    wanted_ns.max(u64::from(workers) * DELTA_INTERVAL_NS / REPORTS_PER_S_MAX).min(DELTA_INTERVAL_NS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_workers_together_report_no_more_often_than_few() {
        let drain_ms = |workers| delta_interval_ns(&Phase::Draining, workers) / 1_000_000;
        assert_eq!([1, 2, 51, 100, 60_000].map(drain_ms), [10, 20, 510, 1_000, 1_000]);
        assert_eq!(delta_interval_ns(&Phase::Loading, 60_000), DELTA_INTERVAL_NS);
    }
}
