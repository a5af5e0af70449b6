//! `throng saturate`: clients × rates until the server is overloaded.

use clap::Args;
use crew::{Course, Sweep, Warmup};
use load::{Load, LoadRule, Schedule, Workload};
use report::Words;
use results::{Scenario, units};

use crate::app_file::BroadcastArgs;
use crate::estimate::Estimate;
use crate::exit::{Exit, Failure};
use crate::flags::args::RunArgs;
use crate::flags::crowd::{self, TalkArgs};
use crate::plan::{self, PlanInputs};
use crate::processes;
use crate::request::{self, Request};
use crate::run;
use crate::target;
use crate::verbs::{broadcast, steps};

/// The levels of the SockJS test of 2011.
const LEVELS: &str = "25,50,100,200,500,1000,2000";
const PERCENTILE: f64 = 95.0;

/// Raise the rate at each number of clients until the server is overloaded
///
/// As in the SockJS and Socket.IO tests of 2011, every message goes to every client. The rate doubles until a
/// message takes over 5 s, the mean round trip exceeds 1.5 s, or a limit breaks that always holds (nothing is
/// lost, the rate is kept) or that --limit adds; then the gap is narrowed. For each number of clients, throng
/// gives the highest safe rate, the deliveries per second that it stands for, the rate at which the mean
/// reached 200 ms ("fatal"), and the knee of the curve.
#[derive(Args)]
pub(crate) struct Saturate {
    /// Numbers of clients
    #[arg(long, value_name = "N,N,…", default_value = LEVELS, value_delimiter = ',', value_parser = units::count, help_heading = "Load")]
    levels: Vec<u64>,
    /// The first rate at each level, in messages per second over all clients
    #[arg(long, value_name = "RATE", default_value = "10", value_parser = units::rate_per_s, help_heading = "Load")]
    first_rate: f64,
    /// The highest rate
    #[arg(long, value_name = "RATE", default_value = "1M", value_parser = units::rate_per_s, help_heading = "Load")]
    max_rate: f64,
    /// Steps between the highest safe rate and the lowest that overloads
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(..=20), help_heading = "Load")]
    refine: u32,
    /// How long to send at each rate
    #[arg(short, long, short_alias = 'z', value_name = "TIME", default_value = "5s", value_parser = units::time_ns, help_heading = "Load")]
    duration: u64,
    /// Send at the first rate this long before measuring: a server that compiles as it runs is slow at first
    #[arg(long, value_name = "TIME", value_parser = units::time_ns, help_heading = "Load")]
    warmup: Option<u64>,
    /// Send echoes, which come back only to their sender, instead of broadcasts
    #[arg(long, conflicts_with = "to", help_heading = "Load")]
    echo: bool,
    #[command(flatten)]
    talk: TalkArgs,
    #[command(flatten)]
    tells: BroadcastArgs,
    #[command(flatten)]
    run: RunArgs,
}

impl Saturate {
    /// Runs it.
    pub(crate) fn run(self) -> Result<Exit, Failure> {
        let args = &self.run;
        let course = self.course()?;
        let clients = self.levels.iter().max().copied().unwrap_or(0);
        let dialect = args.dialect.as_deref().unwrap_or("json");
        let workload = self.workload();
        if workload == Workload::Broadcast {
            broadcast::check(dialect)?;
        }
        let target = target::of(args, clients)?;
        let server_pid = request::server_pid(args, &target)?;
        let (says, clients_max) = (self.tells.clone(), Some(clients));
        let inputs = PlanInputs { args, says, target: &target, workload, dialect, clients_max };
        let plan = self.talk.of(plan::plan(&inputs)?)?;
        // The level with the fewest people has the fewest in each role.
        broadcast::check_roles(&plan.rooms, self.levels.iter().min().copied().unwrap_or(0))?;
        // Where nothing answers the sender there is no round trip: what is timed then is the way to the
        // others.
        let stop = overload(if crowd::is_unanswered(&plan) { "delivery" } else { "rtt" }).to_vec();
        run::run(Request {
            args,
            scenario: Scenario::Saturate,
            plan,
            shape: processes::shape(args, clients, target.is_here(server_pid.as_ref()))?,
            course,
            stop,
            percentile: PERCENTILE,
            words: Words::Own,
            server_pid,
            target,
        })
    }

    /// The steps that it takes.
    fn course(&self) -> Result<Course, Failure> {
        steps::positive("--duration", self.duration)?;
        if self.max_rate > 1e9 {
            return Err(Failure::usage("--max-rate", "at most 1G messages per second"));
        }
        if !(self.first_rate > 0.0 && self.first_rate <= self.max_rate) {
            return Err(Failure::usage("--first-rate", "above 0, and not above --max-rate"));
        }
        let mut levels: Vec<u32> = self
            .levels
            .iter()
            .map(|&clients| plan::clients("--levels", clients))
            .collect::<Result<_, _>>()?;
        levels.sort_unstable();
        levels.dedup();
        let warmup = self.warmup.filter(|&ns| ns > 0).zip(levels.first()).map(|(duration_ns, &clients)| {
            let load = Load::Open { schedule: Schedule::constant(self.first_rate), duration_ns };
            Warmup { clients, rule: LoadRule::Same(load) }
        });
        let sweep = Sweep::new(levels, self.first_rate, self.max_rate, self.refine);
        Ok(Course::sweep(sweep, self.duration).with_warmup(warmup))
    }

    /// Estimates the duration.
    pub(crate) fn estimate(&self) -> Result<Estimate, Failure> {
        let rooms = plan::rooms(&self.run, self.levels.iter().max().copied())?;
        let estimate = Estimate::new(self.course()?, self.workload()).in_rooms(rooms);
        Ok(estimate.connecting(self.run.connect_rate))
    }

    fn workload(&self) -> Workload {
        if self.echo { Workload::Echo } else { Workload::Broadcast }
    }
}

/// Overload, by the same test: a message over 5 s, a dropped connection, or a mean over 1.5 s.
fn overload(timed: &str) -> [String; 3] {
    [format!("{timed}.max<=5s"), "disconnects==0".into(), format!("{timed}.mean<=1.5s")]
}
