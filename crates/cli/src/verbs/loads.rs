//! The verbs that load a server, which a suite may name as well.

use clap::Subcommand;
use results::Scenario;

use crate::estimate::Estimate;
use crate::exit::{Exit, Failure};
use crate::verbs::{broadcast, echo, http, idle, saturate, storm, stream};

/// A verb that loads a server, with its flags.
#[derive(Subcommand)]
pub(crate) enum LoadVerb {
    Echo(echo::Echo),
    Broadcast(broadcast::Broadcast),
    Saturate(saturate::Saturate),
    Http(http::Http),
    Stream(stream::Stream),
    Idle(idle::Idle),
    Storm(storm::Storm),
}

impl LoadVerb {
    pub(crate) fn run(self) -> Result<Exit, Failure> {
        match self {
            Self::Echo(echo) => echo.run(),
            Self::Broadcast(broadcast) => broadcast.run(),
            Self::Saturate(saturate) => saturate.run(),
            Self::Http(http) => http.run(),
            Self::Stream(stream) => stream.run(),
            Self::Idle(idle) => idle.run(),
            Self::Storm(storm) => storm.run(),
        }
    }

    /// How long it takes, as far as its flags tell.
    pub(crate) fn estimate(self) -> Result<Estimate, Failure> {
        match self {
            Self::Echo(echo) => echo.estimate(),
            Self::Broadcast(broadcast) => broadcast.estimate(),
            Self::Saturate(saturate) => saturate.estimate(),
            Self::Http(http) => http.estimate(),
            Self::Stream(stream) => stream.estimate(),
            Self::Idle(idle) => idle.estimate(),
            Self::Storm(storm) => storm.estimate(),
        }
    }
}

/// The scenarios that a verb may measure: only the app's file tells which of them `run` does.
pub(crate) fn scenarios(verb: &str) -> Vec<Scenario> {
    match verb {
        "run" => vec![Scenario::Broadcast, Scenario::Echo, Scenario::Idle, Scenario::Stream],
        "audit" => vec![Scenario::Broadcast],
        verb => verb.parse::<Scenario>().into_iter().collect(),
    }
}
