//! `throng agent`: works for coordinators on other machines.

use clap::Args;
use crew::fleet::{self, AgentOptions, label, name};
use net::affinity;

use crate::exit::{Exit, Failure};
use crate::fleet_args::NatsArgs;
use crate::processes;
use crate::verbs::child;

/// Joins a fleet: waits at NATS for runs, and carries its part of their load
///
/// On each machine: throng agent --nats nats://10.0.0.1:4222 --label zone=a. Then, from any machine that reaches the same
/// NATS: throng echo ws://server/ws --clients 1M --fleet nats://10.0.0.1:4222 --where zone=a. An agent works for one run
/// at a time; without a word from its coordinator for 3 s it drops all connections and is free again.
#[derive(Args)]
pub(crate) struct Agent {
    /// NATS: nats://HOST:4222 or nats://USER:PASSWORD@HOST:4222, or tls://…
    #[arg(long, value_name = "URL")]
    nats: String,
    /// Its name among the agents [default: host and process]
    #[arg(long, value_name = "NAME", value_parser = name)]
    name: Option<String>,
    /// Something to choose it by, e.g. zone=a
    #[arg(long = "label", value_name = "KEY=VALUE", value_parser = label)]
    labels: Vec<(String, String)>,
    /// Worker threads [default: one per CPU]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
    /// Pin them to these CPUs, e.g. 1-3
    #[arg(long, value_name = "CPUS")]
    pin: Option<String>,
    #[command(flatten)]
    access: NatsArgs,
    /// Say nothing
    #[arg(short, long)]
    quiet: bool,
}

impl Agent {
    /// Runs it until it is told to stop.
    pub(crate) fn run(self) -> Result<Exit, Failure> {
        let interrupts = net::signals::Interrupts::install();
        let interrupts = interrupts.map_err(|error| Failure::could_not("handle signals", error))?;
        let cpus = match &self.pin {
            Some(list) => affinity::parse_cpus(list).map_err(|error| Failure::usage("--pin", error))?,
            None => affinity::available_cpus().map_err(|e| Failure::could_not("read the CPU affinity", e))?,
        };
        let quiet = self.quiet;
        let options = AgentOptions {
            nats: self.access.at(&self.nats),
            name: self.name.unwrap_or_else(default_name),
            labels: self.labels.into_iter().collect(),
            threads: self.threads.unwrap_or(cpus.len().clamp(1, 1_024) as u16),
            cpus: if self.pin.is_some() { cpus } else { Vec::new() },
            clients_per_process: u32::try_from(processes::clients_per_process()?).unwrap_or(u32::MAX),
            child: &child::command,
            is_interrupted: &|| interrupts.count() > 0,
            log: &|line| {
                if !quiet {
                    eprintln!("throng: {line}");
                }
            },
        };
        fleet::serve(&options).map_err(|error| Failure::could_not("join the fleet", error))?;
        Ok(Exit::Fine)
    }
}

/// Host and process; what a host's name may have and an agent's may not becomes a dash.
fn default_name() -> String {
    let host = net::machine::hostname().unwrap_or_else(|| "agent".into());
    let plain = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '-' };
    let host: String = host.chars().map(plain).take(48).collect();
    format!("{host}-{}", std::process::id())
}
