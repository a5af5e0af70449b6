//! How far another machine's clock is from ours, and how sure that is (METHODOLOGY "Clocks of a fleet").
//!
//! We send at t0, the other end reads its clock at t1, the answer is here at t2. If both ways took equally
//! long, its clock showed t1 at (t0 + t2) / 2; if not, that is wrong by at most half the round trip (RFC 5905
//! §8). The best of the last [`SAMPLES`] exchanges counts: the one whose half round trip, and what the clocks
//! may have drifted apart since, is shortest.

use std::collections::VecDeque;

/// Exchanges that are remembered.
const SAMPLES: usize = 16;
/// The most by which two quartz clocks drift apart while NTP keeps them in step.
const DRIFT_PER_NS: f64 = 50e-6;

/// The offset of another clock: add `offset_ns` to its reading to get ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Offset {
    /// Our clock minus the other.
    pub(crate) offset_ns: i64,
    /// The most that the offset may be wrong.
    pub(crate) error_ns: u64,
}

/// Exchanges with one other end.
#[derive(Clone, Debug, Default)]
pub(crate) struct Exchanges {
    samples: VecDeque<(u64, Offset)>,
    /// The offset last sent to the other end.
    applied_ns: Option<i64>,
}

impl Exchanges {
    /// An exchange: sent at `sent_ns`, answered when the other clock showed `other_ns`, and back at
    /// `back_ns`.
    pub(crate) fn add(&mut self, sent_ns: u64, other_ns: u64, back_ns: u64) {
        let error_ns = back_ns.saturating_sub(sent_ns) / 2;
        // The other clock counts from its own boot and may show anything: the difference wraps, and is taken
        // as signed.
        let offset_ns = (sent_ns + error_ns).wrapping_sub(other_ns) as i64;
        if self.samples.len() == SAMPLES {
            self.samples.pop_front();
        }
        self.samples.push_back((back_ns, Offset { offset_ns, error_ns }));
    }

    /// Number of exchanges that are remembered.
    pub(crate) fn count(&self) -> usize {
        self.samples.len()
    }

    /// Takes the best offset known as the one the other end is to add from now on.
    pub(crate) fn apply(&mut self, now_ns: u64) -> Option<i64> {
        self.applied_ns = self.best(now_ns).map(|best| best.offset_ns);
        self.applied_ns
    }

    /// The offset that the other end adds to its clock, and how wrong that may have become by `now_ns`;
    /// before it adds anything, the best.
    pub(crate) fn applied(&self, now_ns: u64) -> Option<Offset> {
        let best = self.best(now_ns)?;
        let offset_ns = self.applied_ns.unwrap_or(best.offset_ns);
        // The offset in use may be an older one: how far it is from the best known now adds to its error.
        Some(Offset { offset_ns, error_ns: best.error_ns + best.offset_ns.abs_diff(offset_ns) })
    }

    /// The best offset, as of `now_ns`.
    fn best(&self, now_ns: u64) -> Option<Offset> {
        let aged = self.samples.iter().map(|&(at_ns, sample)| {
            let drift_ns = (now_ns.saturating_sub(at_ns) as f64 * DRIFT_PER_NS) as u64;
            Offset { error_ns: sample.error_ns + drift_ns, ..sample }
        });
        aged.min_by_key(|sample| sample.error_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn true_offset_lies_within_the_error() {
        let truth_ns = -5_000_000_000i64;
        let mut rng = fastrand::Rng::with_seed(3);
        let mut exchanges = Exchanges::default();
        for k in 0..40u64 {
            let (there_ns, back_ns) = (100_000 + rng.u64(..900_000), 100_000 + rng.u64(..900_000));
            let sent_ns = 1_000_000_000 + k * 20_000_000;
            let other_ns = (sent_ns + there_ns).wrapping_add_signed(-truth_ns);
            exchanges.add(sent_ns, other_ns, sent_ns + there_ns + back_ns);
            let Offset { offset_ns, error_ns } = exchanges.best(sent_ns + there_ns + back_ns).unwrap();
            assert!(offset_ns.abs_diff(truth_ns) <= error_ns, "{offset_ns} ± {error_ns}");
        }
        assert_eq!(exchanges.count(), SAMPLES);
        assert!(exchanges.best(1_780_000_000).unwrap().error_ns < 700_000);
    }

    #[test]
    fn an_old_exchange_is_worth_less() {
        let mut exchanges = Exchanges::default();
        exchanges.add(0, 0, 200);
        exchanges.add(60_000_000_000, 60_000_000_000, 60_002_000_000);
        assert_eq!(exchanges.best(200).unwrap().error_ns, 100);
        assert_eq!(exchanges.best(60_002_000_000).unwrap().error_ns, 1_000_000, "a minute of drift is more");
    }

    #[test]
    fn errors_of_applied_offsets_grow_with_drift() {
        const MINUTE_NS: u64 = 60_000_000_000;
        let mut exchanges = Exchanges::default();
        assert_eq!((exchanges.apply(0), exchanges.applied(0)), (None, None), "nothing is known yet");
        // The other clock gains 10 µs a second; each way takes 50 µs.
        let exchange = |exchanges: &mut Exchanges, at_ns: u64| {
            exchanges.add(at_ns, at_ns + 50_000 + at_ns / 100_000, at_ns + 100_000);
            exchanges.applied(at_ns + 100_000).unwrap()
        };
        let first = exchange(&mut exchanges, 0);
        assert_eq!(first, Offset { offset_ns: 0, error_ns: 50_000 });
        assert_eq!(exchanges.apply(100_000), Some(0));
        for minute in 1..30 {
            exchange(&mut exchanges, minute * MINUTE_NS);
        }
        let last = exchange(&mut exchanges, 30 * MINUTE_NS);
        assert_eq!(last, Offset { offset_ns: 0, error_ns: 18_050_000 }, "the step still runs on the first");
        assert_eq!(exchanges.apply(30 * MINUTE_NS), Some(-18_000_000));
        assert_eq!(exchanges.applied(30 * MINUTE_NS).unwrap().error_ns, 50_000, "the next does not");
    }
}
