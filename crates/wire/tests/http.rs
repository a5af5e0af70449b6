//! Plain requests: which answer belongs to which, when a connection is replaced, and when a client is lost.

use app::Kind;
use app::app_file::{AppFile, Broadcast, Say};
use app::people::Mix;
use app::template::{Names, Purpose, Quoting, Template};
use codec::{Error, HttpReason, Stamp, StreamId};
use wire::{
    BadOption, Client, Config, DialectId, Event, Failure, HttpOptions, Io, RequestOutcome, Role, Sending,
    WrongResponse,
};

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
fn orderly_closes_repeat_the_rest() {
    let last = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
    let mut world = World::new(HttpOptions { pipelining: 3, ..HttpOptions::default() });
    world.send(0..3);
    world.receive(last).unwrap();
    assert_eq!((world.io.closed, world.io.opened), (1, 1));
    world.io.out.clear();
    world.open();
    assert_eq!(world.requests(), 2, "those that were not answered");
    world.receive(&OK.repeat(2)).unwrap();
    assert_eq!(world.answered(), (vec![0, 1, 2], vec![]));

    // Between answers, and with nothing to ask: a new one is made when there is.
    world.eof().unwrap();
    assert_eq!(world.io.opened, 1);
    assert_eq!(world.send([3]), 0);
    assert_eq!(world.io.opened, 2);
    world.open();
    assert_eq!(world.requests(), 1);
}

#[test]
fn a_body_may_end_with_its_connection() {
    let mut world = World::new(HttpOptions { expect_body: Some(b"all".to_vec()), ..HttpOptions::default() });
    world.send(0..2);
    world.receive("HTTP/1.0 200 OK\r\n\r\nal").unwrap();
    world.receive("l").unwrap();
    assert!(world.events.is_empty());
    world.eof().unwrap();
    assert_eq!(world.answered(), (vec![0], vec![]));
    assert_eq!(world.io.opened, 1);
}

#[test]
fn without_keep_alive_each_request_has_its_connection() {
    let mut world = World::new(HttpOptions { keep_alive: false, ..HttpOptions::default() });
    assert_eq!(world.send(0..2), 1);
    assert!(world.io.out.ends_with(b"\r\nConnection: close\r\n\r\n"));
    // Even where the server would go on.
    world.receive(OK).unwrap();
    assert_eq!((world.io.closed, world.io.opened), (1, 1));
    world.io.out.clear();
    world.open();
    assert_eq!(world.requests(), 1);
    world.receive(OK).unwrap();
    assert_eq!((world.io.closed, world.io.opened), (2, 1), "nothing left to ask");
    assert_eq!(world.answered(), (vec![0, 1], vec![]));
}

#[test]
fn a_connection_that_never_answered_loses_the_client() {
    let bad_head = Failure::Codec(Error::BadHttp(HttpReason::FieldLine));
    let cut = "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf";
    for (answer, failure) in [
        ("", Failure::Codec(Error::EofBeforeAnswer)),
        ("HTTP/1.", Failure::Codec(Error::EofBeforeAnswer)),
        (cut, Failure::Codec(Error::EofBeforeAnswer)),
        ("SSH-2.0-OpenSSH\r\n", Failure::Codec(Error::NotHttp)),
        ("HTTP/1.1 200 OK\r\nA : b\r\n\r\n", bad_head),
        ("HTTP/1.1 101 Switching Protocols\r\n\r\n", Failure::Codec(Error::HttpStatus(101))),
    ] {
        // At first, and after a connection that did well.
        for before in [0, 1] {
            let mut world = World::new(HttpOptions::default());
            for number in 0..before {
                world.send([number]);
                world.receive(OK).unwrap();
            }
            world.send([before]);
            let result = world.receive(answer).and_then(|()| world.eof());
            if before == 0 {
                assert_eq!(result, Err(failure), "{answer}");
                continue;
            }
            assert_eq!(result, Ok(()), "{answer}");
            let behind = match failure {
                Failure::Codec(Error::NotHttp) => Failure::Codec(Error::BadHttp(HttpReason::Surplus)),
                other => other,
            };
            let broken = if answer.is_empty() { vec![] } else { vec![Event::Broken(behind)] };
            assert_eq!(world.answered(), (vec![0], broken), "{answer}");
            world.open();
            let result = world.receive(answer).and_then(|()| world.eof());
            assert_eq!(result, Err(failure), "{answer}, again");
        }
    }
}

#[test]
fn only_early_resets_fail_the_client() {
    let mut world = World::new(HttpOptions::default());
    world.send([0]);
    assert!(!world.client.handle_lost(&world.cfg, 0, 0, &mut world.io));

    let mut world = World::new(HttpOptions::default());
    world.send(0..2);
    world.receive(OK).unwrap();
    assert!(world.client.handle_lost(&world.cfg, 0, 0, &mut world.io));
    assert_eq!(world.io.opened, 1);
    world.io.out.clear();
    world.open();
    assert_eq!(world.requests(), 1);
}

#[test]
fn waiting_requests_are_told_once_when_sent() {
    let mut world = World::new(HttpOptions { pipelining: 2, ..HttpOptions::default() });
    let send = |world: &mut World, number| {
        world.client.send(&world.cfg, 9_000_000, 0, Kind::Echo, stamp(number), &mut world.io)
    };
    let busy = Sending::Waits { is_busy: true };
    assert_eq!([0, 1, 2, 3].map(|number| send(&mut world, number)), [Sending::Out, Sending::Out, busy, busy]);
    assert_eq!(world.io.request_outcomes, []);
    world.receive(OK).unwrap();
    let sent = |number| (number, RequestOutcome::Sent { bytes: REQUEST.len() as u32 });
    assert_eq!(world.io.request_outcomes, [sent(2)]);
    // What is sent again is no news.
    assert!(world.client.handle_lost(&world.cfg, 0, 0, &mut world.io));
    world.open();
    assert_eq!(world.io.request_outcomes, [sent(2)]);
    world.receive(&OK.repeat(2)).unwrap();
    assert_eq!(world.io.request_outcomes, [sent(2), sent(3)]);
    world.receive(OK).unwrap();
    // To wait for a connection is not to wait for an answer.
    world.eof().unwrap();
    assert_eq!([4, 5].map(|number| send(&mut world, number)), [Sending::Waits { is_busy: false }; 2]);
    assert_eq!(send(&mut world, 6), busy);
    world.open();
    assert_eq!(world.io.request_outcomes[2..], [sent(4), sent(5)]);
}

#[test]
fn only_idempotent_requests_are_sent_again() {
    type End = fn(&mut World);
    let ends: [(&str, End); 3] = [
        ("a reset", |world| assert!(world.client.handle_lost(&world.cfg, 0, 0, &mut world.io))),
        ("an end", |world| world.eof().unwrap()),
        ("rubbish", |world| world.receive("SSH-2.0-OpenSSH\r\n").unwrap()),
    ];
    for (method, again) in [("POST", 0), ("PATCH", 0), ("GET", 2), ("PUT", 2), ("DELETE", 2)] {
        for (name, end) in ends {
            let mut world =
                World::new(HttpOptions { method: method.into(), pipelining: 2, ..HttpOptions::default() });
            world.send(0..4);
            world.receive(OK).unwrap();
            end(&mut world);
            let dropped: Vec<u32> = world
                .io
                .request_outcomes
                .iter()
                .filter(|(_, outcome)| *outcome == RequestOutcome::Dropped)
                .map(|&(number, _)| number)
                .collect();
            assert_eq!(dropped, if again == 0 { vec![1, 2] } else { vec![] }, "{method}, {name}");
            world.io.out.clear();
            world.open();
            // What had not been sent yet is.
            assert_eq!(world.requests(), if again == 0 { 1 } else { 2 }, "{method}, {name}");
        }
    }
    // A server that has said which answer is its last has not done what follows.
    let mut world =
        World::new(HttpOptions { method: "POST".into(), pipelining: 2, ..HttpOptions::default() });
    world.send(0..2);
    world.receive("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n").unwrap();
    world.io.out.clear();
    world.open();
    assert_eq!((world.requests(), world.io.request_outcomes.len()), (1, 0));
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

#[test]
fn broadcasts_are_bodies_by_their_sender() {
    let mut people = app::people::People::default();
    people.names.set("person.id", Template::of_client());
    let body =
        Template::parse(r#"{"n":{person.id},"id":"{id}"}"#, Purpose::Measured, &people.names, Quoting::JSON);
    let send = Say { body: body.unwrap(), ..Say::default() };
    let broadcast = Broadcast::of(send);
    let mut all = options(DialectId::Http);
    all.path = "/users/{person.id}".into();
    all.people = people.into();
    all.of_dialect.app = Some(AppFile { broadcasts: vec![broadcast], ..AppFile::default() }.into());
    all.of_dialect.settings = HttpOptions { method: "POST".into(), ..HttpOptions::default() }.into();
    let cfg = Config::new(all).unwrap();

    const SENT_NS: u64 = 7_000_000;
    const LATER_NS: u64 = 9_000_000;
    let (mut client, mut io) = (Client::new(), Streams::default());
    client.handle_open(&cfg, 0, 0, &mut io);
    assert!(client.is_usable(), "there is nothing to open");
    let mut events = Vec::new();
    // The second waits for the answer to the first, which comes while another client's request is sent.
    for (of, sending) in [(7, Sending::Out), (12, Sending::Waits { is_busy: true })] {
        io.client = of;
        assert_eq!(client.send(&cfg, SENT_NS, 0, Kind::Broadcast, stamp(of), &mut io), sending);
    }
    io.client = 0;
    let first = std::mem::take(&mut io.out);
    client.handle_input(&cfg, LATER_NS, 0, OK.as_bytes(), &mut io, &mut |event| events.push(event)).unwrap();
    let written = |of, now_ns| stamp(of).sent_at(now_ns);
    for (of, request, stamp) in [(7, first, written(7, SENT_NS)), (12, io.out, written(12, LATER_NS))] {
        let id = String::from_utf8(stamp.to_text().to_vec()).unwrap();
        let body = format!(r#"{{"n":{of},"id":"{id}"}}"#);
        let head = format!(
            "POST /users/{of} HTTP/1.1\r\nHost: 127.0.0.1:9000\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        assert_eq!(String::from_utf8(request).unwrap(), head + &body);
    }
    let (role, bytes) = (Role::Answer { status: 200 }, OK.len() as u32);
    assert_eq!(events, [Event::Message { role, stamp: written(7, SENT_NS), bytes }]);
    assert!(
        matches!(io.request_outcomes[..], [(12, RequestOutcome::Sent { .. })]),
        "{:?}",
        io.request_outcomes
    );
}

#[test]
fn kinds_of_broadcasts_have_their_own_place() {
    let say = |text: &str| {
        let body = Template::parse(text, Purpose::Measured, &Names::default(), Quoting::JSON).unwrap();
        Broadcast::of(Say { body, ..Say::default() })
    };
    let (notes, news) = (say("note {id}"), say("news {id}"));
    let news = Broadcast { target: Some(Template::literal("/news?at=once")), ..news };
    let mut all = options(DialectId::Http);
    all.path = "/notes".into();
    all.of_dialect.app = Some(AppFile { broadcasts: vec![notes, news], ..AppFile::default() }.into());
    let of_post = HttpOptions { method: "POST".into(), ..HttpOptions::default() };
    all.of_dialect.settings = of_post.into();
    let nowhere = Template::literal("/two words");
    let mut bad = all.clone();
    let broadcasts = vec![Broadcast { target: Some(nowhere), ..say("{id}") }];
    bad.of_dialect.app = Some(AppFile { broadcasts, ..AppFile::default() }.into());
    assert_eq!(Config::new(bad).err(), Some(BadOption::Path));

    let cfg = Config::new(all).unwrap();
    let (mut client, mut io) = (Client::new(), Streams::default());
    client.handle_open(&cfg, 0, 0, &mut io);
    let mix = Mix::new([1, 1]);
    let mut seen = [0; 2];
    for seq in 0..20 {
        let stamp = Stamp::new(1, 2, seq, 3, 4);
        // All but the first wait for the answer to the one before.
        client.send(&cfg, 4, 0, Kind::Broadcast, stamp, &mut io);
    }
    for seq in 0..20 {
        let request = String::from_utf8(std::mem::take(&mut io.out)).unwrap();
        let kind = mix.kind(1, 2, seq);
        let (head, body) =
            [("POST /notes HTTP/1.1\r\n", "\r\n\r\nnote "), ("POST /news?at=once ", "\r\n\r\nnews ")][kind];
        assert!(request.starts_with(head) && request.contains(body), "{kind}: {request}");
        seen[kind] += 1;
        client.handle_input(&cfg, 5, 0, OK.as_bytes(), &mut io, &mut |_| ()).unwrap();
    }
    assert!(seen.iter().all(|&count| count > 5), "{seen:?}");
}

#[test]
fn published_messages_have_their_senders_numbers() {
    let text = "{seq} {uuid} {id}";
    let body = Template::parse(text, Purpose::Measured, &Names::default(), Quoting::JSON).unwrap();
    let broadcasts = vec![Broadcast::of(Say { body, ..Say::default() })];
    let mut all = options(DialectId::Http);
    all.of_dialect.app = Some(AppFile { broadcasts, ..AppFile::default() }.into());
    let http = HttpOptions { method: "PUT".into(), pipelining: 2, ..HttpOptions::default() };
    all.of_dialect.settings = http.into();
    let cfg = Config::new(all).unwrap();
    let (mut client, mut io) = (Client::new(), Streams::default());
    client.handle_open(&cfg, 0, 0, &mut io);
    for number in [3, 5] {
        client.send(&cfg, 9_000_000, 0, Kind::Broadcast, stamp(number), &mut io);
    }
    let sent = |io: &mut Streams| -> Vec<(String, String)> {
        let out = String::from_utf8(std::mem::take(&mut io.out)).unwrap();
        let bodies = out.split("\r\n\r\n").skip(1);
        let words = bodies.map(|body| body.split(' ').map(str::to_owned));
        words.map(|mut words| (words.next().unwrap(), words.next().unwrap())).collect()
    };
    let first = sent(&mut io);
    assert_eq!(first.iter().map(|(seq, _)| &seq[..]).collect::<Vec<_>>(), ["3", "5"]);
    assert_ne!(first[0].1, first[1].1);

    // The second is sent again over another connection.
    client.handle_input(&cfg, 9_000_000, 0, OK.as_bytes(), &mut io, &mut |_| ()).unwrap();
    client.handle_eof(&cfg, 9_000_000, 0, &mut io, &mut |_| ()).unwrap();
    client.handle_open(&cfg, 9_000_000, 0, &mut io);
    client.send(&cfg, 9_000_000, 0, Kind::Broadcast, stamp(8), &mut io);
    assert_eq!(sent(&mut io).iter().map(|(seq, _)| &seq[..]).collect::<Vec<_>>(), ["5", "8"]);
}
