//! The reference server against clients that misbehave: each gets the answer that the standard names, none takes the
//! server down or makes it hoard memory, and a good client is served as before.

use std::thread;
use std::time::{Duration, Instant};

use crate::support::cases::check_all;
use crate::support::client::TestClient;
use crate::support::throng::Server;
use crate::support::websocket::{BINARY, CLOSE, PING, PONG, RSV1, TEXT, UPGRADE, bomb, close_body, masked};
use crate::support::{in_time, timed};

const HOST: &str = "Host: 127.0.0.1\r\n";
const KEY_LINE: &str = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";

/// A fault, and its bytes.
type Case = (&'static str, Vec<u8>);

#[test]
fn upgrades() {
    each_is_answered(
        101,
        vec![
            ("keep-alive, Upgrade", upgrade("Connection: Upgrade", "Connection: keep-alive, Upgrade")),
            ("upper case", upgrade("Upgrade: websocket", "UPGRADE: WEBSOCKET")),
            ("unknown extension", upgrade(HOST, &format!("{HOST}Sec-WebSocket-Extensions: foo; bar=1\r\n"))),
            (
                "protocol after 8,000 spaces",
                upgrade(HOST, &format!("{HOST}Sec-WebSocket-Protocol:{:8000}x\r\n", "")),
            ),
        ],
    );
    each_is_answered(
        400,
        vec![
            ("no key", upgrade(KEY_LINE, "")),
            ("short key", upgrade("dGhlIHNhbXBsZSBub25jZQ==", "c2hvcnQ=")),
            ("key twice", upgrade(KEY_LINE, &KEY_LINE.repeat(2))),
            ("no Connection", upgrade("Connection: Upgrade\r\n", "")),
            ("HTTP/1.0", upgrade("HTTP/1.1", "HTTP/1.0")),
            ("extension garbage", upgrade(HOST, &format!("{HOST}Sec-WebSocket-Extensions: ;=,,;\r\n"))),
        ],
    );
    each_is_answered(405, vec![("POST", upgrade("GET", "POST"))]);
    each_is_answered(426, vec![("version 12", upgrade("Version: 13", "Version: 12"))]);
}

#[test]
fn heads() {
    each_is_answered(
        400,
        vec![
            ("no Host", request("")),
            ("Host twice", request(&HOST.repeat(2))),
            ("empty Host, then another", request("Host:\r\nHost: a\r\n")),
            ("comma in Host", request("Host: a,b\r\n")),
            ("userinfo in Host", request("Host: user@a\r\n")),
            ("folded line", request("Host: a\r\nX: y\r\n z\r\n")),
            ("space before the colon", request("Host : a\r\n")),
            ("bare CR", request("Host: a\r\nX: y\rz\r\n")),
            ("NUL in a value", request("Host: a\r\nX: \0\r\n")),
            ("NUL in the path", request(HOST).iter().map(|&b| if b == b'/' { 0 } else { b }).collect()),
            ("TLS hello", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03".to_vec()),
            ("noise", (0..512u32).map(|i| (i * 167 + 13) as u8).collect()),
        ],
    );
    each_is_answered(
        431,
        vec![
            ("256 KiB header", request(&format!("{HOST}X: {}\r\n", "x".repeat(256 << 10)))),
            ("2,000 headers", request(&format!("{HOST}{}", "X: y\r\n".repeat(2000)))),
        ],
    );
}

#[test]
fn bodies() {
    let chunked = |chunks: &str| request(&format!("{HOST}Transfer-Encoding: chunked\r\n\r\n{chunks}"));
    each_is_answered(
        400,
        vec![
            ("length overflows", request(&format!("{HOST}Content-Length: 18446744073709551616\r\n"))),
            ("negative length", request(&format!("{HOST}Content-Length: -1\r\n"))),
            ("two lengths", request(&format!("{HOST}Content-Length: 1\r\nContent-Length: 2\r\n"))),
            (
                "length and chunks",
                request(&format!("{HOST}Content-Length: 1\r\nTransfer-Encoding: chunked\r\n")),
            ),
            ("chunked is not last", request(&format!("{HOST}Transfer-Encoding: chunked, gzip\r\n"))),
            ("empty coding", request(&format!("{HOST}Transfer-Encoding:\r\n"))),
            ("chunks of 0x", chunked("0x5\r\nhello\r\n0\r\n\r\n")),
            ("chunks of 1_0", chunked("1_0\r\nhello\r\n0\r\n\r\n")),
            ("chunks of +5", chunked("+5\r\nhello\r\n0\r\n\r\n")),
            ("chunks of -5", chunked("-5\r\nhello\r\n0\r\n\r\n")),
            ("chunk size overflows", chunked("fffffffffffffffff\r\n")),
            ("chunk that spills", chunked("2\r\nhello\r\n0\r\n\r\n")),
            ("chunk without CRLF", chunked("5\r\nhello0\r\n\r\n")),
        ],
    );
}

#[test]
fn frames() {
    each_is_closed_with(
        1002,
        vec![
            ("unmasked", b"\x81\x02hi".to_vec()),
            ("length with top bit", b"\x82\xff\x80\0\0\0\0\0\0\x01....".to_vec()),
            ("length not shortest", b"\x82\xfe\0\x01.....".to_vec()),
            ("ping of 126 bytes", masked(PING, &[0; 126])),
            ("ping in fragments", masked(0x09, b"")),
            ("RSV1", masked(0xc1, b"")),
            ("RSV2", masked(0xa1, b"")),
            ("RSV3", masked(0x91, b"")),
            ("opcode 3", masked(0x83, b"")),
            ("opcode 7", masked(0x87, b"")),
            ("opcode 11", masked(0x8b, b"")),
            ("opcode 15", masked(0x8f, b"")),
            ("stray continuation", masked(0x80, b"")),
            ("text inside fragments", [masked(0x01, b"a"), masked(TEXT, b"b")].concat()),
            ("close with one byte", masked(CLOSE, b"\x03")),
            ("close 0", masked(CLOSE, &close_body(0, ""))),
            ("close 999", masked(CLOSE, &close_body(999, ""))),
            ("close 1005", masked(CLOSE, &close_body(1005, ""))),
            ("close 1006", masked(CLOSE, &close_body(1006, ""))),
            ("close 1015", masked(CLOSE, &close_body(1015, ""))),
            ("close 5000", masked(CLOSE, &close_body(5000, ""))),
        ],
    );
    each_is_closed_with(
        1007,
        vec![
            ("bad UTF-8", masked(TEXT, b"\xff")),
            ("surrogate", masked(TEXT, b"\xed\xa0\x80")),
            ("overlong", masked(TEXT, b"\xc0\xaf")),
            ("bad UTF-8 across fragments", [masked(0x01, b"\xe2\x82"), masked(0x80, b"\x28")].concat()),
            ("bad reason", masked(CLOSE, b"\x03\xe8\xff")),
        ],
    );
    each_is_closed_with(
        1009,
        vec![
            ("2 GiB announced", b"\x82\xff\0\0\0\0\x80\0\0\0....".to_vec()),
            ("2^62 announced", b"\x82\xff\x40\0\0\0\0\0\0\0....".to_vec()),
        ],
    );
    each_is_closed_with(
        1008,
        vec![
            ("200,000 empty fragments", [masked(0x01, b""), masked(0x00, b"").repeat(200_000)].concat()),
            (
                "200,000 fragments of a byte",
                [masked(0x01, b"a"), masked(0x00, b"b").repeat(200_000)].concat(),
            ),
        ],
    );
    each_is_closed_with(
        1000,
        vec![("data after close", [masked(CLOSE, &close_body(1000, "")), masked(TEXT, b"x")].concat())],
    );
}

#[test]
fn compressed_frames() {
    let server = Server::start(&["--compress"]);
    let request = UPGRADE.replace(HOST, &format!("{HOST}Sec-WebSocket-Extensions: permessage-deflate\r\n"));
    let cases: &[(u16, &str, Vec<u8>)] = &[
        (1007, "garbage", masked(TEXT | RSV1, &[0xff; 64])),
        (1009, "256 MiB in 255 KiB", masked(BINARY | RSV1, &bomb(256))),
        (1002, "continuation", [masked(0x01, b"a"), masked(0x80 | RSV1, b"b")].concat()),
        (1002, "ping", masked(PING | RSV1, b"")),
    ];
    check_all(
        cases,
        |case| case.1.to_owned(),
        |(code, _, bytes)| {
            let mut client = TestClient::upgrade_by(server.address, &request);
            client.send(bytes);
            assert_eq!(client.close_code(), Some(*code));
        },
    );
    let grown = server.resident_peak_bytes();
    assert!(grown < 256 << 20, "the server has held {} MiB", grown >> 20);
}

#[test]
fn odd_but_legal() {
    let server = Server::start(&[]);

    let mut pipelined = TestClient::connect(server.address);
    pipelined.send(&[UPGRADE.as_bytes(), &masked(TEXT, b"first")].concat());
    assert_eq!(pipelined.status(), Some(101));
    assert_eq!(pipelined.frame(), Some((TEXT, b"first".to_vec())));

    let mut slow = TestClient::connect(server.address);
    slow.send_slowly(&[UPGRADE.as_bytes(), &masked(BINARY, &[7; 300])].concat());
    assert_eq!(slow.status(), Some(101));
    assert_eq!(slow.frame(), Some((BINARY, vec![7; 300])));

    let mut fragmented = TestClient::upgrade(server.address);
    fragmented.send(&[masked(0x01, b"a"), masked(0x00, b"").repeat(100_000), masked(0x80, b"b")].concat());
    assert_eq!(fragmented.frame(), Some((TEXT, b"ab".to_vec())));

    let mut pings = TestClient::upgrade(server.address);
    let mut writer = pings.second();
    let sender = thread::spawn(move || writer.send(&masked(PING, b"?").repeat(20_000)));
    for _ in 0..20_000 {
        assert_eq!(pings.frame(), Some((PONG, b"?".to_vec())));
    }
    sender.join().unwrap();
    pings.echo("and still here");
}

#[test]
fn abrupt_ends() {
    let server = Server::start(&[]);
    let mut bystander = TestClient::upgrade(server.address);

    let mut half_closed = TestClient::upgrade(server.address);
    half_closed.send(&masked(TEXT, b"last words"));
    half_closed.half_close();
    assert_eq!(half_closed.frame(), Some((TEXT, b"last words".to_vec())));
    half_closed.expect_end();

    for _ in 0..100 {
        let mut in_mid_frame = TestClient::upgrade(server.address);
        in_mid_frame.send(&masked(BINARY, &[0; 1000])[..500]);
        in_mid_frame.reset();
    }
    bystander.echo("unimpressed");
}

#[test]
fn a_handshake_has_a_deadline() {
    let server = Server::start(&["--handshake-timeout", "1s"]);
    timed(|| {
        let start = Instant::now();
        let mut dripping = TestClient::connect(server.address);
        let mut writer = dripping.second();
        // A byte now and then keeps an inactivity timer from ever ringing; the deadline is absolute.
        let sender = thread::spawn(move || {
            for byte in UPGRADE.as_bytes().iter().take(50) {
                writer.send(&[*byte]);
                thread::sleep(Duration::from_millis(100));
            }
        });
        dripping.expect_end();
        let elapsed = start.elapsed();
        sender.join().unwrap();
        assert!(elapsed > Duration::from_millis(900), "{elapsed:?}");
        in_time(elapsed < Duration::from_secs(4), || format!("{elapsed:?}"))
    });
}

#[test]
fn a_peer_that_never_reads_is_bounded() {
    let server = Server::start(&[]);
    let before = server.resident_bytes();
    let mut deaf = TestClient::upgrade(server.address);
    let message = masked(BINARY, &vec![1; 64 << 10]);
    // 512 MiB of echoes that nobody fetches. The server may stop reading, or end the connection.
    deaf.send_within(Duration::from_secs(2), &message, 8192);
    let grown = server.resident_bytes().saturating_sub(before);
    assert!(grown < 64 << 20, "the server holds {} MiB for one client", grown >> 20);
    TestClient::upgrade(server.address).echo("served as before");
}

fn each_is_answered(status: u16, cases: Vec<Case>) {
    each(&status.to_string(), cases, |server, bytes| {
        let mut client = TestClient::connect(server.address);
        client.send(bytes);
        assert_eq!(client.status(), Some(status));
        if status != 101 {
            client.expect_end();
        }
    });
}

fn each_is_closed_with(code: u16, cases: Vec<Case>) {
    each(&code.to_string(), cases, |server, bytes| {
        let mut client = TestClient::upgrade(server.address);
        client.send(bytes);
        assert_eq!(client.close_code(), Some(code));
        client.expect_end();
    });
}

/// Checks each case against one server, which must serve a good client after each.
fn each(what: &str, cases: Vec<Case>, check: impl Fn(&Server, &[u8]) + Sync) {
    let server = Server::start(&[]);
    let name = |case: &Case| format!("{what}: {}", case.0);
    check_all(&cases, name, |(_, bytes)| {
        check(&server, bytes);
        TestClient::upgrade(server.address).echo("served as before");
    });
}

/// An upgrade in which something has been replaced.
fn upgrade(from: &str, to: &str) -> Vec<u8> {
    assert!(UPGRADE.contains(from), "{from:?} is not in the request");
    UPGRADE.replace(from, to).into_bytes()
}

/// A request with these header lines, each ending in CRLF.
fn request(lines: &str) -> Vec<u8> {
    format!("POST / HTTP/1.1\r\n{lines}\r\n").into_bytes()
}
