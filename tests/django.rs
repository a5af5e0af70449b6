//! The chat of Django Channels' tutorial, as examples/django-chat has it: its people log in by a form with a
//! CSRF token, and have a path for each room. Django, Channels and daphne share no code with throng.

use std::collections::BTreeSet;
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crew::http::{Source, Timeouts};
use serde_json::Value;
use tempfile::TempDir;

use crate::support::process::Process;
use crate::support::python::python_of;
use crate::support::target::Unavailable;
use crate::support::throng::{Outcome, errors_of, run, sum_of, throng};
use crate::support::{free_address, skip};

const CLIENTS: u64 = 60;
const PER_ROOM: u64 = 10;
const WITHIN: Duration = Duration::from_secs(120);

/// The chat, running.
struct Chat {
    _process: Process,
    address: SocketAddr,
    /// Holds its database.
    folder: TempDir,
}

impl Chat {
    /// Installs and starts it; `None`, with the reason printed, where that cannot be had.
    fn start() -> Option<Chat> {
        let python = match python_of(&example()) {
            Ok(python) => python,
            Err(Unavailable(why)) => {
                skip("Django Channels (PyPI)", &why);
                return None;
            }
        };
        let (address, folder) = (free_address(), tempfile::tempdir().unwrap());
        let mut command = Command::new(python);
        command.args(["-B", "serve.py"]).current_dir(example()).env("PORT", address.port().to_string());
        let process =
            Process::start(command.env("DATABASE", folder.path().join("db.sqlite3"))).listening_at(address);
        Some(Chat { _process: process, address, folder })
    }

    fn run(&self, verb: &str, app: &Path, arguments: &[&str]) -> Outcome {
        let mut command = throng([verb, &format!("ws://{}/", self.address), "--format", "json"]);
        command.args(["--clients", &CLIENTS.to_string(), "--connect-timeout", "60s", "--no-preflight"]);
        // Twisted listens with a backlog of 50: a busy machine resets what is beyond it.
        command.args(["--connect-parallel", "32"]);
        command.args(["--origin", &format!("http://{}", self.address), "--app"]).arg(app);
        run(command.args(arguments), WITHIN)
    }

    /// The rooms in which each user has been, in the order of their names.
    fn seen(&self) -> Vec<(String, Vec<String>)> {
        let (host, port) = (self.address.ip().to_string(), self.address.port());
        let answer = Source { host, port, path: "/seen/".into() }
            .get(Timeouts { word: WITHIN, answer: WITHIN })
            .expect("the server is there");
        let seen: serde_json::Map<String, Value> = serde_json::from_slice(&answer.body).expect("it is JSON");
        let rooms = |rooms: &Value| -> Vec<String> {
            rooms.as_array().unwrap().iter().map(|room| room.as_str().unwrap().to_owned()).collect()
        };
        let mut seen: Vec<_> = seen.iter().map(|(user, of)| (user.clone(), rooms(of))).collect();
        seen.sort();
        seen
    }
}

fn example() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/django-chat")
}

#[test]
fn people_log_in_and_hear_their_own_rooms() {
    let Some(chat) = Chat::start() else { return };
    let rooms = PER_ROOM.to_string();
    let outcome = chat.run(
        "broadcast",
        &example().join("app.toml"),
        &["--room-size", &rooms, "--concurrent", "1", "--sample-size", "20"],
    );
    outcome.assert_held();
    let results = outcome.json();
    assert_eq!(sum_of(&results, "connected"), CLIENTS, "{outcome}");
    assert_eq!(sum_of(&results, "received"), 20 * PER_ROOM, "{outcome}");
    for nothing in ["missing", "leaked", "duplicate", "unexpected"] {
        assert_eq!(sum_of(&results, nothing), 0, "{nothing}: {outcome}");
    }
    assert_eq!(results["steps"][0]["handshake_parts"]["login"]["count"], CLIENTS, "{outcome}");
    let expected = (0..CLIENTS).map(|n| (format!("user-{n:03}"), vec![format!("room-{}", n / PER_ROOM)]));
    assert_eq!(chat.seen(), expected.collect::<Vec<_>>());

    // Django answers a wrong password with the form again, and 200; and a form without its token with 403.
    let read = |name| fs::read_to_string(example().join(name)).unwrap();
    let wrong = read("users.csv").replace(',', ",not-").replacen("not-", "", 1);
    fs::write(chat.folder.path().join("users.csv"), wrong).unwrap();
    let mut told = BTreeSet::new();
    for csrf in ["{csrf}", "forged"] {
        let app = chat.folder.path().join("app.toml");
        fs::write(&app, read("app.toml").replace("{csrf}", csrf)).unwrap();
        let outcome = chat.run("idle", &app, &["--duration", "100ms"]);
        assert_eq!(errors_of(&outcome.json(), "login_refused"), CLIENTS, "{outcome}");
        let example = &outcome.json()["steps"][0]["counts"]["errors"]["login_refused"]["example"];
        told.insert(example.as_str().unwrap().to_owned());
    }
    assert_eq!(told.len(), 2, "{told:?}");
    for (example, status) in told.iter().zip(["HTTP 200", "HTTP 403"]) {
        let names = [status, "POST /accounts/login/", " 302 "];
        assert!(names.iter().all(|name| example.contains(name)), "{example}");
    }
}
