//! Tables of replies, and what is found by each.

use super::*;
use crate::verbs::probe::places;

fn reply(status: u16, head: &str, text: &str) -> Reply {
    let said = format!("HTTP/1.1 {status} Some\r\n{head}\r\n{text}");
    let answer = Answer::read(said.as_bytes());
    let text = if status == 101 { text } else { answer.body.as_deref().unwrap_or_default() }.to_owned();
    Reply { url: "http://h/x".to_owned(), status: Some(status), answer, text, ..Reply::default() }
}

fn at(path: &str) -> Place {
    let usual = places::usual().into_iter().find(|place| place.bare() == path);
    usual.unwrap_or_else(|| Place::itself(path))
}

#[test]
fn replies_name_the_service() {
    // Captured from Rails 8, Socket.IO 4 and 2, Phoenix 1.8, sockjs-node, graphql-ws, ws.
    for (path, status, text, service) in [
        ("/cable", 101, r#"{"type":"welcome"}"#, Some(Service::ActionCable)),
        (
            "/cable",
            101,
            r#"{"type":"disconnect","reason":"unauthorized","reconnect":false}"#,
            Some(Service::ActionCable),
        ),
        (
            "/socket.io",
            200,
            r#"0{"sid":"lv_VI97HAXpY6yYWAAAC","upgrades":[]}"#,
            Some(Service::SocketIo(Some(4))),
        ),
        (
            "/socket.io",
            200,
            r#"97:0{"sid":"lv_VI97HAXpY","upgrades":[]}2:40"#,
            Some(Service::SocketIo(Some(3))),
        ),
        ("/socket.io", 400, r#"{"code":0,"message":"Transport unknown"}"#, Some(Service::SocketIo(None))),
        ("/socket.io", 200, "<title>An app for all paths</title>", None),
        (
            "/socket/websocket",
            101,
            r#"["1","1","t","phx_reply",{"status":"error","response":{"reason":"unmatched topic"}}]"#,
            Some(Service::Phoenix),
        ),
        (
            "/live/websocket",
            101,
            r#"["1","1","t","phx_reply",{"status":"error","response":{"reason":"unmatched topic"}}]"#,
            Some(Service::LiveView),
        ),
        (
            "/sockjs",
            200,
            r#"{"websocket":true,"origins":["*:*"],"cookie_needed":false,"entropy":4024097766}"#,
            Some(Service::SockJs),
        ),
        ("/graphql", 101, r#"{"type":"connection_ack"}"#, Some(Service::Graphql)),
        ("/graphql", 101, "", None),
        ("/chat", 101, "", Some(Service::Plain)),
        ("/chat", 101, "hello", Some(Service::Plain)),
        ("/chat", 101, "0{\"sid\":\"a\"}", Some(Service::SocketIo(Some(4)))),
        ("/chat", 404, "", None),
    ] {
        let found = found(&at(path), &reply(status, "", text), None);
        assert_eq!(found.map(|found| found.service), service, "{path} {status} {text}");
    }
    let stream = found(&Place::get("/"), &reply(200, "Content-Type: text/event-stream\r\n", "data: 1"), None);
    assert_eq!(stream.unwrap().service, Service::EventStream);
}

#[test]
fn streams_with_an_end_are_answers() {
    let [events, lines] = ["text/event-stream", "application/x-ndjson"];
    for (path, status, media, is_answered, service) in [
        ("/s", 200, events, false, Service::EventStream),
        ("/s", 200, events, true, Service::Answer(None)),
        ("/s", 200, lines, false, Service::Answer(None)),
        ("/v1/chat/completions", 200, events, false, Service::Answer(Some("openai"))),
        ("/v1/messages?beta=true", 405, "application/json", true, Service::Answer(Some("anthropic"))),
        ("/mcp", 406, "application/json", true, Service::Answer(Some("mcp"))),
        ("/mcp", 404, "text/html", true, Service::Http),
        ("/s", 405, "application/json", true, Service::Http),
    ] {
        let head = format!("Content-Type: {media}\r\n");
        let reply = Reply { is_answered, ..reply(status, &head, "{}") };
        let found = found(&Place::get(path), &reply, None).unwrap();
        assert_eq!(found.service, service, "{path} {status} {media}");
    }
}

#[test]
fn usual_streams_differ_from_pages() {
    let [events, json] = ["text/event-stream", "application/json"];
    let openai = Service::Answer(Some("openai"));
    for (path, status, media, usual_statuses, service) in [
        ("/events", 200, events, &[200][..], Some(Service::EventStream)),
        ("/events", 200, "text/html", &[200], None),
        ("/events", 404, "text/html", &[200], None),
        ("/v1/chat/completions", 405, json, &[404], Some(openai)),
        ("/v1/chat/completions", 405, json, &[405], None),
        ("/v1/chat/completions", 400, json, &[200, 400], None),
        ("/v1/chat/completions", 401, json, &[404], None),
    ] {
        let reply = reply(status, &format!("Content-Type: {media}\r\n"), "{}");
        let statuses: Vec<Option<u16>> = usual_statuses.iter().copied().map(Some).collect();
        let found = stream(&Place::get(path), &reply, &statuses);
        assert_eq!(found.map(|found| found.service), service, "{path} {status} {media} {usual_statuses:?}");
    }
}

#[test]
fn greetings_outlive_a_timeout_of_the_usual_protocol() {
    for (kind, details) in [(error_kind::CONNECT_TIMEOUT, "it opens with hello"), (error_kind::CLOSED, "why")]
    {
        let failure = Some((kind.to_owned(), "why".to_owned()));
        let reply = Reply { failure, ..reply(101, "", "hello") };
        assert_eq!(found(&at("/chat"), &reply, None).unwrap().details, [details]);
    }
}

#[test]
fn refusals_are_barriers() {
    let barrier = |path: &str, reply: Reply, usual| found(&at(path), &reply, usual)?.barrier;
    let login = |said: &str| Some(Barrier::Login(said.to_owned()));
    assert_eq!(barrier("/cable", reply(403, "", "no"), Some(200)), login("403 Some: no"));
    assert_eq!(barrier("/cable", reply(401, "", ""), Some(401)), None, "all paths are locked");
    let page = |status, head: &str| found(&Place::get("/"), &reply(status, head, ""), None).unwrap().barrier;
    assert_eq!(page(401, ""), login("401 Some"));
    let leads_to = |path: &str| page(302, &format!("Location: {path}\r\n"));
    assert_eq!(leads_to("/home"), Some(Barrier::Redirect("http://h/home".to_owned())));
    for path in ["/login", "/users/sign_in?to=/", "/auth/realms/x", "/SSO"] {
        assert!(matches!(leads_to(path), Some(Barrier::Login(_))), "{path}");
    }
    assert!(matches!(leads_to("/author/ann"), Some(Barrier::Redirect(_))));
    let upgrade = "https://h/login".to_owned();
    assert_eq!(leads_to(&upgrade), Some(Barrier::Redirect(upgrade)), "TLS comes first");
    let mut closed = reply(101, "", "");
    closed.failure = Some(("closed".to_owned(), "with code 4403: Forbidden".to_owned()));
    assert_eq!(barrier("/chat", closed.clone(), None), login("with code 4403: Forbidden"));
    closed.failure = Some(("closed".to_owned(), "with code 1008: who?".to_owned()));
    assert_eq!(barrier("/chat", closed.clone(), None), login("with code 1008: who?"));
    assert_eq!(barrier("/cable", closed, Some(200)), None, "any path may end so");
    assert_eq!(page(426, ""), Some(Barrier::Elsewhere));
    assert_eq!(page(503, ""), Some(Barrier::Fault("503 Some".to_owned())));
}
