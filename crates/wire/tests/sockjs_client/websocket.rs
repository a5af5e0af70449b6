//! SockJS's client over a WebSocket: what sockjs-node 0.3.24 was recorded to say, and frames of several
//! messages.

use wire::{Client, Config, DialectId, Event, Failure, Options, Role, Settings};

use crate::common;
use crate::common::user::Streams;
use crate::common::{config, options, plain, stamp};

/// The outcome of frames after a handshake, whole and byte by byte.
fn over_websocket(frames: &[u8]) -> (Vec<Event>, Result<(), Failure>) {
    let cfg = config(DialectId::Sockjs);
    let run = |step: usize| {
        let (mut client, mut io, answer) = common::opening(&cfg, "");
        let (mut events, mut result) = (Vec::new(), Ok(()));
        for portion in [&answer, frames].concat().chunks(step) {
            result = client.handle_input(&cfg, 0, 0, portion, &mut io, &mut |event| events.push(event));
            if result.is_err() {
                break;
            }
        }
        (events, result)
    };
    let whole = run(usize::MAX);
    assert_eq!(whole, run(1), "{}", frames.escape_ascii());
    whole
}

fn text(payload: &str) -> Vec<u8> {
    plain(0x81, payload.as_bytes())
}

#[test]
fn the_recorded_session_over_a_websocket() {
    // sockjs-node 0.3.24: o, a["hello"], and what has to be escaped; then the close.
    let odd = "a[\"é€\\ud83d\\ude00\\u2028\\\"q\\\"\"]";
    let frames = [text("o"), text("a[\"hello\"]"), text(odd), text("h"), plain(0x88, &[3, 232])].concat();
    let (events, result) = over_websocket(&frames);
    assert_eq!(result, Ok(()));
    let odd = Event::Foreign { bytes: odd.len() as u32 };
    let expected =
        [Event::Upgraded, Event::Usable, Event::Foreign { bytes: 10 }, odd, Event::Closed { code: 1000 }];
    assert_eq!(events, expected);
    let (events, _) =
        over_websocket(&[text("o"), text("c[3000,\"Go away!\"]"), text("a[\"late\"]")].concat());
    assert_eq!(events[1..], [Event::Usable, Event::Closed { code: 3000 }]);
    for bad in ["", "x", "a", "a[", "a[1]", "a[\"x\"", "a[\"x\"]]", "m\"x\"", "c[]", "c[-1,\"\"]"] {
        let (_, result) = over_websocket(&[text("o"), text(bad)].concat());
        assert_eq!(result, Err(Failure::BadMessage), "{bad}");
    }
    for early in [r#"a["x"]"#, r#"a["{\"type\":\"echo\",\"payload\":{}}"]"#] {
        assert_eq!(over_websocket(&text(early)).1, Err(Failure::BadMessage), "before it is open: {early}");
    }
}

#[test]
fn own_messages_are_known_after_rewriting() {
    let mark = String::from_utf8(stamp(9).to_text().to_vec()).unwrap();
    let message = |role| Some((role, stamp(9)));
    for (string, expected) in [
        (r#"{\"type\":\"echo\",\"payload\":{\"sendTime\":\"1\",\"id\":\"MARK\"}}"#, message(Role::Echo)),
        (r#"{\"type\":\"broadcast\",\"payload\":{\"sendTime\":\"1\",\"id\":\"MARK\"}}"#, message(Role::Copy)),
        (
            r#"{\"type\":\"broadcastResult\",\"payload\":{\"id\":\"MARK\"},\"listenerCount\":3}"#,
            message(Role::Ack),
        ),
        (r#"{\"payload\":{\"id\":\"MARK\"},\"type\":\"broadcastResult\"}"#, message(Role::Ack)),
        (r#"{\"type\":\"other\",\"payload\":{\"id\":\"MARK\"}}"#, None),
        (r#"MARK"#, None),
    ] {
        let string = string.replace("MARK", &mark);
        let bytes = string.len() as u32;
        let expected = match expected {
            Some((role, stamp)) => Event::Message { role, stamp, bytes },
            None => Event::Corrupt { stamp: Some(stamp(9)), bytes },
        };
        let (one, _) = over_websocket(&[text("o"), text(&format!("a[\"{string}\"]"))].concat());
        let with_frame = |event| match event {
            // A message is counted with its share of the frame.
            Event::Message { role, stamp, .. } => Event::Message { role, stamp, bytes },
            Event::Corrupt { stamp, .. } => Event::Corrupt { stamp, bytes },
            other => other,
        };
        assert_eq!(one[2..].iter().copied().map(with_frame).collect::<Vec<_>>(), [expected], "{string}");
        let frame = format!("a[\"{string}\" , \"{string}\"]");
        let (two, _) = over_websocket(&[text("o"), text(&frame)].concat());
        let are_messages = matches!(expected, Event::Message { .. });
        let between = are_messages.then_some(Event::SameFrame);
        let both: Vec<Event> = [expected].into_iter().chain(between).chain([expected]).collect();
        assert_eq!(two[2..].iter().copied().map(with_frame).collect::<Vec<_>>(), both, "{string}");
        let bytes_of = |event: &Event| match event {
            Event::Message { bytes, .. } | Event::Corrupt { bytes, .. } => *bytes,
            _ => 0,
        };
        assert_eq!(two[2..].iter().map(bytes_of).sum::<u32>() as usize, frame.len());
    }
    let damaged = mark.replace('7', "8").replacen("throng-00", "throng-01", 1);
    let string = format!(r#"{{\"type\":\"echo\",\"payload\":{{\"id\":\"{damaged}\"}}}}"#);
    let (events, _) = over_websocket(&[text("o"), text(&format!("a[\"{string}\"]"))].concat());
    assert!(matches!(events[2..], [Event::Corrupt { .. }]), "{events:?}");
}

#[test]
fn frames_with_others_messages_are_taken_apart() {
    let mark = String::from_utf8(stamp(9).to_text().to_vec()).unwrap();
    let ours = format!(r#"{{\"type\":\"broadcast\",\"payload\":{{\"sendTime\":\"1\",\"id\":\"{mark}\"}}}}"#);
    let other = r#"{\"type\":\"tick\"}"#;
    for (first, second) in [(&ours[..], other), (other, &ours), (&ours, ""), ("", &ours)] {
        let (events, _) =
            over_websocket(&[text("o"), text(&format!("a[\"{first}\", \"{second}\"]"))].concat());
        let count = |is_it: fn(&Event) -> bool| events.iter().filter(|event| is_it(event)).count();
        assert_eq!(count(|event| matches!(event, Event::Message { role: Role::Copy, .. })), 1, "{first}");
        assert_eq!(count(|event| matches!(event, Event::Foreign { .. })), 1, "{first}");
    }
}

#[test]
fn websockets_use_their_own_path() {
    let request = |transport: Option<&str>| {
        let mut options = Options { path: "/sockjs?a=b".into(), ..options(DialectId::Sockjs) };
        if let Some(transport) = transport {
            options.of_dialect.settings = Settings::default().with("transport", transport);
        }
        let cfg = Config::new(options).unwrap();
        let mut io = Streams::default();
        Client::new().handle_open(&cfg, 0, 0, &mut io);
        let request = String::from_utf8(std::mem::take(&mut io.out[0])).unwrap();
        request.lines().next().unwrap().to_owned()
    };
    let framed = request(None);
    let name = framed.strip_prefix("GET /sockjs/").and_then(|r| r.strip_suffix("/websocket?a=b HTTP/1.1"));
    let (server, session) = name.unwrap().split_once('/').unwrap();
    assert!(server.len() == 3 && server.bytes().all(|b| b.is_ascii_digit()), "{framed}");
    assert!(session.len() == 16 && session.bytes().all(|b| b.is_ascii_hexdigit()), "{framed}");
    assert_eq!(request(Some("raw-websocket")), "GET /sockjs/websocket?a=b HTTP/1.1");
    let mut options = options(DialectId::Sockjs);
    options.of_dialect.settings = Settings::default().with("transport", "polling");
    let refused = Config::new(options).err();
    assert!(matches!(refused, Some(wire::BadOption::OfDialect { option: "transport", .. })), "{refused:?}");
}
