//! Is B really slower than A? (METHODOLOGY "Comparison")
//!
//! Welch's test on independent values: one per repeat, or one per batch of a single run's series. The interval is
//! a 99% one: with ten figures in a report, 95% would cry wolf every other time.

use crate::interval::{Interval, Sample, batch_means};
use crate::student;

/// The confidence of a comparison's interval.
pub const COMPARISON_CONFIDENCE: f64 = 0.99;

/// The histogram's own precision: differences within it are no differences.
const RESOLUTION: f64 = 0.001;

/// Which direction of a figure is the better one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    /// Latencies, memory, CPU.
    Lower,
    /// Rates.
    Higher,
}

/// What became of B beside A.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// B is better.
    Faster,
    /// B is worse.
    Slower,
    /// The interval of the difference holds zero.
    NoDifference,
}

/// One figure of B beside A's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Comparison {
    /// A's mean.
    pub a: f64,
    /// B's mean.
    pub b: f64,
    /// The interval of B − A.
    pub difference: Interval,
    /// What it says.
    pub change: Change,
}

/// Compares repeats of A with repeats of B, in any unit. `None` with fewer than 2 of either.
pub fn repeats(a: &[f64], b: &[f64], better: Better) -> Option<Comparison> {
    let (a, b) = (Sample::of(a)?, Sample::of(b)?);
    let difference = b.mean - a.mean;
    let half_width = welch_half_width(&a, &b) + RESOLUTION * a.mean.abs().max(b.mean.abs());
    let change = if difference.abs() <= half_width {
        Change::NoDifference
    } else if (difference < 0.0) == (better == Better::Lower) {
        Change::Faster
    } else {
        Change::Slower
    };
    Some(Comparison { a: a.mean, b: b.mean, difference: Interval::around(difference, half_width), change })
}

/// Compares one run with one other by the batch means of their series, one value a second.
/// `None` when either is shorter than two rows a batch.
pub fn series(a: &[f64], b: &[f64], better: Better) -> Option<Comparison> {
    repeats(&batch_means(a)?, &batch_means(b)?, better)
}

/// t · √(s²ₐ/nₐ + s²ᵦ/nᵦ), with the Welch–Satterthwaite degrees of freedom.
fn welch_half_width(a: &Sample, b: &Sample) -> f64 {
    let (va, vb) = (a.mean_variance(), b.mean_variance());
    if va + vb == 0.0 {
        return 0.0;
    }
    let df = (va + vb).powi(2) / (va * va / (a.n - 1.0) + vb * vb / (b.n - 1.0));
    student::t(COMPARISON_CONFIDENCE, df) * (va + vb).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A latency with a long tail: the p99 of a second of 200 exponential samples of mean 10.
    fn second(random: &mut fastrand::Rng) -> f64 {
        let mut samples: Vec<f64> = (0..200).map(|_| -10.0 * (1.0 - random.f64()).ln()).collect();
        samples.sort_by(f64::total_cmp);
        samples[197]
    }

    fn no_difference(compare: impl Fn(&mut fastrand::Rng) -> Comparison) -> usize {
        (0..100)
            .filter(|&seed| compare(&mut fastrand::Rng::with_seed(seed)).change == Change::NoDifference)
            .count()
    }

    #[test]
    fn the_same_server_twice_is_no_difference_by_repeats() {
        let agreed = no_difference(|random| {
            let [a, b] = [(); 2].map(|()| (0..5).map(|_| second(random)).collect::<Vec<_>>());
            repeats(&a, &b, Better::Lower).unwrap()
        });
        assert!(agreed >= 95, "{agreed} of 100");
    }

    #[test]
    fn the_same_server_twice_is_no_difference_by_batches() {
        let agreed = no_difference(|random| {
            // A run remembers: each second is half the one before.
            let mut run = || {
                let mut last = 0.0;
                let mut row = || {
                    last = (last + second(random)) / 2.0;
                    last
                };
                (0..60).map(|_| row()).collect::<Vec<_>>()
            };
            let (a, b) = (run(), run());
            series(&a, &b, Better::Lower).unwrap()
        });
        assert!(agreed >= 95, "{agreed} of 100");
    }

    #[test]
    fn a_slower_server_is_found() {
        let found = (0..100)
            .filter(|&seed| {
                let mut random = fastrand::Rng::with_seed(seed);
                let a: Vec<_> = (0..30).map(|_| second(&mut random)).collect();
                let b: Vec<_> = (0..30).map(|_| second(&mut random) * 1.2).collect();
                series(&a, &b, Better::Lower).unwrap().change == Change::Slower
            })
            .count();
        assert!(found >= 90, "{found} of 100");
    }

    #[test]
    fn more_is_faster_only_for_rates() {
        let (a, b) = ([100.0, 101.0, 99.0], [150.0, 151.0, 149.0]);
        assert_eq!(repeats(&a, &b, Better::Higher).unwrap().change, Change::Faster);
        assert_eq!(repeats(&a, &b, Better::Lower).unwrap().change, Change::Slower);
        assert_eq!(repeats(&b, &a, Better::Lower).unwrap().change, Change::Faster);
    }

    #[test]
    fn a_difference_within_the_precision_is_none() {
        let found = repeats(&[100.0; 3], &[100.05; 3], Better::Lower).unwrap();
        assert_eq!(found.change, Change::NoDifference);
        assert!(found.difference.contains(0.0));
        assert_eq!(repeats(&[100.0], &[1.0, 2.0], Better::Lower), None);
    }
}
