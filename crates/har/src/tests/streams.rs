//! Event streams and streamed answers, as Chrome exports them and as throng records them.

use serde_json::{Value, json};

use super::{FORM_OF_LOGIN, HELLO, read, recording, with_request};
use crate::{Draft, Recording, Summary, draft};

const JSON: &str = "application/json";
/// A cookie of the login, which the stream and the requests behind it have.
const COOKIE: &str = "s39=1";

/// An entry at this second of the minute, with an answer of a stream.
fn streamed(second: u8, to: (&str, &str), body: &str, mime_type: &str, text: &str) -> Value {
    json!({
        "startedDateTime": format!("2001-09-09T01:46:{second}Z"),
        "request": {
            "method": to.0,
            "url": to.1,
            "postData": { "mimeType": JSON, "text": body },
        },
        "response": { "status": 200, "content": { "mimeType": mime_type, "text": text } },
    })
}

fn har(entries: Vec<Value>) -> Value {
    json!({ "log": { "entries": entries } })
}

/// Events with their times, the first at the 41st second.
fn timed(data: &[Value]) -> Value {
    let event = |(number, data): (usize, &Value)| {
        let time = 1e9 + 1.0 + number as f64;
        json!({ "time": time, "eventName": "message", "eventId": number.to_string(), "data": data.to_string() })
    };
    data.iter().enumerate().map(event).collect()
}

fn said(text: &str) -> Value {
    json!({ "type": "said", "room": "room-7", "text": text })
}

fn tick(n: usize) -> Value {
    json!({ "type": "tick", "n": n })
}

/// A login, a stream of a room with these parts besides, and two lines that are posted and come.
fn chat(stream: Value) -> Value {
    let mut har =
        with_request(har(vec![stream]), 39, ("POST", "http://a/login"), FORM_OF_LOGIN, &Value::Null);
    for (second, text) in [(42, "good morning"), (44, "good evening")] {
        let body = json!({ "user": "ada", "room": "room-7", "text": text }).to_string();
        har = with_request(har, second, ("POST", "http://a/lines/room-7"), (JSON, &body), &Value::Null);
        let entries = har["log"]["entries"].as_array_mut().unwrap();
        entries.last_mut().unwrap()["request"]["headers"] = json!([{ "name": "Cookie", "value": COOKIE }]);
    }
    har
}

fn subscription() -> Value {
    let events = [tick(1), said("good morning"), tick(2), said("good evening"), tick(3)];
    let lines: Vec<String> = events.iter().map(|event| format!("id: 1\ndata: {event}\n\n")).collect();
    let text = format!(": welcome\n\n{}: ping\n\n", lines.concat());
    let mut stream = streamed(40, ("GET", "http://a/events?room=room-7"), "", "text/event-stream", &text);
    stream["request"]["headers"] = json!([{ "name": "Cookie", "value": COOKIE }]);
    stream["_eventSourceMessages"] = timed(&events);
    stream
}

fn table_of(draft: &Draft) -> toml::Table {
    draft.toml.parse().unwrap()
}

#[test]
fn posted_lines_of_a_stream_are_published() {
    let draft = read(&chat(subscription()));
    let table = table_of(&draft);
    assert_eq!((draft.server.as_str(), draft.is_measured, draft.opens), ("http://a", true, false), "{table}");
    assert_eq!(table["protocol"].as_str(), Some("sse"));
    assert_eq!(table["connect"]["path"].as_str(), Some("/events?room=room-{room}"), "{table}");
    assert_eq!(table["login"][0]["form"]["password"].as_str(), Some("{person.password}"), "{table}");
    let publish = &table["publish"];
    assert_eq!(publish["post"].as_str(), Some("/lines/room-{room}"), "{table}");
    assert_eq!(publish["headers"]["Cookie"].as_str(), Some("{person.cookie}"), "{table}");
    let body: Value = serde_json::from_str(publish["body"].as_str().unwrap()).unwrap();
    let expected = json!({ "user": "{person.name}", "room": "room-{room}", "text": "{id} {padding}" });
    assert_eq!(body, expected, "{table}");
    assert_eq!(publish["copy"]["json"]["/type"].as_str(), Some("said"), "{table}");
    assert_eq!(table["push"]["tick"]["number"].as_str(), Some("json:/n"), "{table}");
    assert!(table.get("ignore").is_none() && table.get("open").is_none(), "{table}");
    assert!(draft.toml.contains("# 2 comments") && draft.toml.contains("Last-Event-ID"), "{}", draft.toml);
}

/// Exporters without events of their own have the text alone, and no times.
#[test]
fn streams_without_times_are_drafted_alike() {
    let mut stream = subscription();
    let with_times = read(&chat(stream.clone())).toml;
    stream.as_object_mut().unwrap().remove("_eventSourceMessages");
    assert_eq!(read(&chat(stream.clone())).toml, with_times);
    // An exporter of events that are without times.
    stream["_eventSourceMessages"] = json!([{ "eventName": null, "data": said("good morning").to_string() }]);
    assert_eq!(table_of(&read(&chat(stream)))["publish"]["post"].as_str(), Some("/lines/room-{room}"));
}

#[test]
fn texts_and_forms_are_published() {
    for (kind, posted, body) in [
        ("text/plain;charset=UTF-8", "good morning", "{id} {padding}"),
        ("application/x-www-form-urlencoded", "room=room-7&line=good+morning", "room=room-{room}&line={id}"),
    ] {
        let stream = har(vec![subscription()]);
        let to = ("POST", "http://a/lines");
        let table = table_of(&read(&with_request(stream, 41, to, (kind, posted), &Value::Null)));
        assert_eq!(table["publish"]["body"].as_str(), Some(body), "{table}");
        assert_eq!(table["publish"]["headers"]["Content-Type"].as_str(), Some(kind), "{table}");
    }
}

/// The stream has all rooms: a number in a path of its own is no room of the load.
#[test]
fn rooms_of_requests_alone_stay() {
    let mut stream = subscription();
    stream["request"]["url"] = json!("http://a/events");
    let body = said("good morning").to_string();
    let to = ("POST", "http://a/rooms/7/lines");
    let table = table_of(&read(&with_request(har(vec![stream]), 41, to, (JSON, &body), &Value::Null)));
    assert_eq!(table["publish"]["post"].as_str(), Some("/rooms/7/lines"), "{table}");
}

#[test]
fn events_that_nobody_posted_are_pushes() {
    let draft = read(&har(vec![subscription()]));
    let table = table_of(&draft);
    assert!(!draft.is_measured && table.get("publish").is_none(), "{table}");
    assert_eq!(table["push"].as_table().unwrap().len(), 1, "{table}");
    assert_eq!(table["ignore"][0]["when"]["json"]["/type"].as_str(), Some("said"), "{table}");
}

#[test]
fn posted_subscriptions_have_their_body() {
    let mut stream = subscription();
    stream["request"]["method"] = json!("POST");
    stream["request"]["postData"]["text"] = json!(r#"{"room":"room-7"}"#);
    stream["request"]["headers"] = json!([{ "name": "Accept", "value": "text/event-stream" }]);
    let table = table_of(&read(&har(vec![stream])));
    let connect = &table["connect"];
    assert_eq!(connect["body"].as_str(), Some(r#"{"room":"room-{room}"}"#), "{table}");
    assert_eq!(connect["method"].as_str(), Some("POST"), "{table}");
}

/// Answers of each API, and of others: the body that asks, the form, the events, and what a file says of them.
#[test]
fn answers_end_and_have_tokens() {
    let openai = r#"{"model":"m","messages":[{"role":"system","content":"be brief"},{"role":"user","content":"what is tea"}],"stream":true}"#;
    let typed = r#"{"question":"what is tea","id":"1"}"#;
    let openai_events = "data: {\"choices\":[{\"delta\":{\"content\":\"A\"}}]}\n\ndata: {\"choices\":[{\"delta\":{\"content\":\"B\"}}]}\n\ndata: [DONE]\n\n";
    let anthropic = "event: message_start\ndata: {\"type\":\"message_start\"}\n\nevent: content_block_delta\ndata: {\"delta\":{\"text\":\"A\"}}\n\nevent: content_block_delta\ndata: {\"delta\":{\"text\":\"B\"}}\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n";
    let ollama = "{\"message\":{\"content\":\"A\"},\"done\":false}\n{\"message\":{\"content\":\"B\"},\"done\":false}\n{\"done\":true}\n";
    let own = "data: {\"type\":\"text\",\"text\":\"A\"}\n\ndata: {\"type\":\"text\",\"text\":\"B\"}\n\ndata: {\"type\":\"over\"}\n\n";
    let mcp = "event: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\n";
    for (body, kind, events, end, tokens) in [
        (openai, "text/event-stream", openai_events, Some("[DONE]"), Some("/choices/0/delta/content")),
        (
            openai,
            "text/event-stream; charset=utf-8",
            anthropic,
            Some("event:message_stop"),
            Some("/delta/text"),
        ),
        (typed, "application/x-ndjson", ollama, Some("/done=true"), Some("/message/content")),
        (typed, "text/event-stream", own, Some("/type=over"), Some("/text")),
        (typed, "text/event-stream", mcp, Some("/result"), None),
        (typed, "text/event-stream", "data: A\n\ndata: B\n\n", None, None),
    ] {
        let draft = read(&har(vec![streamed(40, ("POST", "http://a/v1/ask"), body, kind, events)]));
        let table = table_of(&draft);
        let stream = &table["stream"];
        let key = |name: &str| stream.get(name).and_then(toml::Value::as_str);
        let asked = body.replace("what is tea", "{person.prompt}");
        assert_eq!((key("body"), key("end"), key("tokens")), (Some(&*asked), end, tokens), "{table}");
        assert_eq!(draft.users.as_deref(), Some("prompt\nwhat is tea\n"), "{table}");
        assert_eq!(table["connect"]["path"].as_str(), Some("/v1/ask"), "{table}");
        assert!(table.get("protocol").is_none() && draft.is_measured, "{table}");
        assert_eq!(draft.server, "http://a");
    }
}

#[test]
fn questions_of_a_query_become_columns() {
    let events = "data: A\n\ndata: [DONE]\n\n";
    let to = ("GET", "http://a/ask?q=what%20is%20tea&lang=en");
    let draft = read(&har(vec![streamed(40, to, "", "text/event-stream", events)]));
    let table = table_of(&draft);
    assert_eq!(table["connect"]["path"].as_str(), Some("/ask?q={person.prompt}&lang=en"), "{table}");
    assert_eq!(draft.users.as_deref(), Some("prompt\nwhat is tea\n"), "{table}");
}

#[test]
fn texts_and_forms_that_ask_have_columns() {
    for (kind, posted, body) in [
        ("text/plain", "what is tea", "{person.prompt}"),
        (
            "application/x-www-form-urlencoded",
            "csrf_token=a1b2c3d4e5&q=what+is+tea&n=3",
            "csrf_token={person.csrf_token}&q={person.prompt}&n=3",
        ),
    ] {
        // A room's number in its path is the recorded one: who asks is in none.
        let to = ("POST", "http://a/rooms/7/ask");
        let mut entry = streamed(40, to, posted, "text/event-stream", "data: A\n\n");
        entry["request"]["postData"]["mimeType"] = json!(kind);
        let table = table_of(&read(&har(vec![entry])));
        assert_eq!(table["stream"]["body"].as_str(), Some(body), "{table}");
        assert_eq!(table["connect"]["headers"]["Content-Type"].as_str(), Some(kind), "{table}");
        assert_eq!(table["connect"]["path"].as_str(), Some("/rooms/7/ask"), "{table}");
    }
}

/// The first request of MCP is answered by a stream as well, whose head has what the others send.
#[test]
fn sessions_of_streamed_answers_are_kept() {
    let answer = |id: usize| format!("data: {{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{}}}}\n\n");
    let asked = |id: usize| format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"m{id}\"}}");
    let [mut first, mut second] = [0, 1].map(|id| {
        let to = ("POST", if id == 0 { "http://a/begin" } else { "http://a/mcp" });
        streamed(40 + id as u8, to, &asked(id), "text/event-stream", &answer(id))
    });
    first["response"]["headers"] = json!([{ "name": "Mcp-Session-Id", "value": "6f1c0a7be2" }]);
    let sent = json!([
        { "name": "Mcp-Session-Id", "value": "6f1c0a7be2" },
        { "name": "Accept", "value": "application/json, text/event-stream" },
    ]);
    second["request"]["headers"] = sent;
    let again = second.clone();
    let table = table_of(&read(&har(vec![first, second, again])));
    let keep = table["login"][0]["keep"].as_table().unwrap();
    assert_eq!(keep["mcp_session_id"].as_str(), Some("header:Mcp-Session-Id"), "{table}");
    let headers = &table["connect"]["headers"];
    assert_eq!(headers["Mcp-Session-Id"].as_str(), Some("{mcp_session_id}"), "{table}");
    assert_eq!(headers["accept"].as_str(), Some("application/json, text/event-stream"), "{table}");
}

#[test]
fn streams_beside_a_socket_are_named() {
    let ask =
        || streamed(41, ("POST", "http://a/ask?t=6f1c0a7be2"), "{}", "text/event-stream", "data: A\n\n");
    let mut har = recording("ws://a/", &HELLO);
    har["log"]["entries"].as_array_mut().unwrap().extend([subscription(), ask(), ask()]);
    let draft = read(&har);
    assert_eq!(table_of(&draft)["protocol"].as_str(), Some("plain"), "{}", draft.toml);
    for note in ["event stream http://a/events\n", "answers of http://a/ask (2)\n"] {
        assert!(draft.toml.contains(note), "{note}: {}", draft.toml);
    }
    // The WebSocket of a development server is none of the app's.
    let mut har = recording("ws://a/vite-hmr", &HELLO);
    har["log"]["entries"].as_array_mut().unwrap().push(subscription());
    assert_eq!(table_of(&read(&har))["protocol"].as_str(), Some("sse"));
}

/// The server's own words are no users' data: a prompt may be one of them.
#[test]
fn marks_of_the_end_are_not_hidden() {
    let body = r#"{"prompt":"done"}"#;
    let events = "data: A\n\nevent: done\ndata: {}\n\n";
    let har = har(vec![streamed(40, ("POST", "http://a/ask"), body, "text/event-stream", events)]);
    assert_eq!(table_of(&read(&har))["stream"]["end"].as_str(), Some("event:done"));
}

#[test]
fn streams_are_summed_up() {
    let summary = |har: &Value| {
        let read = Recording::read("a.har", har.to_string().into_bytes());
        Summary::of(&read.unwrap_or_else(|error| panic!("{error}")))
    };
    let expected = Summary {
        protocol: "event stream",
        is_logged_in: true,
        rooms: vec!["room-7".to_owned()],
        heard: 5,
        published: 2,
        is_stream: true,
        ..Summary::default()
    };
    assert_eq!(summary(&chat(subscription())), expected);
    let ask =
        || streamed(41, ("POST", "http://a/ask"), "{}", "application/x-ndjson", "{\"a\":1}\n{\"a\":2}\n");
    let expected =
        Summary { protocol: "streamed answers", heard: 2, answers: 2, is_stream: true, ..Summary::default() };
    assert_eq!(summary(&har(vec![ask(), ask()])), expected);
}

#[test]
fn many_streams_are_bounded() {
    let events = "data: x\n\n".repeat(2_000);
    let streams = (0..300).map(|number| {
        let url = format!("http://a/{number}");
        let method = if number % 2 == 0 { "GET" } else { "POST" };
        streamed(40, (method, &url), "{\"text\":\"good morning\"}", "text/event-stream", &events)
    });
    let har = har(streams.collect()).to_string().into_bytes();
    let recording = Recording::read("a.har", har).unwrap_or_else(|error| panic!("{error}"));
    let toml = draft(&[recording], "users.csv").toml;
    assert!(toml.lines().filter(|line| line.starts_with("# left out")).count() <= 64, "{toml}");
    assert!(toml.contains("or messages behind"), "{toml}");
}
