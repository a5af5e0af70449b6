//! `--app FILE.toml`, or `--event NAME --body TEMPLATE`: reads and checks the description of a user's own app (docs/APP.md).

mod file;
mod login;
mod people;
mod publish;
mod resume;
mod short;
mod source;
mod usual;

use std::collections::BTreeMap;
use std::fmt::Display;
use std::fs;
use std::path::Path;

use load::{Plan, Workload};
use results::{Scenario, units};
use serde::de::{DeserializeOwned, IgnoredAny};
use toml::Spanned;
use wire::app_file::{
    AppFile, Broadcast, Condition, Exchange, Heartbeat, JsonScalar, LoginRequest, OpenStep, Reaction,
    Refusal, Resume, Say,
};
use wire::template::{Names, Purpose, Quoting, Template};
use wire::{AppRules, Body, DialectId, Facts, People};

use crate::dialect_args::{self, DialectArgs};
use crate::exit::Failure;
use crate::flap::FlapArgs;
use file::{Escape, File, Frames, NAME_BYTES_MAX, Step, When};
use people::Connect;
pub(crate) use publish::Publish;
pub(crate) use short::{SayArgs, TellArgs};
use source::Source;
pub(crate) use usual::Usual;

/// What a file says.
#[derive(Debug)]
pub(crate) struct Described {
    /// What is said.
    pub(crate) app: AppFile,
    /// What carries it.
    pub(crate) protocol: DialectId,
    /// What is chosen about that.
    pub(crate) flags: DialectArgs,
    /// The subprotocols that its clients offer.
    pub(crate) subprotocols: Vec<String>,
    /// Who the clients are.
    pub(crate) people: People,
    /// Where they connect to, and what they say there.
    pub(crate) connect: Connect,
    /// How the app is asked to tell a room something, if that is what is measured.
    pub(crate) publish: Option<Publish>,
    /// How its clients lose their connections and come back, if they do.
    pub(crate) flap: FlapArgs,
    /// Whether what it says has a token in it somewhere.
    pub(crate) says_token: bool,
    /// How much they do if nobody says anything else.
    pub(crate) usual: Usual,
}

/// Whether the value of `--dialect` names a file, as it may.
pub(crate) fn is_file(dialect: &str) -> bool {
    dialect.ends_with(".toml")
}

/// The protocols over which an app may go, by their names.
pub(crate) fn carriers() -> String {
    let names: Vec<&str> = DialectId::carriers().map(|dialect| dialect.facts().protocol).collect();
    let (last, others) = names.split_last().expect("some carry apps");
    format!("{} or {last}", others.join(", "))
}

/// Reads a file. `given` are the people of the command line, if it has any.
pub(crate) fn read(path: &Path, given: People) -> Result<Described, Failure> {
    let text = fs::read_to_string(path)
        .map_err(|error| Failure::usage(&path.display().to_string(), format!("cannot be read: {error}")))?;
    parse(path, &text, given)
}

/// What flags say in place of a file, over this protocol. `asks_reply`: an answer of the protocol's own is asked for.
pub(crate) fn of_flags(
    tells: &TellArgs,
    protocol: DialectId,
    workload: Workload,
    asks_reply: bool,
    given: People,
) -> Result<Described, Failure> {
    let (text, file) = tells.file(protocol, workload, asks_reply)?;
    describe(&Source { path: None, text: &text }, &file, given)
}

/// Where throng's own server is to be asked for what a file says, if not at its usual path: the path that the file names, or the
/// one of its protocol. What is wrong with the file is said when it is read in full.
pub(crate) fn path_of_own_server(path: &Path) -> Option<&'static str> {
    let file: toml::Table = fs::read_to_string(path).ok()?.parse().ok()?;
    if file.get("connect").is_some_and(|connect| connect.get("path").is_some()) {
        return Some("/");
    }
    let protocol = DialectId::of_protocol(file.get("protocol")?.as_str()?)?;
    protocol.facts().paths.first().copied()
}

/// Whether a run's app, if it is the user's own, has the messages that the run sends.
pub(crate) fn check_messages(plan: &Plan, scenario: Scenario) -> Result<(), Failure> {
    let Some(app) = &plan.speech.of_dialect.app else { return Ok(()) };
    let (key, is_there) = match plan.workload {
        Workload::Echo => ("[echo]", app.echo.is_some()),
        Workload::Broadcast => ("[broadcast]", app.broadcast.is_some()),
    };
    // Connections that do nothing need no message.
    if is_there || !scenario.facts().has_messages {
        return Ok(());
    }
    Err(Failure::usage("--app", format!("{} has no {key}, which throng {scenario} sends", app.name)))
}

fn parse(path: &Path, text: &str, given: People) -> Result<Described, Failure> {
    let source = Source { path: Some(path), text };
    let file: File = toml::from_str(text).map_err(|error| {
        let message =
            error.message().replace("unknown field", "unknown key").replace("missing field", "missing key");
        source.error(error.span().unwrap_or(0..0), message)
    })?;
    describe(&source, &file, given)
}

/// What a file says, put together and checked.
fn describe(source: &Source<'_>, file: &File, given: People) -> Result<Described, Failure> {
    let mut people = people::people(source, file, given)?;
    let strangers = people.names.clone();
    let login = login::requests(source, &file.login, &mut people.names)?;
    let protocol = match &file.protocol {
        None => DialectId::Custom,
        Some(name) => DialectId::of_protocol(name.get_ref())
            .ok_or_else(|| source.error(name.span(), format!("expected {}", carriers())))?,
    };
    let flags = match &file.flags {
        None => DialectArgs::default(),
        Some(flags) => dialect_args::parse_flags(&words_of(flags.get_ref()))
            .map_err(|problem| source.error(flags.span(), problem))?,
    };
    let quoting = match file.escape {
        Escape::Json => Quoting::JSON,
        Escape::None => Quoting::Plain,
    };
    let kept = resume::name(file, &login, &mut people.names);
    let (facts, names) = (protocol.facts(), &people.names);
    let rules = facts.app.expect("an app goes over it");
    let app =
        Checked { source, names, strangers: &strangers, kept, quoting, facts, rules }.app(file, login)?;
    let publish = publish::publish(source, file, &strangers)?;
    let flap = file.flap.as_ref().map(|flap| flapping(source, flap.get_ref())).transpose()?;
    let connect = people::connect(source, file, names)?;
    let says_token = source.text.contains("{token}");
    let usual = usual::usual(source, &file.load)?;
    Ok(Described {
        app,
        protocol,
        flags,
        subprotocols: file.subprotocols.clone(),
        people,
        connect,
        publish,
        flap: flap.unwrap_or_default(),
        says_token,
        usual,
    })
}

fn flapping(source: &Source<'_>, flap: &file::Flap) -> Result<FlapArgs, Failure> {
    let mut args =
        FlapArgs::of_times(flap.up.get_ref(), flap.away.as_ref().map(|away| away.get_ref().as_str()))
            .map_err(|problem| source.error(flap.up.span(), problem))?;
    for how in &flap.how {
        args.add_way(how.get_ref()).map_err(|problem| source.error(how.span(), problem))?;
    }
    Ok(if flap.resume == Some(false) { args.without_resuming() } else { args })
}

/// Flags as the command line has them, without their dashes: a switch that is on has no value.
fn words_of(flags: &BTreeMap<String, toml::Value>) -> Vec<(String, String)> {
    let word = |(name, value): (&String, &toml::Value)| match value {
        toml::Value::Boolean(true) => Some((name.clone(), String::new())),
        toml::Value::Boolean(false) => None,
        toml::Value::String(text) => Some((name.clone(), text.clone())),
        other => Some((name.clone(), other.to_string())),
    };
    flags.iter().filter_map(word).collect()
}

/// Turns the file's parts into the app's, or says what is wrong with them.
struct Checked<'a> {
    source: &'a Source<'a>,
    names: &'a Names,
    /// Those of people who have not logged in.
    strangers: &'a Names,
    /// The number of what clients keep of copies, if they do.
    kept: u16,
    quoting: Quoting,
    facts: &'static Facts,
    rules: AppRules,
}

impl Checked<'_> {
    fn app(&self, file: &File, login: Vec<LoginRequest>) -> Result<AppFile, Failure> {
        let echo = file.echo.as_ref().map(|echo| self.echo(echo.get_ref())).transpose()?;
        let broadcast = match (&file.broadcast, &file.publish) {
            (Some(broadcast), Some(_)) => {
                let problem = "[publish] takes its place: what is published is what everyone gets";
                return Err(self.wrong(broadcast, problem));
            }
            (Some(broadcast), None) => Some(self.broadcast(broadcast.get_ref())?),
            (None, publish) => {
                publish.as_ref().map(|publish| self.published(publish.get_ref())).transpose()?
            }
        };
        let is_told = echo.as_ref().is_some_and(|echo| echo.is_replied) || self.rules.tells_replies;
        let at = file.broadcast.as_ref().map(Spanned::span).or(file.publish.as_ref().map(Spanned::span));
        if let (Some(Exchange { reply: None, .. }), Some(Broadcast { copy: None, .. }), Some(at), false) =
            (&echo, &broadcast, at, is_told)
        {
            let problem = "with both [echo] and [broadcast] or [publish], `reply` of the one or `copy` of the other is needed \
                           to tell their messages apart";
            return Err(self.source.error(at, problem));
        }
        if let Some(frames) = file.frames.as_ref().filter(|_| !self.facts.is_bare) {
            return Err(self.wrong(frames, "is for protocol = \"plain\"; others decide for themselves"));
        }
        let resume =
            file.resume.as_ref().map(|resume| self.resume(resume, broadcast.is_some())).transpose()?;
        Ok(AppFile {
            name: self.name(file)?,
            resume,
            binary: file.frames.as_ref().is_some_and(|frames| *frames.get_ref() == Frames::Binary),
            login,
            open: file.open.iter().map(|step| self.step(step)).collect::<Result<_, _>>()?,
            echo,
            broadcast,
            errors: file.error.iter().map(|rule| self.refusal(rule)).collect::<Result<_, _>>()?,
            answers: file.answer.iter().map(|rule| self.reaction(rule)).collect::<Result<_, _>>()?,
            ignore: file.ignore.iter().map(|rule| self.condition(&rule.when)).collect::<Result<_, _>>()?,
            heartbeat: file.heartbeat.as_ref().map(|heartbeat| self.heartbeat(heartbeat)).transpose()?,
        })
    }

    fn name(&self, file: &File) -> Result<String, Failure> {
        let Some(name) = &file.name else {
            let stem = self.source.path.and_then(Path::file_stem).unwrap_or_default();
            return Ok(stem.to_string_lossy().into_owned());
        };
        let is_sound = (1..=NAME_BYTES_MAX).contains(&name.get_ref().len())
            && name.get_ref().bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b));
        if is_sound {
            return Ok(name.get_ref().clone());
        }
        Err(self.wrong(name, format!("expected letters, digits, -, _ and ., at most {NAME_BYTES_MAX}")))
    }

    fn step(&self, step: &Spanned<Step>) -> Result<OpenStep, Failure> {
        match step.get_ref() {
            Step { event, send: Some(text), replied, expect: None, wait: None } => {
                let say = self.say(event, text, Purpose::Other)?;
                Ok(if self.replied(replied)? { OpenStep::Ask(say) } else { OpenStep::Send(say) })
            }
            Step { event: None, send: None, replied: None, expect: Some(when), wait: None } => {
                Ok(OpenStep::Expect(self.condition(when)?))
            }
            Step { event: None, send: None, replied: None, expect: None, wait: Some(time) } => {
                Ok(OpenStep::Wait(self.duration(time)?))
            }
            _ => Err(self.wrong(
                step,
                "expected exactly one of `send`, `expect` and `wait` in a step, and `event` and `replied` beside `send` \
                 alone",
            )),
        }
    }

    fn echo(&self, echo: &file::Echo) -> Result<Exchange, Failure> {
        Ok(Exchange {
            send: self.say(&echo.event, &echo.send, Purpose::Measured)?,
            reply: self.optional(&echo.reply)?,
            is_replied: self.replied(&echo.replied)?,
        })
    }

    fn broadcast(&self, broadcast: &file::Broadcast) -> Result<Broadcast, Failure> {
        Ok(Broadcast {
            send: self.say(&broadcast.event, &broadcast.send, Purpose::Measured)?,
            copy: self.optional(&broadcast.copy)?,
            own: self.optional(&broadcast.own)?,
            ack: self.optional(&broadcast.ack)?,
            is_replied: self.replied(&broadcast.replied)?,
        })
    }

    /// What is published: in a request, and so without an event's name.
    fn published(&self, publish: &file::Publish) -> Result<Broadcast, Failure> {
        let body = Template::parse(publish.body.get_ref(), Purpose::Measured, self.strangers, self.quoting);
        let body = body.map_err(|bad| {
            self.wrong(&publish.body, crate::people::explained(publish.body.get_ref(), &bad))
        })?;
        Ok(Broadcast {
            send: Say { event: String::new(), body },
            copy: self.optional(&publish.copy)?,
            own: None,
            ack: None,
            is_replied: false,
        })
    }

    fn resume(&self, resume: &file::Resume, has_copies: bool) -> Result<Resume, Failure> {
        let send = resume.send.as_ref().map(|send| self.say(&resume.event, send, Purpose::Other));
        Ok(Resume {
            keep: resume::keep(self.source, resume, has_copies)?,
            value: self.kept,
            first: resume.first.clone(),
            send: send.transpose()?,
        })
    }

    /// Whether a message is answered by the protocol's own reply, if the protocol has any.
    fn replied(&self, replied: &Option<Spanned<bool>>) -> Result<bool, Failure> {
        let Some(replied) = replied else { return Ok(false) };
        if self.rules.has_replies {
            return Ok(*replied.get_ref());
        }
        let name = self.facts.protocol;
        Err(self.wrong(replied, format!("{name} has no replies of its own; say how they look: `reply`")))
    }

    /// A message, and whether the protocol can carry it.
    fn say(
        &self,
        event: &Option<Spanned<String>>,
        text: &Spanned<String>,
        purpose: Purpose,
    ) -> Result<Say, Failure> {
        let body = self.template(text, purpose)?;
        let name = self.facts.protocol;
        match event {
            Some(event) if !self.rules.has_events => {
                let problem = format!("{name} has no names for events: the message is all there is");
                return Err(self.wrong(event, problem));
            }
            None if self.rules.has_events => {
                return Err(self.wrong(text, format!("{name} needs the name of an event beside it: `event`")));
            }
            _ => {}
        }
        let sample = body.sample();
        let (is_carried, expected) = match self.rules.body {
            Body::Any => (true, String::new()),
            Body::Object(what) => (
                is_json::<serde_json::Map<String, serde_json::Value>>(&sample),
                format!("a JSON object: {what}"),
            ),
            Body::Value(what) => (is_json::<IgnoredAny>(&sample), format!("a JSON value: {what}")),
            Body::Values(what) => {
                let values = [b"[", &sample[..], b"]"].concat();
                let expected = format!("JSON values with commas between them: {what}");
                (is_json::<IgnoredAny>(&values), expected)
            }
        };
        if !is_carried {
            return Err(self.wrong(text, format!("expected {expected}")));
        }
        let event = event.as_ref().map(|event| event.get_ref().clone()).unwrap_or_default();
        Ok(Say { event, body })
    }

    fn refusal(&self, rule: &file::ErrorRule) -> Result<Refusal, Failure> {
        let kind = rule.kind.get_ref();
        let is_sound = (1..=NAME_BYTES_MAX).contains(&kind.len())
            && kind.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_');
        if !is_sound {
            let problem = format!("expected lower-case letters, digits and _, at most {NAME_BYTES_MAX}");
            return Err(self.wrong(&rule.kind, problem));
        }
        Ok(Refusal { kind: kind.clone(), when: self.condition(&rule.when)? })
    }

    fn reaction(&self, rule: &file::AnswerRule) -> Result<Reaction, Failure> {
        let send = self.say(&rule.event, &rule.send, Purpose::Other)?;
        Ok(Reaction { when: self.condition(&rule.when)?, send })
    }

    fn heartbeat(&self, heartbeat: &file::Heartbeat) -> Result<Heartbeat, Failure> {
        Ok(Heartbeat {
            every_ns: self.duration(&heartbeat.every)?,
            send: self.say(&heartbeat.event, &heartbeat.send, Purpose::Other)?,
        })
    }

    fn optional(&self, when: &Option<Spanned<When>>) -> Result<Option<Condition>, Failure> {
        when.as_ref().map(|when| self.condition(when)).transpose()
    }

    fn condition(&self, when: &Spanned<When>) -> Result<Condition, Failure> {
        let When { event, contains, regex, json } = when.get_ref();
        let scalar =
            |(pointer, value): (&String, &Spanned<toml::Value>)| Ok((pointer.clone(), self.scalar(value)?));
        let condition = Condition {
            event: event.clone(),
            contains: contains.clone(),
            regex: regex.clone(),
            json: json.iter().map(scalar).collect::<Result<_, _>>()?,
        };
        wire::check_condition(&condition).map_err(|bad| self.wrong(when, bad))?;
        Ok(condition)
    }

    fn scalar(&self, value: &Spanned<toml::Value>) -> Result<JsonScalar, Failure> {
        Ok(match value.get_ref() {
            toml::Value::String(text) => JsonScalar::Text(text.clone()),
            toml::Value::Integer(number) => JsonScalar::Bare(number.to_string()),
            toml::Value::Float(number) if number.is_finite() => JsonScalar::Bare(number.to_string()),
            toml::Value::Boolean(word) => JsonScalar::Bare(word.to_string()),
            _ => return Err(self.wrong(value, "expected a string, a number, true or false")),
        })
    }

    fn template(&self, text: &Spanned<String>, purpose: Purpose) -> Result<Template, Failure> {
        Template::parse(text.get_ref(), purpose, self.names, self.quoting)
            .map_err(|bad| self.wrong(text, crate::people::explained(text.get_ref(), &bad)))
    }

    /// A time that is not nothing.
    fn duration(&self, text: &Spanned<String>) -> Result<u64, Failure> {
        match units::duration_ns(text.get_ref()) {
            Ok(0) => Err(self.wrong(text, "must be longer than 0")),
            Ok(ns) => Ok(ns),
            Err(error) => Err(self.wrong(text, error)),
        }
    }

    fn wrong<T>(&self, at: &Spanned<T>, problem: impl Display) -> Failure {
        self.source.error(at.span(), problem)
    }
}

fn is_json<T: DeserializeOwned>(text: &[u8]) -> bool {
    serde_json::from_slice::<T>(text).is_ok()
}

#[cfg(test)]
mod schema;
#[cfg(test)]
mod tests;
