//! The conclusion of a run, in sentences: how much was held, where it broke, and what that comes to.
//!
//! People forward sentences, so each is read off one table of rules, from the top, and the first that holds
//! speaks (METHODOLOGY "Sentences"). Integrity comes first: what was lost, wrong, refused or late decides
//! before any capacity is named. Text, page, Markdown, JUnit and the exit code all say what stands here.

use crate::format::{clients, rate};
use crate::judgement::{Bottleneck, Found};
use crate::limit::LimitOutcome;
use crate::run::Run;
use crate::scenario::Scenario;
use crate::step::Step;
use crate::verdict;

mod caveats;
mod claim;
mod held;
mod losses;
mod noticed;
mod result;
#[cfg(test)]
mod tests;
mod trial;
mod undecided;

use claim::NOT_FOUND;
pub use claim::{Claim, Status, Tone};
pub use held::{heaviest_kept, shown, untold};
pub use losses::{actual, failing, failings, total};
pub use trial::is_untrusted;
use undecided::is_undecided;

/// Outcomes of a run; the exit code follows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The load asked for was held.
    Held,
    /// A limit was broken, asked for or standing.
    Broken,
    /// Nothing was measured.
    Nothing,
}

impl Outcome {
    /// The name in files: `held`, `broken` or `nothing`.
    pub fn name(self) -> &'static str {
        match self {
            Outcome::Held => "held",
            Outcome::Broken => "broken",
            Outcome::Nothing => "nothing",
        }
    }
}

/// The conclusion of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Conclusion {
    /// The outcome of the load that was asked for.
    pub outcome: Outcome,
    /// How much the server holds.
    pub how_much: Claim,
    /// The load that breaks it, or the highest that did not.
    pub breaks: Claim,
    /// Findings that anybody would notice of a load that passed, without having set a limit on it.
    pub noticed: Option<String>,
}

type Rule = fn(&Run) -> Option<Claim>;

/// How much is held. The last always speaks.
const HOW_MUCH: [Rule; 8] =
    [nothing, held::searched, held::swept, held::kept, held::short, held::maimed, may_be_held, lost];
/// Rules for where it breaks. The last always applies.
const BREAKS: [Rule; 7] =
    [nothing, lost_itself, undecided, broke, told_nothing, gave_out_first, did_not_break];

/// Concludes a run by the first rule that applies, of the load that was held and of the load that broke.
pub fn conclude(run: &Run) -> Conclusion {
    let first =
        |rules: &[Rule]| rules.iter().find_map(|rule| rule(run)).expect("the last rule always speaks");
    let noticed = heaviest_kept(run).and_then(noticed::of);
    Conclusion { outcome: outcome(run), how_much: first(&HOW_MUCH), breaks: first(&BREAKS), noticed }
}

/// Returns whether limits were broken on purpose, to find where they break: that is no failure where anything was held.
pub fn breaks_on_purpose(run: &Run) -> bool {
    FailureRule::of(run).breaks_on_purpose()
}

/// The rule by which broken limits fail a run. Where anything was held, those do not that a search or a sweep
/// breaks to find its answer, nor the one that ends the steps of a walk.
pub struct FailureRule {
    is_held: bool,
    is_looking: bool,
}

impl FailureRule {
    /// The rule of a run: of all its steps, so that it is made once for them.
    pub fn of(run: &Run) -> Self {
        Self { is_held: heaviest_kept(run).is_some(), is_looking: run.is_looking() }
    }

    /// Returns whether limits are broken on purpose, to find where they break.
    pub fn breaks_on_purpose(&self) -> bool {
        self.is_held && self.is_looking
    }

    /// The limits by which a step fails the run.
    pub fn failures<'a>(&self, step: &'a Step) -> impl Iterator<Item = &'a LimitOutcome> + use<'a> {
        let is_on_purpose = self.breaks_on_purpose();
        let is_end_failure = !self.is_held && (self.is_looking || !is_undecided(step));
        let limits = step.limits.iter().chain(&step.standing).filter(move |_| !is_on_purpose);
        limits.chain(step.stop.iter().filter(move |_| is_end_failure)).filter(|limit| !limit.passed())
    }
}

fn outcome(run: &Run) -> Outcome {
    let rule = FailureRule::of(run);
    let is_failure = |step: &Step| rule.failures(step).next().is_some();
    // A step that broke a limit before its load says something all the same.
    let is_nothing = |step: &Step| step.tells_nothing() && step.has_passed();
    match run.steps.iter().all(is_nothing) {
        true => Outcome::Nothing,
        false if run.is_looking() && heaviest_kept(run).is_none() => Outcome::Broken,
        false if run.steps.iter().any(is_failure) => Outcome::Broken,
        false => Outcome::Held,
    }
}

fn nothing(run: &Run) -> Option<Claim> {
    run.steps.is_empty().then(|| Claim::unclear("nothing.measured", "nothing was measured"))
}

/// Nothing was held, and the lightest load may have been.
fn may_be_held(run: &Run) -> Option<Claim> {
    let step = held::undecided_step(run)?;
    let asked = asked(run.scenario, step);
    let is_of_file = step.bottleneck.as_ref().is_some_and(|why| why.cause.lost_besides_file().is_some());
    let key = if is_of_file { "cannot_tell.app_file" } else { "cannot_tell.lag" };
    let claim = Claim::unclear(key, format!("unclear at {asked}")).of(asked);
    Some(claim.with_losses(failings(run.scenario, step)))
}

/// Every step broke a limit: how much was asked, and what became of it.
fn lost(run: &Run) -> Option<Claim> {
    let step = verdict::lightest_broken(&run.steps, &run.verdict).or(run.steps.last())?;
    let asked = asked(run.scenario, step);
    let claim = Claim::failed("held.nothing", format!("failed at {asked}")).of(asked);
    Some(claim.with_losses(failings(run.scenario, step)))
}

/// The generator lost a part of itself at the lightest load that was not held: of the server, that says nothing.
fn lost_itself(run: &Run) -> Option<Claim> {
    Some(gave_out(Bottleneck::Generator, held::maimed_step(run)?.bottleneck.clone()))
}

/// At the lightest load that was not held, and may have been.
fn undecided(run: &Run) -> Option<Claim> {
    let step = held::undecided_step(run)?;
    let asked = asked(run.scenario, step);
    let claim = Claim::unclear("breaks.undecided", format!("unclear at {asked}")).of(asked);
    // Where nothing was held, the first sentence has said them.
    let losses = if heaviest_kept(run).is_some() { failings(run.scenario, step) } else { Vec::new() };
    Some(claim.with_losses(losses).with_cause(step.bottleneck.clone()))
}

/// At the lightest load that was not held. Where nothing was, what became of it has been said.
fn broke(run: &Run) -> Option<Claim> {
    let step = verdict::lightest_broken(&run.steps, &run.verdict)?;
    let asked = asked(run.scenario, step);
    if heaviest_kept(run).is_none() {
        let below = format!("failed at {asked}, the lowest load tried");
        let claim = Claim::failed("breaks.below", below).of(asked);
        return Some(claim.with_cause(step.bottleneck.clone()).joined_by("; "));
    }
    let claim = Claim::failed("breaks.at", format!("failed at {asked}")).of(asked);
    Some(claim.with_losses(failings(run.scenario, step)).with_cause(step.bottleneck.clone()))
}

/// The user ended it before any of its loads had begun.
fn told_nothing(run: &Run) -> Option<Claim> {
    let whys: Option<Vec<String>> = run.steps.iter().map(held::untold).collect();
    whys?.pop().map(|why| held::cannot_tell("cannot_tell.interrupted", why))
}

/// The generator, the machine or the network was at its limit before the server broke. A schedule that was kept was
/// carried whatever was late by it, and so were clients that did nothing: only a loop that waits for answers asks for
/// more, and a fleet that lost agents, whatever the server had to do with what was left.
fn gave_out_first(run: &Run) -> Option<Claim> {
    let lost = run.steps.iter().find_map(verdict::without_agents).map(Found::from);
    let is_loop = run.scenario.facts().is_loop
        && heaviest_kept(run).is_none_or(|step| step.rates.asked_per_s.is_none());
    let found = lost.or_else(|| run.verdict.bottleneck.clone().filter(|_| is_loop))?;
    let who = found.bottleneck;
    who.is_not_the_servers().then(|| gave_out(who, Some(found)))
}

fn gave_out(who: Bottleneck, found: Option<Found>) -> Claim {
    Claim::unclear(NOT_FOUND, format!("server limit not found: the {who} was the bottleneck"))
        .with_cause(found)
}

/// All that was tried was held. More may have been to come.
fn did_not_break(run: &Run) -> Option<Claim> {
    let heaviest = heaviest_tried(run);
    let most = heaviest.map(|step| asked(run.scenario, step)).unwrap_or_default();
    let tried = format!("no failure up to {most}, the highest load tried");
    let found = run.verdict.bottleneck.as_ref();
    let tone = match found.map(|found| found.bottleneck) {
        // Good is only what is over: a run that was cut short may have failed at its next step.
        Some(Bottleneck::None) if run.resume_after.is_none() => Tone::Good,
        _ => Tone::Doubt,
    };
    let claim = Claim::passed("breaks.not", tried).toned(tone).with_cause(found.cloned()).joined_by("; ");
    // Capacity is claimed of this load, and a step that the user ended may have failed in the time that was left.
    let is_whole = heaviest.is_none_or(|step| !step.was_interrupted());
    // Connections of requests stand for no clients: any number of users may share them.
    let is_of_clients = run.scenario.facts().has_dialects;
    Some(if is_whole && is_of_clients { claim.of(most) } else { claim })
}

fn heaviest_tried(run: &Run) -> Option<&Step> {
    verdict::whole(&run.steps).max_by(|a, b| {
        let weight = |step: &Step| step.rates.asked_per_s.unwrap_or_default();
        a.clients.cmp(&b.clients).then(weight(a).total_cmp(&weight(b)))
    })
}

/// A step by what was asked of it: `300 clients`, `400 messages/s to 50 clients`.
pub fn asked(scenario: Scenario, step: &Step) -> String {
    match step.rates.asked_per_s.filter(|_| scenario.facts().sweeps) {
        Some(per_s) => format!("{} to {}", rate(per_s, "messages"), clients(step.clients)),
        None => clients(step.clients),
    }
}
