//! What the steps of a run say together.

use super::Bottleneck;
use super::doubts::doubts;
use crate::judgement::{Finding, LimitOutcome};
use crate::levels::{self, Level};
use crate::run::Verdict;
use crate::step::Step;

/// Folds the steps: a limit is broken if any step broke it, and is then quoted from the lightest of those; the
/// bottleneck is what [`held_back`] says; each mark is a reason for doubt, said once. Capacity, knee, levels and memory
/// are added by whoever searched for them.
pub fn conclude(steps: &[Step]) -> Verdict {
    let mut limits: Vec<LimitOutcome> = Vec::new();
    // A search overshoots before it comes near.
    let mut by_weight: Vec<&Step> = steps.iter().collect();
    by_weight.sort_by(|a, b| weight(a).partial_cmp(&weight(b)).expect("rates are numbers"));
    for outcome in by_weight.into_iter().flat_map(|step| &step.limits) {
        match limits.iter_mut().find(|known| known.limit == outcome.limit) {
            Some(known) if known.passed => *known = outcome.clone(),
            Some(_) => {}
            None => limits.push(outcome.clone()),
        }
    }
    Verdict { limits, bottleneck: held_back(steps, &[]), trust: doubts(steps), ..Verdict::default() }
}

/// How much load a step is: clients, and messages per second.
fn weight(step: &Step) -> (u64, f64) {
    (step.clients, step.rates.asked_per_s.unwrap_or_default())
}

/// Of the steps that did not pass, the one with the fewest clients; of a sweep, the lowest rate that was too much where
/// most was delivered.
pub fn lightest_broken<'a>(steps: &'a [Step], levels: &[Level]) -> Option<&'a Step> {
    let mut broken = steps.iter().filter(|step| !step.has_passed());
    match levels::best(levels) {
        Some(level) => broken
            .find(|step| step.clients == level.clients && step.rates.asked_per_s == level.overload_per_s),
        None => broken.min_by(|a, b| weight(a).partial_cmp(&weight(b)).expect("rates are numbers")),
    }
}

/// What held the run back: where it first broke, or else at its last step.
pub fn held_back(steps: &[Step], levels: &[Level]) -> Option<Finding> {
    lightest_broken(steps, levels).or(steps.last())?.bottleneck.clone()
}

/// Whether any step was limited by the generator: what `--strict` refuses.
pub fn limited_by_generator(steps: &[Step]) -> bool {
    steps.iter().filter_map(|step| step.bottleneck.as_ref()).any(|f| f.bottleneck == Bottleneck::Generator)
}
