//! The generator against servers that misbehave: each misdeed is counted under its name, nothing that was measured is
//! lost, and the run ends in its stated time.

use std::time::Duration;

use crate::support::cases::check_all;
use crate::support::hostile::{HostileServer, Peer};
use crate::support::throng::{Server, echo, errors_of, finish, run, start_measuring, sum_of, throng};
use crate::support::websocket::{BINARY, CLOSE, PING, RSV1, TEXT, bomb, close_body, frame};

const CLIENTS: u64 = 2;

/// Connecting, measuring and draining are told to take 5 s, 1 s and 2 s; the rest is for a busy machine.
const RUN_MAX: Duration = Duration::from_secs(30);

const DEFLATE: &str = "Sec-WebSocket-Extensions: permessage-deflate";

/// A server's behaviour, in words and in deed.
type Case = (&'static str, fn(&mut Peer));

/// Verdicts due.
#[derive(Clone, Copy, Debug)]
enum Verdict {
    /// No client gets as far as a WebSocket: nothing was measured, and the message names this error.
    NoServer(&'static str),
    /// Every client is lost to this error.
    Lost(&'static str),
    /// This error is counted.
    Error(&'static str),
    /// There are some of these.
    Count(&'static str),
}

use Verdict::{Count, Error, Lost, NoServer};

#[test]
fn refusals() {
    each(
        NoServer("http_status"),
        &[
            ("200", |p| p.answer("200 OK\r\nContent-Length: 0").hold()),
            ("redirect to itself", |p| p.answer("301 Moved Permanently\r\nLocation: /").hold()),
            ("401", |p| p.answer("401 Unauthorized").hold()),
            ("404, then FIN", |p| p.answer("404 Not Found").fin()),
            ("429", |p| p.answer("429 Too Many Requests\r\nRetry-After: 9").hold()),
            ("503", |p| p.answer("503 Service Unavailable").hold()),
        ],
    );
}

#[test]
fn answers_that_are_not_http() {
    each(
        NoServer("not_http"),
        &[
            ("garbage", |p| p.request().send(&[0x9d; 512]).hold()),
            ("HTTP/2", |p| p.request().send(b"\0\0\x06\x04\0\0\0\0\0\0\x03\0\0\0\x80").hold()),
            ("TLS alert", |p| p.request().send(b"\x15\x03\x01\0\x02\x02\x46").hold()),
        ],
    );
}

#[test]
fn upgrades_that_are_none() {
    each(
        NoServer("bad_accept"),
        &[
            ("wrong accept", |p| p.answer(&switch("Sec-WebSocket-Accept: bm9uZQ==")).hold()),
            ("no accept", |p| p.answer(&switch("X-Accept: none")).hold()),
        ],
    );
    each(
        NoServer("bad_upgrade"),
        &[
            ("other protocol", |p| p.answer("101 X\r\nConnection: Upgrade\r\nUpgrade: h2c").hold()),
            ("no connection", |p| p.answer("101 X\r\nUpgrade: websocket").hold()),
        ],
    );
    each(NoServer("unasked_protocol"), &[("x", |p| p.upgrade_with("Sec-WebSocket-Protocol: x").hold())]);
    each(NoServer("unasked_extension"), &[("x", |p| p.upgrade_with("Sec-WebSocket-Extensions: x").hold())]);
}

#[test]
fn heads_without_end() {
    each(
        NoServer("head_too_large"),
        &[
            ("8 MiB header", |p| p.answer(&format!("200 OK\r\nX: {}", "x".repeat(8 << 20))).hold()),
            ("endless headers", |p| p.request().send(b"HTTP/1.1 200 OK\r\n").flood(b"X-More: yes\r\n")),
        ],
    );
}

#[test]
fn servers_that_let_wait() {
    each(
        NoServer("connect_timeout"),
        &[
            ("silence", |p| p.hold()),
            ("byte by byte", |p| p.request().send(b"HTTP/1.1 101 X\r\n").drip(b"X: y\r\n")),
        ],
    );
}

#[test]
fn connections_that_end() {
    each(
        NoServer("eof"),
        &[
            ("after the request", |p| p.request().fin()),
            ("in the status line", |p| p.request().send(b"HTTP/1.1 10").fin()),
        ],
    );
    each(NoServer("reset"), &[("after the request", |p| p.request().reset())]);
    each(
        Lost("eof"),
        &[
            ("without a close frame", |p| p.upgrade().fin()),
            ("after two messages", |p| p.upgrade().echo(2).fin()),
            ("in a frame", |p| p.upgrade().send(b"\x81\x05he").fin()),
        ],
    );
    each(Lost("reset"), &[("after two messages", |p| p.upgrade().echo(2).reset())]);
    each(
        Lost("closed"),
        &[
            ("4999", |p| p.upgrade().frame(CLOSE, &close_body(4999, "go away")).fin()),
            ("1000, and no FIN", |p| p.upgrade().frame(CLOSE, &close_body(1000, "")).ignore()),
        ],
    );
}

#[test]
fn frames_that_break_the_protocol() {
    each(
        Lost("protocol"),
        &[
            ("masked", |p| p.upgrade().send(b"\x81\x82\0\0\0\0hi").hold()),
            ("RSV1", |p| p.upgrade().send(b"\xc1\x02hi").hold()),
            ("RSV2", |p| p.upgrade().send(b"\xa1\x02hi").hold()),
            ("RSV3", |p| p.upgrade().send(b"\x91\x02hi").hold()),
            ("opcode 3", |p| p.upgrade().send(b"\x83\x02hi").hold()),
            ("opcode 15", |p| p.upgrade().send(b"\x8f\x02hi").hold()),
            ("overlong UTF-8", |p| p.upgrade().send(b"\x81\x02\xc0\xaf").hold()),
            ("length with top bit", |p| p.upgrade().send(b"\x82\x7f\x80\0\0\0\0\0\0\x01.").hold()),
            ("length not shortest", |p| p.upgrade().send(b"\x82\x7e\0\x01.").hold()),
            ("ping in fragments", |p| p.upgrade().send(b"\x09\x00").hold()),
            ("ping of 126 bytes", |p| p.upgrade().frame(PING, &[b'.'; 126]).hold()),
            ("stray continuation", |p| p.upgrade().send(b"\x80\x02hi").hold()),
            ("text inside fragments", |p| p.upgrade().send(b"\x01\x02hi\x81\x02hi").hold()),
            ("endless fragments", |p| p.upgrade().send(b"\x01\x00").flood(b"\x00\x00")),
            ("close with one byte", |p| p.upgrade().frame(CLOSE, b"\x03").hold()),
            ("close 1005", |p| p.upgrade().frame(CLOSE, &close_body(1005, "")).hold()),
        ],
    );
    each(
        Lost("message_too_large"),
        &[
            ("2^62 bytes announced", |p| p.upgrade().send(b"\x82\x7f\x40\0\0\0\0\0\0\0").hold()),
            ("over 16 MiB", |p| p.upgrade().frame(BINARY, &vec![0; (16 << 20) + 1]).hold()),
        ],
    );
}

#[test]
fn messages_that_do_not_inflate() {
    each(Lost("deflate"), &[("garbage", |p| p.upgrade_with(DEFLATE).frame(TEXT | RSV1, &[0xff; 64]).hold())]);
    each(
        Lost("protocol"),
        &[
            ("a compressed ping", |p| p.upgrade_with(DEFLATE).frame(PING | RSV1, b"").hold()),
            ("a compressed continuation", |p| p.upgrade_with(DEFLATE).send(b"\x01\x00\xc0\x00").hold()),
        ],
    );
    each(
        Lost("message_too_large"),
        &[("32 MiB in 32 KiB", |p| p.upgrade_with(DEFLATE).frame(BINARY | RSV1, &bomb(32)).hold())],
    );
}

#[test]
fn messages_that_do_not_come() {
    each(
        Count("missing"),
        &[
            ("never answers", |p| p.upgrade().hold()),
            ("never reads", |p| p.upgrade().ignore()),
            ("stops in a frame", |p| p.upgrade().send(b"\x81\x05he").hold()),
            ("only pings", |p| p.upgrade().flood(&frame(PING, b"still there?"))),
            ("only talks", |p| p.upgrade().flood(&frame(TEXT, b"did you know?"))),
        ],
    );
}

#[test]
fn messages_that_are_not_what_was_sent() {
    each(
        Error("unrecognised"),
        &[
            ("broken JSON", |p| p.upgrade().answer_all(|_| vec![b"}{".to_vec()])),
            ("deep JSON", |p| p.upgrade().answer_all(|_| vec![vec![b'['; 20_000]])),
        ],
    );
    each(Count("duplicate"), &[("twice", |p| p.upgrade().answer_all(|m| vec![m.to_vec(), m.to_vec()]))]);
    each(Count("corrupt"), &[("one digit changed", |p| p.upgrade().answer_all(|m| vec![damaged(m)]))]);
}

#[test]
fn close_reasons_are_in_results() {
    const REASON: &str = "token expired \u{202e}x";
    // Without the mark that turns text around (U+202E).
    const SHOWN: &str = " 4403: token expired x";
    /// The messages that the server said are told as well.
    const QUOTED: &str = "echo --protocol=sockjs";
    fn closing(p: &mut Peer) {
        p.upgrade().frame(CLOSE, &close_body(4403, REASON)).hold()
    }
    let cases: &[Case] = &[
        ("echo --protocol=raw", closing),
        ("echo --protocol=json", closing),
        ("echo --protocol=phoenix", closing),
        ("echo --protocol=socketio", closing),
        ("stream --body=hi --end=done", closing),
        ("echo --protocol=actioncable", |p| {
            let line = "Sec-WebSocket-Protocol: actioncable-v1-json";
            p.upgrade_with(line).frame(CLOSE, &close_body(4403, REASON)).hold()
        }),
        ("echo --protocol=graphql", |p| {
            let line = "Sec-WebSocket-Protocol: graphql-transport-ws";
            p.upgrade_with(line).frame(CLOSE, &close_body(4403, REASON)).hold()
        }),
        (QUOTED, |p| {
            p.upgrade().frame(TEXT, b"o").frame(TEXT, format!("c[4403,\"{REASON}\"]").as_bytes()).hold()
        }),
        ("echo --protocol=sockjs --transport=xhr-streaming", |p| {
            let body = format!("{}\no\nc[4403,\"{REASON}\"]\n", "h".repeat(2048));
            p.answer(&format!("200 OK\r\nContent-Length: {}", body.len())).send(body.as_bytes()).hold()
        }),
    ];
    let name = |case: &Case| case.0.to_owned();
    check_all(cases, name, |(command, treat)| {
        let server = HostileServer::start(*treat);
        let asked = |more: &[&str]| {
            let (verb, flags) = command.split_once(' ').unwrap();
            let mut command = throng([verb, &server.url(), "--clients=2", "--duration=1s", "--no-store"]);
            run(command.args(flags.split(' ')).args(more), RUN_MAX)
        };
        let outcome = asked(&["--no-preflight", "--format", "json"]);
        let error = &outcome.json()["steps"][0]["counts"]["errors"]["closed"];
        let example = error["example"].as_str().unwrap_or_default();
        assert!(error["count"] == CLIENTS && example.ends_with(SHOWN), "{outcome}");
        assert!(asked(&["--no-preflight"]).stdout.contains(SHOWN), "{outcome}");
        let refused = asked(&[]);
        let told = 1 + usize::from(*command == QUOTED);
        assert_eq!(refused.stderr.matches("expired x").count(), told, "{refused}");
    });
}

#[test]
fn server_killed_in_mid_run() {
    let server = Server::start(&[]);
    let process = start_measuring(&mut echo(&server.url(), CLIENTS, "5s"));
    drop(server);
    let outcome = finish(process, RUN_MAX);
    let results = outcome.json();
    let lost = errors_of(&results, "eof") + errors_of(&results, "reset");
    assert_eq!(lost, CLIENTS, "{outcome}");
    assert!(sum_of(&results, "received") > 0, "what was measured before is lost\n{outcome}");
}

fn each(verdict: Verdict, cases: &[Case]) {
    let name = |case: &Case| format!("{verdict:?}: {}", case.0);
    check_all(cases, name, |(_, treat)| {
        let server = HostileServer::start(*treat);
        let outcome = run(&mut echo(&server.url(), CLIENTS, "1s"), RUN_MAX);
        match verdict {
            NoServer(error) => outcome.assert_no_server(error, CLIENTS),
            Lost(error) => assert_eq!(errors_of(&outcome.json(), error), CLIENTS, "{outcome}"),
            Error(error) => assert!(errors_of(&outcome.json(), error) > 0, "{outcome}"),
            Count(name) => assert!(sum_of(&outcome.json(), name) > 0, "{outcome}"),
        }
    });
}

/// The head of an upgrade that is right but for one line.
fn switch(line: &str) -> String {
    format!("101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n{line}")
}

/// The message with one digit of its mark changed.
fn damaged(message: &[u8]) -> Vec<u8> {
    let mark = b"throng-";
    let at = message.windows(mark.len()).position(|bytes| bytes == mark).expect("each message is marked");
    let mut damaged = message.to_vec();
    let digit = &mut damaged[at + mark.len() + 20];
    *digit = if *digit == b'0' { b'1' } else { b'0' };
    damaged
}
