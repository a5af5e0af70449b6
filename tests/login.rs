//! Clients log in before their upgrade: the example with npm's Express, its sessions and a CSRF form, which
//! shares no code with throng, sees as many users as there are clients; and whatever fails is counted under a
//! name of its own.

use std::collections::BTreeSet;
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

use crew::http::{Source, Timeouts};
use serde_json::Value;
use tempfile::TempDir;

use crate::support::node::Scripts;
use crate::support::process::Process;
use crate::support::spy::search;
use crate::support::target::Unavailable;
use crate::support::throng::{Failed, errors_of, finding, run, sum_of, throng};
use crate::support::{free_address, skip};

const CLIENTS: u64 = 200;
const WITHIN: Duration = Duration::from_secs(60);

/// The chat of examples/login, running.
struct Chat {
    _process: Process,
    address: SocketAddr,
}

/// Clients seen.
struct Seen {
    logins: u64,
    users: BTreeSet<String>,
}

impl Chat {
    /// Installs and starts it; `None`, with the reason printed, where that cannot be had.
    fn start() -> Option<Chat> {
        // Once for all tests of this file, which run side by side.
        static SCRIPTS: OnceLock<Result<Scripts, String>> = OnceLock::new();
        let install = || Scripts::install_in("examples", "login").map_err(|Unavailable(why)| why);
        if let Err(why) = SCRIPTS.get_or_init(install) {
            skip("logging in to npm's express-session", why);
            return None;
        }
        let address = free_address();
        let mut command = Command::new("node");
        command.arg("server.js").current_dir(example()).env("PORT", address.port().to_string());
        let process = Process::start(&mut command).listening_at(address);
        Some(Chat { _process: process, address })
    }

    fn seen(&self) -> Seen {
        let (host, port) = (self.address.ip().to_string(), self.address.port());
        let answer = Source { host, port, path: "/seen".into() }
            .get(Timeouts { word: WITHIN, answer: WITHIN })
            .expect("the server is there");
        let seen: Value = serde_json::from_slice(&answer.body).expect("it says who was there");
        let users = seen["users"].as_array().unwrap().iter().map(|user| user.as_str().unwrap().to_owned());
        Seen { logins: seen["logins"].as_u64().unwrap(), users: users.collect() }
    }

    fn command(&self, verb: &str, app: &Path) -> Command {
        let mut command = throng([verb, &format!("ws://{}/", self.address), "--format", "json"]);
        command.args(["--clients", &CLIENTS.to_string(), "--no-preflight"]);
        command.arg("--app").arg(app);
        command
    }
}

fn example() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/login")
}

/// The example's app and people in a folder of their own, each changed.
fn changed(app: impl Fn(String) -> String, users: impl Fn(String) -> String) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let read = |name| fs::read_to_string(example().join(name)).unwrap();
    let path = folder.path().join("app.toml");
    fs::write(&path, app(read("app.toml"))).unwrap();
    fs::write(folder.path().join("users.csv"), users(read("users.csv"))).unwrap();
    (folder, path)
}

fn everybody() -> BTreeSet<String> {
    (0..CLIENTS).map(|n| format!("user-{n:03}")).collect()
}

#[test]
fn two_hundred_clients_log_in() {
    let Some(chat) = Chat::start() else { return };
    let mut command = chat.command("broadcast", &example().join("app.toml"));
    command.args(["--processes", "2", "--concurrent", "2", "--sample-size", "5"]);
    let outcome = run(&mut command, WITHIN);
    outcome.assert_held();
    let results = outcome.json();
    assert_eq!(finding(&results["steps"][0]["caveats"], "caveat.shared_users"), None, "{outcome}");
    assert_eq!(sum_of(&results, "connected"), CLIENTS, "{outcome}");
    assert_eq!(sum_of(&results, "received"), 5 * CLIENTS, "{outcome}");
    let seen = chat.seen();
    assert_eq!((seen.logins, seen.users), (CLIENTS, everybody()), "{outcome}");
    let parts = &results["steps"][0]["handshake_parts"];
    assert_eq!(parts["login"]["count"], CLIENTS, "{parts:#}");
    // Three requests take longer than the upgrade that follows on the same connection, and are no part of it.
    let ms = |part: &str| parts[part]["mean_ms"].as_f64().unwrap();
    let sum = ["tcp", "login", "upgrade", "ready"].map(ms).iter().sum::<f64>();
    let whole = results["steps"][0]["handshake"]["mean_ms"].as_f64().unwrap();
    assert!(ms("login") > ms("upgrade") && (sum - whole).abs() < 0.02 * whole, "{parts:#}");
}

#[test]
fn fewer_rows_than_clients_are_told() {
    let Some(chat) = Chat::start() else { return };
    // The header, and two users.
    let rows = |text: String| text.split_inclusive('\n').take(3).collect::<String>();
    let (_folder, app) = changed(|app| app, rows);
    let mut command = chat.command("broadcast", &app);
    let outcome = run(command.args(["--concurrent", "2", "--sample-size", "5"]), WITHIN);
    outcome.assert_held();
    let results = outcome.json();
    let shared = finding(&results["steps"][0]["caveats"], "caveat.shared_users").expect("a caveat");
    assert_eq!([&shared["clients"], &shared["rows"]], [CLIENTS, 2], "{shared:#}");
    assert_eq!(chat.seen().users.len(), 2, "{outcome}");
}

#[test]
fn reconnecting_clients_log_in_again() {
    let Some(chat) = Chat::start() else { return };
    let mut command = throng(["storm", &format!("ws://{}/", chat.address), "--format", "json"]);
    command.args(["--clients", "20", "--lead", "200ms", "--duration", "1s", "--window", "100ms"]);
    command.args(["--no-preflight", "--app"]).arg(example().join("app.toml"));
    let outcome = run(&mut command, WITHIN);
    outcome.assert_held();
    let connected = sum_of(&outcome.json(), "connected");
    assert!(connected > 20, "{outcome}");
    assert_eq!(chat.seen().logins, connected, "{outcome}");
}

/// Runs an app whose clients all fail: the error.
fn failing(chat: &Chat, kind: &str, app: &Path) -> String {
    let outcome = run(chat.command("idle", app).args(["--duration", "100ms"]), WITHIN);
    assert_eq!(outcome.code, Some(1), "{kind}: {outcome}");
    let results = outcome.json();
    assert_eq!(errors_of(&results, kind), CLIENTS, "{outcome}");
    assert_eq!(sum_of(&results, "connected"), 0, "{outcome}");
    results["steps"][0]["counts"]["errors"][kind]["example"].as_str().unwrap().to_owned()
}

#[test]
fn login_failures_are_counted_by_kind() {
    let Some(chat) = Chat::start() else { return };
    for (from, to, kind, names) in [
        (
            "_csrf = \"{csrf}\"",
            "_csrf = \"forged\"",
            "login_refused",
            &["HTTP 403", "POST /login", " 302 "][..],
        ),
        (
            "html:_csrf",
            "html:authenticity_token",
            "login_no_match",
            &["GET /login", "csrf = \"html:authenticity_token\""],
        ),
        // Nobody is logged in yet, and the way leads back to where it came from.
        ("get = \"/login\"\n", "get = \"/chat\"\nfollow = true\nexpect = 200\n", "http_status", &[]),
    ] {
        let (_folder, app) = changed(
            |text| {
                assert!(text.contains(from), "{from}");
                text.replacen(from, to, 1)
                    .replace("?ticket={ticket}", if kind == "http_status" { "" } else { "?ticket={ticket}" })
            },
            |users| users,
        );
        let told = failing(&chat, kind, &app);
        for name in names {
            assert!(told.contains(name), "{name}: {told}");
        }
    }
    assert_eq!(chat.seen().users.len(), 0);
}

#[test]
fn quoted_passwords_are_not_told() {
    let Some(chat) = Chat::start() else { return };
    let wrong = |users: String| users.replace(",", ",marker-5f3b-").replacen("marker-5f3b-", "", 1);
    // The server quotes the password in its refusal, and this run expects the refusal to have what is to be kept.
    let app = |text: String| text.replace("expect = 302", "expect = 401\nkeep = { t = \"html:nothing\" }");
    for ((_folder, path), kind) in
        [(changed(|app| app, wrong), "login_refused"), (changed(app, wrong), "login_no_match")]
    {
        let out = tempfile::tempdir().unwrap();
        let mut command = chat.command("idle", &path);
        command.args(["--duration", "100ms", "--out"]).arg(out.path());
        command.arg("--events").arg(out.path().join("events.parquet"));
        let outcome = run(&mut command, WITHIN);
        assert_eq!(errors_of(&outcome.json(), kind), CLIENTS, "{outcome}");
        assert!(!outcome.to_string().contains("marker-5f3b"), "{outcome}");
        let (found, files) = search(out.path(), "marker-5f3b");
        assert!(found.is_empty() && files > 0, "{found:?} of {files}");
    }
}

/// The refusal of an app before anybody connects, but for the preflight.
fn refused(text: &str) -> Failed {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("app.toml");
    fs::write(&path, text).unwrap();
    let outcome = run(throng(["idle", "ws://127.0.0.1:9/", "--format", "json", "--app"]).arg(&path), WITHIN);
    outcome.assert_failed(2, "usage.file", &[]);
    outcome.error()
}

#[test]
fn mistakes_name_place_and_expectation() {
    let good = "[[login]]\nget = '/in'\nkeep = { csrf = 'html:csrf' }\n[[login]]\npost = '/in'\nform = { a = '{csrf}' }\n[connect]\npath = '/{csrf}'\n";
    for (from, to, place, named) in [
        ("get = '/in'", "get = 'in'", "2:7", "/"),
        ("get = '/in'", "get = 'ftp://other/in'", "2:7", "https://"),
        ("get = '/in'", "get = 'http://{person.id}/in'", "2:7", "https://"),
        ("get = '/in'", "get = 'http://a:b@other/in'", "2:7", "https://"),
        ("get = '/in'", "get = '/in'\npost = '/in'", "1:1", "`get`"),
        ("get = '/in'", "got = '/in'", "2:1", "`get`, `post`, `form`"),
        ("get = '/in'", "get = '/in'\nexpect = 99", "3:10", "200"),
        ("get = '/in'", "get = '/in'\nform = {}", "3:8", "`post`"),
        ("form = {", "json = '{\"a\":}'\nform = {", "7:8", "`json`"),
        ("form = { a = '{csrf}' }", "json = '{\"a\":}'", "6:8", "JSON"),
        ("form = { a = '{csrf}' }", "json = { a = '{cfrs}' }", "6:8", "{cfrs}: "),
        ("'{csrf}' }", "'{scrf}' }", "6:14", "{csrf}, {person.id}, {room}"),
        ("get = '/in'", "get = '/{csrf}'", "2:7", "{csrf}: "),
        ("'html:csrf'", "'body:csrf'", "3:17", "\"cookie:NAME\", \"header:NAME\", \"json:/POINTER\""),
        ("'html:csrf'", "'json:csrf'", "3:17", "JSON pointer"),
        ("'html:csrf'", "'regex:('", "3:17", "("),
        ("'html:csrf'", "'cookie:a b'", "3:17", "cookie"),
        ("csrf = 'html", "client = 'html", "3:19", "{client}"),
        ("csrf = 'html", "CSRF = 'html", "3:17", "\"CSRF\""),
    ] {
        assert!(good.contains(from), "{from}");
        let Failed { flag, text, .. } = refused(&good.replacen(from, to, 1));
        assert!(flag.is_some_and(|at| at.ends_with(&format!("app.toml:{place}"))), "{to}: {place}\n{text}");
        assert!(text.contains(named) && text.contains('^'), "{to}\n{named}\n{text}");
    }
}
