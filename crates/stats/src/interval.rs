//! Confidence intervals: by repeats, and by batch means over one run.

use crate::student;

/// The confidence of every interval that is printed.
pub const CONFIDENCE: f64 = 0.95;

/// The number of batches into which the series of one run is cut (METHODOLOGY "Intervals").
pub const BATCHES: usize = 10;

/// A closed interval, in the unit of the figure it belongs to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// Lower bound.
    pub low: f64,
    /// Upper bound.
    pub high: f64,
}

impl Interval {
    pub(crate) fn around(middle: f64, half_width: f64) -> Self {
        Interval { low: middle - half_width, high: middle + half_width }
    }

    /// Returns whether `value` lies in the interval, bounds included.
    pub fn contains(&self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }
}

/// The interval of the mean of independent repeats, mean ± t·s/√n. `None` with fewer than 2.
pub fn of_repeats(values: &[f64]) -> Option<Interval> {
    Some(Sample::of(values)?.interval())
}

/// The interval of a figure over one run, around its `value` over all of it, from its series, one value a
/// second: neighbouring seconds resemble each other, the means of [`BATCHES`] batches hardly do. How far
/// these lie from the value is what makes it wide (sectioning; Asmussen and Glynn, Stochastic Simulation,
/// III.5). `None` with fewer than 2 rows a batch.
pub fn of_series(series: &[f64], value: f64) -> Option<Interval> {
    let sample = Sample::about(&batch_means(series)?, value)?;
    Some(sample.interval())
}

/// The means of [`BATCHES`] equal, consecutive batches; the first rows are left out where the length does not
/// divide.
pub fn batch_means(series: &[f64]) -> Option<Vec<f64>> {
    let rows = series.len() / BATCHES;
    if rows < 2 {
        return None;
    }
    let whole = &series[series.len() - rows * BATCHES..];
    Some(whole.chunks_exact(rows).map(|batch| batch.iter().sum::<f64>() / rows as f64).collect())
}

/// Size, mean and variance of a sample of at least 2.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sample {
    pub(crate) n: f64,
    pub(crate) mean: f64,
    pub(crate) variance: f64,
}

impl Sample {
    pub(crate) fn of(values: &[f64]) -> Option<Self> {
        if values.len() < 2 {
            return None;
        }
        Self::about(values, values.iter().sum::<f64>() / values.len() as f64)
    }

    /// Makes a sample of these values about a mean that is known from elsewhere.
    pub(crate) fn about(values: &[f64], mean: f64) -> Option<Self> {
        let n = values.len() as f64;
        let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0);
        (values.len() >= 2).then_some(Sample { n, mean, variance })
    }

    fn interval(&self) -> Interval {
        Interval::around(self.mean, student::t(CONFIDENCE, self.n - 1.0) * self.mean_variance().sqrt())
    }

    /// The variance of the mean: s²/n.
    pub(crate) fn mean_variance(&self) -> f64 {
        self.variance / self.n
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Draws a normal deviate, as the sum of twelve uniforms.
    fn deviate(random: &mut fastrand::Rng) -> f64 {
        (0..12).map(|_| random.f64()).sum::<f64>() - 6.0
    }

    #[test]
    fn repeats_give_the_textbook_interval() {
        // x̄ = 5, s = 1.5811, n = 5: 5 ± 2.7764 · 0.7071.
        let interval = of_repeats(&[3.0, 4.0, 5.0, 6.0, 7.0]).unwrap();
        assert!(
            (interval.low - 3.0368).abs() < 1e-3 && (interval.high - 6.9632).abs() < 1e-3,
            "{interval:?}"
        );
        assert_eq!(of_repeats(&[1.0]), None);
    }

    #[test]
    fn repeats_cover_the_mean_in_95_of_100() {
        let mut random = fastrand::Rng::with_seed(7);
        let covered = (0..2_000)
            .filter(|_| {
                let values: Vec<_> = (0..5).map(|_| 100.0 + deviate(&mut random)).collect();
                of_repeats(&values).unwrap().contains(100.0)
            })
            .count();
        assert!((1_860..=1_940).contains(&covered), "{covered} of 2,000");
    }

    #[test]
    fn batches_cover_means_of_correlated_series() {
        let mut random = fastrand::Rng::with_seed(11);
        let covered = (0..1_000)
            .filter(|_| {
                let mut state = 0.0;
                let series: Vec<_> = (0..120)
                    .map(|_| {
                        state = 0.5 * state + deviate(&mut random);
                        50.0 + state
                    })
                    .collect();
                let mean = series.iter().sum::<f64>() / 120.0;
                of_series(&series, mean).unwrap().contains(50.0)
            })
            .count();
        assert!((900..=970).contains(&covered), "{covered} of 1,000");
    }

    #[test]
    fn short_series_have_no_interval() {
        assert_eq!(of_series(&[1.0; 19], 1.0), None);
        assert!(of_series(&[1.0; 20], 1.0).is_some());
    }

    #[test]
    fn intervals_hold_values_of_unlike_seconds() {
        // The 99th percentile of a run that paused once is nowhere near the mean of its seconds' percentiles.
        let mut series = [1.0; 60];
        series[30] = 900.0;
        for value in [1.0, 16.0, 850.0] {
            let interval = of_series(&series, value).unwrap();
            assert!(interval.contains(value), "{interval:?} of {value}");
        }
    }

    #[test]
    fn batches_leave_out_the_first_rows() {
        let mut series = vec![1e9, 1e9, 1e9];
        series.extend((0..20).map(f64::from));
        assert_eq!(batch_means(&series).unwrap()[..2], [0.5, 2.5]);
    }
}
