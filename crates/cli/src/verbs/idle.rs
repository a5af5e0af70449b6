//! `throng idle`: connections that do nothing.

use clap::Args;
use crew::Course;
use load::{Load, LoadRule, Workload};
use report::Words;
use results::{Scenario, units};
use wire::DialectId;

use crate::app_file;
use crate::estimate::Estimate;
use crate::exit::{Exit, Failure};
use crate::flags::args::RunArgs;
use crate::plan::{self, PlanInputs};
use crate::processes;
use crate::request::{self, Request};
use crate::run;
use crate::target;
use crate::verbs::steps;

/// The idle test of the AnyCable comparison of 2018: 20,000 clients at 200 a second.
const CLIENTS: &str = "20000";
const CONNECT_RATE_PER_S: f64 = 200.0;
const PERCENTILE: f64 = 95.0;

/// Clients connect and do nothing: memory for each, and are any lost?
///
/// A million clients on one machine: throng idle --clients 1M --connect-rate 50k --echo --duration 60s
///
/// throng samples the server's memory while the clients connect; the cost of a connection is the slope of a
/// line through the samples, with its standard error. The server must run on this machine and be freshly
/// started: one that has had as many connections before reuses their memory, and then the cost is not given.
#[derive(Args)]
#[command(mut_arg("connect_rate", |arg| arg.help("New connections per second [default: 200]")))]
pub(crate) struct Idle {
    /// Clients
    #[arg(long, value_name = "N", default_value = CLIENTS, value_parser = units::count, help_heading = "Load")]
    clients: u64,
    /// How long to hold the connections
    #[arg(short, long, short_alias = 'z', value_name = "TIME", default_value = "10s", value_parser = units::time_ns, help_heading = "Load")]
    duration: u64,
    /// Each client sends one message in that time, and should get it back
    #[arg(long, help_heading = "Load")]
    echo: bool,
    #[command(flatten)]
    run: RunArgs,
}

impl Idle {
    /// Opens this many connections for this long.
    pub(crate) fn of(run: RunArgs, clients: u64, duration_ns: u64) -> Self {
        Self { run, clients, duration: duration_ns, echo: false }
    }

    /// Runs it.
    pub(crate) fn run(mut self) -> Result<Exit, Failure> {
        self.run.connect_rate.get_or_insert(CONNECT_RATE_PER_S);
        let args = &self.run;
        let course = self.course()?;
        let dialect = args.dialect.as_deref().unwrap_or("raw");
        if self.echo {
            DialectId::from_name(dialect).map_or(Ok(()), app_file::check_speaks)?;
        }
        let target = target::of(args, self.clients)?;
        let server_pid = request::server_pid(args, &target)?;
        run::run(Request {
            args,
            scenario: Scenario::Idle,
            plan: plan::plan(&PlanInputs::of_echoes(args, &target, dialect, Some(self.clients)))?,
            shape: processes::shape(args, self.clients, target.is_here(server_pid.as_ref()))?,
            course,
            stop: Vec::new(),
            percentile: PERCENTILE,
            words: Words::Own,
            server_pid,
            target,
        })
    }

    /// The one step that it takes.
    fn course(&self) -> Result<Course, Failure> {
        steps::positive("--duration", self.duration)?;
        let rule = if self.echo {
            // One interval long: each client's message is due once.
            LoadRule::EachClient { interval_ns: self.duration, duration_ns: self.duration }
        } else {
            LoadRule::Same(Load::Hold { duration_ns: self.duration })
        };
        Ok(Course::single(plan::clients("--clients", self.clients)?, rule))
    }

    /// Estimates the duration.
    pub(crate) fn estimate(&self) -> Result<Estimate, Failure> {
        let connect_rate = self.run.connect_rate.unwrap_or(CONNECT_RATE_PER_S);
        Ok(Estimate::new(self.course()?, Workload::Echo).connecting(Some(connect_rate)))
    }
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, Parser};

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        _idle: Idle,
    }

    #[test]
    fn help_names_the_rate_that_is_taken() {
        let help = Line::command().render_long_help().to_string();
        assert!(help.contains(&format!("connections per second [default: {CONNECT_RATE_PER_S}]")), "{help}");
    }
}
