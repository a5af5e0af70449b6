//! `throng stream --api`, and files of recorded questions, against a mock of each API on Node's http, which asks what
//! the APIs ask of requests.

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::Command;

use crate::record::record;
use crate::streams::{counts, journal, stream};
use crate::support::process::Process;
use crate::support::requests::RUN_MAX;
use crate::support::throng::{errors_of, run, throng};
use crate::support::{free_address, skip};

/// Answers of each run.
const ANSWERS: u64 = 8;
/// The APIs without sessions: the path, and the events and tokens of an answer.
const APIS: [(&str, &str, [u64; 2]); 3] = [
    ("openai", "/v1/chat/completions", [7, 5]),
    ("anthropic", "/v1/messages", [10, 5]),
    ("ollama", "/api/chat", [6, 5]),
];

fn node() -> Option<(Process, SocketAddr)> {
    if !Command::new("node").arg("--version").output().is_ok_and(|output| output.status.success()) {
        skip("APIs on Node.js", "needs node");
        return None;
    }
    let address = free_address();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/servers/streams/apis.mjs");
    let mut node = Command::new("node");
    Some((Process::start(node.args([script, &address.port().to_string()])).listening_at(address), address))
}

#[test]
fn answers_of_each_api_are_counted() {
    let Some((_node, address)) = node() else { return };
    for (api, path, [events, tokens]) in APIS {
        let outcome = stream(&format!("http://{address}/"), &format!("--api {api} -c 4 -n {ANSWERS}"));
        outcome.assert_held();
        let found = counts(&outcome.json(), ["received", "events", "tokens", "unmarked"]);
        assert_eq!(found, [ANSWERS, ANSWERS * events, ANSWERS * tokens, 0], "{api}: {outcome}");
        assert_eq!(journal(address)["answered"][api], ANSWERS, "{api}");
        // The last token and what is behind it are one event, and there is no end mark.
        let failing =
            stream(&format!("http://{address}{path}?fail"), &format!("--api {api} -c 4 -n {ANSWERS}"));
        let results = failing.json();
        assert_eq!(failing.code, Some(3), "{api}: {failing}");
        assert_eq!(errors_of(&results, "http_error_event"), ANSWERS, "{api}: {failing}");
        assert_eq!(counts(&results, ["tokens", "unmarked"]), [ANSWERS * (tokens - 1), ANSWERS], "{api}");
    }
}

/// Asks once, as the clients of these APIs do.
fn ask(proxy: &str, path: &str) {
    let body =
        r#"{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"what is tea"}],"stream":true}"#;
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: {proxy}\r\nConnection: close\r\nanthropic-version: 2023-06-01"
    );
    let length = body.len();
    let mut stream = TcpStream::connect(proxy).unwrap();
    stream.set_read_timeout(Some(RUN_MAX)).unwrap();
    write!(stream, "{head}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}")
        .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}

#[test]
fn recorded_questions_are_asked_again() {
    let Some((_node, address)) = node() else { return };
    let url = format!("http://{address}");
    for (api, path, [events, tokens]) in APIS {
        let folder = tempfile::tempdir().unwrap();
        let recorded = record(&folder, &[&url, "--check"], |proxy| ask(proxy, path));
        assert_eq!(recorded.code, Some(0), "{api}: {recorded}");
        assert!(recorded.stderr.contains("1 answer"), "{api}: {recorded}");
        assert_eq!(fs::read_to_string(folder.path().join("users.csv")).unwrap(), "prompt\nwhat is tea\n");
        let mut command =
            throng(["run", "app.toml", &url, "--format", "json", "--no-store", "--no-preflight"]);
        let outcome = run(command.args(["-n", &ANSWERS.to_string()]).current_dir(&folder), RUN_MAX);
        outcome.assert_held();
        let found = counts(&outcome.json(), ["received", "events", "tokens", "unmarked"]);
        assert_eq!(found, [ANSWERS, ANSWERS * events, ANSWERS * tokens, 0], "{api}: {outcome}");
    }
}

/// The file that `throng init --from mcp` writes: each of its ten users begins a session.
const MCP: &str = include_str!("../examples/apps/mcp.toml");

#[test]
fn sessions_of_mcp_begin_with_a_login() {
    let Some((_node, address)) = node() else { return };
    let folder = tempfile::tempdir().unwrap();
    let mcp = |query: &str| {
        let file = MCP.replace("path = \"/mcp\"", &format!("path = \"/mcp{query}\""));
        fs::write(folder.path().join("app.toml"), file).unwrap();
        let mut command = throng(["run", "app.toml", &format!("http://{address}")]);
        command.args(["-n", &ANSWERS.to_string(), "--format", "json", "--no-store", "--no-preflight"]);
        run(command.current_dir(folder.path()), RUN_MAX)
    };
    // Over an event stream, a notification comes before the response.
    for (query, events) in [("", 2), ("?json", 1)] {
        let outcome = mcp(query);
        outcome.assert_held();
        let found = counts(&outcome.json(), ["received", "events", "unmarked"]);
        assert_eq!(found, [ANSWERS, ANSWERS * events, 0], "{query}: {outcome}");
    }
    let failing = mcp("?fail");
    assert_eq!(errors_of(&failing.json(), "http_error_event"), ANSWERS, "{failing}");
    let journal = journal(address);
    // Each of ten connections begins one.
    assert_eq!((journal["answered"]["mcp"].as_u64(), journal["sessions"].as_u64()), (Some(24), Some(30)));
    let without = stream(&format!("http://{address}/"), "--api mcp -c 1 -n 1");
    assert_eq!(errors_of(&without.json(), "http_4xx"), 1, "{without}");
}
