//! `--app FILE.toml`, or `--event NAME --body TEMPLATE`: reads and checks the description of a user's own app
//! (docs/APP.md).

mod checked;
mod conditions;
mod defaults;
mod file;
mod frames;
mod keeps;
mod login;
mod opening;
mod path;
mod people;
mod publish;
mod resume;
mod roles;
mod rooms;
mod says;
mod short;
mod source;
mod stream;
mod visits;

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::Arc;

use app::app_file::AppFile;
use app::people::{People, RoleKind};
use app::template::Quoting;
use load::{Plan, RoomKind, Rooms, SayKind, Workload};
use net::files;
use results::Scenario;
use toml::Spanned;
use wire::{DialectId, DialectOptions};

use crate::exit::Failure;
use crate::flags::dialect_args::{self, DialectArgs};
use crate::flags::flap::FlapArgs;
use crate::inputs;
use checked::{Checked, Conversation, Opening};
pub(crate) use defaults::RunDefaults;
use file::{Escape, File, To};
use keeps::KeptNames;
use people::Connect;
pub(crate) use publish::{Publish, PublishArgs, check_place};
pub(crate) use short::{BroadcastArgs, SayArgs};
use source::Source;
use stream::Streaming;
pub(crate) use visits::check_run as check_visits;

/// The contents of a file.
#[derive(Debug)]
pub(crate) struct Described {
    /// The app's messages.
    pub(crate) app: AppFile,
    /// The protocol that carries it.
    pub(crate) protocol: DialectId,
    /// Options of that protocol.
    pub(crate) flags: DialectArgs,
    /// The subprotocols that its clients offer.
    pub(crate) subprotocols: Vec<String>,
    /// The clients' identities.
    pub(crate) people: People,
    /// The opening request.
    pub(crate) connect: Connect,
    /// How the app is asked to tell a room something, if that is what is measured.
    pub(crate) publish: Option<Publish>,
    /// True if clients say something that differs between them.
    pub(crate) tells_apart: bool,
    /// True if what it says has a token in it somewhere.
    pub(crate) says_token: bool,
    /// How much they do if nobody says anything else.
    pub(crate) defaults: RunDefaults,
    /// Rooms that people are in, and what is said there; `None`: flags say who shares a room.
    pub(crate) rooms: Option<Rooms>,
    /// The sender of a `[broadcast]` gets no copy of it.
    pub(crate) to_others: bool,
}

/// The most clients that a step will have, as far as the reader of a file knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ClientsMax {
    /// This many.
    Known(u64),
    /// Not known, so that a number of equal rooms cannot be divided among them.
    Unknown,
    /// Not known, and not asked for: the reader makes no use of the rooms.
    Unasked,
}

impl From<Option<u64>> for ClientsMax {
    fn from(known: Option<u64>) -> Self {
        known.map_or(Self::Unknown, Self::Known)
    }
}

impl ClientsMax {
    /// The number by which rooms are divided; `None`: they cannot be.
    fn of_rooms(self) -> Option<u64> {
        match self {
            Self::Known(clients) => Some(clients),
            Self::Unknown => None,
            // As many as there can be: any number of rooms is then one that could be meant.
            Self::Unasked => Some(u32::MAX.into()),
        }
    }

    /// The number, if it is known.
    fn known(self) -> Option<u64> {
        if let Self::Known(clients) = self { Some(clients) } else { None }
    }
}

/// Returns whether the value of `--protocol` names a file, as it may.
pub(crate) fn is_file(dialect: &str) -> bool {
    dialect.ends_with(".toml")
}

/// A description above this is refused: what is in it is kept for each kind of message, not for each client.
const FILE_BYTES_MAX: u64 = 16 << 20;

/// The protocols over which an app may go, by their names.
pub(crate) fn carriers() -> String {
    let names: Vec<&str> = DialectId::carriers().map(|dialect| dialect.facts().protocol).collect();
    let (last, others) = names.split_last().expect("some carry apps");
    format!("{} or {last}", others.join(", "))
}

/// Reads a file. `given` are the people of the command line, if it has any.
pub(crate) fn read(path: &Path, given: People, clients_max: ClientsMax) -> Result<Described, Failure> {
    parse(path, &text_of(path)?, given, clients_max)
}

fn text_of(path: &Path) -> Result<String, Failure> {
    let cannot = |error: io::Error| {
        let next = if error.kind() == io::ErrorKind::NotFound { "; throng init writes one" } else { "" };
        Failure::usage(&path.display().to_string(), format!("cannot be read: {error}{next}")).in_file()
    };
    inputs::read_text(path, FILE_BYTES_MAX).map_err(cannot)
}

/// Reads a file's `[flap]` and nothing else of it: it does not depend on how many clients there are.
pub(crate) fn read_flap(path: &Path) -> Result<FlapArgs, Failure> {
    let text = text_of(path)?;
    let source = Source { path: Some(path), text: &text };
    flap(&source, &file_of(&source)?)
}

/// Reads a file's `[stream]` and nothing else of it: the rest is the clients', whoever asks.
pub(crate) fn read_stream(path: &Path) -> Result<Streaming, Failure> {
    let text = text_of(path)?;
    let source = Source { path: Some(path), text: &text };
    stream::streaming(&source, &file_of(&source)?)
}

/// Reads a file's `[load]` and nothing else of it: how many people there are comes before what they do.
pub(crate) fn read_load(path: &Path) -> Result<RunDefaults, Failure> {
    let text = text_of(path)?;
    let source = Source { path: Some(path), text: &text };
    defaults::defaults(&source, &file_of(&source)?.load)
}

/// Reads the file of a target's app: what carries it, and what is said. The clients of a shootout are all
/// alike, and a check has nothing but their connections.
pub(crate) fn of_target(path: &Path) -> Result<(DialectId, DialectOptions), String> {
    let described =
        read(path, People::default(), ClientsMax::Unasked).map_err(|failure| failure.to_string())?;
    let Described { app, protocol, flags, subprotocols, people, connect, publish, rooms, .. } = described;
    flags.check(protocol).map_err(|failure| failure.to_string())?;
    let has_more = !app.login.is_empty()
        || app.resume.is_some()
        || !subprotocols.is_empty()
        || !connect.is_usual()
        || protocol.facts().asks
        || people != People::default()
        || publish.is_some()
        || rooms.is_some();
    if has_more {
        return Err("the clients of a target are all alike: leave out people, rooms, [[login]], [connect], [publish], \
                    [stream], [resume] and subprotocols"
            .to_owned());
    }
    Ok((protocol, DialectOptions { app: Some(Arc::new(app)), ..flags.options() }))
}

/// The app that flags describe in place of a file, over this protocol. `asks_reply`: an answer of the
/// protocol's own is asked for.
pub(crate) fn of_flags(
    tells: &BroadcastArgs,
    protocol: DialectId,
    workload: Workload,
    asks_reply: bool,
    given: People,
) -> Result<Described, Failure> {
    let (text, file) = tells.file(protocol, workload, asks_reply)?;
    describe(&Source { path: None, text: &text }, &file, given, ClientsMax::Unasked)
}

/// The path at which throng's own server serves the app of a file, if not the usual one: the path that the
/// file names, or the one of its protocol. What is wrong with the file is said when it is read in full.
pub(crate) fn path_of_own_server(path: &Path) -> Option<&'static str> {
    let file: toml::Table = files::read_text(path, FILE_BYTES_MAX).ok()?.parse().ok()?;
    if file.get("connect").is_some_and(|connect| connect.get("path").is_some()) {
        return Some("/");
    }
    let protocol = DialectId::of_protocol(file.get("protocol")?.as_str()?)?;
    protocol.facts().paths.first().copied()
}

/// Checks that a run has the messages that it sends: its app, if that is the user's own, and its protocol.
pub(crate) fn check_messages(plan: &Plan, scenario: Scenario) -> Result<(), Failure> {
    // Those who stay in a storm are silent where they have nothing to say.
    if scenario.facts().has_messages && scenario != Scenario::Storm && plan.publishing.is_none() {
        check_speaks(plan.client_spec.dialect)?;
    }
    let Some(app) = &plan.client_spec.of_dialect.app else { return Ok(()) };
    let (key, is_there) = match plan.workload {
        Workload::Echo => ("[echo]", app.echo.is_some()),
        Workload::Broadcast => ("[broadcast] or [say.NAME]", !app.broadcasts.is_empty()),
    };
    // Connections that do nothing need no message, nor do those that storm.
    if is_there || !scenario.facts().has_messages || scenario == Scenario::Storm {
        return Ok(());
    }
    Err(Failure::usage("--app", format!("{} has no {key}, which throng {scenario} sends", app.name)))
}

/// Refuses a protocol whose clients say nothing.
pub(crate) fn check_speaks(dialect: DialectId) -> Result<(), Failure> {
    let facts = dialect.facts();
    if !facts.only_receives {
        return Ok(());
    }
    let problem = format!(
        "clients of {} only receive: throng broadcast with --publish-url says which request has a message told to them, as \
         --publish-url /publish/{{room}}",
        facts.name
    );
    Err(Failure::usage("--protocol", problem))
}

fn parse(path: &Path, text: &str, given: People, clients_max: ClientsMax) -> Result<Described, Failure> {
    let source = Source { path: Some(path), text };
    describe(&source, &file_of(&source)?, given, clients_max)
}

fn file_of(source: &Source<'_>) -> Result<File, Failure> {
    toml::from_str(source.text).map_err(|error| {
        let message =
            error.message().replace("unknown field", "unknown key").replace("missing field", "missing key");
        // A script of another load generator, most likely.
        let is_toml = source.path.is_none_or(|path| path.extension().is_some_and(|end| end == "toml"));
        let next = if is_toml { "" } else { "; an app's file is TOML: throng init writes one" };
        source.error(error.span().unwrap_or(0..0), message + next)
    })
}

/// Puts the parts of a file together and checks them.
fn describe(
    source: &Source<'_>,
    file: &File,
    given: People,
    clients_max: ClientsMax,
) -> Result<Described, Failure> {
    // In this order: each part may use the names of those before it, and adds its own. The columns of the
    // data come first, then rooms, what logins keep, and what a session is resumed by.
    let mut people = people::people(source, file, given)?;
    let kinds = rooms::kinds(source, file, &mut people, clients_max.of_rooms())?;
    // Publishers do not log in: they know the names up to here.
    let strangers = people.names.clone();
    let mut keeper = KeptNames::default();
    let (login, login_servers) = login::requests(source, &file.login, &mut keeper, &mut people.names)?;
    let protocol = match &file.protocol {
        _ if file.stream.is_some() => DialectId::Http,
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
    let resumed = resume::keeps(source, file, &mut keeper, &mut people.names)?;
    let (facts, names) = (protocol.facts(), &people.names);
    let flags = people::request_flags(source, file, protocol, flags, names)?;
    let mut defaults = defaults::defaults(source, &file.load)?;
    let people_max = clients_max.known().or(defaults.people);
    // Roles before kinds of messages: where there are roles, these say how often each kind is said.
    let roles = roles::kinds(source, &file.role, &file.say, people_max, &mut defaults)?;
    let says = says::kinds(source, &file.say, &kinds, &roles, &mut defaults)?;
    let rooms = rooms_of(source, file, &kinds, &says, &roles)?;
    let frames = &frames::frames(source, file, facts)?;
    let (app, said) = match facts.app {
        None => (stream::app(source, file, login, login_servers, names)?, names.clone()),
        Some(rules) => {
            let checked = Checked { source, names, strangers: &strangers, quoting, facts, rules, frames };
            let (steps, said) = opening::opening(&checked, file, &mut keeper)?;
            let opening = Opening { login, login_servers, resumed, steps };
            let conversation = Conversation { kinds: &kinds, says: &says, rooms: rooms.as_ref() };
            let app = Checked { names: &said, ..checked }.app(file, opening, &mut keeper, conversation)?;
            (app, said)
        }
    };
    defaults::check_limits(source, file, rooms.as_ref().unwrap_or(&Rooms::default()))?;
    let publish = publish::publish(source, file, &strangers)?;
    flap(source, file)?;
    let connect = people::connect(source, file, names)?;
    // Last, since these names stand for templates that may use any of the others.
    people::name_computed(source, file, &mut people.names)?;
    resume::check_said(source, file, &app)?;
    // Rooms are joined behind the login: whose it is tells none apart, unless it is for a room.
    let logins = login::texts(&file.login);
    let tells_apart = ["room", "client"].into_iter().any(|name| source.says(&app, name))
        || said.iter().any(|name| source.says_beside(&app, name, &logins));
    let says_token = source.text.contains("{token}");
    let to_others =
        file.broadcast.as_ref().is_some_and(|broadcast| broadcast.get_ref().to == Some(To::Others));
    people.roles = roles;
    Ok(Described {
        app,
        protocol,
        flags,
        subprotocols: file.subprotocols.clone(),
        people,
        connect,
        publish,
        tells_apart,
        says_token,
        defaults,
        rooms,
        to_others,
    })
}

/// Reads the rooms that people are in, and what is said there, if the file says either.
fn rooms_of(
    source: &Source<'_>,
    file: &File,
    kinds: &[RoomKind],
    says: &[SayKind],
    roles: &[RoleKind],
) -> Result<Option<Rooms>, Failure> {
    let visits = visits::visits(source, file, kinds)?;
    let Some(at) = file.room.values().map(Spanned::span).chain(file.say.values().map(Spanned::span)).next()
    else {
        return Ok(None);
    };
    let defaults = Rooms::default();
    let kinds = if kinds.is_empty() { defaults.kinds() } else { kinds };
    let says = if says.is_empty() { defaults.says() } else { says };
    let rooms = Rooms::several(kinds.to_vec(), says.to_vec(), roles.to_vec());
    let rooms = rooms.and_then(|rooms| rooms.with_visits(visits));
    let rooms = rooms.ok_or_else(|| source.error(at, "rooms that cannot be meant"))?;
    visits::check_spoken(source, file, &rooms)?;
    Ok(Some(rooms))
}

fn flap(source: &Source<'_>, file: &File) -> Result<FlapArgs, Failure> {
    let Some(flap) = file.flap.as_ref().map(Spanned::get_ref) else { return Ok(FlapArgs::default()) };
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

#[cfg(test)]
mod keeps_tests;
#[cfg(test)]
mod kinds;
#[cfg(test)]
mod schema;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod visits_tests;
