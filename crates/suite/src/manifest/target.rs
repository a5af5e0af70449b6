//! A server under test, as its manifest describes it.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use net::signals::StopSignal;
use regex::Regex;
use wire::{DialectId, DialectOptions};

/// A server that can be installed, started, checked and measured.
#[derive(Clone, Debug)]
pub struct Target {
    /// The folder's name, with the variant's behind a dash.
    pub name: String,
    /// The folder where its commands run.
    pub folder: PathBuf,
    /// Its language.
    pub language: String,
    /// Its library.
    pub library: String,
    /// The dialects it speaks, the one to prefer first.
    pub dialects: Vec<DialectId>,
    /// The file of the app that its clients speak, where it has a protocol of its own.
    pub app: Option<PathBuf>,
    /// The abilities that it claims, by which scenarios choose it.
    pub supports: Vec<Ability>,
    /// The URL to load, with placeholders.
    pub(super) endpoint: String,
    /// Dialects that are spoken elsewhere than at `endpoint`.
    pub(super) endpoints: Vec<(DialectId, String)>,
    /// Flags that throng's load verbs need to speak with it, without their dashes.
    pub flags: Vec<(String, String)>,
    /// These flags' options of its clients.
    pub speech: DialectOptions,
    /// Programs that have to be there.
    pub requires: Vec<Requirement>,
    /// Fetches what it is built on.
    pub install: Option<Step>,
    /// Builds it; quick when nothing has changed.
    pub build: Option<Step>,
    /// The receipt for what is measured.
    pub version: Version,
    /// Runs it in the foreground.
    pub start: Step,
    /// Additions of its start over TLS.
    pub(super) tls: Option<Tls>,
    /// When it can be loaded.
    pub ready: Ready,
    /// The signal that ends it, and the time that it has for that.
    pub stop: Stop,
    /// The URL of its metrics, with placeholders.
    pub metrics: Option<String>,
    /// Why it runs, and is asked for its version, without walls, if it is.
    pub no_walls: Option<String>,
}

/// Abilities of a server for a scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Ability {
    /// Messages come back to their sender.
    Echo,
    /// Messages go to every client, with a result to the sender.
    Broadcast,
    /// `GET /` is answered with 200.
    Http,
    /// `GET /stream` is answered with a hundred events, 10 ms apart, and `[DONE]`.
    Stream,
    /// All of it at a unix socket too.
    Unix,
    /// Echoes over TLS, where it is started with a certificate.
    Tls,
}

/// A program that has to be there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Requirement {
    /// The command that succeeds where the program is there: its words.
    pub command: Vec<String>,
    /// The message for people who lack it.
    pub missing: String,
}

/// A command, run in the target's folder; its words and its environment may hold placeholders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// Program and arguments.
    pub command: Vec<String>,
    /// Added to throng's own environment.
    pub env: BTreeMap<String, String>,
}

/// Additions of a start that speaks TLS and nothing else.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Tls {
    /// Follow its command.
    pub(super) arguments: Vec<String>,
    /// Added to its environment.
    pub(super) env: BTreeMap<String, String>,
}

/// How a target is asked for its version.
#[derive(Clone, Debug)]
pub struct Version {
    /// Prints it, among other things.
    pub command: Vec<String>,
    /// Its first group is the version; without a group, all of the match.
    pub regex: Regex,
}

/// When a target can be loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ready {
    /// The probe that has to succeed.
    pub probe: Probe,
    /// It has failed if it does not work by then.
    pub timeout: Duration,
}

/// Probes that have to succeed, with placeholders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Probe {
    /// Somebody accepts connections at this `host:port`.
    Tcp(String),
    /// This URL is answered with 200.
    Http(String),
    /// A client of the first dialect becomes usable at this URL.
    Handshake(String),
}

/// How a target is ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stop {
    /// The signal for its main process.
    pub signal: StopSignal,
    /// How long it may take, before its whole process group is killed.
    pub grace: Duration,
}

impl Target {
    /// Returns whether it can do this.
    pub fn can(&self, ability: Ability) -> bool {
        self.supports.contains(&ability)
    }

    /// The name of one of its dialects: by the app's name, where it has a protocol of its own.
    pub fn name_of(&self, dialect: DialectId) -> &str {
        self.speech.app.as_ref().map_or(dialect.name(), |app| &app.name)
    }

    /// The names of all of them.
    pub fn speaks(&self) -> Vec<String> {
        self.dialects.iter().map(|dialect| self.name_of(*dialect).to_owned()).collect()
    }

    /// The URL at which it speaks a dialect, with placeholders.
    pub fn endpoint(&self, dialect: DialectId) -> &str {
        let elsewhere = self.endpoints.iter().find(|(other, _)| *other == dialect);
        elsewhere.map_or(&self.endpoint, |(_, url)| url)
    }

    /// The same server, started to speak TLS at all of its URLs; `None` if it cannot. It is ready when it
    /// accepts connections.
    pub fn over_tls(&self) -> Option<Target> {
        let tls = self.tls.as_ref()?;
        let mut secure = self.clone();
        secure.start.command.extend(tls.arguments.clone());
        secure.start.env.extend(tls.env.clone());
        secure.endpoint = secured(&self.endpoint);
        secure.endpoints = self.endpoints.iter().map(|(dialect, url)| (*dialect, secured(url))).collect();
        secure.ready.probe = Probe::Tcp("{host}:{port}".to_owned());
        Some(secure)
    }

    /// Returns whether it speaks TLS as it is.
    pub(crate) fn is_over_tls(&self) -> bool {
        ["wss:", "https:"].iter().any(|scheme| self.endpoint.starts_with(scheme))
    }
}

/// The URL with TLS: `ws` becomes `wss`, and `http` `https`.
fn secured(url: &str) -> String {
    url.replacen("://", "s://", 1)
}

impl Ability {
    /// Its name in manifests and suites.
    pub fn name(self) -> &'static str {
        match self {
            Ability::Echo => "echo",
            Ability::Broadcast => "broadcast",
            Ability::Http => "http",
            Ability::Stream => "stream",
            Ability::Unix => "unix",
            Ability::Tls => "tls",
        }
    }
}

impl fmt::Display for Ability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
