use super::*;
use crate::args::RunArgs;
use crate::{plan, target};

fn plan_for(url: &str, dialect: &str) -> Plan {
    let args = RunArgs::of_url(url);
    plan::plan(&args, &target::of(&args, 1).unwrap(), load::Workload::Echo, dialect, None).unwrap()
}

fn met(failure: Option<(&str, &str)>, status: Option<u16>, said: &[u8]) -> Encounter {
    let failure = failure.map(|(kind, why)| (kind.to_owned(), why.to_owned()));
    Encounter { failure, status, said: said.to_vec(), is_local: false }
}

/// What is said of a WebSocket that failed like this.
fn told(failure: (&str, &str), status: Option<u16>, said: &[u8]) -> String {
    obstacle(&plan_for("ws://127.0.0.1:1/ws", "json"), false, &met(Some(failure), status, said)).unwrap()
}

#[test]
fn what_happened_and_what_to_do() {
    let status = ("http_status", "the server answered with HTTP 401");
    let line = told(status, Some(401), b"HTTP/1.1 401 Unauthorized\r\n\r\nno token");
    assert!(
        line.starts_with("http_status: the server answered the handshake with 401 Unauthorized: no token; ")
    );
    let line = told(status, Some(301), b"HTTP/1.1 301 Moved\r\nLocation: wss://b/\r\n\r\n");
    assert!(line.ends_with("301 Moved, which leads to wss://b/; give the URL that it leads to"), "{line}");
    let line = told(status, Some(404), b"HTTP/1.1 404 Not Found\r\n\r\n");
    assert!(line.ends_with("404 Not Found; is the path right, and is there a WebSocket?"), "{line}");
    let line = told(status, Some(400), b"HTTP/1.1 400 Bad Request\r\n\r\nsent to HTTPS port");
    assert_eq!(line, "the server speaks TLS on this port: use wss://");
    let line = told(("not_http", "no HTTP"), None, &[21, 3, 3, 0, 2, 2, 10]);
    assert_eq!(line, "the server speaks TLS on this port: use wss://");
    let line = told(("eof", "the end"), None, b"");
    assert_eq!(line, "eof: the end; a server that expects TLS does so: try wss:// or https://");
    let line = told(("not_http", "no HTTP"), None, b"SSH-2.0-OpenSSH\r\n");
    assert_eq!(line, "not_http: no HTTP (it said: SSH-2.0-OpenSSH)");
}

#[test]
fn a_server_without_http_2_is_told_from_one_that_is_away() {
    let plan = plan_for("http://127.0.0.1:1/", "http2");
    let told = |kind, said: &[u8]| obstacle(&plan, true, &met(Some((kind, "why")), None, said)).unwrap();
    let line = told("not_http2", b"HTTP/1.1 400 Bad Request\r\n\r\n");
    assert!(
        line.starts_with("not_http2: why (it said: HTTP/1.1 400 Bad Request") && line.contains("--http2"),
        "{line}"
    );
    assert!(told("eof", b"").contains("leave out --http2"));
    assert_eq!(told("refused", b""), "refused: why");
}

#[test]
fn the_usual_path_is_named_where_another_is_asked() {
    let plan = plan_for("ws://127.0.0.1:1/ws", "actioncable");
    let line = obstacle(&plan, false, &met(Some(("http_status", "")), Some(404), b"")).unwrap();
    let (path, origin) = line.split_once("; servers").unwrap();
    assert!(path.ends_with("actioncable is usually at /cable"), "{line}");
    assert!(
        origin.ends_with("404 to an origin that they do not allow: --origin http://127.0.0.1:1"),
        "{line}"
    );
}

#[test]
fn another_dialect_is_known_by_its_welcome() {
    let welcome = b"HTTP/1.1 101 Switching Protocols\r\n\r\n\x81\x12{\"type\":\"welcome\"}";
    let line = obstacle(&plan_for("ws://127.0.0.1:1/ws", "json"), false, &met(None, None, welcome)).unwrap();
    assert!(
        line.starts_with("the server speaks actioncable, not json")
            && line.ends_with("--dialect actioncable")
    );
    assert_eq!(
        obstacle(&plan_for("ws://127.0.0.1:1/", "actioncable"), false, &met(None, None, welcome)),
        None
    );
    let mut own = plan_for("ws://127.0.0.1:1/", "json");
    own.speech.dialect = DialectId::Custom;
    assert_eq!(obstacle(&own, false, &met(None, None, welcome)), None);
    let greeting = b"HTTP/1.1 101 Switching Protocols\r\n\r\n\x81\x05hello";
    assert_eq!(obstacle(&plan_for("ws://127.0.0.1:1/", "json"), false, &met(None, None, greeting)), None);
}

#[test]
fn statuses_that_say_that_the_requests_are_wrong_end_a_run_unless_they_are_expected() {
    let mut plan = plan_for("http://127.0.0.1:1/a", "http");
    let judged = |plan: &Plan, status| obstacle(plan, true, &met(None, Some(status), b""));
    for status in [302, 401, 403, 404, 405, 407] {
        let line = judged(&plan, status).unwrap();
        assert!(line.starts_with(&format!("GET /a was answered with {status}; ")), "{line}");
        assert!(line.ends_with(&format!("--expect-status {status}")), "{line}");
    }
    for status in [200, 204, 400, 429, 500, 503] {
        assert_eq!(judged(&plan, status), None, "of {status} the run tells");
    }
    let expect_status = vec![(200, 299), (404, 404)];
    plan.speech.of_dialect.settings = HttpOptions { expect_status, ..HttpOptions::default() }.into();
    assert_eq!(judged(&plan, 404), None);
}
