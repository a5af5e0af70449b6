//! `throng echo`: every message comes back to its sender.

use std::num::NonZeroU32;

use clap::Args;
use crew::Course;
use load::{LoadRule, Workload};
use results::{Scenario, units};

use crate::app_file::SayArgs;
use crate::estimate::Estimate;
use crate::exit::{Exit, Failure};
use crate::flags::args::RunArgs;
use crate::plan::{self, PlanInputs};
use crate::processes;
use crate::request::{self, Request};
use crate::run;
use crate::target;
use crate::verbs::steps::{self, StepArgs};

/// Clients when nothing is said.
const CLIENTS: u64 = 1_000;
/// wsdemo's pace: a message each second.
const INTERVAL_NS: u64 = 1_000_000_000;
const DURATION_NS: u64 = 10_000_000_000;
/// More on one connection is a queue, and no load.
const PIPELINING_MAX: i64 = 1024;
/// websocket-bench's defaults for echo.
const SEED: steps::Defaults = steps::Defaults { concurrent: 50, sample_size: 10_000 };

/// Each client sends messages and the server sends them back: latency, losses
///
/// Open model (as in wsdemo): each client sends one message every --interval, whatever the server does, and
/// latency counts from when a message was due. Closed model, with -c: that many messages are under way at once, of
/// as many clients. With -s (as in websocket-bench), or with -c and --limit-rtt or --limit-percentile, each step adds
/// --step-size clients until --limit-rtt is exceeded.
#[derive(Args)]
pub(crate) struct Echo {
    #[command(flatten)]
    steps: StepArgs,
    /// Each client sends one message in this time [default: 1s]
    #[arg(long, value_name = "TIME", value_parser = units::time_ns, conflicts_with_all = ["rate", "concurrent", "sample_size"], help_heading = "Load")]
    interval: Option<u64>,
    /// Messages under way of each client, for --duration or until --sample-size are answered: an answer makes room
    /// for the next (closed model). Those due together go out in one write
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=PIPELINING_MAX), conflicts_with_all = ["rate", "interval"], help_heading = "Load")]
    pipelining: Option<u32>,
    /// Each client ends its connection after this many answers, and connects again at once
    #[arg(long, value_name = "N", conflicts_with = "churn", help_heading = "Load")]
    messages_per_connection: Option<NonZeroU32>,
    #[command(flatten)]
    says: SayArgs,
    #[command(flatten)]
    run: RunArgs,
}

impl Echo {
    /// Takes these flags, and leaves all others at their defaults.
    pub(crate) fn of(run: RunArgs, steps: StepArgs) -> Self {
        Self {
            run,
            says: SayArgs::default(),
            steps,
            interval: None,
            pipelining: None,
            messages_per_connection: None,
        }
    }

    /// Runs it.
    pub(crate) fn run(self) -> Result<Exit, Failure> {
        let Self { run: args, says, steps, .. } = &self;
        let stepping = self.stepping()?;
        steps.check_search(&args.fleet)?;
        let course = self.course()?;
        let dialect = args.dialect.as_deref().unwrap_or(if self.is_closed() { "json" } else { "raw" });
        let clients_max = stepping.clients_max(steps, self.clients())?;
        let clients = stepping.clients_known(steps, self.clients())?;
        let target = target::of(args, clients)?;
        let server_pid = request::server_pid(args, &target)?;
        let mut plan = plan::plan(&PlanInputs {
            says: says.clone().into(),
            ..PlanInputs::of_echoes(args, &target, dialect, clients_max)
        })?;
        plan.churn = steps.churn;
        plan.messages_per_connection = self.messages_per_connection;
        run::run(Request {
            args,
            scenario: Scenario::Echo,
            plan,
            shape: processes::shape(args, clients, target.is_here(server_pid.as_ref()))?,
            course,
            // No further step is left that this limit could spare.
            stop: if stepping.is_walk() || steps.search { vec![steps::stop(steps)] } else { Vec::new() },
            percentile: steps.limit_percentile(),
            words: steps.words(),
            server_pid,
            target,
        })
    }

    /// The steps that it takes.
    fn course(&self) -> Result<Course, Failure> {
        let stepping = self.stepping()?;
        // In a walk without a pace, websocket-bench's closed loop is what its users expect.
        let paces_itself = stepping.is_walk() && self.steps.rate.is_none() && self.interval.is_none();
        let is_closed = self.is_closed() || paces_itself;
        let rule = if is_closed { self.closed(&stepping)? } else { self.open()? };
        let warmup = stepping.warmup(&self.steps, self.clients(), rule)?;
        Ok(stepping.course(&self.steps, self.clients(), rule, 1)?.with_warmup(warmup))
    }

    /// Estimates the duration.
    pub(crate) fn estimate(&self) -> Result<Estimate, Failure> {
        let estimate = Estimate::new(self.course()?, Workload::Echo);
        Ok(estimate.connecting(self.run.connect_rate).up_to(self.steps.limit_rtt_ns()))
    }

    fn stepping(&self) -> Result<steps::Steps, Failure> {
        steps::Steps::of(&self.steps, steps::Steps::Single)
    }

    /// Clients when their number is not given: in a closed loop, one for each message under way.
    fn clients(&self) -> u64 {
        self.steps.concurrent.unwrap_or(CLIENTS)
    }

    fn is_closed(&self) -> bool {
        self.steps.concurrent.is_some() || self.steps.sample_size.is_some() || self.pipelining.is_some()
    }

    /// The closed loop: as many under way as -c says, or as the clients have room for.
    fn closed(&self, stepping: &steps::Steps) -> Result<LoadRule, Failure> {
        let Some(per_client) = self.pipelining else { return steps::closed(&self.steps, &SEED, 1) };
        let clients = match stepping {
            steps::Steps::Single => self.steps.clients.unwrap_or(self.clients()),
            // Not read: -c says how many.
            _ if self.steps.concurrent.is_some() => 0,
            _ => {
                let problem = "the number of clients changes from step to step: say with -c how many are under way over all";
                return Err(Failure::usage("--pipelining", problem));
            }
        };
        let mut steps = self.steps.clone();
        if steps.concurrent.is_none() {
            let room = clients.saturating_mul(per_client.into());
            steps.concurrent = Some(plan::under_way("--pipelining", room)?.into());
        }
        steps.duration = steps.duration.or(steps.sample_size.is_none().then_some(DURATION_NS));
        steps::closed(&steps, &SEED, per_client)
    }

    fn open(&self) -> Result<LoadRule, Failure> {
        if let Some(rates) = self.steps.rate {
            return steps::rate(rates, self.steps.duration, DURATION_NS);
        }
        steps::of_each(self.interval.unwrap_or(INTERVAL_NS), self.steps.duration, DURATION_NS)
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        echo: Echo,
    }

    #[test]
    fn messages_under_way_bring_their_clients() {
        let clients = |flags: &str| {
            let words = ["echo", "ws://127.0.0.1:1/"].into_iter().chain(flags.split(' '));
            let echo = Line::parse_from(words).echo;
            echo.stepping().unwrap().clients_max(&echo.steps, echo.clients()).unwrap()
        };
        assert_eq!(clients("-c 50"), Some(50));
        assert_eq!(clients("-c 50 --clients 200"), Some(200));
        assert_eq!(clients("-d 1s"), Some(1_000));
        assert_eq!(clients("-c 50 -s 100"), None, "it goes up");
    }

    #[test]
    fn too_much_under_way_names_its_flag() {
        for (flags, flag) in [
            ("-c 5G", "--concurrent"),
            ("-c 0", "--concurrent"),
            ("--clients 5M --pipelining 1024", "--pipelining"),
        ] {
            let words = ["echo", "ws://127.0.0.1:1/"].into_iter().chain(flags.split(' '));
            let Err(failure) = Line::parse_from(words).echo.course() else { panic!("{flags}: too much") };
            assert_eq!(failure.flag(), Some(flag), "{failure}");
        }
    }
}
