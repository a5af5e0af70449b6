//! The load that was held, in a search, a sweep of rates or steps.

use stats::capacity::Inconclusive;

use super::claim::{Claim, Tone};
use super::losses;
use super::undecided::is_undecided;
use crate::finding::{self, Cause};
use crate::format::{clients, count, duration, rate};
use crate::judgement::Bottleneck;
use crate::levels::{self, Level};
use crate::rates::Rates;
use crate::run::Run;
use crate::scenario::Due;
use crate::step::Step;
use crate::verdict;

/// The key of rates of which none broke a limit: their safe rate is the capacity.
pub(super) const RATES_AT_LEAST: &str = "held.rates_at_least";
/// The beginning of the fact that something other than the server gave out above what was held.
pub(super) const BEYOND: &str = "unclear beyond";

/// A search's capacity, if it tells one.
pub(super) fn searched(run: &Run) -> Option<Claim> {
    let capacity = run.verdict.capacity?;
    // A search that held nothing has no capacity to tell, nor one whose highest load lost agents: the rules below say
    // what was lost.
    let kept = heaviest_kept(run)?;
    let is_heavier = |step: &Step| kept.clients < step.clients && step.clients <= capacity.clients;
    if verdict::whole(&run.steps).any(|step| step.has_passed() && step.is_short() && is_heavier(step)) {
        return None;
    }
    let interval =
        format!("{:.0}% CI {} to {}", capacity.confidence * 100.0, count(capacity.low), count(capacity.high));
    if let Some(doubt) = capacity.doubt() {
        return Some(inconclusive(doubt, &interval));
    }
    if capacity.at_least {
        let held = clients(capacity.clients);
        return Some(Claim::passed("held.at_least", format!("at least {held}")).of(held));
    }
    let broken = verdict::lightest_broken(&run.steps, &run.verdict);
    let estimated = broken.and_then(|broken| between(kept, broken, capacity.clients));
    // What has passed is a load that was run.
    let held = clients(if estimated.is_some() { kept.clients } else { capacity.clients });
    Some(match broken.and_then(beyond) {
        Some(beyond) => {
            let claim = Claim::passed("held.until_gave_out", format!("at least {held}")).of(held);
            claim.toned(Tone::Doubt).with_facts(vec![format!("{beyond}; {interval}")])
        }
        None => {
            let facts = estimated.map(|estimated| format!("capacity {estimated}")).into_iter();
            let claim = Claim::passed("held.capacity", held.clone()).of(held);
            claim.with_facts(facts.chain([interval]).collect())
        }
    })
}

/// The loads around an estimated number of clients that was not run itself: `between 300 and 400`.
fn between(kept: &Step, broken: &Step, estimated: u64) -> Option<String> {
    let is_inside = kept.clients < estimated && estimated < broken.clients;
    is_inside.then(|| bounds(kept, broken))
}

fn bounds(kept: &Step, broken: &Step) -> String {
    format!("between {} and {}", count(kept.clients), count(broken.clients))
}

/// The loads between which a search was when the user ended it.
fn unfinished(run: &Run, kept: &Step) -> Option<String> {
    let is_unfinished = run.is_search && run.resume_after.is_some() && run.verdict.capacity.is_none();
    let broken = verdict::lightest_broken(&run.steps, &run.verdict).filter(|_| is_unfinished)?;
    (kept.clients < broken.clients).then(|| format!("not finished: {}", bounds(kept, broken)))
}

/// The measurements are too far apart, or say both.
fn inconclusive(doubt: Inconclusive, interval: &str) -> Claim {
    let why = match doubt {
        Inconclusive::Wide => "too noisy to say".to_owned(),
        Inconclusive::Contradicted(level) => {
            format!("what was measured at {} says otherwise", clients(level))
        }
    };
    let detail =
        format!("{interval}, {why}: measure longer (--duration, --sample-size), on a quieter machine");
    cannot_tell("cannot_tell.capacity", detail)
}

/// The deliveries of the best level, and the safe rate of each: never more than was answered in time. Where
/// something other than the server gave out at the next rate, or there was none, it may carry more.
pub(super) fn swept(run: &Run) -> Option<Claim> {
    let best = levels::best(&run.verdict.levels)?;
    let is_floor = |level: &Level| level.overload_per_s.is_none() || gave_out(run, level).is_some();
    let at_least = |level: &Level| if is_floor(level) { "at least " } else { "" };
    let safe = |level: &Level| {
        Some(format!("{}{} to {}", at_least(level), rate(level.safe_per_s?, ""), count(level.clients)))
    };
    let safe: Vec<String> = run.verdict.levels.iter().filter_map(safe).collect();
    let answer = rate(best.received_per_s.unwrap_or_default(), "deliveries");
    let safe = format!("safe: {} clients", safe.join(", "));
    if !is_floor(best) {
        return Some(Claim::passed("held.rates", answer.clone()).of(answer).with_facts(vec![safe]));
    }
    let claim = Claim::passed(RATES_AT_LEAST, format!("at least {answer}")).of(answer);
    Some(match gave_out(run, best) {
        Some(beyond) => claim.toned(Tone::Doubt).with_facts(vec![safe, beyond]),
        None => claim.with_facts(vec![safe]),
    })
}

/// The resource that gave out at the lowest rate of a level that broke a limit, if it was the server at none of
/// its tries.
fn gave_out(run: &Run, level: &Level) -> Option<String> {
    let tries = run.steps.iter().filter(|step| {
        let is_of_level = step.clients == level.clients && step.rates.asked_per_s == level.overload_per_s;
        is_of_level && level.overload_per_s.is_some() && !step.has_passed()
    });
    tries.map(beyond).collect::<Option<Vec<_>>>()?.into_iter().next()
}

/// Why the server may hold more than what was held before a step that broke limits; `None`: the server broke them.
fn beyond(step: &Step) -> Option<String> {
    let found = step.bottleneck.as_ref()?;
    let who = found.bottleneck;
    match who {
        Bottleneck::Network => Some(format!("{BEYOND}: the network was the bottleneck")),
        _ if !is_undecided(step) => None,
        Bottleneck::Generator | Bottleneck::Machine => {
            Some(format!("{BEYOND}: the {who} was the bottleneck"))
        }
        _ if found.cause.lost_besides_file().is_some() => Some(format!("{BEYOND}: {}", found.cause)),
        _ => {
            let kept = "but for delays that are not the server's, the limits would have been kept";
            Some(format!("{BEYOND}: {kept}"))
        }
    }
}

/// The lightest load that was not held, where it may have been.
pub(super) fn undecided_step(run: &Run) -> Option<&Step> {
    verdict::lightest_broken(&run.steps, &run.verdict).filter(|step| is_undecided(step))
}

/// The heaviest step that kept all limits; what was lost of it, if that was allowed, comes first.
pub(super) fn kept(run: &Run) -> Option<Claim> {
    let step = heaviest_kept(run)?;
    let mut lost = losses::all(run.scenario, step);
    lost.extend(losses::while_away(step));
    let tone = if lost.is_empty() { Tone::Plain } else { Tone::Doubt };
    let held = clients(step.clients);
    // Beside a pass, the loss of everything else would read as its contradiction.
    let load = if step.keeps_no_history() { format!("{held} while connected") } else { held.clone() };
    let claim = Claim::passed("held.clients", held).toned(tone).of(load);
    let facts = work(run, step).into_iter().chain(unfinished(run, step)).collect();
    Some(claim.with_losses(lost).with_facts(facts))
}

/// Nothing was broken, and nothing was asked as it should have been: agents were lost, and the run went on
/// without, or the user ended it too early.
pub(super) fn short(run: &Run) -> Option<Claim> {
    let lost = |step| {
        let (lost, of) = verdict::lost_agents(step)?;
        Some(("cannot_tell.lost_agents", format!("the generator lost {}", finding::agents(lost, of))))
    };
    let interrupted = |step| untold(step).map(|why| ("cannot_tell.interrupted", why));
    let (key, why) = run.steps.iter().find_map(|step| lost(step).or_else(|| interrupted(step)))?;
    let is_broken = run.steps.iter().any(|step| !step.has_passed());
    // A limit that was broken all the same is the server's, and said by the rules below.
    (!is_broken).then(|| cannot_tell(key, why))
}

/// The generator lost a part of itself: how far it had come.
pub(super) fn maimed(run: &Run) -> Option<Claim> {
    let step = maimed_step(run)?;
    let connected = step.counts.connected;
    let why = step.bottleneck.as_ref().map(|found| format!("the generator: {}", found.cause));
    let so_far = format!("{} of {} connected until then", count(connected), clients(step.clients));
    let claim = Claim::unclear("cannot_tell.maimed", "unclear");
    Some(claim.with_facts(why.into_iter().chain([so_far]).collect()))
}

/// The lightest load that was not held, where the generator lost a worker or agents in it.
pub(super) fn maimed_step(run: &Run) -> Option<&Step> {
    let step = verdict::lightest_broken(&run.steps, &run.verdict)?;
    let cause = &step.bottleneck.as_ref()?.cause;
    matches!(cause, Cause::GeneratorBroke { .. } | Cause::GeneratorLostAgents { .. }).then_some(step)
}

/// Says when the user ended a step of which nothing is known.
pub fn untold(step: &Step) -> Option<String> {
    // Both end as a pass would, with every limit kept, since limits are of what came.
    step.tells_nothing().then(|| match step.was_never_loaded() {
        true => format!("interrupted while {} connected", clients(step.clients)),
        false => format!("interrupted after {}, before anything came back", duration(step.duration_ns)),
    })
}

pub(super) fn cannot_tell(key: &'static str, why: String) -> Claim {
    Claim::unclear(key, "unclear").with_facts(vec![why])
}

/// The work of a step's clients, and how fast it went.
fn work(run: &Run, step: &Step) -> Vec<String> {
    let &Rates { achieved_per_s: achieved, received_per_s: received, .. } = &step.rates;
    let facts = run.scenario.facts();
    let fanned_out = received.filter(|_| facts.due == Due::Copies);
    let rates = [
        achieved.map(|per_s| rate(per_s, facts.sends)),
        fanned_out.map(|per_s| rate(per_s, "deliveries")),
        step.pushed_per_s().map(|per_s| rate(per_s, "pushes")),
    ];
    returns(step).into_iter().chain(rates.into_iter().flatten()).collect()
}

/// How long it took until all clients were back from a storm, or how many were not.
pub(super) fn returns(step: &Step) -> Option<String> {
    let recovery = &step.figures.recovery;
    let (lost, back) = (recovery.count(), step.back());
    let watched = duration(recovery.max_ns());
    match back {
        _ if lost == 0 => None,
        0 => Some(format!("none of {} back after {watched}", count(lost))),
        _ if back == lost => Some(format!("all back within {watched}")),
        // Those who were not are the longest samples.
        _ => {
            let last_ns = recovery.quantile_ns(back as f64 / lost as f64);
            let (of, rest) = (format!("{} of {}", count(back), count(lost)), count(lost - back));
            Some(format!("{of} back within {}; {rest} not back after {watched}", duration(last_ns)))
        }
    }
}

/// The number of the step that stands for the run, from 0: the heaviest that kept its limits, or the last.
pub fn shown(run: &Run) -> usize {
    let kept = heaviest_kept(run).and_then(|kept| run.steps.iter().position(|step| std::ptr::eq(step, kept)));
    kept.unwrap_or(run.steps.len().saturating_sub(1))
}

/// The step that is the answer of the run: of those that kept all limits, the one with the most clients that fewer
/// tries broke, up to the capacity where a search found it; of a sweep of rates, the one that is the answer.
pub fn heaviest_kept(run: &Run) -> Option<&Step> {
    let mut kept = verdict::whole(&run.steps).filter(|step| step.has_passed() && !step.is_short());
    match levels::best(&run.verdict.levels) {
        // The highest rate that was safe: a higher one that passed has a broken one below it.
        Some(level) => {
            kept.find(|step| step.clients == level.clients && step.rates.asked_per_s == level.safe_per_s)
        }
        None => {
            let found = run.verdict.capacity.filter(|capacity| capacity.is_decided() && !capacity.at_least);
            // Near the limit, a step that is too heavy passes now and then.
            let is_within = |step: &Step| found.is_none_or(|capacity| step.clients <= capacity.clients);
            // Until the search is over, half of the tries may break a load: its failure stands.
            let broken =
                verdict::lightest_broken(&run.steps, &run.verdict).filter(|_| run.verdict.capacity.is_none());
            let is_usual = |step: &Step| {
                let (passed, failed) = verdict::tries(&run.steps, step);
                let is_below = broken.is_none_or(|broken| step.clients < broken.clients);
                passed > failed || passed == failed && is_below
            };
            kept.max_by_key(|step| (is_within(step), is_usual(step), step.clients))
        }
    }
}
