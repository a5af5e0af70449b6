//! `throng init --from session.har`: apps that two people use in a Chromium, and the files that are written
//! from what its network panel exports. Each file is run unchanged, and loses nothing by the server's own
//! count.

use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::json;
use tempfile::TempDir;

use crate::support::app::App;
use crate::support::browser::chromium;
use crate::support::node::Scripts;
use crate::support::process::Process;
use crate::support::python::python_of;
use crate::support::target::{Unavailable, complete};
use crate::support::throng::{Outcome, finish, run, sum_of, throng};
use crate::support::{free_address, skip, wait_until};

const WITHIN: Duration = Duration::from_secs(120);
const ADA: &str = "a.har";
const BOTH: [&str; 2] = ["a.har", "b.har"];
/// Forty messages, each to two rooms of ten or to one of twenty.
const LOAD: [&str; 4] = ["--rate", "20", "--duration", "2s"];
const SECRET: &str = "open-sesame-and-say-nothing-else";
/// Signed with it, for `ada`.
const TOKEN: &str =
    "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiJhZGEifQ.bXp3-L3CLbnFG5SonAv4YgLLBlVLuIAFTU5dd6i_mBc";

/// Two people's recordings of an app.
struct Recorded {
    folder: TempDir,
    address: SocketAddr,
}

impl Recorded {
    /// Uses the app; `None`, with the reason printed, where there is no browser.
    fn of(scenario: &str, address: SocketAddr, settings: &[(&str, &str)]) -> Option<Recorded> {
        let folder = tempfile::tempdir().unwrap();
        Recorded::in_folder(folder, scenario, address, &format!("http://{address}"), settings)
    }

    /// Uses the app through `throng record`, as two users, and has it write its files.
    fn through_proxy(scenario: &str, address: SocketAddr, settings: &[(&str, &str)]) -> Option<Recorded> {
        let folder = tempfile::tempdir().unwrap();
        let mut command = throng(["record", &format!("http://{address}"), "--sessions", "2"]);
        let proxy = Process::start(command.current_dir(&folder));
        let origins = || {
            let said = proxy.said();
            let words =
                said.split_whitespace().filter(|word| word.starts_with("http://127.") && word.ends_with('/'));
            words.map(|word| word.trim_end_matches('/').to_owned()).collect::<Vec<_>>()
        };
        assert!(wait_until(WITHIN, || origins().len() == 2), "{:?}", proxy.said());
        let recorded = Recorded::in_folder(folder, scenario, address, &origins().join(","), settings)?;
        proxy.signal(Signal::INT);
        let outcome = finish(proxy, WITHIN);
        assert_eq!(outcome.code, Some(0), "{outcome}");
        for har in ["app.har", "app-2.har"] {
            let mode = fs::metadata(recorded.path(har)).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600, "{har}");
        }
        for cell in recorded.cells() {
            assert!(!outcome.stdout.contains(&cell) && !outcome.stderr.contains(&cell), "{cell}: {outcome}");
            assert!(!recorded.file().contains(&cell), "{cell}");
        }
        Some(recorded)
    }

    /// Has the two use the app at these origins.
    fn in_folder(
        folder: TempDir,
        scenario: &str,
        address: SocketAddr,
        origins: &str,
        settings: &[(&str, &str)],
    ) -> Option<Recorded> {
        let chromium = chromium("apps in a browser")?;
        let scripts = match Scripts::install("recorder") {
            Ok(scripts) => scripts,
            Err(Unavailable(why)) => {
                skip("apps in a browser", &why);
                return None;
            }
        };
        let mut command = scripts.command("record.js");
        command.args([&chromium, scenario, origins]);
        command.args(BOTH.map(|name| folder.path().join(name))).envs(settings.iter().copied());
        let mut process = Process::start(&mut command);
        let status = process.wait(WITHIN);
        assert!(status.is_some_and(|status| status.success()), "{:?}", process.into_output());
        Some(Recorded { folder, address })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes the file anew, and returns it.
    fn init(&self, sessions: &[&str]) -> String {
        for old in ["app.toml", "users.csv"] {
            // Not every app has users.
            let _ = fs::remove_file(self.path(old));
        }
        let mut command = throng(["init", "app.toml"]);
        let from = sessions.iter().flat_map(|session| ["--from", session]);
        let outcome = run(command.args(from).current_dir(&self.folder), WITHIN);
        assert_eq!(outcome.code, Some(0), "{outcome}");
        let text = self.file();
        for cell in self.cells() {
            assert!(!text.contains(&cell) && !outcome.stdout.contains(&cell), "{cell}: {text}");
        }
        text
    }

    /// The app's file.
    fn file(&self) -> String {
        fs::read_to_string(self.path("app.toml")).unwrap()
    }

    /// Cells of the users' data: what was typed, and what lets a user in, from a file that nobody else may read.
    fn cells(&self) -> Vec<String> {
        let path = self.path("users.csv");
        let Ok(users) = fs::metadata(&path) else { return Vec::new() };
        assert_eq!(users.permissions().mode() & 0o777, 0o600);
        let rows = fs::read_to_string(path).unwrap();
        rows.lines().skip(1).flat_map(|row| row.split(',')).map(str::to_owned).collect()
    }

    /// Runs the file as it is, and asserts that nothing of what was typed is kept of it.
    fn run(&self, flags: &[&str]) -> Outcome {
        self.run_by("20", flags)
    }

    /// The same with this many clients.
    fn run_by(&self, clients: &str, flags: &[&str]) -> Outcome {
        let mut command = throng(["run", "app.toml", &format!("ws://{}", self.address), "--format", "json"]);
        command.args(["--quiet", "--connect-timeout", "60s", "--no-preflight"]).args(LOAD);
        command.args(["--clients", clients]).args(flags);
        let store = self.path("store");
        let outcome = run(command.current_dir(&self.folder).env("XDG_DATA_HOME", &store), WITHIN);
        for file in files(&store) {
            let kept = fs::read(&file).unwrap();
            for cell in self.cells() {
                let is_there = kept.windows(cell.len()).any(|part| part == cell.as_bytes());
                assert!(!is_there, "{cell} in {}", file.display());
            }
        }
        outcome
    }

    /// Runs the file with fifty clients, and asserts that each message reaches this many of them.
    fn assert_fifty(&self, flags: &[&str], each: u64) {
        let outcome = self.run_by("50", flags);
        assert_delivered_to(&outcome, 50, each, &self.file());
    }

    /// Writes the file from one session and from both, and asserts that each message reaches this many each time.
    fn assert_delivers(&self, flags: &[&str], each: u64) -> String {
        let mut text = String::new();
        for sessions in [&[ADA][..], &BOTH] {
            text = self.init(sessions);
            let outcome = self.run(flags);
            assert_delivered(&outcome, each, &text);
        }
        text
    }
}

/// All files below a folder.
pub(crate) fn files(folder: &Path) -> Vec<PathBuf> {
    // A run that could not begin keeps nothing.
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let entries = entries.map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

/// Asserts that each message reached `each` clients, and that nothing else was heard.
fn assert_delivered(outcome: &Outcome, each: u64, text: &str) {
    assert_delivered_to(outcome, 20, each, text);
}

/// The same for a run of this many clients.
fn assert_delivered_to(outcome: &Outcome, clients: u64, each: u64, text: &str) {
    // A busy machine may miss the rate, and no message for that.
    assert!(matches!(outcome.code, Some(0 | 3)), "{text}\n{outcome}");
    let results = outcome.json();
    let of = |name| sum_of(&results, name);
    assert_eq!((of("connected"), of("sent")), (clients, 40), "{text}\n{outcome}");
    assert_eq!((of("expected"), of("received")), (40 * each, 40 * each), "{text}\n{outcome}");
    assert_eq!([of("leaked"), of("unexpected"), of("duplicate")], [0; 3], "{text}\n{outcome}");
    assert_eq!(results["steps"][0]["counts"]["errors"], json!({}), "{text}\n{outcome}");
}

/// Starts a server that takes its port from `PORT`; `None`, with the reason printed, where it cannot be had.
fn start(mut command: Command) -> (Process, SocketAddr) {
    let address = free_address();
    let process = Process::start(command.env("PORT", address.port().to_string())).listening_at(address);
    (process, address)
}

fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(name)
}

/// An example on Node.js, running.
fn start_on_node(name: &str, settings: &[(&str, &str)]) -> Option<(Process, SocketAddr)> {
    match Scripts::install_in("examples", name) {
        Ok(scripts) => {
            let mut command = scripts.command("server.js");
            command.envs(settings.iter().copied());
            Some(start(command))
        }
        Err(Unavailable(why)) => {
            skip(name, &why);
            None
        }
    }
}

/// The first users of an example, as the browsers type them.
fn users(name: &str) -> String {
    let rows = fs::read_to_string(example(name).join("users.csv")).unwrap();
    rows.lines().skip(1).take(2).map(|row| row.replacen(',', ":", 1)).collect::<Vec<_>>().join(" ")
}

#[test]
fn moves_of_a_game() {
    let Some(app) = App::on_node("apps", "game", "") else { return };
    let Some(recorded) = Recorded::of("game", app.address, &[]) else { return };
    for (sessions, flags, others) in [(&[ADA][..], &[][..], 19), (&BOTH, &["--rooms", "5"], 4)] {
        let (said, sent) = (app.counted("said"), app.counted("sent"));
        let text = recorded.init(sessions);
        let outcome = recorded.run(flags);
        assert_delivered(&outcome, others, &text);
        assert_eq!((app.counted("said") - said, app.counted("sent") - sent), (40, 40 * others), "{outcome}");
    }
}

#[test]
#[ignore = "the same is recorded through the proxy: make recordings"]
fn chat_on_socketio() {
    let Some((_server, address)) = start_on_node("socketio-chat", &[("JWT_SECRET", SECRET)]) else {
        return;
    };
    let tokens = format!("{TOKEN} {TOKEN}");
    let Some(recorded) = Recorded::of("socketio", address, &[("TOKENS", &tokens)]) else { return };
    recorded.assert_delivers(&["--rooms", "10"], 9);
}

/// The chat on Rails, running.
fn start_rails() -> Option<(Process, SocketAddr)> {
    let folder = example("rails-chat");
    if let Err(Unavailable(why)) = complete(Command::new("./install").current_dir(&folder)) {
        skip("Rails (Debian's packages)", &why);
        return None;
    }
    let mut command = Command::new("puma");
    command.current_dir(&folder);
    Some(start(command))
}

#[test]
#[ignore = "half a minute: make recordings"]
fn chat_on_rails() {
    let Some((_server, address)) = start_rails() else { return };
    for scenario in ["rails", "turbo"] {
        let Some(recorded) = Recorded::of(scenario, address, &[("USERS", &users("rails-chat"))]) else {
            return;
        };
        recorded.assert_delivers(&["--rooms", "10"], 10);
    }
}

#[test]
#[ignore = "the same is recorded through the proxy: make recordings"]
fn chat_behind_a_login() {
    let Some((_server, address)) = start_on_node("login", &[]) else { return };
    let Some(recorded) = Recorded::of("login", address, &[("USERS", &users("login"))]) else { return };
    let text = recorded.assert_delivers(&[], 20);
    let file: toml::Table = text.parse().unwrap();
    assert_eq!(file["login"].as_array().map(Vec::len), Some(3), "{text}");
    // Questions are for their sender alone.
    assert!(file["echo"]["send"].as_str().unwrap().contains("ask"), "{text}");
}

#[test]
#[ignore = "half a minute: make recordings"]
fn chat_on_django() {
    let python = match python_of(&example("django-chat")) {
        Ok(python) => python,
        Err(Unavailable(why)) => return skip("Django Channels (PyPI)", &why),
    };
    let database = tempfile::tempdir().unwrap();
    let mut command = Command::new(python);
    command.args(["-B", "serve.py"]).current_dir(example("django-chat"));
    command.env("DATABASE", database.path().join("db.sqlite3"));
    let (_server, address) = start(command);
    let Some(recorded) = Recorded::of("django", address, &[("USERS", &users("django-chat"))]) else { return };
    recorded.assert_delivers(&["--rooms", "10"], 10);
}

#[test]
#[ignore = "half a minute: make recordings"]
fn clicks_on_a_liveview() {
    let Some(app) = App::on_node("apps", "liveview", "") else { return };
    let Some(recorded) = Recorded::of("liveview", app.address, &[]) else { return };
    let before = app.counted("said");
    let text = recorded.init(&[ADA]);
    let outcome = recorded.run(&[]);
    let results = outcome.json();
    assert_eq!(results["steps"][0]["rtt"]["count"], 40, "{text}\n{outcome}");
    assert_eq!(app.counted("said") - before, 40, "{text}\n{outcome}");
}

#[test]
#[ignore = "half a minute: make recordings"]
fn subscriptions_of_graphql() {
    let scripts = match Scripts::install_in("tests/servers", "graphql") {
        Ok(scripts) => scripts,
        Err(Unavailable(why)) => return skip("graphql-ws (npm)", &why),
    };
    let address = free_address();
    let _server = scripts.start("server.js", &[&address.port().to_string()]).listening_at(address);
    let Some(recorded) = Recorded::of("graphql", address, &[]) else { return };
    recorded.assert_delivers(&["--rooms", "10"], 10);
}

#[test]
fn trial_says_what_matched() {
    let Some(app) = App::on_node("apps", "game", "") else { return };
    let Some(recorded) = Recorded::of("game", app.address, &[]) else { return };
    let check = |change: &dyn Fn(&str) -> String, code: i32| {
        let har = fs::read_to_string(recorded.path(ADA)).unwrap();
        fs::write(recorded.path("changed.har"), change(&har)).unwrap();
        let _ = fs::remove_file(recorded.path("app.toml"));
        let mut command = throng(["init", "--from", "changed.har", "--check"]);
        let url = format!("ws://{}", recorded.address);
        let outcome = run(command.arg(url).current_dir(&recorded.folder), WITHIN);
        assert_eq!(outcome.code, Some(code), "{outcome}");
    };
    check(&|har| har.to_owned(), 0);
    // A room that the server does not know by this name: nobody is let in.
    check(&|har| har.replace(r#"\"type\":\"welcome\""#, r#"\"type\":\"hello\""#), 3);
}

/// Modes of tests/servers/frames, which count what they send.
#[test]
#[ignore = "half a minute: make recordings"]
fn hubs_namespaces_and_their_counts() {
    // Each client of SignalR begins with a ping, which the server counts as well.
    for (mode, scenario, said) in [("records", "signalr", 40 + 20), ("namespaces", "namespaces", 40)] {
        let Some(app) = App::on_node("frames", mode, "") else { return };
        let Some(recorded) = Recorded::of(scenario, app.address, &[]) else { return };
        for sessions in [&[ADA][..], &BOTH] {
            let text = recorded.init(sessions);
            let before = app.counted("said");
            assert_delivered(&recorded.run(&[]), 20, &text);
            assert_eq!(app.counted("said") - before, said, "{text}");
        }
    }
}

#[test]
#[ignore = "half a minute: make recordings"]
fn notifications_on_fastapi() {
    let folder = example("fastapi-notifications");
    let install = complete(Command::new("./install").current_dir(&folder)).and_then(|_| python_of(&folder));
    let python = match install {
        Ok(python) => python,
        Err(Unavailable(why)) => return skip("FastAPI (PyPI) and Redis (Debian)", &why),
    };
    let mut command = Command::new(python);
    command.args(["-B", "serve.py"]).current_dir(folder).env("JWT_SECRET", SECRET).env("API_KEY", "open-too");
    let (_server, address) = start(command);
    let tokens = format!("{TOKEN} {TOKEN}");
    let Some(recorded) = Recorded::of("fastapi", address, &[("TOKENS", &tokens), ("API_KEY", "open-too")])
    else {
        return;
    };
    // The key is no cell by itself: `Bearer` is before it.
    let text = recorded.init(&[ADA]);
    assert!(!text.contains("open-too"), "{text}");
    assert_delivered(&recorded.run(&[]), 20, &text);
}

#[test]
fn game_through_the_proxy() {
    let Some(app) = App::on_node("apps", "game", "") else { return };
    let Some(recorded) = Recorded::through_proxy("game", app.address, &[]) else { return };
    let (said, sent) = (app.counted("said"), app.counted("sent"));
    recorded.assert_fifty(&[], 49);
    assert_eq!((app.counted("said") - said, app.counted("sent") - sent), (40, 40 * 49));
}

#[test]
fn socketio_through_the_proxy() {
    let Some((_server, address)) = start_on_node("socketio-chat", &[("JWT_SECRET", SECRET)]) else {
        return;
    };
    let tokens = format!("{TOKEN} {TOKEN}");
    let Some(recorded) = Recorded::through_proxy("socketio", address, &[("TOKENS", &tokens)]) else { return };
    recorded.assert_fifty(&["--rooms", "10"], 9);
}

#[test]
fn login_through_the_proxy() {
    let Some((_server, address)) = start_on_node("login", &[]) else { return };
    let Some(recorded) = Recorded::through_proxy("login", address, &[("USERS", &users("login"))]) else {
        return;
    };
    recorded.assert_fifty(&[], 50);
}

#[test]
#[ignore = "half a minute: make recordings"]
fn rails_through_the_proxy() {
    let Some((_server, address)) = start_rails() else { return };
    let Some(recorded) = Recorded::through_proxy("rails", address, &[("USERS", &users("rails-chat"))]) else {
        return;
    };
    recorded.assert_fifty(&["--rooms", "10"], 10);
}
