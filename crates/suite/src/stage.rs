//! Stages of a target's setup and use, and failures at them.

use std::fmt;

/// Stages of a target's setup and use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Stage {
    /// Looking for the programs it requires.
    Requires,
    /// Fetching what it is built on.
    Install,
    /// Building it.
    Build,
    /// Asking for its version.
    Version,
    /// Starting it.
    Start,
    /// Waiting until it can be loaded.
    Ready,
    /// Checking that it does what it should.
    Check,
    /// Measuring it.
    Measure,
    /// Making the load, or reaching and preparing the machine that the target is on; which is not the target's
    /// to answer for.
    Load,
    /// Stopping it.
    Stop,
}

impl Stage {
    /// All of them, in their order.
    const ALL: [Stage; 10] = [
        Stage::Requires,
        Stage::Install,
        Stage::Build,
        Stage::Version,
        Stage::Start,
        Stage::Ready,
        Stage::Check,
        Stage::Measure,
        Stage::Load,
        Stage::Stop,
    ];

    /// The stage of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Stage::ALL.into_iter().find(|stage| stage.name() == name)
    }

    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Stage::Requires => "requires",
            Stage::Install => "install",
            Stage::Build => "build",
            Stage::Version => "version",
            Stage::Start => "start",
            Stage::Ready => "ready",
            Stage::Check => "check",
            Stage::Measure => "measure",
            Stage::Load => "load",
            Stage::Stop => "stop",
        }
    }
}

/// Why nothing came of a target: at which stage, and what was said last.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct StageFailure {
    /// The stage at which it failed.
    pub stage: Stage,
    /// The reason, in one line.
    pub reason: String,
}

impl StageFailure {
    /// The reason, in one line.
    pub fn new(stage: Stage, reason: impl Into<String>) -> Self {
        Self { stage, reason: reason.into() }
    }

    /// Returns whether it is the target's to answer for.
    pub(crate) fn is_of_target(&self) -> bool {
        self.stage != Stage::Load
    }

    /// Returns whether it is unavailable here, which is no one's mistake.
    pub fn is_unavailable(&self) -> bool {
        matches!(self.stage, Stage::Requires | Stage::Install)
    }
}

impl fmt::Display for StageFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.stage.name(), self.reason)
    }
}
