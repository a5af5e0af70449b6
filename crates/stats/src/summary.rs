//! The figures of one histogram.

use crate::Histogram;
use crate::histogram::is_marked;

/// The quantiles every report prints, by name, from the smallest.
pub const QUANTILES: [(&str, f64); 6] =
    [("p50", 0.5), ("p90", 0.9), ("p95", 0.95), ("p99", 0.99), ("p999", 0.999), ("p9999", 0.9999)];

/// The figures of one histogram, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    /// Number of samples, at least 1.
    pub count: u64,
    /// Exact mean.
    pub mean_ns: f64,
    /// Exact population standard deviation.
    pub sd_ns: f64,
    /// Exact minimum.
    pub min_ns: u64,
    /// Median, nearest rank.
    pub p50_ns: u64,
    /// 90th percentile, nearest rank.
    pub p90_ns: u64,
    /// 95th percentile, nearest rank.
    pub p95_ns: u64,
    /// 99th percentile, nearest rank.
    pub p99_ns: u64,
    /// 99.9th percentile, nearest rank.
    pub p999_ns: u64,
    /// 99.99th percentile, nearest rank.
    pub p9999_ns: u64,
    /// Exact maximum.
    pub max_ns: u64,
}

impl Summary {
    /// The names of the quantiles for which `count` samples are too few (METHODOLOGY "Quantiles").
    pub fn marked(&self) -> impl Iterator<Item = &'static str> + use<> {
        let count = self.count;
        QUANTILES.into_iter().filter(move |&(_, q)| is_marked(count, q)).map(|(name, _)| name)
    }
}

impl Histogram {
    /// All figures of the histogram; `None` when it is empty, so that an absent figure is never printed as 0.
    pub fn summary(&self) -> Option<Summary> {
        if self.is_empty() {
            return None;
        }
        let [p50_ns, p90_ns, p95_ns, p99_ns, p999_ns, p9999_ns] = QUANTILES.map(|(_, q)| self.quantile_ns(q));
        Some(Summary {
            count: self.count(),
            mean_ns: self.mean_ns(),
            sd_ns: self.sd_ns(),
            min_ns: self.min_ns(),
            p50_ns,
            p90_ns,
            p95_ns,
            p99_ns,
            p999_ns,
            p9999_ns,
            max_ns: self.max_ns(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_with_few_samples_are_marked() {
        let of = |n| {
            let mut histogram = Histogram::new();
            histogram.record_n_ns(1_000, n);
            histogram.summary().unwrap().marked().collect::<Vec<_>>()
        };
        assert_eq!(of(1_000), ["p999", "p9999"]);
        assert_eq!(of(999), ["p99", "p999", "p9999"]);
        assert_eq!(of(199), ["p95", "p99", "p999", "p9999"]);
        assert!(of(100_000).is_empty());
    }

    #[test]
    fn empty_histograms_have_no_summary() {
        assert_eq!(Histogram::new().summary(), None);
    }
}
