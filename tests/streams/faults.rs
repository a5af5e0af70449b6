//! Faults of streamed answers: every one that throng's own server, Node's or a hostile one plants is found,
//! under its name.

use serde_json::Value;

use super::{counts, journal, ms, node, of, stream};
use crate::support::hostile::{HostileServer, Peer};
use crate::support::requests::RUN_MAX;
use crate::support::skip;
use crate::support::throng::{Server, errors_of, run, sum_of, throng};

/// A server's behaviour, and how it does it.
type Case = (&'static str, fn(&mut Peer));

/// The head of an event stream in chunks.
const CHUNKED: &str = "200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked";

#[test]
fn planted_faults_are_found_exactly() {
    let server = Server::start(&[]);
    let query = "events=50&gap=10ms&break=20:1%10&end=missing:2%10&swap=30:5%10&hang=40:6%10";
    let url = format!("http://{}/stream?{query}", server.address);
    // Half of a hundred at once, and once each: none waits for another.
    let outcome = stream(&url, "-c 100 -n 100 --end [DONE] --order /n --drain-timeout 4s");
    assert_eq!(outcome.code, Some(3), "{outcome}");
    let results = outcome.json();
    let found = counts(&results, ["broken_off", "unmarked", "unended", "misordered", "after_end", "missing"]);
    assert_eq!(found, [10, 10, 10, 10, 0, 20], "{results:#}");
    let url = format!("http://{}/stream?events=5&gap=1ms&end=doubled:0%2", server.address);
    let doubled = stream(&url, "-c 10 -n 100 --end [DONE]").json();
    assert_eq!(counts(&doubled, ["after_end", "received", "unmarked"]), [50, 100, 0]);
}

/// Asserts that every fault that is planted in twenty of `answers` at once is found.
fn assert_faults_are_found(answers: u64, events: u64, gap_ms: u64) {
    let server = Server::start(&[]);
    let (each, half, later) = (answers / 20, events / 2, events * 3 / 5);
    // All are asked at once, and a busy machine may take three times as long for them.
    let drain_ms = 3 * events * gap_ms + 6_000;
    let query = [
        format!(
            "events={events}&gap={gap_ms}ms&break={half}:3%{each}&end=missing:4%{each}&swap={later}:6%{each}"
        ),
        format!(
            "&stall=3s@{later}:5%{each}&hang={later}:7%{each}&error={half}:8%{each}&end=doubled:9%{each}"
        ),
    ]
    .concat();
    let url = format!("http://{}/stream?{query}", server.address);
    let mut command = throng(["stream", &url, "--format", "json", "--no-preflight", "--no-store"]);
    command.args(["-c", &answers.to_string(), "-n", &answers.to_string()]);
    let flags = format!("--end [DONE] --order /n --drain-timeout {drain_ms}ms --connect-timeout 30s");
    let outcome = run(command.args(flags.split_whitespace()), 4 * RUN_MAX);
    let results = outcome.json();
    let found = counts(&results, ["sent", "broken_off", "unmarked", "unended", "misordered", "after_end"]);
    assert_eq!(found, [answers, 20, 20, 20, 20, 20], "{outcome}");
    assert_eq!(errors_of(&results, "http_error_event"), 20, "{outcome}");
    let usual_ms = ms(&results, "gap", "p50_ms");
    if usual_ms >= 250.0 {
        skip("planted stalls", &format!("three seconds are none beside gaps of {usual_ms} ms"));
    } else {
        // A busy machine makes more of them, and reads the event before one late.
        let [stalls, here] = counts(&results, ["stalls", "stalls_here"]);
        assert!(stalls - here >= 20 && ms(&results, "gap", "max_ms") >= 2_900.0, "{outcome}");
    }
    // What broke off or hung had come so far.
    let (whole, cut) = (answers - 40, 20 * (half + later));
    assert_eq!(counts(&results, ["events", "received"]), [whole * events + cut, whole], "{outcome}");
}

#[test]
fn hundreds_of_answers_are_accounted_for() {
    assert_faults_are_found(400, 100, 80);
}

#[test]
#[ignore = "a test of the machine: make torture"]
fn torture_two_thousand_answers_are_accounted_for() {
    assert_faults_are_found(2_000, 200, 100);
}

#[test]
fn faults_in_nodes_journal_are_found() {
    let Some((_node, [first, second])) = node() else { return };
    let flags = "-m POST -b {} -n 40 --order /n --drain-timeout 4s";
    for (address, load, path, end) in [
        (first, "-c 40", "sse", "--end [DONE]"),
        (first, "-c 40", "ndjson", "--end /done=true"),
        (second, "--http2 -c 4 --streams 10", "sse", "--end [DONE]"),
        (second, "--http2 -c 1 --streams 40", "ndjson", "--end /done=true"),
    ] {
        let before = journal(first);
        let url = format!("http://{address}/{path}?faults");
        let results = stream(&url, &format!("{flags} {load} {end}")).json();
        let journal = journal(first);
        let planted = ["broken", "unmarked", "doubled", "swapped", "endless"]
            .map(|fault| of(&journal, fault) - of(&before, fault));
        let found = counts(&results, ["broken_off", "unmarked", "after_end", "misordered", "unended"]);
        assert_eq!((found, planted), ([4; 5], [4; 5]), "{path} {load}: {results:#}");
    }
}

#[test]
fn answers_without_a_stream_fail_by_name() {
    let cases: &[Case] = &[
        ("http_not_stream", |p| {
            p.answer("200 OK\r\nContent-Type: text/html\r\nContent-Length: 3").send(b"<p>").hold()
        }),
        ("http_not_stream", |p| {
            let head = "200 OK\r\nContent-Type: application/json\r\nContent-Length: 25";
            p.answer(head).send(br#"{"error":"no such model"}"#).hold()
        }),
        ("http_no_events", |p| p.answer("200 OK\r\nContent-Length: 0").hold()),
        ("http_no_events", |p| p.answer(CHUNKED).send(b"3\r\n:\n\n\r\n0\r\n\r\n").hold()),
        ("http_error_event", |p| {
            p.answer(CHUNKED).send(b"17\r\nevent: error\ndata: {}\n\n\r\n0\r\n\r\n").hold()
        }),
    ];
    for (kind, treat) in cases {
        let server = HostileServer::start(*treat);
        let outcome = stream(&format!("http://{}/", server.address), "-c 2 -n 2 --drain-timeout 2s");
        let results = outcome.json();
        assert_eq!((errors_of(&results, kind), sum_of(&results, "received")), (2, 2), "{kind}: {outcome}");
        let loss = &results["steps"][0]["losses"][0];
        assert_eq!((outcome.code, &loss["key"]), (Some(3), &Value::from("loss.wrong")), "{kind}: {outcome}");
    }
}

#[test]
fn hostile_streams_are_counted_and_bounded() {
    let cases: &[Case] = &[
        ("broke_off", |p| p.answer(CHUNKED).send(b"6\r\ndata: \r\n").fin()),
        ("bad_http", |p| p.answer(CHUNKED).send(b"8\r\ndata:1\n\n\r\nxyz\r\n").hold()),
        ("event_too_large", |p| p.answer(CHUNKED).send(b"FFFFFFFFF\r\ndata: ").flood(&[b'x'; 65_536])),
        ("event_too_large", |p| {
            p.answer("200 OK\r\nContent-Type: application/x-ndjson").flood(&[b'x'; 65_536])
        }),
    ];
    for (kind, treat) in cases {
        let server = HostileServer::start(*treat);
        let flags = "-c 2 -n 2 --max-message 1MiB --drain-timeout 2s";
        let results = stream(&format!("http://{}/", server.address), flags).json();
        assert!(errors_of(&results, kind) > 0, "{kind}: {results:#}");
        assert_eq!(counts(&results, ["broken_off", "received"]), [2, 0], "{kind}: {results:#}");
    }
}

#[test]
fn compressed_streams_are_wrong_answers() {
    let server = HostileServer::start(|p| {
        let head = "200 OK\r\nContent-Type: text/event-stream\r\nContent-Encoding: gzip\r\nContent-Length: 4";
        p.answer(head).send(b"\x1f\x8b\x08\x00").hold();
    });
    let outcome = stream(&format!("http://{}/", server.address), "-c 2 -n 2");
    let results = outcome.json();
    assert_eq!((errors_of(&results, "http_encoded"), sum_of(&results, "received")), (2, 2), "{results:#}");
    let loss = &results["steps"][0]["losses"][0];
    assert_eq!((outcome.code, &loss["key"]), (Some(3), &Value::from("loss.wrong")), "{outcome}");
}
