//! A WebSocket that is a stream of HTTP/2: how it is asked for, what comes through, and what ends it.

use app::Kind;
use codec::{Error, ErrorCode, Http2Reason};
use wire::{BadOption, Carrier, Client, Config, DialectId, Event, Failure, Options, Role, Settings};

use crate::common::http2::*;
use crate::common::{Fake, options, stamp};

/// SETTINGS_ENABLE_CONNECT_PROTOCOL (RFC 8441 §3), and the window of a stream.
const TUNNELS: u16 = 8;
const WINDOW: u16 = 4;

/// One client, and the world it acts on.
struct World {
    cfg: Config,
    client: Client,
    io: Fake,
    events: Vec<Event>,
}

fn over_http2(change: impl FnOnce(&mut Options)) -> Options {
    let mut all = options(DialectId::Raw);
    (all.carrier, all.is_secure) = (Carrier::Http2, true);
    all.path = "/a?b=c".into();
    change(&mut all);
    all
}

impl World {
    /// A client whose connection stands, and is not greeted yet.
    fn connected(options: Options) -> World {
        let cfg = Config::new(options).unwrap();
        let (mut client, mut io) = (Client::new(), Fake::default());
        client.handle_open(&cfg, 0, 0, &mut io);
        World { cfg, client, io, events: Vec::new() }
    }

    /// A connected world that the server has greeted with these settings and the one that allows a tunnel.
    fn asking(all: &[(u16, u32)]) -> World {
        World::asking_with(over_http2(|_| {}), all)
    }

    fn asking_with(options: Options, all: &[(u16, u32)]) -> World {
        let mut world = World::connected(options);
        world.receive(&settings(&[&[(TUNNELS, 1)], all].concat())).unwrap();
        assert!(!world.client.is_open() && world.events.is_empty());
        world
    }

    /// A world whose tunnel the server has granted.
    fn open(all: &[(u16, u32)]) -> World {
        World::over(over_http2(|_| {}), all)
    }

    fn over(options: Options, all: &[(u16, u32)]) -> World {
        let mut world = World::asking_with(options, all);
        world.receive(&frame(HEADERS, END_HEADERS, 1, OK)).unwrap();
        assert_eq!(std::mem::take(&mut world.events), [Event::Upgraded, Event::Usable]);
        assert!(world.client.is_open() && world.client.is_usable());
        world
    }

    fn receive(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.io.out.clear();
        self.client
            .handle_input(&self.cfg, 0, 0, bytes, &mut self.io, &mut |event| self.events.extend(event.each()))
    }

    /// Sends a message, and returns what goes out.
    fn send(&mut self, number: u32) -> Vec<Seen> {
        self.io.out.clear();
        self.client.send(&self.cfg, 0, 0, Kind::Echo, stamp(number), &mut self.io);
        frames(&self.io.out)
    }
}

/// The frame with which a server echoes a client's: with the same payload, unmasked.
fn echo_of(sent: &[u8]) -> Vec<u8> {
    let [first, length, k0, k1, k2, k3, masked @ ..] = sent else { panic!("{sent:?}") };
    let key = [k0, k1, k2, k3];
    let plain = masked.iter().zip((0..4).cycle()).map(|(byte, at)| byte ^ key[at]);
    [*first, length & 0x7f].into_iter().chain(plain).collect()
}

/// The fields of a block of short literals, with an index in the place of a name of the static table.
pub(crate) fn fields(mut block: &[u8]) -> Vec<String> {
    fn text<'a>(block: &mut &'a [u8]) -> &'a str {
        let (text, rest) = block[1..].split_at(usize::from(block[0]));
        *block = rest;
        std::str::from_utf8(text).unwrap()
    }
    let mut all = Vec::new();
    while let [first, rest @ ..] = block {
        block = rest;
        let pattern = if first & 0x10 == 0 { "" } else { " (never to be kept)" };
        match first {
            0x20 => all.push("emptied".to_owned()),
            0x80.. => all.push(format!("#{}", first & 0x7f)),
            _ => {
                // Four bits, and what is above them (RFC 7541 §5.1).
                let above = if first & 0x0f == 0x0f { block[0] } else { 0 };
                block = &block[usize::from(first & 0x0f == 0x0f)..];
                let index = (first & 0x0f) + above;
                let name = if index == 0 { text(&mut block).to_owned() } else { format!("#{index}") };
                all.push(format!("{name}={}{pattern}", text(&mut block)));
            }
        }
    }
    all
}

#[test]
fn requests_wait_for_the_servers_settings() {
    let mut world = World::connected(over_http2(|_| {}));
    let rest = world.io.out.strip_prefix(PREFACE).unwrap();
    let kinds: Vec<_> = frames(rest).iter().map(|frame| (frame.0, frame.2)).collect();
    assert_eq!(kinds, [(SETTINGS, 0), (WINDOW_UPDATE, 0)]);
    assert_eq!(world.receive(&settings(&[])), Err(Failure::NoTunnel));
    for (value, failure) in [(0, Failure::NoTunnel), (2, bad(Http2Reason::Setting))] {
        let mut world = World::connected(over_http2(|_| {}));
        assert_eq!(world.receive(&settings(&[(TUNNELS, value)])), Err(failure));
    }
}

#[test]
fn no_streams_no_connect() {
    const STREAMS: u16 = 3;
    let mut world = World::connected(over_http2(|_| {}));
    let heads = |world: &World| frames(&world.io.out).iter().filter(|frame| frame.0 == HEADERS).count();
    world.receive(&settings(&[(TUNNELS, 1), (STREAMS, 0)])).unwrap();
    assert_eq!((heads(&world), world.client.withheld()), (0, Some(Failure::NoStreams)));
    world.receive(&settings(&[(STREAMS, 1)])).unwrap();
    assert_eq!((heads(&world), world.client.withheld()), (1, None));
    let mut world = World::open(&[(WINDOW, 0)]);
    assert_eq!((world.send(0), world.client.withheld()), (vec![], Some(Failure::NoWindow)));
}

#[test]
fn an_upgrade_is_asked_for_as_a_connect() {
    let mut world = World::connected(over_http2(|all| {
        all.subprotocols = vec!["a".into(), "b".into()];
        all.headers = vec![("X-Own".into(), "one".into()), ("X-Token".into(), "it".into())];
        all.deflate = Some(codec::DeflateOptions::default());
    }));
    world.receive(&settings(&[(TUNNELS, 1)])).unwrap();
    let out = frames(&world.io.out);
    let [acknowledgement, (HEADERS, END_HEADERS, 1, block)] = &out[..] else { panic!("{out:?}") };
    assert_eq!((acknowledgement.0, acknowledgement.1), (SETTINGS, ACK));
    assert_eq!(
        fields(block),
        [
            "emptied",
            "#2=CONNECT",
            ":protocol=websocket",
            "#7", // :scheme https
            "#1=127.0.0.1:9000",
            "#4=/a?b=c",
            "sec-websocket-version=13",
            "sec-websocket-protocol=a, b",
            "sec-websocket-extensions=permessage-deflate; client_max_window_bits",
            "x-own=one",
            "x-token=it (never to be kept)",
        ]
    );
    // The same word, chosen by the server, is judged as over HTTP/1.1.
    let chosen = |name: &str| [&b"\x88\0\x16sec-websocket-protocol\x01"[..], name.as_bytes()].concat();
    let mut agreed = World::connected(over_http2(|all| all.subprotocols = vec!["a".into()]));
    agreed.receive(&settings(&[(TUNNELS, 1)])).unwrap();
    agreed.receive(&frame(HEADERS, END_HEADERS, 1, &chosen("a"))).unwrap();
    assert!(agreed.client.is_usable());
    let mut unasked = World::asking(&[]);
    let answer = frame(HEADERS, END_HEADERS, 1, &chosen("z"));
    assert_eq!(unasked.receive(&answer), Err(Failure::Codec(Error::UnaskedProtocol)));
}

#[test]
fn messages_come_through_in_any_portions() {
    for step in [1, 2, 9, 10, 11, usize::MAX] {
        let mut world = World::open(&[]);
        let mut answers = Vec::new();
        for number in 0..3 {
            let sent = world.send(number);
            let [(DATA, 0, 1, message)] = &sent[..] else { panic!("{sent:?}") };
            answers.extend(echo_of(message));
        }
        // The boundaries of data are not the boundaries of messages.
        let data: Vec<u8> = answers.chunks(7).flat_map(|part| frame(DATA, 0, 1, part)).collect();
        for portion in data.chunks(step) {
            world.receive(portion).unwrap();
        }
        let numbers: Vec<u32> = world
            .events
            .iter()
            .map(|event| match event {
                Event::Message { role: Role::Echo, stamp, .. } => stamp.seq,
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(numbers, [0, 1, 2], "{step}");
    }
}

#[test]
fn tunnels_respect_flow_control() {
    let mut world = World::open(&[(WINDOW, 10)]);
    let sent = world.send(0);
    assert_eq!(sent.iter().map(|frame| frame.3.len()).collect::<Vec<_>>(), [10]);
    assert_eq!(world.send(1), [], "there is no room at all");
    world.receive(&frame(WINDOW_UPDATE, 0, 1, &code(5))).unwrap();
    assert_eq!(frames(&world.io.out).iter().map(|frame| frame.3.len()).collect::<Vec<_>>(), [5]);
    world.receive(&settings(&[(WINDOW, 1000)])).unwrap();
    let rest: usize = frames(&world.io.out).iter().filter(|f| f.0 == DATA).map(|f| f.3.len()).sum();
    let whole = World::open(&[]).send(0)[0].3.len();
    assert_eq!(10 + 5 + rest, 2 * whole);
    // A peer that gives no more credit, and is sent ever more, does not read.
    let mut world = World::open(&[(WINDOW, 0)]);
    let sent = (0..40_000).find(|&number| {
        world.send(number);
        world.client.is_overfull()
    });
    assert!(sent.is_some_and(|sent| sent as usize * whole > 1 << 20), "{sent:?}");
    // A message of any size may wait, and one behind it.
    let mut world = World::over(over_http2(|all| all.payload.padding = Some(3 << 20)), &[(WINDOW, 0)]);
    assert_eq!([0, 1].map(|number| (world.send(number), world.client.is_overfull()).1), [false, false]);
    world.receive(&frame(DATA, 0, 1, b"\x89\0")).unwrap(); // a ping is answered, and the answer waits, too
    assert!(world.client.is_overfull());
    let mut world = World::over(over_http2(|all| all.payload.padding = Some(3 << 20)), &[(WINDOW, 0)]);
    assert_eq!([0, 1].map(|number| (world.send(number), world.client.is_overfull()).1), [false, false]);
    world.receive(&frame(DATA, 0, 1, b"\x8a\0")).unwrap();
    assert!(!world.client.is_overfull(), "nothing was added");
    world.send(2);
    assert!(world.client.is_overfull());
}

#[test]
fn occasional_pings_are_no_flood() {
    let mut world = World::open(&[]);
    let ping = frame(PING, 0, 0, &[0; 8]);
    for second in 0..3_000 {
        let (client, io) = (&mut world.client, &mut world.io);
        client.handle_input(&world.cfg, second * 1_100_000_000, 0, &ping, io, &mut |_| {}).unwrap();
    }
    assert_eq!(world.receive(&ping.repeat(2_000)), Err(bad(Http2Reason::Flood)));
}

#[test]
fn a_goodbye_ends_the_connection() {
    let mut world = World::open(&[]);
    world.io.out.clear();
    world.client.close(&world.cfg, 0, 1000, &mut world.io);
    let sent = frames(&world.io.out);
    let [(DATA, 0, 1, message)] = &sent[..] else { panic!("{sent:?}") };
    assert!(!world.client.is_closed());
    world.receive(&frame(DATA, END_STREAM, 1, &echo_of(message))).unwrap();
    assert_eq!(world.events, [Event::Closed { code: 1000 }]);
    assert!(world.client.is_closed() && world.io.closed);
    assert_eq!(frames(&world.io.out), [(DATA, END_STREAM, 1, vec![])]);
    world.receive(&frame(RST_STREAM, 0, 1, &code(0))).unwrap();
}

#[test]
fn other_ends_are_told_by_kind() {
    let data = |payload: &[u8]| frame(DATA, 0, 1, payload);
    let head = |block: &[u8]| frame(HEADERS, END_HEADERS, 1, block);
    for (before, bytes, failure) in [
        // #13 is :status 404; 0x48 with a value of its own is :status, too.
        ("asking", head(b"\x8d"), Failure::Codec(Error::HttpStatus(404))),
        ("asking", head(b"\x08\x03403"), Failure::Codec(Error::HttpStatus(403))),
        ("asking", head(b"\x08\x03101"), bad(Http2Reason::Field)),
        ("asking", head(b"\x88\x00\x01X\x01y"), bad(Http2Reason::Field)),
        ("asking", data(b"x"), bad(Http2Reason::Frame)),
        ("asking", frame(RST_STREAM, 0, 1, &code(7)), Failure::Reset(ErrorCode::RefusedStream)),
        ("asking", goaway(0, 0), Failure::GoAway(ErrorCode::NoError)),
        ("asking", frame(HEADERS, WHOLE, 1, OK), Failure::Eof),
        ("open", goaway(1, 11), Failure::GoAway(ErrorCode::EnhanceYourCalm)),
        ("open", frame(RST_STREAM, 0, 1, &code(8)), Failure::Reset(ErrorCode::Cancel)),
        ("open", frame(DATA, END_STREAM, 1, b""), Failure::Eof),
        ("open", frame(DATA, 0, 3, b"x"), bad(Http2Reason::Frame)),
        ("open", frame(WINDOW_UPDATE, 0, 3, &code(1)), bad(Http2Reason::Frame)),
        ("open", frame(WINDOW_UPDATE, 0, 1, &code((1 << 31) - 1)), bad(Http2Reason::FlowControl)),
        ("open", head(OK), bad(Http2Reason::Field)),
        ("open", data(b"\x81\x80abcd"), Failure::Codec(Error::Protocol(codec::Reason::Masked))),
    ] {
        let mut world = if before == "open" { World::open(&[]) } else { World::asking(&[]) };
        assert_eq!(world.receive(&bytes), Err(failure), "{before}: {}", bytes.escape_ascii());
        assert!(!world.client.is_usable());
        assert_eq!(world.receive(&bytes), Ok(()), "what comes then is discarded");
    }
    let mut world = World::asking(&[]);
    world.receive(&head(b"\x08\x03103")).unwrap();
    world.receive(&head(OK)).unwrap();
    assert!(world.client.is_usable(), "an interim answer is not the last");
    world.receive(&goaway(1, 0)).unwrap();
    assert!(world.client.is_usable(), "who leaves serves what has begun");
}

#[test]
fn options_invalid_over_a_stream_are_refused() {
    let refused = |change: fn(&mut Options)| Config::new(over_http2(change)).err();
    assert_eq!(refused(|_| {}), None);
    assert_eq!(refused(|all| all.headers = vec![("TE".into(), "gzip".into())]), Some(BadOption::Header));
    assert_eq!(refused(|all| all.headers = vec![("Keep-Alive".into(), "1".into())]), Some(BadOption::Header));
    let polling = refused(|all| {
        *all = Options { carrier: all.carrier, ..options(DialectId::Socketio) };
        all.of_dialect.settings = Settings::default().with("transport", "polling");
    });
    assert!(matches!(polling, Some(BadOption::OfDialect { option: "http2", .. })), "{polling:?}");
}
