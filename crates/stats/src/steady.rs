//! The level that a series settles at, without the values before it has settled.
//!
//! How much of the start to leave out is chosen by the data (MSER: White, "An effective truncation heuristic
//! for bias reduction in simulation output", 1997): as much as makes the standard error of the rest smallest,
//! and never more than half.

use crate::interval::{Interval, of_repeats};

/// The level that a series settles at.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Steady {
    /// The number of values that were left out at the start of the series.
    pub from: usize,
    /// The 95% interval of the mean of the rest.
    pub mean: Interval,
}

impl Steady {
    /// Finds the level of a series; `None` with fewer than four values: half of them are no series.
    pub fn of(series: &[f64]) -> Option<Self> {
        const VALUES_MIN: usize = 4;
        const CLEARLY_LESS: f64 = 0.4;
        if series.len() < VALUES_MIN {
            return None;
        }
        let errors = errors(series);
        let best = (0..=series.len() / 2).min_by(|&a, &b| errors[a].total_cmp(&errors[b]))?;
        // What chance alone makes smaller is no start: to leave it out would make intervals too narrow.
        let from = if errors[best] < CLEARLY_LESS * errors[0] { best } else { 0 };
        Some(Steady { from, mean: of_repeats(&series[from..])? })
    }
}

/// MSER's statistic of the values from each place on: the squared standard error of their mean, but for a
/// factor of n / (n − 1).
fn errors(series: &[f64]) -> Vec<f64> {
    let mut errors = vec![0.0; series.len()];
    let (mut n, mut mean, mut squares) = (0.0_f64, 0.0_f64, 0.0_f64);
    // From the end, one value more at a time (Welford 1962): a day has 86,400 rows, and half as many places.
    for (error, &value) in errors.iter_mut().zip(series).rev() {
        n += 1.0;
        let apart = value - mean;
        mean += apart / n;
        squares += apart * (value - mean);
        *error = squares / (n * n);
    }
    errors
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_unlike_the_rest_is_left_out() {
        let series = [0.8, 0.8, 0.8, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
        let steady = Steady::of(&series).unwrap();
        assert_eq!((steady.from, steady.mean), (3, Interval { low: 1.0, high: 1.0 }));
        assert_eq!(Steady::of(&[0.5; 10]).unwrap().from, 0);
        assert_eq!(Steady::of(&[1.0; 3]), None);
    }

    #[test]
    fn errors_are_those_of_each_rest() {
        let series: Vec<f64> = (0..40).map(|at| f64::from(at * at % 17)).collect();
        for (from, error) in errors(&series).into_iter().enumerate() {
            let rest = &series[from..];
            let (n, mean) = (rest.len() as f64, rest.iter().sum::<f64>() / rest.len() as f64);
            let direct = rest.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n * n);
            assert!((error - direct).abs() < 1e-9, "{from}");
        }
    }

    #[test]
    fn unsettled_series_have_wide_intervals() {
        let stalls: Vec<f64> = (0..12).map(|at| [1.0, 1.0, 0.0, 2.0][at % 4]).collect();
        assert!(Steady::of(&stalls).unwrap().mean.contains(1.0));
    }

    /// Checks ten rows with a noise of 2% around the truth, a hundred times.
    #[test]
    fn the_interval_covers_the_truth() {
        let covers = |seed: u64| {
            let mut random = fastrand::Rng::with_seed(seed);
            let mut noise = || (0..12).map(|_| random.f64() - 0.5).sum::<f64>() * 0.02;
            let series: Vec<f64> = (0..10).map(|_| 0.97 + noise()).collect();
            Steady::of(&series).unwrap().mean.contains(0.97)
        };
        let covered = (0..100).filter(|seed| covers(*seed)).count();
        assert!(covered >= 90, "{covered} of 100");
    }
}
