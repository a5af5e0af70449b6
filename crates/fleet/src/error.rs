//! Why a fleet could not be used.

use thiserror::Error;

use crate::unfit::{self, Unfit};

/// Why a fleet could not be used.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum Error {
    /// NATS cannot be reached.
    #[error("cannot connect to NATS at {url}: {why}")]
    Connect {
        /// The URL, without passwords.
        url: String,
        /// The error.
        why: String,
    },
    /// NATS does not let us in.
    #[error(
        "cannot connect to NATS at {url}: it does not let us in: nats://USER:PASSWORD@HOST, nats://TOKEN@HOST, --creds \
         or --nkey says who we are"
    )]
    Denied {
        /// The URL, without passwords.
        url: String,
    },
    /// The connection is lost.
    #[error("lost the connection to NATS: {0}")]
    Lost(String),
    /// Not enough agents are free.
    #[error("{}", too_few(*free, *needed, unfit))]
    TooFew {
        /// How many are free.
        free: usize,
        /// How many were asked for.
        needed: usize,
        /// Agents that are there, by name, and why they cannot work.
        unfit: Vec<(String, Unfit)>,
    },
    /// The agent that was asked for cannot work.
    #[error("{agent} {why}")]
    Unfit {
        /// Its name.
        agent: String,
        /// Why.
        why: Unfit,
    },
    /// The agents cannot work together, or did not get ready.
    #[error("{0}")]
    Agents(String),
    /// An agent could not start.
    #[error("agent {agent}: {why}")]
    Agent {
        /// Its name.
        agent: String,
        /// Its message.
        why: String,
    },
    /// No thread or file is available.
    #[error("cannot start: {0}")]
    Start(String),
}

fn too_few(free: usize, needed: usize, unfit: &[(String, Unfit)]) -> String {
    let unfit = unfit::listed(unfit);
    format!("{free} of {needed} agents are there and free; start more with throng agent --nats URL{unfit}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::VERSION;

    #[test]
    fn wording() {
        let unfit = [
            ("old", Unfit::Version("0.0.9/1".into())),
            ("rack", Unfit::Host),
            ("elsewhere", Unfit::Labels),
            ("locked", Unfit::Locked { wanted: "KEY".into(), own: None }),
            ("other", Unfit::Locked { wanted: "KEY".into(), own: Some("OWN".into()) }),
            ("busy", Unfit::Busy("r7".into())),
        ];
        let unfit = unfit.map(|(agent, why)| (agent.to_owned(), why)).to_vec();
        let too_few = Error::TooFew { free: 1, needed: 3, unfit }.to_string().replace(VERSION, "VERSION");
        let expected = [
            "1 of 3 agents are there and free; start more with throng agent --nats URL",
            "  old is throng 0.0.9/1, this is VERSION: install the same version at both ends",
            "  rack runs servers, and loads none",
            "  elsewhere does not have the labels of --where",
            "  locked wants orders signed by the key KEY; give --fleet-key",
            "  other wants orders signed by the key KEY, and --fleet-key is of OWN",
            "  busy works for run r7: wait for its end, or end it with throng fleet stop",
        ];
        assert_eq!(too_few.lines().collect::<Vec<_>>(), expected);
    }
}
