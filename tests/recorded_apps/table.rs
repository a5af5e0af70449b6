//! Apps that two users use, and what their files have to do.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::node::Scripts;
use crate::support::process::Process;
use crate::support::python::python_of;
use crate::support::target::{Unavailable, complete};

/// Signs tokens.
const SECRET: &str = "open-sesame-and-say-nothing-else";
/// Signed with it, for `ada` and for `bob`.
const ADAS_TOKEN: &str =
    "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiJhZGEifQ.bXp3-L3CLbnFG5SonAv4YgLLBlVLuIAFTU5dd6i_mBc";
const BOBS_TOKEN: &str =
    "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiJib2IifQ.g05sKSEq4_e0C6YeRMEQ5LCT7Gtci9hTYhz_9wqkDns";
const API_KEY: &str = "open-too-and-say-nothing";
/// Longer than Phoenix asks for.
const KEY_BASE: &str = "a-secret-of-sixty-four-bytes-that-everybody-can-read-here-and-nowhere-else";

/// An app, and the truth about its file.
pub(super) struct Case {
    pub(super) app: &'static str,
    /// Starts the server there; the folder is for its files.
    pub(super) start: fn(SocketAddr, &Path) -> Result<Process, Unavailable>,
    /// The use that is made of it: tests/clients/recorder/scenarios.js.
    pub(super) scenario: &'static str,
    /// Texts that users type, or are given.
    pub(super) settings: fn() -> Vec<Setting>,
    /// Flags of a run.
    pub(super) flags: &'static [&'static str],
    /// Receivers of each message among this many clients; none: its sender alone is answered.
    pub(super) receivers: fn(u64) -> u64,
    /// The path at which the server tells what it has counted.
    pub(super) counts_at: &'static str,
    /// The key of its messages there; `None`: all numbers are added up.
    pub(super) counted: Option<&'static str>,
    /// The key of the copies that it has sent, if it counts them.
    pub(super) copied: Option<&'static str>,
    /// The protocol that `throng record` shows.
    pub(super) protocol: &'static str,
    /// The scheme of the server's URL.
    pub(super) scheme: &'static str,
}

/// A variable for the browser's script, and the parts of its value that nobody else may see.
pub(super) struct Setting {
    pub(super) name: &'static str,
    pub(super) value: String,
    pub(super) secrets: Vec<String>,
}

/// Members of a room, where a file has rooms.
const ROOM: [&str; 2] = ["--room-size", "10"];

pub(super) const GAME: Case = Case {
    app: "a game, fire and forget",
    start: |address, _| on_node("apps", "game", address),
    scenario: "game",
    settings: Vec::new,
    flags: &[],
    receivers: |clients| clients - 1,
    counts_at: "/",
    counted: Some("said"),
    copied: Some("sent"),
    protocol: "plain",
    scheme: "ws",
};

pub(super) const SOCKETIO: Case = Case {
    app: "socketio-chat",
    start: |address, _| example_on_node("socketio-chat", address),
    scenario: "socketio",
    settings: || vec![tokens([ADAS_TOKEN, BOBS_TOKEN])],
    flags: &ROOM,
    receivers: |_| 9,
    counts_at: "/seen",
    counted: Some("lines"),
    copied: None,
    protocol: "socketio",
    scheme: "ws",
};

pub(super) const LOGIN: Case = Case {
    app: "login (Express)",
    start: |address, _| example_on_node("login", address),
    scenario: "login",
    settings: || users("login"),
    flags: &[],
    receivers: |clients| clients,
    counts_at: "/seen",
    counted: Some("lines"),
    copied: None,
    protocol: "plain",
    scheme: "ws",
};

const RAILS: Case = Case {
    app: "rails-chat",
    start: start_rails,
    scenario: "rails",
    settings: || users("rails-chat"),
    flags: &ROOM,
    receivers: |_| 10,
    counts_at: "/lines",
    counted: None,
    copied: None,
    protocol: "actioncable",
    scheme: "ws",
};

const TURBO: Case = Case { app: "rails-chat, its page with Turbo", scenario: "turbo", ..RAILS };

const PHOENIX: Case = Case {
    app: "phoenix-chat",
    start: start_phoenix,
    scenario: "phoenix",
    settings: || users("phoenix-chat"),
    flags: &ROOM,
    receivers: |_| 9,
    counts_at: "/api/lines",
    counted: Some("lines"),
    copied: None,
    protocol: "phoenix",
    scheme: "ws",
};

const LIVEVIEW: Case = Case {
    app: "a LiveView",
    start: |address, _| on_node("apps", "liveview", address),
    scenario: "liveview",
    receivers: |_| 0,
    copied: None,
    protocol: "phoenix",
    ..GAME
};

const DJANGO: Case = Case {
    app: "django-chat",
    start: start_django,
    scenario: "django",
    settings: || users("django-chat"),
    counts_at: "/lines/",
    counted: None,
    protocol: "plain",
    ..RAILS
};

const FASTAPI: Case = Case {
    app: "fastapi-notifications",
    start: start_fastapi,
    scenario: "fastapi",
    settings: with_key,
    flags: &[],
    receivers: |clients| clients,
    counts_at: "/told",
    counted: None,
    copied: None,
    protocol: "plain",
    scheme: "ws",
};

const TUTORIAL: Case = Case {
    app: "Socket.IO's tutorial",
    start: start_tutorial,
    scenario: "tutorial",
    receivers: |clients| clients,
    counts_at: "/said",
    counted: Some("said"),
    copied: None,
    protocol: "socketio",
    ..GAME
};

const YOGA: Case = Case {
    app: "GraphQL Yoga, graphql-ws",
    start: |address, _| on_node("apps", "yoga", address),
    scenario: "page",
    flags: &ROOM,
    receivers: |_| 10,
    protocol: "graphql",
    ..GAME
};

const HUB: Case = Case {
    app: "a hub of SignalR",
    start: |address, _| on_node("frames", "records", address),
    scenario: "page",
    receivers: |clients| clients,
    copied: None,
    ..GAME
};

pub(super) const NAMESPACES: Case = Case {
    app: "a namespace of Socket.IO",
    start: |address, _| on_node("frames", "namespaces", address),
    scenario: "page",
    receivers: |clients| clients,
    copied: None,
    protocol: "socketio",
    ..GAME
};

/// A page with an `EventSource`, whose lines are posted.
pub(super) const EVENTS: Case = Case {
    app: "an event stream, lines by POST",
    start: |address, _| on_node("apps", "events", address),
    scenario: "events",
    settings: || users("login"),
    flags: &ROOM,
    receivers: |_| 10,
    protocol: "event stream",
    scheme: "http",
    ..GAME
};

/// The apps of the page, in its order.
pub(super) static CASES: [&Case; 13] = [
    &RAILS, &TURBO, &PHOENIX, &LIVEVIEW, &SOCKETIO, &DJANGO, &FASTAPI, &LOGIN, &TUTORIAL, &YOGA, &HUB, &GAME,
    &EVENTS,
];

fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(name)
}

/// The first two users of an example, as the browsers type them.
fn users(name: &str) -> Vec<Setting> {
    let rows = fs::read_to_string(example(name).join("users.csv")).unwrap();
    let rows: Vec<(&str, &str)> =
        rows.lines().skip(1).take(2).map(|row| row.split_once(',').unwrap()).collect();
    let value =
        rows.iter().map(|(name, password)| format!("{name}:{password}")).collect::<Vec<_>>().join(" ");
    let secrets = rows.iter().map(|(_, password)| (*password).to_owned()).collect();
    vec![Setting { name: "USERS", value, secrets }]
}

/// A token for each of the two.
fn tokens(tokens: [&str; 2]) -> Setting {
    Setting { name: "TOKENS", value: tokens.join(" "), secrets: tokens.map(str::to_owned).to_vec() }
}

/// Tokens of two browsers of one user, who gets all notifications, and the sender's API key.
fn with_key() -> Vec<Setting> {
    let key = Setting { name: "API_KEY", value: API_KEY.to_owned(), secrets: vec![API_KEY.to_owned()] };
    vec![tokens([ADAS_TOKEN; 2]), key]
}

/// Starts a mode of `tests/servers/NAME/server.js`.
fn on_node(name: &str, mode: &str, address: SocketAddr) -> Result<Process, Unavailable> {
    let scripts = Scripts::install_in("tests/servers", name)?;
    Ok(scripts.start("server.js", &[mode, &address.port().to_string()]))
}

/// Starts a server that takes its port from `PORT`.
fn at_port(command: &mut Command, address: SocketAddr) -> Process {
    Process::start(command.env("PORT", address.port().to_string()))
}

fn example_on_node(name: &str, address: SocketAddr) -> Result<Process, Unavailable> {
    let scripts = Scripts::install_in("examples", name)?;
    Ok(at_port(scripts.command("server.js").env("JWT_SECRET", SECRET), address))
}

fn start_tutorial(address: SocketAddr, _: &Path) -> Result<Process, Unavailable> {
    let scripts = Scripts::install_in("tests/servers", "socketio")?;
    Ok(at_port(&mut scripts.command("tutorial.js"), address))
}

fn start_rails(address: SocketAddr, _: &Path) -> Result<Process, Unavailable> {
    let folder = example("rails-chat");
    complete(Command::new("./install").current_dir(&folder))?;
    Ok(at_port(Command::new("puma").current_dir(&folder), address))
}

fn start_phoenix(address: SocketAddr, _: &Path) -> Result<Process, Unavailable> {
    if Command::new("mix").arg("--version").output().is_err() {
        return Err(Unavailable("needs mix: apt install elixir".into()));
    }
    let mix = |arguments: &[&str]| {
        let mut command = Command::new("mix");
        command.args(arguments).current_dir(example("phoenix-chat"));
        command.env("MIX_ENV", "prod").env("SECRET_KEY_BASE", KEY_BASE);
        command
    };
    for tool in ["local.hex", "local.rebar"] {
        complete(&mut mix(&[tool, "--force", "--if-missing"]))?;
    }
    complete(&mut mix(&["deps.get"]))?;
    complete(&mut mix(&["compile"]))?;
    Ok(at_port(&mut mix(&["phx.server"]), address))
}

fn start_django(address: SocketAddr, files: &Path) -> Result<Process, Unavailable> {
    let folder = example("django-chat");
    let mut command = Command::new(python_of(&folder)?);
    command.args(["-B", "serve.py"]).current_dir(folder).env("DATABASE", files.join("db.sqlite3"));
    Ok(at_port(&mut command, address))
}

fn start_fastapi(address: SocketAddr, _: &Path) -> Result<Process, Unavailable> {
    let folder = example("fastapi-notifications");
    complete(Command::new("./install").current_dir(&folder))?;
    let mut command = Command::new(python_of(&folder)?);
    command.args(["-B", "serve.py"]).current_dir(folder).env("JWT_SECRET", SECRET).env("API_KEY", API_KEY);
    Ok(at_port(&mut command, address))
}
