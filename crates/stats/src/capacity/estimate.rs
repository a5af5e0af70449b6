//! Estimates "N clients, 95% interval a–b" from passes and fails.
//!
//! The chance that a measurement at x clients passes is taken as 1/(1 + exp((x − c)/s)): c is the capacity, s
//! how soft the limit is. With a flat prior for c and for ln s the posterior of c is summed over a grid; its
//! median is the capacity, its middle 95% the interval. Unlike a maximum-likelihood fit this holds when
//! passes and fails do not overlap at all, which is the common case.

use crate::interval::CONFIDENCE;

/// The largest ratio of an interval's bounds: a wider interval is no answer.
pub const WIDTH_MAX: u64 = 2;
/// The factor beyond the interval's bounds from which one measurement is enough to contradict the interval.
const FAR: u64 = 2;
/// The least number of measurements with the same outcome that is no accident.
const TRIED_MIN: u32 = 3;
/// The width, in clients, up to which an interval is never too wide: it matters for servers with a handful of
/// clients.
pub(super) const CLIENTS_APART_MIN: u64 = 5;

const CAPACITY_POINTS: usize = 401;
const SOFTNESS_POINTS: usize = 16;

/// The number of clients that a server holds within its limits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Capacity {
    /// The level at which half of the measurements pass.
    pub clients: u64,
    /// Lower bound of the interval.
    pub low: u64,
    /// Upper bound of the interval.
    pub high: u64,
    /// The probability that the interval was built for: 0.95.
    pub confidence: f64,
    /// True if the highest level allowed passed: the capacity is at least `clients`, and `high` is not a
    /// bound.
    pub at_least: bool,
    /// A level outside the interval that contradicts it: most of its measurements passed above the interval,
    /// or failed below it; far outside (twice the bounds), one such measurement is enough. So is any that
    /// passed where `clients` is 0.
    pub contradicted_by: Option<u64>,
}

/// The reason why a finished search does not give the capacity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inconclusive {
    /// The upper bound of the interval is more than [`WIDTH_MAX`] times the lower one.
    Wide,
    /// Measurements at this level, outside the interval, contradict it.
    Contradicted(u64),
}

impl Capacity {
    /// The reason why the capacity cannot be told from these measurements; `None`: it can.
    pub fn doubt(&self) -> Option<Inconclusive> {
        // Of a handful of clients a factor of two is a client or two, which no number of measurements tells
        // apart.
        let is_wide =
            self.high > WIDTH_MAX.saturating_mul(self.low) && self.high - self.low > CLIENTS_APART_MIN;
        let wide = (is_wide && !self.at_least).then_some(Inconclusive::Wide);
        wide.or(self.contradicted_by.map(Inconclusive::Contradicted))
    }

    /// Returns whether the search has found the capacity.
    pub fn is_decided(&self) -> bool {
        self.doubt().is_none()
    }

    /// Sets the level outside the interval that contradicts it; of several, the highest.
    pub(super) fn contradicted(self, levels: &[Level]) -> Self {
        let contradicts = |&&Level { clients, passed, failed }: &&Level| {
            // Near the bounds one measurement may be luck, and most have to disagree; far outside, one is
            // enough.
            let far_above = clients > self.high.saturating_mul(FAR) && passed > 0;
            let far_below = clients.saturating_mul(FAR) < self.low && failed > 0;
            let above = clients > self.high && passed > failed;
            let below = clients < self.low && failed > passed;
            // None at all is no answer where some were held, even if the interval has them.
            let despite_none = self.clients == 0 && passed > 0;
            below || far_below || despite_none || (above || far_above) && !self.at_least
        };
        Capacity { contradicted_by: levels.iter().rev().find(contradicts).map(|level| level.clients), ..self }
    }
}

/// All measurements of one level.
#[derive(Clone, Copy, Debug)]
pub(super) struct Level {
    pub(super) clients: u64,
    pub(super) passed: u32,
    pub(super) failed: u32,
}

pub(super) fn capacity(levels: &[Level], below: u64, above: u64, max: u64) -> Capacity {
    let posterior = posterior(levels, below as f64, above as f64);
    let tail = (1.0 - CONFIDENCE) / 2.0;
    let (least, most) = edges(levels, max);
    // Whole clients: of 60.5, 60 are held.
    let at = |q| (quantile(&posterior, q).floor() as u64).clamp(least, most);
    Capacity {
        clients: at(0.5),
        low: at(tail),
        high: at(1.0 - tail),
        confidence: CONFIDENCE,
        at_least: false,
        contradicted_by: None,
    }
    .contradicted(levels)
}

/// Finds the bounds of the interval: the highest level that always held, as did all below, and the last
/// before one that never did, nor did any above. The prior, which allows for a soft limit, would reach
/// beyond; a level tried but once may have had bad luck.
fn edges(levels: &[Level], max: u64) -> (u64, u64) {
    let always =
        levels.iter().take_while(|level| level.failed == 0).filter(|level| level.passed >= TRIED_MIN);
    let never =
        levels.iter().rev().take_while(|level| level.passed == 0).filter(|level| level.failed >= TRIED_MIN);
    let least = always.last().map_or(0, |level| level.clients);
    let most = never.last().map_or(max, |level| level.clients - 1);
    (least, most)
}

/// The posterior as pairs (c, weight) in order of c.
fn posterior(levels: &[Level], below: f64, above: f64) -> Vec<(f64, f64)> {
    let (middle, gap) = ((below + above) / 2.0, above - below);
    let reach = (20.0 * gap).max(above / 2.0);
    let softest = (4.0 * gap).max(above / 4.0);
    // Points in a geometric series, which is what makes the prior flat in ln s.
    let softness =
        |j: usize| (gap / 8.0) * (softest * 8.0 / gap).powf(j as f64 / (SOFTNESS_POINTS - 1) as f64);
    // Points lie dense in the gap and sparse far from it: c = middle + gap·sinh(u), and dc = gap·cosh(u)·du.
    // The range reaches 20 gaps to either side: a soft limit may lie far outside of the last two levels.
    let edge = (reach / gap).asinh();
    let step = 2.0 * edge / (CAPACITY_POINTS - 1) as f64;
    let places =
        (0..CAPACITY_POINTS).map(|i| -edge + step * i as f64).map(|u| (middle + gap * u.sinh(), u.cosh()));
    let logs: Vec<(f64, f64, Vec<f64>)> = places
        // The substitution is symmetric about the middle; fewer than no clients is no capacity.
        .filter(|&(c, _)| c >= 0.0)
        .map(|(c, width)| {
            let fits = (0..SOFTNESS_POINTS).map(|j| log_likelihood(levels, c, softness(j))).collect();
            (c, width, fits)
        })
        .collect();
    // Relative to the best fit, so that many measurements do not underflow to zero.
    let best = logs.iter().flat_map(|(_, _, fits)| fits).copied().fold(f64::NEG_INFINITY, f64::max);
    logs.iter()
        .map(|(c, width, fits)| (*c, width * fits.iter().map(|fit| (fit - best).exp()).sum::<f64>()))
        .collect()
}

fn log_likelihood(levels: &[Level], c: f64, s: f64) -> f64 {
    levels
        .iter()
        .map(|level| {
            let z = (c - level.clients as f64) / s;
            f64::from(level.passed) * log_logistic(z) + f64::from(level.failed) * log_logistic(-z)
        })
        .sum()
}

/// Computes ln(1/(1 + e^−z)) without overflow.
fn log_logistic(z: f64) -> f64 {
    z.min(0.0) - (-z.abs()).exp().ln_1p()
}

fn quantile(posterior: &[(f64, f64)], q: f64) -> f64 {
    let target = q * posterior.iter().map(|point| point.1).sum::<f64>();
    let mut area = 0.0;
    for &(c, weight) in posterior {
        area += weight;
        if area >= target {
            return c;
        }
    }
    posterior.last().map_or(0.0, |point| point.0)
}
