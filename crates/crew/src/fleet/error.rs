//! Why nothing came of a fleet.

use thiserror::Error;

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
