//! `throng record` and `throng init --from session.har`: apps that two users use in a Chromium, and the
//! files that are written of it. Each is run unchanged, and loses nothing by the server's own count.
//! `cargo test` records some apps; `make recordings` all, and writes docs/logs/RECORDINGS.md.

mod table;

use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::panic;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crew::http::{Source, Timeouts};
use rustix::process::Signal;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::browser::chromium;
use crate::support::logs::publish;
use crate::support::node::Scripts;
use crate::support::process::Process;
use crate::support::target::Unavailable;
use crate::support::throng::{Outcome, finish, run, sum_of, throng};
use crate::support::{free_address, skip, wait_until};
use table::{CASES, Case};

const WITHIN: Duration = Duration::from_secs(120);
const ADA: &str = "a.har";
const BOTH: [&str; 2] = ["a.har", "b.har"];
/// Messages of a run.
const MESSAGES: u64 = 40;
const LOAD: [&str; 4] = ["--rate", "20", "--duration", "2s"];
/// Clients of the file that a proxy has written, and of one from a network panel.
const CLIENTS: u64 = 50;
const CLIENTS_OF_PANELS: u64 = 20;

/// An app that is running, and two users' recordings of it.
struct Recorded {
    case: &'static Case,
    folder: TempDir,
    address: SocketAddr,
    _server: Process,
}

impl Recorded {
    /// Has two users use the app, and keeps what their network panels export; `None`, with the reason
    /// printed, where there is no such server or no browser.
    fn by_panels(case: &'static Case) -> Option<Recorded> {
        let recorded = Recorded::start(case)?;
        recorded.browse(&format!("http://{}", recorded.address))?;
        Some(recorded)
    }

    /// Has them use it through `throng record`, which writes the files.
    fn by_proxy(case: &'static Case) -> Option<Recorded> {
        let (recorded, outcome) = Recorded::by_proxy_with(case, &[])?;
        // The server is still there: the file can be tried at once.
        let next = |clients: u64| {
            let run = format!("throng run app.toml {}", recorded.url());
            let mut lines = outcome.stdout.lines().map(str::trim_start);
            lines.any(|line| line.starts_with(&run) && line.ends_with(&format!(" --clients {clients}")))
        };
        assert!(next(2) && next(20), "{outcome}");
        Some(recorded)
    }

    /// The same with these flags of `throng record`, and what that printed.
    fn by_proxy_with(case: &'static Case, flags: &[&str]) -> Option<(Recorded, Outcome)> {
        let recorded = Recorded::start(case)?;
        let mut command = throng(["record", &format!("http://{}", recorded.address), "--sessions", "2"]);
        let proxy = Process::start(command.args(flags).current_dir(&recorded.folder));
        let origins = || {
            let said = proxy.said();
            let words =
                said.split_whitespace().filter(|word| word.starts_with("http://127.") && word.ends_with('/'));
            words.map(|word| word.trim_end_matches('/').to_owned()).collect::<Vec<_>>()
        };
        assert!(wait_until(WITHIN, || origins().len() == 2), "{:?}", proxy.said());
        recorded.browse(&origins().join(","))?;
        proxy.signal(Signal::INT);
        let outcome = finish(proxy, WITHIN);
        assert_eq!(outcome.code, Some(0), "{outcome}");
        for har in ["app.har", "app-2.har"] {
            let mode = fs::metadata(recorded.path(har)).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600, "{har}");
        }
        recorded.assert_no_secrets(&outcome);
        // Each session was summed up while it was recorded.
        let heard = if case.scheme == "ws" { "heard" } else { " events" };
        for user in ["user 1: ", "user 2: "] {
            let shows = |line: &str| {
                line.starts_with(user) && [heard, case.protocol].iter().all(|word| line.contains(word))
            };
            assert!(outcome.stderr.lines().any(shows), "{user}{outcome}");
        }
        Some((recorded, outcome))
    }

    fn start(case: &'static Case) -> Option<Recorded> {
        let (address, folder) = (free_address(), tempfile::tempdir().unwrap());
        match (case.start)(address, folder.path()) {
            Ok(server) => Some(Recorded { case, folder, address, _server: server.listening_at(address) }),
            Err(Unavailable(why)) => {
                skip(case.app, &why);
                None
            }
        }
    }

    /// Has the two use the app at these origins.
    fn browse(&self, origins: &str) -> Option<()> {
        let chromium = chromium("apps in a browser")?;
        let scripts = match Scripts::install("recorder") {
            Ok(scripts) => scripts,
            Err(Unavailable(why)) => {
                skip("apps in a browser", &why);
                return None;
            }
        };
        let mut command = scripts.command("record.js");
        command.args([&chromium, self.case.scenario, origins]).args(BOTH.map(|name| self.path(name)));
        command.envs((self.case.settings)().into_iter().map(|setting| (setting.name, setting.value)));
        let mut process = Process::start(&mut command);
        let status = process.wait(WITHIN);
        assert!(status.is_some_and(|status| status.success()), "{:?}", process.into_output());
        Some(())
    }

    fn url(&self) -> String {
        format!("{}://{}", self.case.scheme, self.address)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes the file anew from these sessions.
    fn init(&self, sessions: &[&str]) {
        for old in ["app.toml", "users.csv"] {
            // Not every app has users.
            let _ = fs::remove_file(self.path(old));
        }
        let mut command = throng(["init", "app.toml"]);
        let from = sessions.iter().flat_map(|session| ["--from", session]);
        let outcome = run(command.args(from).current_dir(&self.folder), WITHIN);
        assert_eq!(outcome.code, Some(0), "{outcome}");
        self.assert_no_secrets(&outcome);
    }

    /// The app's file.
    fn file(&self) -> String {
        fs::read_to_string(self.path("app.toml")).unwrap()
    }

    /// Texts that may stand in the users' data alone: what was typed or given, and every cell of these data,
    /// which nobody else may read.
    fn secrets(&self) -> Vec<String> {
        let typed = (self.case.settings)().into_iter().flat_map(|setting| setting.secrets);
        let mut secrets: Vec<String> = typed.collect();
        let path = self.path("users.csv");
        if let Ok(users) = fs::metadata(&path) {
            assert_eq!(users.permissions().mode() & 0o777, 0o600);
            let rows = fs::read_to_string(path).unwrap();
            secrets.extend(rows.lines().skip(1).flat_map(|row| row.split(',')).map(str::to_owned));
        }
        // A letter stands everywhere.
        secrets.retain(|secret| secret.len() > 1);
        secrets
    }

    fn assert_no_secrets(&self, outcome: &Outcome) {
        let shown = format!("{}{outcome}", self.file());
        for secret in self.secrets() {
            assert!(!shown.contains(&secret), "{secret}: {shown}");
        }
    }

    /// Runs the file as it is, and asserts that nothing of what was typed is kept of it.
    fn run(&self, clients: u64, flags: &[&str]) -> Outcome {
        let mut command = throng(["run", "app.toml", &self.url(), "--format", "json"]);
        command.args(["--quiet", "--connect-timeout", "60s", "--no-preflight"]).args(LOAD);
        command.args(["--clients", &clients.to_string()]).args(flags);
        let store = self.path("store");
        let outcome = run(command.current_dir(&self.folder).env("XDG_DATA_HOME", &store), WITHIN);
        let secrets = self.secrets();
        for file in files(&store) {
            let kept = fs::read(&file).unwrap();
            for secret in &secrets {
                let is_there = kept.windows(secret.len()).any(|part| part == secret.as_bytes());
                assert!(!is_there, "{secret} in {}", file.display());
            }
        }
        outcome
    }

    /// Counts of the server, by their keys.
    fn counts(&self) -> Value {
        let (host, port) = (self.address.ip().to_string(), self.address.port());
        let source = Source { host, port, path: self.case.counts_at.into() };
        let answer = source.get(Timeouts { word: WITHIN, answer: WITHIN }).expect("the server is there");
        serde_json::from_slice(&answer.body).expect("it is JSON")
    }

    /// Messages among the server's counts.
    fn counted(&self, counts: &Value) -> u64 {
        match self.case.counted {
            None => counts.as_object().unwrap().values().filter_map(Value::as_u64).sum(),
            Some(key) => counts[key].as_u64().unwrap_or_else(|| panic!("{key} in {counts}")),
        }
    }

    /// Copies among the server's counts, if it counts them.
    fn copied(&self, counts: &Value) -> Option<u64> {
        self.case.copied.map(|key| counts[key].as_u64().unwrap_or_else(|| panic!("{key} in {counts}")))
    }

    /// Runs the file, each message of which reaches this many, and asks the server what it has counted.
    fn prove(&self, clients: u64, flags: &[&str], receivers: u64) -> Proof {
        let before = self.counts();
        let outcome = self.run(clients, flags);
        let after = self.counts();
        let counted = self.counted(&after) - self.counted(&before);
        let copied = self.copied(&after).zip(self.copied(&before)).map(|(after, before)| after - before);
        let results = outcome.json();
        // A run that could not begin has no steps.
        let of = |name| if results["steps"].is_array() { sum_of(&results, name) } else { 0 };
        let step = &results["steps"][0];
        let (due, expected, received) = match receivers {
            0 => (MESSAGES, MESSAGES, step["rtt"]["count"].as_u64().unwrap_or_default()),
            _ => (MESSAGES * receivers, of("expected"), of("received")),
        };
        // A busy machine may miss the rate, and no message for that.
        let holds = matches!(outcome.code, Some(0 | 3))
            && (of("connected"), of("sent"), counted) == (clients, MESSAGES, MESSAGES)
            && (expected, received) == (due, due)
            && copied.is_none_or(|copied| copied == due)
            && [of("leaked"), of("unexpected"), of("duplicate")] == [0; 3]
            && step["counts"]["errors"] == json!({});
        let connected = of("connected");
        Proof { connected, sent: of("sent"), counted, due, received, holds, said: outcome }
    }

    /// The same with the app's own flags and receivers.
    fn prove_own(&self, clients: u64) -> Proof {
        self.prove(clients, self.case.flags, (self.case.receivers)(clients))
    }

    fn assert_proven(&self, proof: &Proof) {
        assert!(
            proof.holds,
            "{}\n{}{}\n{}",
            self.case.app,
            proof.in_table(self.case),
            self.file(),
            proof.said
        );
    }
}

/// A run of the file, beside what the server has counted.
struct Proof {
    connected: u64,
    sent: u64,
    counted: u64,
    due: u64,
    received: u64,
    holds: bool,
    said: Outcome,
}

impl Proof {
    fn in_table(&self, case: &Case) -> String {
        let Proof { connected, sent, counted, due, received, holds, .. } = self;
        let mark = if *holds { "✓" } else { "✗" };
        format!("| {} | {connected} | {sent} | {counted} | {due} | {received} | {mark} |\n", case.app)
    }
}

/// All files below a folder.
pub(crate) fn files(folder: &Path) -> Vec<PathBuf> {
    // A run that could not begin keeps nothing.
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let entries = entries.map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

#[test]
fn moves_of_a_game_and_their_trial() {
    let Some(recorded) = Recorded::by_panels(&table::GAME) else { return };
    assert_trial_says_what_matched(&recorded);
    for (sessions, flags, others) in [(&[ADA][..], &[][..], 19), (&BOTH, &["--room-size", "5"], 4)] {
        recorded.init(sessions);
        recorded.assert_proven(&recorded.prove(CLIENTS_OF_PANELS, flags, others));
    }
}

/// Tries a recording of a game at its server, as it is and with a room that the server does not know.
fn assert_trial_says_what_matched(recorded: &Recorded) {
    let check = |change: &dyn Fn(&str) -> String, code: i32| {
        let har = fs::read_to_string(recorded.path(ADA)).unwrap();
        fs::write(recorded.path("changed.har"), change(&har)).unwrap();
        let _ = fs::remove_file(recorded.path("app.toml"));
        let mut command = throng(["init", "--from", "changed.har", "--check"]);
        let outcome = run(command.arg(recorded.url()).current_dir(&recorded.folder), WITHIN);
        assert_eq!(outcome.code, Some(code), "{outcome}");
    };
    check(&|har| har.to_owned(), 0);
    // Nobody is let in.
    check(&|har| har.replace(r#"\"type\":\"welcome\""#, r#"\"type\":\"hello\""#), 3);
}

/// Asserts that the file of an app that was recorded through the proxy holds; returns it.
fn assert_recorded(case: &'static Case) -> Option<String> {
    let recorded = Recorded::by_proxy(case)?;
    recorded.assert_proven(&recorded.prove_own(CLIENTS));
    Some(recorded.file())
}

#[test]
fn game_through_the_proxy_and_its_trial() {
    let Some((recorded, outcome)) = Recorded::by_proxy_with(&table::GAME, &["--check"]) else { return };
    let run = format!("throng run app.toml {}", recorded.url());
    for part in ["delivered", "app.toml is ready", run.as_str()] {
        assert!(outcome.stdout.contains(part), "no {part:?}: {outcome}");
    }
    recorded.assert_proven(&recorded.prove_own(CLIENTS));
}

/// The file is tried, too, before its run.
#[test]
fn events_through_the_proxy() {
    let Some((recorded, outcome)) = Recorded::by_proxy_with(&table::EVENTS, &["--check"]) else { return };
    for part in ["logged in", "delivered", "app.toml is ready"] {
        assert!(outcome.stdout.contains(part), "no {part:?}: {outcome}");
    }
    assert!(outcome.stderr.contains("published 3 times"), "{outcome}");
    recorded.assert_proven(&recorded.prove_own(CLIENTS));
    let file: toml::Table = recorded.file().parse().unwrap();
    assert!(file.contains_key("publish") && file["push"].get("clock").is_some(), "{file}");
}

#[test]
fn socketio_through_the_proxy() {
    assert_recorded(&table::SOCKETIO);
}

#[test]
fn login_through_the_proxy() {
    let Some(text) = assert_recorded(&table::LOGIN) else { return };
    let file: toml::Table = text.parse().unwrap();
    assert_eq!(file["login"].as_array().map(Vec::len), Some(3), "{text}");
    // Questions are for their sender alone.
    assert!(file["echo"]["send"].as_str().unwrap().contains("ask"), "{text}");
}

#[test]
#[ignore = "half a minute: make recordings"]
fn namespace_through_the_proxy() {
    assert_recorded(&table::NAMESPACES);
}

#[test]
#[ignore = "takes minutes: make recordings"]
fn every_app_through_the_proxy() {
    // Without one, the page would say of each app that it is not here.
    if chromium("recorded apps").is_none() {
        return;
    }
    let mut table = String::from(HEAD);
    let mut failed = Vec::new();
    for case in CASES {
        // What fails on the way fails its row, and not the table of all others.
        let proved = panic::catch_unwind(|| {
            let recorded = Recorded::by_proxy(case)?;
            let proof = recorded.prove_own(CLIENTS);
            Some((recorded, proof))
        });
        let (recorded, proof) = match proved {
            Ok(Some(proved)) => proved,
            Ok(None) => {
                table += &format!("| {} | not here |  |  |  |  |  |\n", case.app);
                continue;
            }
            Err(_) => {
                table += &format!("| {} | not proven |  |  |  |  | ✗ |\n", case.app);
                failed.push(case.app.to_owned());
                continue;
            }
        };
        let row = proof.in_table(case);
        print!("{row}");
        table += &row;
        if !proof.holds {
            failed.push(format!("{}\n{}\n{}", case.app, recorded.file(), proof.said));
        }
    }
    publish("RECORDINGS.md", &table);
    assert!(failed.is_empty(), "{}", failed.join("\n\n"));
}

/// The head of the page's table.
const HEAD: &str = "\
| app | clients | sent | counted by its server | due | received | |
|---|---|---|---|---|---|---|
";

#[test]
#[ignore = "takes minutes: make recordings"]
fn every_app_in_the_network_panel() {
    for case in CASES.into_iter().chain([&table::NAMESPACES]) {
        let Some(recorded) = Recorded::by_panels(case) else { continue };
        for sessions in [&[ADA][..], &BOTH] {
            recorded.init(sessions);
            recorded.assert_proven(&recorded.prove_own(CLIENTS_OF_PANELS));
        }
    }
}
