//! One sentence about a run, made of what was found, and how it is meant.

use std::fmt;

use crate::finding::{Finding, Loss};
use crate::judgement::{Bottleneck, Found};

/// The key of the claim that something else gave out before the server did.
pub(super) const NOT_FOUND: &str = "breaks.not_found";

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

/// Verdict of a claim on its load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Its limits were kept.
    Passed,
    /// A limit was broken, and that is the server's.
    Failed,
    /// Neither is known.
    Unclear,
}

impl Status {
    /// The status whose word this is.
    pub fn of_word(word: &str) -> Option<Status> {
        [Status::Passed, Status::Failed, Status::Unclear].into_iter().find(|status| status.word() == word)
    }

    /// The word that a result begins with.
    pub fn word(self) -> &'static str {
        match self {
            Status::Passed => "PASSED",
            Status::Failed => "FAILED",
            Status::Unclear => "UNCLEAR",
        }
    }
}

/// One sentence in two parts: the answer, and its detail, which may be empty.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    /// Its stable name: `held.clients`.
    pub key: &'static str,
    /// The verdict on its load.
    pub status: Status,
    /// The load that it is about: `300 clients`.
    pub load: Option<String>,
    /// The claim: `failed at 300 clients, the lowest load tried`.
    pub answer: String,
    /// The tone: as hoped, plain, doubtful or bad.
    pub tone: Tone,
    /// The losses that the claim rests on.
    pub losses: Vec<Loss>,
    /// Further facts: `300 messages/s`.
    pub facts: Vec<String>,
    /// The cause that held it back.
    pub cause: Option<Found>,
    /// The joint between the two parts on one line.
    joint: &'static str,
}

impl Claim {
    /// The key of each claim, and its meaning.
    pub const KEYS: [(&str, &str); 19] = [
        ("nothing.measured", "nothing was measured"),
        ("held.clients", "the clients of the heaviest load that kept all limits"),
        ("held.capacity", "the clients that a search found"),
        ("held.at_least", "the same, where the most that were tried kept all limits"),
        ("held.until_gave_out", "the same, where something other than the server gave out next"),
        ("held.rates", "the deliveries at the best level of a sweep"),
        ("held.rates_at_least", "the same, where more may be possible"),
        ("held.nothing", "every load broke a limit"),
        ("cannot_tell.capacity", "the measurements of a search differ too much, or contradict each other"),
        ("cannot_tell.lost_agents", "agents were lost, and no limit broke"),
        ("cannot_tell.interrupted", "the user ended the run before its load told anything"),
        ("cannot_tell.maimed", "the generator lost a worker or an agent"),
        ("cannot_tell.app_file", "messages may be missing because of the app's file"),
        ("cannot_tell.lag", "the limits would have been kept but for delays that are not the server's"),
        ("breaks.at", "the lightest load that failed, above one that passed"),
        ("breaks.below", "the lowest load tried failed"),
        ("breaks.undecided", "the lightest load that broke a limit may have kept it"),
        ("breaks.not_found", "the generator, the machine or the network was the bottleneck"),
        ("breaks.not", "nothing failed up to the highest load tried"),
    ];

    fn new(key: &'static str, status: Status, tone: Tone, answer: String) -> Self {
        debug_assert!(Self::KEYS.iter().any(|(known, _)| *known == key), "{key} is in no list");
        let (losses, facts) = (Vec::new(), Vec::new());
        Self { key, status, load: None, answer, tone, losses, facts, cause: None, joint: ", " }
    }

    pub(super) fn passed(key: &'static str, answer: impl Into<String>) -> Self {
        Self::new(key, Status::Passed, Tone::Plain, answer.into())
    }

    pub(super) fn failed(key: &'static str, answer: impl Into<String>) -> Self {
        // Behind a failure stands why; behind what passed, how much.
        Self::new(key, Status::Failed, Tone::Bad, answer.into()).joined_by(": ")
    }

    pub(super) fn unclear(key: &'static str, answer: impl Into<String>) -> Self {
        Self::new(key, Status::Unclear, Tone::Doubt, answer.into()).joined_by(": ")
    }

    pub(super) fn toned(self, tone: Tone) -> Self {
        Self { tone, ..self }
    }

    pub(super) fn of(self, load: String) -> Self {
        Self { load: Some(load), ..self }
    }

    pub(super) fn with_losses(self, losses: Vec<Loss>) -> Self {
        Self { losses, ..self }
    }

    pub(super) fn with_facts(self, facts: Vec<String>) -> Self {
        Self { facts, ..self }
    }

    pub(super) fn with_cause(self, cause: Option<Found>) -> Self {
        Self { cause, ..self }
    }

    pub(super) fn joined_by(self, joint: &'static str) -> Self {
        Self { joint, ..self }
    }

    /// The details of the answer: `250 of 5,000 copies missing; server: …`.
    pub fn detail(&self) -> String {
        let cause = self.cause.as_ref().map(|found| match self.key {
            // The answer names it already.
            NOT_FOUND => found.cause.to_string(),
            _ => named(found),
        });
        let facts = Some(self.particulars()).filter(|facts| !facts.is_empty());
        facts.into_iter().chain(cause).collect::<Vec<_>>().join("; ")
    }

    /// The losses and the other details, without the cause that held it back.
    fn particulars(&self) -> String {
        let losses = self.losses.iter().map(ToString::to_string);
        losses.chain(self.facts.iter().cloned()).collect::<Vec<_>>().join(", ")
    }

    /// Its load and its facts: `at 300 clients: 250 of 5,000 copies missing`.
    pub(super) fn at_load(&self) -> String {
        let (facts, load) = (self.particulars(), self.load.as_deref());
        let at = load.map(|load| format!(" at {load}")).unwrap_or_default();
        match facts.is_empty() {
            true => at,
            false => format!("{at}{}{facts}", if load.is_some() { self.joint } else { ": " }),
        }
    }

    /// Its key, its load, and the keys of what was found with their numbers, on one line.
    pub fn terse(&self) -> String {
        let losses = self.losses.iter().map(Finding::terse);
        let cause = self.cause.as_ref().map(|found| found.cause.terse());
        let parts = self.load.iter().cloned().chain(losses).chain(self.facts.iter().cloned()).chain(cause);
        [self.key.to_owned()].into_iter().chain(parts).collect::<Vec<_>>().join("; ")
    }
}

/// A cause, by its owner's name where it has one.
pub(super) fn named(found: &Found) -> String {
    match found.bottleneck {
        Bottleneck::None | Bottleneck::Unknown => found.cause.to_string(),
        owner => format!("{owner}: {}", found.cause),
    }
}

/// Both parts on one line.
impl fmt::Display for Claim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let detail = self.detail();
        let joint = if detail.is_empty() { "" } else { self.joint };
        write!(f, "{}{joint}{detail}", self.answer)
    }
}
