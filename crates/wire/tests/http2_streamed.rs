//! Answers that come in pieces, and event streams, over HTTP/2: what is told of each stream, and what ends
//! one or all of them.

use codec::{Error, ErrorCode};
use wire::{
    Carrier, Client, Config, DialectId, EndMark, Event, Failure, HttpOptions, Progress, Reconnection,
    RequestOutcome, Settings, StreamOptions, StreamReason,
};

use crate::common::http2::*;
use crate::common::options;
use crate::http2::World;
use crate::sse::{User, copy, payload};
use crate::tunnel::fields;

/// A status of 200, and the media type of events with its indexed name (RFC 7541, appendix A).
const STREAM: &[u8] = b"\x88\x0f\x10\x11text/event-stream";

/// A client that asks for streamed answers, with this many requests under way.
fn asking(requests: u32) -> World {
    let stream = StreamOptions { end: Some(EndMark::parse("[DONE]")), ..StreamOptions::default() };
    let http = HttpOptions { pipelining: 8, stream: Some(stream), ..HttpOptions::default() };
    let mut world = World::new(http, &[]);
    assert_eq!(world.send(0..requests), requests as usize);
    world
}

fn head(stream: u32) -> Vec<u8> {
    frame(HEADERS, END_HEADERS, stream, STREAM)
}

fn data(stream: u32, text: &str) -> Vec<u8> {
    frame(DATA, 0, stream, text.as_bytes())
}

/// The progress told since last asked, by request.
fn told(world: &mut World) -> Vec<(u32, Progress)> {
    let progress = |event| match event {
        Event::Progress { request, progress } => Some((request, progress)),
        _ => None,
    };
    world.events.drain(..).filter_map(progress).collect()
}

const EVENT: Progress = Progress::Event { tokens: 0, is_misordered: false };

#[test]
fn answers_of_one_connection_interleave() {
    let marked = "data: b\n\ndata: [DONE]\n\n".as_bytes();
    let all = [head(3), head(1), data(3, "data: a\n"), data(1, "data: x\n\ndata"), data(3, "\n")].concat();
    let ends = [frame(DATA, END_STREAM, 3, marked), frame(DATA, END_STREAM, 1, b": y\n\n")].concat();
    for step in [1, 7, 1000] {
        let mut world = asking(2);
        for portion in all.chunks(step).chain(ends.chunks(step)) {
            world.receive(portion).unwrap();
        }
        let told = told(&mut world);
        let begun = told.iter().filter(|(_, progress)| matches!(progress, Progress::Begun { .. }));
        assert_eq!(begun.map(|(request, _)| *request).collect::<Vec<_>>(), [1, 0], "by {step}");
        let expected = [
            (0, EVENT),
            (1, EVENT),
            (1, EVENT),
            (1, Progress::Ended { is_marked: true }),
            (0, EVENT),
            (0, Progress::Ended { is_marked: false }),
        ];
        let others = told.into_iter().filter(|(_, progress)| !matches!(progress, Progress::Begun { .. }));
        assert_eq!(others.collect::<Vec<_>>(), expected, "by {step}");
    }
}

#[test]
fn resets_break_off_one_answer() {
    let mut world = asking(2);
    world.receive(&[head(1), head(3), data(1, "data: x\n\n")].concat()).unwrap();
    world.receive(&frame(RST_STREAM, 0, 1, &code(2))).unwrap();
    let failed = RequestOutcome::Failed(Failure::Reset(ErrorCode::InternalError));
    assert_eq!(world.io.request_outcomes, [(0, failed)]);
    told(&mut world);
    world.receive(&data(3, "data: y\n\n")).unwrap();
    assert_eq!(told(&mut world), [(1, EVENT)], "the other goes on");
}

#[test]
fn lost_connections_repeat_only_what_had_not_begun() {
    for lose in [|world: &mut World| world.receive(&goaway(3, 2)), |world: &mut World| world.eof()] {
        let mut world = asking(2);
        world.receive(&[head(1), data(1, "data: x\n\n")].concat()).unwrap();
        lose(&mut world).unwrap();
        assert_eq!(world.io.request_outcomes, [(0, RequestOutcome::Dropped)]);
        world.greet_again();
        assert_eq!(world.asked(), [1], "the request whose answer had not begun");
    }
}

#[test]
fn goodbyes_in_peace_break_nothing_off() {
    let mut world = asking(2);
    world.receive(&[head(1), data(1, "data: x\n\n"), goaway(1, 0)].concat()).unwrap();
    told(&mut world);
    world.receive(&frame(DATA, END_STREAM, 1, b"data: [DONE]\n\n")).unwrap();
    assert_eq!(told(&mut world), [(0, Progress::Ended { is_marked: true })]);
    assert_eq!(world.io.request_outcomes, []);
    world.greet_again();
    assert_eq!(world.asked(), [1]);
}

#[test]
fn events_without_end_end_their_stream() {
    let mut world = asking(2);
    world.receive(&[head(1), head(3)].concat()).unwrap();
    let line = data(1, &"x".repeat(16_000));
    while world.io.request_outcomes.is_empty() {
        world.receive(&line).unwrap();
    }
    let failed = RequestOutcome::Failed(Failure::Codec(Error::EventTooLarge));
    assert_eq!(world.io.request_outcomes, [(0, failed)]);
    assert!(frames(&world.io.out).contains(&(RST_STREAM, 0, 1, code(8).to_vec())));
    told(&mut world);
    world.receive(&[line, data(3, "data: y\n\n")].concat()).unwrap();
    assert_eq!(told(&mut world), [(1, EVENT)], "what is late is discarded");
}

#[test]
fn windows_of_long_answers_are_opened_again() {
    let mut world = asking(1);
    // Text, of which each read is an event.
    world.receive(&frame(HEADERS, END_HEADERS, 1, OK)).unwrap();
    let event = data(1, &"x".repeat(16_000));
    let mut grown = Vec::new();
    // Half a window, and a little.
    for _ in 0..(1 << 29) / event.len() + 100 {
        world.receive(&event).unwrap();
        grown.extend(frames(&world.io.out).into_iter().map(|frame| (frame.0, frame.2)));
        world.events.clear();
    }
    assert_eq!(grown, [(WINDOW_UPDATE, 0), (WINDOW_UPDATE, 1)]);
}

/// A client of an event stream, whose connection stands and is greeted.
fn listening(client: Client) -> User {
    let mut all = options(DialectId::Sse);
    all.carrier = Carrier::Http2;
    all.path = "/events?room=1".into();
    let mut user = User::of(Config::new(all).unwrap(), client);
    user.io.out.clear();
    user.hear(&settings(&[]), 1).unwrap();
    user
}

/// The frames of a copy: an event with this ID and the payload of that number.
fn event(seq: u32) -> Vec<u8> {
    data(1, &format!("id: {seq}\ndata: {}\n\n", payload(seq)))
}

#[test]
fn event_streams_ask_once_and_hear() {
    for step in [1, 10, 1000] {
        let mut user = listening(Client::new());
        let sent = frames(&user.io.out);
        let (_, flags, stream, block) = sent.iter().find(|frame| frame.0 == HEADERS).unwrap();
        assert_eq!((*flags, *stream), (WHOLE, 1));
        let asked = fields(block);
        assert!(asked.iter().any(|field| field.ends_with("=/events?room=1")), "{asked:?}");
        assert!(asked.iter().any(|field| field == "#19=text/event-stream"), "{asked:?}");
        user.hear(&[head(1), event(1), event(2)].concat(), step).unwrap();
        assert_eq!(user.events, [Event::Upgraded, Event::Usable, copy(1), copy(2)], "by {step}");
        assert!(user.client.is_usable() && !user.client.lacks_place(&user.cfg));
        let end = user.hear(&frame(DATA, END_STREAM, 1, b""), step);
        assert_eq!(end, Err(Failure::EventStream(StreamReason::End)));
        let resumption = user.client.resumption(true).unwrap();
        let back = listening(Client::resuming(resumption));
        let sent = frames(&back.io.out);
        let asked = fields(&sent.iter().find(|frame| frame.0 == HEADERS).unwrap().3);
        assert!(asked.iter().any(|field| field == "last-event-id=2"), "{asked:?}");
    }
}

#[test]
fn bodies_of_event_streams_wait_for_room() {
    let mut all = options(DialectId::Sse);
    all.carrier = Carrier::Http2;
    all.of_dialect.settings = Settings::default().with("connect-body", "0123456789");
    let mut user = User::of(Config::new(all).unwrap(), Client::new());
    user.io.out.clear();
    // A window of four bytes.
    user.hear(&settings(&[(4, 4)]), 1).unwrap();
    let sent = frames(&user.io.out);
    let (_, flags, _, block) = sent.iter().find(|frame| frame.0 == HEADERS).unwrap();
    let asked = fields(block);
    // Static entries of RFC 7541, appendix A: a POST, and the name content-length.
    assert!(asked.contains(&"#3".to_owned()) && asked.contains(&"#28=10".to_owned()), "{asked:?}");
    assert_eq!((*flags, sent.last()), (END_HEADERS, Some(&(DATA, 0, 1, b"0123".to_vec()))));
    assert_eq!(user.client.withheld(), Some(Failure::NoWindow));
    user.io.out.clear();
    user.hear(&frame(WINDOW_UPDATE, 0, 1, &code(6)), 1).unwrap();
    assert_eq!(frames(&user.io.out), [(DATA, END_STREAM, 1, b"456789".to_vec())]);
    user.hear(&[head(1), event(1)].concat(), 1000).unwrap();
    assert_eq!((&user.events[2..], user.client.withheld()), (&[copy(1)][..], None));
}

#[test]
fn other_answers_to_event_streams_fail_by_name() {
    let cases: [(&[u8], Failure); 3] = [
        (b"\x8d", Failure::Codec(Error::HttpStatus(404))),
        (b"\x88\x0f\x10\x09text/html", Failure::EventStream(StreamReason::Media(wire::Media::Html))),
        (b"\x89", Failure::EventStream(StreamReason::NoContent)),
    ];
    for (block, failure) in cases {
        let mut user = listening(Client::new());
        assert_eq!(user.hear(&frame(HEADERS, WHOLE, 1, block), 1), Err(failure));
        let is_over = failure == Failure::EventStream(StreamReason::NoContent);
        assert_eq!(user.client.reconnection() == Reconnection::Never, is_over);
    }
    let mut user = listening(Client::new());
    user.hear(&head(1), 1).unwrap();
    let reset = user.hear(&frame(RST_STREAM, 0, 1, &code(2)), 1);
    assert_eq!(reset, Err(Failure::Reset(ErrorCode::InternalError)));
    assert!(!user.client.is_usable());
}

#[test]
fn redirected_event_streams_ask_over_another_connection() {
    let mut user = listening(Client::new());
    // 307, and the place to ask at.
    let moved = b"\x08\x03307\x0f\x1f\x05/else";
    user.hear(&[frame(HEADERS, WHOLE, 1, moved), frame(PING, 0, 0, &[0; 8])].concat(), 1000).unwrap();
    assert_eq!(user.io.opened, 1);
    user.client.handle_open(&user.cfg, 0, 0, &mut user.io);
    user.io.out.clear();
    user.hear(&settings(&[]), 1).unwrap();
    let sent = frames(&user.io.out);
    let asked = fields(&sent.iter().find(|frame| frame.0 == HEADERS).unwrap().3);
    assert!(asked.iter().any(|field| field.ends_with("=/else")), "{asked:?}");
    user.hear(&[head(1), event(7)].concat(), 1).unwrap();
    assert_eq!(user.events, [Event::Upgraded, Event::Usable, copy(7)]);
}
