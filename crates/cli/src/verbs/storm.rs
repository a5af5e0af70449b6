//! `throng storm`: clients lose their connections and all come back.

use clap::Args;
use crew::Course;
use load::{Load, LoadRule, Workload};
use report::Words;
use results::{Scenario, units};
use wire::{Backoff, DialectId};

use crate::estimate::Estimate;
use crate::exit::{Exit, Failure};
use crate::flags::args::RunArgs;
use crate::flags::crowd;
use crate::plan::{self, PlanInputs};
use crate::processes;
use crate::request::{self, Request};
use crate::restarts::Restarts;
use crate::run;
use crate::stderr;
use crate::target;
use crate::verbs::steps;

/// A storm counts as over when 99% are back.
const PERCENTILE: f64 = 99.0;
/// How long to watch at least, unless told otherwise.
const DURATION_NS: u64 = 10_000_000_000;
/// The storm is watched for this many times the longest first wait: an attempt may fail, and the next one
/// takes its time.
const WAITS: u64 = 2;

/// Clients lose their connections: how long until all are back?
///
/// A share of the clients drop their connections at one moment and come back at once, within --window, or as
/// their protocol's own client would (Action Cable, Phoenix and Socket.IO each wait differently). Recovery
/// counts from the loss until the client is ready again, including failed attempts; its 99th percentile is
/// the time until 99% were back. The clients that stay send once every --interval. With --restart-command,
/// throng drops no connections: the command restarts servers, and clients come back when they can.
#[derive(Args)]
pub(crate) struct Storm {
    /// Clients
    #[arg(long, value_name = "N", default_value = "1000", value_parser = units::count, help_heading = "Load")]
    clients: u64,
    /// Share of the clients that drop their connections
    #[arg(long, value_name = "SHARE", default_value = "100%", value_parser = units::share, help_heading = "Load")]
    share: f64,
    /// Instead of dropping connections, run this in a shell; several run one after another (a rolling restart)
    #[arg(long = "restart-command", value_name = "COMMAND", conflicts_with = "share", help_heading = "Load")]
    restart_commands: Vec<String>,
    /// Spread the clients' return over this time [default: as their protocol's back-off says]
    #[arg(long, value_name = "TIME", value_parser = units::time_ns, help_heading = "Load")]
    window: Option<u64>,
    /// Time before the storm
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = units::time_ns, help_heading = "Load")]
    lead: u64,
    /// How long to watch, from the storm on [default: 10s, or twice --window or twice the longest time that
    /// the protocol's own client waits before it comes back, if that is longer: 24s for actioncable]
    #[arg(short, long, short_alias = 'z', value_name = "TIME", value_parser = units::time_ns, help_heading = "Load")]
    duration: Option<u64>,
    /// The clients that stay send one message in this time
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = units::time_ns, help_heading = "Load")]
    interval: u64,
    #[command(flatten)]
    run: RunArgs,
}

impl Storm {
    /// Runs it.
    pub(crate) fn run(self) -> Result<Exit, Failure> {
        let args = &self.run;
        // What can be refused is refused before a server is started or reached.
        self.course(false, self.backoff())?;
        let dialect = self.dialect();
        let target = target::of(args, self.clients)?;
        let server_pid = request::server_pid(args, &target)?;
        let restarts = Restarts::new(self.restart_commands.clone(), self.lead);
        let plan = plan::plan(&PlanInputs::of_echoes(args, &target, dialect, Some(self.clients)))?;
        let app = plan.client_spec.of_dialect.app.as_ref();
        // An app's file may have named another protocol than the flags.
        let facts = plan.client_spec.dialect.facts();
        let only_receives = facts.only_receives;
        let is_silent = only_receives || app.is_some_and(|app| app.echo.is_none());
        let restarts_servers = !self.restart_commands.is_empty();
        if is_silent && (self.share < 1.0 || restarts_servers) {
            let clients = if restarts_servers { "the clients" } else { "the clients that stay" };
            let why = if only_receives { "they only receive" } else { "the app's file has no [echo]" };
            stderr::note(&format!("{clients} say nothing: {why}"));
        }
        let request = Request {
            args,
            scenario: Scenario::Storm,
            course: self.course(is_silent, facts.backoff)?,
            plan,
            shape: processes::shape(args, self.clients, target.is_here(server_pid.as_ref()))?,
            stop: Vec::new(),
            percentile: PERCENTILE,
            words: Words::Own,
            server_pid,
            target,
        };
        run::run_restarting(request, restarts)
    }

    fn dialect(&self) -> &str {
        self.run.dialect.as_deref().unwrap_or("raw")
    }

    /// How the clients of the dialect that the flags name come back.
    fn backoff(&self) -> Backoff {
        DialectId::from_name(self.dialect()).map_or(Backoff::USUAL, |dialect| dialect.facts().backoff)
    }

    /// Long enough for all clients to come back.
    fn duration_ns(&self, backoff: Backoff) -> u64 {
        let wait_ns = self.window.unwrap_or_else(|| backoff.first_wait_ns_max());
        self.duration.unwrap_or_else(|| DURATION_NS.max(wait_ns.saturating_mul(WAITS)))
    }

    /// The course of one step. `is_silent`: the clients that stay send nothing.
    fn course(&self, is_silent: bool, backoff: Backoff) -> Result<Course, Failure> {
        let duration_ns = self.duration_ns(backoff);
        steps::positive("--duration", duration_ns)?;
        steps::positive("--interval", self.interval)?;
        if !(0.0..=1.0).contains(&self.share) {
            return Err(Failure::usage("--share", "from 0% to 100%"));
        }
        let clients = plan::clients("--clients", self.clients)?;
        // The restarting servers drop the connections, and not the clients.
        let share = if self.restart_commands.is_empty() { self.share } else { 0.0 };
        if self.restart_commands.is_empty() {
            crowd::check_share("--share", share, clients.into())?;
        }
        // At least one's: also if all leave, a schedule has a rate above 0.
        let stay = (f64::from(clients) * (1.0 - share)).max(1.0);
        let storm = load::Storm {
            rate_per_s: (!is_silent).then_some(stay * 1e9 / self.interval as f64),
            lead_ns: self.lead,
            duration_ns,
            share,
            window_ns: self.window,
        };
        Ok(Course::single(clients, LoadRule::Same(Load::Storm(storm))))
    }

    /// Estimates the duration.
    pub(crate) fn estimate(&self) -> Result<Estimate, Failure> {
        Ok(Estimate::new(self.course(false, self.backoff())?, Workload::Echo)
            .connecting(self.run.connect_rate))
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        storm: Storm,
    }

    fn duration_s(flags: &str) -> u64 {
        let words = ["storm", "ws://127.0.0.1:1/"].into_iter().chain(flags.split_whitespace());
        let storm = Line::parse_from(words).storm;
        storm.duration_ns(storm.backoff()) / 1_000_000_000
    }

    #[test]
    fn other_names_share_a_dialects_back_off() {
        let words = ["storm", "ws://127.0.0.1:1/", "--protocol", "socket.io"];
        assert_eq!(Line::parse_from(words).storm.dialect(), "socketio");
    }

    #[test]
    fn everybody_may_be_back_while_it_is_watched() {
        for (flags, expected_s) in [
            ("", 10),
            ("--protocol actioncable", 24),
            ("--protocol socketio", 10),
            ("--window 8s", 16),
            ("--protocol actioncable --window 1s", 10),
            ("--protocol actioncable -d 3s", 3),
        ] {
            assert_eq!(duration_s(flags), expected_s, "{flags}");
        }
        // An app's file may name the protocol.
        let storm = Line::parse_from(["storm", "ws://127.0.0.1:1/", "--app", "chat.toml"]).storm;
        assert_eq!(storm.duration_ns(DialectId::Actioncable.facts().backoff), 24_000_000_000);
    }
}
