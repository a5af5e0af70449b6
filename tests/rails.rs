//! The chat on Rails, as examples/rails-chat has it: people log in by a form with Rails' authenticity token,
//! and have a subscription for each room, in the channel of the chat and in the way of Turbo. Rails, Action
//! Cable and Puma share no code with throng.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crew::http::{Source, Timeouts};
use serde_json::{Value, json};

use crate::support::process::Process;
use crate::support::target::{Unavailable, complete};
use crate::support::throng::{Outcome, errors_of, run, sum_of, throng};
use crate::support::{free_address, skip};

const CLIENTS: u64 = 50;
const PER_ROOM: u64 = 10;
const WITHIN: Duration = Duration::from_secs(120);

/// Logs somebody in, as a browser does, and prints the cookie of the session.
const LOGIN: &str = r#"
port, name, password = ARGV
http = Net::HTTP.new("127.0.0.1", port)
form = http.get("/session/new")
token = form.body[/name="authenticity_token" value="([^"]+)"/, 1]
fields = URI.encode_www_form(authenticity_token: token, name: name, password: password)
print http.post("/session", fields, "Cookie" => form["set-cookie"][/[^;]+/])["set-cookie"][/[^;]+/]
"#;

/// The chat, running.
struct Chat {
    _process: Process,
    address: SocketAddr,
}

impl Chat {
    /// Installs and starts it; `None`, with the reason printed, where that cannot be had.
    fn start() -> Option<Chat> {
        if let Err(Unavailable(why)) = complete(Command::new("./install").current_dir(example())) {
            skip("Rails (Debian's packages)", &why);
            return None;
        }
        let address = free_address();
        let mut command = Command::new("puma");
        command.current_dir(example()).env("PORT", address.port().to_string());
        let process = Process::start(&mut command).listening_at(address);
        Some(Chat { _process: process, address })
    }

    fn run(&self, verb: &str, app: &Path, arguments: &[&str]) -> Outcome {
        let mut command = throng([verb, &format!("ws://{}/cable", self.address), "--format", "json"]);
        command.args(["--clients", &CLIENTS.to_string(), "--room-size", &PER_ROOM.to_string()]);
        command.args(["--connect-timeout", "60s", "--no-preflight"]);
        command.args(["--origin", &format!("http://{}", self.address), "--app"]).arg(app);
        run(command.args(arguments), WITHIN)
    }

    /// The subscribers of each room.
    fn seen(&self) -> Value {
        let (host, port) = (self.address.ip().to_string(), self.address.port());
        let answer = Source { host, port, path: "/seen".into() }
            .get(Timeouts { word: WITHIN, answer: WITHIN })
            .expect("the server is there");
        serde_json::from_slice(&answer.body).expect("it is JSON")
    }
}

fn example() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/rails-chat")
}

/// An app of the example, changed, with the people of `users`.
fn changed(app: &str, (from, to): (&str, &str), users: &str) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let text = fs::read_to_string(example().join(app)).unwrap();
    assert!(text.contains(from), "{from}");
    let path = folder.path().join(app);
    fs::write(&path, text.replace(from, to)).unwrap();
    fs::write(folder.path().join("users.csv"), users).unwrap();
    (folder, path)
}

#[test]
fn people_log_in_and_hear_their_own_rooms() {
    let Some(chat) = Chat::start() else { return };
    let mut rooms = Vec::new();
    for (app, prefix) in [("app.toml", ""), ("turbo.toml", "room_")] {
        let outcome =
            chat.run("broadcast", &example().join(app), &["--concurrent", "2", "--sample-size", "20"]);
        outcome.assert_held();
        let results = outcome.json();
        assert_eq!(sum_of(&results, "connected"), CLIENTS, "{outcome}");
        assert_eq!(sum_of(&results, "sent"), 20, "{outcome}");
        assert_eq!(sum_of(&results, "received"), 20 * PER_ROOM, "{outcome}");
        for nothing in ["missing", "leaked", "duplicate", "unexpected"] {
            assert_eq!(sum_of(&results, nothing), 0, "{nothing}: {outcome}");
        }
        assert_eq!(results["steps"][0]["handshake_parts"]["login"]["count"], CLIENTS, "{outcome}");
        // Each client is a user of its own, and those of a room are ten that follow each other.
        rooms.push(prefix);
        let room_of =
            |n: u64| rooms.iter().map(|prefix| format!("{prefix}{}", n / PER_ROOM)).collect::<Vec<_>>();
        let expected = (0..CLIENTS).map(|n| (format!("user-{n:03}"), json!(room_of(n))));
        assert_eq!(chat.seen(), Value::Object(expected.collect()));
    }
}

#[test]
fn refusals_are_counted_by_kind() {
    let Some(chat) = Chat::start() else { return };
    let users = fs::read_to_string(example().join("users.csv")).unwrap();
    let strangers = users.replace(',', ",not-").replacen("not-", "", 1);
    for (change, users, names) in [
        (("", ""), &strangers, ["HTTP 401", "POST /session", " 302 "]),
        (("\"{csrf}\"", "\"forged\""), &users, ["HTTP 422", "POST /session", " 302 "]),
    ] {
        let (_folder, app) = changed("app.toml", change, users);
        let outcome = chat.run("idle", &app, &["--duration", "100ms"]);
        assert_eq!(outcome.code, Some(1), "{outcome}");
        let results = outcome.json();
        assert_eq!(errors_of(&results, "login_refused"), CLIENTS, "{outcome}");
        let example = &results["steps"][0]["counts"]["errors"]["login_refused"]["example"];
        let example = example.as_str().unwrap();
        assert!(names.iter().all(|name| example.contains(name)), "{outcome}");
    }

    // A stream's name that Rails has not signed.
    let (_folder, app) = changed("turbo.toml", (r#":"{stream}""#, r#":"forged""#), &users);
    let outcome = chat.run("idle", &app, &["--duration", "100ms"]);
    assert_eq!(errors_of(&outcome.json(), "rejected_subscription"), CLIENTS, "{outcome}");
    assert_eq!(chat.seen(), json!({}), "nobody was let into a room");
}

#[test]
fn a_session_and_an_action_need_no_file() {
    let Some(chat) = Chat::start() else { return };
    let mut login = Command::new("ruby");
    login.args(["-rnet/http", "-e", LOGIN, &chat.address.port().to_string(), "user-000", "b4f62a231604"]);
    let cookie = complete(&mut login).map_err(|Unavailable(why)| why).expect("somebody logs in");
    let mut command = throng(["run", "--format", "json", "--protocol", "actioncable", "--no-preflight"]);
    command.args(["--channel", "ChatChannel", "--channel-params", r#"{"room":{room}}"#]);
    command.args([
        "--action",
        "speak",
        "--body",
        r#"{"body":"{id}"}"#,
        &format!("ws://{}/cable", chat.address),
    ]);
    command.args(["--origin", &format!("http://{}", chat.address), "--header", &format!("Cookie: {cookie}")]);
    command.args([
        "--clients",
        &CLIENTS.to_string(),
        "--room-size",
        &PER_ROOM.to_string(),
        "--connect-timeout",
        "60s",
    ]);
    let outcome = run(command.args(["--concurrent", "2", "--sample-size", "20"]), WITHIN);
    outcome.assert_held();
    let results = outcome.json();
    let counts = ["sent", "received", "missing", "leaked", "unexpected"].map(|name| sum_of(&results, name));
    assert_eq!(counts, [20, 20 * PER_ROOM, 0, 0, 0], "{outcome}");
}
