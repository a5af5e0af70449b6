//! A verb's request.

use crew::{Course, Shape};
use jiff::Timestamp;
use load::Plan;
use net::machine::Machine;
use net::proc::Service;
use report::Words;
use results::limit::Limit;
use results::{Environment, Run, Scenario};

use crate::exit::Failure;
use crate::flags::args::RunArgs;
use crate::flags::limits;
use crate::inputs;
use crate::screen;
use crate::secrets;
use crate::target::Target;

/// Everything a run needs to know.
pub(crate) struct Request<'a> {
    /// The flags, for what concerns output and limits.
    pub(crate) args: &'a RunArgs,
    /// The verb.
    pub(crate) scenario: Scenario,
    /// The server of the run.
    pub(crate) target: Target,
    /// The workers' plan.
    pub(crate) plan: Plan,
    /// Processes and threads.
    pub(crate) shape: Shape,
    /// The levels of load.
    pub(crate) course: Course,
    /// Limits that end the course, or the level, but are no failure.
    pub(crate) stop: Vec<String>,
    /// The percentile that websocket-bench's line has.
    pub(crate) percentile: f64,
    /// The wording of the output, if --format does not say.
    pub(crate) words: Words,
    /// The server's processes, if it runs here and they can be seen.
    pub(crate) server_pid: Option<Service>,
}

/// The limits of a run.
pub(crate) struct Limits {
    /// The user's: a step that breaks one fails.
    pub(crate) asked: Vec<Limit>,
    /// Limits that end the course, or the level, but are no failure.
    pub(crate) stop: Vec<Limit>,
}

impl Request<'_> {
    /// The limits, before any client connects; whether there can be a screen is also known then.
    pub(crate) fn limits(&self) -> Result<Limits, Failure> {
        // Before anything is begun: without a terminal, the run would have to end in its midst.
        if self.args.tui {
            screen::check()?;
        }
        let parse = |flag: &'static str, texts: &[String]| -> Result<Vec<Limit>, Failure> {
            let limits = texts.iter().map(|text| limits::of_plan(text, self.scenario, &self.plan));
            limits.collect::<Result<_, _>>().map_err(|problem| Failure::usage(flag, problem))
        };
        let asked = parse("--limit", &self.args.limits)?;
        self.check_reachable(&asked)?;
        Ok(Limits { asked, stop: parse("--limit-rtt", &self.stop)? })
    }

    /// A rate that no step asks for is reached by no server.
    fn check_reachable(&self, limits: &[Limit]) -> Result<(), Failure> {
        let Some(per_s) = self.course.asked_per_s_max() else { return Ok(()) };
        // Schedules are whole messages.
        let is_out_of_reach =
            |limit: &&Limit| limit.rate_per_s_min().is_some_and(|least| least > 1.01 * per_s);
        let Some(limit) = limits.iter().find(is_out_of_reach) else { return Ok(()) };
        let asked = results::format::rate(per_s, "");
        let problem =
            format!("{limit} cannot be reached: {asked} are asked for. Raise --rate, or lower the limit");
        Err(Failure::usage("--limit", problem))
    }

    /// The run before its first step.
    pub(crate) fn blank_run(&self) -> Run {
        let Request { args, scenario, target, plan, server_pid, .. } = self;
        let started_unix_ns = Timestamp::now().as_nanosecond().try_into().unwrap_or(0);
        Run {
            id: results::file::run_id(started_unix_ns, fastrand::u64(..)),
            name: args.name.clone(),
            note: args.note.clone(),
            started_unix_ns,
            throng: env!("CARGO_PKG_VERSION").into(),
            command: secrets::own_command(),
            scenario: *scenario,
            is_search: self.course.is_search(),
            dialect: plan.client_spec.dialect_name(),
            seed: Some(plan.seed),
            target: results::Target {
                name: target.name.clone(),
                url: secrets::url(&target.url),
                version: None,
            },
            environment: environment(args, target.is_here(server_pid.as_ref())),
            inputs: inputs::digests(),
            resume_after: Some(0),
            ..Run::default()
        }
    }
}

/// The machine, as a run keeps it.
pub(crate) fn environment(args: &RunArgs, same_host: bool) -> Environment {
    let machine = Machine::read();
    Environment {
        cpu: machine.cpu_model,
        cores: Some(machine.cores as u32),
        memory_bytes: Some(machine.memory_bytes),
        kernel: Some(machine.kernel),
        os: machine.os,
        fd_limit: Some(machine.fd_limit_soft),
        generator_cpus: args.pin.clone(),
        same_host: Some(same_host),
        ..Environment::default()
    }
}

/// Finds the server's processes: as told, or by the address they listen at.
pub(crate) fn server_pid(args: &RunArgs, target: &Target) -> Result<Option<Service>, Failure> {
    match args.server_pid {
        Some(pid) if net::affinity::cpus_of(pid) == 0 => {
            Err(Failure::usage("--server-pid", format!("there is no process {pid}")))
        }
        Some(pid) => Ok(Some(Service::of(pid))),
        None if target.built_in_pid().is_some() => Ok(target.built_in_pid().map(Service::of)),
        None => Ok(Service::listening_on(target.addrs()).ok().flatten()),
    }
}
