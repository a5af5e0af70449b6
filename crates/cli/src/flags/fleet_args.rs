//! The flags of a fleet: where NATS is, and which agents.

use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgGroup, Args, ValueEnum};
use crew::OnLoss;
use fleet::{AgentSelection, FleetKey, Nats, label, name};
use results::units;
use secret::Secret;

use crate::exit::Failure;
use crate::secrets::given;

/// How to be let in by NATS.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct NatsArgs {
    /// NATS: a credentials file
    #[arg(long, value_name = "FILE", help_heading = "Fleet")]
    creds: Option<PathBuf>,
    /// NATS: a file with an nkey's seed
    #[arg(long, value_name = "FILE", help_heading = "Fleet")]
    nkey: Option<PathBuf>,
    /// NATS: also trust the authorities in this PEM file
    #[arg(long, value_name = "FILE", help_heading = "Fleet")]
    nats_ca: Option<PathBuf>,
    /// NATS: the client certificate, a PEM file
    #[arg(long, value_name = "FILE", requires = "nats_key", help_heading = "Fleet")]
    nats_cert: Option<PathBuf>,
    /// NATS: the certificate's key, a PEM file
    #[arg(long, value_name = "FILE", requires = "nats_cert", help_heading = "Fleet")]
    nats_key: Option<PathBuf>,
}

impl NatsArgs {
    /// The NATS at `url`, which this flag names.
    ///
    /// # Errors
    /// A URL of something else, or files that are not there.
    pub(crate) fn at(&self, flag: &str, url: &Secret) -> Result<Nats, Failure> {
        let nats = Nats {
            url: url.clone(),
            creds: self.creds.clone(),
            nkey: self.nkey.clone(),
            ca: self.nats_ca.clone(),
            identity: self.nats_cert.clone().zip(self.nats_key.clone()),
        };
        nats.check().map_err(|problem| Failure::usage(flag, problem))?;
        Ok(nats)
    }

    /// These flags for another command line.
    fn words(&self) -> impl Iterator<Item = String> {
        let files = [
            ("creds", &self.creds),
            ("nkey", &self.nkey),
            ("nats-ca", &self.nats_ca),
            ("nats-cert", &self.nats_cert),
            ("nats-key", &self.nats_key),
        ];
        files.into_iter().filter_map(|(flag, file)| Some(format!("--{flag}={}", file.as_ref()?.display())))
    }
}

/// The flags of which one says that something is on other machines.
const ELSEWHERE: &str = "elsewhere";

/// Load from other machines.
#[derive(Args, Clone, Debug)]
#[command(mut_args(for_elsewhere), group(ArgGroup::new(ELSEWHERE).args(["fleet", "target_agent"]).multiple(true)))]
pub(crate) struct FleetArgs {
    /// Let the agents at this NATS make the load, e.g. nats://10.0.0.1:4222; see throng agent
    #[arg(long, value_name = "URL", value_parser = given::whole_url, help_heading = "Fleet")]
    pub(crate) fleet: Option<Secret>,
    /// Number of agents [default: all that are free]
    #[arg(long, value_name = "N", requires = "fleet", value_parser = clap::value_parser!(u16).range(1..), help_heading = "Fleet")]
    pub(crate) agents: Option<u16>,
    /// Only agents with this label, e.g. zone=a
    #[arg(long = "where", value_name = "KEY=VALUE", requires = "fleet", value_parser = label, help_heading = "Fleet")]
    pub(crate) labels: Vec<(String, String)>,
    /// Wait this long for agents
    #[arg(long, value_name = "TIME", default_value = "10s", requires = ELSEWHERE, value_parser = units::time_ns, help_heading = "Fleet")]
    fleet_wait: u64,
    /// What happens to the run if an agent is lost
    #[arg(long, value_enum, value_name = "HOW", default_value_t = Loss::Abort, requires = "fleet", help_heading = "Fleet")]
    on_agent_loss: Loss,
    /// The server runs under this target agent, which reports what it uses (throng docs fleet)
    #[arg(long, value_name = "NAME", value_parser = name, help_heading = "Fleet")]
    pub(crate) target_agent: Option<String>,
    /// Where the target agent is [default: as --fleet]
    #[arg(long, value_name = "URL", value_parser = given::whole_url, requires = "target_agent", help_heading = "Fleet")]
    nats: Option<Secret>,
    #[command(flatten)]
    key: KeyArgs,
    #[command(flatten)]
    access: NatsArgs,
}

/// Refuses keys and credentials that nothing would read. Other verbs have the same flags, and no such group.
fn for_elsewhere(arg: clap::Arg) -> clap::Arg {
    let id = arg.get_id().as_str();
    if ["creds", "nkey", "nats_ca", "nats_cert", "fleet_key"].contains(&id) {
        arg.requires(ELSEWHERE)
    } else {
        arg
    }
}

/// The coordinator's key.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct KeyArgs {
    /// Sign orders to agents that have --agent-key: the seed that throng fleet new-key made, as file:PATH or env:NAME
    #[arg(long, value_name = "SEED", value_parser = fleet_key, help_heading = "Fleet")]
    fleet_key: Option<FleetKey>,
}

impl KeyArgs {
    /// The key, if there is one.
    pub(crate) fn key(&self) -> Option<&FleetKey> {
        self.fleet_key.as_ref()
    }
}

fn fleet_key(text: &str) -> Result<FleetKey, String> {
    FleetKey::read(&given::value(text)?)
}

/// How a run goes on that loses an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Loss {
    /// The run ends
    Abort,
    /// The run goes on with the other agents
    Continue,
}

impl FleetArgs {
    /// The agents that a run is to have, with this many threads each; `None`: it runs here. `note` prints
    /// which agents a run of all of them goes without.
    pub(crate) fn gathering(
        &self,
        threads: Option<u16>,
        clients_max: Option<u64>,
        note: Option<fn(&str)>,
    ) -> Result<Option<AgentSelection>, Failure> {
        let Some(url) = &self.fleet else { return Ok(None) };
        Ok(Some(AgentSelection {
            nats: self.access.at("--fleet", url)?,
            agents: self.agents.map(usize::from),
            labels: self.labels.iter().cloned().collect(),
            wait: Duration::from_nanos(self.fleet_wait),
            threads,
            clients_max,
            key: self.key().cloned(),
            note,
        }))
    }

    /// The target agent's name, and where it is; `None`: the server is not under one.
    pub(crate) fn host(&self) -> Result<Option<(&str, Nats)>, Failure> {
        let Some(agent) = &self.target_agent else { return Ok(None) };
        let problem = "name the NATS at which the target agent is, e.g. nats://10.0.0.1:4222";
        let named = self.nats.as_ref().map(|url| ("--nats", url));
        let named = named.or(self.fleet.as_ref().map(|url| ("--fleet", url)));
        let (flag, url) = named.ok_or_else(|| Failure::usage("--nats", problem))?;
        Ok(Some((agent, self.access.at(flag, url)?)))
    }

    /// The key that signs orders, for agents that require it.
    pub(crate) fn key(&self) -> Option<&FleetKey> {
        self.key.key()
    }

    /// How long agents are waited for.
    pub(crate) fn wait(&self) -> Duration {
        Duration::from_nanos(self.fleet_wait)
    }

    /// These flags for the command line of another run.
    pub(crate) fn words(&self) -> Vec<String> {
        let mut words = Vec::new();
        let mut add = |flag: &str, value: Option<String>| {
            words.extend(value.map(|value| format!("--{flag}={value}")));
        };
        add("fleet", self.fleet.as_ref().map(|url| url.reveal().to_owned()));
        add("nats", self.nats.as_ref().map(|url| url.reveal().to_owned()));
        if self.fleet.is_some() {
            add("fleet-wait", Some(format!("{}ms", self.fleet_wait / 1_000_000)));
            let loss = self.on_agent_loss.to_possible_value().expect("none is hidden");
            add("on-agent-loss", Some(loss.get_name().to_owned()));
        }
        add("agents", self.agents.map(|agents| agents.to_string()));
        for (key, value) in &self.labels {
            add("where", Some(format!("{key}={value}")));
        }
        // In clear: the words go to another process over a pipe, which no third one reads.
        add("fleet-key", self.key().map(|key| key.seed().reveal().to_owned()));
        add("target-agent", self.target_agent.clone());
        words.extend(self.access.words());
        words
    }

    /// How the run goes on if an agent is lost.
    pub(crate) fn on_loss(&self) -> OnLoss {
        match self.on_agent_loss {
            Loss::Abort => OnLoss::Abort,
            Loss::Continue => OnLoss::Continue,
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Command;
    use clap::error::ErrorKind;

    use super::*;

    #[test]
    fn fleet_flags_need_a_fleet() {
        let read = |flags: &str| {
            let words = ["throng"].into_iter().chain(flags.split_whitespace());
            FleetArgs::augment_args(Command::new("throng"))
                .try_get_matches_from(words)
                .map_err(|error| error.kind())
        };
        for flags in ["--fleet-wait 1m", "--creds a", "--nkey a", "--nats-ca a", "--nats-cert a --nats-key b"]
        {
            assert_eq!(read(flags).err(), Some(ErrorKind::MissingRequiredArgument), "{flags}");
            for elsewhere in
                ["--fleet nats://h", "--target-agent a --nats nats://h", "--fleet nats://h --target-agent a"]
            {
                assert_eq!(read(&format!("{flags} {elsewhere}")).err(), None, "{flags} {elsewhere}");
            }
        }
        let loss = "--on-agent-loss continue --target-agent a --nats nats://h";
        assert_eq!(read(loss).err(), Some(ErrorKind::MissingRequiredArgument));
        assert_eq!(read("").err(), None);
    }
}
