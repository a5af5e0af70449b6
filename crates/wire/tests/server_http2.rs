//! The server role over HTTP/2: answers, refusals, and frames that break the rules.

use codec::{Error, Http2Reason};
use wire::{AnswerPart, Failure, Gate, Server, ServerConfig, ServerEvent};

use crate::common::http2::*;
use crate::common::{Fake, Happened, serve};

/// A server's answers to these frames behind the preface and settings: the frames that it answers with,
/// behind its own.
fn served(bytes: &[u8]) -> (Vec<Seen>, usize, Result<(), Failure>) {
    let outcome = serve(&ServerConfig::default(), &[PREFACE, &settings(&[]), bytes].concat());
    let requested = outcome.events.iter().filter(|event| **event == Happened::Requested(true)).count();
    assert_eq!(requested, outcome.events.len());
    let mut all = frames(&outcome.out);
    let greeting: Vec<_> = all.drain(..3).map(|frame| (frame.0, frame.1)).collect();
    assert_eq!(greeting, [(SETTINGS, 0), (WINDOW_UPDATE, 0), (SETTINGS, ACK)]);
    (all, requested, outcome.result)
}

/// `:authority: h`.
const AUTHORITY: &[u8] = b"\x01\x01h";

/// The head of a request with this method and path.
fn request(method: u8, path: &str) -> Vec<u8> {
    [&[method, 0x86, 0x04, path.len() as u8], path.as_bytes(), AUTHORITY].concat()
}

#[test]
fn servers_answer_complete_requests() {
    const GET: u8 = 0x82;
    const POST: u8 = 0x83;
    let answer = |status: &[u8], stream| (HEADERS, WHOLE, stream, [status, b"\x0f\x0d\x010"].concat());
    let bytes = [
        frame(HEADERS, END_HEADERS, 1, &request(POST, "/upload")),
        frame(HEADERS, WHOLE, 3, &request(GET, "/")),
        frame(DATA, 0, 1, b"abc"),
        frame(HEADERS, WHOLE, 5, &request(GET, "/nothing")),
        frame(DATA, END_STREAM, 1, b"def"),
        frame(HEADERS, WHOLE, 7, &request(GET, "/upload")),
    ];
    let mut not_allowed = answer(b"\x08\x03405", 7);
    not_allowed.3.extend_from_slice(b"\x0f\x07\x21POST, PUT, PATCH, DELETE, OPTIONS");
    let expected = vec![answer(b"\x88", 3), answer(b"\x08\x03404", 5), answer(b"\x88", 1), not_allowed];
    assert_eq!(served(&bytes.concat()), (expected, 4, Ok(())));
    // What takes a connection of its own is there over HTTP/1.1.
    for path in ["/metrics", "/socket.io/?EIO=4&transport=polling"] {
        let (all, requested, _) = served(&frame(HEADERS, WHOLE, 1, &request(GET, path)));
        assert_eq!((&all[0], requested), (&(RST_STREAM, 0, 1, code(13).to_vec()), 0), "{path}");
    }
}

#[test]
fn closed_gates_challenge_their_clients() {
    let gate = Gate { login: false, jwt: Some("sesame".into()) };
    let cfg = ServerConfig { gate, ..ServerConfig::default() };
    let ask = frame(HEADERS, WHOLE, 1, &request(0x82, "/events"));
    let all = frames(&serve(&cfg, &[PREFACE, &settings(&[]), &ask].concat()).out);
    let refused = b"\x08\x03401\x0f\x0d\x010\x0f\x2e\x06Bearer".to_vec();
    assert_eq!(all.last(), Some(&(HEADERS, WHOLE, 1, refused)));
}

#[test]
fn bodies_of_answers_wait_for_room() {
    const WELCOME: &[u8] = b"Welcome to SockJS!\n";
    let room = |stream, more| frame(WINDOW_UPDATE, 0, stream, &code(more));
    let ask = |stream| frame(HEADERS, WHOLE, stream, &request(0x82, "/sockjs"));
    let data = |flags, stream, range: std::ops::Range<usize>| (DATA, flags, stream, WELCOME[range].to_vec());
    let parts = |bytes: &[Vec<u8>]| {
        let (all, _, result) = served(&bytes.concat());
        (all.into_iter().filter(|frame| !matches!(frame.0, HEADERS | SETTINGS)).collect::<Vec<_>>(), result)
    };
    let none = settings(&[(4, 0)]);
    let whole = data(END_STREAM, 1, 0..WELCOME.len());
    assert_eq!(parts(&[ask(1)]), (vec![whole.clone()], Ok(())));
    assert_eq!(parts(&[none.clone(), ask(1)]), (vec![], Ok(())));
    assert_eq!(parts(&[none.clone(), ask(1), settings(&[(4, 100)])]), (vec![whole], Ok(())));
    let (all, result) = parts(&[none.clone(), ask(1), ask(3), room(3, 4), room(1, 20), room(3, 20)]);
    let end = WELCOME.len();
    let expected = vec![data(0, 3, 0..4), data(END_STREAM, 1, 0..end), data(END_STREAM, 3, 4..end)];
    assert_eq!((all, result), (expected, Ok(())));
    let reset = frame(RST_STREAM, 0, 1, &code(8));
    assert_eq!(parts(&[none.clone(), ask(1), reset, room(1, 20)]), (vec![], Ok(())));
    // A window may be in debt: what goes out was there before.
    let debt = [settings(&[(4, 10)]), ask(1), none.clone(), room(1, 9), room(1, 2)];
    assert_eq!(parts(&debt), (vec![data(0, 1, 0..10), data(0, 1, 10..11)], Ok(())));
    let late = [none, ask(1), frame(DATA, 0, 1, b"x")];
    assert_eq!(parts(&late).1, Err(bad(Http2Reason::StreamClosed)));
}

/// A frame of an answer: its type, flags and contents.
type Part = (u8, u8, Vec<u8>);

/// A connection with a question for a stream on stream 1, and what the server has done since the last look.
struct Asked {
    cfg: ServerConfig,
    server: Server,
    io: Fake,
    events: Vec<Happened>,
}

impl Asked {
    fn new(settings: Vec<u8>) -> Asked {
        let (cfg, io) = (ServerConfig::default(), Fake::default());
        let mut asked = Asked { cfg, server: Server::new(), io, events: Vec::new() };
        let path = "/stream?events=3";
        asked.input(&[PREFACE, &settings, &frame(HEADERS, WHOLE, 1, &request(0x82, path))].concat());
        asked.look();
        assert_eq!(asked.server.take_request().map(|(stream, _)| stream), Some(1));
        assert!(asked.server.is_answering() && asked.server.take_request().is_none());
        asked
    }

    fn input(&mut self, bytes: &[u8]) {
        let events = &mut self.events;
        let on = &mut |event: ServerEvent<'_>| events.extend(Happened::of(event));
        self.server.handle_input(&self.cfg, 0, 0, bytes, &mut self.io, on).unwrap();
    }

    fn part(&mut self, part: &str, then: AnswerPart) {
        let events = &mut self.events;
        let on = &mut |event: ServerEvent<'_>| events.extend(Happened::of(event));
        self.server.handle_part(1, part.as_bytes(), then, &mut self.io, on);
    }

    /// Frames of answers, with their flags and contents.
    fn look(&mut self) -> (Vec<Part>, Vec<Happened>) {
        let all = frames(&std::mem::take(&mut self.io.out)).into_iter();
        let of_answers = all.filter(|frame| frame.2 == 1).map(|frame| (frame.0, frame.1, frame.3));
        (of_answers.collect(), std::mem::take(&mut self.events))
    }
}

#[test]
fn parts_of_answers_go_out_within_windows() {
    const HEAD: &str = "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n";
    let data = |flags, text: &str| (DATA, flags, text.as_bytes().to_vec());
    // A table without entries, and the status.
    let head = (HEADERS, END_HEADERS, vec![0x20, 0x88]);
    let mut asked = Asked::new(settings(&[(4, 5)]));
    asked.part(&format!("{HEAD}abc"), AnswerPart::More);
    assert_eq!(asked.look(), (vec![head.clone(), data(0, "abc")], vec![]));
    asked.part("defg", AnswerPart::More);
    assert_eq!((asked.look().0, asked.server.unsent_bytes(1)), (vec![data(0, "de")], 2));
    asked.input(&frame(WINDOW_UPDATE, 0, 1, &code(2)));
    assert_eq!(asked.look(), (vec![data(0, "fg")], vec![Happened::StreamDrained(1)]));
    asked.part("", AnswerPart::Last);
    assert_eq!(asked.look(), (vec![data(END_STREAM, "")], vec![Happened::Requested(true)]));
    assert!(!asked.server.is_answering());

    let mut broken = Asked::new(settings(&[(4, 2)]));
    broken.part(&format!("{HEAD}abc"), AnswerPart::Broken);
    assert_eq!(broken.look().0, [head.clone(), data(0, "ab")], "what was written goes out first");
    broken.input(&frame(WINDOW_UPDATE, 0, 1, &code(2)));
    assert_eq!(broken.look().0, [data(0, "c"), (RST_STREAM, 0, code(2).to_vec())]);

    let mut aborted = Asked::new(settings(&[(4, 2)]));
    aborted.part(&format!("{HEAD}abc"), AnswerPart::More);
    aborted.part("", AnswerPart::Aborted);
    assert_eq!(aborted.look().0, [head, data(0, "ab"), (RST_STREAM, 0, code(2).to_vec())]);

    let mut lost = Asked::new(settings(&[]));
    lost.input(&frame(RST_STREAM, 0, 1, &code(8)));
    assert_eq!(lost.look().1, [Happened::StreamLost(1)]);
    // Its session had not heard of it yet.
    lost.part(HEAD, AnswerPart::More);
    assert_eq!(lost.look(), (vec![], vec![Happened::StreamLost(1)]));
}

#[test]
fn a_server_refuses_what_breaks_the_rules() {
    let get = request(0x82, "/");
    let open = frame(HEADERS, END_HEADERS, 1, &request(0x83, "/upload"));
    let over = frame(HEADERS, WHOLE, 1, &get);
    let reset = |number: u32| (RST_STREAM, 0, 1, code(number).to_vec());
    for (bytes, number) in [
        (frame(HEADERS, WHOLE, 1, &[b"\x82\x86", AUTHORITY].concat()), 1),
        (frame(HEADERS, WHOLE, 1, b"\x82\x86\x04\x01/"), 1),
        (frame(HEADERS, WHOLE, 1, &[&get[..], AUTHORITY].concat()), 1),
        (frame(HEADERS, WHOLE, 1, &[&get[..], b"\x0f\x17\x01g"].concat()), 1),
        (frame(HEADERS, END_HEADERS, 1, &[&get[..], b"\x0f\x0d\x010\x0f\x0d\x015"].concat()), 1),
        ([open.clone(), frame(WINDOW_UPDATE, 0, 1, &code(i32::MAX as u32))].concat(), 3),
        (frame(HEADERS, END_HEADERS, 1, &[b"\x02\x07CONNECT", AUTHORITY].concat()), 1),
        (frame(HEADERS, END_HEADERS, 1, &[b"\x02\x07CONNECT\x86\x04\x01/", AUTHORITY].concat()), 1),
        (frame(HEADERS, WHOLE, 1, &[&get[..], b"\x0f\x0d\x013"].concat()), 1),
        (frame(HEADERS, WHOLE, 1, &[&get[..], b"\x0f\x0d\x01x"].concat()), 1),
        (frame(HEADERS, WHOLE, 1, &[&get[..], b"\x00\x07upgrade\x01x"].concat()), 1),
        ([frame(HEADERS, END_HEADERS, 1, &get), frame(HEADERS, END_HEADERS, 1, b"")].concat(), 1),
    ] {
        assert_eq!(served(&bytes), (vec![reset(number)], 0, Ok(())), "{}", bytes.escape_ascii());
    }
    for (bytes, failure) in [
        (frame(HEADERS, WHOLE, 2, &get), bad(Http2Reason::Frame)),
        (frame(DATA, 0, 1, b"x"), bad(Http2Reason::Frame)),
        ([frame(HEADERS, WHOLE, 5, &get), frame(HEADERS, WHOLE, 4, &get)].concat(), bad(Http2Reason::Frame)),
        (frame(RST_STREAM, 0, 1, &code(8)).repeat(2), bad(Http2Reason::Frame)),
        ([frame(HEADERS, WHOLE, 5, &get), frame(HEADERS, WHOLE, 3, &get)].concat(), bad(Http2Reason::Frame)),
        ([frame(HEADERS, WHOLE, 5, &get), frame(DATA, 0, 3, b"x")].concat(), bad(Http2Reason::Frame)),
        ([over.clone(), over.clone()].concat(), bad(Http2Reason::StreamClosed)),
        ([over.clone(), frame(DATA, END_STREAM, 1, b"x")].concat(), bad(Http2Reason::StreamClosed)),
        (
            [open.clone(), frame(RST_STREAM, 0, 1, &code(8)), frame(DATA, 0, 1, b"x")].concat(),
            bad(Http2Reason::StreamClosed),
        ),
        (frame(WINDOW_UPDATE, 0, 0, &code(i32::MAX as u32)), bad(Http2Reason::FlowControl)),
        (
            [open.clone(), frame(WINDOW_UPDATE, 0, 1, &code(1)), settings(&[(4, i32::MAX as u32)])].concat(),
            bad(Http2Reason::FlowControl),
        ),
        (frame(PING, 0, 0, &[0; 8]).repeat(2000), bad(Http2Reason::Flood)),
    ] {
        let (all, _, result) = served(&bytes);
        assert_eq!(result, Err(failure));
        assert_eq!(all.last().map(|frame| frame.0), Some(GOAWAY), "it is told why");
    }
    // What was under way when the server ended a stream is discarded, and a reset of one that is over is none
    // to answer.
    let late = [frame(HEADERS, END_HEADERS, 1, b""), frame(DATA, 0, 1, b"x"), frame(HEADERS, WHOLE, 1, b"")];
    assert_eq!(served(&late.concat()), (vec![reset(1)], 0, Ok(())));
    let (all, _, result) = served(&[over, frame(RST_STREAM, 0, 1, &code(8))].concat());
    assert_eq!((all.len(), result), (1, Ok(())));
    let too_much = [frame(HEADERS, END_HEADERS, 1, &request(0x83, "/upload"))]
        .into_iter()
        .chain(std::iter::repeat_n(frame(DATA, 0, 1, &[0; 16_000]), 66))
        .collect::<Vec<_>>();
    let (all, requested, _) = served(&too_much.concat());
    assert_eq!((all.iter().filter(|frame| frame.0 == RST_STREAM).count(), requested), (1, 1), "413");
    let outcome = serve(&ServerConfig::default(), b"PRI * HTTP/2.0\r\n\r\nSN\r\n\r\n");
    assert_eq!(outcome.result, Err(Failure::Codec(Error::NotHttp2)));
}

#[test]
fn empty_and_spaced_pseudo_fields_are_refused() {
    for head in [
        [b"\x82\x86\x04\x00", AUTHORITY].concat(),
        [b"\x82\x06\x00\x04\x01/", AUTHORITY].concat(),
        [b"\x02\x00\x86\x04\x01/", AUTHORITY].concat(),
        [b"\x82\x86\x04\x03/ x", AUTHORITY].concat(),
        [b"\x02\x04GET \x86\x04\x01/", AUTHORITY].concat(),
        [b"\x82\x86\x00\x06: path\x01/", AUTHORITY].concat(),
        b"\x82\x86\x04\x01/\x01\x00".to_vec(),
        b"\x82\x86\x04\x01/\x01\x03h x".to_vec(),
        b"\x82\x86\x04\x01/\x0f\x17\x01h\x0f\x17\x01h".to_vec(),
    ] {
        let refused = (vec![(RST_STREAM, 0, 1, code(1).to_vec())], 0, Ok(()));
        assert_eq!(served(&frame(HEADERS, WHOLE, 1, &head)), refused, "{}", head.escape_ascii());
    }
}

#[test]
fn servers_bound_concurrent_streams() {
    let head = request(0x83, "/upload");
    let bytes: Vec<u8> = (0..1001).flat_map(|n| frame(HEADERS, END_HEADERS, 2 * n + 1, &head)).collect();
    let (all, _, result) = served(&bytes);
    assert_eq!((all, result), (vec![(RST_STREAM, 0, 2001, code(7).to_vec())], Ok(())));
}

#[test]
fn occasional_pings_of_clients_are_no_flood() {
    let (cfg, mut server, mut io) = (ServerConfig::default(), Server::new(), Fake::default());
    let mut input = |second: u64, bytes: &[u8]| {
        let on = &mut |_: ServerEvent<'_>| {};
        server.handle_input(&cfg, second * 1_100_000_000, 0, bytes, &mut io, on)
    };
    input(0, &[PREFACE, &settings(&[])].concat()).unwrap();
    let ping = frame(PING, 0, 0, &[0; 8]);
    for second in 1..3_000 {
        input(second, &ping).unwrap();
    }
    assert_eq!(input(3_000, &ping.repeat(2_000)), Err(bad(Http2Reason::Flood)));
    let answered = frames(&io.out).into_iter().filter(|frame| (frame.0, frame.1) == (PING, ACK)).count();
    assert!((3_900..4_100).contains(&answered), "{answered}");
}
