//! The client role against good, odd and hostile servers.

use app::Kind;
use codec::ws::mask::{self, Key};
use codec::{Error, HttpReason, Limits, Reason};
use secret::Secret;
use wire::{BadOption, Client, Config, DialectId, Event, Failure, Options, Payload, Role, Settings};

use crate::common::*;

/// A client's handshake against an answer with `from` replaced, whole and byte by byte.
fn answered(from: &str, to: &str) -> Result<(), Failure> {
    let cfg = config(DialectId::Json);
    let run = |step: usize| {
        let (mut client, mut io, answer) = opening(&cfg, "");
        let answer = String::from_utf8(answer).unwrap();
        assert!(answer.contains(from), "{from}");
        let answer = answer.replacen(from, to, 1);
        let mut upgraded = false;
        for portion in answer.as_bytes().chunks(step) {
            client.handle_input(&cfg, 0, 0, portion, &mut io, &mut |e| upgraded |= e == Event::Upgraded)?;
        }
        assert_eq!(upgraded, client.is_usable());
        if upgraded { Ok(()) } else { client.handle_eof(&cfg, 0, 0, &mut io, &mut |_| {}) }
    };
    let whole = run(usize::MAX);
    assert_eq!(whole, run(1), "{to}");
    whole
}

#[test]
fn the_request_is_what_was_asked_for() {
    let cfg = Config::new(Options {
        subprotocols: vec!["a".into(), "b".into()],
        origin: Some("http://o.example".into()),
        basic_auth: Some(("Aladdin".into(), "open sesame".into())),
        headers: vec![("X-A".into(), "b c".into())],
        deflate: Some(codec::DeflateOptions::default()),
        ..options(DialectId::Json)
    })
    .unwrap();
    let (mut client, mut io) = (Client::new(), Fake::default());
    client.handle_open(&cfg, 0, 0, &mut io);
    let request = String::from_utf8(io.out).unwrap();
    let (before, after) = request.split_once("Sec-WebSocket-Key: ").unwrap();
    assert_eq!(
        before,
        "GET /ws HTTP/1.1\r\nHost: 127.0.0.1:9000\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Version: 13\r\n"
    );
    assert_eq!(
        &after[24..],
        "\r\nSec-WebSocket-Protocol: a, b\r\n\
         Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits\r\nOrigin: http://o.example\r\n\
         Authorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==\r\nX-A: b c\r\n\r\n"
    );
}

#[test]
fn options_that_cannot_be_sent_are_refused() {
    let bad = |change: &dyn Fn(&mut Options)| {
        let mut options = options(DialectId::Raw);
        change(&mut options);
        Config::new(options).err()
    };
    assert_eq!(bad(&|_| {}), None);
    assert_eq!(bad(&|o| o.host = "a b".into()), Some(BadOption::Host));
    assert_eq!(bad(&|o| o.host = String::new()), Some(BadOption::Host));
    assert_eq!(bad(&|o| o.path = "x".into()), Some(BadOption::Path));
    assert_eq!(bad(&|o| o.path = "/a b".into()), Some(BadOption::Path));
    assert_eq!(bad(&|o| o.headers = vec![("A".into(), "b\r\nC: d".into())]), Some(BadOption::Header));
    assert_eq!(bad(&|o| o.headers = vec![("A b".into(), "c".into())]), Some(BadOption::Header));
    assert_eq!(bad(&|o| o.headers = vec![("upgrade".into(), "c".into())]), Some(BadOption::Header));
    assert_eq!(bad(&|o| o.origin = Some("a\nb".into())), Some(BadOption::Header));
    assert_eq!(bad(&|o| o.subprotocols = vec!["a,b".into()]), Some(BadOption::Subprotocol));
    let foreign = bad(&|o| o.of_dialect.settings = Settings::default().with("transport", "polling"));
    assert!(matches!(foreign, Some(BadOption::OfDialect { option: "transport", .. })), "{foreign:?}");
    let too_small = BadOption::PayloadSize { min: 28, max: 16 << 20 };
    assert_eq!(bad(&|o| o.payload.padding = Some(27)), Some(too_small));
    let too_small = BadOption::PayloadSize { min: 55, max: 16 << 20 };
    assert_eq!(bad(&|o| o.payload = Payload { padding: Some(54), text: true }), Some(too_small));
    assert!(matches!(bad(&|o| o.payload.padding = Some(u32::MAX)), Some(BadOption::PayloadSize { .. })));
}

#[test]
fn good_answers_in_other_words_are_accepted() {
    for (from, to) in [
        ("Upgrade: websocket", "upgrade: WebSocket"),
        ("Connection: Upgrade", "Connection: keep-alive, upgrade"),
        (" Switching Protocols", " "),
        (" Switching Protocols", " Web Socket Protocol Handshake\r\nServer: \u{fc}"),
        ("HTTP/1.1 101", "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 101"),
    ] {
        assert_eq!(answered(from, to), Ok(()), "{to}");
    }
}

#[test]
fn wrong_answers_fail_with_their_kind() {
    for (from, to, failure) in [
        ("101 Switching Protocols", "200 OK", Failure::Codec(Error::HttpStatus(200))),
        ("101 Switching Protocols", "301 Moved", Failure::Codec(Error::HttpStatus(301))),
        ("101 Switching Protocols", "401 Unauthorized", Failure::Codec(Error::HttpStatus(401))),
        ("101 Switching Protocols", "429 Too Many", Failure::Codec(Error::HttpStatus(429))),
        ("101 Switching Protocols", "503 Unavailable", Failure::Codec(Error::HttpStatus(503))),
        ("HTTP/1.1", "HTTP/1.0", Failure::Codec(Error::BadUpgrade)),
        ("HTTP/1.1", "HTTP/2", Failure::Codec(Error::NotHttp)),
        ("HTTP/1.1", "\0\0\u{6}\u{4}", Failure::Codec(Error::NotHttp)), // an HTTP/2 SETTINGS frame
        ("HTTP/1.1", "\u{15}\u{3}\u{3}", Failure::Codec(Error::NotHttp)), // a TLS alert
        ("HTTP/1.1", "garbage", Failure::Codec(Error::NotHttp)),
        (
            "HTTP/1.1 101 Switching Protocols\r\n",
            "HTTP/1.1 10\r\n",
            Failure::Codec(Error::BadHttp(HttpReason::StartLine)),
        ),
        ("Upgrade: websocket\r\n", "", Failure::Codec(Error::BadUpgrade)),
        ("Upgrade: websocket", "Upgrade: h2c", Failure::Codec(Error::BadUpgrade)),
        ("Connection: Upgrade", "Connection: close", Failure::Codec(Error::BadUpgrade)),
        ("Sec-WebSocket-Accept", "X-Accept", Failure::Codec(Error::BadAccept)),
        ("Accept: ", "Accept: x", Failure::Codec(Error::BadAccept)),
        ("Accept: ", "Accept: a\r\nSec-WebSocket-Accept: ", Failure::Codec(Error::BadAccept)),
        ("\r\n\r\n", "\r\nSec-WebSocket-Protocol: chat\r\n\r\n", Failure::Codec(Error::UnaskedProtocol)),
        (
            "\r\n\r\n",
            "\r\nSec-WebSocket-Extensions: permessage-deflate\r\n\r\n",
            Failure::Codec(Error::UnaskedExtension),
        ),
        ("\r\n\r\n", "\r\nA: b\nC: d\r\n\r\n", Failure::Codec(Error::BadHttp(HttpReason::LineEnd))),
        ("\r\n\r\n", "\r\n", Failure::Codec(Error::EofBeforeAnswer)),
    ] {
        assert_eq!(answered(from, to), Err(failure), "{to}");
    }
    let long = format!("\r\nA: {}\r\n\r\n", "a".repeat(8 << 20 >> 8));
    assert_eq!(answered("\r\n\r\n", &long), Err(Failure::Codec(Error::HeadTooLarge)));
    let many = format!("\r\n{}\r\n", "A: b\r\n".repeat(1000));
    assert_eq!(answered("\r\n\r\n", &many), Err(Failure::Codec(Error::HeadTooLarge)));
}

#[test]
fn eof_before_the_close_is_a_failure() {
    let cfg = config(DialectId::Json);
    let (mut client, mut io, answer) = opening(&cfg, "");
    assert_eq!(
        client.handle_eof(&cfg, 0, 0, &mut io, &mut |_| {}),
        Err(Failure::Codec(Error::EofBeforeAnswer))
    );
    client.handle_input(&cfg, 0, 0, &answer, &mut io, &mut |_| {}).unwrap();
    assert_eq!(client.handle_eof(&cfg, 0, 0, &mut io, &mut |_| {}), Err(Failure::Eof));
    client.close(&cfg, 0, 1000, &mut io);
    assert!(!client.is_usable());
    let close = std::mem::take(&mut io.out);
    assert_eq!((close[0], close[1], close.len()), (0x88, 0x82, 8));
    let mut events = vec![];
    client.handle_input(&cfg, 0, 0, b"\x88\x02\x03\xe8", &mut io, &mut |e| events.push(e)).unwrap();
    assert_eq!(events, [Event::Closed { code: 1000 }]);
    assert!(io.out.is_empty(), "a close is answered once");
    assert_eq!(client.handle_eof(&cfg, 0, 0, &mut io, &mut |_| {}), Ok(()));
    client.send(&cfg, 0, 0, Kind::Echo, stamp(1), &mut io);
    client.close(&cfg, 0, 1000, &mut io);
    assert!(io.out.is_empty());
}

#[test]
fn a_server_that_closes_is_answered() {
    for (payload, code) in [(&b"\x13\x87and a reason"[..], 4999), (b"", 1005), (b"\x03\xf3", 1011)] {
        let outcome = receive(&config(DialectId::Json), "", &plain(0x88, payload));
        assert_eq!(outcome.events, [Event::Closed { code }]);
        assert_eq!(outcome.reason, payload.get(2..).unwrap_or_default());
        assert_eq!(outcome.out.len(), 6 + payload.len().min(2));
        assert_eq!(outcome.out[0], 0x88);
    }
}

#[test]
fn hostile_frames_fail_with_their_reason() {
    use Reason::*;
    for (frames, reason) in [
        (masked(0x81, b"masked"), Masked),
        (plain(0x91, b"rsv"), ReservedBit),
        (plain(0xc1, b"rsv1, not negotiated"), ReservedBit),
        (plain(0x83, b""), ReservedOpcode),
        (plain(0x81, b"\xff"), BadUtf8),
        (b"\x81\x7e\x00\x01a".to_vec(), BadLength),
        (b"\x81\x7f\xff".to_vec(), BadLength),
        (plain(0x80, b""), StrayContinuation),
        (plain(0x88, b"\x03"), BadClose),
        (plain(0x88, b"\x03\xed"), BadClose),
    ] {
        let outcome = receive(&config(DialectId::Json), "", &frames);
        assert_eq!(outcome.result, Err(Failure::Codec(Error::Protocol(reason))));
        assert_eq!(outcome.out[0], 0x88, "a close frame says why");
    }
    let limits = Limits { message_bytes_max: 1 << 20, ..Limits::default() };
    let cfg = Config::new(Options { limits, ..options(DialectId::Json) }).unwrap();
    let outcome = receive(&cfg, "", b"\x82\x7f\0\0\0\0\x01\0\0\0");
    assert_eq!(outcome.result, Err(Failure::Codec(Error::MessageTooLarge)));
}

#[test]
fn pings_are_answered_masked() {
    let outcome = receive(&config(DialectId::Json), "", &plain(0x89, b"Hello"));
    assert_eq!(outcome.events, []);
    let [0x8a, 0x85, k0, k1, k2, k3, ..] = outcome.out[..] else { panic!("{:?}", outcome.out) };
    let expected = frame(0x8a, Some([k0, k1, k2, k3]), b"Hello");
    assert_eq!(outcome.out, expected);
}

/// A client's frames, unmasked.
fn sent(cfg: &Config, kind: Kind) -> Vec<u8> {
    message(cfg, kind, stamp(5))
}

#[test]
fn messages_are_as_documented() {
    let text = String::from_utf8(stamp(5).to_text().to_vec()).unwrap();
    let json = |padding: Option<u32>| {
        let payload = Payload { padding, text: false };
        Config::new(Options { payload, ..options(DialectId::Json) }).unwrap()
    };
    assert_eq!(
        String::from_utf8(sent(&json(None), Kind::Echo)).unwrap(),
        format!(r#"{{"type":"echo","payload":{{"sendTime":"1478000000123456789","id":"{text}"}}}}"#)
    );
    assert_eq!(
        String::from_utf8(sent(&json(Some(12)), Kind::Broadcast)).unwrap(),
        format!(
            r#"{{"type":"broadcast","payload":{{"sendTime":"1478000000123456789","id":"{text}","padding":"123456789012"}}}}"#
        )
    );
    let raw = |padding, text| {
        let payload = Payload { padding, text };
        Config::new(Options { payload, ..options(DialectId::Raw) }).unwrap()
    };
    assert_eq!(sent(&raw(None, false), Kind::Echo), [&stamp(5).to_binary()[..], b"12345"].concat());
    assert_eq!(sent(&raw(Some(58), true), Kind::Echo), format!("{text}123").as_bytes());
    let binary = sent(&config(DialectId::Binary), Kind::Broadcast);
    let head = [&b"b\0\0\0\x24"[..], &1_478_000_000_123_456_789u64.to_be_bytes()].concat();
    assert_eq!(binary, [&head[..], &stamp(5).to_binary()].concat());
    assert_eq!(sent(&json(Some(70_000)), Kind::Echo).len(), 38 + 19 + 8 + 55 + 13 + 70_000 + 3);
}

#[test]
fn messages_may_differ_in_size_and_content() {
    let raw = config(DialectId::Raw).with_sizes(&[40, 50, 60]).unwrap();
    let rows = [r#"{"a":"1"}"#.to_owned(), r#"{"a":"2"}"#.to_owned()];
    let json = config(DialectId::Json).with_rows(&rows).unwrap();
    let mut sizes: Vec<usize> = (0..3).map(|n| message(&raw, Kind::Echo, stamp(n)).len()).collect();
    sizes.sort_unstable();
    assert_eq!(sizes, [40, 50, 60], "each in turn");
    assert_ne!(message(&json, Kind::Echo, stamp(1)), message(&json, Kind::Echo, stamp(2)));
    for n in 0..4 {
        let message = String::from_utf8(message(&json, Kind::Echo, stamp(n))).unwrap();
        assert!(rows.iter().any(|row| message.ends_with(&format!(r#"","data":{row}}}}}"#))), "{message}");
    }
    for (cfg, opcode) in [(&raw, 0x82), (&json, 0x81)] {
        for n in 0..4 {
            let sent = message(cfg, Kind::Echo, stamp(n));
            let [Event::Message { role: Role::Echo, stamp: back, .. }] =
                receive(cfg, "", &plain(opcode, &sent)).events[..]
            else {
                panic!("message {n} is not known again")
            };
            assert_eq!(back, stamp(n));
        }
    }
    let other = [&message(&raw, Kind::Echo, stamp(0))[..], b"1"].concat();
    assert!(
        matches!(receive(&raw, "", &plain(0x82, &other)).events[..], [Event::Corrupt { .. }]),
        "a size not its own"
    );
    let refused = config(DialectId::Phoenix).with_sizes(&[40, 50]).unwrap_err();
    assert!(matches!(refused, BadOption::OfDialect { option: "payload-padding", .. }));
}

/// A client's output for these messages, and how it is sent.
fn said(cfg: &Config, send: impl Fn(&mut Client, &mut Fake)) -> (Client, Fake, Vec<Vec<u8>>) {
    let (mut client, mut io, answer) = opening(cfg, "");
    client.handle_input(cfg, 0, 0, &answer, &mut io, &mut |_| {}).unwrap();
    send(&mut client, &mut io);
    let mut frames = std::mem::take(&mut io.out);
    let mut payloads = Vec::new();
    while !frames.is_empty() {
        let (bytes, body) = match frames[1] & 0x7f {
            126 => (u16::from_be_bytes([frames[2], frames[3]]).into(), 8),
            short => (usize::from(short), 6),
        };
        let key = Key::new(*frames[body - 4..].first_chunk().unwrap());
        mask::apply(&mut frames[body..body + bytes], key, 0);
        payloads.push([&frames[..1], &frames[body..body + bytes]].concat());
        frames.drain(..body + bytes);
    }
    (client, io, payloads)
}

#[test]
fn series_equal_single_messages() {
    const UNIX_NS: u64 = 1_478_000_000_123_456_789;
    let text = |text, padding| Payload { text, padding };
    for (dialect, payload) in [
        (DialectId::Raw, text(false, None)),
        (DialectId::Raw, text(true, Some(300))),
        (DialectId::Json, text(false, Some(3))),
        (DialectId::Binary, text(false, None)),
    ] {
        let cfg = Config::new(Options { payload, ..options(dialect) }).unwrap();
        for unix_ns in [UNIX_NS, 0] {
            let (client, _, together) =
                said(&cfg, |client, io| client.send_series(&cfg, 0, unix_ns, stamp(7), 5, io));
            assert_eq!(
                client.series_bytes(&cfg, Kind::Echo).is_some(),
                client.series_bytes(&cfg, Kind::Broadcast).is_none()
            );
            let (_, _, one_by_one) = said(&cfg, |client, io| {
                for n in 0..5 {
                    client.send(&cfg, 0, unix_ns, Kind::Echo, stamp(7).after(n), io);
                }
            });
            assert_eq!(together, one_by_one, "{dialect:?}");
        }
    }
}

#[test]
fn answers_in_one_segment_are_told_singly() {
    for (dialect, is_text) in [(DialectId::Raw, false), (DialectId::Raw, true), (DialectId::Json, false)] {
        let payload = Payload { text: is_text, padding: None };
        let cfg = Config::new(Options { payload, ..options(dialect) }).unwrap();
        let echo = |n: u32| {
            let (_, _, payloads) = said(&cfg, |client, io| {
                client.send(&cfg, 0, 1_478_000_000_123_456_789, Kind::Echo, stamp(7).after(n), io);
            });
            plain(payloads[0][0], &payloads[0][1..])
        };
        let bytes = echo(0).len() as u32 - 2;
        let heard = |frames: &[Vec<u8>]| receive(&cfg, "", &frames.concat()).events;
        let message = |n| Event::Message { role: Role::Echo, stamp: stamp(7).after(n), bytes };
        assert_eq!(heard(&[echo(0), echo(1), echo(2), echo(3)]), [0, 1, 2, 3].map(message), "{dialect:?}");
        assert_eq!(heard(&[echo(0), echo(1), echo(1), echo(0)]), [0, 1, 1, 0].map(message), "twice");
        assert_eq!(heard(&[echo(3), echo(1), echo(2)]), [3, 1, 2].map(message), "in another order");
        let ping = plain(0x89, b"");
        assert_eq!(heard(&[echo(0), echo(1), ping, echo(2)]), [0, 1, 2].map(message), "with a ping between");
        let mut damaged = echo(2);
        *damaged.last_mut().unwrap() ^= 1;
        assert!(!heard(&[echo(0), echo(1), damaged, echo(3)]).contains(&message(2)));
        let apart = heard(&[echo(0), plain(0x88, b"\x03\xe8"), echo(1)]);
        assert_eq!(apart, [message(0), Event::Closed { code: 1000 }], "behind the close");

        let (mut client, mut io, answer) = opening(&cfg, "");
        client.handle_input(&cfg, 0, 0, &answer, &mut io, &mut |_| {}).unwrap();
        let mut events = Vec::new();
        let all = [echo(0), echo(1), echo(2)].concat();
        client.handle_input(&cfg, 0, 0, &all, &mut io, &mut |event| events.push(event)).unwrap();
        let series = Event::Series { role: Role::Echo, first: stamp(7).after(1), messages: 2, bytes };
        assert_eq!(events, [message(0), series]);
    }
}

#[test]
fn answers_are_told_apart_after_rewriting() {
    let cfg = |padding| {
        let payload = Payload { padding, text: false };
        Config::new(Options { payload, ..options(DialectId::Json) }).unwrap()
    };
    let id = String::from_utf8(stamp(9).to_text().to_vec()).unwrap();
    for (message, role) in [
        (
            format!(r#"{{"type":"echo","payload":{{"sendTime":"1","id":"{id}","padding":"1234"}}}}"#),
            Role::Echo,
        ),
        (
            format!(
                r#"{{"type":"broadcastResult","payload":{{"sendTime":"1","id":"{id}","padding":"1234"}},"listenerCount":2}}"#
            ),
            Role::Ack,
        ),
        (
            format!(r#"{{"payload":{{"id":"{id}","padding":"1234","sendTime":"1"}},"type":"broadcast"}}"#),
            Role::Copy,
        ),
        (
            format!(
                r#"{{"listenCount": 3, "payload": {{"padding": "1234", "id": "{id}", "sendTime": 1}}, "type": "broadcastResult"}}"#
            ),
            Role::Ack,
        ),
    ] {
        let bytes = message.len() as u32;
        let frames = plain(0x81, message.as_bytes());
        let outcome = receive(&cfg(Some(4)), "", &frames);
        assert_eq!(outcome.events, [Event::Message { role, stamp: stamp(9), bytes }], "{message}");
        // Damage anywhere in the stamp or the padding is noticed.
        let at = message.find(&id).unwrap();
        let in_padding = message.find("1234\"").unwrap() + 2;
        for place in [at, at + 7, at + 54, in_padding] {
            let mut damaged = frames.clone();
            damaged[frames.len() - message.len() + place] ^= 1;
            let outcome = receive(&cfg(Some(4)), "", &damaged);
            let stamp = (place == in_padding).then(|| stamp(9));
            assert_eq!(outcome.events, [Event::Corrupt { stamp, bytes }], "{message} at {place}");
        }
        // A byte that is not there is, too, but for blanks and the name of what the server adds.
        let added = message.find("\"listen").map_or(0..0, |at| at + 1..at + 14);
        for place in (0..message.len()).filter(|&at| message.as_bytes()[at] != b' ' && !added.contains(&at)) {
            let cut = [&message.as_bytes()[..place], &message.as_bytes()[place + 1..]].concat();
            let outcome = receive(&cfg(Some(4)), "", &plain(0x81, &cut));
            assert!(!matches!(outcome.events[..], [Event::Message { .. }]), "{message} without {place}");
        }
        // So is padding cut short.
        let outcome = receive(&cfg(Some(5)), "", &frames);
        let stamp = Some(stamp(9));
        assert_eq!(outcome.events, [Event::Corrupt { stamp, bytes }], "{message}");
    }
    for foreign in [&b"{}"[..], b"", b"hello", br#"{"type":"welcome"}"#] {
        let outcome = receive(&cfg(None), "", &plain(0x81, foreign));
        assert_eq!(outcome.events, [Event::Foreign { bytes: foreign.len() as u32 }]);
    }
}

#[test]
fn damage_to_binary_messages_is_noticed() {
    let shown_ns = 1_478_000_000_123_456_789;
    for (dialect, knows_clock) in
        [(DialectId::Raw, false), (DialectId::Binary, false), (DialectId::Binary, true)]
    {
        let mut cfg = config(dialect);
        if knows_clock {
            cfg = cfg.with_wall_clock(shown_ns - stamp(5).sent_ns());
        }
        let good = sent(&cfg, Kind::Echo);
        let bytes = good.len() as u32;
        let outcome = receive(&cfg, "", &plain(0x82, &good));
        assert_eq!(outcome.events, [Event::Message { role: Role::Echo, stamp: stamp(5), bytes }]);
        for at in 0..good.len() {
            let mut damaged = good.clone();
            damaged[at] ^= 0x10;
            let outcome = receive(&cfg, "", &plain(0x82, &damaged));
            // An unknown wall clock is opaque: five bytes of head, eight of time.
            let opaque = dialect == DialectId::Binary && !knows_clock && (5..13).contains(&at);
            let corrupt = matches!(outcome.events[..], [Event::Corrupt { bytes: of, .. }] if of == bytes);
            assert_eq!(corrupt, !opaque, "{dialect:?} at {at}: {:?}", outcome.events);
        }
        let outcome = receive(&cfg, "", &plain(0x82, &good[..good.len() - 1]));
        assert_eq!(outcome.events.len(), 1);
        assert!(!matches!(outcome.events[0], Event::Message { .. }));
    }
}

#[test]
fn an_idle_client_is_small() {
    // 64 bytes, and the number of the client for dialects that tell clients apart; an idle client may take
    // 512 in all.
    assert!(size_of::<Client>() <= 72, "{}", size_of::<Client>());
    assert!(size_of::<wire::Server>() <= 64, "{}", size_of::<wire::Server>());
    assert!(size_of::<Event>() <= 40, "{}", size_of::<Event>());
}

#[test]
fn configurations_do_not_show_credentials() {
    const MARK: &str = "correct-horse";
    let shown = |dialect, change: &dyn Fn(&mut Options)| {
        let mut options = options(dialect);
        change(&mut options);
        format!("{:?}", Config::new(options).unwrap())
    };
    let bytes = format!("{:?}", MARK.as_bytes());
    let bytes = bytes.trim_matches(['[', ']']);
    let secretly = |name| Settings::default().with(name, Secret::from(format!(r#"{{"t":"{MARK}"}}"#)));
    for shown in [
        shown(DialectId::Socketio, &|o| o.of_dialect.settings = secretly("auth")),
        shown(DialectId::Phoenix, &|o| o.of_dialect.settings = secretly("join-params")),
        shown(DialectId::Actioncable, &|o| o.of_dialect.token = Some(MARK.into())),
        shown(DialectId::Http, &|o| o.headers.push(("Authorization".into(), MARK.into()))),
    ] {
        assert!(!shown.contains(MARK) && !shown.contains(bytes), "{shown}");
    }
}
