//! Agents that are there and cannot work for a run.

use thiserror::Error;

use crate::intro::{self, VERSION};

/// Why an agent cannot work for a run.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum Unfit {
    /// It is of this other version.
    #[error("is throng {0}, this is {VERSION}: install the same version at both ends")]
    Version(String),
    /// It runs servers.
    #[error("runs servers, and loads none")]
    Host,
    /// It lacks labels that were asked for.
    #[error("does not have the labels of --where")]
    Labels,
    /// It obeys only one key.
    #[error("{}{}", intro::wants_key(wanted), of_other(own.as_deref()))]
    Locked {
        /// Its key.
        wanted: String,
        /// The key that we have, if we have one.
        own: Option<String>,
    },
    /// It works for this run.
    #[error("works for run {0}: wait for its end, or end it with throng fleet stop")]
    Busy(String),
    /// It was told to leave this run, and has not left.
    #[error("has not left run {0}: if a second throng fleet stop does not help, stop it on its machine")]
    Staying(String),
}

/// Agents and why they cannot work, a line each.
pub(crate) fn listed(unfit: &[(String, Unfit)]) -> String {
    unfit.iter().map(|(agent, why)| format!("\n  {agent} {why}")).collect()
}

fn of_other(own: Option<&str>) -> String {
    own.map_or_else(|| "; give --fleet-key".to_owned(), |own| format!(", and --fleet-key is of {own}"))
}
