//! SockJS, server role: sessions over requests. Sections are of the sockjs-protocol document.

use codec::Error;
use wire::Settings;

use crate::common::world::World;

fn post(world: &mut World, path: &str, body: &str) -> (usize, String) {
    request(world, &format!("POST {path}"), "", body)
}

fn get(world: &mut World, path: &str) -> (usize, String) {
    request(world, &format!("GET {path}"), "", "")
}

/// A request on a connection of its own, and what is there of the answer.
fn request(world: &mut World, line: &str, fields: &str, body: &str) -> (usize, String) {
    let at = world.connect();
    let length = body.len();
    let head = format!("{line} HTTP/1.1\r\nHost: h\r\n{fields}Content-Length: {length}\r\n\r\n{body}");
    world.send(at, head.as_bytes()).unwrap();
    (at, world.read(at))
}

/// The body of a whole answer.
fn body(answer: &str) -> &str {
    answer.split_once("\r\n\r\n").expect("an answer").1
}

/// The chunks that are there, without the end; whether that is there.
fn chunks(mut body: &str) -> (Vec<&str>, bool) {
    let mut chunks = Vec::new();
    while let Some((size, rest)) = body.split_once("\r\n") {
        let size = usize::from_str_radix(size, 16).expect("a size");
        if size == 0 {
            assert_eq!(rest, "\r\n");
            return (chunks, true);
        }
        chunks.push(&rest[..size]);
        body = rest[size..].strip_prefix("\r\n").expect("the end of the chunk");
    }
    (chunks, false)
}

const NOT_CACHED: &str = "Cache-Control: no-store, no-cache, no-transform, must-revalidate, max-age=0\r\n";

#[test]
fn a_simple_session() {
    let world = &mut World::new();
    let (_, answer) = request(world, "POST /echo/000/a/xhr", "Origin: test\r\n", "");
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.contains(NOT_CACHED), "{answer}");
    assert!(answer.contains("Content-Type: application/javascript; charset=UTF-8\r\n"));
    assert!(answer.contains("Access-Control-Allow-Origin: test\r\n"));
    assert_eq!(body(&answer), "o\n");
    let (_, answer) = request(world, "POST /echo/000/a/xhr_send", "Origin: test\r\n", r#"["x"]"#);
    assert!(answer.starts_with("HTTP/1.1 204 No Content\r\n") && answer.contains(NOT_CACHED), "{answer}");
    assert!(answer.contains("Content-Type: text/plain; charset=UTF-8\r\n"));
    assert!(answer.contains("Access-Control-Allow-Origin: test\r\n") && !answer.contains("Content-Length"));
    // The number for balancers is not part of the name.
    assert_eq!(body(&post(world, "/echo/999/a/xhr", "").1), "a[\"x\"]\n");
    assert!(post(world, "/echo/000/bad_session/xhr_send", r#"["a"]"#).1.starts_with("HTTP/1.1 404 "));
    // The same name elsewhere is another session.
    assert_eq!(body(&post(world, "/sockjs/000/a/xhr", "").1), "o\n");
}

#[test]
fn bodies_must_be_arrays_of_strings() {
    let world = &mut World::new();
    post(world, "/echo/0/a/xhr", "");
    for (sent, complaint) in [
        (r#"["x"#, "Broken JSON encoding."),
        ("", "Payload expected."),
        (r#"["x"]]"#, "Broken JSON encoding."),
        (r#"["x",]"#, "Broken JSON encoding."),
        (r#"[1]"#, "Broken JSON encoding."),
        (r#"[{"a":"b"}]"#, "Broken JSON encoding."),
        (r#"[["a"]]"#, "Broken JSON encoding."),
        (r#"{"a":"b"}"#, "Broken JSON encoding."),
        ("12", "Broken JSON encoding."),
        ("null", "Broken JSON encoding."),
        (r#"["a" "b"]"#, "Broken JSON encoding."),
        (r#"["\x"]"#, "Broken JSON encoding."),
        (r#"["\u12"]"#, "Broken JSON encoding."),
        ("[\"\u{0}\"]", "Broken JSON encoding."),
        ("[\"a\nb\"]", "Broken JSON encoding."),
        (r#"["first",2]"#, "Broken JSON encoding."),
    ] {
        let (_, answer) = post(world, "/echo/0/a/xhr_send", sent);
        assert!(answer.starts_with("HTTP/1.1 500 "), "{sent}: {answer}");
        assert_eq!(body(&answer), complaint, "{sent}");
    }
    let (at, _) = post(world, "/echo/0/b/xhr", "");
    let not_text = b"POST /echo/0/b/xhr_send HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\n[\"\xff\"]";
    world.send(at, not_text).unwrap();
    assert!(world.read(at).ends_with("Broken JSON encoding."));
    // Nothing of a broken array is done, and nothing is broken by it; an empty one is a heartbeat.
    for sent in ["[]", " [ \"a\" , \"b\" ] ", "[]"] {
        assert!(post(world, "/echo/0/a/xhr_send", sent).1.starts_with("HTTP/1.1 204 "), "{sent}");
    }
    assert_eq!(body(&post(world, "/echo/0/a/xhr", "").1), "a[\"a\",\"b\"]\n");
}

#[test]
fn strings_come_back_as_what_they_stand_for() {
    let world = &mut World::new();
    post(world, "/echo/0/a/xhr", "");
    for (sent, back) in [
        (r#"["\ud800","\"\\\/\b\f\n\r\t","é€😀"]"#, r#"["\ud800","\"\\\/\b\f\n\r\t","é€😀"]"#),
        // What browsers mangle is escaped: sockjs-protocol, "JSON Unicode Encoding".
        (
            "[\"\u{200b}\u{200c}\u{200f}\u{2010}\u{2028}\u{202f}\u{2060}\u{206f}\u{feff}\u{fff0}\u{ffff}\"]",
            "[\"\u{200b}\\u200c\\u200f\u{2010}\\u2028\\u202f\\u2060\\u206f\u{feff}\\ufff0\\uffff\"]",
        ),
    ] {
        assert!(post(world, "/echo/0/a/xhr_send", sent).1.starts_with("HTTP/1.1 204 "), "{sent}");
        assert_eq!(body(&post(world, "/echo/0/a/xhr", "").1), format!("a{back}\n"));
    }
}

#[test]
fn only_one_poll_waits() {
    let world = &mut World::new();
    post(world, "/echo/0/a/xhr", "");
    let (waiting, answer) = post(world, "/echo/0/a/xhr", "");
    assert_eq!(answer, "");
    assert_eq!(body(&post(world, "/echo/0/a/xhr", "").1), "c[2010,\"Another connection still open\"]\n");
    post(world, "/echo/0/a/xhr_send", r#"["x"]"#);
    assert_eq!(body(&world.read(waiting)), "a[\"x\"]\n");
    // The connection serves on; requests that came in meanwhile are answered in their order.
    let pipelined = "POST /echo/0/a/xhr HTTP/1.1\r\nHost: h\r\n\r\n".repeat(2);
    world.send(waiting, pipelined.as_bytes()).unwrap();
    post(world, "/echo/0/a/xhr_send", r#"["y"]"#);
    assert_eq!(body(&world.read(waiting)), "a[\"y\"]\n");
    post(world, "/echo/0/a/xhr_send", r#"["z"]"#);
    assert_eq!(body(&world.read(waiting)), "a[\"z\"]\n");
}

#[test]
fn polls_may_come_in_any_portions() {
    let world = &mut World::new();
    post(world, "/echo/0/a/xhr", "");
    let at = world.connect();
    let sent = "POST /echo/0/a/xhr_send HTTP/1.1\r\nHost: h\r\nContent-Type: text/plain\r\n\
        Transfer-Encoding: chunked\r\n\r\n2\r\n[\"\r\n7\r\nhello\"]\r\n0\r\n\r\n";
    for byte in sent.as_bytes().chunks(1) {
        assert_eq!(world.read(at), "");
        world.send(at, byte).unwrap();
    }
    assert!(world.read(at).starts_with("HTTP/1.1 204 "));
    for byte in "POST /echo/0/a/xhr HTTP/1.1\r\nHost: h\r\n\r\n".as_bytes().chunks(1) {
        world.send(at, byte).unwrap();
    }
    assert_eq!(body(&world.read(at)), "a[\"hello\"]\n");
}

#[test]
fn xhr_streaming() {
    let world = &mut World::new();
    let (stream, answer) = post(world, "/echo/0/a/xhr_streaming", "");
    let (head, prelude) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.contains("Transfer-Encoding: chunked") && !head.contains("Content-Length"), "{head}");
    assert!(head.contains("Content-Type: application/javascript; charset=UTF-8"));
    let prelude = chunks(prelude);
    assert_eq!(prelude, (vec![&*format!("{}\n", "h".repeat(2048)), "o\n"], false));
    post(world, "/echo/0/a/xhr_send", r#"["x"]"#);
    assert_eq!(chunks(&world.read(stream)), (vec!["a[\"x\"]\n"], false));
    // 4096 bytes of frames, the prelude not counted, end the answer; the session goes on.
    let message = format!("[\"{}\"]", "x".repeat(128));
    for _ in 0..30 {
        post(world, "/echo/0/a/xhr_send", &message);
        assert_eq!(chunks(&world.read(stream)), (vec![&*format!("a{message}\n")], false));
    }
    post(world, "/echo/0/a/xhr_send", &message);
    post(world, "/echo/0/a/xhr_send", r#"["later"]"#);
    let last = world.read(stream);
    assert_eq!(chunks(&last), (vec![&*format!("a{message}\n")], true));
    let (_, answer) = post(world, "/echo/0/a/xhr_streaming", "");
    assert_eq!(chunks(body(&answer)).0[1..], ["a[\"later\"]\n"]);
}

#[test]
fn the_limit_of_other_services_is_configured() {
    let world = &mut World::new();
    world.cfg.settings = Settings::default().with("sockjs-response-limit", 20);
    let (stream, _) = post(world, "/sockjs/0/a/xhr_streaming", "");
    post(world, "/sockjs/0/a/xhr_send", r#"["x"]"#);
    assert_eq!(chunks(&world.read(stream)), (vec!["a[\"x\"]\n"], false));
    post(world, "/sockjs/0/a/xhr_send", r#"["01234567890"]"#);
    assert_eq!(chunks(&world.read(stream)), (vec!["a[\"01234567890\"]\n"], true));
}

#[test]
fn eventsource() {
    let world = &mut World::new();
    let (stream, answer) = get(world, "/echo/0/a/eventsource");
    assert!(answer.contains("Content-Type: text/event-stream\r\n") && answer.contains(NOT_CACHED));
    assert_eq!(chunks(body(&answer)), (vec!["\r\n", "data: o\r\n\r\n"], false));
    post(world, "/echo/0/a/xhr_send", r#"["  \u0000\n\r "]"#);
    assert_eq!(chunks(&world.read(stream)), (vec!["data: a[\"  \\u0000\\n\\r \"]\r\n\r\n"], false));
    post(world, "/echo/0/a/xhr_send", &format!("[\"{}\"]", "x".repeat(4096)));
    assert!(chunks(&world.read(stream)).1, "enough");
}

#[test]
fn htmlfile() {
    let world = &mut World::new();
    let (stream, answer) = get(world, "/echo/0/a/htmlfile?c=%63allback");
    assert!(answer.contains("Content-Type: text/html; charset=UTF-8\r\n") && answer.contains(NOT_CACHED));
    let (frames, _) = chunks(body(&answer));
    assert!(frames[0].len() > 1024 && frames[0].contains("var c = parent.callback;\n    c.start();\n"));
    assert_eq!(frames[1], "<script>\np(\"o\");\n</script>\r\n");
    post(world, "/echo/0/a/xhr_send", r#"["x</script>"]"#);
    let frame = "<script>\np(\"a[\\\"x<\\/script>\\\"]\");\n</script>\r\n";
    assert_eq!(chunks(&world.read(stream)), (vec![frame], false));
    post(world, "/echo/0/a/xhr_send", &format!("[\"{}\"]", "x".repeat(4096)));
    assert!(chunks(&world.read(stream)).1, "enough");
}

#[test]
fn jsonp() {
    let world = &mut World::new();
    let (_, answer) = get(world, "/echo/0/a/jsonp?c=%63allback");
    assert!(answer.contains("Content-Type: application/javascript; charset=UTF-8\r\n"));
    assert!(answer.contains("X-Content-Type-Options: nosniff\r\n") && answer.contains(NOT_CACHED));
    assert_eq!(body(&answer), "/**/callback(\"o\");\r\n");
    let form = "Content-Type: application/x-www-form-urlencoded\r\n";
    let send = "POST /echo/0/a/jsonp_send";
    for (fields, sent) in [(form, "d=%5B%22x+y%22%5D"), ("Content-Type: text/plain\r\n", r#"["%61bc"]"#)] {
        let (_, answer) = request(world, send, fields, sent);
        assert!(answer.starts_with("HTTP/1.1 200 ") && answer.contains("text/plain; charset=UTF-8"));
        assert_eq!(body(&answer), "ok");
    }
    assert_eq!(body(&get(world, "/echo/0/a/jsonp?c=x").1), "/**/x(\"a[\\\"x y\\\",\\\"%61bc\\\"]\");\r\n");
    for (sent, complaint) in [
        ("d=%5B%22x", "Broken JSON encoding."),
        ("d=", "Payload expected."),
        ("p=p", "Payload expected."),
        ("", "Payload expected."),
    ] {
        let (_, answer) = request(world, send, form, sent);
        assert!(answer.starts_with("HTTP/1.1 500 ") && body(&answer) == complaint, "{sent}: {answer}");
    }
    assert_eq!(body(&request(world, send, form, "d=%5B%5D").1), "ok", "a heartbeat");
}

#[test]
fn sessions_closed_by_the_service_say_so() {
    let world = &mut World::new();
    assert_eq!(body(&post(world, "/close/0/a/xhr", "").1), "o\n");
    for _ in 0..2 {
        assert_eq!(body(&post(world, "/close/0/a/xhr", "").1), "c[3000,\"Go away!\"]\n");
    }
    assert_eq!(body(&get(world, "/close/0/b/jsonp?c=x").1), "/**/x(\"o\");\r\n");
    assert_eq!(body(&get(world, "/close/0/b/jsonp?c=x").1), "/**/x(\"c[3000,\\\"Go away!\\\"]\");\r\n");
    let (_, answer) = post(world, "/close/0/c/xhr_streaming", "");
    assert_eq!(chunks(body(&answer)).0[1..], ["o\n", "c[3000,\"Go away!\"]\n"]);
    assert!(chunks(body(&answer)).1);
    let (_, answer) = post(world, "/close/0/c/xhr_streaming", "");
    assert_eq!(chunks(body(&answer)).0[1..], ["c[3000,\"Go away!\"]\n"]);
    world.pass_s(5);
    assert_eq!(world.sessions(), 0, "forgotten");
}

#[test]
fn http_1_0_streams_end_with_the_connection() {
    let world = &mut World::new();
    let at = world.connect();
    world.send(at, b"POST /close/0/a/xhr_streaming HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n").unwrap();
    let answer = world.read(at);
    assert!(!answer.contains("Transfer-Encoding") && !answer.contains("Content-Length"), "{answer}");
    assert!(answer.contains("Connection: close\r\n"));
    assert_eq!(body(&answer), format!("{}\no\nc[3000,\"Go away!\"]\n", "h".repeat(2048)));
    assert!(world.is_closed(at));
}

#[test]
fn an_interrupted_answer_ends_the_session() {
    let world = &mut World::new();
    for transport in ["xhr", "xhr_streaming"] {
        let path = format!("/echo/0/{transport}/{transport}");
        let (first, _) = post(world, &path, "");
        let stream = if transport == "xhr" { post(world, &path, "").0 } else { first };
        let (_, answer) = post(world, &path, "");
        assert!(answer.contains("c[2010,\"Another connection still open\"]\n"));
        world.abort(stream);
        let (_, answer) = post(world, &path, "");
        assert!(answer.contains("c[1002,\"Connection interrupted\"]\n"), "{answer}");
    }
}

#[test]
fn heartbeats_and_session_timeouts() {
    let world = &mut World::new();
    let (stream, _) = post(world, "/sockjs/0/a/xhr_streaming", "");
    world.pass_s(24);
    assert_eq!(world.read(stream), "");
    world.pass_s(1);
    assert_eq!(chunks(&world.read(stream)), (vec!["h\n"], false));
    world.pass_s(25);
    assert_eq!(chunks(&world.read(stream)), (vec!["h\n"], false));
    post(world, "/sockjs/0/b/xhr", "");
    let (poll, _) = post(world, "/sockjs/0/b/xhr", "");
    world.pass_s(25);
    assert_eq!(body(&world.read(poll)), "h\n", "a poll is answered with it");
    assert_eq!(world.sessions(), 2);
    world.pass_s(4);
    assert_eq!(world.sessions(), 2);
    world.pass_s(1);
    assert_eq!(world.sessions(), 1, "nobody asked");
    assert_eq!(body(&post(world, "/sockjs/0/b/xhr", "").1), "o\n", "another of the same name");
}

#[test]
fn broadcasts_reach_every_transport_in_its_framing() {
    let world = &mut World::new();
    let (stream, _) = post(world, "/sockjs/0/a/xhr_streaming", "");
    let (events, _) = get(world, "/sockjs/0/b/eventsource");
    let (html, _) = get(world, "/sockjs/0/c/htmlfile?c=f");
    post(world, "/sockjs/0/d/xhr", "");
    let (poll, _) = post(world, "/sockjs/0/d/xhr", "");
    get(world, "/sockjs/0/e/jsonp?c=f");
    let (elsewhere, _) = post(world, "/echo/0/a/xhr_streaming", "");
    let upgrade = "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n\
        Sec-WebSocket-Key: x3JJHMbDL1EzLkh9GBhXDw==\r\n";
    let (framed, _) = request(world, "GET /sockjs/0/f/websocket", upgrade, "");
    let (raw, _) = request(world, "GET /sockjs/websocket", upgrade, "");

    let string = r#"{\"type\":\"broadcast\",\"payload\":1}"#;
    let result = r#"{\"type\":\"broadcastResult\",\"payload\":1}"#;
    let (_, answer) = post(world, "/sockjs/0/e/xhr_send", &format!("[\"{string}\"]"));
    assert!(answer.starts_with("HTTP/1.1 204 "));
    let frame = format!("a[\"{string}\"]");
    assert_eq!(chunks(&world.read(stream)).0, [format!("{frame}\n")]);
    assert_eq!(chunks(&world.read(events)).0, [format!("data: {frame}\r\n\r\n")]);
    let escaped = frame.replace('\\', "\\\\").replace('"', "\\\"");
    assert_eq!(chunks(&world.read(html)).0, [format!("<script>\np(\"{escaped}\");\n</script>\r\n")]);
    assert_eq!(body(&world.read(poll)), format!("{frame}\n"));
    assert_eq!(world.take(framed), [&[0x81, frame.len() as u8], frame.as_bytes()].concat());
    let plain = r#"{"type":"broadcast","payload":1}"#;
    assert_eq!(world.take(raw), [&[0x81, plain.len() as u8], plain.as_bytes()].concat());
    assert_eq!(world.take(elsewhere), b"", "another service");
    // The sender was not asking: both its result and its copy waited.
    let both = format!("a[\"{string}\",\"{result}\"]").replace('\\', "\\\\").replace('"', "\\\"");
    let (_, answer) = get(world, "/sockjs/0/e/jsonp?c=f");
    let other_order = format!("a[\"{result}\",\"{string}\"]").replace('\\', "\\\\").replace('"', "\\\"");
    let bodies = [both, other_order].map(|frame| format!("/**/f(\"{frame}\");\r\n"));
    assert!(bodies.contains(&body(&answer).to_owned()), "{answer}");
}

#[test]
fn messages_that_nobody_asks_for_are_bounded() {
    let world = &mut World::new();
    post(world, "/echo/0/a/xhr", "");
    let message = format!("[\"{}\"]", "x".repeat(500_000));
    // Answers to its own: sixteen megabytes.
    for _ in 0..34 {
        assert!(post(world, "/echo/0/a/xhr_send", &message).1.starts_with("HTTP/1.1 204 "));
    }
    assert_eq!(body(&post(world, "/echo/0/a/xhr", "").1), "c[1008,\"Too many messages waiting\"]\n");
}

#[test]
fn a_body_is_bounded() {
    let world = &mut World::new();
    post(world, "/echo/0/a/xhr", "");
    let at = world.connect();
    let head = "POST /echo/0/a/xhr_send HTTP/1.1\r\nHost: h\r\nContent-Length: 1048577\r\n\r\n[";
    assert_eq!(world.send(at, head.as_bytes()), Err(wire::Failure::Codec(Error::BodyTooLarge)));
    assert!(world.read(at).starts_with("HTTP/1.1 413 ") && world.is_closed(at));
    // So is what may be sent ahead of an answer.
    let (at, _) = post(world, "/echo/0/a/xhr", "");
    let flood = vec![b'a'; 2 << 20];
    assert_eq!(world.send(at, &flood), Err(wire::Failure::Codec(Error::BodyTooLarge)));
    assert!(world.is_closed(at));
}

#[test]
fn many_messages_at_once_and_a_large_one() {
    let world = &mut World::new();
    post(world, "/echo/0/a/xhr", "");
    let many = format!("[{}]", vec!["\"m\""; 10_000].join(","));
    assert!(post(world, "/echo/0/a/xhr_send", &many).1.starts_with("HTTP/1.1 204 "));
    assert_eq!(body(&post(world, "/echo/0/a/xhr", "").1), format!("a{many}\n"));
}
