//! `throng stream` over WebSockets: what throng's own server and one of Node.js plant in their answers is what
//! is found, and connections that are lost are made anew.

use std::net::SocketAddr;

use serde_json::Value;

use crate::streams::{counts, journal, of, stream};
use crate::support::node::Scripts;
use crate::support::process::Process;
use crate::support::requests::RUN_MAX;
use crate::support::target::Unavailable;
use crate::support::throng::{Server, errors_of, run, sum_of, throng};
use crate::support::{free_address, in_time, skip, timed};

/// The faults that are told apart.
const FAULTS: [&str; 6] = ["broken_off", "unmarked", "unended", "misordered", "after_end", "missing"];

/// A question of two words.
const ASKED: &str = "--body tea? --end [DONE]";

fn url(server: &Server, query: &str) -> String {
    format!("ws://{}/stream?{query}", server.address)
}

#[test]
fn messages_are_read_one_by_one() {
    let server = Server::start(&["--threads", "2"]);
    for (form, end) in [("sse", "[DONE]"), ("ndjson", "/done=true"), ("text", "[DONE]")] {
        let url = url(&server, &format!("events=20&gap=5ms&first=40ms&as={form}"));
        let tokens = "--tokens /choices/0/delta/content --order /n";
        let outcome = stream(&url, &format!("-c 4 -n 12 --body tea? --end {end} {tokens}"));
        assert_eq!(outcome.code, Some(0), "{form}: {outcome}");
        let results = outcome.json();
        // A mark in JSON is one of them, and text has no tokens.
        let events = if form == "ndjson" { 21 } else { 20 };
        let tokens = if form == "text" { 0 } else { 20 };
        let found = counts(&results, ["sent", "received", "events", "tokens", "connects"]);
        assert_eq!(found, [12, 12, 12 * events, 12 * tokens, 4], "{form}: {outcome}");
        assert!(results["steps"][0]["first"]["min_ms"].as_f64() >= Some(39.0), "{form}");
        assert_eq!(results["steps"][0]["first"]["count"], 12, "{form}");
    }
}

#[test]
fn faults_planted_over_websockets_are_found() {
    let server = Server::start(&[]);
    let query = "events=50&gap=10ms&break=20:1%10&end=missing:2%10&swap=30:5%10&hang=40:6%10";
    let flags = format!("-c 100 -n 100 {ASKED} --order /n --drain-timeout 4s");
    let outcome = stream(&url(&server, query), &flags);
    assert_eq!(outcome.code, Some(3), "{outcome}");
    let results = outcome.json();
    assert_eq!(counts(&results, FAULTS), [10, 10, 10, 10, 0, 20], "{outcome}");
    assert_eq!(sum_of(&results, "events"), 80 * 50 + 10 * 20 + 10 * 40, "{outcome}");
    let doubled = stream(&url(&server, "events=5&gap=1ms&end=doubled:0%2"), &format!("-c 10 -n 100 {ASKED}"));
    let found = counts(&doubled.json(), ["after_end", "received", "unmarked", "events"]);
    assert_eq!(found, [50, 100, 0, 500], "{doubled}");
}

#[test]
fn lost_connections_are_made_anew() {
    let server = Server::start(&[]);
    let outcome = stream(
        &url(&server, "events=5&gap=2ms&break=3:1%5&end=missing:2%5"),
        &format!("-c 5 -n 100 {ASKED} --order /n"),
    );
    let results = outcome.json();
    let names = ["sent", "received", "broken_off", "unmarked", "disconnects"];
    assert_eq!(counts(&results, names), [100, 80, 20, 20, 0], "{outcome}");
    assert_eq!(errors_of(&results, "broke_off"), 20, "{outcome}");
}

#[test]
fn stalls_of_messages_are_where_planted() {
    let server = Server::start(&[]);
    let url = url(&server, "events=50&gap=20ms&stall=1s@25:4%10");
    timed(|| {
        let results = stream(&url, &format!("-c 20 -n 20 {ASKED}")).json();
        let [received, stalls, here] = counts(&results, ["received", "stalls", "stalls_here"]);
        assert_eq!(received, 20, "{results:#}");
        in_time(stalls - here == 2, || format!("{results:#}"))
    });
}

#[test]
fn questions_come_at_their_rate() {
    let server = Server::start(&["--compress"]);
    let flags = format!("-c 20 -R 40 -d 2s {ASKED} --limit first<5s --compress");
    let outcome = stream(&url(&server, "events=10&gap=5ms"), &flags);
    outcome.assert_held();
    assert_eq!(counts(&outcome.json(), ["sent", "received", "events"]), [80, 80, 800], "{outcome}");
}

#[test]
fn long_answers_wait_for_their_reader() {
    let server = Server::start(&[]);
    let outcome = stream(&url(&server, "events=100&gap=0ms&bytes=300000"), &format!("-c 4 -n 8 {ASKED}"));
    outcome.assert_held();
    assert_eq!(counts(&outcome.json(), ["received", "events"]), [8, 800], "{outcome}");
}

#[test]
fn other_ends_and_flags_are_refused() {
    for (flags, key) in [
        ("--body tea?", "usage.end"),
        ("--body tea? --end event:stop", "usage.end"),
        ("--body tea? --end=", "usage.end.value_validation"),
        ("--end [DONE]", "usage.body"),
        ("--body tea? --end [DONE] --as sse", "usage.as"),
        ("--api openai", "usage.api"),
        ("--body tea? --end [DONE] --http2", "usage.http2"),
        ("--body tea? --end [DONE] -m POST", "usage.method"),
        ("--body tea? --end [DONE] --no-keep-alive", "usage.no_keep_alive"),
    ] {
        stream("ws://127.0.0.1:9/", flags).assert_failed(2, key, &[]);
    }
    let mut http = throng(["http", "ws://127.0.0.1:9/"]);
    run(http.args(["--format", "json"]), RUN_MAX).assert_failed(2, "usage.url", &[]);
}

/// The server of tests/servers/ws_streams, if its package can be had.
fn node() -> Option<(Process, SocketAddr)> {
    let scripts = match Scripts::install_in("tests/servers", "ws_streams") {
        Ok(scripts) => scripts,
        Err(Unavailable(why)) => {
            skip("ws (npm), answers in pieces", &why);
            return None;
        }
    };
    let address = free_address();
    let process = scripts.start("server.js", &[&address.port().to_string()]).listening_at(address);
    Some((process, address))
}

#[test]
fn faults_in_the_journal_of_ws_are_found() {
    let Some((_node, address)) = node() else { return };
    let read = "--end /type=end --tokens /text --order /n --drain-timeout 4s --subprotocol tokens";
    let outcome = stream(&format!("ws://{address}/?faults"), &format!("-c 40 -n 40 --body tea? {read}"));
    let (results, journal) = (outcome.json(), journal(address));
    let planted = ["broken", "unmarked", "doubled", "swapped", "endless"].map(|fault| of(&journal, fault));
    let found = counts(&results, ["broken_off", "unmarked", "after_end", "misordered", "unended"]);
    assert_eq!((found, planted), ([4; 5], [4; 5]), "{outcome}");
    // The marks of whole answers are events as well.
    let events = journal["events"].as_u64().unwrap();
    assert_eq!(counts(&results, ["tokens", "events"]), [events, events + 28], "{outcome}");
    assert_eq!(journal["questions"]["tea?"], 40, "{journal:#}");
    assert_eq!(journal["users"]["undefined undefined tokens"], journal["connections"], "{journal:#}");
}

#[test]
fn first_events_are_as_soon_as_said() {
    let Some((_node, address)) = node() else { return };
    timed(|| {
        let results =
            stream(&format!("ws://{address}/"), "-c 1 -n 5 --body tea? --end /type=end --order /n").json();
        assert_eq!(results["steps"][0]["first"]["count"], 5, "{results:#}");
        let first_ms = results["steps"][0]["first"]["p50_ms"].as_f64().unwrap();
        in_time(first_ms < 10.0, || format!("{results:#}"))
    });
}

/// An app's file whose users log in, and ask what their rows say.
const APP: &str = r#"
[people]
data = "users.csv"

[[login]]
post = "/login"
json = { name = "{person.name}" }
keep = { key = "json:/key" }

[connect]
path = "/chat"
headers = { Authorization = "Bearer {key}" }

[stream]
body = '{"prompt":"{person.prompt}","key":"{key}"}'
end = "/type=end"
order = "/n"

[load]
people = 2
"#;

#[test]
fn users_of_a_file_ask_over_websockets() {
    let Some((_node, address)) = node() else { return };
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("app.toml"), APP).unwrap();
    std::fs::write(folder.path().join("users.csv"), "name,prompt\nada,\"say \"\"hi\"\"\"\nbob,wait\n")
        .unwrap();
    let mut command = throng(["run", "app.toml", &format!("ws://{address}"), "-n", "8"]);
    command.args(["--format", "json", "--no-store"]);
    let outcome = run(command.current_dir(folder.path()), RUN_MAX);
    outcome.assert_held();
    assert_eq!(counts(&outcome.json(), ["events", "received", "unmarked"]), [8 * 21, 8, 0], "{outcome}");
    assert_eq!(outcome.json()["steps"][0]["handshake_parts"]["login"]["count"], 2, "{outcome}");
    let journal = journal(address);
    let asked = [r#"{"prompt":"say \"hi\"","key":"key-ada"}"#, r#"{"prompt":"wait","key":"key-bob"}"#];
    assert_eq!(
        asked.map(|question| journal["questions"][question].as_u64()),
        [Some(4), Some(4)],
        "{journal:#}"
    );
    for name in ["ada", "bob"] {
        let user = &journal["users"][format!("Bearer key-{name} user={name} ")];
        assert_ne!(user, &Value::Null, "{journal:#}");
    }
}
