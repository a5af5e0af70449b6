//! The applications of `examples/`, as their own pages say to start and load them.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use crew::http::{Source, Timeouts};
use serde_json::{Value, json};

use crate::support;
use crate::support::node::Scripts;
use crate::support::process::Process;
use crate::support::target::Unavailable;
use crate::support::throng::{Outcome, errors_of, loss, run, start_measuring, sum_of, throng};
use crate::support::{free_address, skip};

const SECRET: &str = "open-sesame";
const WITHIN: Duration = Duration::from_secs(90);

/// The chat on Socket.IO, running.
struct Chat {
    _process: Process,
    address: SocketAddr,
}

impl Chat {
    /// Installs and starts it; `None`, with the reason printed, where that cannot be had.
    fn start() -> Option<Chat> {
        // Once for all tests of this file, which run side by side.
        static SCRIPTS: OnceLock<Result<Scripts, String>> = OnceLock::new();
        let install = || Scripts::install_in("examples", "socketio-chat").map_err(|Unavailable(why)| why);
        let scripts = match SCRIPTS.get_or_init(install) {
            Ok(scripts) => scripts,
            Err(why) => {
                skip("the chat on Socket.IO", why);
                return None;
            }
        };
        let address = free_address();
        let mut command = scripts.command("server.js");
        let process =
            Process::start(command.env("PORT", address.port().to_string()).env("JWT_SECRET", SECRET))
                .listening_at(address);
        Some(Chat { _process: process, address })
    }

    /// A run of two hundred users in rooms of ten.
    fn broadcast(&self, app: &Path, more: &[&str]) -> Command {
        let mut command = throng(["broadcast", &format!("ws://{}/socket.io/", self.address), "--app"]);
        command.arg(app).args(["--clients", "200", "--connect-timeout", "20s"]);
        command.args(["--format", "json"]).args(more).env("JWT_SECRET", SECRET);
        command
    }

    /// How many users it says are there.
    fn users(&self) -> Value {
        let (host, port) = (self.address.ip().to_string(), self.address.port());
        let answer = Source { host, port, path: "/seen".into() }
            .get(Timeouts { word: WITHIN, answer: WITHIN })
            .expect("the server is there");
        serde_json::from_slice::<Value>(&answer.body).unwrap()["users"].clone()
    }
}

fn app() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/socketio-chat/app.toml")
}

/// The example's app, changed.
fn changed(from: &str, to: &str) -> (tempfile::TempDir, PathBuf) {
    let text = std::fs::read_to_string(app()).unwrap();
    assert!(text.contains(from), "{from}");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("app.toml");
    std::fs::write(&path, text.replace(from, to)).unwrap();
    (folder, path)
}

fn counts(outcome: &Outcome) -> [u64; 4] {
    let results = outcome.json();
    ["expected", "received", "leaked", "unexpected"].map(|name| sum_of(&results, name))
}

const ROOMS_OF_TEN: [&str; 7] = ["--room-size", "10", "--to", "others", "--rate", "50", "--duration=2s"];

#[test]
fn two_hundred_users_speak_in_rooms() {
    let Some(chat) = Chat::start() else { return };
    let running = start_measuring(&mut chat.broadcast(&app(), &ROOMS_OF_TEN));
    assert_eq!(chat.users(), json!(200), "each has a token of its own");
    let outcome = support::throng::finish(running, WITHIN);
    outcome.assert_held();
    assert_eq!(counts(&outcome), [100 * 9, 100 * 9, 0, 0], "{outcome}");
    let results = outcome.json();
    assert_eq!(results["steps"][0]["rtt"]["count"], 100, "each was called back: {outcome}");
    assert_eq!(results["steps"][0]["counts"]["errors"], json!({}), "{outcome}");

    let polling = ["--transport", "polling", "--senders", "10%"];
    let outcome = run(&mut chat.broadcast(&app(), &[&ROOMS_OF_TEN[..], &polling].concat()), WITHIN);
    assert_eq!((outcome.code, counts(&outcome)), (Some(0), [100 * 9, 100 * 9, 0, 0]), "{outcome}");
}

#[test]
fn visitors_hear_messages_while_present() {
    let Some(chat) = Chat::start() else { return };
    let visits = app().with_file_name("visits.toml");
    for more in [&["--threads", "2"][..], &["--transport", "polling"]] {
        let load = ["--rate", "100", "--duration=6s"];
        let outcome = run(&mut chat.broadcast(&visits, &[&load[..], more].concat()), WITHIN);
        outcome.assert_held();
        let results = outcome.json();
        let of = |name| sum_of(&results, name);
        assert_eq!([of("missing"), of("leaked"), of("unexpected"), of("join_failures")], [0; 4], "{outcome}");
        assert_eq!(of("expected"), of("received"), "{outcome}");
        assert!(of("visits") > 200 && of("received") > of("in_passing"), "{outcome}");
        assert!(of("seen") > of("visits") / 2 && of("unseen") == 0, "{outcome}");
        assert_eq!(results["steps"][0]["counts"]["errors"], json!({}), "{outcome}");
    }
}

#[test]
fn senders_left_out_are_told() {
    let Some(chat) = Chat::start() else { return };
    let to_all = ["--room-size", "10", "--rate", "50", "--duration=1s"];
    let outcome = run(&mut chat.broadcast(&app(), &to_all), WITHIN);
    let results = outcome.json();
    let missing = loss(&results, "missing_one");
    let numbers = (outcome.code, missing["missing"].as_u64(), missing["of"].as_u64());
    assert_eq!(numbers, (Some(3), Some(50), Some(500)), "{outcome}");

    // Without callbacks nobody is answered at all: the slots of a closed loop would wait for half a minute each.
    let (_folder, unanswered) = changed("replied = true\n\n# callback", "\n# callback");
    let started = Instant::now();
    let outcome = run(&mut chat.broadcast(&unanswered, &["--room-size", "10", "--concurrent", "4"]), WITHIN);
    assert!(started.elapsed() < Duration::from_secs(20), "{outcome}");
    let error = &outcome.json()["steps"][0]["counts"]["errors"]["unheeded"];
    assert!(error["example"].as_str().unwrap_or_default().contains("--to others"), "{outcome}");
    assert_eq!(outcome.code, Some(3), "{outcome}");
}

#[test]
fn refusals_in_callbacks_are_counted_by_kind() {
    let Some(chat) = Chat::start() else { return };
    let (_folder, nowhere) = changed(r#"'"room-{room}"'"#, r#"'""'"#);
    let outcome =
        run(&mut chat.broadcast(&nowhere, &[&ROOMS_OF_TEN[..], &["--no-preflight"]].concat()), WITHIN);
    assert_eq!(outcome.code, Some(1), "nobody is let in: {outcome}");
    assert_eq!(errors_of(&outcome.json(), "rejected_refused"), 200, "{outcome}");
    let mut stranger = chat.broadcast(&app(), &ROOMS_OF_TEN);
    let outcome = run(stranger.env("JWT_SECRET", "another"), WITHIN);
    assert_eq!(outcome.code, Some(1), "{outcome}");
    assert!(outcome.stderr.contains("not let in"), "the server is quoted: {outcome}");
}
