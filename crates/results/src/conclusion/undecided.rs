//! Steps that the generator or the machine made what they are.

use crate::finding::Cause;
use crate::judgement::{Bottleneck, LimitOutcome};
use crate::step::Step;

/// Whether a step that broke limits would have kept them all without the generator's and CPU contention's part of the time; or,
/// where that part is not known of a limit, the generator or the machine gave out; or the generator lacked a part of itself.
pub(super) fn is_undecided(step: &Step) -> bool {
    let cause = step.bottleneck.as_ref().map(|found| &found.cause);
    let is_short = matches!(
        cause,
        Some(
            Cause::GeneratorRanOut { .. } | Cause::GeneratorLostAgents { .. } | Cause::GeneratorBroke { .. }
        )
    );
    let may_be_kept =
        |limit: &LimitOutcome| is_short || limit.undecided || is_limited(step) && limit.without_lag.is_none();
    !step.has_passed() && step.broken().all(may_be_kept)
}

/// Whether the generator or the machine held it back.
pub(super) fn is_limited(step: &Step) -> bool {
    let who = step.bottleneck.as_ref().map(|found| found.bottleneck);
    matches!(who, Some(Bottleneck::Generator | Bottleneck::Machine))
}
