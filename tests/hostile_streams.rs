//! Event streams of servers that break them off, never end a line or an event, or send what says nothing: each is
//! counted under its name, nothing grows with it, and the run ends in its time.

use serde_json::{Value, json};

use crate::streams::{counts, stream};
use crate::support::hostile::{HostileServer, Peer};
use crate::support::requests::RUN_MAX;
use crate::support::throng::{errors_of, run, throng};

/// A server's behaviour, under the name of the error that it is.
type Case = (&'static str, fn(&mut Peer));

/// The head of an event stream that goes on until the connection ends.
const STREAM: &str = "200 OK\r\nContent-Type: text/event-stream";

/// Memory of the generator, of which a flood may take some more than --max-message.
const BYTES_MAX: f64 = 100.0 * 1024.0 * 1024.0;

/// Results of two clients that listen to the server for two seconds.
fn listened(server: &HostileServer) -> Value {
    let url = format!("http://{}/", server.address);
    let mut command = throng(["idle", &url, "--protocol", "sse", "--clients", "2", "--duration", "2s"]);
    command.args("--max-message 1MiB --no-preflight --format json --no-store".split(' '));
    let results = run(&mut command, RUN_MAX).json();
    let peak = results["steps"][0]["generator"]["rss_bytes_peak"].as_f64();
    assert!(peak.is_some_and(|bytes| bytes < BYTES_MAX), "{results:#}");
    results
}

#[test]
fn broken_event_streams_are_counted_by_kind() {
    let cases: &[Case] = &[
        ("stream_end", |p| {
            let head = "200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked";
            p.answer(head).send(b"6\r\ndata: \r\n").fin()
        }),
        ("event_too_large", |p| p.answer(STREAM).send(b"data: ").flood(b"x")),
        ("event_too_large", |p| p.answer(STREAM).flood(b"data: x\n")),
        ("stream_encoded", |p| {
            let head = "200 OK\r\nContent-Type: text/event-stream\r\nContent-Encoding: gzip";
            p.answer(head).send(b"\x1f\x8b\x08\x00").hold()
        }),
    ];
    for (kind, treat) in cases {
        let results = listened(&HostileServer::start(*treat));
        let kinds = results["steps"][0]["counts"]["errors"].as_object().map(|errors| errors.len());
        assert_eq!((errors_of(&results, kind), kinds), (2, Some(1)), "{kind}: {results:#}");
    }
}

#[test]
fn odd_fields_and_pings_are_no_errors() {
    let treats: [fn(&mut Peer); 2] = [
        |p| p.answer(STREAM).send(b"id: \0\nretry: 100000000000000000000\n\n").hold(),
        |p| p.answer(STREAM).flood(b": ping\n\n"),
    ];
    for treat in treats {
        let results = listened(&HostileServer::start(treat));
        assert_eq!(counts(&results, ["connected", "disconnects"]), [2, 0], "{results:#}");
        assert_eq!(results["steps"][0]["counts"]["errors"], json!({}), "{results:#}");
    }
}

/// Pings are no events: such an answer is given up, and no further question gets through.
#[test]
fn answers_of_pings_are_given_up() {
    let server = HostileServer::start(|p| p.answer(STREAM).flood(b": ping\n\n"));
    let results = stream(&format!("http://{}/", server.address), "-c 2 -n 4 --drain-timeout 2s").json();
    assert_eq!(counts(&results, ["sent", "events", "unended", "missing"]), [2, 0, 2, 4], "{results:#}");
}
