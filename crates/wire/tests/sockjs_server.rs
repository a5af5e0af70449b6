//! SockJS, server role, over a WebSocket: what the sockjs-protocol document says, and what no client should.

use codec::{Error, Reason};
use wire::{Failure, Server, ServerConfig};

use crate::common;
use crate::common::{Fake, Happened, frame, plain, serve_at};

fn text(payload: &str) -> Vec<u8> {
    plain(0x81, payload.as_bytes())
}

/// The server's events for frames after the handshake at `path`; the output without the 101.
fn serve(path: &str, frames: &[u8]) -> (Vec<u8>, Vec<Happened>, Result<(), Failure>) {
    let request = format!(
        "GET {path} HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
    );
    let run = |step: usize| {
        let (mut server, mut io, mut events) = (Server::new(), Fake::default(), Vec::new());
        let cfg = ServerConfig::default();
        let mut result = Ok(());
        for portion in [request.as_bytes(), frames].concat().chunks(step) {
            result = server.handle_input(&cfg, 0, 0, portion, &mut io, &mut |event| {
                events.extend(Happened::of(event));
            });
            if result.is_err() {
                break;
            }
        }
        let head = io.out.windows(4).position(|w| w == b"\r\n\r\n").unwrap() + 4;
        (io.out.split_off(head), events, result)
    };
    let whole = run(usize::MAX);
    assert_eq!(whole, run(1), "{}", frames.escape_ascii());
    whole
}

fn masked(payload: &str) -> Vec<u8> {
    common::masked(0x81, payload.as_bytes())
}

#[test]
fn the_server_over_a_websocket() {
    let (out, _, _) = serve("/echo/0/a/websocket", &[masked(""), masked("[]"), masked("[\"a\"]")].concat());
    assert_eq!(out, [text("o"), text("a[\"a\"]")].concat(), "empty messages are ignored");
    let (out, _, _) = serve("/echo/0/a/websocket", &masked("[\"a\",\"b\\n\\u2028\", \"\u{2028}\"]"));
    assert_eq!(out, [text("o"), text("a[\"a\",\"b\\n\\u2028\",\"\\u2028\"]")].concat());
    let goodbye = |reason: &str| plain(0x88, &[&3000u16.to_be_bytes()[..], reason.as_bytes()].concat());
    let (out, _, _) = serve("/close/0/a/websocket", b"");
    assert_eq!(out, [text("o"), text("c[3000,\"Go away!\"]"), goodbye("Go away!")].concat());
    let (out, _, _) = serve("/close/websocket", b"");
    assert_eq!(out, goodbye("Go away!"));
    let (out, _, _) = serve("/echo/websocket", &[masked("Hello world!\u{ffff}"), masked("")].concat());
    assert_eq!(out, [text("Hello world!\u{ffff}"), text("")].concat(), "no frames");
    for bad in
        ["[\"a", "a", "1", "{}", "[1]", "[{}]", "[\"a\",]", "[\"\\x\"]", "[\"\u{1}\"]", "[[]]", "\"a\"x"]
    {
        let (out, events, result) = serve("/sockjs/0/a/websocket", &masked(bad));
        assert_eq!(out, [text("o"), goodbye("Broken framing.")].concat(), "{bad}");
        assert_eq!((events.len(), result), (2, Err(Failure::BadMessage)), "{bad}");
    }
    let (out, _, _) = serve("/echo/0/a/websocket", &common::masked(0x82, b"[\"a\"]"));
    assert_eq!(out, [text("o"), goodbye("Broken framing.")].concat(), "binary");
    let deep = format!("[{}", "[".repeat(100_000));
    assert_eq!(
        serve("/sockjs/0/a/websocket", &frame(0x81, Some([0; 4]), deep.as_bytes())).2,
        Err(Failure::BadMessage)
    );
}

#[test]
fn benchmark_over_framed_and_raw_websockets() {
    let broadcast = r#"{"type":"broadcast","payload":{"a":"é\n"}}"#;
    let string = broadcast.replace('\\', "\\\\").replace('"', "\\\"");
    let result = broadcast.replace("broadcast", "broadcastResult");
    let as_string = |text: &str| text.replace('\\', "\\\\").replace('"', "\\\"");
    let to_all = [
        Happened::Broadcast(format!(",\"{string}\"").into_bytes()),
        Happened::Rebroadcast(text(&format!("a[\"{string}\"]"))),
        Happened::Rebroadcast(text(broadcast)),
    ];
    let (out, events, _) = serve("/sockjs/0/a/websocket", &masked(&format!("[\"{string}\"]")));
    assert_eq!(out, [text("o"), text(&format!("a[\"{}\"]", as_string(&result)))].concat());
    assert_eq!(events[2..], to_all.clone());
    let (out, events, _) = serve("/sockjs/websocket", &masked(broadcast));
    assert_eq!(out, text(&result));
    assert_eq!(events[2..], to_all);
    // Anything else comes back, and what is but called a broadcast.
    for echo in [r#"{"type":"echo","payload":1}"#, "broadcast", r#"{"payload":{"type":"broadcast"}}"#, "x"] {
        let (out, events, _) = serve("/sockjs/websocket", &masked(echo));
        assert_eq!((out, &events[2..]), (text(echo), &[Happened::Echoed(echo.len() as u32)][..]));
        let (out, _, _) = serve("/sockjs/0/a/websocket", &masked(&format!("[\"{}\"]", as_string(echo))));
        assert_eq!(out, [text("o"), text(&format!("a[\"{}\"]", as_string(echo)))].concat());
    }
    // In an array of several each gets what it asks for, in one frame.
    let (out, events, _) = serve("/sockjs/0/a/websocket", &masked(&format!("[\"x\",\"{string}\",\"y\"]")));
    assert_eq!(out, [text("o"), text(&format!("a[\"x\",\"{}\",\"y\"]", as_string(&result)))].concat());
    assert_eq!(events.len(), 2 + 5);
}

#[test]
fn input_after_a_close_is_judged_alike() {
    let outcome = serve_at(
        &ServerConfig::default(),
        "/close/0/a/websocket",
        "",
        &frame(0x81, Some([1, 2, 3, 4]), b"a\xff"),
    );
    assert_eq!(outcome.result, Err(Failure::Codec(Error::Protocol(Reason::BadUtf8))));
    let outcome = serve_at(&ServerConfig::default(), "/close/0/a/websocket", "", &masked(r#"["a"]"#));
    assert_eq!(outcome.result, Ok(()));
}
