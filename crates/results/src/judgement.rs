//! Bottlenecks, which [`verdict`](crate::verdict) finds.

use std::fmt;

use crate::finding::{Cause, Finding};

/// The party that limited a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bottleneck {
    /// The server under test.
    Server,
    /// throng itself: the figures say nothing about the server's limit.
    Generator,
    /// The machine they share.
    Machine,
    /// The network between them.
    Network,
    /// Nothing: the load was carried with room to spare.
    None,
    /// Nothing gave out on the generator's side, and the server's cannot be seen.
    Unknown,
}

impl Bottleneck {
    /// All of them.
    pub const ALL: [Bottleneck; 6] = [
        Bottleneck::Server,
        Bottleneck::Generator,
        Bottleneck::Machine,
        Bottleneck::Network,
        Bottleneck::None,
        Bottleneck::Unknown,
    ];

    /// The bottleneck that a cause's key blames: its first word.
    pub fn of_key(key: &str) -> Option<Self> {
        let word = key.split('.').next()?;
        Bottleneck::ALL.into_iter().find(|who| who.name() == word)
    }

    /// Returns whether it gave out before the server did: what was held is then a floor of what the server holds.
    pub(crate) fn is_not_the_servers(self) -> bool {
        matches!(self, Bottleneck::Generator | Bottleneck::Machine | Bottleneck::Network)
    }

    /// The name in files and reports.
    pub fn name(self) -> &'static str {
        match self {
            Bottleneck::Server => "server",
            Bottleneck::Generator => "generator",
            Bottleneck::Machine => "machine",
            Bottleneck::Network => "network",
            Bottleneck::None => "none",
            Bottleneck::Unknown => "unknown",
        }
    }
}

impl fmt::Display for Bottleneck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A bottleneck and the evidence.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// The party that the cause blames.
    pub bottleneck: Bottleneck,
    /// The cause, with the numbers that show it.
    pub cause: Cause,
}

impl From<Cause> for Found {
    fn from(cause: Cause) -> Self {
        Self { bottleneck: Bottleneck::of_key(cause.key()).unwrap_or(Bottleneck::Unknown), cause }
    }
}
