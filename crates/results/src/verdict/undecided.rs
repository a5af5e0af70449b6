//! Broken limits that would have been kept without lag: whether the server broke them cannot be told.

use stats::Timed;

use super::lag;
use super::owners::Owners;
use super::signs::OWNED_PERCENT_MIN;
use crate::limit::{Figure, LimitOutcome, LimitStatus, Statistic};
use crate::rates::Rate;
use crate::step::Step;
use crate::unit::Unit;

/// Chooses the slow messages by the broken limits, and says of each of these limits what its figure comes to
/// without the generator's and CPU contention's part of the time.
pub fn weigh_broken(step: &mut Step) {
    let accounted = step.figures.accounted();
    let tails = step.broken().filter_map(|broken| broken.of.limit()?.slow_tail(accounted));
    // Of several, the one that allows most: what is beyond it is beyond all.
    let tail = tails.max_by_key(|tail| tail.from_ns);
    // Before the shares are asked for: they are of the slow messages that are chosen here.
    if let Some(spent) = &mut step.spent {
        spent.settle_tail(tail);
    }
    let weighed: Vec<LimitOutcome> = step.broken().map(|outcome| weighed(step, outcome)).collect();
    let outcomes = step.limits.iter_mut().chain(&mut step.stop).chain(&mut step.standing);
    for (outcome, weighed) in outcomes.filter(|outcome| !outcome.passed()).zip(weighed) {
        *outcome = weighed;
    }
}

fn weighed(step: &Step, outcome: &LimitOutcome) -> LimitOutcome {
    let limit = outcome.of.limit();
    // What never came would not have come any sooner.
    let actual = outcome.actual.filter(|_| !outcome.is_at_least());
    let without_lag = outcome.of.figure().zip(actual);
    let without_lag =
        without_lag.and_then(|(figure, actual)| self::without_lag(step, figure, outcome.unit, actual));
    let undecided = without_lag.zip(limit).is_some_and(|(value, limit)| limit.is_kept_by(value));
    // The kernel stamps the last event of a read. The first may have come long before, and the account gives
    // that time to the server: it can clear a server of first events, and not convict it.
    let without_lag = without_lag.filter(|_| undecided || step.figures.accounted() == Timed::Rtt);
    let status = if undecided { LimitStatus::Undecided } else { outcome.status };
    LimitOutcome { without_lag, status, ..outcome.clone() }
}

/// The figure without lag, where that is a part of its time.
fn without_lag(step: &Step, figure: Figure, unit: Unit, actual: f64) -> Option<f64> {
    let accounted = step.figures.accounted();
    match figure {
        Figure::Timed(timed, Statistic::Quantile(_) | Statistic::Max) if timed == accounted => {
            Some(actual * Owners::of_tail(step)?.share_without_lag())
        }
        Figure::Timed(timed, Statistic::Mean) if timed == accounted => {
            Some(actual * Owners::of_all(step)?.share_without_lag())
        }
        // Of how a time varies, the owners say nothing.
        Figure::Timed(timed, _) if timed == accounted => None,
        Figure::Timed(timed, _) => Some(actual * lag::share_without(step, timed)?),
        Figure::Rate(Rate::Achieved) if accounted == Timed::Rtt => {
            Some(rate_without_lag(step, actual, unit, &Owners::of_all(step)?))
        }
        // Counts have no time that a part could be taken of, and a loop waits for more than the first event.
        _ => None,
    }
}

/// By Little's law, a closed loop has as many messages under way as its rate is times the time of each. A
/// schedule's messages queue where most of their time is: whatever is taken off elsewhere, that queue grows.
fn rate_without_lag(step: &Step, actual: f64, unit: Unit, owners: &Owners) -> f64 {
    let left = owners.share_without_lag();
    let is_elsewhere = step.rates.asked_per_s.is_some() && 100.0 * left >= OWNED_PERCENT_MIN;
    if is_elsewhere {
        return actual;
    }
    // A generator without a CPU for a second has rows without an answer, and of a share of the rate nothing
    // may be left to divide. What was completed until the last answer was so all the same.
    let completed = step.rates.achieved_per_s.zip(step.due_per_s()).filter(|_| unit == Unit::Percent);
    let completed = completed.map_or(0.0, |(per_s, due_per_s)| 100.0 * per_s / due_per_s);
    let most = if unit == Unit::Percent { 100.0 } else { f64::INFINITY };
    (actual.max(completed) / left.max(f64::EPSILON)).min(most)
}
