//! Messages that are published by requests to an application, and heard by the people of a room: against
//! throng's own server, over each protocol, and against notifications on FastAPI and Redis
//! (examples/fastapi-notifications), which share no code with it.

use std::fs;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::Duration;

use serde_json::Value;

use crate::support::black_hole::BlackHole;
use crate::support::endpoint::{Request, endpoint};
use crate::support::process::Process;
use crate::support::python::python_of;
use crate::support::target::{Unavailable, complete};
use crate::support::throng::{Outcome, Server, errors_of, loss, run, sum_of, throng};
use crate::support::{free_address, skip};

const WITHIN: Duration = Duration::from_secs(120);
const APPLICATION_TAKES: Duration = Duration::from_millis(150);
const CLIENTS: u64 = 20;
const PER_ROOM: u64 = 5;
const MESSAGES: u64 = 50;
const SECRETS: [(&str, &str); 2] =
    [("JWT_SECRET", "open-sesame-and-say-nothing-else"), ("API_KEY", "open-too")];

/// Fifty messages in rooms of five.
fn broadcast(url: &str, more: &[&str]) -> Outcome {
    let mut command = throng(["broadcast", url, "--format", "json", "--quiet", "--no-store"]);
    command.args(["--clients", &CLIENTS.to_string(), "--room-size", &PER_ROOM.to_string()]);
    if !["--rate", "--concurrent"].iter().any(|flag| more.contains(flag)) {
        command.args(["--concurrent", "4", "--sample-size", &MESSAGES.to_string()]);
    }
    run(command.args(more), WITHIN)
}

fn counts(results: &Value) -> [u64; 5] {
    ["sent", "expected", "received", "leaked", "unexpected"].map(|name| sum_of(results, name))
}

#[test]
fn published_messages_are_heard_over_each_protocol() {
    let server = Server::start(&[]);
    let publish = format!("http://{}/publish/{{room}}", server.address);
    let processes = ["--processes", "2", "--threads", "3", "--rate", "200", "--duration", "1s"];
    for (place, dialect, more) in [
        ("/ws?room={room}", "json", &[][..]),
        ("/ws?room={room}", "json", &["--publish-url", "/publish/{room}"]),
        ("/cable", "actioncable", &["--channel-params", r#"{"room":{room}}"#]),
        ("/socket/websocket", "phoenix", &["--topic", "room:{room}"]),
        ("/sockjs?room={room}", "sockjs", &[]),
        ("/sockjs?room={room}", "sockjs", &["--transport", "xhr-polling"]),
        ("/socket.io/?room={room}", "socketio", &[]),
        ("/ws?room={room}", "json", &processes),
        (
            "/ws?room={room}",
            "json",
            &["--publish-connections", "1", "--concurrent", "20", "--sample-size", "500"],
        ),
    ] {
        let mut more = [&["--protocol", dialect], more].concat();
        if !more.contains(&"--publish-url") {
            more.extend(["--publish-url", &publish]);
        }
        let outcome = broadcast(&format!("ws://{}{place}", server.address), &more);
        outcome.assert_held();
        let results = outcome.json();
        let sent = sum_of(&results, "sent");
        assert!(sent >= MESSAGES, "{more:?}: {outcome}");
        assert_eq!(counts(&results), [sent, sent * PER_ROOM, sent * PER_ROOM, 0, 0], "{more:?}: {outcome}");
        assert_eq!(results["steps"][0]["rtt"]["count"], sent, "each request has its answer: {outcome}");
    }
}

#[test]
fn lost_and_leaked_copies_are_found() {
    let server = Server::start(&["--fault", "drop=99%100", "--threads", "1"]);
    let url = format!("ws://{}/ws?room={{room}}", server.address);
    let many = ["--concurrent", "4", "--sample-size", "200", "--publish-url", "/publish/{room}"];
    let outcome = broadcast(&url, &many);
    assert_eq!(outcome.code, Some(3), "{outcome}");
    let lost = 200 * PER_ROOM / 100;
    assert_eq!(counts(&outcome.json()), [200, 1000, 1000 - lost, 0, 0], "{outcome}");

    let server = Server::start(&[]);
    let url = format!("ws://{}/ws?room={{room}}", server.address);
    let key = ["--publish-header", "Authorization: Bearer let-nobody-see-this"];
    let outcome = broadcast(&url, &[&["--publish-url", "/publish/0"], &key[..]].concat());
    let results = outcome.json();
    assert!(!outcome.stdout.contains("let-nobody-see-this"), "{outcome}");
    assert!(sum_of(&results, "leaked") > 0, "all are told what is for others: {outcome}");
    assert!(outcome.stderr.contains("leaked into other rooms") || outcome.code == Some(3), "{outcome}");
}

#[test]
fn only_absent_clients_miss_publications() {
    let server = Server::start(&[]);
    let url = format!("ws://{}/ws?room={{room}}", server.address);
    let flap =
        ["--rate", "100", "--duration", "4s", "--flap", "1s..2s:300ms", "--publish-url", "/publish/{room}"];
    let outcome = broadcast(&url, &flap);
    let results = outcome.json();
    let [expected, received, missing, offline, recovered, lost] =
        ["expected", "received", "missing", "offline_due", "recovered", "lost_offline"]
            .map(|name| sum_of(&results, name));
    assert_eq!((received, missing), (expected, 0), "{outcome}");
    // What was asked for in its last moment comes to whoever is back by the time the server tells.
    assert_eq!(recovered + lost, offline, "{outcome}");
    assert!(recovered * 10 < offline, "{outcome}");
    assert_eq!(expected + offline, 400 * PER_ROOM, "{outcome}");
}

/// Twenty messages of five clients, who come and go as `how` says. The application takes its time over each,
/// says that it has it, and does nothing with it.
fn broadcast_to_nobody(how: [&str; 2]) -> Outcome {
    let server = Server::start(&[]);
    let (application, _taken) = endpoint(|_| {
        thread::sleep(APPLICATION_TAKES);
        ("200 OK", "{}".into())
    });
    let (url, publish) = (format!("ws://{}/ws", server.address), format!("http://{application}/publish"));
    let mut command = throng(["broadcast", &url, "--format", "json", "--quiet", "--no-store"]);
    let load = "--clients 5 --rate 4 --duration 5s --drain-timeout 2s --publish-connections 1 --publish-url";
    run(command.args(load.split(' ')).arg(publish).args(how), WITHIN)
}

/// Whoever loses its connection meanwhile has no part in that.
#[test]
fn losses_count_with_an_absent_author() {
    let outcome = broadcast_to_nobody(["--flap", "300ms..600ms:200ms"]);
    let results = outcome.json();
    let lost = ["missing", "lost_offline"].map(|name| sum_of(&results, name));
    let due = ["expected", "offline_due"].map(|name| sum_of(&results, name));
    assert_eq!((sum_of(&results, "sent"), lost, errors_of(&results, "cut_off")), (20, due, 0), "{outcome}");
    assert_eq!(due.iter().sum::<u64>(), 20 * 5, "{outcome}");
}

/// The answer is the application's, and comes whether or not the message's author is still there.
#[test]
fn answers_count_with_a_departed_author() {
    let outcome = broadcast_to_nobody(["--churn", "100%/s"]);
    let step = &outcome.json()["steps"][0];
    assert_eq!(step["rtt"]["count"], 20, "{outcome}");
    assert!(step["rtt"]["min_ms"].as_f64() >= Some(APPLICATION_TAKES.as_millis() as f64), "{outcome}");
    assert!(step["rates"]["achieved_per_s"].as_f64() > Some(3.6), "{outcome}");
}

/// Every second request is refused: nothing of it is due, to whoever is here or away.
#[test]
fn refused_publications_are_no_losses_of_absent_clients() {
    let server = Server::start(&[]);
    let publisher = server.address;
    let mut asked = 0;
    let (application, _taken) = endpoint(move |request| {
        asked += 1;
        if asked % 2 == 0 {
            return ("422 Unprocessable Content", "{}".into());
        }
        pass_on(request, publisher);
        ("200 OK", "{}".into())
    });
    let url = format!("ws://{}/ws?room={{room}}", server.address);
    let publish = format!("http://{application}/publish/{{room}}");
    let flap = ["--rate", "50", "--duration", "4s", "--flap", "1s..2s:300ms", "--publish-connections", "1"];
    let outcome = broadcast(&url, &[&flap[..], &["--publish-url", &publish]].concat());
    let results = outcome.json();
    let [expected, offline, refused] =
        ["expected", "offline_due", "unacknowledged"].map(|name| sum_of(&results, name));
    assert_eq!((refused, errors_of(&results, "publish_http_4xx")), (100, 100), "{outcome}");
    assert!(offline > 0, "{outcome}");
    assert_eq!(expected + offline, 100 * PER_ROOM, "{outcome}");
}

/// Has a server publish what an application was asked for.
fn pass_on(request: &Request, publisher: SocketAddr) {
    let mut stream = TcpStream::connect(publisher).unwrap();
    let head = format!("{} HTTP/1.1\r\nHost: {publisher}\r\nConnection: close", request.line);
    write!(stream, "{head}\r\nContent-Length: {}\r\n\r\n", request.body.len()).unwrap();
    stream.write_all(&request.body).unwrap();
    stream.read_to_end(&mut Vec::new()).unwrap();
}

/// Everybody has every message, and whoever asked for it is told that it failed.
#[test]
fn failing_applications_do_not_hold_the_load() {
    let server = Server::start(&[]);
    let publisher = server.address;
    let (application, _taken) = endpoint(move |request| {
        pass_on(request, publisher);
        ("500 Internal Server Error", "{}".into())
    });
    let url = format!("ws://{}/ws?room={{room}}", server.address);
    let publish = format!("http://{application}/publish/{{room}}");
    let load = ["--rate", "10", "--duration", "2s", "--publish-connections", "1", "--publish-url", &publish];
    let outcome = broadcast(&url, &load);
    let [missing, unacknowledged] = ["missing", "unacknowledged"].map(|name| sum_of(&outcome.json(), name));
    assert_eq!((outcome.code, missing, unacknowledged), (Some(3), 0, 20), "{outcome}");
    let results = outcome.json();
    let lost = loss(&results, "unacknowledged");
    assert_eq!((&lost["missing"], &lost["of"]), (&20.into(), &20.into()), "{lost}");
    assert!(lost["unpublished"].is_string(), "{lost}");
}

#[test]
fn silent_applications_are_named_with_cause() {
    let server = Server::start(&[]);
    let url = format!("ws://{}/ws?room={{room}}", server.address);
    let at = |address: SocketAddr| format!("http://{address}/publish/{{room}}");
    let hole = BlackHole::open();
    let (nobody, silent) = (at(free_address()), at(hole.address));
    for (publish, kind) in [
        ("/publish-to/{room}", "publish_http_4xx"),
        (&nobody, "publish_refused"),
        (&silent, "publish_connect_timeout"),
    ] {
        let mut command = throng(["broadcast", &url, "--quiet", "--no-store", "--format", "json"]);
        command.args(["--clients", "20", "--room-size", "5", "--rate", "50", "--duration", "1s"]);
        let outcome = run(command.args(["--publish-url", publish]), WITHIN);
        assert_eq!(outcome.code, Some(3), "{outcome}");
        let results = outcome.json();
        let lost = loss(&results, "missing");
        assert_eq!((&lost["missing"], &lost["of"]), (&250.into(), &250.into()), "{lost}");
        let error = &results["steps"][0]["counts"]["errors"][kind];
        assert_eq!(lost["unpublished"], error["example"], "{outcome}");
        assert!(error["count"].as_u64() > Some(0), "{outcome}");
    }
}

/// It would have asked for millions in the same moment, and have lost them all.
#[test]
fn closed_loops_do_not_flood_absent_applications() {
    let server = Server::start(&[]);
    let url = format!("ws://{}/ws?room={{room}}", server.address);
    let nobody = format!("http://{}/publish/{{room}}", free_address());
    let closed = ["--concurrent", "4", "--sample-size", "100000", "--connect-timeout", "1s"];
    let outcome = broadcast(&url, &[&closed[..], &["--publish-url", &nobody]].concat());
    let results = outcome.json();
    let [expected, missing] = ["expected", "missing"].map(|name| sum_of(&results, name));
    assert_eq!(missing, expected, "{outcome}");
    // Four messages for each of ten attempts in a second, of which a slow machine has fewer.
    assert!((4 * PER_ROOM..=15 * 4 * PER_ROOM).contains(&expected), "{outcome}");
}

/// It is restarted while clients connect.
#[test]
fn closed_loops_try_lost_applications_again() {
    let server = Server::start(&[]);
    let (server_address, application) = (server.address, free_address());
    thread::spawn(move || {
        thread::sleep(Duration::from_secs(1));
        for mut publisher in TcpListener::bind(application).unwrap().incoming().flatten() {
            let mut relayed = TcpStream::connect(server_address).unwrap();
            let (mut answers, mut back) = (relayed.try_clone().unwrap(), publisher.try_clone().unwrap());
            thread::spawn(move || io::copy(&mut answers, &mut back));
            thread::spawn(move || io::copy(&mut publisher, &mut relayed));
        }
    });
    let url = format!("ws://{}/ws?room={{room}}", server.address);
    let publish = format!("http://{application}/publish/{{room}}");
    let slowly = ["--connect-rate", "7", "--connect-timeout", "1s", "--publish-url", &publish];
    let outcome = broadcast(&url, &slowly);
    let delivered = MESSAGES * PER_ROOM;
    assert_eq!(counts(&outcome.json()), [MESSAGES, delivered, delivered, 0, 0], "{outcome}");
}

#[test]
fn mistakes_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let files = std::cell::Cell::new(0);
    let app = |text: &str| {
        files.set(files.get() + 1);
        let path = folder.path().join(format!("app-{}.toml", files.get()));
        fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let login = "[[login]]\npost = \"/login\"\nkeep = { session = \"json:/id\" }\n";
    let [wrong, expects, sends, keeps] = [
        app("[publish]\npost = \"/x\"\nbody = \"hello\"\n"),
        app("[publish]\npost = \"/{room}\"\nbody = \"{id}\"\nexpect = 99\n"),
        app("[broadcast]\nsend = \"{id}\"\n[publish]\npost = \"/x\"\nbody = \"{id}\"\n"),
        app(&format!("{login}[publish]\npost = \"/x\"\nbody = \"{{id}} {{session}}\"\n")),
    ];
    for (more, key, name) in [
        (&["--publish-url", "publish"][..], "publish_url", "http://"),
        (&["--publish-url", "ws://127.0.0.1/x"], "publish_url", "http://"),
        (&["--publish-url", "/publish/{person.name}"], "publish_url", "people"),
        (&["--publish-url", "/publish", "--to", "others"], "to", "others"),
        (&["--publish-url", "/publish", "--body", "hello"], "body", "{id}"),
        (&["--publish-url", "/publish", "--protocol", "binary"], "publish_url", "--body"),
        (&["--publish-header", "A: b"], "publish_url.missing_required_argument", "--publish-url"),
        (&["--app", &wrong], "file", "app-1.toml:3:8"),
        (&["--app", &expects], "file", "app-2.toml:4:10"),
        (&["--app", &sends], "file", "[publish]"),
        (&["--app", &keeps], "file", "{session}"),
    ] {
        let outcome = broadcast("ws://127.0.0.1:9/ws?room={room}", more);
        outcome.assert_failed(2, &format!("usage.{key}"), &[name]);
    }
}

/// Notifications on FastAPI and Redis, running.
struct Notifications {
    _process: Process,
    address: SocketAddr,
}

impl Notifications {
    /// Installs and starts it; `None`, with the reason printed, where that cannot be had.
    fn start() -> Option<Notifications> {
        let redis = complete(Command::new("./install").current_dir(example()));
        let python = match redis.and_then(|_| python_of(&example())) {
            Ok(python) => python,
            Err(Unavailable(why)) => {
                skip("notifications on FastAPI (PyPI) and Redis (Debian)", &why);
                return None;
            }
        };
        let address = free_address();
        let mut command = Command::new(python);
        command.args(["-B", "serve.py"]).current_dir(example()).env("PORT", address.port().to_string());
        let process = Process::start(command.envs(SECRETS)).listening_at(address);
        Some(Notifications { _process: process, address })
    }

    fn run(&self, key: &str, per_room: &str) -> Outcome {
        let mut command =
            throng(["broadcast", &format!("ws://{}/", self.address), "--format", "json", "--no-store"]);
        command.args(["--clients", "200", "--room-size", per_room, "--rate", "100", "--duration", "3s"]);
        command.args(["--connect-timeout", "60s", "--quiet", "--app"]).arg(example().join("app.toml"));
        run(command.envs(SECRETS).env("API_KEY", key), WITHIN)
    }
}

fn example() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/fastapi-notifications")
}

#[test]
fn fastapi_users_get_their_own_messages() {
    let Some(app) = Notifications::start() else { return };
    let outcome = app.run(SECRETS[1].1, "1");
    outcome.assert_held();
    assert_eq!(counts(&outcome.json()), [300, 300, 300, 0, 0], "{outcome}");
    assert!(!outcome.stdout.contains(SECRETS[1].1), "the key is not told: {outcome}");

    // Who says that two share a room, while each hears their own alone, is told what is missing.
    let outcome = app.run(SECRETS[1].1, "2");
    assert_eq!(counts(&outcome.json()), [300, 600, 300, 0, 0], "{outcome}");

    let outcome = app.run("wrong", "1");
    assert_eq!(counts(&outcome.json()), [300, 300, 0, 0, 0], "{outcome}");
    assert_eq!(errors_of(&outcome.json(), "publish_http_4xx"), 300, "{outcome}");
}
