//! The server role against requests: upgrades, plain ones, and every way to get them wrong.

use codec::{Error, HttpReason};
use wire::{Failure, Gate, ServerConfig};

use crate::common::*;

fn cfg() -> ServerConfig {
    ServerConfig {
        origins: vec!["http://good.example".into()],
        subprotocols: vec!["chat".into(), "superchat".into()],
        ..ServerConfig::default()
    }
}

/// The status of the only answer.
fn status(cfg: &ServerConfig, request: &str) -> u16 {
    let text = String::from_utf8(serve(cfg, request.as_bytes()).out).unwrap();
    assert_eq!(text.matches("HTTP/1.1 ").count(), 1, "{text}");
    text["HTTP/1.1 ".len()..][..3].parse().unwrap()
}

#[test]
fn the_handshake_of_rfc_6455() {
    let request = request("Origin: http://good.example\r\nSec-WebSocket-Protocol: chat, superchat\r\n");
    let outcome = serve(&cfg(), request.as_bytes());
    assert_eq!(outcome.events, [Happened::Upgraded]);
    assert_eq!(
        String::from_utf8(outcome.out).unwrap(),
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\nSec-WebSocket-Protocol: chat\r\n\r\n"
    );
}

#[test]
fn open_paths_let_no_websocket_pass() {
    let gates = [Gate { login: true, jwt: None }, Gate { login: false, jwt: Some("sesame".into()) }];
    for gate in gates {
        let cfg = ServerConfig { gate, ..ServerConfig::default() };
        assert_eq!(status(&cfg, "GET / HTTP/1.1\r\nHost: h\r\n\r\n"), 200);
        for path in ["/", "/login", "/metrics", "/upload", "/?token=e30.e30.forged", "http://h"] {
            assert_eq!(status(&cfg, &request("").replace("/chat", path)), 401, "{path}");
        }
    }
}

#[test]
fn legal_variations_are_upgraded() {
    let base = request("");
    for (from, to) in [
        ("Connection: Upgrade", "Connection: keep-alive, Upgrade"),
        ("Connection: Upgrade", "Connection: keep-alive\r\nConnection: ,UPGRADE"),
        ("Upgrade: websocket", "UPGRADE: WebSocket"),
        ("Upgrade: websocket", "Upgrade: h2c, websocket"),
        ("Host: server.example.com", "host:[::1]:80"),
        ("GET /chat ", "GET /chat?a=b%20c "),
        ("GET /chat ", "GET http://server.example.com/chat "),
        ("\r\n\r\n", "\r\nContent-Length: 0\r\n\r\n"),
        ("GET ", "\r\nGET "),
    ] {
        assert!(base.contains(from));
        assert_eq!(status(&cfg(), &base.replacen(from, to, 1)), 101, "{to}");
    }
    let spaces = format!("Sec-WebSocket-Protocol: {}chat\r\n", " ,".repeat(4000));
    assert_eq!(status(&cfg(), &request(&spaces)), 101);
}

#[test]
fn wrong_handshakes_are_refused() {
    let base = request("");
    for (from, to, expected) in [
        ("Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n", "", 400),
        ("dGhlIHNhbXBsZSBub25jZQ==", "c2hvcnQ=", 400),
        ("dGhlIHNhbXBsZSBub25jZQ==\r\n", "dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Key: a\r\n", 400),
        ("Version: 13", "Version: 12", 426),
        ("Version: 13", "Version: 13, 8", 426),
        ("Sec-WebSocket-Version: 13\r\n", "", 426),
        ("Connection: Upgrade\r\n", "", 400),
        ("Connection: Upgrade", "Connection: close", 400),
        ("Upgrade: websocket\r\n", "", 400),
        ("GET ", "POST ", 405),
        ("HTTP/1.1", "HTTP/1.0", 400),
        ("HTTP/1.1", "HTTP/2.0", 505),
        ("HTTP/1.1", "HTTP/1.2", 505),
        ("\r\n\r\n", "\r\nContent-Length: 1\r\n\r\n", 400),
        ("\r\n\r\n", "\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
        ("\r\n\r\n", "\r\nOrigin: http://evil.example\r\n\r\n", 403),
        ("\r\n\r\n", "\r\nSec-WebSocket-Protocol: chat, chat\r\n\r\n", 400),
        ("\r\n\r\n", "\r\nSec-WebSocket-Protocol: ch at\r\n\r\n", 400),
        ("\r\n\r\n", "\r\nSec-WebSocket-Extensions: ;;=\"\r\n\r\n", 400),
        ("Host: server.example.com\r\n", "", 400),
    ] {
        assert!(base.contains(from));
        let outcome = serve(&cfg(), base.replacen(from, to, 1).as_bytes());
        assert!(outcome.result.is_err() && outcome.events.is_empty(), "{to}");
        let text = String::from_utf8(outcome.out).unwrap();
        assert!(text.starts_with(&format!("HTTP/1.1 {expected} ")), "{to}: {text}");
        assert!(text.contains("Connection: close\r\n") && text.ends_with("\r\n\r\n"));
    }
    let version = serve(&cfg(), base.replace("Version: 13", "Version: 12").as_bytes());
    assert!(String::from_utf8(version.out).unwrap().contains("Sec-WebSocket-Version: 13\r\n"));
}

#[test]
fn heads_that_are_no_http_are_refused() {
    use HttpReason::*;
    let bad = Error::BadHttp;
    let host = "Host: h\r\n";
    for (bytes, error) in [
        ("\u{16}\u{3}\u{1}".to_owned(), Error::NotHttp),
        ("{\"json\":1}".to_owned(), Error::NotHttp),
        ("noise noise noise\r\n\r\n".to_owned(), bad(StartLine)),
        (format!("GET / HTTP/1.2\r\n{host}\r\n"), bad(Version)),
        (format!("POST / HTTP/1.1\r\n{host}Transfer-Encoding: deflate, chunked\r\n\r\n"), bad(Coding)),
        (format!("GET /\0 HTTP/1.1\r\n{host}\r\n"), bad(Control)),
        (format!("GET / HTTP/1.1\n{host}\n"), bad(LineEnd)),
        (format!("GET / HTTP/1.1\r\n{host}A: b\rc\r\n\r\n"), bad(LineEnd)),
        (format!("GET / HTTP/1.1\r\n{host}A: b\r\n c\r\n\r\n"), bad(FieldLine)),
        (format!("GET / HTTP/1.1\r\n{host}A : b\r\n\r\n"), bad(FieldLine)),
        (format!("GET / HTTP/1.1\r\n{host}{host}\r\n"), bad(Host)),
        (format!("GET / HTTP/1.1\r\n{host}A: {}\r\n\r\n", "a".repeat(256 << 10)), Error::HeadTooLarge),
        (format!("GET / HTTP/1.1\r\n{host}{}\r\n", "A: b\r\n".repeat(2000)), Error::HeadTooLarge),
        (format!("POST / HTTP/1.1\r\n{host}Content-Length: 99999999999\r\n\r\nx"), Error::BodyTooLarge),
        (
            format!("POST / HTTP/1.1\r\n{host}Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n"),
            bad(ContentLength),
        ),
        (format!("POST / HTTP/1.1\r\n{host}Transfer-Encoding: chunked\r\n\r\n0x1\r\n"), bad(Chunk)),
    ] {
        let outcome = serve(&ServerConfig::default(), bytes.as_bytes());
        assert_eq!(outcome.result, Err(Failure::Codec(error)), "{}", &bytes[..bytes.len().min(60)]);
        let text = String::from_utf8(outcome.out).unwrap();
        let expected = error.status();
        assert!(text.starts_with(&format!("HTTP/1.1 {expected} ")), "{text}");
    }
}

#[test]
fn plain_requests_are_answered_in_order() {
    let requests = "GET / HTTP/1.1\r\nHost: h\r\n\r\n\
        POST /x HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n\
        POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhello\r\n\r\n\
        HEAD /?q HTTP/1.1\r\nHost: h\r\n\r\n\
        GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\nignored";
    let outcome = serve(&ServerConfig::default(), requests.as_bytes());
    let text = String::from_utf8(outcome.out).unwrap();
    let statuses: Vec<&str> = text.split("HTTP/1.1 ").skip(1).map(|a| &a[..3]).collect();
    assert_eq!(statuses, ["200", "404", "200", "200", "200"]);
    let kept = [true, true, true, true, false].map(Happened::Requested);
    assert_eq!(outcome.events, kept);
    assert_eq!(outcome.result, Ok(()));
    assert!(text.ends_with("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"));
}

#[test]
fn paths_below_the_root() {
    let ask = |line: &str| status(&ServerConfig::default(), &format!("{line} HTTP/1.1\r\nHost: h\r\n\r\n"));
    assert_eq!(ask("GET http://h?x=1"), 200);
    assert_eq!((ask("POST /"), ask("PUT /"), ask("OPTIONS *")), (200, 405, 204));
    let options = serve(&ServerConfig::default(), b"OPTIONS / HTTP/1.1\r\nHost: h\r\n\r\n").out;
    let options = String::from_utf8(options).unwrap();
    assert!(
        options.starts_with("HTTP/1.1 204 ") && options.contains("\r\nAllow: GET, HEAD, POST, OPTIONS\r\n")
    );
    assert!(!options.contains("Content-Length"), "{options}");
    for (method, expected) in [("POST", 200), ("PUT", 200), ("PATCH", 200), ("DELETE", 200), ("GET", 405)] {
        assert_eq!(ask(&format!("{method} /upload")), expected, "{method}");
    }
    let body = "POST /upload HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\n\0\r\n\x7f";
    assert_eq!(status(&ServerConfig::default(), body), 200);
    let cfg = ServerConfig { unix_minus_now_ns: 784_111_777_000_000_000, ..ServerConfig::default() };
    let answers = [
        "GET / HTTP/1.1\r\nHost: h\r\n\r\n",
        "GET / HTTP/1.1\r\n\r\n",
        "GET /sockjs HTTP/1.1\r\nHost: h\r\n\r\n",
    ];
    for request in answers {
        let text = String::from_utf8(serve(&cfg, request.as_bytes()).out).unwrap();
        assert!(text.contains("\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\n"), "{text}");
    }
}

#[test]
fn a_line_end_before_a_request_is_skipped() {
    let get = "GET / HTTP/1.1\r\nHost: h\r\n\r\n";
    let requests =
        format!("\r\n{get}POST /upload HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n\r\nx\r\n{get}");
    let outcome = serve(&ServerConfig::default(), requests.as_bytes());
    assert_eq!((outcome.events, outcome.result), (vec![Happened::Requested(true); 3], Ok(())));
}

#[test]
fn http_1_0_clients_get_keep_alive() {
    let request = "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n";
    let outcome = serve(&ServerConfig::default(), request.repeat(2).as_bytes());
    let answer = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: keep-alive\r\n\r\n";
    assert_eq!(String::from_utf8(outcome.out).unwrap(), answer.repeat(2));
    assert_eq!(outcome.events, [true, true].map(Happened::Requested));
    let outcome = serve(&ServerConfig::default(), b"GET / HTTP/1.0\r\n\r\n");
    assert_eq!(outcome.events, [Happened::Requested(false)]);
}

#[test]
fn an_upgrade_may_follow_plain_requests() {
    let bytes = format!("GET / HTTP/1.1\r\nHost: h\r\n\r\n{}", request(""));
    let outcome = serve(&ServerConfig::default(), &[bytes.as_bytes(), &masked(0x81, b"hi")].concat());
    assert_eq!(outcome.events, [Happened::Requested(true), Happened::Upgraded, Happened::Echoed(2)]);
}

#[test]
fn a_patient_client_is_told_to_continue() {
    let head = "POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n";
    let outcome = serve(&ServerConfig::default(), head.as_bytes());
    assert_eq!(outcome.out, b"HTTP/1.1 100 Continue\r\n\r\n");
    let outcome = serve(&ServerConfig::default(), format!("{head}ab").as_bytes());
    assert!(String::from_utf8(outcome.out).unwrap().contains("HTTP/1.1 200 "));
}
