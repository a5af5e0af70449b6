//! The configuration that the clients of a run share, made of options.

use std::fmt;

use app::app_file::{AppFile, Broadcast, Push, Say};
use app::people::Mix;
use app::series::Spot;
use app::template::{ClientContext, Filling, Mark};
use app::{Acks, Kind};
use codec::Stamp;
use codec::http2::head;
use secret::Secret;

use crate::apps::App;
use crate::apps::bench::{self, Bench};
use crate::apps::file::CompiledApp;
use crate::asking::StreamOptions;
use crate::carried::MessageTemplate;
use crate::facts::Facts;
use crate::failure::Failure;
use crate::flag::TRANSPORT;
use crate::login::Steps;
use crate::options::{BadOption, Carrier, Options};
use crate::registry::Parts;
use crate::registry::requesting::HttpClientState;
use crate::request::{self, Common};
use crate::settings::Ack;
use crate::token;

/// [`Options`], checked, with everything that can be encoded once already encoded. Shared by all clients of a
/// run.
pub struct Config {
    pub(crate) common: Common,
    pub(crate) parts: Parts,
    pub(crate) app: App,
    /// The requests with which each client logs in, if any.
    pub(crate) login: Option<Steps>,
    /// True if values of the login are still to be sent, or compared with, once they are usable.
    pub(crate) keeps_login: bool,
    /// The measured messages.
    templates: MessageTemplates,
    /// The place of the stamp in echoes that come back as they went, and are alike but for it.
    series: Option<SeriesOf>,
    /// The kind of each broadcast.
    mix: Mix,
}

impl fmt::Debug for Config {
    /// Without what is encoded: there the secrets of the options are bytes like others.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Config").field("options", self.options()).finish_non_exhaustive()
    }
}

impl Config {
    /// Checks the options and encodes the parts of a request and of a message that never change.
    pub fn new(mut options: Options) -> Result<Config, BadOption> {
        let facts = options.dialect.facts();
        Parts::complete(&mut options)?;
        token::place(&mut options, facts.token)?;
        request::check(&options)?;
        check_transport(&options, facts)?;
        let mut parts = Parts::new(&options)?;
        if options.subprotocols.is_empty() {
            options.subprotocols = facts.offered.iter().map(|&protocol| protocol.to_owned()).collect();
        }
        let app = match &options.of_dialect.app {
            Some(app) => App::File(Box::new(CompiledApp::new(app.clone(), &options, &|message| {
                parts.message_template(message)
            })?)),
            None if facts.needs_app => {
                let expected = "the TOML file that describes what is said";
                return Err(BadOption::OfDialect { option: "app", expected });
            }
            None => App::Bench(Bench::new(facts.form, Parts::shape(&options), &options)?),
        };
        let templates = templates(&app, &parts)?;
        // Protocols that ask for something beside the messages must know all of these first.
        parts.handle_templates(&templates.all().collect::<Vec<_>>());
        let written = options.of_dialect.app.as_deref();
        let login = written.map(|app| Steps::new(app, &options)).transpose()?.flatten();
        let needs_kept = written.is_some_and(AppFile::needs_kept) || parts.names_kept();
        let keeps_login = needs_kept || HttpClientState::new(&parts).is_some();
        let series = templates.series(&app, facts);
        let (common, mix) = (Common::new(options)?, app.mix());
        let config = Config { common, parts, app, login, keeps_login, templates, series, mix };
        config.check_carrier()?;
        Ok(config)
    }

    /// A stream of HTTP/2 is a WebSocket from its first byte on, or one answer, and its head has no fields
    /// that are about a connection.
    fn check_carrier(&self) -> Result<(), BadOption> {
        let options = self.options();
        if options.carrier == Carrier::Http1 {
            return Ok(());
        }
        // Clients that only receive ask once.
        let asks = self.is_over_requests() && !options.dialect.facts().only_receives;
        if self.login.is_some() || self.question().is_some() || asks {
            let expected = "a WebSocket or an event stream from the start: without a login, and by a transport that asks nothing by plain requests";
            return Err(BadOption::OfDialect { option: "http2", expected });
        }
        let is_foreign = |(name, value): &(String, Secret)| {
            head::is_foreign(&name.to_ascii_lowercase(), value.reveal().as_bytes())
        };
        if options.headers.iter().any(is_foreign) { Err(BadOption::Header) } else { Ok(()) }
    }

    /// Spreads these sizes evenly over messages; they mean what [`Payload::padding`](crate::Payload) means.
    ///
    /// # Errors
    /// A size that no message can have; a dialect other than `raw` and `json`.
    pub fn with_sizes(self, sizes: &[u32]) -> Result<Config, BadOption> {
        let mut options = self.options().clone();
        let form = options.dialect.facts().form;
        let mut tail = |&size: &u32| {
            options.payload.padding = Some(size);
            bench::tail(form, Parts::shape(&options), &options)
        };
        let tails = sizes.iter().map(&mut tail).collect::<Result<_, _>>()?;
        self.varied("payload-padding", |_| tails)
    }

    /// Spreads these rows evenly over messages, each of them a JSON value: after the stamp in `raw`, as
    /// `data` in the payload of `json`.
    ///
    /// # Errors
    /// A dialect other than these.
    pub fn with_rows(self, rows: &[String]) -> Result<Config, BadOption> {
        self.varied("data", |bench| rows.iter().map(|row| bench.tail_of_row(row)).collect())
    }

    fn varied(
        self,
        option: &'static str,
        tails: impl FnOnce(&Bench) -> Vec<Vec<u8>>,
    ) -> Result<Config, BadOption> {
        let facts = self.options().dialect.facts();
        let bench = match self.app {
            App::Bench(bench) if bench.may_vary() && facts.is_bare => bench,
            _ => return Err(BadOption::OfDialect { option, expected: "the protocol raw or json" }),
        };
        let tails = tails(&bench);
        let app = App::Bench(bench.with_tails(tails));
        let templates = templates(&app, &self.parts)?;
        let series = templates.series(&app, facts);
        Ok(Config { app, templates, series, ..self })
    }

    /// Lets messages show the wall clock: a stamp's time of sending plus this offset. A message that
    /// comes back with another time is damaged.
    pub fn with_wall_clock(self, unix_minus_now_ns: u64) -> Config {
        let app = match self.app {
            App::Bench(bench) => App::Bench(bench.with_wall_clock(unix_minus_now_ns)),
            file => file,
        };
        let mut common = self.common;
        common.identities.unix_minus_now_ns = unix_minus_now_ns;
        Config { app, common, ..self }
    }

    /// Sets the number of all workers of the run, by which roles and kinds of messages are dealt out.
    pub fn among_workers(self, workers: u16) -> Config {
        let roles = &self.options().people.roles;
        let mix = self.app.mix().of_roles(roles, workers);
        let app = match self.app {
            App::File(app) => App::File(Box::new(app.with_mix(mix.clone()))),
            bench => bench,
        };
        Config { app, mix, ..self }
    }

    /// The wall clock that the message with this stamp shows, if that is known.
    #[inline]
    pub fn unix_ns_of(&self, stamp: Stamp) -> Option<u64> {
        self.app.unix_ns_of(stamp)
    }

    /// Names the part of the login that failed, and what was expected of it: to be shown, without any
    /// client's own values.
    pub fn login_words(&self, failure: Failure) -> Option<String> {
        self.login.as_ref()?.words(failure)
    }

    /// Returns whether its clients log in.
    pub fn logs_in(&self) -> bool {
        self.login.is_some()
    }

    /// Broadcasts, kind by kind, of a sender that is not there to hear them: without what a protocol puts
    /// around it. Empty: there is nothing that is text.
    pub fn broadcasts(&self) -> Vec<Broadcast> {
        let broadcast = |body| Broadcast::of(Say { body, ..Say::default() });
        match &self.app {
            App::Bench(bench) => bench.text_payload().into_iter().map(broadcast).collect(),
            App::File(app) => {
                let written = app.written().broadcasts.iter();
                let of_kind = |kind: &Broadcast| Broadcast {
                    share: kind.share,
                    target: kind.target.clone(),
                    ..broadcast(kind.send.body.clone())
                };
                written.map(of_kind).collect()
            }
        }
    }

    /// The options that it was made of.
    pub fn options(&self) -> &Options {
        self.common.options()
    }

    /// Gaps above this many times the median of their answer are stalls; `None`: answers come whole.
    pub fn stall_times(&self) -> Option<u64> {
        StreamOptions::of(&self.options().of_dialect.settings).map(|stream| stream.stall_times)
    }

    /// The kinds of messages that the app's file looks for and that the server says by itself.
    pub fn pushes(&self) -> &[Push] {
        match &self.app {
            App::Bench(_) => &[],
            App::File(app) => &app.written().pushes,
        }
    }

    /// Tests of the app's conditions on messages with ids, each in words: an
    /// [`Unmatched`](crate::Event::Unmatched) message lacks one of them.
    pub fn misses(&self) -> &[String] {
        match &self.app {
            App::Bench(_) => &[],
            App::File(app) => app.misses(),
        }
    }

    /// Broadcasts that the server acknowledges with a result of its own, apart from the sender's copy.
    pub fn acks(&self) -> Acks {
        let options = self.options();
        match options.of_dialect.ack {
            Ack::Copy => Acks::all(false),
            _ => self.app.acks().unwrap_or_else(|| Acks::all(options.dialect.can_broadcast())),
        }
    }

    /// Returns whether its clients speak by plain requests.
    pub(crate) fn is_over_requests(&self) -> bool {
        HttpClientState::new(&self.parts).is_some()
    }

    /// The question to ask, below the path, before anything else.
    pub(crate) fn question(&self) -> Option<&'static str> {
        self.parts.question(&self.options().of_dialect.settings)
    }

    /// The measured message with this stamp, up to what varies.
    ///
    /// # Panics
    /// If the app has no message of this kind.
    #[inline]
    pub(crate) fn message_template(&self, kind: Kind, stamp: &Stamp) -> &MessageTemplate {
        let message_template = match kind {
            Kind::Echo => self.templates.echo.as_ref(),
            Kind::Broadcast => {
                self.templates.broadcasts.get(self.mix.kind(stamp.worker, stamp.client, stamp.seq))
            }
        };
        message_template.expect("the app has this kind of message")
    }

    /// The place of the stamp in echoes that come back as they went, and are alike but for it: without an
    /// envelope, or anything that goes on with them.
    #[inline]
    pub(crate) fn series(&self) -> Option<SeriesOf> {
        self.series
    }

    /// Returns whether a client that [joins](crate::Client::pass) a room of this kind announces itself to the
    /// other members.
    pub fn announces(&self, kind: u16) -> bool {
        matches!(&self.app, App::File(app) if app.announces(kind))
    }

    /// The filling of a message's holes.
    #[inline]
    pub(crate) fn filling<'a>(&'a self, mark: Mark<'a>, seq: u32, context: ClientContext<'a>) -> Filling<'a> {
        let tail = self.app.tail_of(mark.stamp);
        Filling { mark, seq, context, tail }
    }
}

/// Echoes that are alike but for their stamps.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SeriesOf {
    pub(crate) spot: Spot,
    /// Bytes of each.
    pub(crate) bytes: u32,
}

/// Refuses a choice of transport where there is none: results name the transport.
fn check_transport(options: &Options, facts: &Facts) -> Result<(), BadOption> {
    let has_some = facts.flags.iter().any(|flag| flag.name == TRANSPORT);
    if options.of_dialect.settings.transport().is_some() && !has_some {
        let expected = "a protocol that has several";
        return Err(BadOption::OfDialect { option: TRANSPORT, expected });
    }
    Ok(())
}

/// The measured messages, with their protocol's envelope.
#[derive(Debug)]
struct MessageTemplates {
    echo: Option<MessageTemplate>,
    /// By kind.
    broadcasts: Vec<MessageTemplate>,
}

impl MessageTemplates {
    fn all(&self) -> impl Iterator<Item = &MessageTemplate> {
        self.echo.iter().chain(&self.broadcasts)
    }

    fn series(&self, app: &App, facts: &Facts) -> Option<SeriesOf> {
        let is_bare = facts.is_bare && matches!(app, App::Bench(_));
        let (spot, bytes) = self.echo.as_ref().filter(|_| is_bare)?.text.spot()?;
        Some(SeriesOf { spot, bytes: bytes as u32 })
    }
}

fn templates(app: &App, parts: &Parts) -> Result<MessageTemplates, BadOption> {
    let templates =
        |kind| app.utterances(kind).iter().map(|message| parts.message_template(message)).collect();
    let echo: Result<Vec<MessageTemplate>, BadOption> = templates(Kind::Echo);
    let mut broadcasts: Vec<MessageTemplate> = templates(Kind::Broadcast)?;
    for (number, message_template) in broadcasts.iter_mut().enumerate() {
        message_template.number = number;
    }
    Ok(MessageTemplates { echo: echo?.pop(), broadcasts })
}
