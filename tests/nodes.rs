//! Several nodes behind a balancer: sessions of plain requests, with cookies that keep a client at one node,
//! and without.

use std::net::SocketAddr;
use std::time::Duration;

use serde_json::Value;

use crate::support::haproxy::Haproxy;
use crate::support::node::Scripts;
use crate::support::target::Unavailable;
use crate::support::throng::{Server, run, throng};
use crate::support::{free_address, skip};

const RUN_MAX: Duration = Duration::from_secs(60);
/// Such that no node gives a session up meanwhile.
const TIMEOUTS: [&str; 3] = ["timeout client 1m", "timeout server 1m", "timeout tunnel 1m"];
/// One node after the other, request by request.
const ROUND_ROBIN: [&str; 2] = ["balance roundrobin", "http-reuse never"];
/// The first answer names the node in a cookie, as balancers for Socket.IO are told to.
const STICKY: [&str; 3] = [ROUND_ROBIN[0], ROUND_ROBIN[1], "cookie NODE insert indirect nocache"];

/// Runs a few clients through the proxy: its exit, and its only step.
fn echo(proxy: &Haproxy, path: &str, flags: &[&str]) -> (Option<i32>, Value) {
    let url = format!("ws://{}{path}", proxy.address);
    let mut command = throng(["echo", &url, "--clients", "12", "-c", "12", "-d", "1s"]);
    command.args(["--format", "json", "--quiet", "--no-preflight"]).args(flags);
    let outcome = run(&mut command, RUN_MAX);
    (outcome.code, outcome.json()["steps"][0].clone())
}

/// All twelve take part, and each message is answered.
fn assert_whole((code, step): &(Option<i32>, Value), what: &str) {
    assert_eq!(*code, Some(0), "{what}: {step}");
    assert_eq!(step["usable"], 12, "{what}: {step}");
    assert!(step["counts"]["received"].as_u64().unwrap() > 12, "{what}: {step}");
    assert_eq!(step["counts"]["sent"], step["counts"]["received"], "{what}: {step}");
}

#[test]
fn socketio_clients_stay_at_their_node() {
    let scripts = match Scripts::install_in("tests/servers", "socketio") {
        Ok(scripts) => scripts,
        Err(Unavailable(why)) => return skip("two nodes of socket.io", &why),
    };
    let nodes = [free_address(), free_address()];
    let server = |node: SocketAddr| scripts.start("server.js", &[&node.port().to_string(), "0", "20000"]);
    let _servers = nodes.map(|node| server(node).listening_at(node));
    let Some(sticky) = Haproxy::start("two nodes", &TIMEOUTS, &STICKY, &nodes) else { return };
    let Some(loose) = Haproxy::start("two nodes", &TIMEOUTS, &ROUND_ROBIN, &nodes) else { return };
    for transport in ["polling", "upgrade"] {
        let flags = ["--protocol", "socketio", "--transport", transport];
        assert_whole(&echo(&sticky, "/socket.io/", &flags), transport);
        let (code, step) = echo(&loose, "/socket.io/", &flags);
        assert_ne!(code, Some(0), "{transport}: {step}");
        // A poll or the WebSocket may be the first to ask another node.
        let errors = &step["counts"]["errors"];
        let is_lost = |kind: &str| errors[kind]["count"].as_u64() > Some(0);
        assert!(is_lost("session_lost") || is_lost("session_upgrade"), "{transport}: {step}");
    }
}

#[test]
fn sockjs_clients_stay_at_their_node() {
    let servers = [Server::start(&[]), Server::start(&[])];
    let nodes = [servers[0].address, servers[1].address];
    let Some(sticky) = Haproxy::start("two nodes", &TIMEOUTS, &STICKY, &nodes) else { return };
    let Some(loose) = Haproxy::start("two nodes", &TIMEOUTS, &ROUND_ROBIN, &nodes) else { return };
    for transport in ["xhr-polling", "xhr-streaming", "websocket"] {
        let flags = ["--protocol", "sockjs", "--transport", transport];
        assert_whole(&echo(&sticky, "/sockjs", &flags), transport);
    }
    let (code, step) = echo(&loose, "/sockjs", &["--protocol", "sockjs", "--transport", "xhr-polling"]);
    assert_eq!(code, Some(3), "{step}");
    assert!(step["counts"]["errors"]["session_lost"]["count"].as_u64() > Some(0), "{step}");
}
