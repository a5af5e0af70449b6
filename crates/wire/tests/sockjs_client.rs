//! SockJS, client role: what sockjs-node 0.3.24 was recorded to say on every transport, and what no server
//! should.

use codec::Error;
use wire::{Client, Config, DialectId, Event, Failure, Options, Role, Settings, Value};

use crate::common;
use crate::common::user::{Streams, User};
use crate::common::{config, options, plain, stamp};

const HEAD: &str = "HTTP/1.1 200 OK\r\nCache-Control: no-store, no-cache, no-transform, must-revalidate, max-age=0\r\n\
    Access-Control-Allow-Origin: *\r\nVary: Origin\r\nContent-Type: application/javascript; charset=UTF-8\r\n\
    Date: Fri, 20 Nov 2026 10:54:57 GMT\r\nConnection: keep-alive\r\nKeep-Alive: timeout=5\r\n\
    Transfer-Encoding: chunked\r\n\r\n";
const NO_CONTENT: &str = "HTTP/1.1 204 No Content\r\nContent-Type: text/plain; charset=UTF-8\r\n\
    Connection: keep-alive\r\nKeep-Alive: timeout=5\r\n\r\n";

/// Chunks as sockjs-node was recorded to send them.
fn chunked(parts: &[&str]) -> String {
    parts.iter().map(|part| format!("{:x}\r\n{part}\r\n", part.len())).collect()
}

/// The messages of the recorded session: open, hello, and characters that have to be escaped.
fn recorded(transport: &str) -> (String, u32) {
    let odd = "a[\"é€\\ud83d\\ude00\\u2028\\\"q\\\"\"]";
    let streamed = |prelude: &str, framed: [String; 3]| {
        let [open, hello, odd] = framed;
        HEAD.to_owned() + &chunked(&[prelude, &open, &hello, &odd])
    };
    let frames = ["o", "a[\"hello\"]", odd];
    let said = match transport {
        "xhr-polling" => {
            frames.map(|frame| format!("{HEAD}{}0\r\n\r\n", chunked(&[&format!("{frame}\n")]))).concat()
        }
        "xhr-streaming" => {
            streamed(&format!("{}\n", "h".repeat(2048)), frames.map(|frame| format!("{frame}\n")))
        }
        "eventsource" => streamed("\r\n", frames.map(|frame| format!("data: {frame}\r\n\r\n"))),
        "htmlfile" | "jsonp" => {
            let escape = |frame: &str| frame.replace('\\', "\\\\").replace('"', "\\\"");
            if transport == "htmlfile" {
                let page = "<!doctype html>\n<html><head>\n</head><body><h2>Don't panic!</h2>\n  <script>\n    \
                    var c = parent.cb;\n    function p(d) {c.message(d);};\n  </script>   \r\n\r\n";
                streamed(page, frames.map(|f| format!("<script>\np(\"{}\");\n</script>\r\n", escape(f))))
            } else {
                let body = |frame| format!("/**/cb(\"{}\");\r\n", escape(frame));
                frames.map(|frame| format!("{HEAD}{}0\r\n\r\n", chunked(&[&body(frame)]))).concat()
            }
        }
        _ => unreachable!(),
    };
    (said, odd.len() as u32)
}

#[test]
fn recorded_sessions_on_every_transport() {
    for transport in ["xhr-polling", "xhr-streaming", "eventsource", "htmlfile", "jsonp"] {
        let (said, odd) = recorded(transport);
        for step in [1, 2, 7, 100, usize::MAX] {
            let mut user = User::of(transport);
            user.hear_by(0, said.as_bytes(), step.min(said.len())).unwrap();
            // Foreign: the words are not ours.
            let odd_bytes = Event::Foreign { bytes: odd };
            let expected = [Event::Upgraded, Event::Usable, Event::Foreign { bytes: 10 }, odd_bytes];
            assert_eq!(user.events(), expected, "{transport} by {step}");
            assert!(user.client.is_usable());
        }
    }
}

#[test]
fn requests_name_the_session_and_keep_the_query() {
    for (transport, receive, send) in [
        ("xhr-polling", "POST /echo/001/0000000000000002/xhr?token=t ", "xhr_send"),
        ("xhr-streaming", "POST /echo/001/0000000000000002/xhr_streaming?token=t ", "xhr_send"),
        ("eventsource", "GET /echo/001/0000000000000002/eventsource?token=t ", "xhr_send"),
        ("htmlfile", "GET /echo/001/0000000000000002/htmlfile?token=t&c=cb ", "xhr_send"),
        ("jsonp", "GET /echo/001/0000000000000002/jsonp?token=t&c=cb ", "jsonp_send"),
    ] {
        let mut user = User::of(transport);
        // The clock is part of the name.
        let name = format!("{:016x}", 2 ^ 5u64.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let receive = receive.replace("0000000000000002", &name);
        assert!(
            user.said(0).starts_with(&format!("{receive}HTTP/1.1\r\nHost: 127.0.0.1:9000\r\n")),
            "{transport}"
        );
        let (said, _) = recorded(transport);
        user.handle(0, said.as_bytes()).unwrap();
        user.said(0);
        user.send(1);
        assert_eq!((user.said(1), &user.io.opened[..]), (String::new(), &[1][..]), "not connected yet");
        user.open(1);
        let request = user.said(1);
        let expected = format!("POST /echo/001/{name}/{send}?token=t HTTP/1.1\r\n");
        assert!(request.starts_with(&expected), "{request}");
        let body = match transport {
            "jsonp" => "d=%5B%22%7B%5C%22type%5C%22%3A%5C%22echo%5C%22%2C",
            _ => r#"["{\"type\":\"echo\",\"payload\":{\"sendTime\":\"1700000000000000000\",\"id\":\"throng-"#,
        };
        assert!(request.split("\r\n\r\n").nth(1).unwrap().starts_with(body), "{request}");
    }
}

#[test]
fn messages_go_in_one_request_at_a_time() {
    let mut user = User::of("xhr-streaming");
    user.handle(0, recorded("xhr-streaming").0.as_bytes()).unwrap();
    user.open(1);
    user.send(1);
    let one = user.said(1);
    user.send(2);
    user.send(3);
    assert_eq!(user.said(1), "", "the first is not answered");
    user.hear_by(1, NO_CONTENT.as_bytes(), 3).unwrap();
    let two = user.said(1);
    let (bodies, counts) = ([&one, &two].map(|r| r.split("\r\n\r\n").nth(1).unwrap()), [1, 2]);
    for (body, count) in bodies.into_iter().zip(counts) {
        assert_eq!(body.matches("throng-").count(), count);
        assert!(body.starts_with("[\"") && body.ends_with("}}\"]"), "{body}");
    }
    user.handle(1, NO_CONTENT.as_bytes()).unwrap();
    assert_eq!(user.said(1), "", "nothing more to say");
    // What it sent comes back, both in one frame.
    let array = two.split("\r\n\r\n").nth(1).unwrap();
    user.events();
    user.handle(0, chunked(&[&format!("a{array}\n")]).as_bytes()).unwrap();
    let echoes: Vec<_> = user.events().into_iter().filter(|event| *event != Event::SameFrame).collect();
    for (event, seq) in echoes.iter().zip([2, 3]) {
        assert!(
            matches!(event, Event::Message { role: Role::Echo, stamp: s, .. } if *s == stamp(seq)),
            "{event:?}"
        );
    }
    assert_eq!(echoes.len(), 2);
}

#[test]
fn unanswered_requests_bound_what_waits() {
    let mut user = User::of("xhr-polling");
    user.handle(0, recorded("xhr-polling").0.as_bytes()).unwrap();
    user.open(1);
    let sent = (0..40_000).find(|&number| {
        user.send(number);
        user.client.is_overfull()
    });
    assert!(sent.is_some_and(|sent| sent > 1_000), "{sent:?}");
}

#[test]
fn closed_connections_reopen_between_answers() {
    let mut user = User::of("xhr-polling");
    user.said(0);
    let closing = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\no\n";
    user.handle(0, closing.as_bytes()).unwrap();
    assert_eq!((&user.io.closed[..], &user.io.opened[..]), (&[0][..], &[0][..]));
    assert_eq!(user.said(0), "");
    user.open(0);
    assert!(user.said(0).starts_with("POST /echo/"), "the next poll");
    // An answer without length ends with the connection.
    user.handle(0, b"HTTP/1.0 200 OK\r\n\r\na[\"x\"]\n").unwrap();
    user.eof(0).unwrap();
    assert_eq!(user.io.opened, [0, 0]);
    user.open(0);
    assert_eq!(user.events(), [Event::Upgraded, Event::Usable, Event::Foreign { bytes: 6 }]);
    user.handle(0, b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\na[").unwrap();
    assert_eq!(user.eof(0), Err(Failure::Codec(Error::EofBeforeAnswer)), "in the middle of one");

    let mut user = User::of("xhr-polling");
    user.handle(0, recorded("xhr-polling").0.as_bytes()).unwrap();
    user.send(1);
    user.open(1);
    user.handle(1, NO_CONTENT.as_bytes()).unwrap();
    user.eof(1).unwrap();
    user.said(1);
    user.send(2);
    assert_eq!((user.said(1), &user.io.opened[..]), (String::new(), &[1, 1][..]), "it had gone idle");
    user.open(1);
    assert!(user.said(1).contains("throng-"));
    assert_eq!(user.eof(1), Err(Failure::Codec(Error::EofBeforeAnswer)), "unanswered");
}

/// Servers close connections that idle: one may do so while a request is on its way there.
#[test]
fn idle_close_under_a_request_resends_once() {
    let mut user = User::of("xhr-polling");
    user.handle(0, recorded("xhr-polling").0.as_bytes()).unwrap();
    user.send(1);
    user.open(1);
    user.handle(1, NO_CONTENT.as_bytes()).unwrap();
    user.said(1);
    user.send(2);
    let request = user.said(1);
    user.eof(1).unwrap();
    user.send(3);
    assert_eq!((user.said(1), &user.io.opened[..]), (String::new(), &[1, 1][..]), "another connection first");
    user.open(1);
    assert_eq!(user.said(1), request, "the same once more");
    assert_eq!(user.eof(1), Err(Failure::Codec(Error::EofBeforeAnswer)), "and no third time");

    let mut user = User::of("xhr-polling");
    user.handle(0, recorded("xhr-polling").0.as_bytes()).unwrap();
    assert_eq!(user.eof(0), Err(Failure::Codec(Error::EofBeforeAnswer)), "a poll never idles");
}

#[test]
fn notices_of_timeouts_close_idle_connections() {
    let notice = b"HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
    let mut user = User::of("xhr-polling");
    user.handle(0, recorded("xhr-polling").0.as_bytes()).unwrap();
    user.send(1);
    user.open(1);
    user.handle(1, NO_CONTENT.as_bytes()).unwrap();
    user.handle(1, notice).unwrap();
    user.send(2);
    assert_eq!((&user.io.closed[..], &user.io.opened[..]), (&[1][..], &[1, 1][..]));
    user.open(1);
    user.handle(1, NO_CONTENT.as_bytes()).unwrap();
    user.said(1);
    user.send(3);
    let request = user.said(1);
    user.handle(1, notice).unwrap();
    user.open(1);
    assert_eq!(user.said(1), request, "the notice came while it was under way");
}

#[test]
fn ends_and_losses_are_events() {
    let frames = |body: &str| format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len());
    for (second, code, reason) in [
        (r#"c[3000,"Go\u0020away!"]"#, 3000, "Go away!"),
        (r#"c[ 3000, "Go away!" ]"#, 3000, "Go away!"),
        ("c[1002]", 1002, ""),
        ("c[1002,7]", 1002, ""),
    ] {
        let mut user = User::of("xhr-polling");
        user.handle(0, frames("o\n").as_bytes()).unwrap();
        user.said(0);
        user.handle(0, frames(&format!("{second}\n")).as_bytes()).unwrap();
        assert_eq!(user.events(), [Event::Upgraded, Event::Usable, Event::Closed { code }]);
        assert_eq!(user.io.reason, reason.as_bytes());
        assert!(!user.client.is_usable() && user.client.is_closed());
        assert_eq!(user.said(0), "", "nothing more is asked");
    }
    let mut user = User::of("xhr-streaming");
    user.handle(0, recorded("xhr-streaming").0.as_bytes()).unwrap();
    user.client.close(&user.cfg, 0, 1000, &mut user.io);
    assert_eq!(user.io.closed, [0]);
    assert!(user.client.is_closed());
}

#[test]
fn invalid_servers_are_given_up_with_reason() {
    let ok = |body: &str| format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len());
    for (transport, said, failure) in [
        (
            "xhr-polling",
            "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n".into(),
            Failure::Codec(Error::HttpStatus(404)),
        ),
        (
            "xhr-polling",
            "HTTP/1.1 302 Found\r\nLocation: /\r\n\r\n".into(),
            Failure::Codec(Error::HttpStatus(302)),
        ),
        (
            "xhr-polling",
            "HTTP/1.1 101 Switching Protocols\r\n\r\n".into(),
            Failure::Codec(Error::HttpStatus(101)),
        ),
        ("xhr-polling", "SSH-2.0\r\n".into(), Failure::Codec(Error::NotHttp)),
        ("xhr-polling", ok("x\n"), Failure::BadMessage),
        ("xhr-polling", ok("a[\"x\"]\n"), Failure::BadMessage), // before it is open
        ("xhr-polling", ok("o\na[\"x\"\n"), Failure::BadMessage),
        ("xhr-polling", ok("o\na[1]\n"), Failure::BadMessage),
        ("xhr-polling", ok("o\na{}\n"), Failure::BadMessage),
        ("xhr-polling", ok("o\na[\"x\"]y\n"), Failure::BadMessage),
        ("xhr-polling", ok("o\nc\n"), Failure::BadMessage),
        ("xhr-polling", ok("o\no\n"), Failure::SessionLost),
        ("xhr-polling", ok("o\nc[99999999]\n"), Failure::BadMessage),
        ("jsonp", ok("cb(\"o);\r\n"), Failure::BadMessage),
        ("jsonp", ok("cb(o);\r\n"), Failure::BadMessage),
        ("jsonp", ok("cb(\"\\u12\");\r\n"), Failure::BadMessage),
        ("htmlfile", ok("p(\"\\q\");\n"), Failure::BadMessage),
    ] {
        for step in [1, said.len()] {
            let mut user = User::of(transport);
            assert_eq!(user.hear_by(0, said.as_bytes(), step), Err(failure), "{said:?}");
        }
    }
    let mut user = User::of("xhr-polling");
    assert_eq!(user.handle(0, ok("o\n").as_bytes()), Ok(()));
    assert_eq!(
        user.handle(0, ok("o\n").as_bytes()),
        Err(Failure::SessionLost),
        "the next poll, another node"
    );
    assert_eq!(user.events()[1..], [Event::Usable]);
    // A frame without end is bounded.
    let mut options = options(DialectId::Sockjs);
    options.limits.message_bytes_max = 1000;
    options.of_dialect.settings = Settings::default().with("transport", "xhr-streaming");
    let mut user = User { cfg: Config::new(options).unwrap(), ..User::of("xhr-streaming") };
    user.client = Client::new();
    user.open(0);
    assert_eq!(user.handle(0, (HEAD.to_owned() + &chunked(&["o\n"])).as_bytes()), Ok(()));
    let endless = chunked(&[&"a".repeat(600)]);
    assert_eq!(user.handle(0, endless.as_bytes()), Ok(()));
    assert_eq!(user.handle(0, endless.as_bytes()), Err(Failure::Codec(Error::MessageTooLarge)));
}

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
fn ignored_strings_are_in_no_frame() {
    let ours = |seq| {
        let mark = String::from_utf8(stamp(seq).to_text().to_vec()).unwrap();
        format!(r#"{{\"type\":\"broadcast\",\"payload\":{{\"sendTime\":\"1\",\"id\":\"{mark}\"}}}}"#)
    };
    let other = || r#"{\"type\":\"tick\"}"#.to_owned();
    for (strings, followers) in [
        (vec![ours(1), other()], 0),
        (vec![other(), ours(1)], 0),
        (vec![other(), other()], 0),
        (vec![ours(1), other(), ours(2), other(), ours(3)], 2),
    ] {
        let mut user = User::of("xhr-streaming");
        user.handle(0, recorded("xhr-streaming").0.as_bytes()).unwrap();
        user.events();
        let frame = format!("a[\"{}\"]\n", strings.join("\",\""));
        user.handle(0, chunked(&[&frame, &frame]).as_bytes()).unwrap();
        let events = user.events();
        let followed: Vec<&Event> =
            events.windows(2).filter(|pair| pair[0] == Event::SameFrame).map(|pair| &pair[1]).collect();
        assert!(followed.iter().all(|event| matches!(event, Event::Message { .. })), "{events:?}");
        assert_eq!(followed.len(), 2 * followers, "{frame}");
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

#[test]
fn wanted_info_is_asked_for_first() {
    let info = r#"{"websocket":true,"origins":["*:*"],"cookie_needed":false,"entropy":1}"#;
    let kept = format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{}0\r\n\r\n", chunked(&[info]));
    let closed = format!("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 78\r\n\r\n{info:78}");
    let by_eof = format!("HTTP/1.0 200 OK\r\n\r\n{info}");
    for (transport, request) in [("websocket", "GET /echo/0"), ("xhr-polling", "POST /echo/0")] {
        for answer in [&kept, &closed, &by_eof] {
            let mut options = options(DialectId::Sockjs);
            options.path = "/echo".into();
            options.of_dialect.settings =
                Settings::default().with("transport", transport).with("info", Value::On);
            let mut user = User { cfg: Config::new(options).unwrap(), ..User::of("xhr-polling") };
            (user.client, user.io) = (Client::new(), Streams::default());
            user.open(0);
            assert!(user.said(0).starts_with("GET /echo/info HTTP/1.1\r\nHost: "), "{transport}");
            user.hear_by(0, answer.as_bytes(), 5).unwrap();
            if answer == &by_eof {
                user.eof(0).unwrap();
            }
            if answer != &kept {
                assert_eq!((user.said(0), &user.io.opened[..]), (String::new(), &[0][..]));
                user.open(0);
            }
            let said = user.said(0);
            assert!(said.starts_with(request), "{transport}: {said}");
            assert_eq!(said.contains("Upgrade"), transport == "websocket");
        }
    }
    let mut options = options(DialectId::Sockjs);
    options.of_dialect.settings = Settings::default().with("info", Value::On);
    let mut user = User { cfg: Config::new(options).unwrap(), ..User::of("xhr-polling") };
    user.client = Client::new();
    user.open(0);
    let missing = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n";
    assert_eq!(user.handle(0, missing), Err(Failure::Codec(Error::HttpStatus(404))));
}
