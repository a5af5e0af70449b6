//! `throng stream` from end to end, by throng's own server and by Node's: forms of answers, their bytes,
//! rates, limits and prompts.

mod app_files;
mod faults;
mod stalls;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::Command;

use serde_json::Value;

use crate::support::process::Process;
use crate::support::requests::RUN_MAX;
use crate::support::throng::{Outcome, Server, errors_of, run, sum_of, throng};
use crate::support::{REACTS_WITHIN, free_address, skip};

/// Runs `throng stream` with these flags, in JSON.
pub(crate) fn stream(url: &str, flags: &str) -> Outcome {
    run(
        throng(["stream", url, "--format", "json", "--no-preflight", "--no-store"])
            .args(flags.split_whitespace()),
        RUN_MAX,
    )
}

/// The counts of these names.
pub(crate) fn counts<const N: usize>(results: &Value, names: [&str; N]) -> [u64; N] {
    names.map(|name| sum_of(results, name))
}

fn ms(results: &Value, figure: &str, statistic: &str) -> f64 {
    results["steps"][0][figure][statistic]
        .as_f64()
        .unwrap_or_else(|| panic!("{figure} {statistic}: {results:#}"))
}

#[test]
fn each_form_is_read_event_by_event() {
    let server = Server::start(&[]);
    for (form, end) in [("sse", "--end [DONE]"), ("ndjson", "--end /done=true"), ("text", "")] {
        let url = format!("http://{}/stream?events=20&gap=5ms&first=40ms&as={form}", server.address);
        let tokens = "--tokens /choices/0/delta/content --order /n";
        let outcome = stream(&url, &format!("-c 4 -n 12 {end} {tokens}"));
        assert_eq!(outcome.code, Some(0), "{form}: {outcome}");
        let results = outcome.json();
        // The mark of lines is one of them.
        let events = if form == "ndjson" { 21 } else { 20 };
        assert_eq!(counts(&results, ["sent", "received"]), [12, 12], "{form}");
        if form != "text" {
            assert_eq!(counts(&results, ["events", "tokens"]), [12 * events, 12 * 20], "{form}");
        }
        assert!(ms(&results, "first", "min_ms") >= 39.0, "{form}");
        assert_eq!(results["steps"][0]["first"]["count"], 12, "{form}");
    }
}

#[test]
fn bytes_are_those_of_whole_answers() {
    let server = Server::start(&[]);
    for (faults, received) in [("", 12), ("&break=25:0%2", 6)] {
        let url = format!("http://{}/stream?events=50&gap=1ms&bytes=1000&as=ndjson{faults}", server.address);
        let results = stream(&url, "-c 4 -n 12 --end /done=true").json();
        let rates = &results["steps"][0]["rates"];
        let [bytes, answers] = ["received_bytes_per_s", "received_per_s"].map(|name| rates[name].as_f64());
        let answer_bytes = bytes.unwrap() / answers.unwrap();
        assert!((50_000.0..60_000.0).contains(&answer_bytes), "{faults}: {results:#}");
        assert_eq!(counts(&results, ["received"]), [received], "{faults}");
    }
}

#[test]
fn limits_are_about_streams() {
    let server = Server::start(&[]);
    let url = format!("http://{}/stream?events=10&gap=5ms&first=50ms", server.address);
    let kept = stream(
        &url,
        "-c 2 -n 4 --limit first<5s --limit gap.p50<1s --limit event_rate>1/s --limit stalls<=9",
    );
    assert_eq!(kept.code, Some(0), "{kept}");
    let broken = stream(&url, "-c 2 -n 4 --limit first<20ms");
    assert_eq!(broken.code, Some(3), "{broken}");
}

#[test]
fn questions_come_at_their_rate() {
    let server = Server::start(&[]);
    let url = format!("http://{}/stream?events=10&gap=5ms", server.address);
    let outcome = stream(&url, "-c 20 -R 40 -d 2s --end [DONE] --order /n");
    outcome.assert_held();
    assert_eq!(counts(&outcome.json(), ["sent", "received", "events"]), [80, 80, 800], "{outcome}");
}

/// Schemes and flags for two questions at once.
const PAIRS: [(&str, &str); 3] =
    [("http", "-c 2"), ("http", "--http2 --streams 2 -c 1"), ("ws", "-c 2 --body tea?")];

/// Results of answers that are each twice as long as an answer without events is waited for.
fn long_answers(server: &Server, scheme: &str, flags: &str) -> Value {
    let url = format!("{scheme}://{}/stream?events=40&gap=100ms", server.address);
    stream(&url, &format!("{flags} --drain-timeout 2s --end [DONE]")).json()
}

#[test]
fn long_answers_delay_no_question() {
    let server = Server::start(&[]);
    for (scheme, pair) in PAIRS {
        let results = long_answers(&server, scheme, &format!("{pair} -n 4"));
        assert_eq!(
            counts(&results, ["sent", "received", "unended"]),
            [4, 2, 2],
            "{scheme} {pair}: {results:#}"
        );
        assert_eq!(results["steps"][0]["first"]["count"], 4, "{scheme} {pair}");
        assert!(ms(&results, "first", "max_ms") < 1_000.0, "{scheme} {pair}: {results:#}");
    }
}

#[test]
fn answers_of_a_warmup_delay_no_question() {
    let server = Server::start(&[]);
    for (scheme, pair) in PAIRS {
        let results = long_answers(&server, scheme, &format!("{pair} -n 2 --warmup 100ms"));
        assert_eq!(
            counts(&results, ["sent", "received", "unended"]),
            [2, 0, 2],
            "{scheme} {pair}: {results:#}"
        );
        assert!(ms(&results, "first", "max_ms") < 1_000.0, "{scheme} {pair}: {results:#}");
    }
}

/// Node's own http and its http2, which plant the same and keep a journal.
pub(crate) fn node() -> Option<(Process, [SocketAddr; 2])> {
    if !Command::new("node").arg("--version").output().is_ok_and(|output| output.status.success()) {
        skip("streamed answers of Node.js", "needs node");
        return None;
    }
    let addresses = [free_address(), free_address()];
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/servers/streams/server.mjs");
    let ports = addresses.map(|address| address.port().to_string());
    let process = Process::start(Command::new("node").arg(script).args(ports));
    let process = addresses.into_iter().fold(process, Process::listening_at);
    Some((process, addresses))
}

/// Journal of Node: faults planted so far, and how long its first events took.
pub(crate) fn journal(address: SocketAddr) -> Value {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(REACTS_WITHIN)).unwrap();
    stream.write_all(b"GET /journal HTTP/1.0\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1).unwrap()
}

/// Count of a planted fault.
pub(crate) fn of(journal: &Value, fault: &str) -> u64 {
    journal["planted"][fault].as_u64().unwrap_or(0)
}

#[test]
fn unknown_parameters_of_streams_are_refused() {
    let server = Server::start(&[]);
    for (query, name) in [("stal=1s@4", "stall"), ("gap=1ms&gap=2ms", "twice"), ("events=x", "a number")] {
        let url = format!("http://{}/stream?{query}", server.address);
        let results = stream(&url, "-c 1 -n 1").json();
        assert_eq!(errors_of(&results, "http_4xx"), 1, "{query}: {results:#}");
        let mut stream = TcpStream::connect(server.address).unwrap();
        stream.set_read_timeout(Some(REACTS_WITHIN)).unwrap();
        write!(stream, "GET /stream?{query} HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 400 ") && answer.contains(name), "{answer}");
    }
}

#[test]
fn prompts_come_from_rows_of_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let rows = folder.path().join("prompts.csv");
    std::fs::write(&rows, "prompt\n\"say \"\"hi\"\"\"\nwait\n").unwrap();
    let server = Server::start(&[]);
    let url = format!("http://{}/stream?events=5&gap=1ms", server.address);
    let rows = rows.to_str().unwrap();
    let outcome =
        stream(&url, &format!("--api openai --prompt {{person.prompt}} --users {rows} -c 2 -n 4 --order /n"));
    outcome.assert_held();
    assert_eq!(counts(&outcome.json(), ["events", "tokens", "unmarked"]), [20, 20, 0]);
}

#[test]
fn prompts_over_http2_are_each_clients_own() {
    let Some((_node, [first, second])) = node() else { return };
    let folder = tempfile::tempdir().unwrap();
    let rows = folder.path().join("prompts.csv");
    // The second is longer than the window that Node grants at first, and goes out in parts.
    let long = "x".repeat(100_000);
    std::fs::write(&rows, format!("prompt\nhi\n{long}\n")).unwrap();
    let rows = rows.to_str().unwrap();
    let flags =
        format!("--http2 --streams 2 -c 2 -n 8 -m POST --users {rows} -b {{person.prompt}} --order /n");
    let outcome = stream(&format!("http://{second}/sse"), &flags);
    assert_eq!(outcome.code, Some(0), "{outcome}");
    assert_eq!(counts(&outcome.json(), ["events", "received"]), [8 * 21, 8]);
    let bodies = &journal(first)["bodies"];
    assert_eq!([&bodies["hi"], &bodies[long.as_str()]].map(|count| count.as_u64()), [Some(4), Some(4)]);
}
