//! Several clients on one HTTP/2 connection: whose bytes come in, what is shared, and what ends one or all.

use codec::http2::frame::FrameReader;
use codec::{ErrorCode, Http2Reason};
use wire::{Carrier, Config, DialectId, Failure, Multiplexer, StreamEvent};

use crate::common::http2::*;
use crate::common::options;

/// SETTINGS_MAX_CONCURRENT_STREAMS.
const STREAMS: u16 = 3;
const REQUEST: &[u8] = b"GET /a HTTP/1.1\r\nHost: h\r\n\r\n";

/// A connection of event streams.
struct World {
    cfg: Config,
    connection: Multiplexer,
    frames: FrameReader,
    out: Vec<u8>,
}

/// An event without what it borrows.
#[derive(Debug, PartialEq, Eq)]
enum Heard {
    Ready,
    Input(u32, Vec<u8>, bool),
    Reset(u32, ErrorCode, bool),
    Failed(u32, Failure),
    Leaving(u32, ErrorCode),
}

impl World {
    /// A connection of three clients, which the server has greeted with these settings.
    fn greeted(all: &[(u16, u32)]) -> World {
        let mut options = options(DialectId::Sse);
        options.carrier = Carrier::Http2;
        let cfg = Config::new(options).unwrap();
        let connection = Multiplexer::new(&cfg, 3);
        let mut world = World { cfg, connection, frames: FrameReader::default(), out: Vec::new() };
        assert_eq!(world.receive(&settings(all)), Ok(vec![Heard::Ready]));
        world
    }

    /// A connection whose clients 10, 11, … have streams, which are answered.
    fn open(clients: u32) -> World {
        let mut world = World::greeted(&[]);
        for number in 0..clients {
            let stream = world.open_stream(10 + number);
            world.receive(&frame(HEADERS, END_HEADERS, stream, OK)).unwrap();
        }
        world
    }

    fn open_stream(&mut self, client: u32) -> u32 {
        self.connection.open_stream(&self.cfg, client, REQUEST, &mut self.out).unwrap()
    }

    fn receive(&mut self, mut bytes: &[u8]) -> Result<Vec<Heard>, Failure> {
        self.out.clear();
        let mut all = Vec::new();
        while let Some(frame) = self.frames.next(&mut bytes)? {
            all.extend(match self.connection.handle_frame(&self.cfg, 0, frame, &mut self.out)? {
                StreamEvent::Nothing => None,
                StreamEvent::Ready => Some(Heard::Ready),
                StreamEvent::Input { client, bytes, ends } => Some(Heard::Input(client, bytes.into(), ends)),
                StreamEvent::Reset { client, code, was_open } => Some(Heard::Reset(client, code, was_open)),
                StreamEvent::Failed { client, failure } => Some(Heard::Failed(client, failure)),
                StreamEvent::Leaving { last, code } => Some(Heard::Leaving(last, code)),
            });
        }
        Ok(all)
    }

    fn close(&mut self, stream: u32) -> Vec<Seen> {
        self.out.clear();
        self.connection.close_stream(stream, &mut self.out);
        frames(&self.out)
    }
}

#[test]
fn data_goes_to_the_streams_client() {
    let mut world = World::open(3);
    let data = |stream, text: &str| frame(DATA, 0, stream, text.as_bytes());
    let all = [data(5, "c"), data(1, "a"), frame(DATA, END_STREAM, 3, b"b"), data(1, "d")].concat();
    let input = |client, text: &str, ends| Heard::Input(client, text.into(), ends);
    let heard = [input(12, "c", false), input(10, "a", false), input(11, "b", true), input(10, "d", false)];
    assert_eq!(world.receive(&all).unwrap(), heard);
    // Byte by byte, as well.
    let mut world = World::open(3);
    let parts: Vec<Heard> = all.chunks(1).flat_map(|part| world.receive(part).unwrap()).collect();
    assert_eq!(parts, heard);
}

#[test]
fn requests_go_out_on_ascending_streams() {
    let mut world = World::greeted(&[]);
    assert_eq!([7, 8, 9].map(|client| world.open_stream(client)), [1, 3, 5]);
    let out = frames(&world.out);
    assert_eq!(
        out.iter().filter(|frame| frame.0 == HEADERS).map(|f| (f.1, f.2)).collect::<Vec<_>>(),
        [(WHOLE, 1), (WHOLE, 3), (WHOLE, 5)]
    );
}

#[test]
fn limits_below_the_clients_are_named() {
    let mut world = World::greeted(&[(STREAMS, 2)]);
    let first = world.open_stream(0);
    world.open_stream(1);
    let limit = Failure::StreamLimit { allowed: 2, clients: 3 };
    assert_eq!(world.connection.check_room(), Err(limit));
    assert_eq!(limit.name(), "http2_stream_limit");
    world.close(first);
    assert_eq!(world.connection.check_room(), Ok(()));
    let mut world = World::greeted(&[(STREAMS, 0)]);
    assert_eq!(world.connection.check_room(), Err(Failure::NoStreams));
    world.receive(&settings(&[(STREAMS, 1)])).unwrap();
    assert_eq!(world.connection.check_room(), Ok(()));
}

#[test]
fn frames_behind_own_resets_are_discarded() {
    let mut world = World::open(2);
    assert_eq!(world.close(1), [(RST_STREAM, 0, 1, code(8).to_vec())]);
    // A field that goes into the table, on the stream that is over; and a reference to it on the other.
    let kept = frame(HEADERS, END_HEADERS, 1, b"\x88\x40\x01a\x01b");
    let behind = [frame(DATA, 0, 1, b"x"), kept, frame(RST_STREAM, 0, 1, &code(0))].concat();
    assert_eq!(world.receive(&behind), Ok(vec![]));
    assert_eq!(world.receive(&frame(WINDOW_UPDATE, 0, 1, &code(1))), Ok(vec![]));
    world.open_stream(12);
    let told = world.receive(&frame(HEADERS, END_HEADERS, 5, b"\x88\xbe")).unwrap();
    assert_eq!(told, [Heard::Input(12, b"HTTP/1.1 200 \r\na: b\r\n\r\n".to_vec(), false)]);
    assert_eq!(world.receive(&frame(DATA, 0, 7, b"x")), Err(bad(Http2Reason::Frame)), "never opened");
}

#[test]
fn frames_behind_the_servers_end_are_errors() {
    let mut world = World::open(1);
    world.receive(&frame(DATA, END_STREAM, 1, b"")).unwrap();
    assert_eq!(world.close(1), [], "both sides have ended");
    assert_eq!(world.receive(&frame(DATA, 0, 1, b"x")), Err(bad(Http2Reason::StreamClosed)));
}

#[test]
fn one_streams_end_leaves_the_others() {
    let mut world = World::open(3);
    let reset = world.receive(&frame(RST_STREAM, 0, 3, &code(8))).unwrap();
    assert_eq!(reset, [Heard::Reset(11, ErrorCode::Cancel, true)]);
    // A second final head is malformed, which is the stream's failure alone (RFC 9113 §8.1.1).
    let failed = world.receive(&frame(HEADERS, END_HEADERS, 1, OK)).unwrap();
    assert_eq!(failed, [Heard::Failed(10, bad(Http2Reason::Field))]);
    world.close(1);
    let data = world.receive(&frame(DATA, 0, 5, b"x")).unwrap();
    assert_eq!(data, [Heard::Input(12, b"x".to_vec(), false)]);
    let owners: Vec<(u32, u32)> = world.connection.clients().map(|of| (of.client, of.stream)).collect();
    assert_eq!(owners, [(12, 5)]);
}

#[test]
fn leaving_servers_take_no_more_streams() {
    let mut world = World::open(2);
    assert!(world.connection.takes_streams());
    assert_eq!(world.receive(&goaway(1, 0)), Ok(vec![Heard::Leaving(1, ErrorCode::NoError)]));
    assert!(!world.connection.takes_streams());
    let served = world.receive(&frame(DATA, 0, 1, b"x")).unwrap();
    assert_eq!(served, [Heard::Input(10, b"x".to_vec(), false)]);
}
