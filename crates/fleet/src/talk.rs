//! Messages between a coordinator and its agents, and how often they go.

use engine::{Command, Report};
use load::{Plan, Segment};
use serde::{Deserialize, Serialize};

/// How often a coordinator sends a beat.
pub(crate) const BEAT_INTERVAL_NS: u64 = 500_000_000;

/// Silence after which the other end counts as gone.
pub(crate) const LEASE_NS: u64 = 3_000_000_000;

/// An agent's instructions before it starts.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Brief {
    pub(crate) plan: Plan,
    pub(crate) segments: Vec<Segment>,
    /// Processes to spread the workers over.
    pub(crate) processes: u16,
    /// The run's clock minus the agent's.
    pub(crate) offset_ns: i64,
}

/// Messages from a coordinator to an agent.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Down {
    Brief(Box<Brief>),
    Command(Command),
    /// The run is over.
    Release,
}

/// Messages from an agent to its coordinator.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Up {
    /// The agent's workers are ready.
    Ready {
        /// Memory of its processes now, if it is known.
        rss_bytes: Option<u64>,
    },
    Report(Report),
    /// The agent leaves, with the reason.
    Leaving(String),
}
