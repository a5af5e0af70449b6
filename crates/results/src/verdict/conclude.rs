//! The verdict of a run's steps.

use std::cmp::{Ordering, Reverse};

use super::gathered::gathered;
use crate::judgement::{Bottleneck, Found};
use crate::levels;
use crate::limit::LimitOutcome;
use crate::run::Verdict;
use crate::scenario::Scenario;
use crate::step::Step;

/// Folds the steps: a limit is broken if any step broke it, and is then quoted from the lightest of those; the
/// bottleneck is what [`held_back`] says; each caveat is said once. A sweep has its levels. Capacity
/// and memory are added by the search that found them.
pub fn conclude(scenario: Scenario, steps: &[Step]) -> Verdict {
    let levels = if scenario.facts().sweeps { levels::levels(steps) } else { Vec::new() };
    let verdict = Verdict { levels, caveats: gathered(steps), ..Verdict::default() };
    Verdict { bottleneck: held_back(steps, &verdict), limits: limits(steps, &verdict), ..verdict }
}

/// The limits that the user asked for, each once.
pub fn limits(steps: &[Step], verdict: &Verdict) -> Vec<LimitOutcome> {
    let limits = folded(steps, verdict, |step| step.limits.iter());
    limits.into_iter().map(|(outcome, _)| outcome.clone()).collect()
}

/// Returns whether other steps refute that this one broke its limits: the other try of its rate passed, most tries of
/// its load did, or half of them and a heavier load, or a search found more clients to pass. A broken limit that is
/// proof is never refuted.
pub fn is_refuted(steps: &[Step], verdict: &Verdict, step: &Step) -> bool {
    let is_same = |other: &&Step| by_weight(other, step).is_eq();
    let has_other = || !verdict.levels.is_empty() && steps.iter().filter(is_same).any(Step::has_passed);
    let has_more = || found_clients(verdict).is_some_and(|clients| step.clients < clients);
    let is_proven = || step.broken().any(LimitOutcome::is_proof);
    let is_outvoted = || {
        let (passed, failed) = tries(steps, step);
        let is_heavier = |other: &Step| other.has_passed() && by_weight(other, step).is_gt();
        passed > failed || passed == failed && steps.iter().any(is_heavier)
    };
    !step.has_passed() && !is_proven() && (has_other() || has_more() || is_outvoted())
}

/// Counts the steps of this load: passed, and failed.
pub(crate) fn tries(steps: &[Step], step: &Step) -> (usize, usize) {
    let same = || steps.iter().filter(|other| by_weight(other, step).is_eq());
    let passed = same().filter(|other| other.has_passed()).count();
    (passed, same().count() - passed)
}

/// Clients that a search found to pass.
fn found_clients(verdict: &Verdict) -> Option<u64> {
    verdict.capacity.filter(|capacity| capacity.doubt().is_none()).map(|capacity| capacity.clients)
}

/// Each of the limits `of` the steps once, with the step that it is quoted from: the lightest that broke it and is
/// not [refuted](is_refuted), or the heaviest.
pub(crate) fn folded<'a, I: Iterator<Item = &'a LimitOutcome>>(
    steps: &'a [Step],
    verdict: &Verdict,
    of: impl Fn(&'a Step) -> I,
) -> Vec<(&'a LimitOutcome, &'a Step)> {
    let mut limits: Vec<(&LimitOutcome, &Step)> = Vec::new();
    // A search overshoots before it comes near.
    let mut ascending: Vec<&Step> = steps.iter().filter(|step| !is_refuted(steps, verdict, step)).collect();
    ascending.sort_by(|a, b| by_weight(a, b));
    for (outcome, step) in ascending.into_iter().flat_map(|step| of(step).map(move |outcome| (outcome, step)))
    {
        match limits.iter_mut().find(|(known, _)| known.of == outcome.of) {
            // The first that broke it, going upwards, is the lightest.
            Some(known) if known.0.passed() => *known = (outcome, step),
            Some(_) => {}
            None => limits.push((outcome, step)),
        }
    }
    limits
}

/// Compares the load of two steps: by clients, and then by messages per second.
fn by_weight(a: &Step, b: &Step) -> Ordering {
    let rate = |step: &Step| step.rates.asked_per_s.unwrap_or_default();
    a.clients.cmp(&b.clients).then(rate(a).total_cmp(&rate(b)))
}

/// The step with the fewest clients among those that did not pass: in a search that found a capacity, among
/// those beyond it, since below it others have overruled them; of a sweep, the lowest rate that was too much
/// where most was delivered, if any was. Where that load was measured several times, the first one with what
/// held back most of them.
pub fn lightest_broken<'a>(steps: &'a [Step], verdict: &Verdict) -> Option<&'a Step> {
    let broken = || steps.iter().filter(|step| !step.has_passed() && !is_refuted(steps, verdict, step));
    let best = levels::best(&verdict.levels).filter(|level| level.overload_per_s.is_some());
    let is_overload = |step: &&Step| {
        best.is_some_and(|level| {
            (step.clients, step.rates.asked_per_s) == (level.clients, level.overload_per_s)
        })
    };
    // In a sweep, a lighter number of clients breaks at some rate, too: that is no weaker point of the
    // server.
    // Where it was asked twice, one try may have been disturbed.
    let is_disturbed =
        |step: &&Step| step.bottleneck.as_ref().is_none_or(|found| found.bottleneck != Bottleneck::Server);
    if let Some(overload) = broken().filter(is_overload).min_by_key(is_disturbed) {
        return Some(overload);
    }
    let found = found_clients(verdict);
    let is_beyond = |step: &&Step| found.is_none_or(|clients| step.clients >= clients);
    let lightest = broken().filter(is_beyond).min_by(|a, b| by_weight(a, b))?;
    usual(broken().filter(|step| by_weight(step, lightest).is_eq()).collect())
}

/// The first of one load's steps with their most frequent bottleneck, whatever order they ran in; in doubt,
/// with one that is not the server.
fn usual(steps: Vec<&Step>) -> Option<&Step> {
    let who = |step: &Step| step.bottleneck.as_ref().map(|found| found.bottleneck);
    let rarity = |step: &&&Step| {
        let times = steps.iter().filter(|other| who(other) == who(step)).count();
        (Reverse(times), who(step) == Some(Bottleneck::Server))
    };
    steps.iter().min_by_key(rarity).copied()
}

/// The bottleneck of the run: where it first broke, or else at the last of its whole steps.
pub fn held_back(steps: &[Step], verdict: &Verdict) -> Option<Found> {
    lightest_broken(steps, verdict).or_else(|| whole(steps).last())?.bottleneck.clone()
}

/// The steps that were measured to their end. Where there is none, the one that the user ended under its
/// load, if that is so, stands for the run.
pub(crate) fn whole(steps: &[Step]) -> impl Iterator<Item = &Step> {
    let has_whole = steps.iter().any(|step| !step.was_interrupted());
    let counts = move |step: &&Step| !step.was_interrupted() || !has_whole && !step.tells_nothing();
    steps.iter().filter(counts)
}
