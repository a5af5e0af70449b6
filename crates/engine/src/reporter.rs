//! Reports of a worker, and when they go.
//!
//! Rules. A delta is due each second of the load, on its beat; more often while clients connect, for their
//! number is held against the server's memory, and while draining, when the crew waits for what is still
//! under way. But all workers together send no more than [`REPORTS_PER_S_MAX`]: a coordinator among fifty
//! processes has a fiftieth of the CPU.
//!
//! One delta of a worker is under way at a time: the next waits until the receiver has let that one go
//! ([`DeltaPermit`]). Meanwhile the worker goes on collecting, second by second, for rows are of one second
//! each: a full second is put by, packed. When [`SECONDS_HELD_MAX`] are put by, what follows is collected in
//! one. So nothing is lost, no count of bytes depends on how quick the crew is, and the worker never waits.
//! At the end of a phase all goes out at once, with what ends it behind.

use std::collections::VecDeque;
use std::sync::mpsc::Sender;

use load::Segment;

use crate::books::Ledger;
use crate::messages::{Delta, DeltaPermit, Report};

/// How often a delta is reported.
const DELTA_INTERVAL_NS: u64 = 1_000_000_000;
/// How often a delta is reported while clients connect: as often as the server's memory is sampled.
const GROWTH_DELTA_INTERVAL_NS: u64 = 250_000_000;
/// How often a delta is reported while draining.
const DRAIN_DELTA_INTERVAL_NS: u64 = 10_000_000;
/// Deltas of all workers per second beyond which each reports less often, though at least once a second.
const REPORTS_PER_S_MAX: u64 = 100;
/// Seconds of deltas that are kept for a crew that is busy.
const SECONDS_HELD_MAX: usize = 64;
/// The part of a second that counts as a full one: workers wake a little early or late.
const SECOND_FULL_NS: u64 = 900_000_000;

/// Phases of a worker's reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReportPhase {
    /// Clients connect.
    Growing,
    /// Clients send, or nothing happens.
    Loading,
    /// Answers come in.
    Draining,
}

impl ReportPhase {
    fn interval_ns(self, workers: u16) -> u64 {
        let wanted_ns = match self {
            Self::Growing => GROWTH_DELTA_INTERVAL_NS,
            Self::Loading => DELTA_INTERVAL_NS,
            Self::Draining => DRAIN_DELTA_INTERVAL_NS,
        };
        // Never less than once a second, however many workers: the rows of a run are of one second each.
        wanted_ns.max(u64::from(workers) * DELTA_INTERVAL_NS / REPORTS_PER_S_MAX).min(DELTA_INTERVAL_NS)
    }
}

/// The reports of one worker.
pub(crate) struct Reporter {
    segment: Segment,
    reports: Sender<Report>,
    outgoing: Outgoing,
    phase: ReportPhase,
    /// When the next delta is due.
    next_ns: Option<u64>,
}

impl Reporter {
    /// A reporter without a due delta.
    pub(crate) fn new(segment: Segment, reports: Sender<Report>) -> Self {
        Self { segment, reports, outgoing: Outgoing::default(), phase: ReportPhase::Loading, next_ns: None }
    }

    /// Reports deltas at this phase's interval from `at_ns` on.
    pub(crate) fn keep(&mut self, phase: ReportPhase, at_ns: u64) {
        self.phase = phase;
        self.next_ns = Some(at_ns + self.interval_ns());
    }

    /// Makes no delta due until further notice.
    pub(crate) fn rest(&mut self) {
        self.next_ns = None;
    }

    /// When the next delta is due.
    pub(crate) fn poll_timeout(&self) -> Option<u64> {
        self.next_ns
    }

    /// Returns whether a delta is due. The next is then due at its regular time, however late this one is:
    /// otherwise an hour would have a few seconds less.
    pub(crate) fn poll(&mut self, now_ns: u64) -> bool {
        let interval_ns = self.interval_ns();
        let Some(due_ns) = self.next_ns.filter(|&due_ns| due_ns <= now_ns) else { return false };
        // Beats that were missed are not made up for: one delta has all that was collected meanwhile.
        let beats = (now_ns - due_ns) / interval_ns + 1;
        self.next_ns = Some(due_ns + beats * interval_ns);
        true
    }

    /// Reports what was measured so far, unless an earlier delta is still under way.
    pub(crate) fn report_due(&mut self, ledger: &mut Ledger, now_ns: u64) {
        if self.outgoing.wants(ledger.meter.collected_ns(now_ns)) {
            self.outgoing.add(ledger.meter.take(now_ns, ledger.usable));
            if self.outgoing.is_free() {
                self.hand_over();
            }
        }
    }

    /// Reports everything measured so far, because what follows ends a phase.
    pub(crate) fn report_all(&mut self, ledger: &mut Ledger, now_ns: u64) {
        self.outgoing.add(ledger.meter.take(now_ns, ledger.usable));
        self.hand_over();
    }

    /// Reports all deltas that were kept.
    pub(crate) fn hand_over(&mut self) {
        while let Some(delta) = self.outgoing.poll() {
            self.report(Report::Delta(Box::new(delta)));
        }
    }

    /// Sends a report.
    pub(crate) fn report(&self, report: Report) {
        // A crew that is gone is noticed at the inbox.
        let _ = self.reports.send(report);
    }

    fn interval_ns(&self) -> u64 {
        self.phase.interval_ns(self.segment.workers)
    }
}

/// The deltas of one worker on their way out.
#[derive(Default)]
struct Outgoing {
    permit: DeltaPermit,
    held: VecDeque<Delta>,
}

impl Outgoing {
    /// Returns whether to make a delta now, of what was collected in `collected_ns`.
    fn wants(&self, collected_ns: u64) -> bool {
        // While one is under way, only full seconds are put by; what is less goes on growing in the meter,
        // which takes no more memory.
        self.is_free() || collected_ns >= SECOND_FULL_NS && self.held.len() < SECONDS_HELD_MAX
    }

    /// Returns whether the crew has taken in every delta that it was given.
    fn is_free(&self) -> bool {
        self.permit.is_alone()
    }

    /// Keeps a delta.
    fn add(&mut self, delta: Delta) {
        self.held.push_back(delta);
    }

    /// The next delta to go out, the earliest first.
    fn poll(&mut self) -> Option<Delta> {
        let delta = self.held.pop_front()?;
        Some(Delta { permit: self.permit.clone(), ..delta })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;

    #[test]
    fn many_workers_report_as_often_as_few() {
        let drain_ms = |workers| ReportPhase::Draining.interval_ns(workers) / 1_000_000;
        assert_eq!([1, 2, 51, 100, 60_000].map(drain_ms), [10, 20, 510, 1_000, 1_000]);
        assert_eq!(ReportPhase::Loading.interval_ns(60_000), DELTA_INTERVAL_NS);
    }

    #[test]
    fn late_deltas_do_not_delay_the_next() {
        let (reports, _inbox) = std::sync::mpsc::channel();
        let mut reporter = Reporter::new(Segment { worker: 0, workers: 1 }, reports);
        assert_eq!(reporter.poll_timeout(), None);
        reporter.keep(ReportPhase::Loading, S);
        assert!(!reporter.poll(2 * S - 1) && reporter.poll(2 * S + S / 2));
        assert_eq!(reporter.poll_timeout(), Some(3 * S));
        assert!(reporter.poll(5 * S + 1) && reporter.poll_timeout() == Some(6 * S));
    }

    /// Hands all deltas over, as to a crew that lets none go.
    fn hand_over(outgoing: &mut Outgoing) -> Vec<Delta> {
        std::iter::from_fn(|| outgoing.poll()).collect()
    }

    #[test]
    fn deltas_wait_for_the_last_permit() {
        let mut outgoing = Outgoing::default();
        assert!(outgoing.wants(1));
        outgoing.add(Delta::default());
        let under_way = hand_over(&mut outgoing);
        assert!(!outgoing.is_free());
        assert!(!outgoing.wants(S / 4), "it goes on collecting");
        assert!(outgoing.wants(S), "but not into the next second");
        outgoing.add(Delta::default());
        assert!(!outgoing.is_free());
        drop(under_way);
        assert!(outgoing.is_free() && outgoing.wants(1));
        assert_eq!(hand_over(&mut outgoing).len(), 1);
        assert!(outgoing.is_free(), "dropped at once");
    }

    #[test]
    fn put_by_seconds_are_bounded() {
        let mut outgoing = Outgoing::default();
        outgoing.add(Delta::default());
        let _under_way = hand_over(&mut outgoing);
        while outgoing.wants(S) {
            outgoing.add(Delta::default());
        }
        assert_eq!(outgoing.held.len(), SECONDS_HELD_MAX);
        assert!(!outgoing.wants(1_000 * S));
    }

    #[test]
    fn the_ticket_stays_behind_at_a_process_boundary() {
        let mut outgoing = Outgoing::default();
        outgoing.add(Delta { acks: 7, ..Delta::default() });
        let bytes = postcard::to_stdvec(&outgoing.poll().unwrap()).unwrap();
        let arrived: Delta = postcard::from_bytes(&bytes).unwrap();
        assert!(arrived.acks == 7 && outgoing.is_free());
    }
}
