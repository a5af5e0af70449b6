//! Confidence intervals: by repeats, by batch means over one run, and by the bootstrap.

use std::collections::BTreeMap;

use crate::histogram::{self, Histogram};
use crate::student;

/// The confidence of every interval that is printed.
pub const CONFIDENCE: f64 = 0.95;

/// How many batches the series of one run is cut into (METHODOLOGY "Intervals").
pub const BATCHES: usize = 10;

const BOOTSTRAP_ROUNDS: usize = 1_000;

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

    /// Whether `value` lies in it, bounds included.
    pub fn contains(&self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }
}

/// The interval of the mean of independent repeats, mean ± t·s/√n. `None` with fewer than 2.
pub fn of_repeats(values: &[f64]) -> Option<Interval> {
    let sample = Sample::of(values)?;
    Some(Interval::around(
        sample.mean,
        student::t(CONFIDENCE, sample.n - 1.0) * sample.mean_variance().sqrt(),
    ))
}

/// The interval of a figure over one run from its series, one value a second: neighbouring seconds resemble each
/// other, the means of [`BATCHES`] batches hardly do. `None` with fewer than 2 rows a batch.
pub fn of_series(series: &[f64]) -> Option<Interval> {
    of_repeats(&batch_means(series)?)
}

/// The means of [`BATCHES`] equal, consecutive batches; the first rows are left out where the length does not divide.
pub fn batch_means(series: &[f64]) -> Option<Vec<f64>> {
    let rows = series.len() / BATCHES;
    if rows < 2 {
        return None;
    }
    let whole = &series[series.len() - rows * BATCHES..];
    Some(whole.chunks_exact(rows).map(|batch| batch.iter().sum::<f64>() / rows as f64).collect())
}

/// The interval, in ns, of the quantile `q` of several repeats taken together: the repeats are drawn anew with
/// replacement, merged, and the quantile taken, 1,000 times; the interval holds the middle 95%. `seed` makes it
/// repeatable. `None` with fewer than 2 repeats that have samples.
pub fn bootstrap_quantile(repeats: &[&Histogram], q: f64, seed: u64) -> Option<Interval> {
    let repeats: Vec<_> = repeats.iter().filter(|repeat| !repeat.is_empty()).collect();
    if repeats.len() < 2 {
        return None;
    }
    let mut samples: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
    for (i, repeat) in repeats.iter().enumerate() {
        for (value_ns, n) in repeat.recorded() {
            samples.entry(value_ns).or_insert_with(|| vec![0; repeats.len()])[i] += n;
        }
    }
    let mut random = fastrand::Rng::with_seed(seed);
    let mut quantiles: Vec<u64> = (0..BOOTSTRAP_ROUNDS)
        .map(|_| {
            let mut drawn = vec![0; repeats.len()];
            (0..repeats.len()).for_each(|_| drawn[random.usize(..repeats.len())] += 1);
            quantile_of_drawn(&samples, &drawn, q)
        })
        .collect();
    quantiles.sort_unstable();
    let tail = (BOOTSTRAP_ROUNDS as f64 * (1.0 - CONFIDENCE) / 2.0).round() as usize;
    Some(Interval { low: quantiles[tail] as f64, high: quantiles[BOOTSTRAP_ROUNDS - 1 - tail] as f64 })
}

/// The quantile of the samples of all repeats, each taken as often as it was drawn.
fn quantile_of_drawn(samples: &BTreeMap<u64, Vec<u64>>, drawn: &[u64], q: f64) -> u64 {
    let of_all = |counts: &[u64]| counts.iter().zip(drawn).map(|(count, times)| count * times).sum::<u64>();
    let rank = histogram::rank(samples.values().map(|counts| of_all(counts)).sum(), q);
    let mut passed = 0;
    let reached = samples.iter().find(|(_, counts)| {
        passed += of_all(counts);
        passed >= rank
    });
    *reached.expect("the rank is within the samples").0
}

/// Size, mean and variance of a sample of at least 2.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sample {
    pub(crate) n: f64,
    pub(crate) mean: f64,
    variance: f64,
}

impl Sample {
    pub(crate) fn of(values: &[f64]) -> Option<Self> {
        if values.len() < 2 {
            return None;
        }
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0);
        Some(Sample { n, mean, variance })
    }

    /// The variance of the mean: s²/n.
    pub(crate) fn mean_variance(&self) -> f64 {
        self.variance / self.n
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A normal deviate, by the sum of twelve uniforms.
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
    fn batches_cover_the_mean_of_a_series_with_memory() {
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
                of_series(&series).unwrap().contains(50.0)
            })
            .count();
        assert!((900..=970).contains(&covered), "{covered} of 1,000");
    }

    #[test]
    fn short_series_have_no_interval() {
        assert_eq!(of_series(&[1.0; 19]), None);
        assert!(of_series(&[1.0; 20]).is_some());
    }

    #[test]
    fn batches_leave_out_the_first_rows() {
        let mut series = vec![1e9, 1e9, 1e9];
        series.extend((0..20).map(f64::from));
        assert_eq!(batch_means(&series).unwrap()[..2], [0.5, 2.5]);
    }

    #[test]
    fn the_bootstrap_spans_repeats_that_disagree() {
        let repeat = |ms: u64| {
            let mut histogram = Histogram::new();
            histogram.record_n_ns(ms * 1_000_000, 1_000);
            histogram
        };
        let (fast, slow) = (repeat(10), repeat(20));
        let interval = bootstrap_quantile(&[&fast, &fast, &slow, &fast, &slow], 0.5, 1).unwrap();
        assert_eq!((interval.low, interval.high), (10e6, 20e6));
        let same = bootstrap_quantile(&[&fast, &fast], 0.5, 1).unwrap();
        assert_eq!((same.low, same.high), (10e6, 10e6));
        assert_eq!(bootstrap_quantile(&[&fast, &Histogram::new()], 0.5, 1), None);
    }
}
