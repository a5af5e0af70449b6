//! Clients that share HTTP/2 connections (`--streams`): against the reference server, and against Node's http2,
//! which counts its connections and what it tells.

use std::fs;
use std::net::SocketAddr;
use std::process::Command;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::dialect_sse::{node, start_node, told_of};
use crate::http2::{GREETING, HEADERS, certificate};
use crate::support::hostile::{HostileServer, Peer};
use crate::support::node::Scripts;
use crate::support::target::Unavailable;
use crate::support::throng::{Outcome, Server, errors_of, finish, run, start_measuring, sum_of, throng};
use crate::support::{START_MAX, free_address, skip, wait_until};

const WITHIN: Duration = Duration::from_secs(120);

/// A verb with event streams at `streams`, whose messages are published at `address`.
fn shared(verb: &str, streams: SocketAddr, path: &str, address: SocketAddr, load: &str) -> Command {
    let url = format!("http://{streams}{path}?room={{room}}");
    let mut command = throng([verb, &url, "--protocol", "sse", "--http2", "--format", "json", "--no-store"]);
    command.args(["--publish-url", &format!("http://{address}/publish/{{room}}"), "--no-preflight"]);
    command.args(["--connect-timeout", "20s"]).args(load.split(' '));
    command
}

/// Connections that the reference server has accepted, with the one that asks.
fn accepted(server: &Server) -> u64 {
    let metrics = told_of(server.address, "/metrics");
    let accepted = metrics.lines().find_map(|line| line.strip_prefix("throng_serve_connections_total "));
    accepted.unwrap_or_else(|| panic!("{metrics}")).parse().unwrap()
}

fn counts(results: &Value) -> [u64; 5] {
    ["expected", "received", "missing", "duplicate", "leaked"].map(|name| sum_of(results, name))
}

#[test]
fn a_thousand_clients_share_ten_connections() {
    let server = Server::start(&["--threads", "1"]);
    let before = accepted(&server);
    let url = format!("http://{}/events?room=1", server.address);
    let mut idle = throng(["idle", &url, "--protocol", "sse", "--http2", "--no-preflight", "--no-store"]);
    idle.args("--clients 1000 --streams 100 --threads 2 --connect-rate 2000 --duration 1s".split(' '));
    let outcome = run(idle.args(["--format", "json"]), WITHIN);
    outcome.assert_held();
    assert_eq!(sum_of(&outcome.json(), "connected"), 1_000, "{outcome}");
    // With the one that asks.
    assert_eq!(accepted(&server) - before, 10 + 1, "{outcome}");
}

#[test]
fn every_event_comes_to_every_stream() {
    let server = Server::start(&["--threads", "1"]);
    let load = "--clients 1000 --streams 100 --threads 2 --room-size 100 --concurrent 8 --sample-size 100";
    let outcome = run(&mut shared("broadcast", server.address, "/events", server.address, load), WITHIN);
    outcome.assert_held();
    assert_eq!(counts(&outcome.json()), [10_000, 10_000, 0, 0, 0], "{outcome}");
    assert_eq!(outcome.json()["steps"][0]["counts"]["errors"], json!({}), "{outcome}");
}

#[test]
fn node_counts_connections_and_copies() {
    let second = free_address();
    let Some((_node, address)) = node(&["", &second.port().to_string()]) else { return };
    let load = "--clients 100 --streams 20 --threads 1 --room-size 10 --sample-size 100";
    // Behind a redirect, each client opens another stream on its connection.
    for (path, all) in [("/events", [1_000, 5]), ("/moved", [2_000, 10])] {
        let outcome = run(&mut shared("broadcast", second, path, address, load), WITHIN);
        assert_eq!(counts(&outcome.json()), [1_000, 1_000, 0, 0, 0], "{path}: {outcome}");
        let told = ["/told", "/sessions"].map(|path| told_of(address, path).parse::<u64>().unwrap());
        assert_eq!(told, all, "{path}");
    }
}

#[test]
fn limits_on_streams_are_named_with_both_numbers() {
    let second = free_address();
    let Some((_node, address)) = node(&["", &second.port().to_string(), "50"]) else { return };
    let load = "--clients 200 --streams 100 --threads 1 --room-size 200 --sample-size 10";
    let outcome = run(&mut shared("broadcast", second, "/events", address, load), WITHIN);
    let results = outcome.json();
    assert_eq!(errors_of(&results, "http2_stream_limit"), 100, "{outcome}");
    let example = &results["steps"][0]["counts"]["errors"]["http2_stream_limit"]["example"];
    let example = example.as_str().unwrap_or_default();
    assert!(example.contains("50 streams") && example.contains("100 clients"), "{outcome}");
    let load = "--clients 200 --streams 50 --threads 1 --room-size 200 --sample-size 10";
    let outcome = run(&mut shared("broadcast", second, "/events", address, load), WITHIN);
    assert_eq!(counts(&outcome.json()), [2_000, 2_000, 0, 0, 0], "{outcome}");
}

#[test]
fn flapping_streams_leave_their_connections() {
    let server = Server::start(&["--threads", "1", "--history", "1000"]);
    let before = accepted(&server);
    let load =
        "--clients 40 --streams 20 --threads 1 --room-size 40 --rate 50 --duration 4s --flap 1s..2s:300ms";
    let outcome = run(&mut shared("audit", server.address, "/events", server.address, load), WITHIN);
    assert_recovered(&outcome.json(), &outcome);
    // Two of the clients; the others published, or ask.
    assert!(accepted(&server) - before < 20, "{outcome}");
}

/// Clients were away, and nothing is lost for that.
fn assert_recovered(results: &Value, outcome: &Outcome) {
    let [due, recovered, lost, missing, duplicate] =
        ["offline_due", "recovered", "lost_offline", "missing", "duplicate"]
            .map(|name| sum_of(results, name));
    assert!(due > 0, "{outcome}");
    assert_eq!((recovered, lost, missing, duplicate), (due, 0, 0, 0), "{outcome}");
}

#[test]
fn restarts_lose_nothing_on_shared_connections() {
    let (folder, second) = (tempfile::tempdir().unwrap(), free_address());
    let log = folder.path().join("log");
    let more = [log.to_str().unwrap(), &second.port().to_string()];
    let Some((first, address)) = node(&more) else { return };
    let load = "--clients 50 --streams 10 --room-size 50 --rate 20 --duration 8s --drain-timeout 8s --flap 10s..20s:2s";
    let running = start_measuring(&mut shared("broadcast", second, "/events", address, load));
    let logged = || fs::read_to_string(&log).unwrap_or_default().lines().count();
    assert!(wait_until(START_MAX, || logged() >= 40), "{} messages", logged());
    drop(first);
    thread::sleep(Duration::from_secs(2));
    let _second = start_node(address, &more);
    let outcome = finish(running, WITHIN);
    let results = outcome.json();
    assert_recovered(&results, &outcome);
    let heard = sum_of(&results, "received") + sum_of(&results, "recovered");
    assert_eq!(heard, 50 * logged() as u64, "{outcome}");
}

#[test]
fn websockets_share_connections_of_nodes_http2() {
    let scripts = match Scripts::install_in("tests/servers", "http2") {
        Ok(scripts) => scripts,
        Err(Unavailable(why)) => return skip("node's http2", &why),
    };
    let (_folder, [cert, key]) = certificate();
    let load = "--clients 40 --streams 10 --threads 2 -c 40 -s 4000 --http2 --format json --quiet";
    for (scheme, files) in [("wss", vec![cert.as_str(), &key]), ("ws", vec![])] {
        let address = free_address();
        let port = address.port().to_string();
        let _node =
            scripts.start("server.js", &[&[port.as_str()], &files[..]].concat()).listening_at(address);
        let mut echo = throng(["echo", &format!("{scheme}://{address}/"), "--ca", &cert]);
        let outcome = run(echo.args(load.split(' ')), WITHIN);
        outcome.assert_held();
        let counts = ["received", "missing"].map(|name| sum_of(&outcome.json(), name));
        assert_eq!(counts, [4_000, 0], "{scheme}: {outcome}");
        // Each of two threads has twenty clients.
        let handshakes = outcome.json()["steps"][0]["handshake_parts"]["tcp"]["count"].as_u64();
        assert_eq!(handshakes, Some(4), "{scheme}: {outcome}");
    }
    let address = free_address();
    let _node = scripts.start("server.js", &[&address.port().to_string()]).listening_at(address);
    // A stream that the server cuts off is its client's end alone.
    let command = format!(
        "echo ws://{address}/cut --clients 6 --streams 6 -c 6 -s 60 --no-preflight --threads 1 --http2"
    );
    let outcome = run(throng([]).args(command.split(' ')).args(["--format", "json", "--quiet"]), WITHIN);
    let cut = outcome.json();
    assert_eq!(errors_of(&cut, "eof") + errors_of(&cut, "http2_reset"), 6, "{outcome}");
}

#[test]
fn a_connections_end_is_all_its_clients() {
    /// A server's behaviour once clients have asked, by the kind of error that follows.
    type Case = (&'static str, fn(&mut Peer));
    let cases: &[Case] = &[
        ("eof", |p| p.fin()),
        ("reset", |p| p.reset()),
        ("bad_http2", |p| p.send(b"\xff\xff\xff\0\x01\0\0\0\x01").hold()),
        ("http2_goaway", |p| p.send(b"\0\0\x08\x07\0\0\0\0\0\0\0\0\x09\0\0\0\x0b").hold()),
    ];
    for (kind, treat) in cases {
        let server = HostileServer::start(|p| {
            p.send(GREETING).until_frame(HEADERS);
            treat(p);
        });
        let url = format!("http://{}/", server.address);
        let mut idle = throng(["idle", &url, "--protocol", "sse", "--http2", "--no-preflight", "--no-store"]);
        let load = "--clients 5 --streams 5 --threads 1 --duration 1s --connect-timeout 5s --format json";
        let outcome = run(idle.args(load.split(' ')), WITHIN);
        assert_eq!(errors_of(&outcome.json(), kind), 5, "{kind}: {outcome}");
    }
}

#[test]
fn slow_and_silent_clients_are_refused() {
    let refused = |command: &str, flag: &str| {
        let outcome = run(throng([]).args(command.split(' ')).args(["--format", "json"]), WITHIN);
        outcome.assert_failed(2, &format!("usage.{flag}"), &["--streams"]);
    };
    let streams = "http://127.0.0.1:9/e?room={room} --protocol sse --publish-url /p --http2 --streams 9";
    refused(&format!("broadcast {streams} --slow 10%:1KiB/s"), "slow");
    refused(&format!("audit {streams} --flap-how silence"), "flap_how");
}
