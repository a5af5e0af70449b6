//! The flags of a fleet: where NATS is, and which agents.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use crew::OnLoss;
use crew::fleet::{Gathering, Nats, label};
use results::units;

/// How to be let in by NATS.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct NatsArgs {
    /// NATS: a credentials file
    #[arg(long, value_name = "FILE", help_heading = "Fleet")]
    pub(crate) creds: Option<PathBuf>,
    /// NATS: trust the authorities in this PEM file, too
    #[arg(long, value_name = "FILE", help_heading = "Fleet")]
    pub(crate) nats_ca: Option<PathBuf>,
}

impl NatsArgs {
    /// The NATS at `url`.
    pub(crate) fn at(&self, url: &str) -> Nats {
        Nats { url: url.to_owned(), creds: self.creds.clone(), ca: self.nats_ca.clone() }
    }
}

/// Load from other machines.
#[derive(Args, Clone, Debug)]
pub(crate) struct FleetArgs {
    /// Load from the agents at this NATS, e.g. nats://10.0.0.1:4222; see throng agent
    #[arg(long, value_name = "URL", help_heading = "Fleet")]
    pub(crate) fleet: Option<String>,
    /// So many agents [default: all that are free]
    #[arg(long, value_name = "N", requires = "fleet", value_parser = clap::value_parser!(u16).range(1..), help_heading = "Fleet")]
    agents: Option<u16>,
    /// Agents with this label alone, e.g. zone=a
    #[arg(long = "where", value_name = "KEY=VALUE", requires = "fleet", value_parser = label, help_heading = "Fleet")]
    labels: Vec<(String, String)>,
    /// Wait this long for agents
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = units::duration_ns, help_heading = "Fleet")]
    fleet_wait: u64,
    /// What becomes of the run if an agent is lost
    #[arg(long, value_enum, default_value_t = Loss::Abort, help_heading = "Fleet")]
    on_agent_loss: Loss,
    #[command(flatten)]
    nats: NatsArgs,
}

/// What becomes of a run that loses an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Loss {
    /// It ends
    Abort,
    /// It goes on with the others
    Continue,
}

impl FleetArgs {
    /// The agents that a run is to have, with so many threads each; `None`: it runs here.
    pub(crate) fn gathering(&self, threads: Option<u16>, clients_max: Option<u64>) -> Option<Gathering> {
        Some(Gathering {
            nats: self.nats.at(self.fleet.as_ref()?),
            agents: self.agents.map(usize::from),
            labels: self.labels.iter().cloned().collect(),
            wait: Duration::from_nanos(self.fleet_wait),
            threads,
            clients_max,
        })
    }

    /// What becomes of the run if an agent is lost.
    pub(crate) fn on_loss(&self) -> OnLoss {
        match self.on_agent_loss {
            Loss::Abort => OnLoss::Abort,
            Loss::Continue => OnLoss::Continue,
        }
    }
}
