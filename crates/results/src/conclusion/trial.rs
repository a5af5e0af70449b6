//! Judges whether the generator, or the machine it shares with others, may have made the result what it is:
//! what `--strict` refuses.

use super::held::heaviest_kept;
use super::undecided::{is_limited, is_undecided};
use crate::limit::LimitOutcome;
use crate::run::Run;
use crate::step::Step;
use crate::unit::Unit;
use crate::verdict;

/// Returns whether a step that the result rests on could have come out otherwise with a generator that was
/// not late, or a machine that was not full. Limits that were kept in spite of that are kept.
pub fn is_untrusted(run: &Run) -> bool {
    let broken = verdict::lightest_broken(&run.steps, &run.verdict);
    let short = run.steps.iter().find(|step| step.is_short());
    let rests_on = heaviest_kept(run).into_iter().chain(broken).chain(short);
    rests_on.into_iter().any(|step| could_be_otherwise(run, step))
}

fn could_be_otherwise(run: &Run, step: &Step) -> bool {
    if !step.has_passed() {
        // A limit that the server broke by itself it would have broken with any generator.
        return is_undecided(step);
    }
    // Less was asked of the server than was meant, so that limits were kept of less.
    if step.is_short() {
        return true;
    }
    let is_asked = !step.limits.is_empty();
    // In a closed loop, and where capacity is looked for, a faster generator would have found more.
    let is_open = step.rates.asked_per_s.is_some() && !run.is_looking();
    is_limited(step) && !(is_asked && is_open && step.limits.iter().all(is_of_latency_or_loss))
}

/// A limit that a slow generator makes harder to keep, and never easier.
fn is_of_latency_or_loss(limit: &LimitOutcome) -> bool {
    matches!(limit.unit, Unit::Ms | Unit::Count | Unit::Percent)
}
