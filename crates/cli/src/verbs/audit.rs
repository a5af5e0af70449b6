//! `throng audit`: does it arrive when clients drop?

use clap::{Arg, Args, ValueEnum};

use crate::app_file::BroadcastArgs;
use crate::exit::{Exit, Failure};
use crate::flags::args::RunArgs;
use crate::flags::crowd::TalkArgs;
use crate::flags::flap::FlapArgs;
use crate::flags::rates;
use crate::plan;
use crate::verbs::broadcast::Broadcast;
use crate::verbs::steps::StepArgs;

/// Clients and load when nothing is said of them: in a minute, each of a hundred is away three or four times.
const CLIENTS: u64 = 100;
const RATE: &str = "20";
const DURATION_NS: u64 = 60_000_000_000;

/// Which messages arrive when clients lose their connections? (throng docs audit)
///
/// 100 clients send 20 broadcasts a second for a minute, and each loses its connection every 10 to 20 seconds
/// (--flap): by a close, a reset or silence, by chance. It comes back after 2 seconds, and goes on with its
/// session as its protocol can. Every copy is accounted for: to clients that were connected when it was
/// sent, and to those that were away.
#[derive(Args)]
#[command(
    mut_args(without_steps),
    mut_arg("clients", |flag| flag.help("Clients, all connected before the load begins [default: 100]")),
    mut_arg("rate", |flag| flag.help("Messages per second over all clients; 10..50/60s is a ramp [default: 20]")),
    mut_arg("duration", |flag| flag.help("How long to send [default: 60s, or as long as --rate takes]")),
    mut_arg("flap", |flag| flag.help(
        "How long each client's connection lasts, and how long the client stays away then; without the last time, as its \
         protocol's clients do [default: 10s..20s:2s]"
    )),
    mut_arg("flap_how", |flag| flag.help(
        "How these connections end: by a close (a WebSocket's close frame), a reset, or silence (a link that is cut, of which \
         neither end is told); several by chance [default: all three]"
    )),
)]
pub(crate) struct Audit {
    /// Fail with exit code 3 unless this holds of messages sent while clients are away; those sent while they are
    /// connected must always come exactly once
    #[arg(long, value_enum, value_name = "PROMISE", help_heading = "Output")]
    require: Option<Require>,
    #[command(flatten)]
    steps: StepArgs,
    #[command(flatten)]
    talk: TalkArgs,
    #[command(flatten)]
    flap: FlapArgs,
    #[command(flatten)]
    tells: BroadcastArgs,
    #[command(flatten)]
    run: RunArgs,
}

/// Promises of a server.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
enum Require {
    /// Each message comes, if only once the client is back.
    AtLeastOnce,
}

/// Hides the flags that an audit refuses: it is of one load, to clients that come back.
fn without_steps(flag: Arg) -> Arg {
    let is_refused = flag.get_help_heading() == Some("Steps") || flag.get_id() == "churn";
    if is_refused { flag.hide(true) } else { flag }
}

impl Audit {
    /// Runs it.
    pub(crate) fn run(self) -> Result<Exit, Failure> {
        let Self { require, steps, talk, flap, tells, mut run } = self;
        if let Some(flag) = steps.stepping().or(steps.step_limit()) {
            let problem = "an audit is of one load: --clients and --rate say which";
            return Err(Failure::usage(flag, problem));
        }
        let steps = or_usual(steps);
        if require == Some(Require::AtLeastOnce) {
            // A share: of nothing there is none, and what was not measured breaks a limit.
            run.limits.push("lost_offline==0%".into());
        }
        let flap = plan::flapping(&run, &flap)?.or_usual(run.streams > 1);
        Broadcast::of(run, tells, steps, talk, flap).run()
    }
}

/// These flags, with an audit's defaults where a flag was not given.
fn or_usual(mut steps: StepArgs) -> StepArgs {
    steps.clients = steps.clients.or(Some(CLIENTS));
    if steps.concurrent.is_none() && steps.sample_size.is_none() {
        steps.rate = steps.rate.or_else(|| rates::rates(RATE).ok());
    }
    // A rate whose pieces all have a time says how long it takes.
    if steps.sample_size.is_none() && steps.rate.is_none_or(|rate| rate.duration_ns.is_none()) {
        let needed_ns = steps.rate.map_or(0, |rate| rate.schedule.duration_ns());
        steps.duration = steps.duration.or(Some(DURATION_NS.max(needed_ns)));
    }
    steps
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        audit: Audit,
    }

    fn audit(flags: &str) -> Audit {
        let words = ["audit", "ws://127.0.0.1:1/"].into_iter().chain(flags.split_whitespace());
        Line::parse_from(words).audit
    }

    #[test]
    fn audits_take_as_long_as_their_rate() {
        for (flags, duration_s) in [
            ("", Some(60)),
            ("-c 4", Some(60)),
            ("-d 5s", Some(5)),
            ("--rate 10..50/90s,20", Some(90)),
            ("--rate 10..50/30s", None),
            ("-n 100", None),
        ] {
            let duration_ns = or_usual(audit(flags).steps).duration;
            assert_eq!(duration_ns.map(|ns| ns / 1_000_000_000), duration_s, "{flags}");
        }
    }

    #[test]
    fn flags_of_steps_are_refused() {
        for flags in
            ["--search", "--step-size 50", "--initial-clients 5", "--total-steps 2", "--limit-rtt 1s"]
        {
            let Err(failure) = audit(flags).run() else { panic!("{flags} is for steps") };
            assert_eq!(failure.flag(), flags.split(' ').next(), "{failure}");
        }
    }
}
