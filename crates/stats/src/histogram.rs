//! An HdrHistogram of durations with exact sums beside it.
//!
//! The buckets hold whole microseconds, 3 significant digits, 1 µs to 10 min. The sums, the minimum and the
//! maximum are kept in nanoseconds and as integers, so that the mean and σ are exact and merging is
//! associative: two workers' merged histograms equal one worker's, sample for sample.

use std::fmt;

use buckets::{Buckets, US_MAX};

mod buckets;
pub mod encoding;
pub mod packed;
mod pairs;

/// The longest duration kept apart from longer ones: 10 minutes.
pub const DURATION_NS_MAX: u64 = US_MAX * 1_000;

/// The number of samples above a quantile from which it is printed without a mark (METHODOLOGY "Quantiles").
const TAIL_SAMPLES_MIN: f64 = 10.0;

/// A histogram of durations, given and read in nanoseconds.
///
/// `new` allocates nothing; the first sample allocates the buckets (168 KiB, touched only where samples
/// fall), later ones nothing. [`shrink_to_fit`](Self::shrink_to_fit) reduces them to the occupied ones until
/// the next sample. Durations are rounded *up* to the microsecond, so no quantile lies below its sample.
#[derive(Clone, Default)]
pub struct Histogram {
    buckets: Buckets,
    sum_ns: u128,
    square_sum_ns: u128,
    min_ns: u64,
    max_ns: u64,
    clamped: u64,
}

/// Returns whether `count` samples are too few for the quantile `q` (0 ≤ q < 1): fewer than 10/(1 − q).
pub fn is_marked(count: u64, q: f64) -> bool {
    // 1 − 0.99 is a hair above 0.01 in binary; the tolerance keeps 1,000 samples enough for p99.
    (count as f64) * (1.0 - q) < TAIL_SAMPLES_MIN - 1e-6
}

/// The nearest rank of the quantile `q` among `n` samples, ceil(qN), counted from 1.
pub fn rank(n: u64, q: f64) -> u64 {
    // 0.07 × 100 is a hair above 7 in binary; without the tolerance it would be rank 8.
    ((q * n as f64 * (1.0 - 4.0 * f64::EPSILON)).ceil() as u64).clamp(1, n)
}

impl Histogram {
    /// An empty histogram.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds one sample. A sample above [`DURATION_NS_MAX`] counts as that duration, and as clamped.
    #[inline]
    pub fn record_ns(&mut self, value_ns: u64) {
        self.record_n_ns(value_ns, 1);
    }

    /// Adds `n` samples of the same value.
    #[inline]
    pub fn record_n_ns(&mut self, value_ns: u64, n: u64) {
        if n == 0 {
            return;
        }
        let value_ns = if value_ns > DURATION_NS_MAX { self.clamp(n) } else { value_ns };
        let buckets = self.buckets.dense();
        if buckets.is_empty() {
            (self.min_ns, self.max_ns) = (value_ns, value_ns);
        }
        buckets.saturating_record_n(value_ns.div_ceil(1_000), n);
        let total_ns = u128::from(value_ns) * u128::from(n);
        self.sum_ns += total_ns;
        self.square_sum_ns += total_ns * u128::from(value_ns);
        self.min_ns = self.min_ns.min(value_ns);
        self.max_ns = self.max_ns.max(value_ns);
    }

    #[cold]
    fn clamp(&mut self, n: u64) -> u64 {
        self.clamped += n;
        DURATION_NS_MAX
    }

    /// Adds all samples of `other`.
    pub fn merge(&mut self, other: &Histogram) {
        if other.is_empty() {
            return;
        }
        if self.is_empty() {
            (self.min_ns, self.max_ns) = (other.min_ns, other.max_ns);
        }
        let ours = self.buckets.dense();
        match &other.buckets {
            Buckets::Dense(theirs) => ours.add(theirs).expect("histograms share their bounds"),
            theirs => {
                for (us, samples) in theirs.iter() {
                    ours.saturating_record_n(us, samples);
                }
            }
        }
        self.sum_ns += other.sum_ns;
        self.square_sum_ns += other.square_sum_ns;
        self.min_ns = self.min_ns.min(other.min_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
        self.clamped += other.clamped;
    }

    /// Removes all samples, and keeps the memory.
    pub fn clear(&mut self) {
        self.buckets.clear();
        *self = Self { buckets: std::mem::take(&mut self.buckets), ..Self::default() };
    }

    /// Reduces the buckets to the occupied ones: a few hundred bytes, of which everything can still be read.
    pub fn shrink_to_fit(&mut self) {
        self.buckets.shrink_to_fit();
    }

    /// The number of samples.
    pub fn count(&self) -> u64 {
        self.buckets.len()
    }

    /// Returns whether there is no sample.
    pub fn is_empty(&self) -> bool {
        self.count() == 0
    }

    /// The number of samples above [`DURATION_NS_MAX`].
    pub fn clamped(&self) -> u64 {
        self.clamped
    }

    /// The exact arithmetic mean; 0 when empty.
    pub fn mean_ns(&self) -> f64 {
        if self.is_empty() { 0.0 } else { self.sum_ns as f64 / self.count() as f64 }
    }

    /// The sum of all samples, exact.
    pub(crate) fn sum_ns(&self) -> u128 {
        self.sum_ns
    }

    /// The exact standard deviation of the samples (population σ); 0 when empty.
    pub fn sd_ns(&self) -> f64 {
        if self.is_empty() {
            return 0.0;
        }
        // Σ(x−m)² about the integer part m of the mean is an exact integer: nothing cancels in floating
        // point.
        let n = u128::from(self.count());
        let (mean, rest) = (self.sum_ns / n, self.sum_ns % n);
        // (Sums read from a file were rounded, and may miss zero by a little.)
        let about_mean = (self.square_sum_ns + n * mean * mean).saturating_sub(2 * mean * self.sum_ns);
        let fraction = rest as f64 / n as f64;
        (about_mean as f64 / n as f64 - fraction * fraction).max(0.0).sqrt()
    }

    /// The smallest sample, exact; 0 when empty.
    pub fn min_ns(&self) -> u64 {
        self.min_ns
    }

    /// The largest sample, exact (or the clamp); 0 when empty.
    pub fn max_ns(&self) -> u64 {
        self.max_ns
    }

    /// The nearest-rank quantile, `sorted[ceil(qN) − 1]`, at most 0.1% + 1 µs above the sample and never
    /// below it; 0 when empty.
    pub fn quantile_ns(&self, q: f64) -> u64 {
        if self.is_empty() {
            return 0;
        }
        // A bucket's upper edge may lie beyond the largest sample, which is known exactly.
        (self.buckets.value_us(rank(self.count(), q)) * 1_000).clamp(self.min_ns, self.max_ns)
    }

    /// Returns whether the samples are too few for the quantile `q` (see [`is_marked`]).
    pub fn is_marked(&self, q: f64) -> bool {
        is_marked(self.count(), q)
    }

    /// The occupied buckets from the smallest: the value (upper edge, as [`Self::quantile_ns`] gives it) and
    /// how many samples it holds.
    pub fn recorded(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.edges().map(|(edge_ns, samples)| (edge_ns.clamp(self.min_ns, self.max_ns), samples))
    }

    /// The occupied buckets from the smallest: the upper edge, which no other sample moves, and how many
    /// samples it holds.
    pub(crate) fn edges(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.buckets.iter().map(|(us, samples)| (us * 1_000, samples))
    }
}

/// Shows the figures, not the 21,504 buckets.
impl fmt::Debug for Histogram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Histogram").field(&self.summary()).finish()
    }
}

impl PartialEq for Histogram {
    fn eq(&self, other: &Self) -> bool {
        self.sum_ns == other.sum_ns
            && self.square_sum_ns == other.square_sum_ns
            && self.min_ns == other.min_ns
            && self.max_ns == other.max_ns
            && self.clamped == other.clamped
            && self.recorded().eq(other.recorded())
    }
}

#[cfg(test)]
mod tests;
