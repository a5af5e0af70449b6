//! What the steps of a run say together.

use super::Bottleneck;
use super::doubts::doubts;
use crate::judgement::LimitOutcome;
use crate::run::Verdict;
use crate::step::Step;

/// Folds the steps: a limit is broken if any step broke it; the bottleneck is that of the last step; each mark is a
/// reason for doubt, said once. Capacity, knee and memory are added by whoever searched for them.
pub fn conclude(steps: &[Step]) -> Verdict {
    let mut limits: Vec<LimitOutcome> = Vec::new();
    for outcome in steps.iter().flat_map(|step| &step.limits) {
        match limits.iter_mut().find(|known| known.limit == outcome.limit) {
            Some(known) if known.passed => *known = outcome.clone(),
            Some(_) => {}
            None => limits.push(outcome.clone()),
        }
    }
    let bottleneck = steps.last().and_then(|step| step.bottleneck.clone());
    Verdict { limits, bottleneck, trust: doubts(steps), ..Verdict::default() }
}

/// Whether any step was limited by the generator: what `--strict` refuses.
pub fn limited_by_generator(steps: &[Step]) -> bool {
    steps.iter().filter_map(|step| step.bottleneck.as_ref()).any(|f| f.bottleneck == Bottleneck::Generator)
}
