//! permessage-deflate in a session: negotiation, RSV1, bombs (RFC 7692).

use app::Kind;
use codec::ws::deflate::Deflater;
use codec::{DeflateOptions, Error, Limits, Reason};
use wire::{Client, Config, DialectId, Event, Failure, Options, Role, ServerConfig};

use crate::common::*;

const EXTENSION: &str = "Sec-WebSocket-Extensions: permessage-deflate\r\n";
/// "Hello" in one block (§7.2.3.1), and again with the window kept (§7.2.3.2).
const HELLO: &[u8] = b"\xf2\x48\xcd\xc9\xc9\x07\x00";
const HELLO_AGAIN: &[u8] = b"\xf2\x00\x11\x00\x00";

fn cfg() -> ServerConfig {
    let limits = Limits { message_bytes_max: 1 << 20, ..Limits::default() };
    ServerConfig { limits, deflate: Some(DeflateOptions::default()), ..ServerConfig::default() }
}

/// The answers of a server with compression to the frames, handshake aside.
fn serve_deflated(extension: &str, frames: &[u8]) -> Outcome<Happened> {
    let mut outcome = serve(&cfg(), &[request(extension).as_bytes(), frames].concat());
    let head = outcome.out.windows(4).position(|w| w == b"\r\n\r\n").unwrap() + 4;
    let answer = outcome.out.drain(..head).collect();
    assert!(String::from_utf8(answer).unwrap().contains("Extensions: permessage-deflate"));
    assert_eq!(outcome.events.remove(0), Happened::Upgraded);
    outcome
}

#[test]
fn compressed_messages_are_answered_compressed() {
    let frames = [masked(0xc1, HELLO), masked(0xc1, HELLO_AGAIN), masked(0x81, b"Hello")].concat();
    let outcome = serve_deflated(EXTENSION, &frames);
    assert_eq!(outcome.events, [Happened::Echoed(5), Happened::Echoed(5), Happened::Echoed(5)]);
    assert_eq!(outcome.out[0], 0xc1);
    // Fragments are of one compressed message; only the first has RSV1.
    let frames = [masked(0x41, &HELLO[..3]), masked(0x89, b"p"), masked(0x80, &HELLO[3..])].concat();
    let outcome = serve_deflated(EXTENSION, &frames);
    assert_eq!(outcome.events, [Happened::Echoed(5)]);
    assert!(outcome.out.starts_with(&plain(0x8a, b"p")));
}

#[test]
fn windows_without_takeover_are_forgotten() {
    let extension = "Sec-WebSocket-Extensions: permessage-deflate; client_no_context_takeover\r\n";
    let outcome = serve_deflated(extension, &[masked(0xc1, HELLO), masked(0xc1, HELLO_AGAIN)].concat());
    assert_eq!(outcome.result, Err(Failure::Codec(Error::Deflate)));
    let extension = "Sec-WebSocket-Extensions: permessage-deflate; server_no_context_takeover\r\n";
    let outcome = serve_deflated(extension, &[masked(0xc1, HELLO), masked(0xc1, HELLO_AGAIN)].concat());
    let (first, second) = outcome.out.split_at(outcome.out.len() / 2);
    assert_eq!(first, second, "each answer stands alone");
}

#[test]
fn rsv1_marks_only_the_first_frame() {
    for frames in [
        [masked(0x41, &HELLO[..3]), masked(0xc0, &HELLO[3..])].concat(),
        masked(0xc9, b"ping"),
        masked(0xc8, b"\x03\xe8"),
        masked(0xe1, HELLO),
    ] {
        let outcome = serve_deflated(EXTENSION, &frames);
        assert_eq!(outcome.result, Err(Failure::Codec(Error::Protocol(Reason::ReservedBit))));
    }
    // And nowhere at all when nothing was agreed on.
    let outcome = serve_frames(&cfg(), &masked(0xc1, HELLO));
    assert_eq!(outcome.result, Err(Failure::Codec(Error::Protocol(Reason::ReservedBit))));
}

#[test]
fn bombs_and_garbage_fail_with_their_code() {
    let mut bomb = vec![0; 8 << 20];
    Deflater::new(9, 15, true).replace(&mut bomb, 0);
    let frames = masked(0xc2, &bomb);
    let bytes = [request(EXTENSION).as_bytes(), &frames].concat();
    let outcome = serve_portions(&cfg(), &[&bytes]);
    assert_eq!(outcome.result, Err(Failure::Codec(Error::MessageTooLarge)));
    assert!(outcome.out.ends_with(&plain(0x88, &1009u16.to_be_bytes())));
    let outcome = serve_deflated(EXTENSION, &masked(0xc1, b"\xff\xff\xff"));
    assert_eq!(outcome.result, Err(Failure::Codec(Error::Deflate)));
    assert!(outcome.out.ends_with(&plain(0x88, &1007u16.to_be_bytes())));
    // Text is checked after inflation.
    let mut bad = b"\xff".to_vec();
    Deflater::new(1, 15, true).replace(&mut bad, 0);
    let outcome = serve_deflated(EXTENSION, &masked(0xc1, &bad));
    assert_eq!(outcome.result, Err(Failure::Codec(Error::Protocol(Reason::BadUtf8))));
}

/// Each block is a stream of its own, in two bytes that say nothing: half a million of them cost what their
/// bytes do.
#[test]
fn empty_blocks_cost_no_room() {
    let frames = masked(0xc2, &b"\x03\x00".repeat(500_000));
    let outcome = serve_deflated(EXTENSION, &frames);
    assert_eq!((outcome.events, outcome.result), (vec![Happened::Echoed(0)], Ok(())));
}

#[test]
fn the_client_meets_what_the_server_asks() {
    let deflate = Some(DeflateOptions::default());
    let cfg = Config::new(Options { deflate, ..options(DialectId::Json) }).unwrap();
    for (fields, compressed) in [
        ("", false),
        (EXTENSION, true),
        ("Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits=8\r\n", true),
        ("Sec-WebSocket-Extensions: permessage-deflate; client_no_context_takeover\r\n", true),
    ] {
        let (mut client, mut io, answer) = opening(&cfg, fields);
        client.handle_input(&cfg, 0, 0, &answer, &mut io, &mut |_| {}).unwrap();
        client.send(&cfg, 0, 0, Kind::Echo, stamp(1), &mut io);
        assert_eq!(io.out[0], if compressed { 0xc1 } else { 0x81 }, "{fields}");
    }
    for fields in [
        "Sec-WebSocket-Extensions: permessage-deflate; x=1\r\n",
        "Sec-WebSocket-Extensions: permessage-deflate, permessage-deflate\r\n",
        "Sec-WebSocket-Extensions: x-other\r\n",
    ] {
        let (mut client, mut io, answer): (Client, _, _) = opening(&cfg, fields);
        let result = client.handle_input(&cfg, 0, 0, &answer, &mut io, &mut |_| {});
        assert_eq!(result, Err(Failure::Codec(Error::UnaskedExtension)), "{fields}");
    }
}

#[test]
fn wire_bytes_are_counted_as_compressed() {
    let deflate = Some(DeflateOptions::default());
    let cfg = Config::new(Options { deflate, ..options(DialectId::Json) }).unwrap();
    let id = String::from_utf8(stamp(3).to_text().to_vec()).unwrap();
    let mut message = format!(r#"{{"type":"echo","payload":{{"sendTime":"1","id":"{id}"}}}}"#).into_bytes();
    Deflater::new(6, 15, false).replace(&mut message, 0);
    let bytes = message.len() as u32;
    let outcome = receive(&cfg, EXTENSION, &plain(0xc1, &message));
    assert_eq!(outcome.events, [Event::Message { role: Role::Echo, stamp: stamp(3), bytes }]);
}
