//! Socket.IO on the client's side, over plain requests and from there to a WebSocket, held to sessions
//! recorded between socket.io 4.8 and its client.

use codec::{Error, HttpReason};
use secret::Secret;
use wire::{BadOption, Client, Config, DialectId, Event, Failure, Options, Role, Settings, Value};

use crate::common::user::User;
use crate::common::*;

/// Recorded.
const OPEN: &str = r#"0{"sid":"fQwFo4cmJLgyY9UtAAC-","upgrades":["websocket"],"pingInterval":300,"pingTimeout":200,"maxPayload":1000000}"#;
const CONNECTED: &str = "40{\"sid\":\"71T_MPtOcpon_DrfAABi\"}\x1e42[\"auth\",{\"token\":\"123\"}]";
const PATH: &str = "/socket.io/?EIO=4&transport=polling&sid=fQwFo4cmJLgyY9UtAAC-";

/// The streams.
const MAIN: u8 = 0;
const SENDING: u8 = 1;
const POLLING: u8 = 2;

fn options_of(transport: &str) -> Options {
    let auth = Secret::from(r#"{"token":"123"}"#);
    let settings = Settings::default().with("transport", transport).with("auth", auth);
    Options { path: "/socket.io/".into(), of_dialect: settings.into(), ..options(DialectId::Socketio) }
}

fn user(options: Options) -> User {
    User::with(Config::new(options).unwrap())
}

/// An answer as the recorded server gives it.
fn answer(body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 200 OK\r\nAccess-Control-Allow-Origin: *\r\nContent-Type: text/plain; charset=UTF-8\r\n\
         Content-Length: {length}\r\ncache-control: no-store\r\nDate: Fri, 20 Nov 2026 10:56:02 GMT\r\n\
         Connection: keep-alive\r\nKeep-Alive: timeout=5\r\n\r\n{body}"
    )
}

impl User {
    fn answered(&mut self, stream: u8, body: &str) -> Result<(), Failure> {
        self.handle(stream, answer(body).as_bytes())
    }

    /// The method, target and body of the one request that was made on a stream.
    fn asked(&mut self, stream: u8) -> (String, String) {
        let request = self.said(stream.into());
        let (head, body) =
            request.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no request: {request:?}"));
        let line = head.split(" HTTP/1.1\r\n").next().unwrap();
        (line.to_owned(), body.to_owned())
    }

    /// A client that polls, and has been let in.
    fn polling() -> User {
        let mut user = user(options_of("polling"));
        user.answered(MAIN, OPEN).unwrap();
        user.open(SENDING);
        user.answered(SENDING, "ok").unwrap();
        user.answered(MAIN, CONNECTED).unwrap();
        assert_eq!(user.events(), [Event::Upgraded, Event::Usable]);
        user.said(0);
        user.said(1);
        user.io.opened.clear();
        user
    }
}

#[test]
fn polling_as_recorded_in_any_portions() {
    for step in [1, 7, 1000] {
        let mut user = user(options_of("polling"));
        assert_eq!(user.asked(MAIN), ("GET /socket.io/?EIO=4&transport=polling".into(), String::new()));
        user.hear_by(MAIN, answer(OPEN).as_bytes(), step).unwrap();
        assert_eq!(user.asked(MAIN), (format!("GET {PATH}"), String::new()), "polls on");
        assert_eq!(user.io.opened, [SENDING], "a connection of its own to send");
        user.open(SENDING);
        assert_eq!(user.asked(SENDING), (format!("POST {PATH}"), r#"40{"token":"123"}"#.into()));
        user.hear_by(SENDING, answer("ok").as_bytes(), step).unwrap();
        assert!(!user.client.is_usable());
        user.hear_by(MAIN, answer(CONNECTED).as_bytes(), step).unwrap();
        assert_eq!(user.events(), [Event::Upgraded, Event::Usable]);
        assert_eq!(user.asked(MAIN).0, format!("GET {PATH}"));
        user.hear_by(MAIN, answer("2").as_bytes(), step).unwrap();
        assert_eq!(user.asked(SENDING), (format!("POST {PATH}"), "3".into()), "pings are answered");
    }
}

#[test]
fn cookies_outlive_missed_heartbeats() {
    let mut user = user(options_of("polling"));
    user.handle(MAIN, answer(OPEN).replacen("Date", "Set-Cookie: node=1\r\nDate", 1).as_bytes()).unwrap();
    let late_ns = user.client.poll_timeout().unwrap();
    let late = user.client.handle_timeout(&user.cfg, late_ns, &mut user.io, &mut |_: Event| {});
    assert_eq!(late, Err(Failure::HeartbeatTimeout));
    assert!(user.client.resumption(false).is_some());
}

#[test]
fn packets_go_in_one_request_at_a_time() {
    let mut user = User::polling();
    user.send(1);
    let first = user.asked(SENDING).1;
    assert!(first.starts_with(r#"42["echo",{"sendTime":"17"#) && first.matches("throng-").count() == 1);
    user.send(2);
    user.send(3);
    assert_eq!(user.said(1), "", "the first is not answered");
    user.answered(SENDING, "ok").unwrap();
    let rest = user.asked(SENDING).1;
    assert_eq!(rest.split('\x1e').filter(|packet| packet.starts_with("42[\"echo\",")).count(), 2, "{rest}");
    user.answered(SENDING, "ok").unwrap();
    assert_eq!(user.said(1), "", "nothing more to say");
    user.answered(MAIN, &rest).unwrap();
    let events = user.events();
    for (event, seq) in events.iter().zip([2, 3]) {
        assert!(
            matches!(event, Event::Message { role: Role::Echo, stamp: s, .. } if *s == stamp(seq)),
            "{event:?}"
        );
    }
    assert_eq!(events.len(), 2);
}

#[test]
fn unanswered_requests_bound_what_waits() {
    let mut user = User::polling();
    let sent = (0..40_000).find(|&number| {
        user.send(number);
        user.client.is_overfull()
    });
    assert!(sent.is_some_and(|sent| sent > 1_000), "{sent:?}");
}

#[test]
fn a_body_carries_what_the_server_takes() {
    let mut user = user(options_of("polling"));
    user.answered(MAIN, &OPEN.replace("1000000", "250")).unwrap();
    user.open(SENDING);
    user.answered(SENDING, "ok").unwrap();
    user.answered(MAIN, CONNECTED).unwrap();
    user.said(1);
    for seq in 1..=5 {
        user.send(seq);
    }
    let mut bodies = Vec::new();
    while !user.io.out[1].is_empty() {
        bodies.push(user.asked(SENDING).1);
        user.answered(SENDING, "ok").unwrap();
    }
    let packets: Vec<usize> = bodies.iter().map(|body| body.split('\x1e').count()).collect();
    assert!(bodies.iter().all(|body| body.len() <= 250), "{bodies:?}");
    assert_eq!((packets[0], packets.iter().sum::<usize>()), (1, 5), "{bodies:?}");
    assert!(packets.len() < 5, "several go together: {packets:?}");
}

#[test]
fn attachments_go_in_base64() {
    for (eio, polled) in [(4, ""), (3, "b64=1&")] {
        let mut options = options_of("polling");
        let settings = Settings::default().with("transport", "polling").with("eio", eio);
        options.of_dialect = settings.with("binary", Value::On).into();
        let mut user = user(options);
        let query = polled.trim_end_matches('&');
        let query = if query.is_empty() { String::new() } else { format!("&{query}") };
        assert_eq!(user.asked(MAIN).0, format!("GET /socket.io/?EIO={eio}&transport=polling{query}"));
        let framed =
            |packet: &str| if eio == 3 { format!("{}:{packet}", packet.len()) } else { packet.into() };
        user.answered(MAIN, &framed(OPEN)).unwrap();
        assert!(user.asked(MAIN).0.contains(&format!("&{polled}sid=fQw")), "{eio}");
        user.answered(MAIN, &framed("40")).unwrap();
        user.open(SENDING);
        user.said(1);
        if eio == 4 {
            user.answered(SENDING, "ok").unwrap();
        }
        assert!(user.client.is_usable());
        user.events();
        user.send(1);
        let said = user.asked(SENDING).1;
        let text = r#"451-["echo",{"_placeholder":true,"num":0}]"#;
        let attachment = match eio {
            4 => said.strip_prefix(&format!("{text}\x1eb")).expect("an attachment"),
            _ => said.strip_prefix(&format!("{}:{text}", text.len())).unwrap().split_once(":b4").unwrap().1,
        };
        assert!(attachment.len() % 4 == 0 && attachment.len() > 30, "{said}");
        user.said(0);
        user.answered(MAIN, &said).unwrap();
        let events = user.events();
        assert!(
            matches!(events[..], [Event::Message { role: Role::Echo, stamp: s, .. }] if s == stamp(1)),
            "{events:?}"
        );
    }
}

#[test]
fn a_websocket_takes_over_as_recorded() {
    for step in [1, 1000] {
        let mut user = user(options_of("upgrade"));
        assert_eq!(user.asked(MAIN).0, "GET /socket.io/?EIO=4&transport=polling");
        user.hear_by(MAIN, answer(OPEN).as_bytes(), step).unwrap();
        assert_eq!((&user.io.closed[..], &user.io.opened[..]), (&[MAIN][..], &[MAIN, POLLING, SENDING][..]));
        for stream in [POLLING, SENDING, MAIN] {
            user.open(stream);
        }
        assert_eq!(user.asked(SENDING).1, r#"40{"token":"123"}"#);
        assert_eq!(user.asked(POLLING).0, format!("GET {PATH}"));
        let upgrade = user.said(0);
        assert!(upgrade.starts_with(&format!("GET {} HTTP/1.1\r\n", PATH.replace("polling", "websocket"))));
        user.hear_by(MAIN, &accept(upgrade.as_bytes(), ""), step).unwrap();
        assert_eq!(said(&std::mem::take(&mut user.io.out[0])), ["2probe"]);
        user.hear_by(POLLING, answer(CONNECTED).as_bytes(), step).unwrap();
        assert_eq!(user.asked(POLLING).0, format!("GET {PATH}"), "polls until the probe is answered");
        assert_eq!(user.events(), [Event::Upgraded], "not usable by the transport that was asked for");
        user.hear_by(MAIN, &texts(&["3probe"]), step).unwrap();
        user.hear_by(POLLING, answer("6").as_bytes(), step).unwrap();
        assert_eq!(
            (user.said(2), user.io.out[0].len(), user.events()),
            (String::new(), 0, vec![]),
            "a POST is under way"
        );
        user.hear_by(SENDING, answer("ok").as_bytes(), step).unwrap();
        assert_eq!(said(&std::mem::take(&mut user.io.out[0])), ["5"]);
        assert_eq!(user.events(), [Event::Usable]);
        assert_eq!(user.io.closed, [MAIN, POLLING, SENDING]);
        user.send(1);
        assert!(said(&std::mem::take(&mut user.io.out[0]))[0].starts_with(r#"42["echo",{"sendTime":"#));
        user.hear_by(MAIN, &texts(&["2"]), step).unwrap();
        assert_eq!(said(&std::mem::take(&mut user.io.out[0])), ["3"], "heartbeats go on");
    }
}

#[test]
fn waiting_packets_go_by_the_new_websocket() {
    let mut user = user(options_of("upgrade"));
    user.answered(MAIN, OPEN).unwrap();
    for stream in [POLLING, SENDING, MAIN] {
        user.open(stream);
    }
    let upgrade = user.said(0);
    user.handle(MAIN, &accept(upgrade.as_bytes(), "")).unwrap();
    user.handle(MAIN, &texts(&["3probe"])).unwrap();
    // A ping whose pong cannot go before the request under way is answered.
    user.answered(POLLING, "2").unwrap();
    user.io.out[0].clear();
    user.answered(SENDING, "ok").unwrap();
    assert_eq!(said(&std::mem::take(&mut user.io.out[0])), ["5", "3"]);
    assert_eq!(user.events(), [Event::Upgraded]);
    user.handle(MAIN, &texts(&["40{\"sid\":\"x\"}"])).unwrap();
    assert_eq!(user.events(), [Event::Usable]);
}

#[test]
fn connections_that_the_server_closes_are_opened_anew() {
    let mut user = user(options_of("polling"));
    let closing = answer(OPEN).replace("keep-alive\r\n", "close\r\n");
    user.handle(MAIN, closing.as_bytes()).unwrap();
    assert_eq!(user.io.opened, [MAIN, SENDING]);
    user.said(0);
    user.open(MAIN);
    assert_eq!(user.asked(MAIN).0, format!("GET {PATH}"));
    // An answer that ends with its connection.
    user.handle(MAIN, b"HTTP/1.0 200 OK\r\n\r\n2").unwrap();
    user.eof(MAIN).unwrap();
    user.open(SENDING);
    assert_eq!(user.asked(SENDING).1, "40{\"token\":\"123\"}");
    user.answered(SENDING, "ok").unwrap();
    assert_eq!(user.asked(SENDING).1, "3");
    user.open(MAIN);
    assert_eq!(user.asked(MAIN).0, format!("GET {PATH}"));
    user.handle(MAIN, b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n42").unwrap();
    assert_eq!(user.eof(MAIN), Err(Failure::Codec(Error::EofBeforeAnswer)), "in mid-answer");
}

#[test]
fn hostile_messages_are_counted() {
    for (body, failure) in [
        ("", Failure::BadMessage),
        ("1", Failure::BadMessage),
        ("40", Failure::BadMessage),
        ("0{}", Failure::BadMessage),
        ("\x1e", Failure::BadMessage),
        ("b", Failure::BadMessage),
        (&OPEN.replace("fQw", "f&w"), Failure::BadMessage),
        (&OPEN.replace(":300", ":0"), Failure::BadMessage),
    ] {
        assert_eq!(user(options_of("polling")).answered(MAIN, body), Err(failure), "{body:?}");
    }
    let mut none = user(options_of("upgrade"));
    assert_eq!(none.answered(MAIN, &OPEN.replace("\"websocket\"", "")), Err(Failure::NoUpgrade));
    for body in ["451-[\"a\"]\x1e42[\"a\"]", "bAQID", "b!", "5", "7", OPEN] {
        assert_eq!(User::polling().answered(MAIN, body), Err(Failure::BadMessage), "{body}");
    }
    let mut user = User::polling();
    let unknown = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n";
    assert_eq!(user.handle(MAIN, unknown), Err(Failure::SessionLost));
    let mut new = self::user(options_of("polling"));
    assert_eq!(
        new.handle(MAIN, unknown),
        Err(Failure::Codec(Error::HttpStatus(400))),
        "it has no session yet"
    );
    let mut user = User::polling();
    user.send(1);
    let too_large = b"HTTP/1.1 413 Payload Too Large\r\nContent-Length: 0\r\n\r\n";
    assert_eq!(user.handle(SENDING, too_large), Err(Failure::Codec(Error::HttpStatus(413))));
    let mut user = User::polling();
    assert_eq!(user.handle(SENDING, b"what?"), Err(Failure::Codec(Error::BadHttp(HttpReason::Surplus))));
    let mut user = User::polling();
    let endless =
        format!("HTTP/1.1 200 OK\r\n\r\n{}", "x".repeat(user.cfg.options().limits.message_bytes_max + 1));
    assert_eq!(user.handle(MAIN, endless.as_bytes()), Err(Failure::Codec(Error::MessageTooLarge)));
}

#[test]
fn websockets_that_do_not_take_over() {
    for (told, failure) in [
        (&texts(&["3"])[..], Failure::BadMessage),
        (&texts(&["2probe"]), Failure::BadMessage),
        (&texts(&["3probe", "3probe"]), Failure::BadMessage),
        (&plain(0x82, b"3probe"), Failure::BadMessage),
    ] {
        let mut user = user(options_of("upgrade"));
        user.answered(MAIN, OPEN).unwrap();
        for stream in [POLLING, MAIN] {
            user.open(stream);
        }
        let upgrade = user.said(0);
        user.handle(MAIN, &accept(upgrade.as_bytes(), "")).unwrap();
        assert_eq!(user.handle(MAIN, told), Err(failure), "{}", told.escape_ascii());
    }
    let mut refused = user(options_of("upgrade"));
    refused.answered(MAIN, OPEN).unwrap();
    refused.open(MAIN);
    assert_eq!(refused.handle(MAIN, b"HTTP/1.1 400 Bad Request\r\n\r\n"), Err(Failure::SessionUpgrade(400)));
    let mut gone = user(options_of("upgrade"));
    gone.answered(MAIN, OPEN).unwrap();
    gone.open(MAIN);
    assert_eq!(gone.eof(MAIN), Err(Failure::Codec(Error::EofBeforeAnswer)));
}

#[test]
fn goodbyes_and_endings() {
    let mut user = User::polling();
    user.client.close(&user.cfg, 0, 1000, &mut user.io);
    assert_eq!(user.asked(SENDING).1, "1");
    assert!(user.client.is_closed() && user.io.closed == [MAIN]);
    let mut user = User::polling();
    user.answered(MAIN, "1").unwrap();
    assert_eq!(user.events(), [Event::Closed { code: 1005 }]);
    assert!(user.client.is_closed());
    let mut user = User::polling();
    let due_ns = user.client.poll_timeout().expect("a server that does not ping is dead");
    let failed = user.client.handle_timeout(&user.cfg, due_ns, &mut user.io, &mut |_| {});
    assert_eq!(failed, Err(Failure::HeartbeatTimeout));
    let mut of_3 = options_of("polling");
    of_3.of_dialect = Settings::default().with("transport", "polling").with("eio", 3).into();
    let mut user = user_of_3(of_3);
    let due_ns = user.client.poll_timeout().unwrap();
    user.client.handle_timeout(&user.cfg, due_ns, &mut user.io, &mut |_| {}).unwrap();
    user.open(SENDING);
    assert_eq!(user.asked(SENDING).1, "1:2", "before version 4 the client pings");
}

fn user_of_3(options: Options) -> User {
    let mut user = user(options);
    user.answered(MAIN, &format!("{}:{OPEN}2:40", OPEN.len())).unwrap();
    assert_eq!(user.events(), [Event::Upgraded, Event::Usable]);
    user
}

#[test]
fn the_transport_is_named_once() {
    let of = |path: &str, transport: Option<&str>| {
        let mut options = options_of("websocket");
        options.path = path.into();
        let settings = Settings::default().with("auth", Secret::from(r#"{"token":"123"}"#));
        options.of_dialect.settings = match transport {
            Some(transport) => settings.with("transport", transport),
            None => settings,
        };
        Config::new(options)
    };
    for (path, transport, expected) in [
        ("/s/", None, "GET /s/?EIO=4&transport=websocket "),
        ("/s/", Some("polling"), "GET /s/?EIO=4&transport=polling "),
        ("/s/?transport=polling", None, "GET /s/?transport=polling&EIO=4 "),
        ("/s/?EIO=4&transport=polling", Some("upgrade"), "GET /s/?EIO=4&transport=polling "),
    ] {
        let (mut client, mut io) = (Client::new(), Fake::default());
        client.handle_open(&of(path, transport).unwrap(), 0, 0, &mut io);
        assert!(io.out.starts_with(expected.as_bytes()), "{}", io.out.escape_ascii());
    }
    for (path, transport) in
        [("/s/", "pigeon"), ("/s/?transport=websocket", "upgrade"), ("/s/?transport=polling", "websocket")]
    {
        let refused = of(path, Some(transport)).err();
        assert!(matches!(refused, Some(BadOption::OfDialect { option: "transport", .. })), "{refused:?}");
    }
}
