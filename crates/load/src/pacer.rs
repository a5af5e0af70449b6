//! When the k-th message is due.
//!
//! A pacer is a pure value. Because a due time can be computed again at any later moment, nothing needs to be
//! stored for a message in flight: an echo that never came is charged from the time at which it was due.

use serde::{Deserialize, Serialize};

use crate::schedule::Schedule;

/// One worker's part of a schedule, in nanoseconds since the start of the step.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pacer {
    /// The schedule of the whole run.
    schedule: Schedule,
    /// The number of this worker's first message, among the first `stride` messages of all workers.
    offset: u32,
    /// How many workers share the schedule.
    stride: u32,
}

impl Pacer {
    /// The part of `schedule` that the `offset`-th of `stride` workers sends.
    ///
    /// # Panics
    /// If `offset` is not below `stride`.
    pub fn new(schedule: Schedule, offset: u32, stride: u32) -> Self {
        assert!(offset < stride, "worker {offset} of {stride}");
        Self { schedule, offset, stride }
    }

    /// A pacer of a constant rate per second, which is positive and finite.
    pub fn constant(rate_per_s: f64, offset: u32, stride: u32) -> Self {
        Self::new(Schedule::constant(rate_per_s), offset, stride)
    }

    /// When this worker's `k`-th message (from 0) is due, in ns since the step's start.
    ///
    /// Computed from `k`, never by adding up gaps, so that rounding cannot drift.
    pub fn due_ns(&self, k: u64) -> u64 {
        // Workers take the schedule's messages in turn, so all of them together send at its rate at every
        // moment.
        self.schedule.due_ns(k as f64 * f64::from(self.stride) + f64::from(self.offset))
    }

    /// How many of this worker's messages are due strictly before `window_ns`.
    pub fn count_before(&self, window_ns: u64) -> u64 {
        // An estimate, one too many: rounding may put the last one on either side of the end, and only
        // `due_ns` counts.
        let ours = self.schedule.messages_until(window_ns) / f64::from(self.stride);
        let mut k = ours as u64 + 1;
        while k > 0 && self.due_ns(k - 1) >= window_ns {
            k -= 1;
        }
        k
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::Piece;
    use proptest::prelude::*;

    #[test]
    fn one_worker_sends_evenly() {
        let pacer = Pacer::constant(4.0, 0, 1);
        let due: Vec<u64> = (0..5).map(|k| pacer.due_ns(k)).collect();
        assert_eq!(due, [0, 250_000_000, 500_000_000, 750_000_000, 1_000_000_000]);
        assert_eq!(pacer.count_before(1_000_000_000), 4);
        assert_eq!(pacer.count_before(0), 0);
    }

    #[test]
    fn as_many_as_asked_fit_the_window_exactly() {
        for (messages, window_ns) in
            [(1_000_000u64, 60_000_000_000u64), (1_000_000, 30_000_000_000), (997, 7)]
        {
            let pacer = Pacer::constant(messages as f64 * 1e9 / window_ns as f64, 0, 1);
            assert_eq!(pacer.due_ns(messages), window_ns);
        }
    }

    #[test]
    fn a_ramp_sends_what_lies_under_it() {
        let piece = Piece { from_per_s: 100.0, to_per_s: 500.0, duration_ns: 4_000_000_000 };
        let counts: Vec<u64> = (0..3)
            .map(|worker| Pacer::new(Schedule::of(&[piece]), worker, 3).count_before(piece.duration_ns))
            .collect();
        assert_eq!(counts, [400, 400, 400]);
    }

    #[test]
    fn a_schedule_does_not_drift_over_hours() {
        let pacer = Pacer::constant(3.0, 0, 1);
        let day = 24 * 3600;
        assert_eq!(pacer.due_ns(3 * day), day * 1_000_000_000);
    }

    proptest! {
        #[test]
        fn shares_are_the_whole_schedule(rate in 0.1f64..1e6, workers in 1u32..9) {
            let whole = Pacer::constant(rate, 0, 1);
            for k in 0..64u64 {
                let worker = (k % u64::from(workers)) as u32;
                let share = Pacer::constant(rate, worker, workers);
                prop_assert_eq!(share.due_ns(k / u64::from(workers)), whole.due_ns(k));
            }
        }

        #[test]
        fn as_many_as_are_due(rate in 0.5f64..1e6, window_ns in 0u64..10_000_000_000, workers in 1u32..5) {
            let sum: u64 = (0..workers).map(|w| Pacer::constant(rate, w, workers).count_before(window_ns)).sum();
            prop_assert_eq!(sum, Pacer::constant(rate, 0, 1).count_before(window_ns));
        }
    }
}
