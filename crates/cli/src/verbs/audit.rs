//! `throng audit`: does it arrive when clients drop?

use clap::{Args, ValueEnum};

use crate::app_file::BroadcastArgs;
use crate::args::RunArgs;
use crate::crowd::TalkArgs;
use crate::exit::{Exit, Failure};
use crate::flap::FlapArgs;
use crate::plan;
use crate::rates;
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
/// session as its protocol can. Every copy is accounted for: to clients that were here, and to those that
/// were away when it was sent.
#[derive(Args)]
#[command(
    mut_arg("search", |flag| flag.hide(true)), // an audit is of one load
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
    /// What must hold also for what is sent while clients are away: exit code 3 if it does not. What is sent
    /// while they are here must come exactly once in any case
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

impl Audit {
    /// Runs it.
    pub(crate) fn run(self) -> Result<Exit, Failure> {
        let Self { require, mut steps, talk, flap, tells, mut run } = self;
        if steps.search {
            let problem = "an audit is of one load: --clients and --rate say which";
            return Err(Failure::usage("--search", problem));
        }
        steps.clients = steps.clients.or(Some(CLIENTS));
        if steps.concurrent.is_none() && steps.sample_size.is_none() {
            steps.rate = steps.rate.or_else(|| rates::rates(RATE).ok());
        }
        if steps.sample_size.is_none() {
            steps.duration = steps.duration.or(Some(DURATION_NS));
        }
        if require == Some(Require::AtLeastOnce) {
            // A share: of nothing there is none, and what was not measured breaks a limit.
            run.limits.push("lost_offline==0%".into());
        }
        let flap = plan::flapping(&run, &flap)?.or_usual();
        Broadcast::of(run, tells, steps, talk, flap).run()
    }
}
