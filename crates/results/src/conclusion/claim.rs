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

/// One sentence in two parts: the answer, and its detail, which may be empty.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    /// Its stable name: `held.clients`.
    pub key: &'static str,
    /// The load that it is about: `300 clients`.
    pub load: Option<String>,
    /// The claim: `not at 300 clients, the most that was tried`.
    pub answer: String,
    /// How it is meant.
    pub tone: Tone,
    /// Losses.
    pub losses: Vec<Loss>,
    /// Further facts: `300 messages/s`.
    pub facts: Vec<String>,
    /// The cause that held it back.
    pub cause: Option<Found>,
    /// The joint between the two parts on one line.
    joint: &'static str,
}

impl Claim {
    pub(super) fn new(key: &'static str, tone: Tone, answer: impl Into<String>) -> Self {
        let (answer, losses, facts) = (answer.into(), Vec::new(), Vec::new());
        Self { key, load: None, answer, tone, losses, facts, cause: None, joint: ", " }
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

    /// The detail of the answer: `250 of 5,000 copies missing; bottleneck server: …`.
    pub fn detail(&self) -> String {
        let losses = self.losses.iter().map(ToString::to_string);
        let facts = losses.chain(self.facts.iter().cloned()).collect::<Vec<_>>().join(", ");
        let cause = self.cause.as_ref().map(|found| match found.bottleneck {
            // That the generator, say, gave out is the answer already.
            _ if self.key == NOT_FOUND => found.cause.to_string(),
            Bottleneck::None | Bottleneck::Unknown => found.cause.to_string(),
            who => format!("bottleneck {who}: {}", found.cause),
        });
        [Some(facts).filter(|facts| !facts.is_empty()), cause]
            .into_iter()
            .flatten()
            .collect::<Vec<_>>()
            .join("; ")
    }

    /// Its key, its load, and the keys of what was found with their numbers, on one line.
    pub fn terse(&self) -> String {
        let losses = self.losses.iter().map(Finding::terse);
        let cause = self.cause.as_ref().map(|found| found.cause.terse());
        let parts = self.load.iter().cloned().chain(losses).chain(self.facts.iter().cloned()).chain(cause);
        [self.key.to_owned()].into_iter().chain(parts).collect::<Vec<_>>().join("; ")
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
