//! The part of the load that belongs to one worker.

use codec::Stamp;
use serde::{Deserialize, Serialize};

/// One worker's place among all workers of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Segment {
    /// This worker's number, from 0; it goes into every stamp.
    pub worker: u16,
    /// How many workers the run has.
    pub workers: u16,
}

impl Segment {
    /// A client's number in the run, by its number at this worker. The number of a client that does not
    /// exist, which a server may make up, is arbitrary.
    #[inline]
    pub fn number(&self, client: u32) -> u32 {
        client.wrapping_mul(self.workers.into()).wrapping_add(self.worker.into())
    }

    /// The number among those of all workers of the client that sent the message with this stamp.
    #[inline]
    pub fn sender(&self, stamp: Stamp) -> u32 {
        Self { worker: stamp.worker, ..*self }.number(stamp.client)
    }

    /// This worker's share of `total`: shares differ by at most one, and grow as the total grows.
    pub fn share(&self, total: u32) -> u32 {
        let (worker, workers) = (u32::from(self.worker), u32::from(self.workers));
        total / workers + u32::from(worker < total % workers)
    }

    /// This worker's share of `samples` where it has its [`share`](Self::share) of `slots`: in proportion to
    /// its slots, all shares adding up to `samples`.
    pub fn share_by_slots(&self, samples: u64, slots: u32) -> u64 {
        let first =
            (0..self.worker).map(|worker| u64::from(Self { worker, ..*self }.share(slots))).sum::<u64>();
        let last = first + u64::from(self.share(slots));
        // Shares are differences of rounded partial sums, so they add up to `samples` exactly.
        let cut = |slot: u64| (u128::from(samples) * u128::from(slot) / u128::from(slots.max(1))) as u64;
        cut(last) - cut(first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn all(workers: u16) -> impl Iterator<Item = Segment> {
        (0..workers).map(move |worker| Segment { worker, workers })
    }

    #[test]
    fn workers_without_slots_get_no_samples() {
        let samples: Vec<u64> = all(4).map(|s| s.share_by_slots(100, 2)).collect();
        assert_eq!(samples, [50, 50, 0, 0]);
    }

    #[test]
    fn shares_of_billions_add_up() {
        let (samples, slots) = (5_000_000_000, 4_000_000_000);
        assert_eq!(all(3).map(|s| s.share_by_slots(samples, slots)).sum::<u64>(), samples);
    }

    proptest! {
        #[test]
        fn shares_add_up_and_never_shrink(total in 0u32..100_000, workers in 1u16..40) {
            prop_assert_eq!(all(workers).map(|s| s.share(total)).sum::<u32>(), total);
            for segment in all(workers) {
                prop_assert!(segment.share(total + 1) >= segment.share(total));
            }
        }

        #[test]
        fn samples_add_up(samples in 0u64..10_000, slots in 1u32..100, workers in 1u16..10) {
            prop_assert_eq!(all(workers).map(|s| s.share_by_slots(samples, slots)).sum::<u64>(), samples);
        }
    }
}
