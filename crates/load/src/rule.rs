//! How the load of a step follows from its number of clients.

use serde::{Deserialize, Serialize};

use crate::plan::Load;
use crate::schedule::Schedule;

/// The load as a user states it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum LoadRule {
    /// Each client sends one message every `interval_ns`, spread evenly: wsdemo's load.
    EachClient {
        /// Time between two messages of a client.
        interval_ns: u64,
        /// Length of the schedule.
        duration_ns: u64,
    },
    /// The same load whatever the number of clients.
    Same(Load),
}

impl LoadRule {
    /// The load for `clients` clients.
    pub fn for_clients(&self, clients: u32) -> Load {
        match *self {
            Self::EachClient { interval_ns, duration_ns } => Load::Open {
                schedule: Schedule::constant(f64::from(clients.max(1)) * 1e9 / interval_ns.max(1) as f64),
                duration_ns,
            },
            Self::Same(load) => load,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_grows_with_the_clients() {
        let rule = LoadRule::EachClient { interval_ns: 500_000_000, duration_ns: 7 };
        assert_eq!(rule.for_clients(100), Load::Open { schedule: Schedule::constant(200.0), duration_ns: 7 });
    }
}
