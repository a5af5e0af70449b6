//! The time of a step's round trips: the parts that the generator's own clock cuts them into (METHODOLOGY "Account").

use stats::{Account, Histogram, LatencyParts};

/// Messages count as slow from here on: with the p99, a step of a few hundred would have too few.
pub(crate) const TAIL_QUANTILE: f64 = 0.95;

/// The parts of all round trips of a step, and of the slow ones.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TimeSpent {
    /// The parts of all round trips.
    pub all: LatencyParts,
    /// The parts of the slow ones: those that took as long as `tail_from_ns`, to a fifth, or longer.
    pub tail: LatencyParts,
    /// The p95; or the bound of a limit that was broken.
    pub tail_from_ns: u64,
    /// The quantile that is about so long: 0.95, or that of the limit.
    pub tail_quantile: f64,
    /// The percentage of the time before messages were sent that they waited for a connection that others
    /// held: 0 to 100.
    pub waited_percent: f64,
    /// The percentage of the load's time in which at least one message was without an answer, if it is known: 0 to 100.
    pub outstanding_percent: Option<f64>,
    /// The parts by how long round trips took, until the step is judged.
    pub(crate) by_latency: Account,
}

/// Least share of some messages' time that has to be stamped to speak for them: below it, the few stamped
/// ones would be chance, and all of the step's stand in.
const STAMPED_SHARE_MIN: f64 = 0.02;

/// Messages that take longer than they may.
#[derive(Clone, Copy)]
pub(crate) struct SlowTail {
    /// The longest that they may take.
    pub(crate) from_ns: u64,
    /// The quantile that is to be no longer.
    pub(crate) quantile: f64,
}

impl TimeSpent {
    /// Share of sent → handled that came after the answers had arrived: 0 to 1. Stamps tell all of it, of a
    /// few; the turns of the generator's loop tell a part, of every message.
    pub(crate) fn handled_share(&self, of: &LatencyParts) -> f64 {
        let is_stamped = of.stamped_ns as f64 >= STAMPED_SHARE_MIN * of.service_ns as f64;
        // Of sampled reads: one in 61 is stamped, so that the tail of a short step may have next to none.
        let own = of.handled_share().filter(|_| is_stamped);
        own.or(self.all.handled_share()).unwrap_or(0.0).max(of.turn_share())
    }

    /// Sent → answer arrived, of one of these messages on average.
    pub(crate) fn served_ns(&self, of: &LatencyParts) -> f64 {
        of.service_ns as f64 * (1.0 - self.handled_share(of)) / of.messages.max(1) as f64
    }

    /// Takes what workers have measured together, the [latency](stats::Figures::accounted) that it adds up
    /// to, and for which share of the time a message was without an answer; `None` where nothing was
    /// answered.
    pub fn of(account: &Account, latency: &Histogram, outstanding_share: Option<f64>) -> Option<TimeSpent> {
        let tail_from_ns = if latency.is_empty() { return None } else { latency.quantile_ns(TAIL_QUANTILE) };
        Some(TimeSpent {
            all: account.from(0),
            tail: account.from(tail_from_ns),
            tail_from_ns,
            tail_quantile: TAIL_QUANTILE,
            waited_percent: 100.0 * account.waiting_share(),
            outstanding_percent: outstanding_share.map(|share| 100.0 * share),
            by_latency: account.clone(),
        })
    }

    /// Takes for slow those that a broken limit does not allow, if there is one; from now on, that is so.
    pub(crate) fn settle_tail(&mut self, tail: Option<SlowTail>) {
        let by_latency = std::mem::take(&mut self.by_latency);
        if let Some(SlowTail { from_ns, quantile }) = tail {
            (self.tail_from_ns, self.tail_quantile) = (from_ns, quantile);
            self.tail = by_latency.from(from_ns);
        }
    }
}
