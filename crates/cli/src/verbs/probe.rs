//! `throng URL`: what answers there, and which command loads it. `throng probe URL`: the same, and a data sheet.

mod advice;
mod places;
mod prober;
mod reply;
mod service;
mod sheet;

use std::time::Duration;

use clap::{Args, ValueEnum};
use results::units;

use crate::app_file::{BroadcastArgs, PublishArgs};
use crate::exit::{Exit, Failure};
use crate::flags::access::AccessArgs;
use crate::flags::args::RunArgs;
use crate::interrupts;
use crate::output;
use crate::secrets::{self, given};
use crate::target;
use crate::terminal;
use crate::verbs::probe::advice::{Trial, View};
use crate::verbs::probe::places::{Place, RequestKind};
use crate::verbs::probe::prober::{FIRST_TIMEOUT, Prober};
use crate::verbs::probe::reply::Found;
use crate::verbs::probe::sheet::{Sheet, SheetArgs};

/// The most connections of a data sheet at once.
const CONNECTIONS_MAX: u16 = 200;

/// The data sheet of a server: protocol, limits, timeouts, and what they mean for a load test
///
/// Looks first, as throng URL does, with at most 14 connections: at the URL itself, which may be an event
/// stream, and at the places where Action Cable, Socket.IO, Phoenix, SockJS, GraphQL, plain WebSockets, event
/// streams and OpenAI's API usually are. Then it measures, with very little load, what `throng docs probe`
/// lists. Probes that could hurt are made only if you agree: it asks on a terminal, and needs --yes
/// elsewhere.
#[derive(Args)]
#[command(
    mut_arg("publish_url", |flag| flag.help(
        "Publish messages by POST to this URL, or this path at the server, to find how many of them a client may miss"
    )),
    mut_arg("publish_connections", |flag| flag.hide(true)), // one request at a time
)]
pub(crate) struct Probe {
    /// The server: http://, https://, ws:// or wss://; HOST:PORT/PATH means ws://
    #[arg(value_parser = given::websocket_url)]
    url: String,
    /// Look, and measure nothing: the same as throng URL
    #[arg(long)]
    short: bool,
    /// Agree to the probes that could hurt
    #[arg(short, long)]
    yes: bool,
    /// Connections at once, at most
    #[arg(long, value_name = "N", default_value_t = CONNECTIONS_MAX, value_parser = clap::value_parser!(u16).range(4..=CONNECTIONS_MAX.into()))]
    max: u16,
    /// The longest silence to wait for
    #[arg(long, value_name = "TIME", default_value = "90s", value_parser = units::interval_ns)]
    idle: u64,
    /// The longest absence to resume from
    #[arg(long, value_name = "TIME", default_value = "40s", value_parser = absence_ns)]
    absence: u64,
    /// The greatest message to try
    #[arg(long, value_name = "SIZE", default_value = "64MiB", value_parser = message_bytes)]
    max_message: u64,
    /// A message that the server takes and that changes nothing; spaces are added to it
    #[arg(long, value_name = "TEXT")]
    message: Option<String>,
    /// Format of the data sheet
    #[arg(short, long, value_enum, default_value_t = Form::Text)]
    format: Form,
    #[command(flatten)]
    publish: PublishArgs,
    #[command(flatten)]
    access: AccessArgs,
}

/// Formats of a data sheet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Form {
    /// Lines for people, below those of the look
    Text,
    /// An object
    Json,
}

/// An absence of at least a second: in less, busy servers do not notice one.
fn absence_ns(text: &str) -> Result<u64, String> {
    const MIN_NS: u64 = 1_000_000_000;
    let ns = units::time_ns(text).map_err(|error| error.to_string())?;
    if ns < MIN_NS { Err("expected at least 1s".to_owned()) } else { Ok(ns) }
}

/// A size of a message that is one.
fn message_bytes(text: &str) -> Result<u64, String> {
    let bytes = units::bytes(text).map_err(|error| error.to_string())?;
    if bytes == 0 { Err("expected at least 1B".to_owned()) } else { Ok(bytes) }
}

impl Probe {
    /// Runs it.
    pub(crate) fn run(self) -> Result<Exit, Failure> {
        if self.short && self.format == Form::Json {
            let problem = "throng URL is the short look, which is text; type throng probe URL --format json";
            return Err(Failure::usage("--format json", problem));
        }
        let mut args = RunArgs::of_url(&self.url);
        args.access = self.access.clone();
        let target = target::of(&args, 1)?;
        let interrupts = interrupts::install()?;
        let mut prober = Prober::new(args, target, interrupts);
        let first = prober.first()?;
        let found = prober.look(&first)?;
        let trial = match advice::best(&found) {
            // One that refuses the probe, or sends it elsewhere, does the same to a trial.
            Some(found) if found.barrier.is_none() => prober.try_echo(found)?,
            _ => None,
        };
        let unanswered = first.unanswered(prober.target.tls_name.is_none());
        let view = View {
            url: secrets::url(&prober.target.url),
            is_short: self.short,
            requests: prober.requests,
            left_out: &prober.left_out,
            silent: &prober.silent,
            is_origin_left_out: prober.is_origin_left_out,
            unanswered: unanswered.as_deref(),
            is_closed: prober.is_closed,
            access: &prober.args.access,
            has_user: prober.target.userinfo.is_some(),
            found: &found,
            trial: trial.as_ref(),
        };
        if self.format == Form::Text {
            output::print(&terminal::in_letters(view.text()))?;
        }
        let exit = || if interrupts.count() > 0 { Exit::Interrupted } else { Exit::Fine };
        // Of an interrupted look, JSON still has the rows; as text, they would say nothing more.
        if self.short || self.format == Form::Text && interrupts.count() > 0 {
            return Ok(exit());
        }
        // One that turns clients away leaves TLS and HTTP/2 to be looked at.
        let lets_in = |found: &&Found| found.barrier.is_none() && found.service.dialect().is_some();
        let best = advice::best(&found).filter(lets_in);
        // Whoever names a WebSocket asks about that one, whatever else the server has.
        let named = Place::itself(&prober.target.path);
        let is_named = |found: &&Found| self.url.starts_with("ws") && found.path == named.base();
        let (best, trial) = match found.iter().filter(lets_in).find(is_named) {
            Some(given) if best != Some(given) => (Some(given), prober.try_echo(given)?),
            _ => (best, trial),
        };
        let sheet = self.sheet(&prober, best, trial.as_ref())?;
        let text = match self.format {
            Form::Text => terminal::in_letters(format!("\n{}", sheet.text())),
            Form::Json => format!("{:#}\n", sheet.json(&secrets::url(&prober.target.url))),
        };
        output::print(&text)?;
        Ok(exit())
    }

    /// Measures what the data sheet of this service has.
    fn sheet(&self, prober: &Prober, best: Option<&Found>, trial: Option<&Trial>) -> Result<Sheet, Failure> {
        let place = match best.and_then(|found| Some((found, found.service.dialect()?))) {
            Some((found, dialect)) => Place::at(&found.path, RequestKind::Join(dialect)),
            None => Place::itself(&prober.target.path),
        };
        let origin = best.and_then(|found| found.origin.as_deref());
        let resumes = best.is_some_and(|found| found.service.resumes());
        let plan = match self.publish.is_given() && resumes {
            true => {
                let tells = BroadcastArgs::from(self.publish.clone());
                prober.plan(&place, origin, FIRST_TIMEOUT, Some(tells))?
            }
            false => prober.plan(&place, origin, FIRST_TIMEOUT, None)?,
        };
        let bounds = SheetArgs {
            yes: self.yes,
            connections: self.max.into(),
            idle: Duration::from_nanos(self.idle),
            absence: Duration::from_nanos(self.absence),
            message_bytes: self.max_message,
            message: self.message.clone(),
        };
        let echoes = trial == Some(&Trial::Echoes) && best.is_some_and(Found::is_plain);
        Sheet::measure(plan, best.map(|found| found.service), echoes, bounds, prober.interrupts)
    }
}
