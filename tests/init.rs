//! `throng init`: each file that it writes runs as it is, and so does what its comments offer.

use std::fs;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use crate::recorded_apps::files;
use crate::support::free_address;
use crate::support::throng::{Outcome, Server, run, sum_of, throng};

const WITHIN: Duration = Duration::from_secs(60);
const PROTOCOLS: [&str; 6] = ["plain", "actioncable", "phoenix", "socketio", "sockjs", "graphql"];

fn init(folder: &Path, words: &[&str]) -> Outcome {
    run(throng(["init"]).args(words).current_dir(folder), WITHIN)
}

/// Files for servers that throng's own is none of.
const OTHERS: [&str; 13] = [
    "mcp",
    "graphql-ws-legacy",
    "liveview",
    "pusher",
    "signalr",
    "signalr-msgpack",
    "stomp",
    "centrifugo",
    "supabase",
    "jsonrpc",
    "ocpp",
    "game",
    "ticker",
];

/// The command that it names.
#[test]
fn each_file_runs_against_throng_s_own_server() {
    for protocol in PROTOCOLS.into_iter().chain(["sse"]) {
        let folder = tempfile::tempdir().unwrap();
        let written = init(folder.path(), &["--from", protocol]);
        assert!(written.code == Some(0) && written.stdout.contains("throng run app.toml\n"), "{written}");
        let mut command = throng(["run", "app.toml", "--clients", "20", "--rate", "20", "--duration", "1s"]);
        let outcome =
            run(command.args(["--format", "json", "--no-store"]).current_dir(folder.path()), WITHIN);
        outcome.assert_held();
        let results = outcome.json();
        assert_eq!(
            (sum_of(&results, "sent"), sum_of(&results, "received")),
            (20, 400),
            "{protocol}: {outcome}"
        );
    }
}

#[test]
fn files_of_streams_run_against_our_server() {
    let folder = tempfile::tempdir().unwrap();
    let written = init(folder.path(), &["--from", "stream"]);
    assert!(written.code == Some(0) && written.stdout.contains("throng run app.toml\n"), "{written}");
    let server = Server::start(&[]);
    for url in ["", &format!("http://{}", server.address)] {
        let mut command = throng(["run", "app.toml", "--format", "json", "--no-store", "-n", "10"]);
        command.args((!url.is_empty()).then_some(url)).current_dir(folder.path());
        let outcome = run(&mut command, WITHIN);
        outcome.assert_held();
        let counts = ["received", "tokens", "unmarked"].map(|name| sum_of(&outcome.json(), name));
        assert_eq!(counts, [10, 1000, 0], "{outcome}");
    }
}

#[test]
fn offered_comments_are_understood() {
    for protocol in PROTOCOLS {
        let folder = tempfile::tempdir().unwrap();
        init(folder.path(), &["mine.toml", "--from", protocol]);
        let file = folder.path().join("mine.toml");
        let text = fs::read_to_string(&file).unwrap();
        assert!(text.lines().next().unwrap().contains("`throng run mine.toml ws://"), "{text}");
        let first = include_str!("../crates/cli/src/verbs/besides.toml").lines().next().unwrap();
        let (example, besides) = text.split_once(first).expect("comments");
        let example = example.replace("# open", "open").replace("#   {", "  {").replace("\n# ]", "\n]");
        assert!(example.contains("\nopen = ["), "{protocol}: {text}");
        let offered: Vec<&str> = besides.lines().skip(1).map(|line| line.trim_start_matches("# ")).collect();
        fs::write(&file, format!("{example}{}", offered.join("\n"))).unwrap();
        fs::write(folder.path().join("users.csv"), "name,password\nada,secret\n").unwrap();
        let url = format!("ws://{}/", free_address());
        let mut command = throng(["run", "mine.toml", &url, "--no-store"]);
        let outcome = run(command.env("JWT_SECRET", "secret").current_dir(folder.path()), WITHIN);
        // The file makes sense; there is but nobody at that address.
        assert!(outcome.code == Some(1) && outcome.stderr.contains("refused"), "{protocol}: {outcome}");
    }
}

/// A line of a file without the sign of a comment, if it is a key or the head of a table.
fn uncommented(line: &str) -> &str {
    let is_name = |name: &str| name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
    match line.strip_prefix("# ") {
        Some(table) if table.starts_with('[') => table,
        Some(key) if key.split_once(" = ").is_some_and(|(name, _)| is_name(name)) => key,
        _ => line,
    }
}

#[test]
fn offered_comments_of_streams_are_understood() {
    for protocol in ["sse", "stream", "mcp"] {
        let folder = tempfile::tempdir().unwrap();
        init(folder.path(), &["mine.toml", "--from", protocol]);
        let file = folder.path().join("mine.toml");
        let text = fs::read_to_string(&file).unwrap();
        let offered: Vec<&str> = text.lines().map(uncommented).collect();
        assert!(text.lines().ne(offered.iter().copied()), "{protocol}: {text}");
        fs::write(&file, offered.join("\n")).unwrap();
        fs::write(folder.path().join("users.csv"), "name,password,prompt\nada,secret,hi\n").unwrap();
        let mut command = throng(["run", "mine.toml", &format!("http://{}/", free_address()), "--no-store"]);
        command.env("JWT_SECRET", "secret").env("API_AUTHORIZATION", "Bearer key");
        let outcome = run(command.current_dir(folder.path()), WITHIN);
        assert!(outcome.code == Some(1) && outcome.stderr.contains("refused"), "{protocol}: {outcome}");
    }
}

#[test]
fn files_for_other_servers_are_understood() {
    for protocol in OTHERS {
        let folder = tempfile::tempdir().unwrap();
        let written = init(folder.path(), &["mine.toml", "--from", protocol]);
        let is_promised = written.stdout.contains("as it is");
        assert!(written.code == Some(0) && !is_promised, "it is for another server: {written}");
        assert!(written.stdout.contains("throng probe "), "{written}");
        let text = fs::read_to_string(folder.path().join("mine.toml")).unwrap();
        assert!(text.contains("throng run mine.toml "), "{protocol}: it says how it is run: {text}");
        let scheme = if protocol == "mcp" { "http" } else { "ws" };
        let url = format!("{scheme}://{}", free_address());
        let mut command = throng(["run", "mine.toml", &url, "--no-store"]);
        let outcome = run(command.env("PUSHER_SECRET", "secret").current_dir(folder.path()), WITHIN);
        assert!(outcome.code == Some(1) && outcome.stderr.contains("refused"), "{protocol}: {outcome}");
    }
}

#[test]
fn existing_files_stay() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("app.toml"), "mine").unwrap();
    let outcome = init(folder.path(), &["--from", "plain"]);
    assert!(outcome.code == Some(2) && outcome.stderr.contains("exists already"), "{outcome}");
    assert_eq!(fs::read_to_string(folder.path().join("app.toml")).unwrap(), "mine");
}

/// Nobody is there to be asked.
#[test]
fn without_a_terminal_the_protocol_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let outcome = init(folder.path(), &[]);
    assert!(outcome.code == Some(2) && outcome.stderr.contains("plain, actioncable, phoenix"), "{outcome}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

fn headers(name: &str, value: &str) -> Value {
    if value.is_empty() { json!([]) } else { json!([{ "name": name, "value": value }]) }
}

/// A request before the WebSocket, its number below a million; a body makes it a POST.
fn request(number: usize, body: Option<Value>, cookie: &str, answer: &Value) -> Value {
    let post = body.map(|body| json!({ "mimeType": "application/json", "text": body.to_string() }));
    json!({
        "startedDateTime": format!("2001-09-09T01:46:39.{number:06}Z"),
        "request": {
            "method": if post.is_some() { "POST" } else { "GET" },
            "url": format!("http://a/{number}"),
            "postData": post,
        },
        "response": {
            "status": 200,
            "headers": headers("Set-Cookie", cookie),
            "content": { "mimeType": "application/json", "text": answer.to_string() },
        },
    })
}

/// A recording of these requests, and of a WebSocket with these messages and some talk.
fn session(mut entries: Vec<Value>, query: &str, cookie: &str, texts: &[(&str, Value)]) -> String {
    let said = json!({ "type": "say", "text": "good morning" });
    let talk = texts.iter().cloned().chain([("send", said.clone()), ("receive", said)]);
    let messages: Vec<Value> = talk
        .enumerate()
        .map(|(number, (kind, data))| {
            json!({ "type": kind, "time": 1e9 + number as f64, "opcode": 1, "data": data.to_string() })
        })
        .collect();
    entries.push(json!({
        "startedDateTime": "2001-09-09T01:46:40Z",
        "request": {
            "method": "GET",
            "url": format!("ws://a/?{query}"),
            "headers": headers("Cookie", cookie),
        },
        "response": { "status": 101 },
        "_webSocketMessages": messages,
    }));
    json!({ "log": { "entries": entries } }).to_string()
}

/// Requests with a password, each with an answer of its own.
fn logins(count: usize) -> Vec<Value> {
    let one = |number: usize| {
        let body = json!({ "password": format!("pw-{number}-x") });
        request(number, Some(body), "", &json!({ "t": format!("a1b2c3d4e5f{number}") }))
    };
    (0..count).map(one).collect()
}

/// Requests and values behind those that a file may have are left out, or become columns.
#[test]
fn long_recordings_make_files_that_run() {
    let values: Value = (0..60)
        .map(|number| (format!("v{number}"), json!(format!("a1b2c3d4e5f{number}"))))
        .chain([("type".to_owned(), json!("hello"))])
        .collect();
    let deep = (0..20).fold(json!("a1b2c3d4e5"), |inner, _| json!({ "k": inner }));
    let cookie = |number: usize| format!("c{number}=a1b2c3d4e5f{number}");
    let cookies: Vec<String> = (0..30).map(cookie).collect();
    let set = |number: usize| request(number, None, &cookie(number), &Value::Null);
    let get = |answer: &Value| vec![request(0, None, "", answer)];
    let tokens =
        (0..200).map(|number| ("send", json!({ "type": "hello", "t": format!("a1b2c3d4e5f{number}") })));
    let tokens: Vec<(&str, Value)> = tokens.collect();
    let hello = json!({ "type": "hello", "k": "a1b2c3d4e5" });
    for (name, har) in [
        ("21 logins", session(logins(21), "", "", &[])),
        ("10,000 logins", session(logins(10_000), "", "", &tokens)),
        ("30 cookies", session((0..30).map(set).collect(), "", &cookies.join("; "), &[])),
        ("60 values of an answer", session(get(&values), "", "", &[("send", values.clone())])),
        (
            "60 values of a message",
            session(vec![], "", "", &[("receive", values.clone()), ("send", values.clone())]),
        ),
        ("deep answer", session(get(&deep), "t=a1b2c3d4e5", "", &[])),
        ("deep message", session(vec![], "", "", &[("receive", deep.clone()), ("send", hello)])),
    ] {
        assert_runs(name, &har);
    }
}

/// Writes a file for this recording, and runs it where nobody is.
fn assert_runs(name: &str, har: &str) {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.har"), har).unwrap();
    let written = init(folder.path(), &["--from", "a.har"]);
    assert!(written.code == Some(0) && written.stdout.contains("throng probe "), "{name}: {written}");
    let mut command = throng(["run", "app.toml", &format!("ws://{}", free_address()), "--no-store"]);
    let outcome = run(command.current_dir(folder.path()), WITHIN);
    assert!(outcome.code == Some(1) && outcome.stderr.contains("refused"), "{name}: {outcome}");
}

/// Headers and subprotocols that no browser sends, and moves without a place for an id.
#[test]
fn hostile_recordings_make_files_that_run() {
    for (name, value) in [
        ("Authorization", "Bearer a1b2c3d4e5f6\ng7"),
        ("Cookie", "a=b\r\nX: y"),
        ("X-CSRF-Token", "a1b2c3\nd4e5f6g7"),
        ("Origin", "http://a\nb"),
        ("Origin", "null"),
        ("Sec-WebSocket-Protocol", "access_token, a1b2c3d4e5f6.g7h8i9j0=.k1/l2+m3=="),
        ("Sec-WebSocket-Protocol", "a b, \"x\", ,,\u{e9}, chat"),
    ] {
        let mut har: Value = serde_json::from_str(&session(logins(1), "f={token}", "", &[])).unwrap();
        for entry in har["log"]["entries"].as_array_mut().unwrap() {
            entry["request"]["headers"] = headers(name, value);
        }
        assert_runs(&format!("{name}: {value}"), &har.to_string());
    }
    let moves = [[4, 7], [5, 9], [6, 2]].map(|one| json!(one));
    let moves: Vec<_> =
        moves.iter().flat_map(|one| [("send", one.clone()), ("receive", one.clone())]).collect();
    assert_runs("moves without a text", &session(vec![], "", "", &moves));
}

#[test]
fn broken_recordings_write_nothing() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.har"), r#"{"log":{"entries":[{"request":"#).unwrap();
    for from in [&["a.har"][..], &["../none.har"], &["a.har", "a.har", "a.har"], &["a.har", "plain"]] {
        let words: Vec<&str> = from.iter().flat_map(|from| ["--from", from]).collect();
        let outcome = init(folder.path(), &words);
        assert!(matches!(outcome.code, Some(1 | 2)), "{outcome}");
        assert_eq!(outcome.stderr.lines().count(), 1, "{outcome}");
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

/// A password is not in the app's file, on the screen, or in what is kept of a run.
#[test]
fn planted_secrets_stay_in_the_users_file() {
    let folder = tempfile::tempdir().unwrap();
    let said =
        |kind: &str, text: &str| format!(r#"{{"type":"send","time":{kind},"opcode":1,"data":{text:?}}}"#);
    let heard = |kind: &str, text: &str| said(kind, text).replacen("send", "receive", 1);
    let message = r#"{"type":"broadcast","payload":"good morning"}"#;
    let messages = [said("1", r#"["login","ada","planted2two2"]"#), said("2", message), heard("3", message)];
    let request = r#"{"method":"GET","url":"ws://a/ws"}"#;
    let entry = format!(r#"{{"request":{request},"_webSocketMessages":[{}]}}"#, messages.join(","));
    fs::write(folder.path().join("a.har"), format!(r#"{{"log":{{"entries":[{entry}]}}}}"#)).unwrap();
    let server = Server::start(&[]);
    let written = init(folder.path(), &["--from", "a.har", "--check", &server.url()]);
    let mut command = throng(["run", "app.toml", &server.url(), "--clients", "4", "--duration", "1s"]);
    let outcome =
        run(command.current_dir(folder.path()).env("XDG_DATA_HOME", folder.path().join("kept")), WITHIN);
    let users = fs::read(folder.path().join("users.csv")).unwrap();
    let kept = files(&folder.path().join("kept"));
    assert!(!kept.is_empty(), "{outcome}");
    let kept = kept.into_iter().chain([folder.path().join("app.toml")]).map(|path| fs::read(path).unwrap());
    let shown = [&written, &outcome].map(|outcome| outcome.to_string().into_bytes());
    let places: Vec<Vec<u8>> = kept.chain(shown).collect();
    for secret in ["planted2", "two2"] {
        let has = |place: &[u8]| place.windows(secret.len()).any(|part| part == secret.as_bytes());
        assert!(has(&users), "{secret}");
        assert!(!places.iter().any(|place| has(place)), "{secret}: {written}{outcome}");
    }
}
