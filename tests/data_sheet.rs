//! `throng probe URL` against servers whose limits are known: each is found, and no other.

use std::net::SocketAddr;
use std::thread;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::haproxy::Haproxy;
use crate::support::hostile::{HostileServer, Peer};
use crate::support::node::Scripts;
use crate::support::process::Process;
use crate::support::target::Unavailable;
use crate::support::throng::{Outcome, Server, run, throng};
use crate::support::{free_address, skip, timed, websocket};

/// A sheet with so short a wait for silence, on a busy machine.
const SHEET_MAX: Duration = Duration::from_secs(120);
const WITHIN: Duration = Duration::from_secs(30);
/// The share by which a number may differ from the truth.
const TOLERANCE: f64 = 0.1;

/// The truth of an echo server of the ws package without any limit; a server's own truth comes on top.
const USUAL: [(&str, &str); 21] = [
    ("subprotocols/any", "true"),
    ("compression/deflate", "false"),
    ("http2/spoken", "false"),
    ("origin/foreign", "null"),
    ("origin/absent", "null"),
    ("close_codes/close", "1000"),
    ("close_codes/bad_utf8", "1007"),
    ("close_codes/reserved_bit", "1002"),
    ("close_codes/unmasked", "1002"),
    ("message_max/refused_bytes", "null"),
    ("frames/messages_per_frame_max", "1"),
    ("frames/frames_of_large", "1"),
    ("order/received", "100"),
    ("order/out_of_order", "0"),
    ("delayed_ack/delayed", "false"),
    ("stickiness/cookie", "null"),
    ("connections/refusal", "null"),
    ("handshake_rate/refusal", "null"),
    ("message_rate/limit", "null"),
    ("idle/closed_after_s", "null"),
    ("ping_interval/kind", "null"),
];

/// A server with limits: its name, the limits of tests/servers/limits, and the truth where it is not the usual one.
type Case = (&'static str, &'static str, &'static [(&'static str, &'static str)]);

/// The truth of a row that another limit hides.
const ANY: &str = "*";

const CASES: [Case; 15] = [
    ("no limit", "{}", &[("slow_reader/behavior", "\"buffers\"")]),
    (
        "messages of 64 KiB, compression",
        r#"{"ws":{"maxPayload":65536,"perMessageDeflate":{"serverNoContextTakeover":true,"clientMaxWindowBits":10}}}"#,
        &[
            ("message_max/accepted_bytes", "65536"),
            ("message_max/refused_bytes", "65537"),
            ("message_max/refusal", "1009"),
            ("compression/deflate", "true"),
            ("compression/server_no_context_takeover", "true"),
            ("compression/client_max_window_bits", "10"),
        ],
    ),
    (
        "messages of 300,000 bytes",
        r#"{"ws":{"maxPayload":300000}}"#,
        &[
            ("message_max/accepted_bytes", "300000"),
            ("message_max/refused_bytes", "300000"),
            ("message_max/refusal", "1009"),
        ],
    ),
    (
        "an idle timeout of 1.5 s, which pings do not reset",
        r#"{"idle":{"ms":1500,"code":4408,"resets":"message"}}"#,
        &[
            ("idle/closed_after_s", "1.5"),
            ("idle/closing/code", "4408"),
            ("idle_with_pings/kept_open", "false"),
            ("closed_by/by", "\"server\""),
        ],
    ),
    (
        "an idle timeout of 2 s, which pings reset",
        r#"{"idle":{"ms":2000,"code":1001,"resets":"ping"}}"#,
        &[
            ("idle/closed_after_s", "2"),
            ("idle/closing/code", "1001"),
            ("idle_with_pings/kept_open", "true"),
            ("closed_by/by", "\"server\""),
        ],
    ),
    (
        "pings each 0.8 s",
        r#"{"pings":800}"#,
        &[
            ("ping_interval/kind", "\"ping\""),
            ("ping_interval/interval_s", "0.8"),
            ("pong_timeout/closed_after_s", "0.8"),
        ],
    ),
    (
        "20 connections, then 503",
        r#"{"connections":{"max":20,"by":503}}"#,
        &[("connections/open", "20"), ("connections/refusal", "503"), ("connections/freed", "true")],
    ),
    (
        "50 connections, then 1013",
        r#"{"connections":{"max":50,"by":1013}}"#,
        &[("connections/open", "50"), ("connections/refusal", "1013"), ("connections/freed", "true")],
    ),
    (
        "20 handshakes a second",
        r#"{"handshakes":20}"#,
        &[
            ("handshake_rate/accepted", "20"),
            ("handshake_rate/per_s", "20"),
            ("handshake_rate/refusal", "429"),
            ("handshake_rate/retry_after", "\"1\""),
            ("handshake_rate/recovers_within_1_s", "true"),
        ],
    ),
    (
        "120 messages a second, then 1008",
        r#"{"burst":{"max":120,"by":1008}}"#,
        &[
            ("message_rate/limit", "120"),
            ("message_rate/refusal", "1008"),
            ("message_rate/recovers_within_s", "1.2"),
        ],
    ),
    (
        "150 messages a second, then silence",
        r#"{"burst":{"max":150,"by":"silence"}}"#,
        &[
            ("message_rate/limit", "150"),
            ("message_rate/refusal", "\"silence\""),
            // After 1.5 s in which nothing came, it waits 1.2 s.
            ("message_rate/recovers_within_s", "2.7"),
        ],
    ),
    (
        "no answers, and 40 messages a second, then 1008",
        r#"{"mute":true,"burst":{"max":40,"by":1008}}"#,
        &[
            ("message_rate/limit", "40"),
            ("message_rate/refusal", "1008"),
            ("frames/messages_per_frame_max", ANY),
            ("frames/frames_of_large", ANY),
            ("order/received", ANY),
            ("order/out_of_order", ANY),
        ],
    ),
    (
        "answers that are collected, an origin, a subprotocol, a cookie",
        r#"{"together":50,"origin":"http://app.example","subprotocol":"mqtt","cookie":"SERVERID"}"#,
        &[
            ("frames/messages_per_frame_max", "16"),
            ("order/received", ANY),
            ("order/out_of_order", ANY),
            ("origin/foreign", "403"),
            ("origin/absent", "403"),
            ("subprotocols/any", "false"),
            ("subprotocols/spoken", r#"["mqtt"]"#),
            ("stickiness/cookie", "\"SERVERID\""),
            ("stickiness/values", "4"),
            ("stickiness/kept", "true"),
        ],
    ),
    (
        "texts of its own in the place of what a slow reader would get",
        r#"{"lossy":1048576}"#,
        &[("slow_reader/behavior", "\"drops\"")],
    ),
    (
        "answers that overtake each other, and 1 MiB for a slow reader",
        r#"{"reorders":true,"unread":1048576}"#,
        &[
            ("order/out_of_order", "50"),
            ("slow_reader/behavior", "\"closed\""),
            ("slow_reader/closing/code", "1013"),
        ],
    ),
];

/// The sheet of a server, whose silence is waited for no longer than 4 s.
pub(crate) fn sheet(url: &str, flags: &[&str]) -> Outcome {
    let mut command =
        throng(["probe", url, "--format", "json", "--idle", "4s", "--max-message", "2MiB", "--max", "60"]);
    run(command.args(flags), SHEET_MAX)
}

/// Panics unless each of these is what the sheet says.
pub(crate) fn assert_true<'a>(
    name: &str,
    outcome: &Outcome,
    truth: impl IntoIterator<Item = (&'a str, &'a str)>,
) {
    assert_eq!(outcome.code, Some(0), "{name}: {outcome}");
    let sheet = outcome.json();
    for (place, expected) in truth.into_iter().filter(|(_, expected)| *expected != ANY) {
        let (row, rest) = place.split_once('/').unwrap();
        let found = sheet["rows"][row]["found"].pointer(&format!("/{rest}"));
        let found = found.unwrap_or_else(|| panic!("{name}: no {place}: {outcome}"));
        let expected: Value = serde_json::from_str(expected).unwrap();
        let is_true = match (expected.as_f64(), found.as_f64()) {
            (Some(expected), Some(found)) => (found - expected).abs() <= TOLERANCE * expected,
            _ => *found == expected,
        };
        assert!(is_true, "{name}: {place} is {expected}, found {found}: {outcome}");
    }
}

/// The usual truth with a server's own in the place of its parts.
fn truth(own: &'static [(&str, &str)]) -> impl Iterator<Item = (&'static str, &'static str)> {
    let is_own = |place: &str| own.iter().any(|(other, _)| *other == place);
    USUAL.into_iter().filter(move |(place, _)| !is_own(place)).chain(own.iter().copied())
}

fn node(scripts: &Scripts, limits: &str) -> (Process, SocketAddr) {
    let address = free_address();
    let server = scripts.start("server.js", &[&address.port().to_string(), limits]).listening_at(address);
    (server, address)
}

#[test]
fn planted_limits_are_found_and_no_others() {
    let scripts = match Scripts::install_in("tests/servers", "limits") {
        Ok(scripts) => scripts,
        Err(Unavailable(why)) => return skip("ws (npm), the server", &why),
    };
    thread::scope(|scope| {
        for cases in CASES.chunks(CASES.len().div_ceil(3)) {
            let scripts = &scripts;
            scope.spawn(move || {
                for (name, limits, own) in cases {
                    timed(|| {
                        let (_server, address) = node(scripts, limits);
                        let origin = limits.contains("app.example").then_some("http://app.example");
                        let mut flags = vec!["--yes"];
                        flags.extend(origin.iter().flat_map(|origin| ["--origin", origin]));
                        let outcome = sheet(&format!("ws://{address}/"), &flags);
                        assert_true(name, &outcome, truth(own));
                    });
                }
            });
        }
    });
}

#[test]
fn own_server_over_tls_is_measured() {
    let folder = tempfile::tempdir().unwrap();
    let simple = rcgen::generate_simple_self_signed(vec!["127.0.0.1".to_owned()]).unwrap();
    let [cert, key] = ["cert.pem", "key.pem"].map(|name| folder.path().join(name).display().to_string());
    std::fs::write(&cert, simple.cert.pem()).unwrap();
    std::fs::write(&key, simple.signing_key.serialize_pem()).unwrap();
    let server = Server::start(&["--cert", &cert, "--key", &key, "--max-message", "100KiB", "--compress"]);
    let url = format!("wss://{}/ws", server.address);
    let outcome = sheet(&url, &["--yes", "--insecure"]);
    assert_true(
        "TLS",
        &outcome,
        [
            ("tls_versions/versions", r#"["1.2","1.3"]"#),
            ("tls_alpn/protocols", r#"["h2","http/1.1"]"#),
            ("tls_resumption/resumed", "true"),
            ("tls_certificate/until", "\"4096-01-01\""),
            ("http2/spoken", "true"),
            ("compression/deflate", "true"),
            ("message_max/accepted_bytes", "102400"),
            ("message_max/refusal", "1009"),
            ("delayed_ack/delayed", "false"),
            ("message_rate/limit", "null"),
        ],
    );
    let untrusted = sheet(&url, &[]);
    untrusted.assert_failed(1, "could_not.reach.tls_unknown_issuer", &["--insecure"]);
}

#[test]
fn protocols_with_heartbeats_have_their_timeouts() {
    let flags =
        ["--phoenix-timeout", "2s", "--socketio-ping-interval", "1s", "--socketio-ping-timeout", "1s"];
    let server = Server::start(&flags);
    let at = |path: &str| sheet(&format!("ws://{}{path}", server.address), &[]);
    let phoenix = at("/socket/websocket");
    assert_true(
        "Phoenix",
        &phoenix,
        [("idle/closed_after_s", "2"), ("protocol/name", "\"Phoenix Channels\"")],
    );
    let rows = &phoenix.json()["rows"];
    for risky in ["message_max", "connections", "handshake_rate", "message_rate"] {
        assert!(rows[risky]["not_tried"].is_string(), "made without --yes: {risky}: {phoenix}");
    }
    let socketio = at("/socket.io");
    assert_true(
        "Socket.IO",
        &socketio,
        [
            ("ping_interval/kind", "\"message\""),
            ("ping_interval/interval_s", "1"),
            ("idle/closed_after_s", "null"),
            ("pong_timeout/closed_after_s", "1"),
        ],
    );
    // One heartbeat comes in 4 s, and the handshake tells the interval.
    let seldom = Server::start(&["--socketio-ping-interval", "3s"]);
    assert_true(
        "Socket.IO, seldom",
        &sheet(&format!("ws://{}/socket.io", seldom.address), &[]),
        [
            ("ping_interval/kind", "\"message\""),
            ("ping_interval/interval_s", "3"),
            ("ping_interval/announced_s", "3"),
            ("pong_timeout/closed_after_s", "null"),
        ],
    );
}

#[test]
fn proxies_are_told_from_servers() {
    let servers = [Server::start(&[]), Server::start(&[])];
    let defaults = ["timeout client 30s", "timeout server 30s", "timeout tunnel 1500ms"];
    let balance =
        ["balance roundrobin", "cookie SERVERID insert", "http-response set-header Via 1.1-haproxy"];
    let behind = servers.each_ref().map(|server| server.address);
    let Some(proxy) = Haproxy::start("a proxy's idle timeout", &defaults, &balance, &behind) else { return };
    let outcome = sheet(&format!("ws://{}/ws", proxy.address), &[]);
    assert_true(
        "HAProxy",
        &outcome,
        [
            ("idle/closed_after_s", "1.5"),
            ("idle/closing/code", "null"),
            ("idle_with_pings/kept_open", "true"),
            ("closed_by/by", "\"proxy\""),
            ("stickiness/cookie", "\"SERVERID\""),
            ("stickiness/values", "2"),
            ("stickiness/kept", "true"),
        ],
    );
}

/// A server that writes header and payload of a frame apart, with Nagle's algorithm on.
#[test]
fn delays_by_acknowledgements_are_found() {
    let server = HostileServer::start(|p: &mut Peer| {
        p.delay_small().upgrade();
        while let Some((first, payload)) = p.receive_frame() {
            let pong = if first == websocket::PING { websocket::PONG } else { first };
            let frame = websocket::frame(pong, &payload);
            p.send(&frame[..2]).send(&frame[2..]);
            if first == websocket::CLOSE {
                break;
            }
        }
    });
    let outcome = sheet(&server.url(), &[]);
    assert_true("Nagle", &outcome, [("delayed_ack/delayed", "true"), ("order/out_of_order", "0")]);
}

/// A frame that no client may take (RFC 6455 §5.5: a ping of two parts).
#[test]
fn malformed_frames_are_no_fin() {
    let server = HostileServer::start(|p: &mut Peer| {
        p.upgrade();
        while let Some((first, payload)) = p.receive_frame() {
            if first == websocket::CLOSE {
                p.send(&[0x09, 0x00]);
                break;
            }
            p.send(&websocket::frame(
                if first == websocket::PING { websocket::PONG } else { first },
                &payload,
            ));
        }
        p.hold();
    });
    let outcome = sheet(&server.url(), &[]);
    assert_true("a broken frame", &outcome, [("close_codes/close", "\"protocol_error\"")]);
}

#[test]
fn interrupted_sheets_have_what_was_found() {
    let server = Server::start(&[]);
    let url = format!("ws://{}/ws", server.address);
    let process = Process::start(&mut throng(["probe", &url, "--format", "json"]));
    thread::sleep(Duration::from_secs(3));
    assert!(process.signal(Signal::INT));
    let outcome = crate::support::throng::finish(process, WITHIN);
    assert_eq!(outcome.code, Some(130), "{outcome}");
    let sheet = outcome.json();
    assert_eq!(sheet["rows"]["compression"]["found"]["deflate"], json!(false), "{outcome}");
    assert!(sheet["rows"]["idle"]["not_tried"].is_string(), "{outcome}");
}

#[test]
fn messages_without_bytes_are_no_limit() {
    let outcome = run(throng(["probe", "ws://127.0.0.1:1/"]).args(["--max-message", "0"]), WITHIN);
    assert_eq!(outcome.code, Some(2), "{outcome}");
    assert!(outcome.stderr.contains("--max-message"), "{outcome}");
}

#[test]
fn servers_without_websockets_have_short_sheets() {
    let page = HostileServer::start(|p| {
        p.answer("200 OK\r\nContent-Length: 0").fin();
    });
    let outcome = sheet(&page.url(), &["--yes"]);
    assert_true("a page", &outcome, [("http2/spoken", "false")]);
    assert!(outcome.json()["rows"]["idle"]["not_tried"].is_string(), "{outcome}");
    let text = run(throng(["probe", &page.url()]).env("NO_COLOR", "1"), SHEET_MAX);
    let mut rows = text.stdout.lines().skip_while(|line| !line.starts_with("HTTP/2")).peekable();
    assert!(rows.peek().is_some() && rows.all(|line| line.chars().count() <= 80), "{text}");
}
