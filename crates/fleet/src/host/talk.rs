//! Messages between a coordinator and a target agent.

use std::net::Ipv4Addr;

use serde::{Deserialize, Serialize};

/// Why a target could not be used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StageFailure {
    /// The stage, by the name that tables use.
    pub stage: String,
    /// The reason, in one line.
    pub reason: String,
}

/// A server that runs on an agent's machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Running {
    /// Its address.
    pub address: Ipv4Addr,
    /// Its port.
    pub port: u16,
    /// Its second port, for its own metrics.
    pub admin_port: u16,
    /// Its main process there.
    pub pid: u32,
}

/// Messages from a coordinator to a target agent.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum Down {
    Prepare {
        target: String,
        may_install: bool,
    },
    Start {
        target: String,
        cpus: Vec<usize>,
    },
    Stop,
    /// The shootout is over.
    Release,
}

/// Messages from a target agent to its coordinator.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum Up {
    Prepared(Result<String, StageFailure>),
    Started(Result<Running, StageFailure>),
    Stopped,
    /// The server ended by itself, and how.
    Died(String),
    /// The agent leaves, and why.
    Leaving(String),
}

/// The most bytes shown of text from a network.
const WORDS_BYTES_MAX: usize = 500;

/// The stage of a failure of the agent, by the name that tables use: the server is not at fault.
const OF_AGENT: &str = "load";

/// Makes text from the wire fit to be shown.
pub(super) fn plain(text: &str) -> String {
    text.chars().filter(|c| stats::is_shown(*c)).take(WORDS_BYTES_MAX).collect()
}

impl StageFailure {
    /// A failure of the agent, which is at fault or was lost.
    pub(super) fn of_agent(reason: String) -> Self {
        Self { stage: OF_AGENT.to_owned(), reason }
    }

    pub(super) fn plain(self) -> Self {
        Self { stage: plain(&self.stage), reason: plain(&self.reason) }
    }
}
