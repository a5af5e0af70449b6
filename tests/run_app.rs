//! `throng run`: the app's file says what is run, how many do it, and how much; and its runs go into suites
//! and comparisons like others.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

use crate::support::throng::{Outcome, Server, run, sum_of, throng};

const WITHIN: Duration = Duration::from_secs(60);

const CHAT: &str = r#"
protocol = "actioncable"
flags = { channel = "BenchmarkChannel", channel-params = '{"room":"{room}"}' }

[load]
people = 20
rate = "50/s"
duration = "1s"
"#;
const BROADCAST: &str = r#"
[broadcast]
event = "broadcast"
send = '{"text":"{id} {padding}"}'
copy = { event = "broadcast" }
ack = { event = "broadcastResult" }
"#;
const ECHO: &str = r#"
[echo]
event = "echo"
send = '{"text":"{id}"}'
reply = { event = "echo" }
"#;

/// A folder with an app's file.
fn app(text: &str) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("chat.toml");
    fs::write(&path, text).unwrap();
    (folder, path)
}

fn run_app(server: &Server, app: &Path, more: &[&str]) -> Outcome {
    let mut command = throng(["run"]);
    command.arg(app).arg(format!("ws://{}/cable", server.address));
    run(command.args(["--format", "json", "--quiet"]).args(more), WITHIN)
}

/// Scenario, clients, messages sent, messages received.
fn done(outcome: &Outcome) -> (String, u64, u64, u64) {
    outcome.assert_held();
    let results = outcome.json();
    let scenario = results["scenario"].as_str().unwrap().to_owned();
    let [connected, sent, received] = ["connected", "sent", "received"].map(|name| sum_of(&results, name));
    (scenario, connected, sent, received)
}

#[test]
fn it_runs_what_the_file_has() {
    let server = Server::start(&[]);
    let (_folder, all) = app(&[CHAT, BROADCAST, ECHO].concat());
    assert_eq!(done(&run_app(&server, &all, &["--room-size", "5"])), ("broadcast".into(), 20, 50, 250));
    let (_folder, echo) = app(&[CHAT, ECHO].concat());
    assert_eq!(done(&run_app(&server, &echo, &[])), ("echo".into(), 20, 50, 50));
    let (_folder, silent) = app(CHAT);
    assert_eq!(done(&run_app(&server, &silent, &[])), ("idle".into(), 20, 0, 0));
}

/// A file that was made for a server of the user's runs against no other.
#[test]
fn files_of_other_servers_need_a_url() {
    for (more, url) in [
        ("[[login]]\npost = '/login'\n", "ws://"),
        ("[connect]\norigin = 'https://chat.example.com'\n", "wss://chat.example.com"),
    ] {
        let (folder, _) = app(&[CHAT, ECHO, more].concat());
        let mut command = throng(["run", "chat.toml", "--clients", "7", "--format", "json", "--no-store"]);
        let outcome = run(command.current_dir(folder.path()), WITHIN);
        outcome.assert_failed(2, "usage.url", &["throng run chat.toml", url, "--clients 7"]);
    }
}

#[test]
fn flags_take_precedence_over_the_file() {
    let server = Server::start(&[]);
    let (_folder, chat) = app(&[CHAT, BROADCAST].concat());
    for (more, expected) in [
        (&["--clients", "10"][..], (10, 50, 500)),
        (&["--clients", "10", "--rate", "20", "--duration", "500ms"], (10, 10, 100)),
        (&["--rate", "20/500ms,40/500ms"], (20, 30, 600)),
        (&["--concurrent", "2", "--sample-size", "10"], (20, 10, 200)),
        (&["--initial-clients", "5", "--total-steps", "1"], (5, 50, 250)),
    ] {
        let (_, connected, sent, received) = done(&run_app(&server, &chat, more));
        assert_eq!((connected, sent, received), expected, "{more:?}");
    }
}

#[test]
fn limits_of_flags_replace_the_files() {
    let server = Server::start(&[]);
    let text = CHAT.replace("[load]", "[load]\nlimits = [\"rtt.min<1us\", \"missing==0\"]");
    let (_folder, app) = app(&format!("{text}{BROADCAST}"));
    let limits = |outcome: &Outcome| -> Vec<(String, bool)> {
        let limits = outcome.json()["steps"][0]["limits"].clone();
        let limits = limits.as_array().unwrap_or_else(|| panic!("{outcome}")).iter();
        limits.map(|l| (l["limit"].as_str().unwrap().to_owned(), l["passed"] == true)).collect()
    };
    let outcome = run_app(&server, &app, &[]);
    assert_eq!(outcome.code, Some(3), "{outcome}");
    assert_eq!(limits(&outcome), [("rtt.min<1us".to_owned(), false), ("missing==0".to_owned(), true)]);
    let outcome = run_app(&server, &app, &["--limit", "rtt.max<=10min"]);
    assert_eq!(limits(&outcome), [("rtt.max<=10min".to_owned(), true)], "{outcome}");
}

#[test]
fn people_may_be_number_or_file() {
    let server = Server::start(&[]);
    let text = [CHAT, BROADCAST].concat().replace("{room}", "{person.club}");
    let (folder, chat) = app(&text);
    let people = folder.path().join("people.csv");
    fs::write(&people, "club\n".to_owned() + &"a\na\n".repeat(5) + &"b\n".repeat(10)).unwrap();
    let more = ["--users", people.to_str().unwrap(), "--room-size", "10"];
    assert_eq!(done(&run_app(&server, &chat, &more)), ("broadcast".into(), 20, 50, 500));
}

#[test]
fn mistakes_say_what_to_do() {
    let server = Server::start(&[]);
    let (_folder, silent) = app(CHAT);
    let (_other, echo) = app(&[CHAT, ECHO].concat());
    let (_third, wrong) = app(&CHAT.replace("50/s", "50 apples"));
    let (fourth, own) = app(&[CHAT, ECHO, "[people]\ndata = 'own.csv'\n"].concat());
    let users = fourth.path().join("users.csv");
    fs::write(&users, "name\nann\n").unwrap();
    for (file, more, key, name) in [
        (&silent, &["--rate", "5"][..], "rate", "[broadcast], [say.NAME]"),
        (&silent, &["--search"], "search", "[broadcast], [say.NAME]"),
        (&echo, &["--senders", "10%"], "senders", "[broadcast]"),
        (&echo, &["--to", "others"], "to", "[broadcast]"),
        (&silent, &["--users", "5"], "users", "--clients 5"),
        (&own, &["--users", users.to_str().unwrap()], "users", "own.csv"),
        (&silent, &["--app", "x.toml"], "app", "throng run app.toml"),
        (&PathBuf::from("ws://127.0.0.1:9/"), &[], "file", "throng run app.toml"),
        (&wrong, &[], "file", "chat.toml:7:8"),
    ] {
        run_app(&server, file, more).assert_failed(2, &format!("usage.{key}"), &[name]);
    }
}

#[test]
fn two_runs_of_an_app_are_compared() {
    let server = Server::start(&[]);
    let (folder, chat) = app(&[CHAT, BROADCAST].concat());
    let files: Vec<PathBuf> = ["a.json", "b.json"].map(|name| folder.path().join(name)).into();
    for file in &files {
        fs::write(file, run_app(&server, &chat, &[]).stdout).unwrap();
    }
    let outcome = run(throng(["compare", "--format", "json"]).args(&files), WITHIN);
    assert_eq!(outcome.code, Some(0), "{outcome}");
    assert!(outcome.stdout.contains("delivery"), "{outcome}");

    // Two apps, side by side: both are named.
    let (_folder, other) = app(&["name = \"other\"\n", CHAT, BROADCAST].concat());
    fs::write(&files[1], run_app(&server, &other, &[]).stdout).unwrap();
    let outcome = run(throng(["compare"]).args(&files), WITHIN);
    let named = ["chat/actioncable", "other/actioncable"].map(|name| outcome.stdout.contains(name));
    assert_eq!((outcome.code, named), (Some(0), [true; 2]), "{outcome}");
}

#[test]
fn scenarios_name_apps_beside_their_suite() {
    let (folder, _chat) = app(&[CHAT, BROADCAST].concat());
    let suite = folder.path().join("suite.toml");
    let text = "title = \"A chat\"\nrepeats = 2\ncooldown = \"0s\"\ntargets = [\"throng\"]\n\n[[scenario]]\nname = \"chat\"\n\
                verb = \"broadcast\"\ndialects = [\"actioncable\"]\nsupports = [\"broadcast\"]\n\
                flags = { app = \"chat.toml\", clients = 20, rate = 20, duration = \"1s\" }\nfigures = [\"rtt.p95\"]\n";
    fs::write(&suite, text).unwrap();
    let out = folder.path().join("out");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut command = throng(["shootout", suite.to_str().unwrap(), "--out", out.to_str().unwrap()]);
    let outcome = run(command.current_dir(root), WITHIN);
    assert_eq!(outcome.code, Some(0), "{outcome}");
    let files = fs::read_dir(out.join("chat")).unwrap().map(|entry| entry.unwrap().path());
    let results: Vec<Value> = files
        .filter_map(|path| serde_json::from_str(&fs::read_to_string(path).ok()?).ok())
        .filter(|value: &Value| value["dialect"] == "chat/actioncable")
        .collect();
    assert_eq!(results.len(), 2, "{outcome}");
    assert!(results.iter().all(|run| sum_of(run, "received") == 20 * 20), "{outcome}");
}
