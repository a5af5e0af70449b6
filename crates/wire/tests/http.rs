//! Plain requests: what goes out, which answer belongs to which, and which answers are wrong.

mod broadcasts;
mod connections;

use app::Kind;
use codec::{Error, HttpReason, Stamp, StreamId};
use wire::{Client, Config, DialectId, Event, Failure, HttpOptions, Io, RequestOutcome, Role, WrongResponse};

use crate::common::{options, stamp};

const REQUEST: &str = "GET /a?b=c HTTP/1.1\r\nHost: 127.0.0.1:9000\r\n\r\n";
const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

/// One client, and the world it acts on.
struct World {
    cfg: Config,
    client: Client,
    io: Streams,
    events: Vec<Event>,
    /// The statuses of all answers, in order.
    statuses: Vec<u16>,
}

/// A session's only stream.
#[derive(Default)]
struct Streams {
    out: Vec<u8>,
    opened: u32,
    closed: u32,
    /// Outcomes by message.
    request_outcomes: Vec<(u32, RequestOutcome)>,
    /// The client's number.
    client: u32,
}

impl codec::Io for Streams {
    fn out(&mut self, stream: StreamId) -> &mut Vec<u8> {
        assert_eq!(stream, 0);
        &mut self.out
    }

    fn random_u64(&mut self) -> u64 {
        0
    }

    fn open_stream(&mut self, stream: StreamId) {
        assert_eq!(stream, 0);
        self.opened += 1;
    }

    fn close_stream(&mut self, stream: StreamId) {
        assert_eq!(stream, 0);
        self.closed += 1;
    }
}

impl Io for Streams {
    fn client(&self) -> u32 {
        self.client
    }

    fn handle_request_outcome(&mut self, stamp: Stamp, outcome: RequestOutcome) {
        self.request_outcomes.push((stamp.seq, outcome));
    }
}

impl World {
    /// A connected client with these choices.
    fn new(http: HttpOptions) -> World {
        let mut options = options(DialectId::Http);
        options.path = "/a?b=c".into();
        options.of_dialect.settings = http.into();
        let cfg = Config::new(options).unwrap();
        let mut world = World {
            cfg,
            client: Client::new(),
            io: Streams::default(),
            events: Vec::new(),
            statuses: Vec::new(),
        };
        world.open();
        assert!(world.client.is_usable());
        world
    }

    fn open(&mut self) {
        self.client.handle_open(&self.cfg, 0, 0, &mut self.io);
    }

    /// Sends the requests of these numbers; how many went out.
    fn send(&mut self, numbers: impl IntoIterator<Item = u32>) -> usize {
        self.io.out.clear();
        for number in numbers {
            self.client.send(&self.cfg, 9_000_000, 0, Kind::Echo, stamp(number), &mut self.io);
        }
        self.requests()
    }

    /// Requests written since the output was last emptied.
    fn requests(&self) -> usize {
        self.io.out.windows(11).filter(|bytes| *bytes == b" HTTP/1.1\r\n").count()
    }

    fn receive(&mut self, bytes: &str) -> Result<(), Failure> {
        let on = &mut |event| self.events.push(event);
        self.client.handle_input(&self.cfg, 9_000_000, 0, bytes.as_bytes(), &mut self.io, on)
    }

    fn eof(&mut self) -> Result<(), Failure> {
        let on = &mut |event| self.events.push(event);
        self.client.handle_eof(&self.cfg, 9_000_000, 0, &mut self.io, on)
    }

    /// The numbers answered, in order, and all other events.
    fn answered(&mut self) -> (Vec<u32>, Vec<Event>) {
        let (mut numbers, mut others) = (Vec::new(), Vec::new());
        for event in self.events.drain(..) {
            match event {
                Event::Message { role: Role::Answer { status }, stamp, .. } => {
                    numbers.push(stamp.seq);
                    self.statuses.push(status);
                }
                other => others.push(other),
            }
        }
        (numbers, others)
    }
}

#[test]
fn a_request_is_what_was_asked_for() {
    let mut world = World::new(HttpOptions::default());
    world.send([0]);
    assert_eq!(world.io.out, REQUEST.as_bytes());
    let http = HttpOptions { method: "POST".into(), body: Some(b"x=1".to_vec()), ..HttpOptions::default() };
    let mut world = World::new(http);
    world.send([0]);
    let request = "POST /a?b=c HTTP/1.1\r\nHost: 127.0.0.1:9000\r\nContent-Length: 3\r\n\r\nx=1";
    assert_eq!(String::from_utf8_lossy(&world.io.out), request);
}

#[test]
fn every_answer_says_its_status() {
    let mut world = World::new(HttpOptions::default());
    world.send([0, 1]);
    world.receive(OK).unwrap();
    world.receive("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n").unwrap();
    world.answered();
    assert_eq!(world.statuses, [200, 404]);
}

#[test]
fn pipelined_answers_belong_to_the_oldest_requests() {
    let answers = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n\
        HTTP/1.1 204 No Content\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n";
    for step in 1..=answers.len() {
        let mut world = World::new(HttpOptions { pipelining: 3, ..HttpOptions::default() });
        assert_eq!(world.send(0..5), 3, "no more than may be under way");
        world.io.out.clear();
        for portion in answers.as_bytes().chunks(step) {
            world.receive(std::str::from_utf8(portion).unwrap()).unwrap();
        }
        assert_eq!(world.answered(), (vec![0, 1, 2], vec![]), "by {step}");
        assert_eq!(world.requests(), 2, "what had to wait goes out");
    }
}

#[test]
fn answers_have_size_and_sending_time() {
    let mut world = World::new(HttpOptions::default());
    world.send([7]);
    world.receive(OK).unwrap();
    let [Event::Message { stamp, bytes, .. }] = world.events[..] else { panic!("{:?}", world.events) };
    assert_eq!(bytes as usize, OK.len());
    assert_eq!(stamp.intended_ns, 1_000_007);
    assert!(stamp.sent_ns().abs_diff(9_000_000) < codec::stamp::LAG_UNIT_NS, "{}", stamp.sent_ns());
}

#[test]
fn answers_without_a_body() {
    let head = HttpOptions { method: "HEAD".into(), ..HttpOptions::default() };
    let not_modified = HttpOptions { expect_status: vec![(304, 304)], ..HttpOptions::default() };
    for (http, answer) in [
        (head, "HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n"),
        (not_modified, "HTTP/1.1 304 Not Modified\r\nContent-Length: 500\r\n\r\n"),
    ] {
        let mut world = World::new(http);
        world.send([0]);
        world.receive(answer).unwrap();
        assert_eq!(world.answered(), (vec![0], vec![]), "{answer}");
    }
}

#[test]
fn a_wrong_answer_is_an_answer_and_said() {
    let wrong = |answer: &str, wrong: WrongResponse| {
        for step in [1, answer.len()] {
            let mut world =
                World::new(HttpOptions { expect_body: Some(b"ok".to_vec()), ..HttpOptions::default() });
            world.send(0..2);
            for portion in answer.as_bytes().chunks(step) {
                world.receive(std::str::from_utf8(portion).unwrap()).unwrap();
            }
            world.receive(OK).unwrap();
            assert_eq!(world.answered(), (vec![0, 1], vec![Event::WrongResponse(wrong)]), "{answer}");
        }
    };
    wrong("HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\nok", WrongResponse::Status(404));
    wrong("HTTP/1.1 503 Busy\r\nContent-Length: 4\r\n\r\nbusy", WrongResponse::Status(503));
    wrong("HTTP/1.1 302 Found\r\nContent-Length: 0\r\n\r\n", WrongResponse::Status(302));
    for body in ["o", "ko", "okay", ""] {
        wrong(
            &format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len()),
            WrongResponse::Body,
        );
    }
    assert_eq!(WrongResponse::Status(404).name(), "http_4xx");
}

#[test]
fn nobody_asked_for_it() {
    let mut world = World::new(HttpOptions::default());
    assert_eq!(world.receive(OK), Err(Failure::Codec(Error::NotHttp)));
    let mut world = World::new(HttpOptions::default());
    world.send([0]);
    world.receive(OK).unwrap();
    world.receive("HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n").unwrap();
    assert_eq!(world.receive(OK), Ok(()), "the connection is over");
}

#[test]
fn bytes_behind_an_answer_are_surplus() {
    let answer = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabcd";
    for (asked, step) in [(1, 1), (1, answer.len()), (2, 1), (2, answer.len())] {
        let mut world = World::new(HttpOptions { pipelining: 2, ..HttpOptions::default() });
        world.send(0..asked);
        for portion in answer.as_bytes().chunks(step) {
            world.receive(std::str::from_utf8(portion).unwrap()).unwrap();
        }
        let surplus = Failure::Codec(Error::BadHttp(HttpReason::Surplus));
        assert_eq!(world.answered(), (vec![0], vec![Event::Broken(surplus)]), "{asked} by {step}");
    }
}

#[test]
fn choices_that_cannot_be_carried_out() {
    let bad = |http: HttpOptions, named: &str| {
        let mut options = options(DialectId::Http);
        options.of_dialect.settings = http.into();
        match Config::new(options) {
            Err(wire::BadOption::OfDialect { option, .. }) => assert_eq!(option, named),
            other => panic!("{other:?}"),
        }
    };
    let of = HttpOptions::default;
    bad(HttpOptions { method: "GE T".into(), ..of() }, "method");
    bad(HttpOptions { method: "CONNECT".into(), ..of() }, "method");
    bad(HttpOptions { body: Some(vec![0; (16 << 20) + 1]), ..of() }, "body or --input");
    bad(HttpOptions { pipelining: 0, ..of() }, "pipelining");
    bad(HttpOptions { pipelining: 2, keep_alive: false, ..of() }, "no-keep-alive");
    bad(HttpOptions { expect_status: vec![(100, 199)], ..of() }, "expect-status");
    bad(HttpOptions { expect_status: vec![(300, 200)], ..of() }, "expect-status");
}
