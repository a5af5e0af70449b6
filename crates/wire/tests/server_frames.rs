//! The server role against the frames of RFC 6455 and against every way to get them wrong.

use codec::{Error, Limits, Reason};
use wire::{Failure, ServerConfig};

use crate::common::*;

const TEXT: u8 = 0x81;
const BINARY: u8 = 0x82;
const CLOSE: u8 = 0x88;
const PING: u8 = 0x89;
const PONG: u8 = 0x8a;

/// The server's answers to good frames, events aside.
fn answered(frames: &[u8]) -> Vec<u8> {
    let outcome = serve_frames(&ServerConfig::default(), frames);
    assert_eq!(outcome.result, Ok(()), "{}", frames.escape_ascii());
    outcome.out
}

/// The failure of frames that fail the connection. The close frame must carry the right code and be the last.
fn refused(frames: &[u8]) -> Failure {
    let outcome = serve_frames(&ServerConfig::default(), frames);
    let failure = outcome.result.expect_err("must fail");
    let close = plain(CLOSE, &failure.close_code().expect("has a code").to_be_bytes());
    assert!(outcome.out.ends_with(&close), "{}", outcome.out.escape_ascii());
    failure
}

#[test]
fn the_examples_of_rfc_6455() {
    // §5.7: a single-frame masked text, answered as the single-frame unmasked one.
    let hello = b"\x81\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58";
    assert_eq!(answered(hello), b"\x81\x05\x48\x65\x6c\x6c\x6f");
    // A fragmented one, with a ping between the fragments.
    let fragments = [masked(0x01, b"Hel"), masked(PING, b"Hello"), masked(0x80, b"lo")].concat();
    assert_eq!(answered(&fragments), b"\x8a\x05\x48\x65\x6c\x6c\x6f\x81\x05\x48\x65\x6c\x6c\x6f");
    // 256 bytes and 64 KiB of binary.
    for (len, header) in [(256, &b"\x82\x7e\x01\x00"[..]), (65536, b"\x82\x7f\0\0\0\0\0\x01\0\0")] {
        let payload = vec![0xa5; len];
        assert_eq!(answered(&masked(BINARY, &payload)), [header, &payload].concat());
    }
}

#[test]
fn messages_in_one_segment_are_answered_in_order() {
    let frames: Vec<u8> = (0..50).flat_map(|i| masked(TEXT, format!("message {i}").as_bytes())).collect();
    let expected: Vec<u8> = (0..50).flat_map(|i| plain(TEXT, format!("message {i}").as_bytes())).collect();
    assert_eq!(answered(&frames), expected);
}

#[test]
fn any_segments_give_the_same_events() {
    let cfg = ServerConfig::default();
    let bytes = [
        request("").into_bytes(),
        masked(TEXT, "one €".as_bytes()),
        masked(0x02, b"tw"),
        masked(PONG, b"unasked"),
        masked(0x00, b""),
        masked(0x80, b"o"),
        masked(PING, b"three"),
        masked(CLOSE, b"\x03\xe8bye"),
    ]
    .concat();
    let whole = serve_portions(&cfg, &[&bytes]);
    for cut in 1..bytes.len() {
        let (a, b) = bytes.split_at(cut);
        assert_eq!(serve_portions(&cfg, &[a, b]), whole, "cut at {cut}");
    }
}

#[test]
fn bad_frames_are_refused() {
    use Reason::*;
    for (frames, reason) in [
        (plain(TEXT, b"Hello"), Unmasked),
        (b"\x81\xfe\x00\x7d".to_vec(), BadLength),
        (b"\x82\xff\x80".to_vec(), BadLength),
        (b"\x82\xff\0\0\0\0\0\0\xff\xff".to_vec(), BadLength),
        (b"\x89\xfe".to_vec(), BadControl),
        (masked(0x09, b"fragmented ping"), BadControl),
        (masked(0x08, b""), BadControl),
        (masked(0x83, b""), ReservedOpcode),
        (masked(0x87, b""), ReservedOpcode),
        (masked(0x8b, b""), ReservedOpcode),
        (masked(0x8f, b""), ReservedOpcode),
        (masked(0xc1, b""), ReservedBit),
        (masked(0xa1, b""), ReservedBit),
        (masked(0x91, b""), ReservedBit),
        (masked(0x80, b"stray"), StrayContinuation),
        (masked(0x00, b"stray"), StrayContinuation),
        ([masked(0x01, b"a"), masked(TEXT, b"b")].concat(), UnfinishedMessage),
        ([masked(0x01, b"a"), masked(0x02, b"b")].concat(), UnfinishedMessage),
        ([masked(0x01, b"a"), masked(0x80, b"b"), masked(0x80, b"c")].concat(), StrayContinuation),
    ] {
        assert_eq!(refused(&frames), Failure::Codec(Error::Protocol(reason)), "{}", frames.escape_ascii());
        let later = [masked(TEXT, b"fine"), frames].concat();
        assert_eq!(refused(&later), Failure::Codec(Error::Protocol(reason)));
    }
}

#[test]
fn only_invalid_text_is_refused() {
    for bad in [&b"\xff"[..], b"\xed\xa0\x80", b"\xc0\xaf", b"\xf4\x90\x80\x80", b"cut \xe2\x82"] {
        assert_eq!(refused(&masked(TEXT, bad)), Failure::Codec(Error::Protocol(Reason::BadUtf8)));
        let fragments = [masked(0x01, b"ok "), masked(0x00, bad), masked(0x80, b"")].concat();
        assert_eq!(refused(&fragments), Failure::Codec(Error::Protocol(Reason::BadUtf8)));
        assert_eq!(answered(&masked(BINARY, bad)), plain(BINARY, bad));
    }
    // A character may be cut by a fragment.
    let cut = [masked(0x01, b"\xe2\x82"), masked(0x80, b"\xac")].concat();
    assert_eq!(answered(&cut), plain(TEXT, "€".as_bytes()));
}

#[test]
fn invalid_text_is_refused_in_mid_frame() {
    // Autobahn 6.4.3: the bytes of one frame in three segments, the second of which cannot be right.
    let text = b"\xce\xba\xe1\xbd\xb9\xcf\x83\xce\xbc\xce\xb5\xf4\x90\x80\x80edited";
    let frame = masked(TEXT, text);
    let handshake = request("");
    let cfg = ServerConfig::default();
    let good = serve_portions(&cfg, &[handshake.as_bytes(), &frame[..6 + 12]]);
    assert_eq!(good.result, Ok(()));
    let bad = serve_portions(&cfg, &[handshake.as_bytes(), &frame[..6 + 12], &frame[6 + 12..6 + 13]]);
    assert_eq!(bad.result, Err(Failure::Codec(Error::Protocol(Reason::BadUtf8))));
    // 6.4.1: in the second of three fragments, the last of which never comes.
    assert_eq!(
        refused(&[masked(0x01, &text[..11]), masked(0x00, &text[11..15])].concat()),
        Failure::Codec(Error::Protocol(Reason::BadUtf8))
    );
}

#[test]
fn closes_are_answered_with_their_code() {
    for payload in [&b""[..], b"\x03\xe8", b"\x03\xe8because", b"\x0f\xa0"] {
        let outcome = serve_frames(&ServerConfig::default(), &masked(CLOSE, payload));
        let code = if payload.is_empty() { 1005 } else { u16::from_be_bytes([payload[0], payload[1]]) };
        assert_eq!(outcome.events, [Happened::Closed(code)]);
        assert_eq!(outcome.out, plain(CLOSE, &payload[..payload.len().min(2)]));
        assert_eq!(outcome.result, Ok(()));
    }
    for payload in [&b"\x03"[..], b"\0\0", b"\x03\xe7", b"\x03\xed", b"\x03\xee", b"\x03\xf7", b"\x13\x88"] {
        assert_eq!(refused(&masked(CLOSE, payload)), Failure::Codec(Error::Protocol(Reason::BadClose)));
    }
    assert_eq!(refused(&masked(CLOSE, b"\x03\xe8\xff")), Failure::Codec(Error::Protocol(Reason::BadUtf8)));
}

#[test]
fn nothing_counts_after_a_close() {
    let frames = [masked(CLOSE, b"\x03\xe8"), masked(TEXT, b"late"), b"\xff\xff\xff".to_vec()].concat();
    let outcome = serve_frames(&ServerConfig::default(), &frames);
    assert_eq!(outcome.events, [Happened::Closed(1000)]);
    assert_eq!(outcome.out, plain(CLOSE, b"\x03\xe8"));
}

#[test]
fn limits_hold() {
    let limits =
        Limits { frame_bytes_max: 200, message_bytes_max: 300, fragments_max: 4, ..Limits::default() };
    let cfg = ServerConfig { limits, ..ServerConfig::default() };
    let result = |frames: &[Vec<u8>]| serve_frames(&cfg, &frames.concat()).result;
    assert_eq!(result(&[masked(BINARY, &[0; 200])]), Ok(()));
    assert_eq!(result(&[masked(BINARY, &[0; 201])]), Err(Failure::Codec(Error::MessageTooLarge)));
    // The header is enough: 2 GiB and 2^62 bytes without a body.
    assert_eq!(
        result(&[b"\x82\xff\0\0\0\0\x80\0\0\0\0\0\0\0".to_vec()]),
        Err(Failure::Codec(Error::MessageTooLarge))
    );
    assert_eq!(
        result(&[b"\x82\xff\x40\0\0\0\0\0\0\0\0\0\0\0".to_vec()]),
        Err(Failure::Codec(Error::MessageTooLarge))
    );
    assert_eq!(result(&[masked(0x02, &[0; 200]), masked(0x80, &[0; 100])]), Ok(()));
    assert_eq!(
        result(&[masked(0x02, &[0; 200]), masked(0x80, &[0; 101])]),
        Err(Failure::Codec(Error::MessageTooLarge))
    );
    let (first, more, last) = (masked(0x02, b""), masked(0x00, b""), masked(0x80, b""));
    let allowed = [first.clone(), more.clone(), more.clone(), last.clone()];
    assert_eq!(result(&allowed), Ok(()));
    let too_many = [first, more.clone(), more.clone(), more, last];
    assert_eq!(result(&too_many), Err(Failure::Codec(Error::Protocol(Reason::TooManyFragments))));
}

#[test]
fn floods_by_default_limits() {
    let fragments = [masked(0x01, b"a"), masked(0x00, b"b").repeat(200_000)].concat();
    let cfg = ServerConfig::default();
    let bytes = [request("").as_bytes(), &fragments].concat();
    assert_eq!(
        serve_portions(&cfg, &bytes.chunks(4096).collect::<Vec<_>>()).result,
        Err(Failure::Codec(Error::Protocol(Reason::TooManyFragments)))
    );
    let pings = masked(PING, b"").repeat(20_000);
    let bytes = [request("").as_bytes(), &pings].concat();
    let outcome = serve_portions(&cfg, &bytes.chunks(4096).collect::<Vec<_>>());
    assert!(outcome.out.ends_with(&plain(PONG, b"").repeat(20_000)));
    // Autobahn 9.3.1: 4 MiB in frames of 64 bytes, and an empty last.
    let many = [masked(0x02, &[7; 64]), masked(0x00, &[7; 64]).repeat(65_535), masked(0x80, b"")].concat();
    let bytes = [request("").as_bytes(), &many].concat();
    let outcome = serve_portions(&cfg, &bytes.chunks(65_536).collect::<Vec<_>>());
    assert_eq!(outcome.events.last(), Some(&Happened::Echoed(4 << 20)));
}
