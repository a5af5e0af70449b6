//! Streams of `throng serve` over HTTP/2: what throng and curl, which shares no code with it, read there.

use std::process::{Command, Output};

use serde_json::Value;

use crate::support::process::Process;
use crate::support::requests::RUN_MAX;
use crate::support::skip;
use crate::support::throng::{Outcome, Server, run, sum_of, throng};
use crate::support::wait_until;

/// curl's exit code for a stream that was reset.
const STREAM_ERROR: i32 = 92;

fn measured(verb: &str, url: &str, flags: &str) -> Outcome {
    let mut command = throng([verb, url, "--http2", "--format", "json", "--no-preflight", "--no-store"]);
    run(command.args(flags.split_whitespace()), RUN_MAX)
}

fn counts<const N: usize>(results: &Value, names: [&str; N]) -> [u64; N] {
    names.map(|name| sum_of(results, name))
}

/// A curl that speaks HTTP/2 at once; `None`, with the reason printed, where there is none.
fn curl(flags: &[&str]) -> Option<Command> {
    let version = Command::new("curl").arg("--version").output();
    if !version.is_ok_and(|version| String::from_utf8_lossy(&version.stdout).contains("HTTP2")) {
        skip("curl over HTTP/2", "needs a curl with HTTP2");
        return None;
    }
    let mut command = Command::new("curl");
    command.args(["--http2-prior-knowledge", "-sN", "--max-time", "20"]).args(flags);
    Some(command)
}

/// Tells room 7 this; the answer says how many heard it.
fn publish(server: &Server, body: &str) -> String {
    let url = format!("http://{}/publish/7", server.address);
    text(&Command::new("curl").args(["-s", "-d", body, &url]).output().unwrap())
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn faults_planted_in_streams_are_found() {
    let server = Server::start(&["--threads", "2"]);
    let query = "events=50&gap=10ms&break=20:1%10&end=missing:2%10&swap=30:5%10&hang=40:6%10";
    let url = format!("http://{}/stream?{query}", server.address);
    for load in ["-c 5 --streams 20", "-c 1 --streams 100"] {
        let flags = format!("{load} -n 100 --end [DONE] --order /n --drain-timeout 4s");
        let outcome = measured("stream", &url, &flags);
        let results = outcome.json();
        let names =
            ["broken_off", "unmarked", "unended", "misordered", "after_end", "missing", "disconnects"];
        assert_eq!(counts(&results, names), [10, 10, 10, 10, 0, 20, 0], "{outcome}");
        assert_eq!(sum_of(&results, "events"), 80 * 50 + 10 * 20 + 10 * 40, "{outcome}");
    }
}

/// Half of what a stream's window holds at first, and many times that.
#[test]
fn long_events_go_out_within_windows() {
    let server = Server::start(&[]);
    for bytes in [30_000, 300_000] {
        let url = format!("http://{}/stream?events=20&gap=1ms&bytes={bytes}&as=ndjson", server.address);
        let outcome = measured("stream", &url, "-c 2 --streams 10 -n 40 --end /done=true --order /n");
        outcome.assert_held();
        assert_eq!(counts(&outcome.json(), ["received", "events"]), [40, 40 * 21], "{outcome}");
        let Some(mut curl) = curl(&["-d", "{}", &url]) else { return };
        let lines = text(&curl.output().unwrap());
        assert_eq!(lines.lines().count(), 21);
        assert!(lines.lines().take(20).all(|line| line.len() > bytes), "each is whole");
    }
}

#[test]
fn curl_reads_streams_and_their_faults() {
    let server = Server::start(&[]);
    let at = |query: &str| format!("http://{}/stream?events=5&gap=1ms{query}", server.address);
    let Some(mut whole) = curl(&["-w", "%{http_version} %{http_code} %{content_type}", &at("")]) else {
        return;
    };
    let whole = whole.output().unwrap();
    let (events, head) = (text(&whole).matches("data: {").count(), text(&whole));
    assert_eq!((whole.status.code(), events), (Some(0), 5), "{head}");
    assert!(head.ends_with("data: [DONE]\n\n2 200 text/event-stream"), "{head}");
    // Far enough apart to be read one by one: of events that come together with a reset, curl drops some.
    let apart = format!("http://{}/stream?events=5&gap=500ms&break=3", server.address);
    let broken = curl(&[&apart]).unwrap().output().unwrap();
    assert_eq!((broken.status.code(), text(&broken).matches("data: {").count()), (Some(STREAM_ERROR), 3));
    let wrong = curl(&["-w", "%{http_code}", &at("&break=x")]).unwrap().output().unwrap();
    let said = text(&wrong);
    assert!(said.starts_with("break=x ") && said.ends_with("\n400"), "{said}");
}

#[test]
fn event_streams_hear_what_is_published() {
    let server = Server::start(&["--threads", "2"]);
    let url = format!("http://{}/events?room={{room}}", server.address);
    let load = "--protocol sse --clients 40 --room-size 10 -c 4 -n 100 --publish-url /publish/{room}";
    let outcome = measured("broadcast", &url, load);
    outcome.assert_held();
    let names = ["connected", "sent", "expected", "received", "missing", "duplicate", "leaked"];
    assert_eq!(counts(&outcome.json(), names), [40, 100, 1_000, 1_000, 0, 0, 0], "{outcome}");
    // By the server that is started for the run.
    let own =
        run(&mut throng(["idle", "--protocol", "sse", "--http2", "--clients", "5", "-d", "200ms"]), RUN_MAX);
    assert_eq!(own.code, Some(0), "{own}");
}

/// A listener that is gone leaves the room.
#[test]
fn listeners_that_leave_are_forgotten() {
    let server = Server::start(&[]);
    let url = format!("http://{}/events?room=7", server.address);
    let Some(mut listener) = curl(&[&url]) else { return };
    let listener = Process::start(&mut listener);
    assert!(wait_until(RUN_MAX, || publish(&server, "{}") == r#"{"members":1}"#), "it has joined");
    drop(listener);
    assert!(wait_until(RUN_MAX, || publish(&server, "{}") == r#"{"members":0}"#), "it has left");
}

/// The window of its stream is full, and then as much waits as may: its stream is reset.
#[test]
fn listeners_that_do_not_read_lose_their_stream() {
    let server = Server::start(&["--max-backlog", "1MiB"]);
    let url = format!("http://{}/events?room=7", server.address);
    let Some(mut listener) = curl(&["--limit-rate", "1000", &url]) else { return };
    let _listener = Process::start(&mut listener);
    assert!(wait_until(RUN_MAX, || publish(&server, "{}") == r#"{"members":1}"#), "it has joined");
    let large = format!(r#"{{"x":"{}"}}"#, "y".repeat(100_000));
    // Within what the kernel's buffers, the windows and the backlog hold together.
    let lost = (0..1_000).find(|_| publish(&server, &large) == r#"{"members":0}"#);
    assert!(lost.is_some_and(|events| events > 5), "after {lost:?} events");
}
