//! Server-sent events with programs that others wrote: throng's server against the npm package eventsource,
//! and throng's client against servers on Node's http, on Starlette and sse-starlette (Python), and on nchan
//! (nginx), which count what they tell.

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::node::Scripts;
use crate::support::process::Process;
use crate::support::target::Unavailable;
use crate::support::throng::{Outcome, Server, errors_of, finish, run, start_measuring, sum_of, throng};
use crate::support::{REACTS_WITHIN, START_MAX, free_address, python, skip, wait_until};

const WITHIN: Duration = Duration::from_secs(120);
const NCHAN: &str = "/usr/lib/nginx/modules/ngx_nchan_module.so";

fn servers() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/servers/sse")
}

fn broadcast(address: SocketAddr, load: &str) -> Command {
    published("broadcast", address, "/events", load)
}

/// A verb whose messages are published, with streams at this path.
fn published(verb: &str, address: SocketAddr, path: &str, load: &str) -> Command {
    let mut command = throng([verb, &format!("http://{address}{path}?room={{room}}"), "--protocol", "sse"]);
    command.args(["--publish-url", "/publish/{room}", "--format", "json", "--quiet", "--no-store"]);
    command.args(["--connect-timeout", "20s"]).args(load.split(' '));
    command
}

/// Messages sent, and copies that were due, came, and came where they should not, or not as they should.
fn counts(results: &Value) -> [u64; 7] {
    ["sent", "expected", "received", "duplicate", "corrupt", "leaked", "reordered"]
        .map(|name| sum_of(results, name))
}

/// Asserts that each of a hundred messages comes once to each member of its room.
fn assert_all(address: SocketAddr, clients: u64, per_room: u64) {
    assert_copies(address, clients, per_room, 100);
}

/// Asserts that each of `messages` comes once to each member of its room.
fn assert_copies(address: SocketAddr, clients: u64, per_room: u64, messages: u64) {
    let load = format!("--clients {clients} --room-size {per_room} --concurrent 8 --sample-size {messages}");
    let outcome = run(&mut broadcast(address, &load), WITHIN);
    outcome.assert_held();
    let (results, copies) = (outcome.json(), messages * per_room);
    assert_eq!(counts(&results), [messages, copies, copies, 0, 0, 0, 0], "{outcome}");
    assert_eq!(results["steps"][0]["counts"]["errors"], json!({}), "{outcome}");
}

/// Events that the server has written to streams.
fn told(address: SocketAddr) -> u64 {
    told_of(address, "/told").parse().unwrap()
}

/// The body of the server's answer to a GET.
pub(crate) fn told_of(address: SocketAddr, path: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(REACTS_WITHIN)).unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    // Node sends it as one chunk, with its size before it.
    if head.contains("chunked") { body.lines().nth(1).unwrap().into() } else { body.into() }
}

pub(crate) fn node(more: &[&str]) -> Option<(Process, SocketAddr)> {
    if !Command::new("node").arg("--version").output().is_ok_and(|output| output.status.success()) {
        skip("event streams of Node.js", "needs node");
        return None;
    }
    let address = free_address();
    Some((start_node(address, more), address))
}

pub(crate) fn start_node(address: SocketAddr, more: &[&str]) -> Process {
    let mut serve = Command::new("node");
    serve.arg(servers().join("server.js")).arg(address.port().to_string()).args(more);
    Process::start(&mut serve).listening_at(address)
}

#[test]
fn the_server_against_the_package_eventsource() {
    let scripts = match Scripts::install("sse") {
        Ok(scripts) => scripts,
        Err(Unavailable(why)) => return skip("eventsource (npm), the client", &why),
    };
    let server = Server::start(&["--history", "100"]);
    scripts.run("client.js", &[&server.address.to_string()]);
}

#[test]
fn the_client_against_our_server() {
    let server = Server::start(&["--threads", "1"]);
    assert_all(server.address, 20, 5);
    // Two threads keep no order between two requests to publish, which come over different connections.
    let server = Server::start(&["--threads", "2"]);
    let outcome = run(
        &mut broadcast(server.address, "--clients 30 --processes 2 --threads 2 --rate 200 --duration 1s"),
        WITHIN,
    );
    let results = outcome.json();
    assert_eq!(sum_of(&results, "received"), 30 * sum_of(&results, "sent"), "{outcome}");
}

#[test]
fn copies_are_counted_as_node_tells_them() {
    let Some((_node, address)) = node(&[]) else { return };
    assert_all(address, 1_000, 100);
    assert_eq!(told(address), 100 * 100);
}

#[test]
fn doubled_and_swapped_events_are_counted() {
    let Some((_node, address)) = node(&[]) else { return };
    for (path, found) in [("/twice", [2_000, 2_000, 0]), ("/swapped", [2_000, 0, 1_000])] {
        // A single sender, because messages of different senders have no order.
        let load = "--clients 20 --room-size 20 --senders 5% --concurrent 1 --sample-size 100";
        let outcome = run(&mut published("broadcast", address, path, load), WITHIN);
        let results = outcome.json();
        let counts = ["received", "duplicate", "reordered"].map(|name| sum_of(&results, name));
        let last_receivers = results["steps"][0]["completion"]["count"].as_u64();
        assert_eq!((counts, last_receivers), (found, Some(100)), "{path}: {outcome}");
    }
}

/// Each client is a stream of HTTP/2; who publishes does so over HTTP/1.1.
#[test]
fn copies_over_http2_match_nodes_count() {
    let second = free_address();
    let Some((_node, address)) = node(&["", &second.port().to_string()]) else { return };
    for (place, all) in [("events", 1_000), ("moved", 2_000)] {
        let url = format!("http://{second}/{place}?room={{room}}");
        let mut command = throng(["broadcast", &url, "--protocol", "sse", "--http2", "--publish-url"]);
        command.arg(format!("http://{address}/publish/{{room}}"));
        command.args("--clients 100 --room-size 10 --sample-size 100 --format json --no-store".split(' '));
        let outcome = run(&mut command, WITHIN);
        assert_eq!(outcome.code, Some(0), "{outcome}");
        assert_eq!(counts(&outcome.json()), [100, 1_000, 1_000, 0, 0, 0, 0], "{outcome}");
        assert_eq!(told(address), all, "{place}");
    }
}

#[test]
fn redirects_of_node_are_followed() {
    let Some((_node, address)) = node(&[]) else { return };
    let mut command = throng(["broadcast", &format!("http://{address}/moved?room=1"), "--protocol", "sse"]);
    command.args([
        "--publish-url",
        "/publish/1",
        "--clients",
        "20",
        "--sample-size",
        "50",
        "--format",
        "json",
    ]);
    let outcome = run(&mut command, WITHIN);
    assert_eq!(counts(&outcome.json())[..3], [50, 1_000, 1_000], "{outcome}");
}

#[test]
fn copies_are_counted_as_sse_starlette_tells_them() {
    let home = Path::new(env!("CARGO_TARGET_TMPDIR")).join("sse-starlette");
    let python = match python::environment(&home, &servers().join("requirements.txt")) {
        Ok(python) => python,
        Err(Unavailable(why)) => return skip("sse-starlette (PyPI)", &why),
    };
    let address = free_address();
    let _server = Process::start(
        Command::new(&python).arg(servers().join("server.py")).arg(address.port().to_string()),
    )
    .listening_at(address);
    assert_all(address, 100, 20);
    assert_eq!(told(address), 100 * 20);
}

#[test]
fn copies_of_nchan_come_once_each() {
    if !Path::new(NCHAN).exists() {
        return skip("nchan", "needs it: apt install nginx-light libnginx-mod-nchan");
    }
    let (address, folder) = (free_address(), tempfile::tempdir().unwrap());
    let conf = include_str!("servers/sse/nchan.conf").replace("PORT", &address.port().to_string());
    fs::write(folder.path().join("nginx.conf"), conf).unwrap();
    let mut nginx = Command::new("nginx");
    let _nginx = Process::start(nginx.args(["-e", "stderr", "-c", "nginx.conf", "-p"]).arg(folder.path()))
        .listening_at(address);
    assert_all(address, 1_000, 50);
}

/// Clients were away, and nothing is lost for that.
fn assert_recovered(results: &Value, outcome: &Outcome) {
    let [offline, recovered, lost, missing, duplicate] =
        ["offline_due", "recovered", "lost_offline", "missing", "duplicate"]
            .map(|name| sum_of(results, name));
    assert!(offline > 0, "{outcome}");
    assert_eq!((recovered, lost, missing, duplicate), (offline, 0, 0, 0), "{outcome}");
}

#[test]
fn returning_clients_miss_nothing() {
    let server = Server::start(&["--history", "1000"]);
    let load = "--clients 20 --rate 50 --duration 4s --flap 1s..2s:300ms";
    let outcome = run(&mut broadcast(server.address, load), WITHIN);
    assert_recovered(&outcome.json(), &outcome);
    let outcome = run(broadcast(server.address, load).arg("--no-session-resume"), WITHIN);
    assert!(
        sum_of(&outcome.json(), "lost_offline") > 0,
        "without its last event ID, a client misses some: {outcome}"
    );
}

#[test]
fn servers_say_when_clients_come_back() {
    let Some((_node, address)) = node(&[]) else { return };
    let mut command = throng(["storm", &format!("http://{address}/events?room=1"), "--protocol", "sse"]);
    let outcome = run(command.args(["--clients", "50", "--format", "json", "--no-store"]), WITHIN);
    let recovery = &outcome.json()["steps"][0]["recovery"];
    assert_eq!(recovery["count"], 50, "{outcome}");
    // The server's `retry` is 200 ms. Without one it would be 3 s.
    let first_ms = recovery["min_ms"].as_f64().unwrap();
    assert!((200.0..3_000.0).contains(&first_ms), "{outcome}");
}

/// Asserts that a server which is killed after two seconds of load and started again replays its file to clients
/// by `Last-Event-ID`, and that messages which it never had are lost to nobody.
fn assert_restart_loses_nothing(verb: &str, clients: u64, rate: usize, load: &str) {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let log = log.to_str().unwrap();
    let Some((first, address)) = node(&[log]) else { return };
    let load = format!("--clients {clients} --rate {rate} {load}");
    let running = start_measuring(&mut published(verb, address, "/events", &load));
    let logged = || fs::read_to_string(log).unwrap_or_default().lines().count();
    assert!(wait_until(START_MAX, || logged() >= 2 * rate), "{} messages", logged());
    drop(first);
    // Some messages have no connection; and a publisher tries one in vain, also on a busy machine: if it met
    // only the next server, what it had under way would be that one's to answer.
    thread::sleep(Duration::from_secs(2));
    let _second = start_node(address, &[log]);
    let outcome = finish(running, WITHIN);
    let results = outcome.json();
    let [received, recovered] = ["received", "recovered"].map(|name| sum_of(&results, name));
    assert!(recovered > 0, "{outcome}");
    assert_eq!(received + recovered, clients * logged() as u64, "{verb}: {outcome}");
    let bad = ["duplicate", "lost_offline", "missing", "unacknowledged"].map(|name| sum_of(&results, name));
    assert_eq!((sum_of(&results, "offline_due"), bad), (recovered, [0; 4]), "{verb}: {outcome}");
}

#[test]
fn a_restart_of_the_server_loses_nothing() {
    let load = "--duration 8s --drain-timeout 8s";
    assert_restart_loses_nothing("broadcast", 50, 20, &format!("{load} --flap 10s..20s"));
    assert_restart_loses_nothing("audit", 50, 20, &format!("{load} --room-size 50"));
}

/// Ten thousand on one stream of events.
#[test]
#[ignore = "two minutes: make torture"]
fn torture_ten_thousand_streams_lose_nothing() {
    let Some((node, address)) = node(&[]) else { return };
    assert_copies(address, 10_000, 10_000, 20);
    assert_eq!(told(address), 20 * 10_000);
    drop(node);
    let load = "--room-size 10000 --duration 12s --drain-timeout 30s";
    assert_restart_loses_nothing("audit", 10_000, 2, load);
}

#[test]
fn other_answers_are_told_with_what_to_do() {
    let Some((_node, address)) = node(&[]) else { return };
    for (path, key, name) in [
        ("/page", "not_event_stream", "HTML"),
        ("/api", "not_event_stream", "JSON"),
        ("/over", "no_content", "204"),
        ("/nothing", "status_404", "an event stream"),
        ("/hang", "connect_timeout", "the stream"),
    ] {
        let mut command =
            throng(["idle", &format!("http://{address}{path}"), "--protocol", "sse", "--clients", "2"]);
        let outcome =
            run(command.args(["--connect-timeout", "5s", "--format", "json", "--no-store"]), WITHIN);
        outcome.assert_failed(1, &format!("could_not.reach.{key}"), &[name]);
    }
    let mut command = throng(["idle", &format!("ws://{address}/events?room=1"), "--clients", "2"]);
    let outcome = run(command.args(["--format", "json", "--no-store"]), WITHIN);
    outcome.assert_failed(1, "could_not.reach.status_200", &["--protocol sse"]);
}

/// An app's file of a server that tells numbered events by itself.
const TICKS: &str = r#"
protocol = "sse"

[push.tick]
when = { json = { "/type" = "tick" } }
number = "json:/n"

[load]
people = 5
duration = "3s"
"#;

#[test]
fn pushes_on_streams_are_counted_by_number() {
    let Some((_node, address)) = node(&[]) else { return };
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("ticks.toml"), TICKS).unwrap();
    let mut command = throng(["run", "ticks.toml", &format!("http://{address}/ticks")]);
    command.args(["--connect-timeout", "20s", "--format", "json", "--no-store"]).current_dir(folder.path());
    let outcome = run(&mut command, WITHIN);
    let [pushed, skipped] = ["pushed", "push_skipped"].map(|name| sum_of(&outcome.json(), name));
    assert!(skipped >= 5 && pushed > 5 * skipped, "{outcome}");
    assert_eq!(outcome.code, Some(3), "{outcome}");
}

/// An app's file whose users listen in rooms of five.
const ROOMS: &str = r#"
protocol = "sse"

[connect]
path = "/events?room={room}"

[room.a]
size = 5

[publish]
post = "/publish/{room}"
body = '{"text":"{id}"}'

[load]
people = 20
"#;

#[test]
fn rooms_of_a_file_are_paths_of_streams() {
    let Some((_node, address)) = node(&[]) else { return };
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("rooms.toml"), ROOMS).unwrap();
    let mut command = throng(["run", "rooms.toml", &format!("http://{address}")]);
    command.args("--concurrent 8 --sample-size 50 --format json --no-store".split(' '));
    let outcome = run(command.current_dir(folder.path()), WITHIN);
    outcome.assert_held();
    assert_eq!(counts(&outcome.json()), [50, 250, 250, 0, 0, 0, 0], "{outcome}");
    assert_eq!(told(address), 250);
}

#[test]
fn clients_that_only_receive_say_nothing() {
    let server = Server::start(&[]);
    let url = format!("http://{}/events?room=1", server.address);
    for words in [&["broadcast"][..], &["echo"], &["idle", "--echo"]] {
        let mut command = throng([]);
        command.args(words).args([
            &url,
            "--protocol",
            "sse",
            "--clients",
            "2",
            "--format",
            "json",
            "--no-store",
        ]);
        run(&mut command, WITHIN).assert_failed(2, "usage.protocol", &["--publish-url"]);
    }
    let outcome =
        run(
            throng(["idle", &url, "--protocol", "eventsource", "--clients", "50", "--duration", "1s"])
                .args(["--format", "json", "--no-store"]),
            WITHIN,
        );
    assert_eq!((outcome.code, sum_of(&outcome.json(), "connected")), (Some(0), 50), "{outcome}");
    let outcome = run(
        throng(["storm", &url, "--protocol", "sse", "--clients", "50"]).args([
            "--format",
            "json",
            "--no-store",
        ]),
        WITHIN,
    );
    assert_eq!(errors_of(&outcome.json(), "stream_end"), 0, "{outcome}");
}
