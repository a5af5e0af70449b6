//! Server-sent events in both roles: a client before answers as Node.js and nchan write them and before what
//! is no stream, a server before requests, and the two joined.

use std::sync::Arc;

use codec::{Error, HttpReason, Limits, StreamId};
use wire::{
    BadOption, Client, Coding, Config, DialectId, Event, Failure, History, Io, Keep, Media, Options,
    Reconnection, ReplayFault, Resumption, Role, Settings, StreamReason,
};

use crate::common::visitor::people;
use crate::common::world::World;
use crate::common::{options, stamp};

/// Node's http and Express, of which each write is a chunk.
const NODE: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-cache\r\n\
    Date: Sun, 29 Nov 2026 00:00:00 GMT\r\nConnection: keep-alive\r\nKeep-Alive: timeout=5\r\nTransfer-Encoding: chunked\r\n\r\n";
/// nchan 1.3.6, whose answer ends with the connection, and begins with a comment.
const NCHAN: &str = "HTTP/1.1 200 OK\r\nServer: nginx/1.22.1\r\nDate: Sun, 29 Nov 2026 00:50:23 GMT\r\n\
    Content-Type: text/event-stream; charset=utf-8\r\nConnection: keep-alive\r\n\r\n: hi\n\n";

/// A client's connection.
#[derive(Default)]
pub(crate) struct Wire {
    pub(crate) out: Vec<u8>,
    pub(crate) opened: u32,
}

impl codec::Io for Wire {
    fn out(&mut self, stream: StreamId) -> &mut Vec<u8> {
        assert_eq!(stream, 0);
        &mut self.out
    }

    fn random_u64(&mut self) -> u64 {
        0
    }

    fn open_stream(&mut self, _: StreamId) {
        self.opened += 1;
    }

    fn close_stream(&mut self, _: StreamId) {}
}

impl Io for Wire {}

fn cfg() -> Config {
    Config::new(options(DialectId::Sse)).unwrap()
}

/// A client, and all that it has told.
pub(crate) struct User {
    pub(crate) cfg: Config,
    pub(crate) client: Client,
    pub(crate) io: Wire,
    pub(crate) events: Vec<Event>,
}

impl User {
    pub(crate) fn of(cfg: Config, client: Client) -> User {
        let mut user = User { cfg, client, io: Wire::default(), events: Vec::new() };
        user.client.handle_open(&user.cfg, 0, 0, &mut user.io);
        user
    }

    fn new() -> User {
        User::of(cfg(), Client::new())
    }

    pub(crate) fn hear(&mut self, bytes: &[u8], step: usize) -> Result<(), Failure> {
        let User { cfg, client, io, events } = self;
        bytes.chunks(step).try_for_each(|portion| {
            client.handle_input(cfg, 0, 0, portion, io, &mut |event| events.push(event))
        })
    }

    fn asked(&mut self) -> String {
        String::from_utf8(std::mem::take(&mut self.io.out)).unwrap()
    }

    fn last_id(&self) -> Option<Resumption> {
        self.client.resumption(true)
    }
}

pub(crate) fn payload(seq: u32) -> String {
    let id = stamp(seq).to_text();
    format!(r#"{{"sendTime":"1478000000123456789","id":"{}"}}"#, std::str::from_utf8(&id).unwrap())
}

fn chunk(text: &str) -> String {
    format!("{:x}\r\n{text}\r\n", text.len())
}

pub(crate) fn copy(seq: u32) -> Event {
    Event::Message { role: Role::Copy, stamp: stamp(seq), bytes: payload(seq).len() as u32 }
}

#[test]
fn events_are_copies_in_any_portions() {
    let events = [format!("data: {}\n\n", payload(1)), format!("id: 7\r\ndata:{}\r\n\r\n", payload(2))];
    for said in [
        NODE.to_owned() + &chunk(&events[0]) + &chunk(": ping\n\n") + &chunk(&events[1]),
        NODE.to_owned() + &chunk(&events.concat()[..9]) + &chunk(&events.concat()[9..]),
        NCHAN.to_owned() + &events.concat(),
    ] {
        for step in [1, 2, 7, 64, said.len()] {
            let mut user = User::new();
            assert!(!user.client.is_usable());
            user.hear(said.as_bytes(), step).unwrap();
            assert_eq!(user.events, [Event::Upgraded, Event::Usable, copy(1), copy(2)], "by {step}: {said}");
            assert!(user.client.is_usable());
        }
    }
}

#[test]
fn clients_have_a_place_from_the_first_event() {
    let mut user = User::new();
    user.hear(NCHAN.as_bytes(), 64).unwrap();
    assert!(user.client.is_usable() && user.client.lacks_place(&user.cfg));
    user.hear(b"id: 7\ndata: x\n\n", 64).unwrap();
    assert!(!user.client.lacks_place(&user.cfg));
    let mut again = User::of(cfg(), Client::resuming(user.last_id().unwrap()));
    again.hear(NCHAN.as_bytes(), 64).unwrap();
    assert!(
        !again.client.lacks_place(&again.cfg),
        "the ID of the event before is good for the next time, too"
    );
}

#[test]
fn servers_say_when_to_come_back() {
    let mut user = User::new();
    user.hear(NCHAN.as_bytes(), 64).unwrap();
    assert_eq!(user.client.reconnection(), Reconnection::Usual);
    user.hear(b"retry: 200\n\nretry: soon\n\n", 64).unwrap();
    assert_eq!(user.client.reconnection(), Reconnection::After { wait_ns: 200_000_000 });
    let mut user = User::new();
    let refused = user.hear(b"HTTP/1.1 204 No Content\r\n\r\n", 64);
    assert_eq!(refused, Err(Failure::EventStream(StreamReason::NoContent)));
    assert_eq!(user.client.reconnection(), Reconnection::Never);
}

#[test]
fn streams_may_be_longer_than_bodies() {
    let event = format!("data: {}\n\n", payload(1));
    let times = Limits::default().body_bytes_max as usize / event.len() + 1;
    for (head, event) in [(NODE, chunk(&event)), (NCHAN, event)] {
        let mut user = User::new();
        user.hear((head.to_owned() + &event.repeat(times)).as_bytes(), 1 << 16).unwrap();
        assert_eq!(user.events.len(), 2 + times);
    }
}

#[test]
fn other_events_are_foreign_or_corrupt() {
    let id = stamp(1).to_text();
    let id = std::str::from_utf8(&id).unwrap();
    let broken = payload(1).replace(id, &(id[..id.len() - 1].to_owned() + "?"));
    let said = NCHAN.to_owned() + &format!("event: hello\ndata: a\ndata: b\n\ndata: {broken}\n\n");
    let mut user = User::new();
    user.hear(said.as_bytes(), said.len()).unwrap();
    let bytes = broken.len() as u32;
    assert_eq!(user.events[2..], [Event::Foreign { bytes: 3 }, Event::Corrupt { stamp: None, bytes }]);
}

#[test]
fn requests_ask_for_a_stream() {
    let mut user = User::new();
    let asked = user.asked();
    assert!(
        asked.starts_with("GET /events HTTP/1.1\r\nHost: 127.0.0.1:9000\r\nAccept: text/event-stream\r\n"),
        "{asked}"
    );
    assert!(asked.ends_with("\r\n\r\n") && !asked.contains("Last-Event-ID"), "{asked}");
    let with = |name: &str, value: &str| {
        let headers = vec![(name.to_owned(), value.into())];
        Config::new(Options { headers, ..options(DialectId::Sse) })
    };
    let asked = User::of(with("accept", "*/*").unwrap(), Client::new()).asked();
    assert!(asked.contains("accept: */*\r\n") && !asked.contains("Accept:"), "{asked}");
    assert!(with("last-event-id", "5").is_err());
}

/// The configuration of clients whose request has this method, this body, and these fields besides.
fn asking(method: &str, body: Option<&str>, headers: &[(&str, &str)]) -> Result<Config, BadOption> {
    let mut all = options(DialectId::Sse);
    let settings = if method.is_empty() {
        Settings::default()
    } else {
        Settings::default().with("connect-method", method)
    };
    all.of_dialect.settings = body.into_iter().fold(settings, |all, body| all.with("connect-body", body));
    all.headers = headers.iter().map(|&(name, value)| (name.to_owned(), value.into())).collect();
    Config::new(all)
}

#[test]
fn requests_may_have_a_body() {
    let of = |method: &str, body, headers: &[(&str, &str)]| {
        User::of(asking(method, body, headers).unwrap(), Client::new()).asked()
    };
    let json = of("", Some(r#"{"q":1}"#), &[]);
    assert!(json.starts_with("POST /events HTTP/1.1\r\n"), "{json}");
    assert!(json.contains("\r\nContent-Type: application/json\r\n"), "{json}");
    assert!(json.ends_with("\r\nContent-Length: 7\r\n\r\n{\"q\":1}"), "{json}");
    let own = of("PUT", Some("[1]"), &[("content-type", "text/x")]);
    assert!(own.starts_with("PUT ") && own.contains("\r\ncontent-type: text/x\r\n"), "{own}");
    assert!(!own.contains("application/json"), "{own}");
    assert!(!of("", Some("tea"), &[]).contains("Content-Type"));
    let empty = of("POST", None, &[]);
    assert!(empty.ends_with("\r\nContent-Length: 0\r\n\r\n"), "{empty}");
    let small = of("post", Some("tea"), &[]);
    assert!(small.starts_with("POST "), "{small}");
    for method in ["GE T", "CONNECT", "HEAD", "head"] {
        assert!(asking(method, None, &[]).is_err(), "{method}");
    }
}

#[test]
fn body_values_are_escaped_for_the_media_type() {
    for (body, media, written) in [
        (r#"{"q":"{person.name}"}"#, None, r#"{"q":"a&b \"c\""}"#),
        ("{person.name}", Some("application/vnd.x+json; charset=utf-8"), r#"a&b \"c\""#),
        ("q={person.name}", Some("Application/x-www-form-urlencoded"), "q=a%26b%20%22c%22"),
        (r#"{"q":"{person.name}"}"#, Some("text/plain"), r#"{"q":"a&b "c""}"#),
        ("q={person.name}", None, r#"q=a&b "c""#),
    ] {
        let mut all = options(DialectId::Sse);
        all.people = people(&[]).into();
        all.of_dialect.settings = Settings::default().with("connect-body", body);
        all.headers = media.into_iter().map(|media| ("content-type".to_owned(), media.into())).collect();
        let asked = User::of(Config::new(all).unwrap(), Client::new()).asked();
        assert!(asked.ends_with(&format!("\r\n\r\n{written}")), "{media:?}: {asked}");
    }
}

#[test]
fn redirects_keep_or_drop_the_body() {
    let headers = [("Content-Type", "text/x"), ("X-Own", "1")];
    for (method, status, keeps) in [
        ("POST", 301, false),
        ("POST", 302, false),
        ("POST", 303, false),
        ("POST", 307, true),
        ("POST", 308, true),
        ("PUT", 302, true),
        ("PUT", 303, false),
    ] {
        let mut user = User::of(asking(method, Some("tea"), &headers).unwrap(), Client::new());
        user.asked();
        // A GET stays one, wherever it is led from there.
        for status in [status, 307] {
            let moved = format!("HTTP/1.1 {status} Moved\r\nLocation: /else\r\nContent-Length: 0\r\n\r\n");
            user.hear(moved.as_bytes(), 7).unwrap();
            user.client.handle_open(&user.cfg, 0, 0, &mut user.io);
            let asked = user.asked();
            let start = format!("{} /else ", if keeps { method } else { "GET" });
            assert!(asked.starts_with(&start) && asked.contains("X-Own: 1\r\n"), "{status}: {asked}");
            let has_body = asked.contains("Content-Type: text/x") && asked.ends_with("3\r\n\r\ntea");
            assert_eq!(has_body, keeps, "{method} {status}: {asked}");
            assert!(keeps || !asked.contains("Content-"), "{method} {status}: {asked}");
        }
    }
}

#[test]
fn returning_clients_name_their_last_event() {
    let mut user = User::new();
    assert_eq!(user.last_id(), None);
    let said = NCHAN.to_owned() + "id: 7\ndata: 1\n\nid: 8\ndata: 2\n";
    user.hear(said.as_bytes(), said.len()).unwrap();
    let known = user.last_id().expect("an event with an id");
    let mut user = User::of(cfg(), Client::resuming(known.clone()));
    assert!(user.asked().ends_with("\r\nLast-Event-ID: 7\r\n\r\n"));
    assert_eq!(user.last_id(), Some(known.clone()), "before anything has come");
    let asked = User::of(asking("", Some("tea"), &[]).unwrap(), Client::resuming(known)).asked();
    assert!(asked.ends_with("\r\nLast-Event-ID: 7\r\nContent-Length: 3\r\n\r\ntea"), "{asked}");
}

#[test]
fn redirects_to_this_server_are_followed() {
    let to = |status: u16, location: &str| {
        format!(
            "HTTP/1.1 {status} Moved\r\nLocation: {location}\r\nSet-Cookie: a=1\r\nContent-Length: 0\r\n\r\n"
        )
    };
    for (status, location, target) in [
        (301, "/stream?x=1", "/stream?x=1"),
        (302, "stream", "/stream"),
        (307, "http://127.0.0.1:9000/stream", "/stream"),
        (307, "/a b", "/a%20b"),
    ] {
        let mut user = User::new();
        user.asked();
        user.hear(to(status, location).as_bytes(), 1).unwrap();
        assert_eq!(user.io.opened, 1);
        user.client.handle_open(&user.cfg, 0, 0, &mut user.io);
        let asked = user.asked();
        assert!(asked.starts_with(&format!("GET {target} ")) && asked.contains("Cookie: a=1\r\n"), "{asked}");
        user.hear(NODE.as_bytes(), 9).unwrap();
        assert!(user.client.is_usable());
    }
    let refused = Err(Failure::EventStream(StreamReason::Redirects));
    for elsewhere in ["http://example.org/", "//example.org/", "https://127.0.0.1:9000/"] {
        assert_eq!(User::new().hear(to(302, elsewhere).as_bytes(), 5), refused, "{elsewhere}");
    }
    let mut user = User::new();
    let times = (0..).take_while(|_| {
        let goes_on = user.hear(to(302, "/events").as_bytes(), 99).is_ok();
        user.client.handle_open(&user.cfg, 0, 0, &mut user.io);
        goes_on
    });
    assert_eq!(times.count(), 20);
}

#[test]
fn answers_that_are_no_stream_fail_by_name() {
    let head = |status: u16, fields: &str| {
        format!("HTTP/1.1 {status} Some\r\n{fields}Content-Length: 2\r\n\r\n{{}}")
    };
    let stream = |reason| Failure::EventStream(reason);
    for (said, failure) in [
        (head(200, "Content-Type: text/html; charset=utf-8\r\n"), stream(StreamReason::Media(Media::Html))),
        (head(200, "Content-Type: application/json\r\n"), stream(StreamReason::Media(Media::Json))),
        (head(200, ""), stream(StreamReason::Media(Media::Unknown))),
        (
            head(200, "Content-Type: text/event-stream\r\nContent-Encoding: gzip\r\n"),
            stream(StreamReason::Encoded(Coding::Gzip)),
        ),
        ("HTTP/1.1 204 No Content\r\n\r\n".to_owned(), stream(StreamReason::NoContent)),
        (head(404, "Content-Type: text/event-stream\r\n"), Failure::Codec(Error::HttpStatus(404))),
        (head(101, ""), Failure::Codec(Error::HttpStatus(101))),
        (head(302, ""), stream(StreamReason::Redirects)),
        ("SSH-2.0-x\r\n".to_owned(), Failure::Codec(Error::NotHttp)),
        (NODE.to_owned() + &chunk("data: 1\n\n") + "0\r\n\r\n", stream(StreamReason::End)),
        (NODE.to_owned() + "g\r\n", Failure::Codec(Error::BadHttp(HttpReason::Chunk))),
    ] {
        for step in [1, 10, said.len()] {
            assert_eq!(User::new().hear(said.as_bytes(), step), Err(failure), "{said}");
        }
    }
}

#[test]
fn endless_lines_are_bounded() {
    let limits = Limits { message_bytes_max: 1 << 10, ..Limits::default() };
    let cfg = || Config::new(Options { limits: limits.clone(), ..options(DialectId::Sse) }).unwrap();
    for endless in ["data: x", ": x", "event: x", "x", "data: x\n"] {
        let mut user = User::of(cfg(), Client::new());
        let heard =
            user.hear(NCHAN.as_bytes(), 50).and_then(|()| user.hear(endless.repeat(1 << 11).as_bytes(), 300));
        assert_eq!(heard, Err(Failure::Codec(Error::EventTooLarge)), "{endless}");
    }
}

#[test]
fn a_connections_end_ends_its_stream() {
    for (said, failure) in [
        (NCHAN.to_owned() + "data: half", Failure::EventStream(StreamReason::End)),
        (NODE.to_owned(), Failure::EventStream(StreamReason::End)),
        (String::new(), Failure::Codec(Error::EofBeforeAnswer)),
        (NODE[..30].to_owned(), Failure::Codec(Error::EofBeforeAnswer)),
    ] {
        let mut user = User::new();
        user.hear(said.as_bytes(), 7).unwrap();
        let User { cfg, client, io, events } = &mut user;
        let end = client.handle_eof(cfg, 0, 0, io, &mut |event| events.push(event));
        assert_eq!(end, Err(failure), "{said}");
    }
    let mut user = User::new();
    let said = NODE.to_owned() + &chunk("id: 7\ndata: 1\n\n") + "0\r\n\r\n";
    user.hear(said.as_bytes(), 7).unwrap_err();
    assert!(user.last_id().is_some(), "the end of a stream is where the next goes on");
}

fn open(world: &mut World, place: &str, fields: &str) -> usize {
    // Chance is the clock's: no two streams are to have the same name.
    world.pass_ms(1);
    let at = world.connect();
    world.send(at, format!("GET {place} HTTP/1.1\r\nHost: h\r\n{fields}\r\n").as_bytes()).unwrap();
    at
}

fn publish(world: &mut World, room: &str, body: &str) -> String {
    let at = world.connect();
    let length = body.len();
    let request =
        format!("POST /publish/{room} HTTP/1.1\r\nHost: h\r\nContent-Length: {length}\r\n\r\n{body}");
    world.send(at, request.as_bytes()).unwrap();
    world.read(at)
}

#[test]
fn streams_hear_what_is_published_in_their_room() {
    let world = &mut World::new();
    let [one, two, other] =
        ["/events?room=a", "/events?room=a", "/events?room=b"].map(|place| open(world, place, ""));
    let answer = world.read(one);
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    assert!(answer.contains("\r\nContent-Type: text/event-stream\r\n"), "{answer}");
    assert!(publish(world, "a", r#"{"n": 1}"#).starts_with("HTTP/1.1 202 "));
    assert_eq!(world.read(one), chunk("data: {\"n\": 1}\n\n"));
    assert!(world.read(two).ends_with(&chunk("data: {\"n\": 1}\n\n")));
    assert!(!world.read(other).contains("data"));
    world.pass_s(14);
    assert_eq!(world.read(one), "");
    world.pass_s(2);
    assert_eq!(world.read(one), chunk(": ping\n\n"));
    world.abort(one);
    assert_eq!(world.sessions(), 2);
}

#[test]
fn other_requests_for_streams_are_refused() {
    let world = &mut World::new();
    for (line, status) in [("POST /events", "405"), ("OPTIONS /events", "204"), ("HEAD /events", "405")] {
        let at = world.connect();
        world
            .send(at, format!("{line} HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n").as_bytes())
            .unwrap();
        assert!(world.read(at).starts_with(&format!("HTTP/1.1 {status} ")), "{line}");
    }
    world.cfg.origins = vec!["http://good".to_owned()];
    let at = open(world, "/events", "Origin: http://bad\r\n");
    assert!(world.read(at).starts_with("HTTP/1.1 403 "));
    assert_eq!(world.sessions(), 0);
}

/// The client of this crate on the server of this crate, which keeps a history: what it missed comes once, in
/// order.
#[test]
fn returning_clients_hear_what_they_missed() {
    let world = &mut World::new();
    world.cfg.history = Some(Arc::new(History::new(Keep::Messages(100), |_| ReplayFault::default())));
    let mut user = User::new();
    let asked = user.asked().replace("/events", "/events?room=1");
    let at = world.connect();
    world.send(at, asked.as_bytes()).unwrap();
    publish(world, "1", &payload(1));
    user.hear(&world.take(at), 11).unwrap();
    world.abort(at);
    publish(world, "1", &payload(2));
    publish(world, "other", &payload(3));
    publish(world, "1", &payload(4));
    let known = user.last_id().expect("an id");
    let mut user = User::of(cfg(), Client::resuming(known));
    let asked = user.asked().replace("/events", "/events?room=1");
    let at = world.connect();
    world.send(at, asked.as_bytes()).unwrap();
    publish(world, "1", &payload(5));
    user.hear(&world.take(at), 11).unwrap();
    assert_eq!(user.events, [Event::Upgraded, Event::Usable, copy(2), copy(4), copy(5)]);
    // Ids of another server, and ids that no server gave, are followed by what is new.
    for id in ["9999:1", "x", "1", ":", "0000:99999999999999999999999"] {
        let at = open(world, "/events?room=1", &format!("Last-Event-ID: {id}\r\n"));
        assert!(!world.read(at).contains("data"), "{id}");
    }
}
