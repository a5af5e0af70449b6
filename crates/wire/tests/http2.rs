//! Requests over HTTP/2: which answer belongs to which, what may be under way, and what becomes of streams
//! and connections that fail.

use app::Kind;
use codec::{Error, ErrorCode, Stamp, StreamId};
use wire::{
    BadOption, Client, Config, DialectId, Event, Failure, HttpOptions, Io, RequestOutcome, Role, Sending,
    WrongResponse,
};

use crate::common::http2::*;
use crate::common::{options, stamp};

/// A session's only connection.
#[derive(Default)]
pub(crate) struct Streams {
    pub(crate) out: Vec<u8>,
    pub(crate) opened: u32,
    pub(crate) closed: u32,
    pub(crate) request_outcomes: Vec<(u32, RequestOutcome)>,
}

impl codec::Io for Streams {
    fn out(&mut self, _: StreamId) -> &mut Vec<u8> {
        &mut self.out
    }

    fn random_u64(&mut self) -> u64 {
        0
    }

    fn open_stream(&mut self, _: StreamId) {
        self.opened += 1;
    }

    fn close_stream(&mut self, _: StreamId) {
        self.closed += 1;
    }
}

impl Io for Streams {
    fn handle_request_outcome(&mut self, stamp: Stamp, outcome: RequestOutcome) {
        self.request_outcomes.push((stamp.seq, outcome));
    }
}

/// One client, and the world it acts on.
pub(crate) struct World {
    cfg: Config,
    pub(crate) client: Client,
    pub(crate) io: Streams,
    pub(crate) events: Vec<Event>,
}

impl World {
    /// A client whose connection stands, and is not greeted yet.
    fn connected(http: HttpOptions) -> World {
        let mut all = options(DialectId::Http2);
        all.path = "/a?b=c".into();
        all.of_dialect.settings = http.into();
        let mut world = World {
            cfg: Config::new(all).unwrap(),
            client: Client::new(),
            io: Streams::default(),
            events: Vec::new(),
        };
        world.open();
        world
    }

    /// A connected world that the server has greeted with these settings.
    pub(crate) fn new(http: HttpOptions, all: &[(u16, u32)]) -> World {
        let mut world = World::connected(http);
        assert!(!world.client.is_usable());
        world.receive(&settings(all)).unwrap();
        assert_eq!(std::mem::take(&mut world.events), [Event::Usable]);
        world
    }

    /// A world with `requests` requests under way.
    pub(crate) fn asking(requests: u32) -> World {
        let mut world = World::new(streams(requests), &[]);
        world.send(0..requests);
        world
    }

    fn open(&mut self) {
        self.client.handle_open(&self.cfg, 0, 0, &mut self.io);
    }

    /// Sends the requests of these numbers, and returns how many went out at once.
    pub(crate) fn send(&mut self, numbers: impl IntoIterator<Item = u32>) -> usize {
        self.io.out.clear();
        let mut send = |number| self.client.send(&self.cfg, 0, 0, Kind::Echo, stamp(number), &mut self.io);
        numbers.into_iter().filter(|&number| send(number) == Sending::Out).count()
    }

    pub(crate) fn receive(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.io.out.clear();
        let on = &mut |event| self.events.push(event);
        self.client.handle_input(&self.cfg, 0, 0, bytes, &mut self.io, on)
    }

    pub(crate) fn eof(&mut self) -> Result<(), Failure> {
        let on = &mut |event| self.events.push(event);
        self.client.handle_eof(&self.cfg, 0, 0, &mut self.io, on)
    }

    /// The numbers answered, in order, and all other events.
    pub(crate) fn answered(&mut self) -> (Vec<u32>, Vec<Event>) {
        let (mut numbers, mut others) = (Vec::new(), Vec::new());
        for event in self.events.drain(..) {
            match event {
                Event::Message { role: Role::Answer { .. }, stamp, .. } => numbers.push(stamp.seq),
                other => others.push(other),
            }
        }
        (numbers, others)
    }

    /// The streams of the heads that went out since the output was last emptied.
    pub(crate) fn asked(&self) -> Vec<u32> {
        frames(&self.io.out).iter().filter(|frame| frame.0 == HEADERS).map(|frame| frame.2).collect()
    }

    /// Greets the connection that takes the place of one.
    pub(crate) fn greet_again(&mut self) {
        assert_eq!(std::mem::take(&mut self.io.opened), 1, "another connection");
        self.open();
        self.receive(&settings(&[])).unwrap();
    }
}

fn streams(most: u32) -> HttpOptions {
    HttpOptions { pipelining: most, ..HttpOptions::default() }
}

fn post(body: usize) -> HttpOptions {
    HttpOptions { method: "POST".into(), body: Some(vec![7; body]), ..streams(4) }
}

#[test]
fn a_connection_begins_with_the_preface_and_settings() {
    let world = World::connected(streams(1));
    let rest = world.io.out.strip_prefix(PREFACE).unwrap();
    let kinds: Vec<_> = frames(rest).iter().map(|frame| (frame.0, frame.2)).collect();
    assert_eq!(kinds, [(SETTINGS, 0), (WINDOW_UPDATE, 0)]);
}

#[test]
fn a_request_is_what_was_asked_for() {
    let mut world = World::new(post(3), &[]);
    assert_eq!(world.send([0, 1]), 2);
    // Static indices, the host once in full and once as an entry; path and length in full each time.
    let first = b"\x83\x86\x41\x0e127.0.0.1:9000\x04\x06/a?b=c\x0f\x0d\x013";
    let second = b"\x83\x86\xbe\x04\x06/a?b=c\x0f\x0d\x013";
    let body = vec![7; 3];
    let expected = [
        (HEADERS, END_HEADERS, 1, first.to_vec()),
        (DATA, END_STREAM, 1, body.clone()),
        (HEADERS, END_HEADERS, 3, second.to_vec()),
        (DATA, END_STREAM, 3, body),
    ];
    assert_eq!(frames(&world.io.out), expected);
}

#[test]
fn answers_come_in_any_order() {
    let mut world = World::asking(4);
    for stream in [5, 1, 7, 3] {
        world.receive(&frame(HEADERS, WHOLE, stream, OK)).unwrap();
    }
    assert_eq!(world.answered(), (vec![2, 0, 3, 1], vec![]));
}

#[test]
fn streams_are_bounded_by_server_and_user() {
    for (asked, allowed, most) in [(3, 100, 3), (100, 2, 2), (1, 1, 1)] {
        let mut world = World::new(streams(asked), &[(3, allowed)]);
        assert_eq!(world.send(0..10), most, "{asked} asked for, {allowed} allowed");
        world.receive(&frame(HEADERS, WHOLE, 1, OK)).unwrap();
        assert_eq!(world.asked(), [2 * most as u32 + 1], "one for one");
        let sent: Vec<u32> = world.io.request_outcomes.iter().map(|(number, _)| *number).collect();
        assert_eq!(sent, [most as u32]);
    }
}

#[test]
fn servers_without_a_preface_are_refused() {
    for kind in [PING, HEADERS, DATA] {
        let mut world = World::connected(streams(2));
        assert_eq!(world.receive(&frame(kind, 0, 0, &[0; 8])), Err(Failure::Codec(Error::NotHttp2)));
    }
    let mut world = World::connected(streams(2));
    assert_eq!(world.receive(b"HTTP/1.1 400 Bad Request\r\n\r\n"), Err(Failure::Codec(Error::NotHttp2)));
    let mut world = World::connected(streams(2));
    assert_eq!(world.eof(), Err(Failure::Codec(Error::EofBeforeAnswer)));
}

#[test]
fn wrong_answers_are_answers() {
    let http = HttpOptions { expect_body: Some(b"all".to_vec()), ..streams(8) };
    let mut world = World::new(http, &[]);
    world.send(0..4);
    let mut answer = |stream, head: &[u8], body: &[u8]| {
        let bytes =
            [frame(HEADERS, END_HEADERS, stream, head), frame(DATA, END_STREAM, stream, body)].concat();
        world.receive(&bytes).unwrap();
        world.answered().1
    };
    assert_eq!(answer(1, OK, b"all"), []);
    assert_eq!(answer(3, OK, b"alt"), [Event::WrongResponse(WrongResponse::Body)]);
    assert_eq!(answer(5, b"\x8d", b"all"), [Event::WrongResponse(WrongResponse::Status(404))]);
    assert_eq!(answer(7, OK, b""), [Event::WrongResponse(WrongResponse::Body)]);
}

#[test]
fn interim_answers_and_trailers_are_no_answers() {
    let mut world = World::asking(1);
    let bytes = [
        frame(HEADERS, END_HEADERS, 1, b"\x08\x03103"),
        frame(HEADERS, PADDED, 1, b"\x02\x88\0\0"),
        frame(CONTINUATION, END_HEADERS, 1, b"\x0f\x0d\x013"),
        frame(DATA, PADDED, 1, b"\x04ab\0\0\0\0"),
        frame(DATA, 0, 1, b"c"),
        frame(HEADERS, WHOLE, 1, b"\x00\x01t\x01x"),
    ];
    for (number, bytes) in bytes.iter().enumerate() {
        assert_eq!(world.answered(), (vec![], vec![]), "before frame {number}");
        world.receive(bytes).unwrap();
    }
    assert_eq!(world.answered(), (vec![0], vec![]));
}

#[test]
fn head_requests_have_no_body() {
    let mut world = World::new(HttpOptions { method: "HEAD".into(), ..streams(1) }, &[]);
    world.send([0]);
    world.receive(&frame(HEADERS, WHOLE, 1, b"\x88\x0f\x0d\x019")).unwrap();
    assert_eq!(world.answered(), (vec![0], vec![]));
}

#[test]
fn unprocessed_requests_are_sent_again_after_goaway() {
    let mut world = World::new(post(1), &[]);
    world.send(0..4);
    world.receive(&goaway(3, 0)).unwrap();
    assert_eq!(world.send([4]), 0, "no other request on this connection");
    assert_eq!(world.io.closed, 0, "two answers are owed");
    world.receive(&frame(HEADERS, WHOLE, 3, OK)).unwrap();
    world.receive(&frame(HEADERS, WHOLE, 1, OK)).unwrap();
    assert_eq!((world.answered().0, world.io.closed), (vec![1, 0], 1));
    world.greet_again();
    assert_eq!(world.asked(), [1, 3, 5]);
    assert!(
        matches!(world.io.request_outcomes[..], [(4, RequestOutcome::Sent { .. })]),
        "the others were sent before"
    );
    for stream in [1, 3, 5] {
        world.receive(&frame(HEADERS, WHOLE, stream, OK)).unwrap();
    }
    assert_eq!(world.answered(), (vec![2, 3, 4], vec![]));
}

#[test]
fn broken_connections_are_replaced_after_answers() {
    let mut world = World::asking(2);
    assert_eq!(world.receive(&goaway(0, 11)), Err(Failure::GoAway(ErrorCode::EnhanceYourCalm)));
    let mut world = World::asking(2);
    assert_eq!(world.receive(&goaway(0, 0)), Err(Failure::GoAway(ErrorCode::NoError)), "it serves nobody");
    let mut world = World::asking(2);
    assert_eq!(world.eof(), Err(Failure::Codec(Error::EofBeforeAnswer)));
    for (method, resent) in [("GET", 2), ("POST", 0)] {
        let mut world = World::new(HttpOptions { method: method.into(), ..streams(3) }, &[]);
        world.send(0..3);
        world.receive(&frame(HEADERS, WHOLE, 1, OK)).unwrap();
        world.receive(&goaway(5, 2)).unwrap();
        let broken = Event::Broken(Failure::GoAway(ErrorCode::InternalError));
        assert_eq!(world.answered(), (vec![0], vec![broken]));
        world.send([3]);
        world.greet_again();
        assert_eq!(world.asked().len(), resent + 1, "{method}");
        let dropped = world
            .io
            .request_outcomes
            .iter()
            .filter(|(_, outcome)| *outcome == RequestOutcome::Dropped)
            .count();
        assert_eq!(dropped, 2 - resent, "{method}");
    }
    // Between requests, an end costs nothing, and before the first neither.
    let mut world = World::new(streams(1), &[]);
    world.receive(&goaway(0, 0)).unwrap();
    assert_eq!((world.io.closed, world.io.opened), (1, 0), "nobody asks for anything");
    world.send([0]);
    world.greet_again();
    assert_eq!(world.asked(), [1]);
    let mut world = World::asking(1);
    world.receive(&frame(HEADERS, WHOLE, 1, OK)).unwrap();
    world.eof().unwrap();
    world.send([1]);
    world.greet_again();
    assert_eq!(world.asked(), [1]);
}

#[test]
fn bodies_respect_flow_control() {
    const BODY: usize = 100_000;
    let mut world = World::new(HttpOptions { pipelining: 2, ..post(BODY) }, &[(4, 30_000), (5, 20_000)]);
    world.send([0, 1]);
    let sizes = |world: &World| -> Vec<(u32, usize, u8)> {
        let frames = frames(&world.io.out).into_iter().filter(|frame| frame.0 == DATA);
        frames.map(|(_, flags, stream, payload)| (stream, payload.len(), flags)).collect()
    };
    assert_eq!(sizes(&world), [(1, 20_000, 0), (1, 10_000, 0), (3, 20_000, 0), (3, 10_000, 0)]);
    // More on the stream, as far as the connection has: 5,535 of 65,535.
    world.receive(&frame(WINDOW_UPDATE, 0, 3, &code(50_000))).unwrap();
    assert_eq!(sizes(&world), [(3, 5_535, 0)]);
    world.receive(&frame(WINDOW_UPDATE, 0, 0, &code(1_000_000))).unwrap();
    assert_eq!(sizes(&world), [(3, 20_000, 0), (3, 20_000, 0), (3, 4_465, 0)]);
    // A new setting counts for streams that are open.
    world.receive(&settings(&[(4, 1_000_000)])).unwrap();
    let ends: Vec<u32> =
        sizes(&world).iter().filter(|size| size.2 == END_STREAM).map(|size| size.0).collect();
    assert_eq!(ends, [1, 3]);
    let sent: usize = sizes(&world).iter().map(|size| size.1).sum();
    assert_eq!(sent, 70_000 + 20_000, "all of both");
}

#[test]
fn early_answers_cancel_the_rest() {
    let mut world = World::new(HttpOptions { pipelining: 1, ..post(100_000) }, &[]);
    world.send([0]);
    world.receive(&frame(HEADERS, WHOLE, 1, OK)).unwrap();
    assert_eq!(frames(&world.io.out), [(RST_STREAM, 0, 1, code(8).to_vec())]);
    assert_eq!(world.answered().0, [0]);
}

#[test]
fn pings_and_settings_are_answered() {
    let mut world = World::asking(1);
    world
        .receive(
            &[frame(PING, 0, 0, b"opaque 8"), frame(PING, ACK, 0, b"opaque 8"), settings(&[(99, 1)])]
                .concat(),
        )
        .unwrap();
    assert_eq!(frames(&world.io.out), [(PING, ACK, 0, b"opaque 8".to_vec()), (SETTINGS, ACK, 0, vec![])]);
}

#[test]
fn servers_without_a_table_get_literals() {
    let mut world = World::new(streams(9), &[(1, 0)]);
    world.send([0, 1]);
    let all = frames(&world.io.out);
    assert_eq!(all[0].3, b"\x20\x82\x86\x01\x0e127.0.0.1:9000\x04\x06/a?b=c");
    assert_eq!(all[0].3, all[1].3);
    // A table that was smaller for a moment is empty, too.
    for sizes in [&[(1, 100)][..], &[(1, 0), (1, 4096)]] {
        let mut world = World::asking(9);
        world.receive(&frame(HEADERS, WHOLE, 1, OK)).unwrap();
        world.receive(&settings(sizes)).unwrap();
        world.send([9]);
        assert!(frames(&world.io.out)[0].3.starts_with(b"\x20\x82"), "{sizes:?}");
    }
}

#[test]
fn no_streams_no_requests() {
    let mut world = World::connected(streams(2));
    world.receive(&settings(&[(3, 0)])).unwrap();
    assert_eq!((world.client.is_usable(), world.client.withheld()), (false, Some(Failure::NoStreams)));
    world.send([0]);
    assert_eq!(world.asked(), []);
    world.receive(&settings(&[(3, 1)])).unwrap();
    assert_eq!(std::mem::take(&mut world.events), [Event::Usable]);
    assert_eq!((world.send([0]), world.client.withheld()), (1, None));
    // In the middle of a run, too, and what is under way goes on.
    world.receive(&[settings(&[(3, 0)]), frame(HEADERS, WHOLE, 1, OK)].concat()).unwrap();
    assert_eq!((world.send([1]), world.client.withheld()), (0, Some(Failure::NoStreams)));
    assert_eq!(world.answered(), (vec![0], vec![]));
    world.eof().unwrap();
    world.open();
    for mut world in [World::connected(streams(2)), world] {
        world.receive(&settings(&[(3, 0)])).unwrap();
        assert_eq!(world.eof(), Err(Failure::Codec(Error::EofBeforeAnswer)));
    }
}

#[test]
fn a_body_without_room_is_known_to_wait() {
    let mut world = World::new(post(10), &[(4, 0)]);
    world.send([0]);
    assert_eq!(world.client.withheld(), Some(Failure::NoWindow));
    world.receive(&frame(WINDOW_UPDATE, 0, 1, &code(9))).unwrap();
    assert_eq!(world.client.withheld(), None, "part of it is out");
    let mut world = World::new(streams(1), &[(4, 0)]);
    assert_eq!((world.send([0]), world.client.withheld()), (1, None), "no body, no room needed");
}

#[test]
fn fields_invalid_in_http2_are_refused() {
    let refused = |change: &dyn Fn(&mut wire::Options)| {
        let mut all = options(DialectId::Http2);
        change(&mut all);
        Config::new(all).err()
    };
    let no_keep_alive = HttpOptions { keep_alive: false, ..HttpOptions::default() };
    assert!(matches!(
        refused(&|all| all.of_dialect.settings = no_keep_alive.clone().into()),
        Some(BadOption::OfDialect { option: "no-keep-alive", .. })
    ));
    for (name, value) in [("Keep-Alive", "1"), ("Proxy-Connection", "close"), ("TE", "gzip")] {
        let refusal = refused(&|all| all.headers.push((name.into(), value.into())));
        assert_eq!(refusal, Some(BadOption::Header), "{name}");
    }
    assert_eq!(refused(&|all| all.headers.push(("TE".into(), "trailers".into()))), None);
}
