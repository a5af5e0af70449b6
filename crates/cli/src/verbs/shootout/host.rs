//! The machines of a shootout's servers and load: this machine, or others.

use std::path::Path;
use std::time::Duration;

use fleet::host::{self, Remote};
use fleet::{FleetKey, Nats};
use suite::{Place, Server, Stage, StageFailure, Target, Tools};

use crate::exit::{Failure, variant};
use crate::flags::fleet_args::FleetArgs;

/// The machine that runs servers.
pub(super) struct Host {
    /// `None`: here.
    agent: Option<Agent>,
    /// Flags of each measurement for it and for the fleet.
    words: Vec<String>,
}

/// A target agent.
struct Agent {
    nats: Nats,
    key: Option<FleetKey>,
    remote: Remote,
}

/// A server that runs.
pub(super) struct Running<'a> {
    process: Process<'a>,
    words: Vec<String>,
}

enum Process<'a> {
    Here(Box<Server>),
    There(&'a Remote, Place),
}

impl Host {
    /// The target agent of the flags, claimed for as long as this lives; without one, this machine.
    pub(super) fn of(args: &FleetArgs, is_interrupted: &dyn Fn() -> bool) -> Result<Self, Failure> {
        let claim = |(name, nats): (&str, Nats)| {
            let remote = Remote::claim(&nats, name, args.wait(), args.key(), is_interrupted);
            let remote = remote.map_err(|error| match is_interrupted() {
                true => Failure::interrupted(),
                false => {
                    let (reason, what) = (variant(&error), format!("have {name} run the servers"));
                    Failure::could_not("run_servers", what, error).because(reason)
                }
            })?;
            Ok(Agent { nats, key: args.key().cloned(), remote })
        };
        Ok(Self { agent: args.host()?.map(claim).transpose()?, words: args.words() })
    }

    /// Returns whether servers run on another machine.
    pub(super) fn is_elsewhere(&self) -> bool {
        self.agent.is_some()
    }

    /// Describes that machine.
    pub(super) fn facts(&self) -> Option<(String, String)> {
        let remote = &self.agent.as_ref()?.remote;
        let facts = format!("{} at {}: {}", remote.name, remote.address(), remote.host.machine);
        Some(("servers on".to_owned(), facts))
    }

    /// The target's version, once it is installed, if that is allowed, built and checked on the other
    /// machine.
    pub(super) fn prepare(
        &self,
        target: &Target,
        may_install: bool,
        tools: &Tools<'_>,
    ) -> Result<String, StageFailure> {
        let agent = self.agent.as_ref().expect("servers run on another machine");
        agent.remote.prepare(target.common_name(), may_install, tools.is_interrupted).map_err(trouble)
    }

    /// Starts a server and waits until it is ready. An agent that was lost is looked for anew.
    pub(super) fn start(
        &mut self,
        target: &Target,
        log: &Path,
        cpus: &[usize],
        tools: &Tools<'_>,
    ) -> Result<Running<'_>, StageFailure> {
        let words = self.words.clone();
        let Some(agent) = &mut self.agent else {
            let server = Server::start(target, Some(log), cpus, tools)?;
            return Ok(Running { process: Process::Here(Box::new(server)), words });
        };
        if let Some(lost) = agent.remote.lost() {
            let (name, key) = (&agent.remote.name, agent.key.as_ref());
            let again = Remote::claim(&agent.nats, name, Duration::ZERO, key, tools.is_interrupted);
            agent.remote = again.map_err(|why| StageFailure::new(Stage::Load, format!("{lost}; {why}")))?;
        }
        let running =
            agent.remote.start(target.common_name(), cpus, tools.is_interrupted).map_err(trouble)?;
        let place = Place::elsewhere(running.address, running.port, running.admin_port);
        Ok(Running { process: Process::There(&agent.remote, place), words })
    }
}

impl Running<'_> {
    /// The address and ports of its server.
    pub(super) fn place(&self) -> &Place {
        match &self.process {
            Process::Here(server) => server.place(),
            Process::There(_, place) => place,
        }
    }

    /// The flags by which a measurement sees what the server uses.
    pub(super) fn words(&self) -> Vec<String> {
        let mut words = self.words.clone();
        if let Process::Here(server) = &self.process {
            words.extend(["--server-pid".to_owned(), server.pid().to_string()]);
        }
        words
    }

    /// How it died, or its agent was lost, if either happened.
    pub(super) fn poll_end(&mut self) -> Option<StageFailure> {
        let death = match &mut self.process {
            Process::Here(server) => server.poll_death(),
            Process::There(remote, _) => match remote.lost() {
                Some(lost) => return Some(StageFailure::new(Stage::Load, lost)),
                None => remote.poll_death(),
            },
        };
        death.map(|death| StageFailure::new(Stage::Measure, death))
    }

    /// Ends the server. Fails if it had died, or its agent was lost: the measurement is not of this server
    /// then.
    pub(super) fn stop(self) -> Result<(), StageFailure> {
        let death = match self.process {
            Process::Here(server) => server.finish(),
            Process::There(remote, _) => {
                remote.stop().map_err(trouble)?;
                // Its agent says so before it answers.
                remote.poll_death()
            }
        };
        death.map_or(Ok(()), |death| Err(StageFailure::new(Stage::Measure, death)))
    }
}

/// Converts an error of a target agent to the suite's.
fn trouble(said: host::StageFailure) -> StageFailure {
    StageFailure::new(Stage::from_name(&said.stage).unwrap_or(Stage::Start), said.reason)
}
