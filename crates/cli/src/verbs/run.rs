//! `throng run`: whatever an app's file says.

use std::path::{Path, PathBuf};

use app::people::Division;
use clap::Args;

use crate::app_file::{BroadcastArgs, ClientsMax, Described, RunDefaults};
use crate::exit::{Exit, Failure};
use crate::flags::args::RunArgs;
use crate::flags::crowd::TalkArgs;
use crate::flags::flap::FlapArgs;
use crate::flags::rates::{self, Rates};
use crate::secrets::given;
use crate::verbs::broadcast::Broadcast;
use crate::verbs::echo::Echo;
use crate::verbs::idle::Idle;
use crate::verbs::init::recorded;
use crate::verbs::requests::CONNECTIONS;
use crate::verbs::steps::StepArgs;
use crate::verbs::stream::Stream;
use crate::{app_file, look, people};

/// Users when neither flags nor file say how many.
const USERS: u64 = 1_000;
/// Broadcasts a second, likewise: at a thousand users in one room, ten thousand copies.
const RATE: &str = "10";
const DURATION_NS: u64 = 10_000_000_000;
/// The number of the clients' own server among those that logins are for.
const CLIENTS_SERVER: u16 = 0;
/// The page of a server that is proposed, where the file names none.
const USUAL_ORIGIN: &str = "http://127.0.0.1:3000";

/// Your own app, as a file describes it: users log in, join rooms and speak
///
/// The file's `[broadcast]` runs, else its `[echo]` or `[stream]`; with none, users connect and stay. By
/// default, 1,000 users send 10 broadcasts a second, or an echo each a second, for 10 seconds, and 10 users
/// read a stream; the file's `[load]` may say otherwise, and flags take precedence. With --search: how many
/// users are too many?
///
/// An app whose message is a name and a body needs no file: --protocol actioncable --channel ChatChannel
/// --action speak --body '{"body":"{id}"}' is its broadcast. `throng docs app` has every key of the file.
#[derive(Args)]
#[command(
    override_usage = "throng run [OPTIONS] <FILE> [URL]\n       throng run [OPTIONS] --event <NAME> [URL]",
    mut_arg("app", |arg| arg.hide(true)),
    mut_arg("clients", |flag| flag.help(
        "Clients, all connected before the load begins [default: as the file says, or 1,000; of a [stream], 10]"
    ))
)]
pub(crate) struct Run {
    /// The app's file, e.g. app.toml
    #[arg(value_name = "FILE", required_unless_present_any = ["event", "body"])]
    file: Option<PathBuf>,
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

impl Run {
    /// Runs it.
    pub(crate) fn run(mut self) -> Result<Exit, Failure> {
        let Some(file) = self.take_file()? else {
            let rate = rates::rates(RATE).expect("a rate");
            let Self { run, tells, steps, talk, flap, .. } = self;
            return Broadcast::of(run, tells, stepped(steps, RunDefaults::default(), Some(rate)), talk, flap)
                .run();
        };
        if self.run.app.replace(file.clone()).is_some() {
            return Err(Failure::usage("--app", "the file is named already, as in throng run app.toml URL"));
        }
        // What its users do does not depend on their rooms' members.
        let people = people::of_flags(&self.run.people_args, Division::ONE)?;
        // Steps and searches go as far as the server does: how many people there will be is not known.
        let known = match self.steps.go_on() {
            true => ClientsMax::Unasked,
            false => {
                let asked = self.steps.clients.or(app_file::read_load(&file)?.people);
                ClientsMax::Known(asked.unwrap_or(USERS))
            }
        };
        let described = app_file::read(&file, people, known)?;
        self.refuse_own_server(&file, &described)?;
        let defaults = described.defaults;
        if self.run.limits.is_empty() {
            self.run.limits.clone_from(&defaults.limits);
        }
        if described.protocol.facts().asks {
            self.refuse_talk(&file, "its users ask, each for an answer of its own")?;
            Self::refuse(
                &self.stepping(),
                "the users of [stream] ask in a single step, each again when it is answered",
            )?;
            self.steps.clients = self.steps.clients.or(defaults.people).or(Some(CONNECTIONS));
            return Stream::of(self.run, stepped(self.steps, defaults, None)).run();
        }
        match (described.app.broadcasts.is_empty(), described.app.echo) {
            (false, _) => {
                let interval =
                    // What the command line says comes first, then a rate of the file, then the interval of
                    // its roles.
                    defaults.interval_ns.filter(|_| !self.steps.says_how_often() && defaults.rate.is_none());
                let rate = interval.is_none().then(|| rates::rates(RATE).expect("a rate"));
                let Self { run, tells, steps, talk, flap, .. } = self;
                let steps = stepped(steps, defaults, rate);
                Broadcast::of(run, tells, steps, talk, flap).at_interval(interval).run()
            }
            (true, Some(_)) => {
                // Refused rather than ignored: the user would read results as if the flag had been followed.
                self.refuse_talk(&file, "echoes are for their sender alone")?;
                Echo::of(self.run, stepped(self.steps, defaults, None)).run()
            }
            (true, None) => {
                self.refuse_talk(&file, "its users say nothing that is measured")?;
                let why = "the file has neither [broadcast], [say.NAME] nor [echo]: there is nothing to send";
                Self::refuse(&[&self.sending()[..], &self.stepping()].concat(), why)?;
                let people = self.steps.clients.or(defaults.people).unwrap_or(USERS);
                let duration_ns = self.steps.duration.or(defaults.duration_ns).unwrap_or(DURATION_NS);
                Idle::of(self.run, people, duration_ns).run()
            }
        }
    }

    /// The app's file. `None`: flags say what it would; then the one argument is the URL.
    fn take_file(&mut self) -> Result<Option<PathBuf>, Failure> {
        let url = self.file.as_deref().and_then(url_of);
        match (self.file.take(), url) {
            (Some(_), Some(url)) if self.tells.is_given() && self.run.url.is_none() => {
                let url = given::websocket_url(&url);
                self.run.url = Some(url.map_err(|problem| Failure::usage("URL", problem))?);
                Ok(None)
            }
            (Some(_), _) if self.tells.is_given() => {
                let problem = "an app's file says that already; leave out the file, or --event and --body";
                Err(Failure::usage("--event", problem))
            }
            // Without a colon, it may be a file that is not there.
            (Some(_), Some(url)) if url.contains(':') => {
                Err(Failure::usage("FILE", "the app's file comes first, as in throng run app.toml URL"))
            }
            (file, _) => Ok(file),
        }
    }

    /// Refuses a run without a URL if the file is for another server than throng's own, which knows neither its
    /// logins nor its page. A path says nothing: throng's own server answers at any.
    fn refuse_own_server(&self, file: &Path, described: &Described) -> Result<(), Failure> {
        let origin = described.connect.origin.as_deref();
        let logs_in = described.app.login.iter().any(|request| request.server == CLIENTS_SERVER);
        let what = match (&self.run.url, logs_in, origin) {
            (None, true, _) => "logs in at its server",
            (None, false, Some(_)) => "names the origin of its server",
            _ => return Ok(()),
        };
        let (facts, origin) = (described.protocol.facts(), origin.unwrap_or(USUAL_ORIGIN));
        let is_plain = facts.asks || facts.only_receives;
        let url = if is_plain { origin.to_owned() } else { origin.replacen("http", "ws", 1) };
        let clients = self.steps.clients.or(described.defaults.people).unwrap_or(USERS);
        let command = recorded::command(file, &url, &clients.to_string());
        let problem = format!("{} {what}, which throng's own is not: type {command}", file.display());
        Err(Failure::usage("URL", problem))
    }

    fn refuse_talk(&self, file: &Path, why: &str) -> Result<(), Failure> {
        match self.talk.given().or(self.flap.given()) {
            Some(flag) => Err(Failure::usage(flag, format!("{} has no [broadcast]: {why}", file.display()))),
            None => Ok(()),
        }
    }

    /// The flags of a load that is sent, each with whether it is given.
    fn sending(&self) -> [(bool, &'static str); 3] {
        let steps = &self.steps;
        [
            (steps.rate.is_some(), "--rate"),
            (steps.sample_size.is_some(), "--sample-size"),
            (steps.warmup.is_some(), "--warmup"),
        ]
    }

    /// The flags by which a load goes on from step to step, each with whether it is given.
    fn stepping(&self) -> [(bool, &'static str); 3] {
        let steps = &self.steps;
        let stepping = steps.stepping().or(steps.step_limit());
        [
            (steps.concurrent.is_some(), "--concurrent"),
            (steps.churn.is_some(), "--churn"),
            (stepping.is_some(), stepping.unwrap_or_default()),
        ]
    }

    /// Refuses the first of these flags that is given.
    fn refuse(flags: &[(bool, &'static str)], why: &str) -> Result<(), Failure> {
        match flags.iter().find(|(is_given, _)| *is_given) {
            Some((_, flag)) => Err(Failure::usage(flag, why)),
            None => Ok(()),
        }
    }
}

/// The URL that stands where a file may: by its form, and because no file has that name.
fn url_of(file: &Path) -> Option<String> {
    file.to_str().filter(|text| look::is_url(text) && !file.is_file()).map(str::to_owned)
}

/// The flags, and where they say nothing, what the file says, or what is usual.
fn stepped(mut steps: StepArgs, defaults: RunDefaults, rate: Option<Rates>) -> StepArgs {
    if !steps.go_on() {
        steps.clients = steps.clients.or(defaults.people).or(Some(USERS));
    }
    let is_closed = steps.concurrent.is_some() || steps.sample_size.is_some();
    if !is_closed {
        // A rate of the command line may last as long as it says.
        let is_timed = steps.rate.is_some_and(|rate| rate.duration_ns.is_some());
        steps.rate = steps.rate.or(defaults.rate).or(rate);
        steps.duration = steps.duration.or(defaults.duration_ns.filter(|_| !is_timed));
    }
    steps
}

#[cfg(test)]
mod tests {
    use clap::{Command, FromArgMatches};

    use super::*;

    /// The file and the URL of a command line.
    fn taken(words: &str) -> Result<(Option<PathBuf>, Option<String>), Failure> {
        let words = ["throng"].into_iter().chain(words.split(' '));
        let matches = Run::augment_args(Command::new("throng")).get_matches_from(words);
        let mut run = Run::from_arg_matches(&matches).unwrap();
        run.take_file().map(|file| (file, run.run.url))
    }

    #[test]
    fn a_url_without_scheme_is_no_file() {
        for (words, file, url) in [
            ("--event x localhost:3000/cable", None, Some("ws://localhost:3000/cable")),
            ("--event x example.org/cable", None, Some("ws://example.org/cable")),
            ("chat/app.conf", Some("chat/app.conf"), None),
            ("app.toml localhost:3000", Some("app.toml"), Some("ws://localhost:3000")),
        ] {
            let expected = (file.map(PathBuf::from), url.map(str::to_owned));
            assert_eq!(taken(words).unwrap(), expected, "{words}");
        }
        for (words, key) in [
            ("localhost:3000/cable", "usage.file"),
            ("env:URL", "usage.file"),
            ("--event x env:THRONG_NO_SUCH_VARIABLE", "usage.url"),
            ("--event x app.toml", "usage.event"),
        ] {
            assert_eq!(taken(words).unwrap_err().key(), key, "{words}");
        }
    }
}
