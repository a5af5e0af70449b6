//! A user's own dialect, described in TOML: the example of docs/APP.md against its chat server, which shares
//! no code with throng.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

use crate::support::process::Process;
use crate::support::target::{Unavailable, complete};
use crate::support::throng::{errors_of, loss, run, sum_of, throng};
use crate::support::{free_address, skip};

const CLIENTS: u64 = 200;
const WITHIN: Duration = Duration::from_secs(60);

/// The chat, running.
struct Chat {
    _process: Process,
    address: SocketAddr,
}

impl Chat {
    /// Installs and starts the chat with these settings; `None`, with the reason printed, where that cannot be had.
    fn start(settings: &[(&str, &str)]) -> Option<Chat> {
        let folder = example();
        for program in ["node", "npm"] {
            if !Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success()) {
                skip("the chat example", &format!("needs {program}"));
                return None;
            }
        }
        // Once for all tests of this file, which run side by side.
        static INSTALLED: std::sync::OnceLock<Result<(), String>> = std::sync::OnceLock::new();
        let installed = INSTALLED.get_or_init(|| {
            let npm = ["ci", "--no-audit", "--no-fund"];
            let outcome = complete(Command::new("npm").args(npm).current_dir(&folder));
            outcome.map(drop).map_err(|Unavailable(why)| why)
        });
        if let Err(why) = installed {
            skip("the chat example", why);
            return None;
        }
        let address = free_address();
        let mut command = Command::new("node");
        command.arg("server.js").current_dir(&folder).env("PORT", address.port().to_string());
        let process = Process::start(command.envs(settings.iter().copied())).listening_at(address);
        Some(Chat { _process: process, address })
    }

    /// The results of a run that must succeed.
    fn results(&self, verb: &str, dialect: &Path, arguments: &[&str]) -> Value {
        self.results_of(0, verb, dialect, arguments)
    }

    /// The results of a run that ends with this code.
    fn results_of(&self, code: i32, verb: &str, dialect: &Path, arguments: &[&str]) -> Value {
        let url = format!("ws://{}/", self.address);
        let clients = CLIENTS.to_string();
        let mut command = throng([verb, &url, "--format", "json", "--clients", &clients]);
        command.args(["--connect-timeout", "20s", "--payload-padding", "50", "--app"]).arg(dialect);
        let outcome = run(command.args(arguments), WITHIN);
        assert_eq!(outcome.code, Some(code), "{outcome}");
        outcome.json()
    }
}

fn example() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/chat")
}

/// The example's dialect and data in a folder of their own, each changed.
fn changed(dialect: impl Fn(String) -> String, users: impl Fn(String) -> String) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let read = |name| fs::read_to_string(example().join(name)).unwrap();
    let path = folder.path().join("app.toml");
    fs::write(&path, dialect(read("app.toml"))).unwrap();
    fs::write(folder.path().join("users.csv"), users(read("users.csv"))).unwrap();
    (folder, path)
}

fn assert_complete(results: &Value, expected: u64) {
    assert_eq!(results["dialect"], "chat");
    assert_eq!(
        (sum_of(results, "expected"), sum_of(results, "received")),
        (expected, expected),
        "{results:#}"
    );
    for nothing in ["missing", "duplicate", "corrupt", "unexpected", "reordered"] {
        assert_eq!(sum_of(results, nothing), 0, "{nothing}: {results:#}");
    }
}

#[test]
fn answers_and_room_messages_of_a_chat() {
    let Some(chat) = Chat::start(&[]) else { return };
    let dialect = example().join("app.toml");
    let echo = chat.results("echo", &dialect, &["--concurrent", "20", "--sample-size", "1000"]);
    assert_complete(&echo, 1000);
    assert_eq!(echo["steps"][0]["counts"]["errors"], serde_json::json!({}), "{echo:#}");
    let broadcast = chat.results("broadcast", &dialect, &["--concurrent", "4", "--sample-size", "20"]);
    assert_complete(&broadcast, 20 * CLIENTS);
    assert_eq!(broadcast["steps"][0]["rtt"]["count"], 20, "its own copy is what a sender waits for");
}

#[test]
fn refused_logins_are_counted_by_kind() {
    let Some(chat) = Chat::start(&[]) else { return };
    let forget = |users: String| {
        let lines = users.lines().enumerate();
        lines
            .map(|(n, line)| if n > 0 && n % 4 == 0 { format!("{line}x\n") } else { format!("{line}\n") })
            .collect()
    };
    let (_folder, dialect) = changed(|dialect| dialect, forget);
    let results = chat.results_of(3, "echo", &dialect, &["--concurrent", "10", "--sample-size", "100"]);
    assert_complete(&results, 100);
    assert_eq!(errors_of(&results, "rejected_login"), CLIENTS / 4, "{results:#}");
    assert_eq!(sum_of(&results, "connected"), CLIENTS - CLIENTS / 4);
    assert_eq!(results["steps"][0]["counts"]["errors"].as_object().unwrap().len(), 1, "{results:#}");
}

/// The server throws out who does not answer its pings, and who does not say often enough that it is alive.
#[test]
fn pings_are_answered_and_heartbeats_sent() {
    let Some(chat) = Chat::start(&[("PING_MS", "1500"), ("IDLE_MS", "4000")]) else { return };
    let idle = |code, change: &dyn Fn(String) -> String| {
        let (_folder, dialect) = changed(change, |users| users);
        chat.results_of(code, "idle", &dialect, &["--duration", "7s", "--connect-rate", "2000"])
    };
    let often = |dialect: String| dialect.replace("every = \"10s\"", "every = \"500ms\"");
    let kept = idle(0, &often);
    assert_eq!(sum_of(&kept, "connected"), CLIENTS, "{kept:#}");
    assert_eq!(sum_of(&kept, "disconnects"), 0, "{kept:#}");
    // And without either of the two everybody is lost, which is what makes the above mean something.
    let without_answer = idle(3, &|dialect| often(dialect).replace("\"pong\"", "\"alive\""));
    assert_eq!(errors_of(&without_answer, "closed"), CLIENTS, "{without_answer:#}");
    let without_heartbeat = idle(3, &|dialect| dialect);
    assert_eq!(errors_of(&without_heartbeat, "closed"), CLIENTS, "{without_heartbeat:#}");
}

#[test]
fn mistakes_end_the_run_before_it_begins() {
    let refused = |dialect: &Path, key: &str, names: &[&str]| {
        let mut echo = throng(["echo", "ws://127.0.0.1:9/", "--format", "json", "--protocol"]);
        run(echo.arg(dialect), WITHIN).assert_failed(2, key, names);
    };
    for (change, names) in [
        (
            ("reply =", "replies ="),
            &["app.toml:18:1: ", "`replies`", "`event`, `send`, `reply`, `replied`"][..],
        ),
        (("users.csv", "nobody.csv"), &["nobody.csv"]),
        (("{data.user}", "{data.name}"), &["{data.name}", "{client}, {seq}, {data.password}, {data.user}"]),
        (("[echo]", "[broadcasts]"), &["`broadcasts`"]),
    ] {
        let (_folder, dialect) = changed(|dialect| dialect.replacen(change.0, change.1, 1), |users| users);
        refused(&dialect, "usage.file", names);
    }
    let (_folder, dialect) = changed(|_| "[broadcast]\nsend = '{id}'".to_owned(), |users| users);
    refused(&dialect, "usage.app", &["[echo]"]);
}

/// The people of the example, so many to a room, in a folder of their own; lines go to the room that a person is in.
fn in_rooms(of: usize, dialect: impl Fn(String) -> String) -> (TempDir, PathBuf) {
    let room = |n: usize| if n == 0 { "room".to_owned() } else { format!("room{}", (n - 1) / of) };
    let row = |(n, line): (usize, &str)| format!("{line},{}\n", room(n));
    let users = |users: String| users.lines().enumerate().map(row).collect();
    // In what is sent, and in the condition on its answer.
    changed(|file| dialect(file.replace("lobby", "{data.room}")), users)
}

#[test]
fn a_room_hears_its_own_and_nobody_else() {
    let Some(chat) = Chat::start(&[]) else { return };
    let load = ["--rate", "50", "--duration", "1s", "--room-size", "8"];
    let (_folder, dialect) = in_rooms(8, |text| text);
    for more in [&["--threads", "1"][..], &["--threads", "3"], &["--processes", "2"]] {
        let results = chat.results("broadcast", &dialect, &[&load[..], more].concat());
        assert_complete(&results, 50 * 8);
        assert_eq!(sum_of(&results, "leaked"), 0, "{results:#}");
        assert_eq!(results["steps"][0]["completion"]["count"], 50, "each is complete: {results:#}");
        let slowest_ms = results["steps"][0]["completion"]["max_ms"].as_f64().unwrap();
        assert!(slowest_ms < 1_000.0, "complete with the last of the room: {results:#}");
    }
    // What the server answers the sender with may as well be no copy.
    let (_folder, dialect) = in_rooms(8, |text| text.replace("own = ", "ack = "));
    let others = chat.results("broadcast", &dialect, &[&load[..], &["--to", "others"]].concat());
    assert_complete(&others, 50 * 7);
    let churn =
        chat.results("broadcast", &dialect, &[&load[..], &["--to", "others", "--churn", "5%/s"]].concat());
    let of = |name| sum_of(&churn, name);
    assert_eq!((of("missing"), of("leaked"), of("unexpected")), (0, 0, 0), "{churn:#}");
    assert!(of("left") > 0 && of("expected") <= 7 * of("sent"), "{churn:#}");
}

#[test]
fn messages_of_another_room_have_leaked() {
    let Some(chat) = Chat::start(&[]) else { return };
    let (_folder, dialect) = in_rooms(10, |text| text);
    let load = ["--rate", "50", "--duration", "1s", "--room-size", "5"];
    let results = chat.results_of(3, "broadcast", &dialect, &load);
    let of = |name| sum_of(&results, name);
    assert_eq!((of("expected"), of("received"), of("leaked")), (50 * 5, 50 * 5, 50 * 5), "{results:#}");
    let leaked = loss(&results, "leaked");
    let of = |name: &str| leaked[name].as_u64();
    assert_eq!((of("leaked"), of("wrong"), of("of")), (Some(250), Some(250), Some(500)), "{leaked}");
}
