//! From passes and fails to "N clients, 95% interval a–b".
//!
//! The chance that a measurement at x clients passes is taken as 1/(1 + exp((x − c)/s)): c is the capacity, s how
//! soft the limit is. With a flat prior for c and for ln s the posterior of c is summed over a grid; its median is
//! the capacity, its middle 95% the interval. Unlike a maximum-likelihood fit this holds when passes and fails do
//! not overlap at all, which is the common case.

use super::{Capacity, Level};
use crate::interval::CONFIDENCE;

const CAPACITY_POINTS: usize = 401;
const SOFTNESS_POINTS: usize = 16;

pub(super) fn capacity(levels: &[Level], below: u64, above: u64, max: u64) -> Capacity {
    let posterior = posterior(levels, below as f64, above as f64);
    let tail = (1.0 - CONFIDENCE) / 2.0;
    let at = |q| (quantile(&posterior, q).round() as u64).min(max);
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

/// (c, weight) in order of c.
fn posterior(levels: &[Level], below: f64, above: f64) -> Vec<(f64, f64)> {
    let (middle, gap) = ((below + above) / 2.0, above - below);
    let reach = (20.0 * gap).max(above / 2.0);
    let softest = (4.0 * gap).max(above / 4.0);
    let softness =
        |j: usize| (gap / 8.0) * (softest * 8.0 / gap).powf(j as f64 / (SOFTNESS_POINTS - 1) as f64);
    // Points lie dense in the gap and sparse far from it: c = middle + gap·sinh(u), and dc = gap·cosh(u)·du.
    let edge = (reach / gap).asinh();
    let step = 2.0 * edge / (CAPACITY_POINTS - 1) as f64;
    let places =
        (0..CAPACITY_POINTS).map(|i| -edge + step * i as f64).map(|u| (middle + gap * u.sinh(), u.cosh()));
    let logs: Vec<(f64, f64, Vec<f64>)> = places
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

/// ln(1/(1 + e^−z)) without overflow.
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
