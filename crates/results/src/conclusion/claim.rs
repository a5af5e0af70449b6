//! One sentence, and how it is meant.

use std::fmt;

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

impl Claim {
    pub(super) fn new(tone: Tone, answer: impl Into<String>, detail: impl Into<String>) -> Self {
        Self { answer: answer.into(), detail: detail.into(), tone, joint: ", " }
    }

    pub(super) fn joined_by(self, joint: &'static str) -> Self {
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
