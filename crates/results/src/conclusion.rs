//! What a run says, in sentences: how much was held, where it broke, and what that comes to.
//!
//! People forward sentences, so each is read off one table of rules, from the top, and the first that holds speaks
//! (METHODOLOGY "Sentences"). Integrity comes first: what was lost, wrong, refused or late decides before any capacity is
//! named. Text, page, Markdown, JUnit and the exit code all say what stands here.

use std::fmt;

use crate::format::{clients, count, duration, rate};
use crate::judgement::{Bottleneck, Finding};
use crate::run::Run;
use crate::step::Step;
use crate::verdict;

mod held;
mod losses;
#[cfg(test)]
mod tests;
mod trial;

pub use held::heaviest_kept;
pub use losses::{actual, failing, failings};
pub use trial::is_untrusted;

/// What a run comes to; the exit code follows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// What was asked was held.
    Held,
    /// A limit was broken, asked for or standing.
    Broken,
    /// Nothing was measured.
    Nothing,
}

impl Outcome {
    /// The name in files.
    pub fn name(self) -> &'static str {
        match self {
            Outcome::Held => "held",
            Outcome::Broken => "broken",
            Outcome::Nothing => "nothing",
        }
    }
}

/// How a sentence is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// As hoped.
    Good,
    /// Neither.
    Plain,
    /// Not known, or not for certain.
    Doubt,
    /// Something was lost, or broke.
    Bad,
}

/// One sentence in two parts: the answer, and what is to be said about it, which may be empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// `300 clients`.
    pub answer: String,
    /// `300 messages/s`.
    pub detail: String,
    /// How it is meant.
    pub tone: Tone,
    /// What stands between the two on one line.
    joint: &'static str,
}

/// What a run says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conclusion {
    /// What it comes to.
    pub outcome: Outcome,
    /// How much the server holds.
    pub how_much: Claim,
    /// Where it breaks, or what was tried without breaking it.
    pub breaks: Claim,
}

impl Claim {
    fn new(tone: Tone, answer: impl Into<String>, detail: impl Into<String>) -> Self {
        Self { answer: answer.into(), detail: detail.into(), tone, joint: ", " }
    }

    fn joined_by(self, joint: &'static str) -> Self {
        Self { joint, ..self }
    }
}

/// Both on one line.
impl fmt::Display for Claim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let joint = if self.detail.is_empty() { "" } else { self.joint };
        write!(f, "{}{joint}{}", self.answer, self.detail)
    }
}

type Rule = fn(&Run) -> Option<Claim>;

/// How much is held. The last always speaks.
const HOW_MUCH: [Rule; 6] = [nothing, held::searched, held::swept, held::kept, held::short, lost];
/// Where it breaks. The last always speaks.
const BREAKS: [Rule; 4] = [nothing, broke, gave_out_first, did_not_break];

/// Reads both tables.
pub fn conclude(run: &Run) -> Conclusion {
    let first =
        |rules: &[Rule]| rules.iter().find_map(|rule| rule(run)).expect("the last rule always speaks");
    Conclusion { outcome: outcome(run), how_much: first(&HOW_MUCH), breaks: first(&BREAKS) }
}

/// Whether limits were broken on purpose, to find where they break: that is no failure where anything was held.
pub fn breaks_on_purpose(run: &Run) -> bool {
    is_looking(run) && run.steps.iter().any(Step::has_passed)
}

/// A search, or a sweep of rates. A walk ends at `--limit-rtt`, too, and is done when it does.
fn is_looking(run: &Run) -> bool {
    run.verdict.capacity.is_some() || run.scenario == "saturate"
}

fn outcome(run: &Run) -> Outcome {
    let is_failure = |step: &Step| step.limits.iter().chain(&step.standing).any(|limit| !limit.passed);
    match run.steps.is_empty() {
        true => Outcome::Nothing,
        false if is_looking(run) && heaviest_kept(run).is_none() => Outcome::Broken,
        false if !breaks_on_purpose(run) && run.steps.iter().any(is_failure) => Outcome::Broken,
        false => Outcome::Held,
    }
}

fn nothing(run: &Run) -> Option<Claim> {
    run.steps.is_empty().then(|| Claim::new(Tone::Doubt, "nothing was measured", ""))
}

/// Every step broke a limit: how much was asked, and what became of it.
fn lost(run: &Run) -> Option<Claim> {
    let step = verdict::lightest_broken(&run.steps, &run.verdict.levels).or(run.steps.last())?;
    let claim = Claim::new(Tone::Bad, format!("not {}", asked(run, step)), failings(&run.scenario, step));
    Some(claim.joined_by(": "))
}

/// At the lightest load that was not held. Where nothing was, what became of it has been said.
fn broke(run: &Run) -> Option<Claim> {
    let step = verdict::lightest_broken(&run.steps, &run.verdict.levels)?;
    let why = step.bottleneck.as_ref().map(because);
    if heaviest_kept(run).is_none() {
        let least = format!("below {}, the least that was tried", asked(run, step));
        return Some(Claim::new(Tone::Bad, least, why.unwrap_or_default()).joined_by("; "));
    }
    let why = why.map(|why| format!("; {why}")).unwrap_or_default();
    let claim =
        Claim::new(Tone::Bad, format!("at {}", asked(run, step)), failings(&run.scenario, step) + &why);
    Some(claim.joined_by(": "))
}

/// The generator, the machine or the network was at its limit before the server broke. A schedule that was kept was
/// carried whatever was late by it, and so were clients that did nothing: only a loop that waits for answers asks for more, and a fleet that lost agents.
fn gave_out_first(run: &Run) -> Option<Claim> {
    let is_loop = !["idle", "storm"].contains(&run.scenario.as_str())
        && heaviest_kept(run).is_none_or(|step| step.rates.asked_per_s.is_none());
    let asks_for_more = is_loop || run.steps.iter().any(Step::is_short);
    let finding = run.verdict.bottleneck.as_ref().filter(|_| asks_for_more)?;
    let who = finding.bottleneck;
    matches!(who, Bottleneck::Generator | Bottleneck::Machine | Bottleneck::Network).then(|| {
        let answer = format!("not found: the {who} gave out first");
        Claim::new(Tone::Doubt, answer, finding.reason.clone()).joined_by(": ")
    })
}

/// All that was tried was held.
fn did_not_break(run: &Run) -> Option<Claim> {
    let tried = format!("not at {}, the most that was tried", most_tried(run));
    let finding = run.verdict.bottleneck.as_ref();
    let tone = match finding.map(|finding| finding.bottleneck) {
        Some(Bottleneck::None) => Tone::Good,
        _ => Tone::Doubt,
    };
    Some(Claim::new(tone, tried, finding.map(because).unwrap_or_default()).joined_by("; "))
}

fn because(finding: &Finding) -> String {
    match finding.bottleneck {
        Bottleneck::None | Bottleneck::Unknown => finding.reason.clone(),
        who => format!("bottleneck {who}: {}", finding.reason),
    }
}

fn most_tried(run: &Run) -> String {
    let heaviest = run.steps.iter().max_by(|a, b| {
        let weight = |step: &Step| step.rates.asked_per_s.unwrap_or_default();
        a.clients.cmp(&b.clients).then(weight(a).total_cmp(&weight(b)))
    });
    heaviest.map(|step| asked(run, step)).unwrap_or_default()
}

/// A step by what was asked of it: `300 clients`, `400 messages/s to 50 clients`.
pub fn asked(run: &Run, step: &Step) -> String {
    match step.rates.asked_per_s.filter(|_| run.scenario == "saturate") {
        Some(per_s) => format!("{} to {}", rate(per_s, "messages"), clients(step.clients)),
        None => clients(step.clients),
    }
}

/// How long it took until everybody was back from a storm, or how many were not.
fn returns(step: &Step) -> Option<String> {
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
