use std::sync::Arc;

use app::app_file::{AppFile, LoginRequest};
use app::template::Template;
use wire::StreamOptions;

use super::*;
use crate::flags::args::RunArgs;
use crate::plan::{self, PlanInputs};
use crate::target;

fn plan_for(url: &str, dialect: &str) -> Plan {
    let args = RunArgs::of_url(url);
    plan::plan(&PlanInputs::of_echoes(&args, &target::of(&args, 1).unwrap(), dialect, None)).unwrap()
}

fn probe_result(failure: Option<(&str, &str)>, status: Option<u16>, said: &[u8]) -> ProbeResult {
    let failure = failure.map(|(kind, why)| (kind.to_owned(), why.to_owned()));
    ProbeResult { failure, status, said: said.to_vec(), ..ProbeResult::default() }
}

/// The key of what is in the way, if its text holds these names.
fn key_of(plan: &Plan, asks: bool, result: &ProbeResult, names: &[&str]) -> Option<String> {
    let Obstacle { key, text } = obstacle(plan, &AccessArgs::default(), asks, result)?;
    for name in names {
        assert!(text.contains(name), "{key} does not name {name}: {text}");
    }
    Some(key)
}

#[test]
fn obstacles_have_keys_and_advice() {
    let plan = plan_for("ws://127.0.0.1:1/ws", "json");
    let (status, look) = (Some(("http_status", "401")), "throng http://127.0.0.1:1");
    for (failure, status, said, key, names) in [
        (
            status,
            Some(401),
            &b"HTTP/1.1 401 Unauthorized\r\n\r\nno token"[..],
            "status_401",
            &["401 Unauthorized", "no token", "--token"][..],
        ),
        (status, Some(301), b"HTTP/1.1 301 Moved\r\nLocation: wss://b/\r\n\r\n", "status_301", &["wss://b/"]),
        (
            status,
            Some(404),
            b"HTTP/1.1 404 Not Found\r\n\r\n",
            "status_404",
            &["404 Not Found", " at /ws ", look],
        ),
        (status, Some(400), b"HTTP/1.1 400 Bad Request\r\n\r\nsent to HTTPS port", "speaks_tls", &["wss://"]),
        (Some(("not_http", "")), None, &[21, 3, 3, 0, 2, 2, 10], "speaks_tls", &["wss://"]),
        (Some(("eof", "the end")), None, b"", "eof", &["the end", "wss://", "https://"]),
        (Some(("closed", "with code 1008: who?")), None, b"", "closed", &["who?", "--token"]),
        (Some(("rejected_namespace", "not logged in")), None, b"", "rejected_namespace", &["[[login]]"]),
        (Some(("closed", "with code 1013: full")), None, b"", "closed", &["full", "log"]),
        (Some(("connect_timeout", "silent")), None, b"", "connect_timeout", &[look, "--connect-timeout 10s"]),
        (
            Some(("not_http", "no HTTP")),
            None,
            b"SSH-2.0-OpenSSH\r\n",
            "not_http",
            &["no HTTP", "SSH-2.0-OpenSSH"],
        ),
    ] {
        let result = probe_result(failure, status, said);
        assert_eq!(key_of(&plan, false, &result, names).as_deref(), Some(key), "{failure:?} {status:?}");
    }
}

#[test]
fn a_refused_login_names_its_row() {
    let request = |target| LoginRequest {
        name: "GET /in".to_owned(),
        is_post: false,
        server: 0,
        target,
        headers: Vec::new(),
        content: None,
        expect: None,
        follows: false,
        keep: Vec::new(),
    };
    let result = probe_result(Some(("login_refused", "HTTP 401")), None, b"");
    for (target, is_named) in [(Template::of_column(0), true), (Template::literal("/in"), false)] {
        let mut plan = plan_for("ws://127.0.0.1:1/ws", "json");
        let app = AppFile { login: vec![request(target)], ..AppFile::default() };
        plan.client_spec.of_dialect.app = Some(Arc::new(app));
        let obstacle = obstacle(&plan, &AccessArgs::default(), false, &result).unwrap();
        assert_eq!((&*obstacle.key, obstacle.text.contains("row 1 ")), ("login_refused", is_named));
    }
}

#[test]
fn a_look_trusts_as_the_run_does() {
    let plan = plan_for("ws://127.0.0.1:1/ws", "json");
    let access = AccessArgs { insecure: true, ..AccessArgs::default() };
    for (kind, status) in [("http_status", Some(404)), ("connect_timeout", None)] {
        let result = probe_result(Some((kind, "why")), status, b"");
        let text = obstacle(&plan, &access, false, &result).unwrap().text;
        assert!(text.contains("throng http://127.0.0.1:1 --insecure"), "{text}");
    }
}

#[test]
fn servers_without_http_2_are_told_apart() {
    let plan = plan_for("http://127.0.0.1:1/", "http2");
    for (kind, said, names) in [
        ("not_http2", &b"HTTP/1.1 400 Bad Request\r\n\r\n"[..], &["HTTP/1.1 400 Bad Request", "--http2"][..]),
        ("eof", b"", &["--http2"]),
    ] {
        let result = probe_result(Some((kind, "why")), None, said);
        assert_eq!(key_of(&plan, true, &result, names).as_deref(), Some(kind));
    }
    let refused =
        obstacle(&plan, &AccessArgs::default(), true, &probe_result(Some(("refused", "why")), None, b""))
            .unwrap();
    assert!(!refused.text.contains("--http2"), "{}", refused.text);
}

#[test]
fn the_usual_path_is_named() {
    let not_found = probe_result(Some(("http_status", "")), Some(404), b"");
    let plan = plan_for("ws://127.0.0.1:1/ws", "actioncable");
    let names = ["/cable", "--origin http://127.0.0.1:1"];
    assert_eq!(key_of(&plan, false, &not_found, &names).as_deref(), Some("status_404"));
    let plan = plan_for("ws://127.0.0.1:1/cable", "actioncable");
    let usual = obstacle(&plan, &AccessArgs::default(), false, &not_found).unwrap();
    assert_eq!(usual.text.matches("/cable").count(), 1, "the one asked\n{}", usual.text);
}

#[test]
fn event_streams_are_told_from_websockets() {
    let not_found = probe_result(Some(("http_status", "")), Some(404), b"HTTP/1.1 404 Not Found\r\n\r\n");
    let stream = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: 1\n\n";
    let stream = probe_result(Some(("http_status", "")), Some(200), stream);
    for (url, dialect, result, names) in [
        ("http://127.0.0.1:1/x", "sse", &not_found, &["an event stream", "/events"][..]),
        ("ws://127.0.0.1:1/x", "json", &not_found, &["a WebSocket"]),
        ("ws://127.0.0.1:1/events?room=1", "json", &not_found, &["--protocol sse"]),
        ("ws://127.0.0.1:1/x", "json", &stream, &["200 OK", "--protocol sse"]),
    ] {
        let key = key_of(&plan_for(url, dialect), false, result, names);
        assert!(key.is_some_and(|key| key.starts_with("status_")), "{url}");
    }
}

#[test]
fn endless_event_streams_are_no_answers() {
    let stream = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: 1\n\n";
    let result = probe_result(None, None, stream);
    let mut plan = plan_for("http://127.0.0.1:1/events", "http");
    let names = ["throng idle http://127.0.0.1:1/events --protocol sse"];
    assert_eq!(key_of(&plan, true, &result, &names).as_deref(), Some("speaks_sse"));
    let ended = ProbeResult { is_answered: true, status: Some(200), ..result.clone() };
    assert_eq!(key_of(&plan, true, &ended, &[]), None);
    let http = HttpOptions { stream: Some(StreamOptions::default()), ..HttpOptions::default() };
    plan.client_spec.of_dialect.settings = http.into();
    assert_eq!(key_of(&plan, true, &result, &[]), None, "its events are what is timed");
}

#[test]
fn another_dialect_is_known_by_its_welcome() {
    let welcome =
        probe_result(None, None, b"HTTP/1.1 101 Switching Protocols\r\n\r\n\x81\x12{\"type\":\"welcome\"}");
    let mut plan = plan_for("ws://127.0.0.1:1/ws", "json");
    let key = key_of(&plan, false, &welcome, &["--protocol actioncable"]);
    assert_eq!(key.as_deref(), Some("speaks_actioncable"));
    let greeting = probe_result(None, None, b"HTTP/1.1 101 Switching Protocols\r\n\r\n\x81\x05hello");
    assert!(obstacle(&plan, &AccessArgs::default(), false, &greeting).is_none());
    plan.client_spec.dialect = DialectId::Custom;
    assert!(obstacle(&plan, &AccessArgs::default(), false, &welcome).is_none(), "an app may open as any");
    plan.client_spec.dialect = DialectId::WsStream;
    assert!(obstacle(&plan, &AccessArgs::default(), true, &welcome).is_none());
    let plan = plan_for("ws://127.0.0.1:1/", "actioncable");
    assert!(
        obstacle(&plan, &AccessArgs::default(), false, &welcome).is_none(),
        "it is the one that is spoken"
    );
}

#[test]
fn unexpected_client_error_statuses_end_a_run() {
    let mut plan = plan_for("http://127.0.0.1:1/a", "http");
    let judged = |plan: &Plan, status: u16, names: &[&str]| {
        key_of(plan, true, &probe_result(None, Some(status), b""), names)
    };
    for status in [302, 401, 403, 404, 405, 407] {
        let remedy = format!("--expect-status {status}");
        assert_eq!(judged(&plan, status, &["GET /a", &remedy]), Some(format!("status_{status}")));
    }
    for status in [200, 204, 400, 429, 500, 503] {
        assert_eq!(judged(&plan, status, &[]), None, "of {status} the run tells");
    }
    let expect_status = vec![(200, 299), (404, 404)];
    plan.client_spec.of_dialect.settings = HttpOptions { expect_status, ..HttpOptions::default() }.into();
    assert_eq!(judged(&plan, 404, &[]), None);
}
