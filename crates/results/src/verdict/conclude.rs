//! What the steps of a run say together.

use std::cmp::Ordering;

use super::doubts::doubts;
use crate::judgement::{Finding, LimitOutcome};
use crate::levels::{self, Level};
use crate::run::Verdict;
use crate::step::Step;

/// Folds the steps: a limit is broken if any step broke it, and is then quoted from the lightest of those; the
/// bottleneck is what [`held_back`] says; each mark is a reason for doubt, said once. Capacity, knee, levels and memory
/// are added by the search that found them.
pub fn conclude(steps: &[Step]) -> Verdict {
    let mut limits: Vec<LimitOutcome> = Vec::new();
    // A search overshoots before it comes near.
    let mut ascending: Vec<&Step> = steps.iter().collect();
    ascending.sort_by(|a, b| by_weight(a, b));
    for outcome in ascending.into_iter().flat_map(|step| &step.limits) {
        match limits.iter_mut().find(|known| known.limit == outcome.limit) {
            Some(known) if known.passed => *known = outcome.clone(),
            Some(_) => {}
            None => limits.push(outcome.clone()),
        }
    }
    Verdict { limits, bottleneck: held_back(steps, &[]), trust: doubts(steps), ..Verdict::default() }
}

/// Which of two steps is less load: by clients, and then by messages per second.
fn by_weight(a: &Step, b: &Step) -> Ordering {
    let rate = |step: &Step| step.rates.asked_per_s.unwrap_or_default();
    a.clients.cmp(&b.clients).then(rate(a).total_cmp(&rate(b)))
}

/// Of the steps that did not pass, the one with the fewest clients; of a sweep, the lowest rate that was too much where
/// most was delivered.
pub fn lightest_broken<'a>(steps: &'a [Step], levels: &[Level]) -> Option<&'a Step> {
    let mut broken = steps.iter().filter(|step| !step.has_passed());
    match levels::best(levels) {
        Some(level) => broken
            .find(|step| step.clients == level.clients && step.rates.asked_per_s == level.overload_per_s),
        None => broken.min_by(|a, b| by_weight(a, b)),
    }
}

/// What held the run back: where it first broke, or else at its last step.
pub fn held_back(steps: &[Step], levels: &[Level]) -> Option<Finding> {
    lightest_broken(steps, levels).or(steps.last())?.bottleneck.clone()
}
