//! What the steps of a run say together.

use super::Bottleneck;
use crate::limit::LimitOutcome;
use crate::run::{TrustNote, Verdict};
use crate::step::Step;

/// Folds the steps: a limit is broken if any step broke it; the bottleneck is that of the last step; each mark is a
/// reason for doubt, named once. Capacity, knee and memory are added by whoever searched for them.
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

/// Each mark once, with the steps that have it.
fn doubts(steps: &[Step]) -> Vec<TrustNote> {
    let mut marks: Vec<(&str, Vec<u64>)> = Vec::new();
    for (mark, clients) in
        steps.iter().flat_map(|step| step.marks.iter().map(move |mark| (mark, step.clients)))
    {
        match marks.iter_mut().find(|(known, _)| known == mark) {
            Some((_, at)) => at.push(clients),
            None => marks.push((mark, vec![clients])),
        }
    }
    let nothing = steps.is_empty().then(|| TrustNote("nothing was measured".into()));
    let notes = marks.into_iter().map(|(mark, at)| match at[..] {
        _ if steps.len() == 1 => TrustNote(mark.into()),
        _ if at.len() == steps.len() => TrustNote(format!("{mark} (at every step)")),
        [clients] => TrustNote(format!("{mark} (at {clients} clients)")),
        [first, .., last] => TrustNote(format!("{mark} (at {} steps, {first} to {last} clients)", at.len())),
        [] => unreachable!("a mark comes from a step"),
    });
    notes.chain(nothing).collect()
}

/// Whether any step was limited by the generator: what `--strict` refuses.
pub fn limited_by_generator(steps: &[Step]) -> bool {
    steps.iter().filter_map(|step| step.bottleneck.as_ref()).any(|f| f.bottleneck == Bottleneck::Generator)
}
