//! `throng broadcast`: every message goes to every client, or to the clients of its sender's room.

use app::people::Division;
use clap::Args;
use crew::Course;
use load::{Plan, Rooms, Slow, Workload};
use results::{Scenario, units};

use crate::app_file::{BroadcastArgs, ClientsMax};
use crate::estimate::Estimate;
use crate::exit::{Exit, Failure};
use crate::flags::args::RunArgs;
use crate::flags::crowd::{self, TalkArgs};
use crate::flags::flap::FlapArgs;
use crate::plan::{self, PlanInputs};
use crate::processes;
use crate::request::{self, Request};
use crate::run;
use crate::verbs::steps::{self, StepArgs};
use crate::{app_file, people, target};

const DURATION_NS: u64 = 10_000_000_000;
/// websocket-bench's defaults, except its 20 samples: the 95th percentile, which is what is limited, needs
/// 200 (METHODOLOGY "Quantiles").
const SEED: steps::Defaults = steps::Defaults { concurrent: 4, sample_size: 200 };

/// Each message goes to every client: how many clients within a limit?
///
/// As in websocket-bench: --concurrent broadcasts are under way at once, --sample-size of them in a step, and each step
/// adds --step-size clients until the --limit-percentile of the round-trip time exceeds --limit-rtt. In addition to the
/// round trip (the acknowledgement to the sender), throng times the delivery at every receiver, and accounts for every
/// copy. --search finds the number of clients at which the limits break, with its confidence interval.
#[derive(Args)]
pub(crate) struct Broadcast {
    #[command(flatten)]
    steps: StepArgs,
    #[command(flatten)]
    talk: TalkArgs,
    #[command(flatten)]
    flap: FlapArgs,
    /// Let a share of the clients read no faster than this, e.g. 10%:1KiB/s; they do not send, and nothing is
    /// due to them
    #[arg(long, value_name = "SHARE:SIZE/s", value_parser = crowd::slow, help_heading = "Load")]
    slow: Option<Slow>,
    /// As many messages as if each client sent one in this time, e.g. 50ms: the rate grows with the clients
    #[arg(long, value_name = "TIME", value_parser = units::time_ns, help_heading = "Load")]
    #[arg(conflicts_with_all = ["rate", "concurrent", "sample_size"])]
    interval: Option<u64>,
    #[command(flatten)]
    tells: BroadcastArgs,
    #[command(flatten)]
    run: RunArgs,
}

impl Broadcast {
    /// Takes these flags, and leaves all others at their defaults.
    pub(crate) fn of(
        run: RunArgs,
        tells: BroadcastArgs,
        steps: StepArgs,
        talk: TalkArgs,
        flap: FlapArgs,
    ) -> Self {
        Self { run, tells, steps, talk, flap, slow: None, interval: None }
    }

    /// Sets the interval at which each client sends a message.
    pub(crate) fn at_interval(self, interval: Option<u64>) -> Self {
        Self { interval, ..self }
    }

    /// Runs it.
    pub(crate) fn run(self) -> Result<Exit, Failure> {
        let Self { run: args, tells, steps, talk, flap, slow, .. } = &self;
        let interval = self.interval()?;
        let dialect = args.dialect.as_deref().unwrap_or("json");
        check(dialect)?;
        let flap = &plan::flapping(args, flap)?;
        let stepping = self.stepping()?;
        steps.check_search(&args.fleet)?;
        let clients_max = stepping.clients_max(steps, 0)?;
        let connections = stepping.clients_known(steps, 0)?.saturating_mul(flap.links());
        let target = target::of(args, connections)?;
        let server_pid = request::server_pid(args, &target)?;
        let plan = talk.of(plan::plan(&PlanInputs {
            args,
            says: tells.clone(),
            target: &target,
            workload: Workload::Broadcast,
            dialect,
            clients_max,
        })?)?;
        let plan = flap.of(Plan { churn: steps.churn, slow: *slow, ..plan })?;
        self.check_slow()?;
        check_roles(&plan.rooms, stepping.clients_min(steps, 0)?)?;
        // A schedule goes on without answers.
        if steps.rate.is_none() && interval.is_none() {
            check_answered(&plan)?;
        }
        run::run(Request {
            args,
            scenario: Scenario::Broadcast,
            plan,
            shape: processes::shape(args, connections, target.is_here(server_pid.as_ref()))?,
            course: self.course(interval)?,
            // No further step is left that this limit could spare.
            stop: if matches!(stepping, steps::Steps::Single) {
                Vec::new()
            } else {
                vec![steps::stop(steps)]
            },
            percentile: steps.limit_percentile(),
            words: steps.words(),
            server_pid,
            target,
        })
    }

    /// The time between two messages of each client, as the flag or the roles of the app's file say.
    fn interval(&self) -> Result<Option<u64>, Failure> {
        match &self.run.app {
            Some(file) if self.interval.is_none() && !self.steps.says_how_often() => {
                // How often each client sends does not depend on its room's members.
                let people = people::of_flags(&self.run.people_args, Division::ONE)?;
                Ok(app_file::read(file, people, ClientsMax::Unasked)?.defaults.interval_ns)
            }
            _ => Ok(self.interval),
        }
    }

    /// The steps that it takes.
    fn course(&self, interval: Option<u64>) -> Result<Course, Failure> {
        let steps = &self.steps;
        let rule = match (steps.rate, interval) {
            (Some(rates), _) => steps::rate(rates, steps.duration, DURATION_NS)?,
            (None, Some(interval_ns)) => steps::of_each(interval_ns, steps.duration, DURATION_NS)?,
            (None, None) => steps::closed(steps, &SEED, 1)?,
        };
        let stepping = self.stepping()?;
        let unit = self.run.people_args.clients_of_room();
        Ok(stepping.course(steps, 0, rule, unit)?.with_warmup(stepping.warmup(steps, 0, rule)?))
    }

    /// Estimates the duration.
    pub(crate) fn estimate(&self) -> Result<Estimate, Failure> {
        let rooms = plan::rooms(&self.run, self.stepping()?.clients_max(&self.steps, 0)?)?;
        let estimate = Estimate::new(self.course(self.interval()?)?, Workload::Broadcast).in_rooms(rooms);
        Ok(estimate.connecting(self.run.connect_rate).up_to(self.steps.limit_rtt_ns()))
    }

    fn stepping(&self) -> Result<steps::Steps, Failure> {
        steps::Steps::of(&self.steps, steps::Steps::Walk)
    }

    /// Refuses a share of slow clients that is no client, even only in the smallest step.
    fn check_slow(&self) -> Result<(), Failure> {
        let Some(slow) = self.slow else { return Ok(()) };
        if self.run.streams > 1 {
            let problem =
                "a connection that clients share with --streams reads for all of them: leave it out";
            return Err(Failure::usage("--slow", problem));
        }
        // The run would say that slow readers do no harm, with none there.
        crowd::check_share("--slow", slow.share, self.stepping()?.clients_min(&self.steps, 0)?)
    }
}

/// Refuses a role that sends messages but has no client, even only in the smallest step.
pub(crate) fn check_roles(rooms: &Rooms, people: u64) -> Result<(), Failure> {
    let role_assignment = rooms.role_assignment();
    for (place, role) in rooms.roles().iter().enumerate().filter(|(_, role)| role.weight() > 0) {
        // The first client with this role: with fewer clients, none has it.
        let first =
            (0..).find(|&number| role_assignment.role(number) == place).expect("each role has a place");
        if u64::from(first) >= people {
            let whole: u32 = rooms.roles().iter().map(|role| role.share).sum();
            let percent = 100.0 * f64::from(role.share) / f64::from(whole);
            let problem = format!(
                "{percent}% of {people} clients is less than one client; ask for {} clients or more",
                first + 1
            );
            return Err(Failure::usage(&format!("role {}", role.name), problem));
        }
    }
    Ok(())
}

/// Refuses senders without an answer, which a closed loop waits for.
fn check_answered(plan: &Plan) -> Result<(), Failure> {
    let Some(say) = crowd::unanswered(plan).first().copied() else { return Ok(()) };
    let flag = if say.name.is_empty() { "--to others".into() } else { format!("[say.{}] to", say.name) };
    let problem = "nothing answers the sender, and without --rate the next message waits for an answer: add --rate 10, or say \
                   what acknowledges a message (--ack, or `ack` in the app's file)";
    Err(Failure::usage(&flag, problem))
}

/// Refuses a dialect without broadcasts; one that does not exist is told apart later.
pub(crate) fn check(dialect: &str) -> Result<(), Failure> {
    if wire::DialectId::from_name(dialect).is_none_or(wire::DialectId::can_broadcast) {
        return Ok(());
    }
    let able: Vec<&str> = wire::DialectId::named().filter(|d| d.can_broadcast()).map(|d| d.name()).collect();
    Err(Failure::usage("--protocol", format!("{dialect} has no broadcast; {} have", able.join(", "))))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        broadcast: Broadcast,
    }

    #[test]
    fn slow_readers_are_in_the_smallest_step() {
        for (flags, is_taken) in [
            ("--slow 0.05%:1KiB/s --search", false),
            ("--slow 0.1%:1KiB/s --search", true),
            ("--slow 0.01%:1KiB/s", false),
            ("--slow 0.05%:1KiB/s", true),
        ] {
            let words = ["broadcast", "ws://127.0.0.1:1/"].into_iter().chain(flags.split(' '));
            let checked = Line::parse_from(words).broadcast.check_slow();
            assert_eq!(checked.is_ok(), is_taken, "{flags}");
            assert!(checked.err().is_none_or(|failure| failure.flag() == Some("--slow")), "{flags}");
        }
    }
}
