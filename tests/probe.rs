//! `throng URL`: what is found at servers of all kinds, and whether the commands that are proposed work as they stand.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::support::hostile::{HostileServer, Peer};
use crate::support::node::Scripts;
use crate::support::target::{Target, Unavailable};
use crate::support::throng::{Outcome, Server, run, throng};
use crate::support::{free_address, skip};

const WITHIN: Duration = Duration::from_secs(60);
/// A probe takes at most 15 seconds, and a little more on a busy machine.
const PROBE_MAX: Duration = Duration::from_secs(30);
/// The most connections that a probe makes.
const REQUESTS_MAX: usize = 14;

/// A server's behaviour, the probe's report on it, and the beginnings of the commands that it proposes.
type Case = (fn(&mut Peer), &'static [&'static str], &'static [&'static str]);

fn probe(words: &[&str]) -> Outcome {
    run(throng([]).args(words), PROBE_MAX)
}

/// The commands that it proposes.
fn proposed(outcome: &Outcome) -> Vec<String> {
    let lines = outcome.stdout.lines().filter_map(|line| line.strip_prefix("  throng "));
    lines.map(str::to_owned).collect()
}

/// Runs the proposed command that begins with this verb, for a second instead of ten, in this folder.
fn assert_works(outcome: &Outcome, verb: &str) {
    let command = proposed(outcome).into_iter().find(|command| command.starts_with(verb));
    let command = command.unwrap_or_else(|| panic!("no {verb}: {outcome}"));
    let words = shlex::split(&command.replace("-d 10s", "-d 1s")).unwrap();
    let ran = run(throng([]).args(words).args(["--no-store", "--format", "json"]), WITHIN);
    ran.assert_held();
}

/// Returns whether a place has this protocol.
fn is_named(outcome: &Outcome, url: &str, name: &str) -> bool {
    let line = outcome.stdout.lines().find(|line| line.trim_start().starts_with(&format!("{url} ")));
    line.is_some_and(|line| line.contains(name))
}

#[test]
fn protocols_of_the_own_server_are_found() {
    let server = Server::start(&[]);
    let all = probe(&[&server.address.to_string()]);
    assert_eq!(all.code, Some(0), "{all}");
    for (path, name) in [
        ("/cable", "Action Cable"),
        ("/socket.io/", "Socket.IO (EIO 4)"),
        ("/socket/websocket", "Phoenix Channels"),
        ("/sockjs", "SockJS"),
        ("/graphql", "GraphQL"),
    ] {
        let url = format!("ws://{}{path}", server.address);
        assert!(is_named(&all, &url, name), "{path}: {all}");
        let one = probe(&[&url]);
        assert!(
            is_named(&one, &url, name) && one.stdout.lines().count() < all.stdout.lines().count(),
            "{one}"
        );
        assert_works(&one, "echo");
    }
    for (path, name) in [("/events", "Server-Sent Events"), ("/v1/chat/completions", "in pieces")] {
        assert!(is_named(&all, &format!("http://{}{path}", server.address), name), "{path}: {all}");
    }
    let plain = probe(&[&format!("ws://{}/ws", server.address)]);
    assert_works(&plain, "echo");
    assert_works(&probe(&[&format!("http://{}/", server.address)]), "http");
    for path in ["/stream?events=3", "/stream?events=3&as=ndjson", "/v1/chat/completions"] {
        assert_works(&probe(&[&format!("http://{}{path}", server.address)]), "stream");
    }
}

/// The line of a page: how many requests there were.
fn requests(outcome: &Outcome) -> usize {
    let first = outcome.stdout.lines().next().unwrap_or_default();
    let number = first.rsplit_once(": ").and_then(|(_, rest)| rest.strip_suffix(" requests"));
    number.and_then(|number| number.parse().ok()).unwrap_or_else(|| panic!("{outcome}"))
}

#[test]
fn foreign_servers_get_few_requests() {
    let answers_page = |p: &mut Peer| p.answer("200 OK\r\nServer: nginx\r\nContent-Length: 0").fin();
    let refuses = |p: &mut Peer| p.answer("401 Unauthorized\r\nContent-Length: 8\r\n\r\nno token").fin();
    let unauthorized = |p: &mut Peer| {
        p.upgrade().frame(0x81, br#"{"type":"disconnect","reason":"unauthorized","reconnect":false}"#).hold();
    };
    let stream = |p: &mut Peer| p.answer("200 OK\r\nContent-Type: text/event-stream").hold();
    let moved =
        |p: &mut Peer| p.answer("301 Moved\r\nLocation: https://h.example/\r\nContent-Length: 0").fin();
    let elsewhere = |p: &mut Peer| p.answer("426 Upgrade Required\r\nContent-Length: 0").fin();
    let to_login =
        |p: &mut Peer| p.answer("302 Found\r\nLocation: /users/sign_in\r\nContent-Length: 0").fin();
    let gate = |p: &mut Peer| p.upgrade_if("GET /ws ", "403 Forbidden").hold();
    let broken = |p: &mut Peer| p.answer("503 Service Unavailable\r\nContent-Length: 4\r\n\r\nbusy").fin();
    let closes = |p: &mut Peer| p.upgrade().frame(0x88, b"\x03\xf0who?").hold();
    let cases: &[Case] = &[
        (broken, &["503 Service Unavailable: busy", "log"], &["http://"]),
        (closes, &["with code 1008: who?", "-H 'Cookie", "[[login]]"], &["ws://", "record http://"]),
        (gate, &["/ws  WebSocket"], &["idle ws://"]),
        (answers_page, &["HTTP, 200 OK, nginx", "no WebSocket"], &["http http://"]),
        (refuses, &["401 Unauthorized: no token", "-H 'Cookie", "--token", "[[login]]"], &["http://"]),
        (unauthorized, &["Action Cable", "unauthorized", "[[login]]"], &["ws://", "init --from actioncable"]),
        (stream, &["Server-Sent Events"], &["idle http://", "broadcast http://", "init --from sse"]),
        (elsewhere, &["HTTP, 426", "at another path"], &["record http://"]),
        (to_login, &["/users/sign_in", "-H 'Cookie", "--token", "[[login]]"], &["http://", "record http://"]),
        (moved, &["301 Moved", "https://h.example/"], &["https://h.example/"]),
    ];
    for (treat, names, commands) in cases {
        let server = HostileServer::start(*treat);
        let outcome = probe(&[&server.url()]);
        assert!(outcome.code == Some(0) && requests(&outcome) <= REQUESTS_MAX, "{outcome}");
        for name in *names {
            assert!(outcome.stdout.contains(name), "{name}: {outcome}");
        }
        let proposed = proposed(&outcome);
        for command in *commands {
            assert!(proposed.iter().any(|proposed| proposed.starts_with(command)), "{command}: {outcome}");
        }
    }
}

#[test]
fn refusals_at_any_path_name_no_protocol() {
    let asked = AtomicUsize::new(0);
    // The page, and the upgrade at its path.
    let server = HostileServer::start(move |p| match asked.fetch_add(1, Ordering::Relaxed) {
        0 | 1 => p.answer("200 OK\r\nContent-Length: 0").fin(),
        _ => p.answer("401 Unauthorized\r\nContent-Length: 0").fin(),
    });
    let outcome = probe(&[&server.url()]);
    assert!(outcome.code == Some(0) && requests(&outcome) <= REQUESTS_MAX, "{outcome}");
    assert!(outcome.stdout.contains("-H 'Cookie"), "{outcome}");
    let proposed = proposed(&outcome);
    let names_socket = |command: &String| command.contains("ws://") || command.contains("--from");
    assert!(!proposed.iter().any(names_socket), "{outcome}");
}

/// As Rails does just after its start: the first client of a part of it waits until that is loaded.
#[test]
fn slow_first_answers_are_asked_for_again() {
    let asked = AtomicUsize::new(0);
    let server = HostileServer::start(move |p| match asked.fetch_add(1, Ordering::Relaxed) {
        0 => p.answer("200 OK\r\nContent-Length: 0").fin(),
        1 => p.request().hold(),
        _ => p.upgrade().frame(0x81, br#"{"type":"welcome"}"#).hold(),
    });
    let outcome = probe(&[&format!("{}/cable", server.address)]);
    assert!(outcome.stdout.contains("Action Cable") && requests(&outcome) <= REQUESTS_MAX, "{outcome}");
}

/// As Rails does, which answers 404 to an origin that it does not allow, and to none.
#[test]
fn needed_origins_are_in_the_command() {
    let server = HostileServer::start(|p| {
        p.upgrade_if("rigin: http://127.0.0.1:", "404 Not Found")
            .frame(0x81, br#"{"type":"welcome"}"#)
            .hold();
    });
    let outcome = probe(&[&format!("{}/cable", server.address)]);
    let flag = format!("--origin http://{}", server.address);
    assert!(outcome.stdout.contains(&format!("Action Cable, with {flag}")), "{outcome}");
    let run = proposed(&outcome).into_iter().find(|command| command.starts_with("run app.toml "));
    assert!(run.is_some_and(|command| command.ends_with(&flag)), "{outcome}");
}

#[test]
fn unreachable_servers_are_told_in_a_line() {
    let nobody = free_address();
    let outcome = probe(&[&nobody.to_string()]);
    assert!(outcome.code == Some(1) && outcome.stderr.contains("refused"), "{outcome}");
    let server = Server::start(&[]);
    let no_tls = probe(&[&format!("wss://{}/", server.address)]);
    assert!(no_tls.code == Some(1) && no_tls.stderr.contains("ws://"), "{no_tls}");
    let tls = HostileServer::start(|p| p.request().send(&[21, 3, 3, 0, 2, 2, 10]).fin());
    let outcome = probe(&[&tls.url()]);
    assert!(outcome.code == Some(1) && outcome.stderr.contains("throng wss://"), "{outcome}");
}

#[test]
fn official_servers_are_known() {
    for (name, line, example) in [
        ("socketio-node", "Socket.IO (EIO 4)", "socketio"),
        ("ruby-actioncable", "Action Cable", "actioncable"),
        ("node-ws", "WebSocket", "plain"),
        ("sse-node", "Server-Sent Events", "sse"),
    ] {
        match Target::start(name) {
            Ok(target) => {
                let outcome = probe(&[&root_of(&target.url())]);
                assert!(outcome.stdout.contains(line), "{name}: {outcome}");
                let is_next = |command: &String| command.starts_with("echo ") || command.contains(example);
                assert!(proposed(&outcome).iter().any(is_next), "{name}: {outcome}");
                target.stop();
            }
            Err(Unavailable(why)) => skip(name, &why),
        }
    }
    match Scripts::install_in("tests/servers", "graphql") {
        Ok(scripts) => {
            let address: SocketAddr = free_address();
            let _server = scripts.start("server.js", &[&address.port().to_string()]).listening_at(address);
            let outcome = probe(&[&address.to_string()]);
            assert!(outcome.stdout.contains("/graphql  GraphQL (graphql-transport-ws)"), "{outcome}");
        }
        Err(Unavailable(why)) => skip("graphql-ws (npm), the server", &why),
    }
}

/// The URL without its path, as somebody types it who knows no more.
fn root_of(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").unwrap();
    format!("{scheme}://{}/", rest.split('/').next().unwrap())
}
