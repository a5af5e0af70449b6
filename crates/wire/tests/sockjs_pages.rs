//! SockJS, server role: pages, methods, origins, names. Sections are of the sockjs-protocol document.

use crate::common::world::World;

/// The answer to one request, head and body apart.
fn ask(request: &str) -> (String, String) {
    ask_in(&mut World::new(), request)
}

fn ask_in(world: &mut World, request: &str) -> (String, String) {
    let at = world.connect();
    let (line, fields) = request.split_once('\n').unwrap_or((request, ""));
    let fields = fields.lines().map(|field| format!("{field}\r\n")).collect::<String>();
    // An upgrade that is refused is a failure; what matters is the answer.
    let _ = world.send(at, format!("{line} HTTP/1.1\r\nHost: h\r\n{fields}\r\n").as_bytes());
    let answer = world.read(at);
    let (head, body) = answer.split_once("\r\n\r\n").expect("an answer");
    (format!("{head}\r\n"), body.to_owned())
}

fn has(head: &str, field: &str) -> bool {
    head.lines().any(|line| line.eq_ignore_ascii_case(field))
}

fn status(head: &str) -> &str {
    &head[9..12]
}

const NOT_CACHED: &str = "Cache-Control: no-store, no-cache, no-transform, must-revalidate, max-age=0";

#[test]
fn greeting() {
    for path in ["/echo", "/echo/", "/sockjs", "/close/"] {
        let (head, body) = ask(&format!("GET {path}"));
        assert!(has(&head, "Content-Type: text/plain; charset=UTF-8"), "{head}");
        assert_eq!((status(&head), &body[..]), ("200", "Welcome to SockJS!\n"));
    }
    let world = &mut World::new();
    let at = world.connect();
    world.send(at, b"GET /echo HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n").unwrap();
    let answer = world.read(at);
    assert!(answer.contains("Connection: keep-alive\r\n") && answer.contains("Content-Length: 19\r\n"));
    assert!(!world.is_closed(at));
    world.send(at, b"GET /echo HTTP/1.0\r\n\r\n").unwrap();
    assert!(world.read(at).contains("Connection: close\r\n") && world.is_closed(at));
}

#[test]
fn nothing_else_is_there() {
    for rest in [
        "/a",
        "/a.html",
        "//",
        "///",
        "/a/a",
        "/a/a/",
        "/a/",
        "/a/a/a",
        "/a/a/xhr/a",
        "/a./a/xhr",
        "/a/a./xhr",
        "/./a/xhr",
        "/../../xhr",
        "//a/xhr",
        "/a//xhr",
        "//xhr",
        "/info/",
        "/websocket/",
        "/xhr",
        "/a/a/XHR",
        "/iframe.htm",
        "/iframe",
        "/IFRAME.HTML",
        "/iframe.HTML",
        "/iframe.xml",
        "/iframe-/.html",
        "/iframe-A.html",
    ] {
        for method in ["GET", "POST", "OPTIONS"] {
            let (head, _) = ask(&format!("{method} /echo{rest}"));
            assert_eq!(status(&head), "404", "{method} {rest}");
        }
    }
    let (head, _) = ask("GET /disabled_websocket_echo/0/0/websocket");
    assert_eq!(status(&head), "404");
}

#[test]
fn iframe_page_is_the_specified_and_cacheable() {
    for path in ["/iframe.html", "/iframe-a.html", "/iframe-.html", "/iframe-0.1.2abc-dirty.2144.html?t=1"] {
        let (head, body) = ask(&format!("GET /echo{path}"));
        assert_eq!(status(&head), "200");
        assert!(has(&head, "Content-Type: text/html; charset=UTF-8"), "{head}");
        assert!(
            has(&head, "Cache-Control: public, max-age=31536000") && head.contains("Expires: "),
            "{head}"
        );
        assert!(!head.to_lowercase().contains("last-modified") && !head.contains("Set-Cookie"));
        assert!(body.starts_with("<!DOCTYPE html>\n<html>\n<head>\n  <meta http-equiv=\"X-UA-Compatible\""));
        assert!(body.contains("    document.domain = document.domain;\n    SockJS.bootstrap_iframe();\n"));
        let tag = head.lines().find_map(|line| line.strip_prefix("ETag: ")).expect("a tag").to_owned();
        let (head, body) = ask(&format!("GET /echo{path}\nIf-None-Match: {tag}"));
        assert_eq!((status(&head), &body[..]), ("304", ""));
        assert!(!head.contains("Content-Type"));
    }
}

#[test]
fn info() {
    let world = &mut World::new();
    let entropy = |body: &str| body.split("entropy\":").nth(1).unwrap().trim_end_matches('}').to_owned();
    let (head, body) = ask_in(world, "GET /echo/info\nOrigin: test");
    assert!(has(&head, "Content-Type: application/json; charset=UTF-8") && has(&head, NOT_CACHED), "{head}");
    assert!(has(&head, "Access-Control-Allow-Origin: test"));
    assert!(has(&head, "Access-Control-Allow-Credentials: true"));
    assert!(
        body.starts_with(r#"{"websocket":true,"origins":["*:*"],"cookie_needed":false,"entropy":"#),
        "{body}"
    );
    world.now_ns += 1;
    let (head, other) = ask_in(world, "GET /echo/info");
    assert!(has(&head, "Access-Control-Allow-Origin: *") && !head.contains("Credentials"), "{head}");
    assert_ne!(entropy(&body), entropy(&other));
    assert!(entropy(&body).parse::<u32>().is_ok());
    assert!(ask("GET /disabled_websocket_echo/info").1.starts_with(r#"{"websocket":false,"#));
    assert!(ask("GET /cookie_needed_echo/info").1.contains(r#""cookie_needed":true"#));
    assert!(!ask("GET /cookie_needed_echo/info").0.contains("Set-Cookie"));
}

#[test]
fn browsers_may_ask_beforehand() {
    for (path, method) in [
        ("/info", "GET"),
        ("/abc/abc/xhr", "POST"),
        ("/abc/abc/xhr_send", "POST"),
        ("/abc/abc/xhr_streaming", "POST"),
        ("/abc/abc/eventsource", "GET"),
    ] {
        for origin in ["test", "null"] {
            let (head, body) = ask(&format!("OPTIONS /echo{path}\nOrigin: {origin}"));
            assert_eq!((status(&head), &body[..]), ("204", ""), "{path}");
            assert!(has(&head, "Cache-Control: public, max-age=31536000") && head.contains("Expires: "));
            assert!(has(&head, "Access-Control-Max-Age: 31536000"));
            assert!(has(&head, &format!("Access-Control-Allow-Methods: OPTIONS, {method}")), "{head}");
            assert!(has(&head, &format!("Access-Control-Allow-Origin: {origin}")));
            assert!(has(&head, "Access-Control-Allow-Credentials: true"));
        }
    }
    let (head, _) = ask("OPTIONS /echo/a/a/xhr\nOrigin: test\nAccess-Control-Request-Headers: a, b, c");
    assert!(has(&head, "Access-Control-Allow-Headers: a, b, c"));
    let (head, _) = ask("OPTIONS /echo/a/a/xhr\nOrigin: test\nAccess-Control-Request-Headers:");
    assert!(!head.contains("Allow-Headers"));
}

#[test]
fn each_place_has_its_method() {
    for (method, path, allowed) in [
        ("POST", "", "GET"),
        ("POST", "/info", "GET, OPTIONS"),
        ("DELETE", "/iframe.html", "GET"),
        ("GET", "/a/a/xhr", "POST, OPTIONS"),
        ("GET", "/a/a/xhr_send", "POST, OPTIONS"),
        ("GET", "/a/a/xhr_streaming", "POST, OPTIONS"),
        ("POST", "/a/a/eventsource", "GET, OPTIONS"),
        ("POST", "/a/a/htmlfile?c=x", "GET"),
        ("POST", "/a/a/jsonp?c=x", "GET"),
        ("GET", "/a/a/jsonp_send", "POST"),
        ("POST", "/0/0/websocket", "GET"),
        ("POST", "/websocket", "GET"),
    ] {
        let (head, body) = ask(&format!("{method} /echo{path}"));
        assert_eq!((status(&head), &body[..]), ("405", ""), "{method} {path}");
        assert!(has(&head, &format!("Allow: {allowed}")) && !head.contains("Content-Type"), "{head}");
    }
}

#[test]
fn a_websocket_is_asked_for_properly() {
    let (head, body) = ask("GET /echo/0/0/websocket");
    assert_eq!((status(&head), &body[..]), ("400", "Not a valid websocket request"));
    let (head, _) = ask("GET /echo/0/0/websocket\nUpgrade: WebSocket\nConnection: close");
    assert_eq!(status(&head), "400");
    let (head, _) = ask("POST /echo/0/0/websocket\nUpgrade: WebSocket\nConnection: Upgrade");
    assert_eq!(status(&head), "405");
    assert!(has(&head, "Allow: GET"), "{head}");
    let upgrade = "\nUpgrade: websocket\nConnection: Upgrade\nSec-WebSocket-Version: 13\n\
        Sec-WebSocket-Key: x3JJHMbDL1EzLkh9GBhXDw==";
    let (head, _) = ask(&format!("GET /echo/000/a/websocket{upgrade}"));
    assert_eq!(status(&head), "101");
    assert!(has(&head, "Sec-WebSocket-Accept: HSmrc0sMlYUkAGmm5OPpG2HaGWk="), "{head}");
    assert!(!head.contains("Content-Length"));
    for path in [
        "/echo",
        "/echo/",
        "/echo/info",
        "/echo/a/websocket",
        "/echo/a./a/websocket",
        "/echo/a/a/b/websocket",
        "/echo/a/a/xhr",
        "/echo/a/a/websocket/",
        "/disabled_websocket_echo/websocket",
        "/disabled_websocket_echo/0/0/websocket",
    ] {
        assert_eq!(status(&ask(&format!("GET {path}{upgrade}")).0), "404", "{path}");
    }
}

#[test]
fn cookies_are_set_once_where_needed() {
    for (method, path) in [
        ("POST", "xhr"),
        ("POST", "xhr_streaming"),
        ("GET", "eventsource"),
        ("GET", "htmlfile?c=x"),
        ("GET", "jsonp?c=x"),
    ] {
        let (head, _) = ask(&format!("{method} /cookie_needed_echo/0/0/{path}"));
        assert!(has(&head, "Set-Cookie: JSESSIONID=dummy; path=/"), "{head}");
        let (head, _) =
            ask(&format!("{method} /cookie_needed_echo/0/0/{path}\nCookie: a=b; JSESSIONID=abc;c=d"));
        assert!(has(&head, "Set-Cookie: JSESSIONID=abc; path=/"), "{head}");
        assert!(!ask(&format!("{method} /echo/0/0/{path}\nCookie: JSESSIONID=abc")).0.contains("Set-Cookie"));
    }
}

#[test]
fn callbacks_are_names() {
    for transport in ["htmlfile", "jsonp"] {
        for query in ["", "?", "?c=", "?d=x", "?callback="] {
            let (head, body) = ask(&format!("GET /echo/a/a/{transport}{query}"));
            assert_eq!((status(&head), &body[..]), ("500", "\"callback\" parameter required"), "{query}");
        }
        for callback in ["%20", "*", "abc(", "abc%28", "<script>", "a%0d%0ab", "%ff"] {
            let (head, body) = ask(&format!("GET /echo/a/a/{transport}?c={callback}"));
            assert_eq!((status(&head), &body[..]), ("500", "invalid \"callback\" parameter"), "{callback}");
        }
        assert_eq!(status(&ask(&format!("GET /echo/a/a/{transport}?x=1&callback=%63b-_.9")).0), "200");
    }
}

#[test]
fn origins_are_checked_when_configured() {
    let world = &mut World::new();
    world.cfg.origins = vec!["http://good".to_owned()];
    for (method, path) in
        [("GET", "/sockjs/info"), ("POST", "/sockjs/0/a/xhr"), ("POST", "/sockjs/0/a/xhr_send")]
    {
        let (head, _) = ask_in(world, &format!("{method} {path}\nOrigin: http://bad"));
        assert_eq!(status(&head), "403", "{path}");
        assert_ne!(status(&ask_in(world, &format!("{method} {path}\nOrigin: http://good")).0), "403");
    }
}
