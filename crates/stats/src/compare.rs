//! Is B really slower than A? (METHODOLOGY "Comparison")
//!
//! Welch's test on independent values, one per repeat. Where all are positive, how they vary is taken from
//! their logarithms: noise multiplies. The interval is a 99% one; where many figures are looked at, what is
//! claimed of any of them has the allowance for all. There are three answers, and the third is that it cannot
//! be told.

use crate::interval::{Interval, Sample, batch_means};
use crate::student;

/// The confidence of a comparison's interval.
pub const COMPARISON_CONFIDENCE: f64 = 0.99;
/// The share of A up to which a difference counts as none, if it certainly is no larger.
pub const MARGIN: f64 = 0.03;
/// The factor by which one run of a server may differ from the next run of the same server.
pub const RUN_TO_RUN: f64 = 2.0;
/// The number of repeats of a side below which their variation is unknown.
pub const REPEATS_MIN: u32 = 3;
/// The largest number of repeats that is asked for.
pub const REPEATS_MAX: u32 = 100;
/// The numbers of repeats of each side after which a comparison that adds repeats is evaluated, and at no
/// other time: five 99% intervals find a difference that does not exist in at most 5 of 100 cases.
pub const LOOKS: [u32; 5] = [3, 5, 8, 13, 20];

/// The histogram's own precision: differences within it are no differences.
const RESOLUTION: f64 = 0.001;
/// The number of standard errors beyond its bound at which an interval decides in 90 of 100 cases: the 90%
/// quantile of the normal distribution.
const POWER_DEVIATES: f64 = 1.2816;

/// The better direction of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    /// Lower values are better: latencies, memory, CPU.
    Lower,
    /// Higher values are better: rates.
    Higher,
}

/// Kinds of values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// Times, rates or sizes, read in whole steps of `grain`.
    Measured {
        /// The step; 0 where there is none.
        grain: f64,
    },
    /// Numbers of events: as random as events are, however much alike the numbers of few repeats look.
    Counted,
}

/// The change of B beside A.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// B is better.
    Faster,
    /// B is worse.
    Slower,
    /// The interval of the difference lies within [`MARGIN`] on either side of zero.
    NoDifference,
    /// The interval holds zero, and differences that matter.
    CannotTell,
}

/// The outcome of a bound on a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ruling {
    /// The figure has certainly changed in the direction, and by the bound as far as the estimate shows.
    Broken,
    /// The figure has not changed in the direction by the bound.
    Kept,
    /// Neither is certain.
    CannotTell,
}

/// The number of repeats of each side that would decide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToTell {
    /// The number that decides in 90 of 100 cases, about.
    Repeats(u32),
    /// A larger number than [`REPEATS_MAX`].
    More,
    /// No number: readings are too coarse, a value is a bound, or A is 0, of which there is no share.
    NoNumber,
}

/// One figure of B beside A's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Comparison {
    /// A's value: the mean of repeats.
    pub a: f64,
    /// B's value: the mean of repeats.
    pub b: f64,
    /// The interval of B − A, which holds `b - a`.
    pub difference: Interval,
    better: Better,
    /// The variation of repeats; `None` for single runs, which do not show it.
    spread: Option<Spread>,
}

/// The variation of repeats, from which the number of repeats that would decide is computed.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Spread {
    /// The variance of the difference of one repeat of each side.
    variance: f64,
    scale: Scale,
    /// The width below which no number of repeats brings the interval.
    finest: f64,
    /// The number of repeats of the side that has fewer.
    repeats: u32,
    welch: Welch,
}

/// Scales of intervals.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Scale {
    /// Logarithms: a difference is a ratio.
    Ratio,
    Linear,
}

impl Scale {
    fn of(kind: Kind, values: &[&[f64]]) -> Self {
        let is_positive = values.iter().all(|side| side.iter().all(|&value| value > 0.0));
        if is_positive && kind != Kind::Counted { Scale::Ratio } else { Scale::Linear }
    }

    fn of_value(self, value: f64) -> f64 {
        match self {
            Scale::Ratio => value.ln(),
            Scale::Linear => value,
        }
    }

    /// The interval of B − A, of the half width `half_width` on this scale.
    fn difference(self, a: f64, b: f64, half_width: f64) -> Interval {
        let middle = self.of_value(b) - self.of_value(a);
        let (low, high) = (middle - half_width, middle + half_width);
        match self {
            Scale::Ratio => Interval { low: a * low.exp_m1(), high: a * high.exp_m1() },
            Scale::Linear => Interval { low, high },
        }
    }

    fn all(self, values: &[f64]) -> Vec<f64> {
        values.iter().map(|&value| self.of_value(value)).collect()
    }
}

/// One run's figure.
#[derive(Clone, Copy, Debug)]
pub struct Single<'a> {
    /// The figure's value over the whole run.
    pub value: f64,
    /// The figure's value in each second.
    pub series: &'a [f64],
}

/// Compares repeats of A with repeats of B, in any unit. `None` with fewer than 2 of either.
pub fn repeats(a: &[f64], b: &[f64], better: Better, kind: Kind) -> Option<Comparison> {
    let scale = Scale::of(kind, &[a, b]);
    let (mut of_a, mut of_b) = (Sample::of(&scale.all(a))?, Sample::of(&scale.all(b))?);
    if kind == Kind::Counted {
        // The variance of independent events is their mean (Poisson): three counts that happen to agree
        // vary no less.
        let events = (a.iter().sum::<f64>() + b.iter().sum::<f64>()) / (of_a.n + of_b.n);
        for side in [&mut of_a, &mut of_b] {
            side.variance = side.variance.max(events);
        }
    }
    let mean = |side: &[f64]| side.iter().sum::<f64>() / side.len() as f64;
    let (mean_a, mean_b) = (mean(a), mean(b));
    let finest = finest(scale, kind, mean_a, mean_b);
    let welch = Welch::of(&of_a, &of_b);
    let spread = Spread {
        variance: of_a.variance + of_b.variance,
        scale,
        finest,
        repeats: a.len().min(b.len()) as u32,
        welch,
    };
    let half_width = welch.half_width(COMPARISON_CONFIDENCE) + finest;
    let difference = scale.difference(mean_a, mean_b, half_width);
    Some(Comparison::new(mean_a, mean_b, difference, better, Some(spread)))
}

/// A value and the interval that it was found with, whose bounds may be infinite.
#[derive(Clone, Copy, Debug)]
pub struct PointEstimate {
    /// The value.
    pub value: f64,
    /// The interval around it.
    pub interval: Interval,
}

/// Compares two values by the interval that each was found with.
pub fn intervals(a: PointEstimate, b: PointEstimate, better: Better) -> Comparison {
    let difference =
        Interval { low: b.interval.low - a.interval.high, high: b.interval.high - a.interval.low };
    Comparison::new(a.value, b.value, difference, better, None)
}

/// Compares one run with one other by the batch means of their series, and allows for the difference between
/// runs of the same server ([`RUN_TO_RUN`]). `None` when either is shorter than two rows a batch.
pub fn single(a: Single<'_>, b: Single<'_>, better: Better, kind: Kind) -> Option<Comparison> {
    let (of_a, of_b) = (batch_means(a.series)?, batch_means(b.series)?);
    let scale = Scale::of(kind, &[&of_a, &of_b, &[a.value, b.value]]);
    let about = |batches: &[f64], value: f64| {
        Sample::about(&scale.all(batches), scale.of_value(value)).expect("10 batches")
    };
    let allowed = match scale {
        Scale::Ratio => RUN_TO_RUN.ln(),
        // The same factor, as a difference from the larger one: with a 0 among the values there is no
        // ratio.
        Scale::Linear => (1.0 - 1.0 / RUN_TO_RUN) * a.value.abs().max(b.value.abs()),
    };
    let finest = finest(scale, kind, a.value, b.value);
    let welch = Welch::of(&about(&of_a, a.value), &about(&of_b, b.value));
    let half_width = welch.half_width(COMPARISON_CONFIDENCE) + finest + allowed;
    Some(Comparison::new(a.value, b.value, scale.difference(a.value, b.value, half_width), better, None))
}

impl Comparison {
    fn new(a: f64, b: f64, difference: Interval, better: Better, spread: Option<Spread>) -> Self {
        // Through logarithms and back, the bounds may miss the difference by a few units in the last place.
        let rounding = 1e-9 * a.abs().max(b.abs());
        assert!(
            difference.low <= b - a + rounding && b - a - rounding <= difference.high,
            "{difference:?} does not hold {b} − {a}"
        );
        Comparison { a, b, difference, better, spread }
    }

    /// The change that the comparison shows.
    pub fn change(&self) -> Change {
        let Interval { low, high } = self.difference;
        let margin = MARGIN * self.a.abs();
        let is_more =
            |more| if more == (self.better == Better::Higher) { Change::Faster } else { Change::Slower };
        if low > 0.0 {
            is_more(true)
        } else if high < 0.0 {
            is_more(false)
        } else if -margin <= low && high <= margin {
            Change::NoDifference
        } else {
            Change::CannotTell
        }
    }

    /// Returns whether the change stands where it was looked for in so many metrics: with Bonferroni's allowance,
    /// no more than one comparison of equals in a hundred has any that does. What was not widened by how repeats
    /// vary has an allowance of its own.
    pub fn stands_among(&self, metrics: usize) -> bool {
        let Some(spread) = self.spread else { return true };
        let confidence = 1.0 - (1.0 - COMPARISON_CONFIDENCE) / metrics.max(1) as f64;
        let difference = spread.scale.of_value(self.b) - spread.scale.of_value(self.a);
        difference.abs() > spread.welch.half_width(confidence) + spread.finest
    }

    /// Returns whether the comparison is of single runs, whose variation is not known.
    pub fn is_of_single_runs(&self) -> bool {
        self.spread.is_none()
    }

    /// The interval of B − A as a share of A, in percent. `None` when A is 0.
    pub fn percent(&self) -> Option<Interval> {
        let percent = |bound| 100.0 * bound / self.a.abs();
        let Interval { low, high } = self.difference;
        (self.a != 0.0).then(|| Interval { low: percent(low), high: percent(high) })
    }

    /// Rules whether B has changed in a direction (faster or slower) by at least a share of A. A `share` of 0
    /// asks for any change; then a change that is certainly less than [`MARGIN`] is none.
    pub fn ruling(&self, toward: Change, share: f64) -> Ruling {
        let is_more = (toward == Change::Faster) == (self.better == Better::Higher);
        let (Interval { low, high }, by) = (self.difference, self.b - self.a);
        let (low, high, by) = if is_more { (low, high, by) } else { (-high, -low, -by) };
        // Broken by the estimate, certain of the direction; kept only by the whole interval. Between the two
        // it cannot be told.
        if low > 0.0 && by >= share * self.a.abs() {
            Ruling::Broken
        } else if high <= 0.0 || high < margin(share) * self.a.abs() {
            Ruling::Kept
        } else {
            Ruling::CannotTell
        }
    }

    /// The number of repeats of each side that would decide whether B has changed by that share of A, if they
    /// vary as these do. A `share` of 0 is [`MARGIN`].
    pub fn repeats_for(&self, share: f64) -> ToTell {
        let Some(spread) = self.spread else { return ToTell::Repeats(REPEATS_MIN) };
        let wanted = match spread.scale {
            Scale::Ratio => margin(share).ln_1p(),
            Scale::Linear => margin(share) * self.a.abs(),
        };
        if spread.finest >= wanted {
            return ToTell::NoNumber;
        }
        let reaches = |n: u32| {
            let n = f64::from(n);
            // 2n − 2: with equal repeats and equal variances on both sides, Welch's degrees of freedom are
            // the pooled test's.
            let widths = student::t(COMPARISON_CONFIDENCE, 2.0 * n - 2.0) + POWER_DEVIATES;
            widths * (spread.variance / n).sqrt() + spread.finest <= wanted
        };
        let found = (REPEATS_MIN..=REPEATS_MAX).find(|&n| reaches(n));
        // As many as there are did not do: the difference is near the bound itself.
        let needed = found.map(|found| if found > spread.repeats { found } else { 2 * spread.repeats });
        needed.filter(|&needed| needed <= REPEATS_MAX).map_or(ToTell::More, ToTell::Repeats)
    }
}

fn margin(share: f64) -> f64 {
    if share == 0.0 { MARGIN } else { share }
}

/// The difference below which the readings of both sides are too coarse.
fn finest(scale: Scale, kind: Kind, a: f64, b: f64) -> f64 {
    let Kind::Measured { grain } = kind else { return 0.0 };
    match scale {
        // In ratios, a step of the reading weighs most on the smaller side.
        Scale::Ratio => RESOLUTION + (grain / a.min(b)).ln_1p(),
        Scale::Linear => RESOLUTION * a.abs().max(b.abs()) + grain,
    }
}

/// Welch's test of a difference, on its scale.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Welch {
    /// The standard error √(s²ₐ/nₐ + s²ᵦ/nᵦ).
    error: f64,
    /// The Welch–Satterthwaite degrees of freedom; 1 where nothing varies.
    freedom: f64,
}

impl Welch {
    fn of(a: &Sample, b: &Sample) -> Self {
        let (va, vb) = (a.mean_variance(), b.mean_variance());
        if va + vb == 0.0 {
            return Welch { error: 0.0, freedom: 1.0 };
        }
        let freedom = (va + vb).powi(2) / (va * va / (a.n - 1.0) + vb * vb / (b.n - 1.0));
        Welch { error: (va + vb).sqrt(), freedom }
    }

    /// Half of the width of the interval at a confidence.
    fn half_width(&self, confidence: f64) -> f64 {
        if self.error == 0.0 { 0.0 } else { student::t(confidence, self.freedom) * self.error }
    }
}

#[cfg(test)]
mod tests;
