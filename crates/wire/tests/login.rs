//! Requests before the upgrade: what they say, what is kept of their answers, where that goes, and how they
//! fail.

use app::Kind;
use app::app_file::{LoginContent, LoginRequest};
use app::template::{Quoting, Template};
use codec::{Error, Stamp};
use wire::{Coding, Config, DialectId, Event, Failure, Options, Settings};

use crate::common::accept;
use crate::common::visitor::{Visitor, config, get, keep, logging_in, people, template};

const FORM: &str = "HTTP/1.1 200 OK\r\nSet-Cookie: sid=one; HttpOnly\r\nContent-Length: 36\r\n\r\n\
                    <input name=csrf value=\"t&amp;1 x\">\n";

/// A form is fetched and sent, a page is looked at; then the upgrade, with what they gave.
fn form_login() -> Options {
    let people = people(&["csrf", "ticket", "where", "n"]);
    let fields = template("name=", &people, Quoting::Plain)
        .then(&template("{person.name}", &people, Quoting::Plain).quoted(Quoting::Percent))
        .text("&csrf=")
        .then(&template("{csrf}", &people, Quoting::Plain).quoted(Quoting::Percent));
    let login = vec![
        LoginRequest { keep: vec![keep("csrf", 0, "html:csrf")], ..get("/login") },
        LoginRequest {
            is_post: true,
            headers: vec![("X-Csrf".into(), template("<{csrf}>", &people, Quoting::Plain))],
            content: Some(LoginContent {
                content_type: "application/x-www-form-urlencoded".into(),
                body: fields,
            }),
            expect: Some(302),
            keep: vec![keep("where", 2, "header:location")],
            ..get("/session")
        },
        LoginRequest {
            keep: vec![keep("ticket", 1, "json:/a/1/ticket"), keep("n", 3, r"regex:n=(\d+)")],
            ..get("/me")
        },
    ];
    let mut options = logging_in(DialectId::Custom, login, people, r#"{"id":"{id}"}"#);
    options.path = "/ws?ticket={ticket}&n={n}".into();
    options.headers =
        vec![("X-Where".into(), "{where}".into()), ("Cookie".into(), "theme=dark; sid={csrf}".into())];
    options.origin = Some("http://here".into());
    options.basic_auth = Some(("user".into(), "word".into()));
    options
}

#[test]
fn a_login_in_any_portions() {
    let shared = "Host: 127.0.0.1:9000\r\nOrigin: http://here\r\nAuthorization: Basic dXNlcjp3b3Jk\r\n";
    for step in [1, 2, 3, 7, 50, 10_000] {
        let mut visitor = Visitor::new(Config::new(form_login()).unwrap(), step);
        assert_eq!(visitor.said(), format!("GET /login HTTP/1.1\r\n{shared}\r\n"));
        visitor.hears(FORM).unwrap();
        let body = "name=a%26b%20%22c%22&csrf=t%261%20x";
        assert_eq!(
            visitor.said(),
            format!(
                "POST /session HTTP/1.1\r\n{shared}X-Csrf: <t&1 x>\r\nCookie: sid=one\r\n\
                 Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\n\r\n{body}",
                body.len()
            )
        );
        let redirect =
            "HTTP/1.1 302 Found\r\nSet-Cookie: sid=two\r\nSet-Cookie: lang=en\r\nLocation: /home\r\n";
        visitor.hears(&format!("{redirect}Content-Length: 0\r\n\r\n")).unwrap();
        assert_eq!(visitor.said(), format!("GET /me HTTP/1.1\r\n{shared}Cookie: sid=two; lang=en\r\n\r\n"));
        assert_eq!((visitor.events.as_slice(), visitor.client.is_open()), (&[][..], false));
        let json = r#"{"a":[{},{"ticket":"x\/y z"}],"q":"n=42"}"#;
        let chunked = format!("{:x}\r\n{json}\r\n0\r\n\r\n", json.len());
        visitor.hears(&format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{chunked}")).unwrap();
        assert_eq!(visitor.events, [Event::LoggedIn]);
        let upgrade = visitor.said();
        assert!(upgrade.starts_with("GET /ws?ticket=x%2Fy%20z&n=42 HTTP/1.1\r\n"), "{upgrade}");
        // One cookie field; what the user gave is what it is.
        assert!(
            upgrade.contains("\r\nX-Where: /home\r\nCookie: theme=dark; sid=t&1 x; lang=en\r\n"),
            "{upgrade}"
        );
        visitor.hears(&String::from_utf8(accept(upgrade.as_bytes(), "")).unwrap()).unwrap();
        assert_eq!(visitor.events, [Event::LoggedIn, Event::Upgraded, Event::Usable]);
        assert!(visitor.client.is_usable());
    }
}

#[test]
fn kept_values_are_freed_after_use() {
    for (message, is_kept) in [(r#"{"id":"{id}"}"#, false), (r#"{"id":"{id}","t":"{t}"}"#, true)] {
        let login = vec![LoginRequest { keep: vec![keep("t", 0, "header:x-t")], ..get("/t") }];
        let options = logging_in(DialectId::Custom, login, people(&["t"]), message);
        let mut visitor = Visitor::new(Config::new(options).unwrap(), 99);
        visitor.said();
        visitor.hears("HTTP/1.1 204 No Content\r\nX-T: open\"sesame\r\n\r\n").unwrap();
        let upgrade = visitor.said();
        visitor.hears(&String::from_utf8(accept(upgrade.as_bytes(), "")).unwrap()).unwrap();
        let shown = format!("{:?}", visitor.client);
        assert_eq!(shown.contains("1 values, 0 cookies"), is_kept, "{shown}");
        assert!(!shown.contains("sesame"), "{shown}");
        let stamp = Stamp::new(0, 0, 1, 2, 3);
        visitor.client.send(&visitor.cfg, 0, 0, Kind::Echo, stamp, &mut visitor.io);
        assert!(!visitor.io.out[0].is_empty());
    }
}

#[test]
fn values_in_each_message_are_not_freed() {
    let login = vec![LoginRequest { keep: vec![keep("stream", 0, "html:signed-stream-name")], ..get("/") }];
    let mut options = logging_in(DialectId::Actioncable, login, people(&["stream"]), r#"{"id":"{id}"}"#);
    options.of_dialect.settings = Settings::default().with("channel-params", r#"{"stream":"{stream}"}"#);
    let mut visitor = Visitor::new(Config::new(options).unwrap(), 99);
    visitor.hears("HTTP/1.1 200 OK\r\nContent-Length: 25\r\n\r\n<a signed-stream-name=s1>").unwrap();
    let upgrade = visitor.said();
    let upgrade = &upgrade[upgrade.find("GET /cable").unwrap()..];
    let protocol = "Sec-WebSocket-Protocol: actioncable-v1-json\r\n";
    visitor.hears(&String::from_utf8(accept(upgrade.as_bytes(), protocol)).unwrap()).unwrap();
    let confirmed = r#"{"identifier":"{\"channel\":\"BenchmarkChannel\",\"stream\":\"s1\"}","type":"confirm_subscription"}"#;
    for said in [r#"{"type":"welcome"}"#, confirmed] {
        let frame = [&[0x81, said.len() as u8], said.as_bytes()].concat();
        let on = &mut |event| visitor.events.push(event);
        visitor.client.handle_input(&visitor.cfg, 0, 0, &frame, &mut visitor.io, on).unwrap();
    }
    assert_eq!(visitor.events, [Event::LoggedIn, Event::Upgraded, Event::Usable]);
    let shown = format!("{:?}", visitor.client);
    assert!(shown.contains("1 values, 0 cookies"), "{shown}");
}

#[test]
fn closing_servers_are_connected_to_again() {
    for ends_by_closing in [false, true] {
        let mut visitor = Visitor::new(config(vec![get("/a"), get("/b")]), 5);
        for place in ["/a", "/b"] {
            assert!(visitor.said().starts_with(&format!("GET {place} ")));
            if ends_by_closing {
                visitor.hears("HTTP/1.0 200 OK\r\n\r\nuntil the end").unwrap();
                visitor.hears_the_end().unwrap();
            } else {
                let more = "and more";
                let answer = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok";
                visitor.hears(&format!("{answer}{more}")).unwrap();
                visitor.hears_the_end().unwrap();
            }
            assert_eq!(visitor.said(), "");
            visitor.reconnects();
        }
        assert_eq!(visitor.events, [Event::LoggedIn]);
        assert!(visitor.said().contains("Upgrade: websocket"));
    }
}

#[test]
fn redirects_are_followed_where_that_is_asked_for() {
    let follow = |expect| LoginRequest { is_post: true, follows: true, expect, ..get("/a/b?c") };
    let led =
        |status, to: &str| format!("HTTP/1.1 {status} X\r\nLocation: {to}\r\nContent-Length: 0\r\n\r\n");
    for (status, to, asked) in [
        (302, "/next?x=1#there", "GET /next?x=1 "),
        (303, "other", "GET /a/other "),
        (301, "?d", "GET /a/b?d "),
        (307, "http://127.0.0.1:9000/moved", "POST /moved "),
        (308, "//127.0.0.1:9000", "POST / "),
        // As browsers do: what a request line has no room for is encoded.
        (302, "/a\u{e9}", "GET /a%C3%A9 "),
    ] {
        let mut visitor = Visitor::new(config(vec![follow(None)]), 9);
        visitor.said();
        visitor.hears(&led(status, to)).unwrap();
        let said = visitor.said();
        assert!(said.starts_with(asked), "{to}: {said}");
        assert_eq!(visitor.hears(&led(404, "")), Err(Failure::LoginRefused { request: 0, status: 404 }));
    }
    for elsewhere in
        ["http://127.0.0.1:90001/", "http://example.com/", "//evil/", "https://127.0.0.1:9000/", ""]
    {
        let mut visitor = Visitor::new(config(vec![follow(Some(200))]), 9);
        let result = visitor.hears(&led(302, elsewhere).replace("Location: \r\n", ""));
        assert_eq!(result, Err(Failure::LoginRedirects { request: 0 }), "{elsewhere}");
    }
    let mut visitor = Visitor::new(config(vec![follow(None)]), 99);
    let outcome = (0..10).map(|_| visitor.hears(&led(302, "/again"))).position(|result| result.is_err());
    assert_eq!(outcome, Some(5), "five are followed");
    let mut visitor = Visitor::new(config(vec![follow(Some(302))]), 99);
    visitor.hears(&led(302, "/home")).unwrap();
    assert_eq!(visitor.events, [Event::LoggedIn], "what is expected is the end");
}

#[test]
fn failures_are_told_with_their_request() {
    let answer = |status: u16, more: &str, body: &str| {
        format!("HTTP/1.1 {status} X\r\n{more}Content-Length: {}\r\n\r\n{body}", body.len())
    };
    let expecting = |expect, from: &str| LoginRequest { expect, keep: vec![keep("t", 0, from)], ..get("/b") };
    let large = "x".repeat((1 << 20) + 1);
    let wide: String = (0..5).map(|n| format!("Set-Cookie: c{n}={}\r\n", "x".repeat(3000))).collect();
    let of_text = LoginRequest { keep: vec![keep("t", 0, "regex:^no")], ..get("/b") };
    let refused = |status| Failure::LoginRefused { request: 1, status };
    let no_match = Failure::LoginNoMatch { request: 1, keep: 0 };
    let encoded = |coding| Failure::LoginEncoded { request: 1, coding };
    let too_large = Failure::LoginTooLarge { request: 1 };
    for (request, answers, failure, words) in [
        (expecting(Some(302), "cookie:a"), vec![answer(200, "", "")], refused(200), " 302 "),
        (expecting(None, "cookie:a"), vec![answer(403, "", "")], refused(403), "GET /b, "),
        (expecting(None, "cookie:a"), vec![answer(200, "", "")], no_match, "GET /b, keep t = \"cookie:a\""),
        (expecting(None, "header:x"), vec![answer(200, "", "")], no_match, "keep t = \"header:x\""),
        (expecting(None, "header:x"), vec![answer(200, "X: a\tb\r\n", "")], no_match, "header:x"),
        (expecting(None, "json:/a"), vec![answer(200, "", "{\"b\":1}")], no_match, "json:/a"),
        (expecting(None, "json:/a"), vec![answer(200, "", "{\"a\":\"1\\r\\nX: 2\"}")], no_match, "json:/a"),
        (expecting(None, "html:t"), vec![answer(200, "", "<p>")], no_match, "html:t"),
        (of_text.clone(), vec![answer(200, "", "yes")], no_match, "regex:^no"),
        (of_text.clone(), vec![answer(200, "", &large)], too_large, "GET /b"),
        (of_text, vec![answer(200, "Content-Encoding: br\r\n", "\x0b")], encoded(Coding::Brotli), "GET /b"),
        (
            expecting(None, "html:t"),
            vec![answer(200, "Content-Encoding: identity, GZIP\r\n", "\x1f")],
            encoded(Coding::Gzip),
            "GET /b",
        ),
        (
            expecting(None, "header:x"),
            vec![answer(200, "Content-Encoding: br\r\n", "")],
            no_match,
            "keep t = \"header:x\"",
        ),
        (
            expecting(None, "json:/a"),
            vec![answer(200, "Content-Encoding: identity\r\n", "{}")],
            no_match,
            "json:/a",
        ),
        (
            expecting(None, "cookie:c0"),
            vec![answer(200, &wide, ""), answer(200, &wide.replace("c", "d"), "")],
            Failure::LoginTooLarge { request: 2 },
            "GET /c",
        ),
    ] {
        let mut login = vec![get("/a"), request];
        login.extend((2..answers.len() + 1).map(|_| get("/c")));
        let mut visitor = Visitor::new(config(login), 16 << 10);
        visitor.hears(&answer(200, "", "")).unwrap();
        let result = answers.iter().try_for_each(|answer| visitor.hears(answer));
        assert_eq!(result.map_err(Failure::name), Err(failure.name()), "{words}");
        let told = visitor.cfg.login_words(result.unwrap_err()).unwrap();
        assert!(told.contains(words), "{told}");
        assert_eq!(result, Err(failure), "{told}");
        assert_eq!(visitor.events, [], "{told}");
    }
}

#[test]
fn invalid_answers_fail_as_elsewhere() {
    for (bytes, failure) in [
        ("SSH-2.0-x\r\n", Failure::Codec(Error::NotHttp)),
        ("HTTP/1.1 101 X\r\n\r\n", Failure::Codec(Error::HttpStatus(101))),
        ("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\nmore", Failure::Codec(Error::NotHttp)),
    ] {
        let mut visitor = Visitor::new(config(vec![get("/a")]), 999);
        assert_eq!(visitor.hears(bytes), Err(failure), "{bytes}");
        assert_eq!(visitor.cfg.login_words(failure), None);
    }
    for begun in ["", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab"] {
        let mut visitor = Visitor::new(config(vec![get("/a")]), 999);
        visitor.hears(begun).unwrap();
        assert_eq!(visitor.hears_the_end(), Err(Failure::Codec(Error::EofBeforeAnswer)), "{begun}");
    }
}

#[test]
fn a_login_comes_before_whatever_opens_a_protocol() {
    for (dialect, transport, first) in [
        (DialectId::Custom, None, "GET /ws"),
        (DialectId::Actioncable, None, "GET /cable"),
        (DialectId::Phoenix, None, "GET /socket/websocket"),
        (DialectId::Socketio, None, "GET /socket.io?"),
        (DialectId::Socketio, Some("polling"), "GET /socket.io?"),
        (DialectId::Socketio, Some("upgrade"), "GET /socket.io?"),
        (DialectId::Sockjs, None, "GET /sockjs/"),
        (DialectId::Sockjs, Some("xhr-streaming"), "POST /sockjs/"),
    ] {
        let login = vec![LoginRequest { keep: vec![keep("t", 0, "cookie:a")], ..get("/in") }];
        let message = if dialect == DialectId::Socketio { r#""{id}""# } else { r#"{"id":"{id}"}"# };
        let mut options = logging_in(dialect, login, people(&["t"]), message);
        let mut settings = Settings::default();
        if let Some(transport) = transport {
            settings = settings.with("transport", transport);
        }
        if dialect == DialectId::Actioncable {
            settings = settings.with("channel", "C").with("channel-params", r#"{"signed":"{t}"}"#);
        }
        if dialect == DialectId::Phoenix {
            settings = settings
                .with("topic", "lv:{t}")
                .with("join-params", secret::Secret::from(r#"{"signed":"{t}"}"#));
        }
        options.of_dialect.settings = settings;
        let mut visitor = Visitor::new(Config::new(options).unwrap(), 99);
        assert!(visitor.said().starts_with("GET /in HTTP/1.1\r\n"), "{dialect:?}");
        visitor.hears("HTTP/1.1 200 OK\r\nSet-Cookie: a=x--1\r\nContent-Length: 0\r\n\r\n").unwrap();
        let opening = visitor.said();
        assert!(
            opening.starts_with(first) && opening.contains("\r\nCookie: a=x--1\r\n"),
            "{dialect:?} {opening}"
        );
        if dialect == DialectId::Phoenix || dialect == DialectId::Actioncable {
            visitor.hears(&String::from_utf8(accept(opening.as_bytes(), "")).unwrap()).unwrap();
            let welcome = "\u{81}\u{12}{\"type\":\"welcome\"}";
            let welcome: Vec<u8> = welcome.chars().map(|c| c as u8).collect();
            if dialect == DialectId::Actioncable {
                let on = &mut |_| {};
                visitor.client.handle_input(&visitor.cfg, 0, 0, &welcome, &mut visitor.io, on).unwrap();
            }
            // The join is masked with a key that is known here.
            let masked = std::mem::take(&mut visitor.io.out[0]);
            let join = unmasked(&masked);
            assert!(join.contains("x--1"), "{dialect:?} {join}");
            assert!(dialect != DialectId::Phoenix || join.contains(r#""lv:x--1""#), "{join}");
        }
    }
}

/// The payload of one masked frame of fewer than 64 KiB.
fn unmasked(frame: &[u8]) -> String {
    let start = if frame[1] & 0x7f == 126 { 4 } else { 2 };
    let key = &frame[start..start + 4];
    let payload = frame[start + 4..].iter().zip(key.iter().cycle()).map(|(byte, key)| byte ^ key);
    String::from_utf8(payload.collect()).unwrap()
}

#[test]
fn a_login_that_cannot_be_sent_is_refused() {
    let refuses = |request: LoginRequest| {
        let options = logging_in(DialectId::Custom, vec![request], people(&[]), r#"{"id":"{id}"}"#);
        assert!(Config::new(options).is_err());
    };
    refuses(get("no/slash"));
    refuses(get("/a b"));
    refuses(LoginRequest { headers: vec![("Host".into(), Template::literal("x"))], ..get("/") });
    refuses(LoginRequest { headers: vec![("X".into(), Template::literal("a\r\nb"))], ..get("/") });
    refuses(LoginRequest { keep: vec![keep("t", 0, "query:a")], ..get("/") });
    refuses(LoginRequest { keep: vec![keep("t", u16::MAX, "cookie:a")], ..get("/") });
    refuses(LoginRequest { keep: vec![keep("t", 0, "cookie:a"); 21], ..get("/") });
    let too_many = vec![get("/"); 21];
    assert!(Config::new(logging_in(DialectId::Custom, too_many, people(&[]), r#"{"id":"{id}"}"#)).is_err());
}
