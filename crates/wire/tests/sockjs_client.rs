//! SockJS, client role, over plain requests: what sockjs-node 0.3.24 was recorded to say on every transport,
//! and what no server should.

mod websocket;

use codec::Error;
use wire::{Client, Config, DialectId, Event, Failure, Role, Settings, Value};

use crate::common::user::{Streams, User};
use crate::common::{options, stamp};

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
