//! Socket.IO on the client's side, over a WebSocket, held to sessions recorded between socket.io 4.8 and its
//! client.

use app::Kind;
use secret::Secret;
use wire::{
    Ack, BadOption, Client, Config, DialectId, DialectOptions, Event, Failure, Options, Payload, Rejection,
    Role, Settings, TokenPlace, Value,
};

use crate::common::*;

/// Recorded, but for the times, which are a real server's.
const OPEN: &str = r#"0{"sid":"mr9eyr291sLNBg0pAAC9","upgrades":[],"pingInterval":25000,"pingTimeout":20000,"maxPayload":1000000}"#;
const CONNECTED: &str = r#"40{"sid":"H_HJsi_5VJZO_GWKAABh"}"#;
const AUTH: &str = r#"42["auth",{"token":"123"}]"#;
const OPEN_V3: &str =
    r#"0{"sid":"uJ8jYlp6YvHIcqFpAAAA","upgrades":[],"pingInterval":25000,"pingTimeout":5000}"#;

const S: u64 = 1_000_000_000;

fn of(of_dialect: DialectOptions) -> Config {
    Config::new(Options { of_dialect, ..options(DialectId::Socketio) }).unwrap()
}

/// A client whose session is open, before anything else is said.
struct Opened<'a> {
    cfg: &'a Config,
    client: Client,
    io: Fake,
    events: Vec<Event>,
}

impl<'a> Opened<'a> {
    fn new(cfg: &'a Config) -> Opened<'a> {
        let (client, io, answer) = opening(cfg, "");
        let mut opened = Opened { cfg, client, io, events: Vec::new() };
        opened.hear_bytes(0, &answer).unwrap();
        assert_eq!(std::mem::take(&mut opened.events), [Event::Upgraded]);
        opened
    }

    fn hear_bytes(&mut self, now_ns: u64, bytes: &[u8]) -> Result<(), Failure> {
        let events = &mut self.events;
        self.client.handle_input(self.cfg, now_ns, 0, bytes, &mut self.io, &mut |event| events.push(event))
    }

    /// The client's answers to some messages.
    fn handle(&mut self, now_ns: u64, messages: &[&str]) -> Vec<String> {
        self.hear_bytes(now_ns, &texts(messages)).unwrap();
        self.said()
    }

    fn said(&mut self) -> Vec<String> {
        said(&std::mem::take(&mut self.io.out))
    }

    /// The client's output when its time has come.
    fn wake(&mut self, now_ns: u64) -> Result<Vec<String>, Failure> {
        self.client.handle_timeout(self.cfg, now_ns, &mut self.io, &mut |_| {})?;
        Ok(self.said())
    }

    fn send(&mut self, kind: Kind, seq: u32) -> Vec<String> {
        self.client.send(self.cfg, 0, 1, kind, stamp(seq), &mut self.io);
        self.said()
    }
}

fn payload(seq: u32) -> String {
    let stamp = stamp(seq).to_text();
    format!(r#"{{"sendTime":"1","id":"{}"}}"#, std::str::from_utf8(&stamp).unwrap())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn the_request_names_version_and_transport() {
    for (path, eio, expected) in [
        ("/socket.io/", None, "GET /socket.io/?EIO=4&transport=websocket HTTP/1.1\r\n"),
        ("/socket.io/?user=1", Some(3), "GET /socket.io/?user=1&EIO=3&transport=websocket HTTP/1.1\r\n"),
        ("/x?transport=websocket&EIO=3", None, "GET /x?transport=websocket&EIO=3 HTTP/1.1\r\n"),
    ] {
        let settings = eio.map_or(Settings::default(), |eio| Settings::default().with("eio", eio));
        let of_dialect = settings.into();
        let cfg =
            Config::new(Options { path: path.into(), of_dialect, ..options(DialectId::Socketio) }).unwrap();
        let (mut client, mut io) = (Client::new(), Fake::default());
        client.handle_open(&cfg, 0, 0, &mut io);
        assert!(io.out.starts_with(expected.as_bytes()), "{}", io.out.escape_ascii());
    }
}

#[test]
fn the_client_speaks_as_the_recorded_one() {
    let cfg = of(Settings::default().with("auth", Secret::from(r#" {"token":"123"} "#)).into());
    let mut opened = Opened::new(&cfg);
    assert_eq!(opened.handle(0, &[OPEN]), [r#"40{"token":"123"}"#]);
    assert_eq!(opened.events, []);
    assert!(!opened.client.is_usable() && opened.send(Kind::Echo, 1).is_empty(), "not before the answer");
    assert_eq!(opened.handle(0, &[CONNECTED, AUTH]), [""; 0]);
    assert_eq!(opened.events, [Event::Usable], "what the server emits of its own accord is no news");
    assert_eq!(opened.send(Kind::Echo, 1), [format!(r#"42["echo",{}]"#, payload(1))]);
    assert_eq!(opened.send(Kind::Broadcast, 2), [format!(r#"42["broadcast",{}]"#, payload(2))]);
    assert_eq!(
        opened.handle(0, &["2", "2probe", "6"]),
        ["3", "3probe"],
        "pings are answered with their payload"
    );
    assert_eq!(opened.handle(0, &[r#"421["what?"]"#]), ["431[]"], "what is to be acknowledged is");
    opened.events.clear();
    assert_eq!(opened.handle(0, &["1"]), [""; 0]);
    assert_eq!(opened.events, [Event::Closed { code: 1005 }]);
}

#[test]
fn answers_are_known_by_event_and_by_acknowledgement() {
    let padded =
        Options { payload: Payload { padding: Some(12), text: false }, ..options(DialectId::Socketio) };
    let cfg = Config::new(padded).unwrap();
    let id = String::from_utf8(stamp(7).to_text().to_vec()).unwrap();
    let body = format!(r#"{{"sendTime":"1","id":"{id}","padding":"123456789012"}}"#);
    let reordered = format!(r#"{{ "id": "{id}", "padding": "123456789012", "sendTime": "1" }}"#);
    for (before, role) in [
        (r#"42["echo","#, Role::Echo),
        (r#"42["broadcast","#, Role::Copy),
        (r#"42["broadcastResult","#, Role::Ack),
        ("43", Role::Echo),
        ("4314[", Role::Echo),
        ("4315[", Role::Ack),
    ] {
        let expected = (before != "43").then_some(role);
        for body in [&body, &reordered] {
            for message in
                [format!("{before}{body}]"), format!("{}{body} , 5 ]", before.replace("\",", "\" , "))]
            {
                let outcome = receive_all(&cfg, "", &texts(&[OPEN, CONNECTED, &message]));
                let bytes = message.len() as u32;
                let event = match expected {
                    Some(role) => Event::Message { role, stamp: stamp(7), bytes },
                    None => Event::Corrupt { stamp: Some(stamp(7)), bytes },
                };
                assert_eq!(outcome.events, [Event::Usable, event], "{message}");
            }
        }
    }
    for (damaged, stamp) in [
        (format!(r#"42["echo",{}]"#, body.replace("56789", "56 89")), Some(stamp(7))),
        (format!(r#"42["echo",{}]"#, body.replace("throng-", "thring-")), None),
        (format!(r#"42["other",{body}]"#), Some(stamp(7))),
    ] {
        let outcome = receive_all(&cfg, "", &texts(&[OPEN, CONNECTED, &damaged]));
        let bytes = damaged.len() as u32;
        assert_eq!(outcome.events[1..], [Event::Corrupt { stamp, bytes }], "{damaged}");
    }
    let foreign = r#"42["echo",{}]"#;
    let outcome = receive_all(&cfg, "", &texts(&[OPEN, CONNECTED, foreign, r#"42["news",{}]"#]));
    assert_eq!(outcome.events[1..], [Event::Foreign { bytes: foreign.len() as u32 }]);
}

#[test]
fn acknowledgements_when_they_are_asked_for() {
    let cfg =
        of(DialectOptions { ack: Ack::Callback, ..Settings::default().with("namespace", "/admin").into() });
    let mut opened = Opened::new(&cfg);
    assert_eq!(opened.handle(0, &[OPEN]), ["40/admin,"]);
    opened.handle(0, &[r#"40/admin,{"sid":"x"}"#]);
    assert_eq!(opened.send(Kind::Echo, 3), [format!(r#"42/admin,6["echo",{}]"#, payload(3))]);
    assert_eq!(opened.send(Kind::Broadcast, 3), [format!(r#"42/admin,7["broadcast",{}]"#, payload(3))]);
    opened.events.clear();
    let (echo, ack) = (format!("43/admin,6[{}]", payload(3)), format!("43/admin,7[{}]", payload(3)));
    let copy = format!(r#"42/admin,["broadcast",{}]"#, payload(3));
    let elsewhere = format!(r#"42["broadcast",{}]"#, payload(3));
    opened.handle(0, &[&echo, &copy, &ack, &elsewhere]);
    let message = |role, text: &str| Event::Message { role, stamp: stamp(3), bytes: text.len() as u32 };
    assert_eq!(
        opened.events,
        [message(Role::Echo, &echo), message(Role::Copy, &copy), message(Role::Ack, &ack), Event::Beside]
    );
    assert_eq!(opened.handle(0, &[r#"42/admin,12["what?"]"#]), ["43/admin,12[]"]);
}

/// As with a picture in a chat: what the server makes of a message has an attachment of its own, and its id
/// where it was.
#[test]
fn messages_beside_attachments() {
    let cfg = of(DialectOptions { ack: Ack::Callback, ..DialectOptions::default() });
    let mut opened = Opened::new(&cfg);
    opened.handle(0, &[OPEN, CONNECTED]);
    opened.send(Kind::Broadcast, 4);
    opened.events.clear();
    let copy = format!(r#"451-["broadcast",{{"_placeholder":true,"num":0}},{}]"#, payload(4));
    let answer =
        format!(r#"462-9[{},{{"_placeholder":true,"num":0}},{{"_placeholder":true,"num":1}}]"#, payload(4));
    let attachment = plain(0x82, &[7; 40]);
    let frames = [&texts(&[&copy])[..], &attachment, &texts(&[&answer]), &attachment, &attachment].concat();
    opened.hear_bytes(0, &frames).unwrap();
    let message = |role, text: &str| Event::Message { role, stamp: stamp(4), bytes: text.len() as u32 };
    assert_eq!(opened.events, [message(Role::Copy, &copy), message(Role::Ack, &answer)]);
}

#[test]
fn payloads_as_attachments() {
    for (eio, before) in [(4, ""), (3, "04")] {
        let of_dialect = Settings::default().with("binary", Value::On).with("eio", eio).into();
        let payload = Payload { padding: Some(3), text: false };
        let cfg = Config::new(Options { of_dialect, payload, ..options(DialectId::Socketio) }).unwrap();
        let mut opened = Opened::new(&cfg);
        opened.handle(0, &[if eio == 4 { OPEN } else { OPEN_V3 }, if eio == 4 { CONNECTED } else { "40" }]);
        let attachment = [&stamp(9).to_binary()[..], b"123"].concat();
        let text = r#"451-["echo",{"_placeholder":true,"num":0}]"#;
        assert_eq!(opened.send(Kind::Echo, 9), [text.to_owned(), format!("{before}{}", hex(&attachment))]);
        opened.events.clear();
        let frame = |bytes: &[u8]| {
            let prefix: &[u8] = if eio == 4 { b"" } else { b"\x04" };
            plain(0x82, &[prefix, bytes].concat())
        };
        let bytes = frame(&attachment).len() as u32 - 2;
        let damaged = [&attachment[..30], b"?"].concat();
        for (head, attachments, expected) in [
            (text, vec![&attachment], vec![Event::Message { role: Role::Echo, stamp: stamp(9), bytes }]),
            (
                r#"461-19[{"_placeholder":true,"num":0}]"#,
                vec![&attachment],
                vec![Event::Message { role: Role::Ack, stamp: stamp(9), bytes }],
            ),
            (
                r#"452-["broadcast",{"_placeholder":true,"num":0},{"_placeholder":true,"num":1}]"#,
                vec![&attachment, &damaged],
                vec![Event::Message { role: Role::Copy, stamp: stamp(9), bytes }],
            ),
            (text, vec![&damaged], vec![Event::Corrupt { stamp: Some(stamp(9)), bytes }]),
            (r#"451-["news",{"_placeholder":true,"num":0}]"#, vec![&damaged], vec![]),
        ] {
            let frames: Vec<u8> = attachments.iter().flat_map(|bytes| frame(bytes)).collect();
            opened.hear_bytes(0, &[texts(&[head]), frames].concat()).unwrap();
            assert_eq!(std::mem::take(&mut opened.events), expected, "{head}");
        }
    }
}

#[test]
fn refusals_have_kinds() {
    let refused = r#"44{"message":"Invalid namespace"}"#;
    for (messages, rejection, name) in [
        (vec![OPEN, refused], Rejection::Namespace, "rejected_namespace"),
        (vec![OPEN, CONNECTED, "41"], Rejection::Disconnected, "disconnect"),
        (vec![OPEN_V3, r#"44"unauthorized""#], Rejection::Namespace, "rejected_namespace"),
    ] {
        let outcome = receive_all(&of(DialectOptions::default()), "", &texts(&messages));
        assert_eq!(outcome.events.last(), Some(&Event::Rejected(rejection)), "{messages:?}");
        assert_eq!(rejection.name(), name);
    }
}

#[test]
fn version_4_expects_pings_in_time() {
    let cfg = of(DialectOptions::default());
    let mut opened = Opened::new(&cfg);
    assert_eq!(opened.client.poll_timeout(), None);
    opened.handle(S, &[OPEN, CONNECTED]);
    assert_eq!(opened.client.poll_timeout(), Some(46 * S), "interval and timeout after the handshake");
    opened.handle(26 * S, &["2"]);
    assert_eq!(opened.wake(46 * S), Ok(vec![]));
    assert_eq!(opened.client.poll_timeout(), Some(71 * S));
    assert_eq!(opened.wake(71 * S), Err(Failure::HeartbeatTimeout));
}

#[test]
fn version_3_pings_and_connects_unasked() {
    let cfg = of(Settings::default().with("eio", 3).into());
    let mut opened = Opened::new(&cfg);
    assert_eq!(opened.handle(0, &[OPEN_V3]), [""; 0]);
    assert_eq!(opened.handle(0, &["40"]), [""; 0]);
    assert_eq!(opened.events, [Event::Usable]);
    assert_eq!(opened.wake(25 * S), Ok(vec!["2".to_owned()]));
    assert_eq!(opened.handle(26 * S, &["3"]), [""; 0]);
    assert_eq!(opened.wake(30 * S), Ok(vec![]));
    assert_eq!(opened.wake(51 * S), Ok(vec!["2".to_owned()]));
    assert_eq!(opened.wake(56 * S), Err(Failure::HeartbeatTimeout));

    let cfg = of(Settings::default().with("eio", 3).with("namespace", "/chat?user=1").into());
    let mut opened = Opened::new(&cfg);
    assert_eq!(opened.handle(0, &[OPEN_V3, "40"]), ["40/chat?user=1,"]);
    assert_eq!(opened.events, []);
    opened.handle(0, &["40/chat?user=1,"]);
    assert_eq!(opened.events, [Event::Usable]);
}

#[test]
fn violations_end_the_session() {
    let text = |message: &str| texts(&[message]);
    let connected = |after: Vec<u8>| [texts(&[OPEN, CONNECTED]), after].concat();
    let deep = format!(r#"42["news",{}"#, "[".repeat(100_000));
    let awaited = r#"451-["echo",{"_placeholder":true,"num":0}]"#;
    for (bytes, failure) in [
        (text("40"), Failure::BadMessage),
        (texts(&[OPEN, "40{x"]), Failure::BadMessage),
        (texts(&[OPEN, "40[]"]), Failure::BadMessage),
        (text("2"), Failure::BadMessage),
        (text(""), Failure::BadMessage),
        (text("0{}"), Failure::BadMessage),
        (text(r#"0{"sid":"a b","pingInterval":1,"pingTimeout":1}"#), Failure::BadMessage),
        (plain(0x82, b"\0"), Failure::BadMessage),
        (connected(text(OPEN)), Failure::BadMessage),
        (connected(text(CONNECTED)), Failure::BadMessage),
        (connected(text("3")), Failure::BadMessage),
        (connected(text("5")), Failure::BadMessage),
        (connected(text("7")), Failure::BadMessage),
        (connected(text("4")), Failure::BadMessage),
        (connected(text("49")), Failure::BadMessage),
        (connected(text("42[]")), Failure::BadMessage),
        (connected(text("42{}")), Failure::BadMessage),
        (connected(text("42[null]")), Failure::BadMessage),
        (connected(text(r#"42["disconnect"]"#)), Failure::BadMessage),
        (connected(text(&deep)), Failure::BadMessage),
        (connected(text(r#"451000000000-["echo"]"#)), Failure::BadMessage),
        (connected(text(r#"4511-["echo"]"#)), Failure::BadMessage),
        (connected(plain(0x82, b"stray")), Failure::BadMessage),
        (connected(texts(&[awaited, awaited])), Failure::BadMessage),
    ] {
        let outcome = receive_all(&of(DialectOptions::default()), "", &bytes);
        assert_eq!(outcome.result, Err(failure), "{:.200}", bytes.escape_ascii().to_string());
        assert_eq!(said(&outcome.out).last().map(String::as_str), Some("close 1002"));
    }
    for harmless in ["43[]", "6", r#"42["__proto__"]"#, "42[1]"] {
        let outcome = receive_all(&of(DialectOptions::default()), "", &connected(text(harmless)));
        assert_eq!((outcome.result, outcome.events.len()), (Ok(()), 1), "{harmless}");
    }
    let unasked = "43999999999[{}]";
    let outcome = receive_all(&of(DialectOptions::default()), "", &connected(text(unasked)));
    assert_eq!(outcome.events[1..], [Event::Foreign { bytes: unasked.len() as u32 }]);
}

#[test]
fn options_that_cannot_be() {
    let chosen = |name, value: Value| DialectOptions::from(Settings::default().with(name, value));
    let auth = |text: &str| chosen("auth", Secret::from(text).into());
    let token = |text: &str| Some(text.into());
    let default = DialectOptions::default;
    for (of_dialect, expected) in [
        (chosen("eio", 2.into()), Some("eio")),
        (chosen("namespace", "chat".into()), Some("namespace")),
        (chosen("namespace", "/a,b".into()), Some("namespace")),
        (auth("[1]"), Some("auth")),
        (DialectOptions { token: token("t"), ..auth("{}") }, Some("token")),
        (DialectOptions { token: token("a\"b"), ..default() }, None),
    ] {
        let got = Config::new(Options { of_dialect: of_dialect.clone(), ..options(DialectId::Socketio) });
        let option = got.err().map(|bad| match bad {
            BadOption::OfDialect { option, .. } => option,
            other => panic!("{other:?}"),
        });
        assert_eq!(option, expected, "{of_dialect:?}");
    }
    let token = DialectOptions { token: token("a\"b"), ..default() };
    let cfg = of(token.clone());
    assert_eq!(Opened::new(&cfg).handle(0, &[OPEN]), [r#"40{"token":"a\"b"}"#]);
    let cfg = of(DialectOptions { token_in: Some(TokenPlace::Query("t".into())), ..token });
    let path = cfg.options().path.reveal();
    assert!(path.ends_with("&t=a%22b"), "{path}");
    assert_eq!(Opened::new(&cfg).handle(0, &[OPEN]), ["40"]);
}
