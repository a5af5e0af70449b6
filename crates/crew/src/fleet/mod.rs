//! Agents on other machines, over NATS.
//!
//! ```text
//! throng.call                 coordinator → all agents     who is there? (JSON, answered to an inbox)
//! throng.agent.<id>.claim     coordinator → one agent      work for this run (JSON, answered)
//! throng.agent.<id>.down      coordinator → one agent      packets: beats, parts of Brief and Command
//! throng.run.<run>.<number>   agent → its coordinator      packets: answers, parts of Report
//! throng.agent.<id>.look      anyone → one target agent    what does your server use? (answered)
//! ```
//!
//! The commands and reports are those of threads and child processes. NATS may lose what it carries, so each link has
//! a courier at both ends. A coordinator sends a beat twice a second, which an agent answers with
//! the time on its clock: that keeps the lease, acknowledges, and measures how far apart the clocks are
//! ([`Offset`]). Whoever hears nothing for three seconds acts on its own: an agent drops its clients and is free again, a
//! coordinator goes on without the agent, or ends the run.
//!
//! A target agent ([`host`]) is met, claimed and leased in the same way, but runs servers instead of loading them.
//!
//! Every agent works on the coordinator's clock: the offset is added where the clock is read, so that stamps, deltas
//! and books mean the same everywhere.

mod access;
mod agent;
mod backlog;
pub(crate) mod bus;
mod coordinator;
mod courier;
mod gather;
pub mod host;
mod intro;
mod job;
mod link;
mod offset;
mod policy;
mod reception;
#[cfg(test)]
pub(crate) mod simulation;

pub use access::Nats;
pub use agent::AgentOptions;
pub use coordinator::{AgentState, Fleet};
pub use gather::{Gathering, agents, stop};
pub use host::FarEyes;
pub use intro::{Hello, HostHello, Labels, label, name};
pub use job::{Means, serve};
pub use offset::Offset;
pub use policy::{Policy, Rule};

use engine::{Command, Report};
use load::{Plan, Segment};
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// How often a coordinator sends a beat.
const BEAT_INTERVAL_NS: u64 = 500_000_000;
/// Without a word for this long, the other end is gone.
const LEASE_NS: u64 = 3_000_000_000;

/// What an agent is told before it starts.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Brief {
    plan: Plan,
    segments: Vec<Segment>,
    /// Processes to spread them over.
    processes: u16,
    /// The run's clock minus the agent's.
    offset_ns: i64,
}

/// What a coordinator tells an agent.
#[derive(Clone, Debug, Serialize, Deserialize)]
enum Down {
    Brief(Box<Brief>),
    Command(Command),
    /// The run is over.
    Release,
}

/// What an agent tells its coordinator.
#[derive(Clone, Debug, Serialize, Deserialize)]
enum Up {
    /// Its workers stand.
    Ready,
    Report(Report),
    /// It leaves, and why.
    Leaving(String),
}

/// Why nothing came of a fleet.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum Error {
    /// NATS cannot be reached, or does not let us in.
    #[error("cannot connect to NATS at {url}: {why}")]
    Connect {
        /// Where, without passwords.
        url: String,
        /// What went wrong.
        why: String,
    },
    /// The connection is lost.
    #[error("lost the connection to NATS: {0}")]
    Lost(String),
    /// Not enough agents.
    #[error("{0}")]
    Agents(String),
    /// An agent could not start.
    #[error("agent {agent}: {why}")]
    Agent {
        /// Its name.
        agent: String,
        /// What it said.
        why: String,
    },
    /// No thread or file could be had.
    #[error("cannot start: {0}")]
    Start(String),
}
