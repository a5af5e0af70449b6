//! Steps that the generator or the machine made what they are.

use stats::Count;

use crate::finding::Cause;
use crate::judgement::Bottleneck;
use crate::limit::{Counted, Figure, LimitOutcome};
use crate::standing;
use crate::step::Step;

/// Returns whether a step that broke limits would have kept them all without the generator's and CPU
/// contention's part of the time; or, where that part is not known of a limit, the generator or the machine
/// gave out; or the generator lacked a part of itself; or the app's file did not recognise what is missing.
pub(super) fn is_undecided(step: &Step) -> bool {
    let cause = step.bottleneck.as_ref().map(|found| &found.cause);
    let is_short = matches!(
        cause,
        Some(
            Cause::GeneratorRanOut { .. } | Cause::GeneratorLostAgents { .. } | Cause::GeneratorBroke { .. }
        )
    );
    let lost_besides = cause.and_then(Cause::lost_besides_file);
    // Nothing but what came to rooms that the file does not have.
    let are_all_leaked = matches!(cause, Some(Cause::FileRooms { leaked, .. }) if *leaked == step.wrong());
    let may_be_kept = |limit: &LimitOutcome| {
        let may_be_generators = is_short || is_limited(step) && limit.without_lag.is_none();
        // A client that finds no port stays away, and what was due to it never comes.
        let is_away = limit.of.figure() == Some(Figure::Counted(Counted::Count(Count::LostOffline)));
        limit.is_undecided()
            || are_all_leaked && limit.of.figure() == Some(Figure::Counted(Counted::Wrong))
            || lost_besides.is_some_and(|lost| is_of_missing(limit) && may_hold(limit, lost, step))
            || is_short && is_away
            || may_be_generators && !limit.is_proof() && may_be_of_time(limit, step)
    };
    // One that would have been broken anyway is enough to say that the server failed.
    !step.has_passed() && step.broken().all(may_be_kept)
}

/// Returns whether a limit is broken by what did not come.
fn is_of_missing(limit: &LimitOutcome) -> bool {
    match limit.of.figure() {
        Some(Figure::Counted(Counted::Count(count))) => {
            matches!(count, Count::Missing | Count::Unacknowledged)
        }
        Some(standing::RATE) => true,
        _ => limit.is_at_least(),
    }
}

/// Returns whether a limit may hold if what a lack of CPU makes is taken off: of errors, not all is.
fn may_be_of_time(limit: &LimitOutcome, step: &Step) -> bool {
    let is_of_errors = limit.of.figure() == Some(Figure::Counted(Counted::Errors));
    !is_of_errors || may_hold(limit, step.errors_of_no_time(), step)
}

/// Returns whether a limit on what is counted may hold if only `lost` of all that is counted is lost.
fn may_hold(limit: &LimitOutcome, lost: u64, step: &Step) -> bool {
    let Some(Figure::Counted(counted)) = limit.of.figure() else { return true };
    if lost == 0 {
        return true;
    }
    // All of it may be of this count: a rule that takes acknowledgements excuses no copies.
    let (count, _) = step.counted(counted);
    let share = lost.min(count) as f64 / count.max(1) as f64;
    limit.actual.zip(limit.of.limit()).is_some_and(|(actual, of)| of.is_kept_by(actual * share))
}

/// Returns whether the generator or the machine held it back.
pub(super) fn is_limited(step: &Step) -> bool {
    let who = step.bottleneck.as_ref().map(|found| found.bottleneck);
    matches!(who, Some(Bottleneck::Generator | Bottleneck::Machine))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limit::Limit;
    use crate::scenario::Scenario;

    /// Twenty copies are lost, and a rule of the app's file took 480 acknowledgements.
    #[test]
    fn mistaken_acknowledgements_excuse_no_copies() {
        let cause = Cause::FileTook { messages: 480, lost: 20, example: String::new() };
        let mut step = Step { bottleneck: Some(cause.into()), ..Step::default() };
        (step.counts.sent, step.counts.unacknowledged) = (500, 480);
        (step.counts.expected, step.counts.received, step.counts.missing) = (10_000, 9_980, 20);
        for (limit, expected) in
            [("missing<0.1%", false), ("unacknowledged<1%", false), ("unacknowledged<10%", true)]
        {
            step.limits = vec![Limit::parse(limit, Scenario::Broadcast).unwrap().check(&step)];
            assert_eq!(is_undecided(&step), expected, "{limit}");
        }
    }
}
