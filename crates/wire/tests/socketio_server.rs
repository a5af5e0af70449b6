//! Socket.IO on the server's side, over a WebSocket: the sample server of the protocol's test suite, the
//! benchmark's events, and what breaks the rules.

use codec::Error;
use wire::{DialectId, Failure, Room, Server, ServerConfig, Settings};

use crate::common::*;

const PATH: &str = "/socket.io/?EIO=4&transport=websocket";
const S: u64 = 1_000_000_000;
const MS: u64 = 1_000_000;

/// The times of the protocol's test suite.
fn config() -> ServerConfig {
    let settings = Settings::default()
        .with("socketio-ping-interval", 300 * MS)
        .with("socketio-ping-timeout", 200 * MS)
        .with("socketio-connect-timeout", S);
    ServerConfig { settings, ..ServerConfig::default() }
}

/// The outcome of frames and of one more message, before which the server greets new clients; ids, which are
/// random, are replaced.
fn serve_io(path: &str, frames: &[u8]) -> (Vec<String>, Vec<Happened>, Result<(), Failure>) {
    let outcome = serve_at(&config(), path, "", &[frames, &masked_texts(&["6"])].concat());
    let said = said(&outcome.out).iter().map(|text| without_sid(text)).collect();
    (said, outcome.events, outcome.result)
}

fn without_sid(text: &str) -> String {
    let Some((before, after)) = text.split_once(r#""sid":""#) else { return text.to_owned() };
    let (sid, after) = after.split_once('"').unwrap();
    assert!(
        sid.len() == 20 && sid.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_".contains(&b)),
        "{text}"
    );
    format!(r#"{before}"sid":"S"{after}"#)
}

/// The answers to a client that has connected to the main namespace, and then sends `frames`.
fn talk(frames: &[u8]) -> Vec<String> {
    let (said, _, result) = serve_io(PATH, &[masked_texts(&["40"]), frames.to_vec()].concat());
    assert_eq!(result, Ok(()), "{}", frames.escape_ascii());
    assert_eq!(said[..3], [OPEN, r#"40{"sid":"S"}"#, r#"42["auth",{}]"#]);
    said[3..].to_vec()
}

const OPEN: &str = r#"0{"sid":"S","upgrades":[],"pingInterval":300,"pingTimeout":200,"maxPayload":1000000}"#;

fn room(version: u8, namespace: &str) -> Room {
    Room::of(DialectId::Socketio, version, namespace.as_bytes())
}

/// A server whose handshake was at 0.
struct Served {
    cfg: ServerConfig,
    server: Server,
    io: Fake,
}

impl Served {
    fn new(path: &str) -> Served {
        let mut served = Served { cfg: config(), server: Server::new(), io: Fake::default() };
        served.hear_bytes(0, request("").replace("/chat", path).as_bytes()).unwrap();
        served.io.out.clear();
        served
    }

    fn hear_bytes(&mut self, now_ns: u64, bytes: &[u8]) -> Result<(), Failure> {
        self.server.handle_input(&self.cfg, now_ns, 0, bytes, &mut self.io, &mut |_| {})
    }

    fn handle(&mut self, now_ns: u64, message: &str) {
        self.hear_bytes(now_ns, &masked_texts(&[message])).unwrap();
        self.io.out.clear();
    }

    /// The output when the time has come, and whether that was the end.
    fn wake(&mut self, now_ns: u64) -> (Vec<String>, Result<(), Failure>) {
        let result = self.server.handle_timeout(&self.cfg, now_ns, &mut self.io);
        let out = std::mem::take(&mut self.io.out);
        if result.is_err() {
            assert!(out == plain(0x88, b"") && self.io.closed, "{}", out.escape_ascii());
            return (vec![], result);
        }
        (said(&out), result)
    }
}

#[test]
fn requests_name_version_and_transport() {
    for (path, status) in [
        ("/socket.io/?EIO=4&transport=websocket", 101),
        ("/socket.io?transport=websocket&t=abc&EIO=3", 101),
        ("/engine.io/?EIO=4&transport=websocket", 101),
        ("/socket.io/?transport=websocket", 400),
        ("/socket.io/?EIO=abc&transport=websocket", 400),
        ("/socket.io/?EIO=5&transport=websocket", 400),
        ("/socket.io/?EIO=4", 400),
        ("/socket.io/?EIO=4&transport=abc", 400),
        ("/socket.io/?EIO=4&transport=polling", 400),
        ("/socket.io/", 400),
    ] {
        let outcome = serve(&config(), request("").replace("/chat", path).as_bytes());
        let expected = format!("HTTP/1.1 {status} ");
        assert!(outcome.out.starts_with(expected.as_bytes()), "{path}: {}", outcome.out.escape_ascii());
    }
}

#[test]
fn namespaces_are_connected_to() {
    for (message, answers) in [
        ("40", &[r#"40{"sid":"S"}"#, r#"42["auth",{}]"#][..]),
        (r#"40{"token":"123"}"#, &[r#"40{"sid":"S"}"#, r#"42["auth",{"token":"123"}]"#]),
        ("40/custom,", &[r#"40/custom,{"sid":"S"}"#, r#"42/custom,["auth",{}]"#]),
        ("40/custom", &[r#"40/custom,{"sid":"S"}"#, r#"42/custom,["auth",{}]"#]),
        (
            r#"40/custom,{"token":"abc"}"#,
            &[r#"40/custom,{"sid":"S"}"#, r#"42/custom,["auth",{"token":"abc"}]"#],
        ),
        ("40/random", &[r#"44/random,{"message":"Invalid namespace"}"#]),
    ] {
        let (said, events, result) = serve_io(PATH, &masked_texts(&[message]));
        assert_eq!(
            (&said[..1], &said[1..], result),
            (&[OPEN.to_owned()][..], &answers.iter().map(|&a| a.to_owned()).collect::<Vec<_>>()[..], Ok(()))
        );
        let namespace = if message.contains("custom") { "/custom" } else { "/" };
        let joined = [Happened::Joined(room(1, namespace))];
        assert_eq!(events, if answers.len() > 1 { &joined[..] } else { &[] }, "{message}");
    }
}

#[test]
fn namespaces_are_left_one_by_one() {
    let answers = talk(&masked_texts(&["40/custom", "41/custom", r#"42["message","to main"]"#]));
    assert_eq!(answers[2..], [r#"42["message-back","to main"]"#]);
    assert_eq!(talk(&masked_texts(&["41"])), [""; 0], "no answer, and the session lives on");
    let (_, events, _) = serve_io(PATH, &masked_texts(&["40", "41"]));
    assert_eq!(events, [Happened::Joined(room(1, "/")), Happened::Left(room(1, "/"))]);
    let again = talk(&masked_texts(&["41", "40"]));
    assert_eq!(again, [r#"40{"sid":"S"}"#, r#"42["auth",{}]"#]);
    // What is behind a disconnect was under way: it is ignored, attachments and all, and the session lives
    // on.
    let late = ["41", r#"42["message"]"#, "43[]", r#"4217["message-with-ack"]"#, "40"];
    assert_eq!(talk(&masked_texts(&late)), again);
    let numbered = talk(&masked_texts(&["42[7]", r#"429007199254740993["message-with-ack",1]"#]));
    assert_eq!(numbered.last().map(String::as_str), Some("439007199254740992[1]"));
}

#[test]
fn disconnected_clients_are_in_no_room() {
    let goodbye = ["40", "40/custom", "1", r#"42["join","a"]"#, "40"];
    let outcome = serve_at(&config(), PATH, "", &masked_texts(&goodbye));
    assert!(outcome.result.is_ok() && outcome.out.ends_with(&plain(0x88, b"")));
    let rooms = [room(1, "/"), room(1, "/custom")];
    assert_eq!(outcome.events, [rooms.map(Happened::Joined), rooms.map(Happened::Left)].concat());
}

#[test]
fn the_sample_servers_events() {
    let attached =
        |text: &str| [masked_texts(&[text]), masked(0x82, &[1, 2, 3]), masked(0x82, &[4, 5, 6])].concat();
    let two = r#"{"_placeholder":true,"num":0},{"_placeholder":true,"num":1}"#;
    for (frames, answers) in [
        (
            masked_texts(&[r#"42["message",1,"2",{"3":[true]}]"#]),
            vec![r#"42["message-back",1,"2",{"3":[true]}]"#.into()],
        ),
        (masked_texts(&[r#"42["message"]"#]), vec![r#"42["message-back"]"#.into()]),
        (
            masked_texts(&[r#"42456["message-with-ack",1,"2",{"3":[false]}]"#]),
            vec![r#"43456[1,"2",{"3":[false]}]"#.into()],
        ),
        (masked_texts(&[r#"427["message-with-ack"]"#]), vec!["437[]".into()]),
        (
            attached(&format!(r#"452-["message",{two}]"#)),
            vec![format!(r#"452-["message-back",{two}]"#), "010203".into(), "040506".into()],
        ),
        (
            attached(&format!(r#"452-789["message-with-ack",{two}]"#)),
            vec![format!("462-789[{two}]"), "010203".into(), "040506".into()],
        ),
        (
            masked_texts(&[r#"42["nobody listens"]"#, r#"421["nor to this"]"#, "6", "43[]", r#"4399["x"]"#]),
            vec![],
        ),
        (masked_texts(&[r#"450-["message",1]"#]), vec![r#"42["message-back",1]"#.into()]),
    ] {
        assert_eq!(talk(&frames), answers, "{}", frames.escape_ascii());
    }
}

#[test]
fn the_benchmarks_events() {
    let connect = masked_texts(&["40"]);
    let with = |frames: Vec<u8>| serve_io(PATH, &[connect.clone(), frames].concat());
    let (said, events, _) = with(masked_texts(&[r#"42["echo",{"a":1}]"#, r#"425["echo",{"a":2},3]"#]));
    assert_eq!(said[3..], [r#"42["echo",{"a":1}]"#, r#"435[{"a":2},3]"#]);
    assert_eq!(events[1..], [Happened::Echoed(18), Happened::Echoed(21)]);

    let (said, events, _) = with(masked_texts(&[r#"42["broadcast",{"a":1}]"#]));
    assert_eq!(said[3..], [r#"42["broadcastResult",{"a":1}]"#]);
    let frame = texts(&[r#"42["broadcast",{"a":1}]"#]);
    let packets = [b"\x1e", r#"42["broadcast",{"a":1}]"#.as_bytes()].concat();
    let all =
        [Happened::Broadcast(frame.clone()), Happened::Rebroadcast(frame), Happened::Rebroadcast(packets)];
    assert_eq!(events[1..], all);

    let attached =
        [masked_texts(&[r#"451-8["broadcast",{"_placeholder":true,"num":0}]"#]), masked(0x82, b"\0\xff")];
    let (said, events, _) = with(attached.concat());
    assert_eq!(said[3..], [r#"461-8[{"_placeholder":true,"num":0}]"#, "00ff"]);
    let text = r#"451-["broadcast",{"_placeholder":true,"num":0}]"#;
    let all = [
        Happened::Broadcast([texts(&[text]), plain(0x82, b"\0\xff")].concat()),
        Happened::Rebroadcast([texts(&[text]), plain(0x82, b"\x04\0\xff")].concat()),
        Happened::Rebroadcast([b"\x1e", text.as_bytes(), b"\x1ebAP8="].concat()),
    ];
    assert_eq!(events[1..], all);
    let (said, ..) = serve_io(PATH, &masked_texts(&["40/custom", r#"42/custom,9["echo",1]"#]));
    assert_eq!(said[3..], ["43/custom,9[1]"]);
}

#[test]
fn joins_are_no_echoes() {
    let frames = masked_texts(&["40", r#"421["join","a"]"#, r#"422["leave","a"]"#]);
    let (said, events, _) = serve_io(PATH, &frames);
    assert_eq!(said[3..], [r#"431["a"]"#, r#"432["a"]"#]);
    assert!(!events.iter().any(|event| matches!(event, Happened::Echoed(_))));
}

#[test]
fn joins_beyond_the_bound_have_no_answer() {
    let joins: Vec<String> = (0..300).map(|room| format!(r#"42{room}["join",{room}]"#)).collect();
    let messages: Vec<&str> = std::iter::once("40").chain(joins.iter().map(String::as_str)).collect();
    let (said, ..) = serve_io(PATH, &masked_texts(&messages));
    assert_eq!((said.len() - 3, said.last().unwrap().as_str()), (257, "43256[256]"));
}

#[test]
fn version_3() {
    let path = "/socket.io/?EIO=3&transport=websocket";
    let frames = masked_texts(&["2", "2probe", "40/custom?token=1,", "40/nope,", r#"42/custom,["echo",1]"#]);
    let (said, events, result) = serve_io(path, &frames);
    let expected = [
        r#"0{"sid":"S","upgrades":[],"pingInterval":300,"pingTimeout":200}"#,
        "40",
        r#"42["auth",{}]"#,
        "3",
        "3probe",
        "40/custom,",
        r#"42/custom,["auth",{}]"#,
        r#"44/nope,"Invalid namespace""#,
        r#"42/custom,["echo",1]"#,
    ];
    assert_eq!((said, result), (expected.map(str::to_owned).to_vec(), Ok(())));
    assert_eq!(events[..2], [Happened::Joined(room(0, "/")), Happened::Joined(room(0, "/custom"))]);
    let attached =
        [masked_texts(&[r#"451-["echo",{"_placeholder":true,"num":0}]"#]), masked(0x82, b"\x04\xab")]
            .concat();
    let (said, ..) = serve_io(path, &attached);
    assert_eq!(said.last().unwrap(), "04ab");
    let (.., result) =
        serve_io(path, &attached.iter().map(|&b| if b == b'\xab' { b'x' } else { b }).collect::<Vec<_>>());
    assert_eq!(result, Ok(()));
    let (said, _, result) = serve_io(path, &masked_texts(&["3"]));
    assert_eq!((said.last().unwrap().as_str(), result), ("close 1002", Err(Failure::BadMessage)));
    let mut served = Served::new(path);
    served.handle(400 * MS, "2");
    assert_eq!(served.wake(800 * MS), (vec![], Ok(())));
    assert_eq!(served.wake(900 * MS), (vec![], Err(Failure::Silent)));
}

#[test]
fn engine_io_alone_echoes() {
    let path = "/engine.io/?EIO=4&transport=websocket";
    let frames = [masked_texts(&["4hello", "4"]), masked(0x82, &[1, 2, 3, 4]), masked_texts(&["1"])].concat();
    let outcome = serve_at(&config(), path, "", &frames);
    assert!(
        outcome
            .out
            .ends_with(&[texts(&["4hello", "4"]), plain(0x82, &[1, 2, 3, 4]), plain(0x88, b"")].concat())
    );
    let (said, _, result) = serve_io(path, &masked_texts(&["abc"]));
    assert_eq!((said.last().unwrap().as_str(), result), ("close 1002", Err(Failure::BadMessage)));
    assert_eq!(Served::new(path).server.poll_timeout(), Some(300 * MS), "no namespace is waited for");
}

#[test]
fn the_server_pings_and_gives_up() {
    let mut served = Served::new(PATH);
    served.handle(0, "40");
    assert_eq!(served.server.poll_timeout(), Some(10 * MS));
    assert_eq!(
        served.wake(10 * MS),
        (vec![r#"42["auth",{}]"#.to_owned()], Ok(())),
        "in a segment of its own"
    );
    assert_eq!(served.server.poll_timeout(), Some(300 * MS));
    assert_eq!(served.wake(300 * MS), (vec!["2".to_owned()], Ok(())));
    assert_eq!(served.server.poll_timeout(), Some(500 * MS));
    served.handle(400 * MS, "3");
    assert_eq!(served.wake(500 * MS), (vec![], Ok(())));
    assert_eq!(served.wake(700 * MS), (vec!["2".to_owned()], Ok(())));
    assert_eq!(served.wake(899 * MS), (vec![], Ok(())));
    assert_eq!(served.wake(900 * MS), (vec![], Err(Failure::Silent)));
}

#[test]
fn late_connects_are_cut_off() {
    let mut served = Served::new(PATH);
    for k in 1..=3 {
        assert_eq!(served.wake(k * 300 * MS).0, ["2"]);
        served.handle(k * 300 * MS, "3");
    }
    served.handle(910 * MS, "40/nope");
    assert_eq!(served.server.poll_timeout(), Some(S));
    assert_eq!(served.wake(S), (vec![], Err(Failure::Silent)));
    let mut served = Served::new(PATH);
    served.handle(0, "40/custom");
    served.handle(0, "41/custom");
    assert_eq!(served.server.poll_timeout(), Some(300 * MS), "once is enough");
}

/// Packets that no client may send once its namespace is there.
const BROKEN: &[&str] = &[
    "",
    "abc",
    "0",
    "2",
    "5",
    "7",
    "4",
    "4abc",
    "40",
    "49",
    "42",
    "42{}",
    "42[]",
    "42[null]",
    "42[{}]",
    "42[\"message\"",
    "42[\"message\",]",
    "42[\"message\"]]",
    "42[\"connect\"]",
    "42[\"disconnect\"]",
    "42[\"newListener\"]",
    "42abc[\"message\"]",
    "42123456789012345678901234567890123[\"message\"]",
    "43{}",
    "43",
    "44{}",
    "41[]",
    "45[\"message\"]",
    "451[\"message\"]",
    "4511-[\"message\"]",
    "451000000000-[\"message\"]",
    "451-{}",
    "451-[\"message\"",
    "42/nope,[\"message\"]",
    "42/custom,[\"message\"]",
    "40/custom,[1]",
    "40/custom,{",
    "40/custom,\"x\"",
];

#[test]
fn violations_end_the_session() {
    let deep = format!(r#"42["message",{}"#, "[".repeat(10_000));
    let long = format!("40/{},", "n".repeat(100_000));
    let placeholder =
        |number: &str| masked_texts(&[&format!(r#"451-["message",{{"_placeholder":true,"num":{number}}}]"#)]);
    let awaited = r#"451-["message",{"_placeholder":true,"num":0}]"#;
    let mut cases: Vec<Vec<u8>> = vec![
        placeholder("-1"),
        placeholder("\"splice\""),
        placeholder("1"),
        masked(0x82, b"stray"),
        masked_texts(&[awaited, "42[\"message\"]"]),
        masked_texts(&[awaited, awaited]),
    ];
    cases.extend([&*deep, &long].iter().chain(BROKEN).map(|text| masked_texts(&[text])));
    for frames in cases {
        let (said, _, result) = serve_io(PATH, &[masked_texts(&["40"]), frames.clone()].concat());
        assert_eq!(result, Err(Failure::BadMessage), "{:.80}", frames.escape_ascii().to_string());
        assert_eq!(said.last().unwrap(), "close 1002");
    }
    for first in ["42[\"message\"]", "43[]", "41", "44{}", "3"] {
        let (_, _, result) = serve_io(PATH, &masked_texts(&[first]));
        assert_eq!(result.is_err(), first != "3", "{first} before a namespace is connected to");
    }
    let mut served = Served::new(PATH);
    assert_eq!(
        served.hear_bytes(0, &masked(0x81, &vec![b'4'; 1_000_001])),
        Err(Failure::Codec(Error::MessageTooLarge))
    );
    assert_eq!(said(&served.io.out), ["close 1009"]);
    let floods = masked_texts(&vec!["3"; 1000]);
    assert_eq!(talk(&floods), [""; 0], "pongs that nobody asked for");
    assert_eq!(talk(&masked_texts(&[r#"42["message","__proto__",{"__proto__":1}]"#])).len(), 1);
}
