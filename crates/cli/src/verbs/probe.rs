//! `throng URL`: what answers there, and which command loads it. `throng probe URL`: the same, and a data sheet.

mod advice;
mod places;
mod reply;
mod service;
mod sheet;

use std::iter;
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};
use engine::ProbeResult;
use load::{Plan, Workload};
use net::signals::Interrupts;
use results::units;
use stats::error_kind;
use wire::HttpOptions;

use crate::answer::Answer;
use crate::app_file::{BroadcastArgs, PublishArgs};
use crate::exit::{Exit, Failure};
use crate::flags::access::AccessArgs;
use crate::flags::args::RunArgs;
use crate::interrupts;
use crate::output;
use crate::plan::{self, PlanInputs};
use crate::preflight;
use crate::secrets::{self, given};
use crate::target::{self, Target};
use crate::terminal;
use crate::verbs::probe::advice::{Trial, View};
use crate::verbs::probe::places::{Place, RequestKind};
use crate::verbs::probe::reply::{Found, Reply};
use crate::verbs::probe::service::Service;
use crate::verbs::probe::sheet::{Sheet, SheetArgs};

/// The most connections of a data sheet at once.
const CONNECTIONS_MAX: u16 = 200;
/// Connections that one look makes at most.
const REQUESTS_MAX: usize = 12;
/// Connections that are kept for the trial of what was found.
const FOR_TRIAL: u32 = 1;
/// Time for the first request, in which a server may have to wake up, and for each further one.
const FIRST_TIMEOUT: Duration = Duration::from_secs(2);
const TIMEOUT: Duration = Duration::from_secs(1);
/// Time for all of them.
const TIME_MAX: Duration = Duration::from_secs(15);
/// Kinds of errors with which a server that is there may end a plain request.
const ENDS: [&str; 4] = [error_kind::EOF, "tls_eof", error_kind::RESET, "not_http"];
/// The types of the URL's own answer: a page, or else the event stream that nchan refuses to clients that do
/// not accept one.
const ACCEPT: (&str, &str) = ("Accept", "text/html, text/event-stream;q=0.9, */*;q=0.8");
/// Any status of an answer is worth knowing.
const ANY_STATUS: (u16, u16) = (200, 599);

/// The data sheet of a server: protocol, limits, timeouts, and what they mean for a load test
///
/// Looks first, as throng URL does, with at most 12 connections: at the URL itself, which may be an event
/// stream, and at the places where Action Cable, Socket.IO, Phoenix, SockJS, GraphQL and plain WebSockets
/// usually are. Then it measures, with very little load, what `throng docs probe` lists. Probes that could
/// hurt are made only if you agree: it asks on a terminal, and needs --yes elsewhere.
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
    #[command(flatten)]
    publish: PublishArgs,
    /// Format of the data sheet
    #[arg(short, long, value_enum, default_value_t = Form::Text)]
    format: Form,
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
        let (interrupts, ends_at) = (interrupts::install()?, Instant::now() + TIME_MAX);
        let mut prober = Prober {
            args,
            target,
            interrupts,
            ends_at,
            requests: 0,
            unmoved: Vec::new(),
            is_origin_left_out: false,
            left_out: Vec::new(),
            silent: Vec::new(),
        };
        let first = prober.first()?;
        let found = prober.look(&first)?;
        let trial = match advice::best(&found) {
            // One that refuses the probe, or sends it elsewhere, does the same to a trial.
            Some(found) if found.barrier.is_none() => prober.try_echo(found)?,
            _ => None,
        };
        let view = View {
            url: secrets::url(&prober.target.url),
            is_short: self.short,
            requests: prober.requests,
            left_out: &prober.left_out,
            silent: &prober.silent,
            is_origin_left_out: prober.is_origin_left_out,
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

/// Makes the requests, and counts them.
struct Prober {
    args: RunArgs,
    target: Target,
    interrupts: Interrupts,
    ends_at: Instant,
    requests: usize,
    /// Statuses of refusals in which an origin changed nothing.
    unmoved: Vec<u16>,
    /// True if a place refused a client without an origin, and was not asked with one.
    is_origin_left_out: bool,
    /// Paths of places that were left out, for want of connections or time.
    left_out: Vec<String>,
    /// Paths of places without an answer.
    silent: Vec<String>,
}

impl Prober {
    /// The answer of the URL itself to a plain request. A server that cannot be reached ends the probe.
    fn first(&mut self) -> Result<Reply, Failure> {
        let place = Place::get(&self.target.path);
        let reply = self.ask(&place, None, FIRST_TIMEOUT)?;
        let Some((kind, why)) = &reply.failure else { return Ok(reply) };
        let url = secrets::url(&self.target.url);
        let could_not = |why: String| Failure::could_not("reach", format!("reach {url}"), why).because(kind);
        if reply.is_tls {
            // At the start alone: a host may end with `ws:`.
            let secure = [("http:", "https:"), ("ws:", "wss:")]
                .into_iter()
                .find_map(|(plain, tls)| Some(format!("{tls}{}", url.strip_prefix(plain)?)))
                .unwrap_or_else(|| url.clone());
            return Err(could_not(format!("the server speaks TLS on this port; try throng {secure}")));
        }
        // A server of WebSockets alone may end a plain request as it likes.
        if reply.status.is_some() || ENDS.contains(&kind.as_str()) {
            return Ok(reply);
        }
        Err(could_not(format!("{kind}: {why}")))
    }

    /// All that is found at the URL and at the usual places; after an interrupt, what was found until then.
    fn look(&mut self, first: &Reply) -> Result<Vec<Found>, Failure> {
        let page = Place::get(&self.target.path);
        let mut found = Vec::from_iter(reply::found(&page, first, None));
        let itself = Place::itself(&self.target.path);
        // A URL that is an event stream is what the user means.
        let is_stream = |found: &Found| matches!(found.service, Service::EventStream | Service::Answer(_));
        if itself.base() != "/" && found.iter().any(is_stream) {
            return Ok(found);
        }
        let usual = places::usual().into_iter().filter(|place| place.bare() != itself.bare());
        for place in iter::once(itself.clone()).chain(usual) {
            // A server that takes one path unseen may take any.
            let is_known = place.is_plain() && found.iter().any(Found::is_plain);
            if is_known {
                continue;
            }
            if self.is_over(FOR_TRIAL) {
                self.left_out.push(place.base());
                continue;
            }
            let asked = self.ask_patiently(&place).and_then(|reply| self.with_origin(&place, reply));
            let (reply, origin) = match asked {
                Err(_) if self.interrupts.count() > 0 => break,
                asked => asked?,
            };
            found.extend(reply::found(&place, &reply, first.status).map(|one| Found { origin, ..one }));
            // A URL with the path of a WebSocket leaves nothing to be looked for.
            if itself.base() != "/" && found.iter().any(|found| found.service.example().is_some()) {
                break;
            }
        }
        Ok(found)
    }

    /// The reply of a place; the first that is silent is asked once more, and longer: a server that has just
    /// started may load a part of itself when it is first asked for it.
    fn ask_patiently(&mut self, place: &Place) -> Result<Reply, Failure> {
        let reply = self.ask(place, None, TIMEOUT)?;
        if !reply.is_silence() {
            return Ok(reply);
        }
        let is_first = self.silent.is_empty();
        self.silent.push(place.base());
        if !is_first || self.is_over(FOR_TRIAL) {
            return Ok(reply);
        }
        let again = self.ask(place, None, FIRST_TIMEOUT)?;
        if !again.is_silence() {
            self.silent.pop();
        }
        Ok(again)
    }

    /// The reply with the server's own origin, where a browser's page has one and that changes the answer.
    fn with_origin(&mut self, place: &Place, reply: Reply) -> Result<(Reply, Option<String>), Failure> {
        let refuses = reply.status.is_some_and(|status| status == place.origin_refusal());
        let given = self.args.access.origin.clone();
        if !refuses || given.is_some() || place.is_get() || self.is_over(FOR_TRIAL) {
            return Ok((reply, given.filter(|_| !place.is_get())));
        }
        // A server that answers so to all that it does not know would use up the connections.
        if reply.status.is_some_and(|status| self.unmoved.contains(&status)) {
            self.is_origin_left_out = true;
            return Ok((reply, None));
        }
        let scheme = if self.target.tls_name.is_some() { "https" } else { "http" };
        let origin = format!("{scheme}://{}", self.target.host);
        let again = self.ask(place, Some(&origin), TIMEOUT)?;
        // An origin that changes nothing is not worth a flag in the command that is suggested.
        if again.status != reply.status {
            return Ok((again, Some(origin)));
        }
        self.unmoved.extend(reply.status);
        Ok((reply, None))
    }

    /// Has one client speak the protocol that was found, and send one message if its clients say anything.
    fn try_echo(&mut self, found: &Found) -> Result<Option<Trial>, Failure> {
        let Some(dialect) = found.service.dialect().filter(|_| !self.is_over(0)) else { return Ok(None) };
        let asked = match dialect.facts().only_receives {
            true => RequestKind::Join(dialect),
            false => RequestKind::Echo(dialect),
        };
        let place = Place::at(&found.path, asked);
        let reply = match self.ask(&place, found.origin.as_deref(), TIMEOUT) {
            Err(_) if self.interrupts.count() > 0 => return Ok(None),
            asked => asked?,
        };
        Ok(Some(match &reply.failure {
            None if reply.is_answered => Trial::Echoes,
            None => Trial::Connects,
            Some((kind, why)) => Trial::Fails(format!("{kind}: {why}")),
        }))
    }

    /// Makes one request.
    fn ask(&mut self, place: &Place, origin: Option<&str>, timeout: Duration) -> Result<Reply, Failure> {
        self.requests += 1;
        let mut plan = self.plan(place, origin, timeout, None)?;
        if place.is_get() {
            let http = HttpOptions { expect_status: vec![ANY_STATUS], ..HttpOptions::default() };
            plan.client_spec.of_dialect.settings = http.into();
        }
        let headers = &mut plan.client_spec.headers;
        if place.is_page() && !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case(ACCEPT.0)) {
            headers.push((ACCEPT.0.to_owned(), ACCEPT.1.into()));
        }
        let met = engine::probe(&plan, place.sends(), &|| self.interrupts.count() > 0)
            .map_err(|error| {
                Failure::of_generator("start_client", "start a client", net::errors::told(&error))
            })?
            .ok_or_else(Failure::interrupted)?;
        Ok(self.reply(place, met, plan.tls.is_none()))
    }

    /// The plan of one client at a place. With `says`, it is one of a room's members.
    fn plan(
        &self,
        place: &Place,
        origin: Option<&str>,
        timeout: Duration,
        says: Option<BroadcastArgs>,
    ) -> Result<Plan, Failure> {
        let mut args = self.args.clone();
        args.connect_timeout = Some(timeout.as_nanos() as u64);
        // The user's own origin comes first.
        args.access.origin = args.access.origin.or(origin.map(str::to_owned));
        args.subprotocols = place.subprotocols();
        let target = self.target.at_path(&place.asked_path());
        plan::plan(&PlanInputs {
            args: &args,
            workload: if says.is_some() { Workload::Broadcast } else { Workload::Echo },
            says: says.unwrap_or_default(),
            target: &target,
            dialect: place.dialect().name(),
            clients_max: Some(1),
        })
    }

    fn reply(&self, place: &Place, met: ProbeResult, is_plain: bool) -> Reply {
        let mut answer = Answer::read(&met.said);
        // A redirect may repeat the query of the request.
        answer.location = answer.location.map(|location| secrets::url(&location));
        let text = if place.is_get() { answer.body.clone().unwrap_or_default() } else { met.excerpt() };
        let url = self.place_url(place);
        Reply {
            status: met.status.or(answer.status),
            is_tls: is_plain && preflight::is_tls(&met),
            is_answered: met.is_answered,
            failure: met.failure,
            url,
            answer,
            text,
        }
    }

    /// The place as a command line names it.
    fn place_url(&self, place: &Place) -> String {
        let is_secure = self.target.tls_name.is_some();
        // A run takes the URL of the WebSocket, also where the probe asked for the session by a plain request.
        let scheme = match (place.is_page(), is_secure) {
            (true, false) => "http",
            (true, true) => "https",
            (false, false) => "ws",
            (false, true) => "wss",
        };
        secrets::url(&format!("{scheme}://{}{}", self.target.host, place.base()))
    }

    /// Returns whether no connection is left beside those to `keep`, or no time.
    fn is_over(&self, keep: u32) -> bool {
        let is_late = Instant::now() + TIMEOUT * keep >= self.ends_at;
        self.requests + keep as usize >= REQUESTS_MAX || is_late || self.interrupts.count() > 0
    }
}
