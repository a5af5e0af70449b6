//! Socket.IO on the server's side, over plain requests, held to sessions recorded between socket.io 4.8 and
//! its client.

mod recovery;
mod takeover;

use codec::Error;
use wire::{Failure, Settings};

use crate::common::world::World;
use crate::common::*;

const PATH: &str = "/socket.io/?EIO=4&transport=polling";
/// By then the event that follows a connect is there.
const GREETED_MS: u64 = 10;
const BAD_REQUEST: &str = r#"{"code":3,"message":"Bad request"}"#;
const OPENED: &str = r#""upgrades":["websocket"],"pingInterval":"#;

fn world() -> World {
    let mut world = World::new();
    world.cfg.settings = Settings::default()
        .with("socketio-ping-interval", 300_000_000)
        .with("socketio-ping-timeout", 200_000_000)
        .with("socketio-connect-timeout", 1_000_000_000);
    world
}

/// A session and the connections of its client.
struct Session<'a> {
    world: &'a mut World,
    path: String,
    polls: usize,
    pushes: usize,
}

impl<'a> Session<'a> {
    /// Opens one at a path with a version.
    fn open(world: &'a mut World, path: &str) -> Session<'a> {
        let (polls, pushes) = (world.connect(), world.connect());
        let mut session = Session { world, path: path.to_owned(), polls, pushes };
        let (status, body) = session.poll();
        assert_eq!(status, 200, "{body}");
        let (_, rest) = body.split_once(r#"0{"sid":""#).expect("a handshake");
        let (sid, rest) = rest.split_once(r#"","#).unwrap();
        assert!(rest.starts_with(OPENED) && rest.contains("maxPayload") != path.contains("EIO=3"), "{body}");
        session.path = format!("{path}&sid={sid}");
        session
    }

    /// Opens one, and connects to the main namespace.
    fn connected(world: &'a mut World) -> Session<'a> {
        let mut session = Session::open(world, PATH);
        assert_eq!(session.push("40"), (200, "ok".to_owned()));
        session.world.pass_ms(GREETED_MS);
        let (_, body) = session.poll();
        assert!(body.starts_with(r#"40{"sid":""#) && body.ends_with("\x1e42[\"auth\",{}]"), "{body}");
        session
    }

    fn ask(&mut self, at: usize, method: &str, body: &str) {
        let length = body.len();
        let request = format!(
            "{method} {} HTTP/1.1\r\nHost: h\r\nContent-Type: text/plain\r\nContent-Length: {length}\r\n\r\n{body}",
            self.path
        );
        self.world.send(at, request.as_bytes()).unwrap();
    }

    /// Status and body of an answer, if there is one; nothing for a poll that is held.
    fn answer(&mut self, at: usize) -> Option<(u16, String)> {
        let answer = self.world.read(at);
        if answer.is_empty() {
            return None;
        }
        let (head, body) = answer.split_once("\r\n\r\n").expect("a whole head");
        assert!(head.ends_with(&format!("\r\nContent-Length: {}", body.len())), "{answer}");
        assert!(head.contains("\r\nAccess-Control-Allow-Origin: *\r\n"), "{answer}");
        Some((head["HTTP/1.1 ".len()..][..3].parse().unwrap(), body.to_owned()))
    }

    fn start_poll(&mut self) {
        self.ask(self.polls, "GET", "");
    }

    fn poll(&mut self) -> (u16, String) {
        self.start_poll();
        self.answer(self.polls).expect("there is something to say")
    }

    fn push(&mut self, body: &str) -> (u16, String) {
        self.ask(self.pushes, "POST", body);
        self.answer(self.pushes).expect("always answered")
    }

    /// Returns whether the session is unknown.
    fn is_gone(&mut self) -> bool {
        let (status, body) = self.poll();
        let unknown = body == r#"{"code":1,"message":"Session ID unknown"}"#;
        assert_eq!(unknown, status == 400, "{body}");
        unknown
    }

    /// A WebSocket for the session: its connection, and what came with the 101.
    fn websocket(&mut self) -> (usize, Vec<u8>) {
        let at = self.world.connect();
        let path = self.path.replace("polling", "websocket");
        self.world.send(at, request("").replace("/chat", &path).as_bytes()).unwrap();
        let answer = self.world.take(at);
        let end = answer.windows(4).position(|w| w == b"\r\n\r\n").unwrap() + 4;
        assert!(answer.starts_with(b"HTTP/1.1 101 "));
        (at, answer[end..].to_vec())
    }

    /// The answer to a request for a WebSocket that is not granted.
    fn refused(&mut self) -> String {
        let at = self.world.connect();
        let path = self.path.replace("polling", "websocket");
        let refusal = self.world.send(at, request("").replace("/chat", &path).as_bytes());
        assert_eq!(refusal, Ok(()), "its session was asked first");
        let answer = self.world.read(at);
        let (head, body) = answer.split_once("\r\n\r\n").expect("a whole head");
        assert!(head.starts_with("HTTP/1.1 400 ") && self.world.is_closed(at), "{answer}");
        assert!(head.contains("\r\nConnection: close\r\nContent-Type: text/html\r\n"), "{answer}");
        body.to_owned()
    }

    /// The answers on a WebSocket to some messages.
    fn tell(&mut self, at: usize, messages: &[&str]) -> Vec<String> {
        let _ = self.world.send(at, &masked_texts(messages));
        said(&self.world.take(at))
    }
}

#[test]
fn requests_that_are_not_answered_by_a_session() {
    let code = |code: u8| format!(r#"{{"code":{code},"#);
    for (method, path, status, body) in [
        ("GET", "/socket.io/?transport=polling", 400, code(5)),
        ("GET", "/socket.io/?EIO=abc&transport=polling", 400, code(5)),
        ("GET", "/socket.io/?EIO=4", 400, code(0)),
        ("GET", "/socket.io/?EIO=4&transport=abc", 400, code(0)),
        ("GET", "/socket.io/?EIO=4&transport=websocket", 400, code(3)),
        ("GET", "/socket.io/?EIO=3&transport=polling&j=0", 400, code(3)),
        ("POST", PATH, 400, code(2)),
        ("PUT", PATH, 400, code(2)),
        ("GET", "/socket.io/?EIO=4&transport=polling&sid=nobody", 400, code(1)),
        ("POST", "/socket.io/?EIO=4&transport=polling&sid=nobody", 400, code(1)),
        ("PUT", "/socket.io/?EIO=4&transport=polling&sid=nobody", 400, code(3)),
        ("OPTIONS", PATH, 204, String::new()),
        ("GET", "/socket.io/", 400, code(0)),
    ] {
        let mut world = world();
        let at = world.connect();
        let request = format!("{method} {path} HTTP/1.1\r\nHost: h\r\n\r\n");
        world.send(at, request.as_bytes()).unwrap();
        let answer = world.read(at);
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{method} {path}: {answer}");
        assert!(answer.contains(&format!("\r\n\r\n{body}")), "{method} {path}: {answer}");
        assert_eq!(world.sessions(), 0);
    }
    let mut world = world();
    world.cfg.origins = vec!["https://a.example".to_owned()];
    for (origin, status) in [("https://a.example", 200), ("https://b.example", 403)] {
        let at = world.connect();
        let request = format!("GET {PATH} HTTP/1.1\r\nHost: h\r\nOrigin: {origin}\r\n\r\n");
        world.send(at, request.as_bytes()).unwrap();
        assert!(world.read(at).starts_with(&format!("HTTP/1.1 {status} ")), "{origin}");
    }
}

#[test]
fn a_session_as_recorded() {
    let mut world = world();
    let mut session = Session::open(&mut world, PATH);
    assert_eq!(session.push(r#"40{"token":"123"}"#), (200, "ok".into()));
    session.world.pass_ms(GREETED_MS);
    let (_, body) = session.poll();
    assert!(body.ends_with("\x1e42[\"auth\",{\"token\":\"123\"}]"), "{body}");

    session.start_poll();
    assert_eq!(session.answer(session.polls), None, "held");
    assert_eq!(session.push(r#"42["message",1,"2",{"a":[true]}]"#), (200, "ok".into()));
    assert_eq!(session.answer(session.polls), Some((200, r#"42["message-back",1,"2",{"a":[true]}]"#.into())));

    let two = r#"{"_placeholder":true,"num":0},"x",{"_placeholder":true,"num":1}"#;
    let one = r#"{"_placeholder":true,"num":0}"#;
    let body = format!(
        "452-[\"message\",{two}]\x1ebAQID\x1ebBAUG\x1e451-0[\"message-with-ack\",\"hi\",{one}]\x1ebCQ=="
    );
    assert_eq!(session.push(&body), (200, "ok".into()));
    let back = format!("452-[\"message-back\",{two}]\x1ebAQID\x1ebBAUG\x1e461-0[\"hi\",{one}]\x1ebCQ==");
    assert_eq!(session.poll(), (200, back));

    session.start_poll();
    for since_ms in [GREETED_MS, 0, 0] {
        session.world.pass_ms(299 - since_ms);
        assert_eq!(session.answer(session.polls), None);
        session.world.pass_ms(1);
        assert_eq!(session.answer(session.polls), Some((200, "2".into())));
        assert_eq!(session.push("3"), (200, "ok".into()));
        session.start_poll();
    }
    assert_eq!(session.push("41"), (200, "ok".into()));
    assert_eq!(session.push("1"), (200, "ok".into()));
    assert_eq!(session.answer(session.polls), Some((200, "6".into())), "the poll ends with nothing to say");
    assert!(session.is_gone());
}

#[test]
fn sessions_end() {
    let mut world = world();
    let mut session = Session::connected(&mut world);
    session.start_poll();
    session.world.pass_ms(300);
    assert_eq!(session.answer(session.polls), Some((200, "2".into())));
    session.start_poll();
    session.world.pass_ms(200);
    assert_eq!(session.answer(session.polls), Some((200, "1".into())), "no pong in time");
    assert!(session.is_gone());

    let mut session = Session::open(&mut world, PATH);
    for _ in 0..3 {
        session.world.pass_ms(300);
        assert_eq!(session.poll(), (200, "2".into()));
        session.push("3");
    }
    session.world.pass_ms(100);
    assert!(session.is_gone(), "no namespace in time");

    let mut session = Session::connected(&mut world);
    session.start_poll();
    let other = session.world.connect();
    session.ask(other, "GET", "");
    assert_eq!(session.answer(other).map(|(status, _)| status), Some(400));
    assert_eq!(session.answer(session.polls), Some((200, "1".into())), "two polls at once");
    assert!(session.is_gone());

    let mut session = Session::connected(&mut world);
    session.start_poll();
    let other = session.world.connect();
    session.world.is_late = true;
    session.ask(other, "GET", "");
    assert_eq!(session.answer(other), Some((200, "1".into())), "the first of two, handed over second");
    assert_eq!(session.answer(session.polls), Some((400, BAD_REQUEST.into())));
    session.world.is_late = false;
    assert!(session.is_gone());

    let mut session = Session::connected(&mut world);
    session.start_poll();
    session.world.abort(session.polls);
    session.polls = session.world.connect();
    assert!(session.is_gone(), "a poll broken off");

    let mut session = Session::connected(&mut world);
    assert_eq!(session.push("1"), (200, "ok".into()));
    assert_eq!(session.poll(), (200, "6".into()), "a poll that crosses with the goodbye");
    assert!(session.is_gone());
    let mut session = Session::connected(&mut world);
    assert_eq!(session.push("1"), (200, "ok".into()));
    session.world.pass_ms(1000);
    assert!(session.is_gone(), "nobody polls any more");

    for bad in ["", "abc", "4", "42", "40", "\x1e", "3\x1e", "b!", "bAQID", "2", "5", "42[\"message\"]\x1e4x"]
    {
        let mut session = Session::connected(&mut world);
        session.start_poll();
        assert_eq!(session.push(bad).0, 400, "{bad:?}");
        let (status, last) = session.answer(session.polls).expect("told");
        assert_eq!(status, 200);
        assert_eq!(last, "1", "{bad:?}");
        assert!(session.is_gone(), "{bad:?}");
    }

    let mut session = Session::connected(&mut world);
    assert_eq!(session.push(&["4", &"x".repeat(1_000_000)].concat()).0, 413);
    session.start_poll();
    assert_eq!(session.answer(session.polls), None, "a body too large is refused, and that is all");
    assert_eq!(world.sessions(), 1);
}

#[test]
fn bodies_may_have_the_handshakes_size() {
    const BYTES: usize = 4 << 20;
    let mut world = world();
    world.cfg.settings = Settings::default().with("socketio-max-payload", BYTES as u64);
    world.cfg = std::mem::take(&mut world.cfg).with_room_for_bodies();
    let mut session = Session::connected(&mut world);
    let event = |bytes| format!(r#"42["x","{}"]"#, "x".repeat(bytes - 10));
    assert_eq!(session.push(&event(BYTES)), (200, "ok".into()));
    let length = BYTES + 1;
    let request = format!("POST {} HTTP/1.1\r\nHost: h\r\nContent-Length: {length}\r\n\r\n", session.path);
    assert_eq!(
        session.world.send(session.pushes, request.as_bytes()),
        Err(Failure::Codec(Error::BodyTooLarge))
    );
}

#[test]
fn broadcasts_reach_sessions_and_websockets() {
    let mut world = world();
    let socket = world.connect();
    let path = "/socket.io/?EIO=4&transport=websocket";
    world.send(socket, request("").replace("/chat", path).as_bytes()).unwrap();
    world.send(socket, &masked_texts(&["40", "6"])).unwrap();
    world.take(socket);
    let mut session = Session::connected(&mut world);
    session.start_poll();
    session.world.send(socket, &masked_texts(&[r#"42["broadcast",{"a":1}]"#])).unwrap();
    assert_eq!(session.answer(session.polls), Some((200, r#"42["broadcast",{"a":1}]"#.into())));
    assert_eq!(said(&session.world.take(socket)).len(), 2);
    session.push(r#"421["broadcast",{"a":2}]"#);
    assert_eq!(said(&session.world.take(socket)), [r#"42["broadcast",{"a":2}]"#]);
    let (_, body) = session.poll();
    assert_eq!(body, "431[{\"a\":2}]\x1e42[\"broadcast\",{\"a\":2}]");
    let (taken, _) = session.websocket();
    session.tell(taken, &["2probe", "5"]);
    session.world.send(socket, &masked_texts(&[r#"42["broadcast",3]"#])).unwrap();
    assert_eq!(said(&session.world.take(taken)), [r#"42["broadcast",3]"#], "once");
    // A client that never polls does not make the server keep everything.
    let mut session = Session::connected(&mut world);
    let large = format!(r#"42["broadcast","{}"]"#, "x".repeat(400_000));
    for _ in 0..3 {
        session.world.send(socket, &frame(0x81, Some([1, 2, 3, 4]), large.as_bytes())).unwrap();
    }
    assert!(session.is_gone());
}

#[test]
fn version_3_over_requests() {
    let mut world = world();
    let mut session = Session::open(&mut world, "/socket.io/?EIO=3&transport=polling&b64=1");
    session.world.pass_ms(GREETED_MS);
    assert_eq!(session.poll(), (200, "13:42[\"auth\",{}]".to_owned()));
    assert_eq!(session.push("1:221:42[\"message\",\"h€llo\"]"), (200, "ok".into()));
    assert_eq!(session.poll(), (200, "1:326:42[\"message-back\",\"h€llo\"]".into()));
    let attached = r#"451-["echo",{"_placeholder":true,"num":0}]"#;
    let body = format!("{}:{attached}6:b4AQID", attached.len());
    assert_eq!(session.push(&body), (200, "ok".into()));
    assert_eq!(session.poll(), (200, body));
    let (socket, _) = session.websocket();
    session.tell(socket, &["2probe", "5"]);
    assert_eq!(session.tell(socket, &["2"]), ["3"]);
}

#[test]
fn requests_to_send_come_one_at_a_time() {
    const BODY: &str = r#"42["message"]"#;
    let mut world = world();
    let mut session = Session::connected(&mut world);
    let request = format!("POST {} HTTP/1.1\r\nHost: h\r\nContent-Length: 13\r\n\r\n{BODY}", session.path);
    let (all, but_one) = (request.as_bytes(), request.len() - 1);
    let first = session.world.connect();
    for byte in &all[..but_one] {
        session.world.send(first, &[*byte]).unwrap();
    }
    assert_eq!(session.answer(first), None, "it is not whole");
    session.world.send(first, &all[but_one..]).unwrap();
    assert_eq!(session.answer(first), Some((200, "ok".into())));
    assert_eq!(session.push(BODY), (200, "ok".into()), "one after the other");

    for second_bytes in [all.len(), but_one, all.len() - BODY.len()] {
        let mut session = Session::connected(&mut world);
        let request =
            format!("POST {} HTTP/1.1\r\nHost: h\r\nContent-Length: 13\r\n\r\n{BODY}", session.path);
        session.start_poll();
        let (first, second) = (session.world.connect(), session.world.connect());
        session.world.send(first, &request.as_bytes()[..but_one]).unwrap();
        session.world.send(second, &request.as_bytes()[..second_bytes]).unwrap();
        assert_eq!(session.answer(second).map(|(status, _)| status), Some(400), "{second_bytes} bytes");
        assert_eq!(session.answer(session.polls), Some((200, "1".into())), "the session ends");
        session.world.send(first, &request.as_bytes()[but_one..]).unwrap();
        assert_eq!(session.answer(first).map(|(status, _)| status), Some(400), "it is nobody's any more");
        assert!(session.is_gone());
    }
}
