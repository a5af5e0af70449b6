//! The window of a step, and the rates over it (METHODOLOGY "Rates").
//!
//! Rules. An open loop's window is its schedule, a closed loop's its duration, whatever came when. A closed
//! loop that ends with its samples can be kept full until there is nothing left to send: until then, if most
//! answers were in by then; where too few were, as when all messages go out at once, until the last answer.
//! What is used is read for [`CPU_WINDOW_NS_MIN`] at least.

use engine::Delta;
use load::{Load, Workload};
use results::{CPU_WINDOW_NS_MIN, Rates};
use stats::Histogram;

use crate::ending::Ending;

const NS_PER_S: u64 = 1_000_000_000;
/// Share of an open loop's messages whose answers come after the schedule, from which on it is an overload.
const TAIL_SHARE_MAX: f64 = 0.01;

/// The moment at which the last message had been sent, and what had been answered by then.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Loaded {
    pub(crate) at_ns: u64,
    received: u64,
    acks: u64,
}

impl Loaded {
    pub(crate) fn new(at_ns: u64, totals: &Delta<Histogram>) -> Self {
        Self { at_ns, received: totals.counts.received, acks: totals.acks }
    }
}

/// Facts that decide the length of the window.
#[derive(Clone, Copy)]
pub(crate) struct Window<'a> {
    pub(crate) workload: Workload,
    pub(crate) load: &'a Load,
    /// When the load began.
    pub(crate) go_ns: u64,
    pub(crate) loaded: Option<Loaded>,
    pub(crate) totals: &'a Delta<Histogram>,
}

impl Window<'_> {
    /// The end of the window for usage, as far as it is known: a worker that still sends prolongs it. `None`
    /// while messages are still being sent.
    pub(crate) fn end_ns(&self) -> Option<u64> {
        let loaded = self.loaded?;
        let end_ns = match self.load.duration_ns() {
            Some(schedule_ns) => self.go_ns + schedule_ns,
            None if self.ends_with_last_answer() => {
                self.totals.last_arrival_ns.max(self.go_ns + CPU_WINDOW_NS_MIN)
            }
            None => self.go_ns + CPU_WINDOW_NS_MIN,
        };
        Some(end_ns.max(loaded.at_ns))
    }

    /// Returns whether the window ends with the last answer, which is known as such only when no other comes.
    pub(crate) fn ends_with_last_answer(&self) -> bool {
        self.load.duration_ns().is_none() && self.full().is_none()
    }

    /// The length of the window, by what is known at `now_ns`: of the schedule, a step that was cut short
    /// had only a part.
    pub(crate) fn length_ns(&self, now_ns: u64, ending: Ending) -> u64 {
        let elapsed_ns = now_ns.saturating_sub(self.go_ns);
        match (self.load.duration_ns(), self.full()) {
            (Some(schedule_ns), _) if ending == Ending::CutShort => schedule_ns.min(elapsed_ns),
            (Some(schedule_ns), _) => schedule_ns,
            (None, Some(loaded)) => loaded.at_ns.saturating_sub(self.go_ns),
            // All that was waited for came to nothing.
            (None, None) if self.totals.last_arrival_ns == 0 && self.totals.counts.sent > 0 => elapsed_ns,
            (None, None) => self.until_last_ns().min(elapsed_ns),
        }
    }

    /// Messages that have been answered so far.
    pub(crate) fn completed(&self) -> u64 {
        match self.workload {
            Workload::Echo => self.totals.counts.received,
            Workload::Broadcast => self.totals.acks,
        }
    }

    /// The achieved rate where the rate was kept: the time of the last answers does not count.
    pub(crate) fn achieved_if_kept(&self, length_ns: u64) -> Option<f64> {
        per_s(self.completed(), length_ns)
    }

    /// The rates over `length_ns`, except those that `rates` has already. That an open loop kept its rate is
    /// not known yet.
    pub(crate) fn rates(&self, length_ns: u64, rates: Rates) -> Rates {
        let sends = match *self.load {
            Load::Hold { .. } => false,
            Load::Storm(storm) => storm.share < 1.0 && storm.rate_per_s.is_some(),
            Load::Open { .. } | Load::Closed { .. } => true,
        };
        if !sends {
            return rates;
        }
        let totals = self.totals;
        let (received, completed, achieved_ns) = self.answered(length_ns);
        // Deliveries of an open loop may come after its schedule: over the schedule alone, a queue would look
        // like speed.
        let received_ns = match self.load {
            Load::Closed { .. } => length_ns,
            _ => length_ns.max(self.until_last_ns()),
        };
        // Of a closed loop with a schedule, what comes behind its end is no part of its rate.
        let (streamed_after, streamed_ns) = match (self.load, self.load.duration_ns()) {
            (Load::Closed { .. }, Some(_)) => ([totals.tail.events, totals.tail.tokens], length_ns),
            _ => ([0, 0], length_ns.max(self.until_last_ns())),
        };
        let streamed = |n: u64, after: u64| per_s(n.saturating_sub(after), streamed_ns).filter(|_| n > 0);
        let each = |bytes: u64, messages: u64| bytes as f64 / messages.max(1) as f64;
        let bytes_sent = each(totals.sent_bytes, totals.counts.sent);
        let bytes_received = each(totals.received_bytes, totals.counts.received);
        let sent_per_s = per_s(totals.counts.sent.saturating_sub(totals.tail.sent), length_ns);
        Rates {
            asked_per_s: match *self.load {
                // Of a step that was cut short, what the part that there was asked for.
                Load::Open { schedule, duration_ns } => Some(schedule.mean_per_s(match length_ns {
                    0 => duration_ns,
                    length_ns => length_ns.min(duration_ns),
                })),
                Load::Storm(storm) => storm.rate_per_s,
                Load::Closed { .. } | Load::Hold { .. } => None,
            },
            achieved_per_s: per_s(completed, achieved_ns),
            sent_per_s,
            sent_bytes_per_s: sent_per_s.map(|per_s| per_s * bytes_sent),
            received_per_s: per_s(received, received_ns),
            received_bytes_per_s: per_s(received, received_ns).map(|per_s| per_s * bytes_received),
            events_per_s: streamed(totals.counts.events, streamed_after[0]),
            tokens_per_s: streamed(totals.counts.tokens, streamed_after[1]),
            ..rates
        }
    }

    /// Deliveries and completed messages that count for the rates, and the time in which the messages were
    /// completed.
    fn answered(&self, length_ns: u64) -> (u64, u64, u64) {
        let Delta { counts, acks, tail, .. } = self.totals;
        let of = |received: u64, acks: u64| match self.workload {
            Workload::Echo => (received, received),
            Workload::Broadcast => (received, acks),
        };
        let (received, completed) = of(counts.received, *acks);
        let (received_after, completed_after) = of(tail.received, tail.acks);
        match (self.load, self.full()) {
            (Load::Closed { .. }, Some(loaded)) => {
                let (received, completed) = of(loaded.received, loaded.acks);
                (received, completed, length_ns)
            }
            (Load::Closed { .. }, None) => (
                received.saturating_sub(received_after),
                completed.saturating_sub(completed_after),
                length_ns,
            ),
            _ => {
                // A few late answers are latency, not a lower rate: only beyond 1% the time until the last of
                // them is the denominator.
                let is_overload = completed_after as f64 >= TAIL_SHARE_MAX * counts.sent as f64;
                let until_last_ns = if is_overload && completed_after > 0 { self.until_last_ns() } else { 0 };
                (received, completed, length_ns.max(until_last_ns))
            }
        }
    }

    /// The end of a closed loop with samples that was kept full for most of its messages.
    fn full(&self) -> Option<Loaded> {
        let loaded = self.loaded.filter(|_| self.load.duration_ns().is_none())?;
        let answered = match self.workload {
            Workload::Echo => loaded.received,
            Workload::Broadcast => loaded.acks,
        };
        // Most were in when the last was sent: the slots were kept full until then, and the rate over that
        // time is one of a full load.
        (2 * answered > self.totals.counts.sent).then_some(loaded)
    }

    fn until_last_ns(&self) -> u64 {
        self.totals.last_arrival_ns.saturating_sub(self.go_ns)
    }
}

/// The rate of this many events in that time.
pub(crate) fn per_s(n: u64, ns: u64) -> Option<f64> {
    (ns > 0).then(|| n as f64 * NS_PER_S as f64 / ns as f64)
}

#[cfg(test)]
mod tests {
    use load::Until;

    use super::*;
    use engine::Tail;
    use load::Schedule;
    use stats::Counts;

    const S: u64 = 1_000_000_000;
    const GO_NS: u64 = 3 * S;
    const TIMED: Load =
        Load::Closed { concurrency: 9, per_client: 1, until: Until::Elapsed { duration_ns: 6 * S } };
    const SAMPLES: Load = Load::Closed { concurrency: 9, per_client: 1, until: Until::Samples(100) };

    /// Totals of echoes: sent, received, received after the window, and when the last came after the start.
    fn totals(sent: u64, received: u64, after: u64, last_ns: u64) -> Delta<Histogram> {
        let counts = Counts { sent, received, ..Counts::default() };
        let tail = Tail { received: after, ..Tail::default() };
        Delta { counts, tail, last_arrival_ns: GO_NS + last_ns, ..Delta::default() }
    }

    fn window<'a>(load: &'a Load, loaded: Option<Loaded>, totals: &'a Delta<Histogram>) -> Window<'a> {
        Window { workload: Workload::Echo, load, go_ns: GO_NS, loaded, totals }
    }

    /// Length of the window, what was achieved, and what was received per second, once all is over at 60 s.
    fn figures(load: &Load, loaded: Option<Loaded>, totals: &Delta<Histogram>) -> (u64, f64, f64) {
        let window = window(load, loaded, totals);
        let length_ns = window.length_ns(GO_NS + 60 * S, Ending::Complete);
        let rates = window.rates(length_ns, Rates::default());
        (length_ns, rates.achieved_per_s.unwrap(), rates.received_per_s.unwrap())
    }

    #[test]
    fn timed_loops_have_their_duration_as_window() {
        let frozen = totals(30_009, 30_000, 0, S);
        assert_eq!(figures(&TIMED, None, &frozen), (6 * S, 5_000.0, 5_000.0), "not until the last answer");
        let straggler = totals(30_000, 30_000, 6, 8 * S);
        assert_eq!(
            figures(&TIMED, None, &straggler),
            (6 * S, 4_999.0, 4_999.0),
            "nor until the last straggler"
        );
        let cut_short = window(&TIMED, None, &straggler);
        assert_eq!(cut_short.length_ns(GO_NS + 2 * S, Ending::CutShort), 2 * S);
        assert_eq!(cut_short.length_ns(GO_NS + 7 * S, Ending::CutShort), 6 * S, "in the drain");
    }

    #[test]
    fn ramps_that_are_cut_short_asked_for_less() {
        let ramp = load::Piece { from_per_s: 0.0, to_per_s: 100.0, duration_ns: 10 * S };
        let load = Load::Open { schedule: Schedule::of(&[ramp]), duration_ns: 10 * S };
        let sent = totals(50, 50, 0, S);
        let asked = |length_ns| window(&load, None, &sent).rates(length_ns, Rates::default()).asked_per_s;
        assert_eq!([0, 2 * S, 10 * S].map(asked), [Some(50.0), Some(10.0), Some(50.0)]);
    }

    #[test]
    fn sample_loops_last_while_full() {
        let loaded = Loaded::new(GO_NS + 2 * S, &totals(100, 91, 0, 2 * S));
        assert_eq!(figures(&SAMPLES, Some(loaded), &totals(100, 100, 0, 9 * S)), (2 * S, 45.5, 45.5));
        let at_once = Loaded::new(GO_NS, &totals(100, 0, 0, 0));
        assert_eq!(figures(&SAMPLES, Some(at_once), &totals(100, 100, 0, 4 * S)), (4 * S, 25.0, 25.0));
        let nothing = Delta { last_arrival_ns: 0, ..totals(100, 0, 0, 0) };
        assert_eq!(
            figures(&SAMPLES, Some(at_once), &nothing),
            (60 * S, 0.0, 0.0),
            "what was waited for in vain"
        );
        assert_eq!(
            window(&SAMPLES, None, &nothing).rates(60 * S, Rates::default()).sent_per_s,
            per_s(100, 60 * S)
        );
    }

    #[test]
    fn a_tail_of_a_hundredth_makes_an_overload() {
        let open = Load::Open { schedule: Schedule::constant(800.0), duration_ns: 4 * S };
        assert_eq!(figures(&open, None, &totals(3_200, 3_200, 31, 8 * S)), (4 * S, 800.0, 400.0));
        assert_eq!(figures(&open, None, &totals(3_200, 3_200, 32, 8 * S)), (4 * S, 400.0, 400.0));
        assert_eq!(figures(&open, None, &totals(3_200, 3_200, 2_800, 32 * S)), (4 * S, 100.0, 100.0));
        assert_eq!(
            figures(&open, None, &totals(3_200, 1_600, 0, 2 * S)),
            (4 * S, 400.0, 400.0),
            "no tail at all"
        );
    }

    #[test]
    fn a_broadcast_is_achieved_when_it_is_acknowledged() {
        let (open, acks) = (Load::Open { schedule: Schedule::constant(10.0), duration_ns: 2 * S }, 20);
        let copies = totals(20, 100, 90, 4 * S);
        let of = |tail_acks| {
            let totals = Delta {
                acks,
                tail: Tail { sent: 5, received: 90, acks: tail_acks, ..Tail::default() },
                ..copies.clone()
            };
            Window { workload: Workload::Broadcast, ..window(&open, None, &totals) }
                .rates(2 * S, Rates::default())
        };
        assert_eq!((of(0).achieved_per_s, of(0).received_per_s), (Some(10.0), Some(25.0)));
        assert_eq!(of(0).sent_per_s, Some(7.5), "what waited until after the window was not sent in it");
        assert_eq!(of(1).achieved_per_s, Some(5.0));
    }
}
