//! `throng agent`: works for coordinators on other machines.

mod servers;

use std::net::{Ipv4Addr, UdpSocket};
use std::path::PathBuf;
use std::sync::Arc;

use clap::{Args, ValueEnum};
use fleet::{
    self, AgentKey, AgentOptions, AgentResources, HostHello, Nats, Policy, Rule, WORKERS_MAX, host, label,
    name,
};
use net::machine::Machine;
use secret::Secret;

use crate::exit::{Exit, Failure, variant};
use crate::flags::fleet_args::NatsArgs;
use crate::hidden;
use crate::interrupts;
use crate::processes;
use crate::secrets::given;
use crate::stderr;
use crate::verbs::targets;
use servers::Servers;

/// Join a fleet: wait at NATS for runs, and make a share of their load or run their servers
///
/// On each machine: throng agent --nats nats://10.0.0.1:4222 --label zone=a --allow ws://10.0.0.0/8:*. Then, from any
/// machine that reaches the same NATS: throng echo ws://10.0.0.7/ws --clients 1M --fleet nats://10.0.0.1:4222 --where
/// zone=a. An agent works for one run at a time, and loads only what --allow names. If it hears nothing from its
/// coordinator for 3 s, it drops all connections and is free again.
///
/// An agent with --role target installs, starts and stops the servers in its own folder of targets, for throng
/// shootout --target-agent NAME on another machine.
#[derive(Args)]
pub(crate) struct Agent {
    /// NATS: nats://HOST:4222 or nats://USER:PASSWORD@HOST:4222, or tls://…
    #[arg(long, value_name = "URL", value_parser = given::whole_url)]
    nats: Secret,
    /// What the agent does for the fleet
    #[arg(long, value_enum, default_value_t = Role::Load)]
    role: Role,
    /// The agent's name [default: host and process]
    #[arg(long, value_name = "NAME", value_parser = name)]
    name: Option<String>,
    /// A label to choose it by, e.g. zone=a
    #[arg(long = "label", value_name = "KEY=VALUE", value_parser = label)]
    labels: Vec<(String, String)>,
    /// Role load: servers that the agent may load, e.g. ws://10.0.0.0/8:*, wss://chat.example.com, *:9000 or
    /// unix:/run/chat.sock [default: none]
    #[arg(long, value_name = "SERVERS", value_delimiter = ',')]
    allow: Vec<Rule>,
    /// Obey only orders signed by this key: the public part that throng fleet new-key prints [default: obey
    /// whoever NATS admits]
    #[arg(long, value_name = "KEY")]
    agent_key: Option<AgentKey>,
    /// Worker threads [default: one per CPU, or per CPU of --pin]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=i64::from(WORKERS_MAX)))]
    threads: Option<u16>,
    /// Pin worker threads to these CPUs, e.g. 1-3
    #[arg(long, value_name = "CPUS")]
    pin: Option<String>,
    /// Role target: the address at which its servers listen [default: the one from which it reaches NATS]
    #[arg(long, value_name = "IP")]
    advertise: Option<Ipv4Addr>,
    /// Role target: the folder with the targets [default: targets, here or further up, else the installed one]
    #[arg(long, value_name = "DIR")]
    targets_dir: Option<PathBuf>,
    /// Role target: install what a shootout asks for [default: start only what is installed]
    #[arg(long)]
    allow_install: bool,
    #[command(flatten)]
    access: NatsArgs,
    /// Print nothing
    #[arg(short, long)]
    quiet: bool,
}

/// Roles of an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Role {
    /// Makes load
    Load,
    /// Runs servers
    Target,
}

impl Agent {
    /// Runs it until it is told to stop.
    pub(crate) fn run(self) -> Result<Exit, Failure> {
        let interrupts = interrupts::install()?;
        match self.role {
            Role::Load => self.load(&|| interrupts.count() > 0),
            Role::Target => self.host(&|| interrupts.count() > 0),
        }
    }

    fn load(self, is_interrupted: &dyn Fn() -> bool) -> Result<Exit, Failure> {
        let role_target = [
            ("--advertise", self.advertise.is_some()),
            ("--targets-dir", self.targets_dir.is_some()),
            ("--allow-install", self.allow_install),
        ];
        // Refused rather than ignored: their user has another role in mind.
        if let Some((flag, _)) = role_target.into_iter().find(|(_, given)| *given) {
            return Err(Failure::usage(flag, "only with --role target"));
        }
        let cpus = self.pin.as_deref().map(|list| processes::cpus_of_here("--pin", list)).transpose()?;
        let threads = match (self.threads, &cpus) {
            (Some(threads), _) => threads,
            (None, Some(cpus)) => processes::threads_on(cpus.len()),
            (None, None) => processes::threads_of_all_cpus()?,
        };
        let resources = AgentResources {
            threads,
            cpus: cpus.unwrap_or_default(),
            clients_per_process: u32::try_from(processes::clients_per_process(threads)?).unwrap_or(u32::MAX),
            policy: Policy { allowed: self.allow.clone() },
            child: &hidden::child,
        };
        fleet::serve(&self.options(is_interrupted, &self.say())?, &resources).map_err(could_not_join)?;
        Ok(Exit::Fine)
    }

    fn host(self, is_interrupted: &dyn Fn() -> bool) -> Result<Exit, Failure> {
        let load_flags = [("--threads", self.threads.is_some()), ("--pin", self.pin.is_some())];
        if !self.allow.is_empty() {
            let problem = "only with --role load; a target agent runs what is in its own folder of targets";
            return Err(Failure::usage("--allow", problem));
        }
        if let Some((flag, _)) = load_flags.into_iter().find(|(_, given)| *given) {
            return Err(Failure::usage(
                flag,
                "only with --role load; throng shootout --server-pin pins servers",
            ));
        }
        let catalog = Arc::new(targets::catalog(self.targets_dir.as_deref())?);
        let address = match self.advertise {
            Some(address) => address,
            None => route_to(&self.access.at("--nats", &self.nats)?)?,
        };
        let throng = targets::this_program()?;
        let (may_install, say) = (self.allow_install, self.say());
        if address.is_loopback() && self.advertise.is_none() {
            say(&format!("only this machine reaches {address}: for load from others, pass --advertise IP"));
        }
        let servers = |is_over| -> Box<dyn host::Host> {
            Box::new(Servers::new(Arc::clone(&catalog), throng.clone(), address, may_install, say, is_over))
        };
        let hello = HostHello { address, machine: machine() };
        host::serve(&self.options(is_interrupted, &say)?, hello, &servers).map_err(could_not_join)?;
        Ok(Exit::Fine)
    }

    fn options<'a>(
        &self,
        is_interrupted: &'a dyn Fn() -> bool,
        log: &'a dyn Fn(&str),
    ) -> Result<AgentOptions<'a>, Failure> {
        Ok(AgentOptions {
            nats: self.access.at("--nats", &self.nats)?,
            name: self.name.clone().unwrap_or_else(default_name),
            labels: self.labels.iter().cloned().collect(),
            key: self.agent_key.clone(),
            is_interrupted,
            log,
        })
    }

    fn say(&self) -> fn(&str) {
        if self.quiet { |_| {} } else { stderr::note }
    }
}

fn could_not_join(error: fleet::Error) -> Failure {
    let reason = variant(&error);
    Failure::could_not("join_fleet", "join the fleet", error).because(reason)
}

/// The address from which this machine reaches NATS; those that reach NATS most likely reach it as well.
fn route_to(nats: &Nats) -> Result<Ipv4Addr, Failure> {
    let find = || {
        let (host, port) = nats.host_and_port().map_err(std::io::Error::other)?;
        // Nothing is sent: a datagram socket that is connected has chosen its route.
        let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
        socket.connect((host.as_str(), port))?;
        socket.local_addr()
    };
    match find() {
        Ok(std::net::SocketAddr::V4(address)) => Ok(*address.ip()),
        Ok(_) => Err(Failure::usage(
            "--advertise",
            "NATS has no IPv4 address: name the address at which servers can be reached",
        )),
        Err(error) => Err(Failure::could_not(
            "find_route",
            "find the route to NATS; name an address by --advertise",
            error,
        )),
    }
}

/// Describes this machine, to compare servers on it with others.
fn machine() -> String {
    let Machine { cpu_model, cores, memory_bytes, kernel, .. } = Machine::read();
    let gib = memory_bytes as f64 / f64::from(1 << 30);
    let cpu = cpu_model.unwrap_or_else(|| "unknown CPU".to_owned());
    let text = format!("{cpu}, {cores} cores, {gib:.0} GiB, {kernel}");
    // Other machines print it, and part of it is whatever the hardware and the kernel call themselves.
    text.chars().filter(|c| stats::is_shown(*c)).take(200).collect()
}

/// Host and process; what a host's name may have and an agent's may not becomes a dash.
fn default_name() -> String {
    let host = net::machine::hostname().unwrap_or_else(|| "agent".into());
    let plain = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '-' };
    let host: String = host.chars().map(plain).take(48).collect();
    format!("{host}-{}", std::process::id())
}
