//! A histogram as in Prometheus and OpenTelemetry: few bounds, the same for all, and the numbers of samples
//! between them.
//!
//! Six bounds to a factor of ten, from 10 µs to 100 s. A sample counts where the upper edge of its bucket is,
//! which is up to 0.1% above: a bucket's count only ever grows, as programs that add the counts up need.

use crate::Histogram;

/// The bounds within a factor of ten, in tenths.
const STEPS: [u64; 6] = [10, 15, 20, 30, 50, 70];
/// The lowest bound: no network is faster.
const FIRST_NS: u64 = 10_000;
const DECADES: u32 = 7;

/// The upper bounds in nanoseconds of all buckets except the last, which has none.
pub fn bounds_ns() -> impl Iterator<Item = u64> {
    let steps = (0..DECADES).flat_map(|decade| STEPS.map(|step| FIRST_NS / 10 * step * 10u64.pow(decade)));
    steps.chain([FIRST_NS * 10u64.pow(DECADES)])
}

/// Counts of samples between fixed bounds: each bucket counts the samples above the bound before it, up to
/// its own bound.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ExplicitBuckets {
    /// The samples in each bucket; empty if there is no sample.
    counts: Vec<u64>,
    sum_ns: u128,
}

impl ExplicitBuckets {
    /// Adds all samples of `other`.
    pub fn merge(&mut self, other: &ExplicitBuckets) {
        self.counts.resize(self.counts.len().max(other.counts.len()), 0);
        for (ours, theirs) in self.counts.iter_mut().zip(&other.counts) {
            *ours += theirs;
        }
        self.sum_ns += other.sum_ns;
    }

    /// Returns whether there is no sample.
    pub fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    /// The samples in each bucket, from the lowest; the last is above all bounds.
    pub fn counts(&self) -> &[u64] {
        &self.counts
    }

    /// The number of samples.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// The sum of all samples, in seconds.
    pub fn sum_s(&self) -> f64 {
        self.sum_ns as f64 / 1e9
    }
}

impl From<&Histogram> for ExplicitBuckets {
    fn from(histogram: &Histogram) -> Self {
        if histogram.is_empty() {
            return Self::default();
        }
        let mut counts = vec![0];
        let mut bounds = bounds_ns().peekable();
        for (edge_ns, samples) in histogram.edges() {
            while bounds.next_if(|&bound_ns| bound_ns < edge_ns).is_some() {
                counts.push(0);
            }
            *counts.last_mut().expect("one at the least") += samples;
        }
        // All buckets, also those above the last sample: both formats have a count for every bound, each
        // time.
        counts.resize(bounds_ns().count() + 1, 0);
        Self { counts, sum_ns: histogram.sum_ns() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_rise_from_10_us_to_100_s() {
        let bounds: Vec<u64> = bounds_ns().collect();
        assert_eq!((bounds[0], bounds[1], bounds[6]), (10_000, 15_000, 100_000));
        assert_eq!((bounds.len(), bounds.last()), (43, Some(&100_000_000_000)));
        assert!(bounds.is_sorted_by(|a, b| a < b), "{bounds:?}");
    }

    #[test]
    fn each_sample_is_on_its_rung() {
        let mut histogram = Histogram::new();
        for us in [5, 10, 11, 15, 1_200, 699_000, 150_000_000] {
            histogram.record_ns(us * 1_000);
        }
        let explicit_buckets = ExplicitBuckets::from(&histogram);
        let occupied: Vec<(Option<u64>, u64)> = explicit_buckets
            .counts()
            .iter()
            .enumerate()
            .filter(|(_, samples)| **samples > 0)
            .map(|(k, samples)| (bounds_ns().nth(k).map(|ns| ns / 1_000), *samples))
            .collect();
        let expected = [(Some(10), 2), (Some(15), 2), (Some(1_500), 1), (Some(700_000), 1), (None, 1)];
        assert_eq!(occupied, expected);
        assert_eq!((explicit_buckets.count(), explicit_buckets.sum_s()), (7, 150.700_241));
    }

    #[test]
    fn merged_buckets_equal_one_recorded_together() {
        let of = |values: &[u64]| {
            let mut histogram = Histogram::new();
            for &ms in values {
                histogram.record_ns(ms * 1_000_000);
            }
            ExplicitBuckets::from(&histogram)
        };
        let mut sum = ExplicitBuckets::default();
        assert!(sum.is_empty() && sum.count() == 0);
        for part in [&[][..], &[1, 2, 3], &[], &[500]] {
            sum.merge(&of(part));
        }
        assert_eq!(sum, of(&[1, 2, 3, 500]));
    }
}
