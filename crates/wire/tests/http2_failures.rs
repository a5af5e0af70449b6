//! Faults of servers over HTTP/2: of a stream, of the connection, each with its code, and floods.

use codec::{Error, ErrorCode, Http2Reason};
use wire::{Event, Failure, RequestOutcome};

use crate::common::http2::*;
use crate::http2::World;

#[test]
fn stream_errors_end_only_their_streams() {
    let answers: [(&[Vec<u8>], Http2Reason); 8] = [
        (&[frame(HEADERS, WHOLE, 1, b"\x00\x01x\x01y")], Http2Reason::Field),
        (&[frame(HEADERS, WHOLE, 1, b"\x88\x00\x01X\x01y")], Http2Reason::Field),
        (&[frame(HEADERS, WHOLE, 1, b"\x08\x03101")], Http2Reason::Field),
        (&[frame(HEADERS, WHOLE, 1, b"\x08\x03100")], Http2Reason::Field),
        (&[frame(HEADERS, END_HEADERS, 1, OK), frame(HEADERS, END_HEADERS, 1, b"")], Http2Reason::Field),
        (&[frame(DATA, 0, 1, b"x")], Http2Reason::Frame),
        (&[frame(HEADERS, WHOLE, 1, b"\x88\x0f\x0d\x013")], Http2Reason::ContentLength),
        (
            &[frame(HEADERS, END_HEADERS, 1, b"\x88\x0f\x0d\x011"), frame(DATA, END_STREAM, 1, b"xx")],
            Http2Reason::ContentLength,
        ),
    ];
    for (bytes, reason) in answers {
        let mut world = World::asking(2);
        world.receive(&bytes.concat()).unwrap();
        assert_eq!(world.io.request_outcomes, [(0, RequestOutcome::Failed(bad(reason)))], "{reason:?}");
        assert_eq!(frames(&world.io.out), [(RST_STREAM, 0, 1, code(1).to_vec())], "{reason:?}");
        // What was on its way is of no concern, and the other is answered.
        world.receive(&frame(DATA, END_STREAM, 1, b"late")).unwrap();
        world.receive(&frame(HEADERS, WHOLE, 3, OK)).unwrap();
        assert_eq!(world.answered(), (vec![1], vec![]));
    }
}

#[test]
fn reset_streams_tell_their_code() {
    let mut world = World::asking(3);
    for (stream, number) in [(1, 7), (5, 13)] {
        world.receive(&frame(RST_STREAM, 0, stream, &code(number))).unwrap();
    }
    let of = |number, code| (number, RequestOutcome::Failed(Failure::Reset(code)));
    assert_eq!(
        world.io.request_outcomes,
        [of(0, ErrorCode::RefusedStream), of(2, ErrorCode::Http11Required)]
    );
    assert_eq!(Failure::Reset(ErrorCode::RefusedStream).name(), "http2_refused");
    world.receive(&frame(HEADERS, WHOLE, 3, OK)).unwrap();
    assert_eq!((world.answered(), world.io.opened), ((vec![1], vec![]), 0));
}

#[test]
fn connection_errors_have_their_code() {
    use Http2Reason::*;
    let cases: &[(&str, Vec<u8>, Failure)] = &[
        ("ping on stream 1", frame(PING, 0, 1, &[0; 8]), bad(Frame)),
        ("a short ping", frame(PING, 0, 0, &[0; 7]), bad(FrameSize)),
        ("half a setting", frame(SETTINGS, 0, 0, &[0; 5]), bad(FrameSize)),
        ("acknowledgement with settings", frame(SETTINGS, ACK, 0, &[0; 6]), bad(FrameSize)),
        ("an impossible window", settings(&[(4, 1 << 31)]), bad(FlowControl)),
        ("frames too small", settings(&[(5, 100)]), bad(Setting)),
        ("push of 2", settings(&[(2, 2)]), bad(Setting)),
        ("push of a server", settings(&[(2, 1)]), bad(Setting)),
        ("a promise", frame(PUSH_PROMISE, END_HEADERS, 1, b"\0\0\0\x02\x88"), bad(Frame)),
        ("data on no stream", frame(DATA, 0, 0, b"x"), bad(Frame)),
        ("data on stream 9", frame(DATA, 0, 9, b"x"), bad(Frame)),
        ("data on stream 2", frame(DATA, 0, 2, b"x"), bad(Frame)),
        ("a reset of stream 9", frame(RST_STREAM, 0, 9, &code(0)), bad(Frame)),
        ("a short reset", frame(RST_STREAM, 0, 1, &[0; 3]), bad(FrameSize)),
        ("a short priority", frame(PRIORITY, 0, 1, &[0; 4]), bad(FrameSize)),
        ("a short goodbye", frame(GOAWAY, 0, 0, &[0; 7]), bad(FrameSize)),
        ("more padding than data", frame(DATA, PADDED, 1, b"\x05abc"), bad(Padding)),
        ("padding without its length", frame(DATA, PADDED, 1, b""), bad(FrameSize)),
        ("a continuation of nothing", frame(CONTINUATION, END_HEADERS, 1, OK), bad(Frame)),
        ("no more room", frame(WINDOW_UPDATE, 0, 0, &code(0)), bad(NoRoom)),
        ("too much room", frame(WINDOW_UPDATE, 0, 0, &code(u32::MAX >> 1)), bad(FlowControl)),
        ("a stream's window overflows", frame(WINDOW_UPDATE, 0, 1, &code(u32::MAX >> 1)), bad(FlowControl)),
        ("an index of nothing", frame(HEADERS, WHOLE, 1, b"\xc0"), bad(Compression)),
        ("a frame above the limit", vec![0, 0x40, 1, DATA, 0, 0, 0, 0, 1], bad(FrameSize)),
        (
            "a ping within a block",
            [frame(HEADERS, 0, 1, OK), frame(PING, 0, 0, &[0; 8])].concat(),
            bad(Frame),
        ),
        (
            "another block's continuation",
            [frame(HEADERS, 0, 1, OK), frame(CONTINUATION, 0, 3, b"")].concat(),
            bad(Frame),
        ),
    ];
    for (what, bytes, failure) in cases {
        for step in [1, bytes.len()] {
            let mut world = World::asking(2);
            let result = bytes.chunks(step).try_for_each(|portion| world.receive(portion));
            assert_eq!(result, Err(*failure), "{what}");
            let told = frames(&world.io.out).pop().map(|frame| (frame.0, frame.3.last().copied()));
            let code = match failure {
                Failure::Codec(Error::BadHttp2(FrameSize)) => 6,
                Failure::Codec(Error::BadHttp2(FlowControl)) => 3,
                Failure::Codec(Error::BadHttp2(Compression)) => 9,
                _ => 1,
            };
            assert_eq!(told, Some((GOAWAY, Some(code))), "{what}");
        }
    }
}

#[test]
fn floods_come_to_an_end() {
    let flood = |one: &[u8], many: usize| {
        let mut world = World::asking(2);
        (world.receive(&one.repeat(many)), world.io.out.len())
    };
    let calm = Err(bad(Http2Reason::Flood));
    for one in [
        frame(PING, 0, 0, &[0; 8]),
        frame(PING, ACK, 0, &[0; 8]),
        settings(&[]),
        settings(&[(4, 1), (4, 2)]),
        frame(PRIORITY, 0, 1, &[0; 5]),
        frame(0xfe, 0, 0, b""),
    ] {
        assert_eq!(flood(&one, 900).0, Ok(()));
        let (result, bytes) = flood(&one, 100_000);
        assert_eq!(result, calm);
        assert!(bytes < 30_000, "{bytes} bytes in answer");
    }
    let head = frame(HEADERS, END_HEADERS, 1, OK);
    let mut world = World::asking(1);
    let empty = frame(DATA, 0, 1, b"").repeat(2000);
    assert_eq!(world.receive(&[head, empty].concat()), calm);
    // Blocks without an end: many small parts, a few large ones, and few bytes that stand for many.
    let begun = frame(HEADERS, 0, 1, OK);
    let mut world = World::asking(1);
    assert_eq!(world.receive(&[begun.clone(), frame(CONTINUATION, 0, 1, b"").repeat(100)].concat()), calm);
    let mut world = World::asking(1);
    let large = frame(CONTINUATION, 0, 1, &[0x88; 9000]).repeat(2);
    assert_eq!(world.receive(&[begun, large].concat()), Err(Failure::Codec(Error::HeadTooLarge)));
    let entry = [&b"\x40\x01a\x7f\xa1\x1e"[..], &[b'x'; 4000], &[0xbe; 100]].concat();
    let mut world = World::asking(1);
    assert_eq!(world.receive(&frame(HEADERS, WHOLE, 1, &entry)), Err(Failure::Codec(Error::HeadTooLarge)));
}

#[test]
fn resets_of_nothing_are_a_flood() {
    let mut world = World::asking(100);
    let mut stream = 1;
    for round in 0..20 {
        for _ in 0..100 {
            world.receive(&frame(RST_STREAM, 0, stream, &code(7))).unwrap();
            stream += 2;
        }
        world.send((round + 1) * 100..(round + 2) * 100);
    }
    assert_eq!(
        world
            .io
            .request_outcomes
            .iter()
            .filter(|(_, outcome)| matches!(outcome, RequestOutcome::Failed(_)))
            .count(),
        2000
    );
    let over = frame(RST_STREAM, 0, 1, &code(7)).repeat(2000);
    assert_eq!(world.receive(&over), Err(bad(Http2Reason::Flood)));
}

#[test]
fn frames_behind_an_answer_end_the_connection() {
    let whole = frame(HEADERS, WHOLE, 1, OK);
    let body = [frame(HEADERS, END_HEADERS, 1, OK), frame(DATA, END_STREAM, 1, b"x")].concat();
    let reset = frame(RST_STREAM, 0, 1, &code(8));
    for (answer, numbers) in [(whole.clone(), &[0][..]), (body, &[0]), (reset, &[])] {
        for late in [whole.clone(), frame(DATA, END_STREAM, 1, b""), frame(DATA, 0, 1, b"x")] {
            let mut world = World::asking(2);
            let result = world.receive(&[&answer[..], &late].concat());
            let told = frames(&world.io.out).pop().map(|frame| (frame.0, frame.3.last().copied()));
            assert_eq!(told, Some((GOAWAY, Some(5))));
            let broken = bad(Http2Reason::StreamClosed);
            let (answered, others) = world.answered();
            assert_eq!(answered, numbers);
            match numbers {
                [] => assert_eq!((result, others), (Err(broken), vec![])),
                _ => assert_eq!((result, others), (Ok(()), vec![Event::Broken(broken)])),
            }
        }
    }
    // What needs no answer may still come.
    let mut world = World::asking(1);
    let behind = [frame(WINDOW_UPDATE, 0, 1, &code(1)), frame(RST_STREAM, 0, 1, &code(0))].concat();
    world.receive(&[whole, behind].concat()).unwrap();
    assert_eq!(world.answered(), (vec![0], vec![]));
}
