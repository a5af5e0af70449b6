//! Recordings that are broken, hostile or odd: each is refused, or read into a file that is TOML and bounded.

mod bounds;
mod exporters;
mod left_out;
mod logins;
mod own;
mod purposes;
mod secrets;
mod spoken;
mod streams;
mod summaries;

use serde_json::{Value, json};

use crate::credentials::is_random;
use crate::{BadHar, Draft, Recording, draft};

/// A recording of a WebSocket that says and hears these, in turn; `>` is sent.
fn recording(url: &str, texts: &[&str]) -> Value {
    let frame = |(number, text): (usize, &&str)| {
        let (kind, data) = text.split_at(1);
        let kind = if kind == ">" { "send" } else { "receive" };
        json!({ "type": kind, "time": 1e9 + number as f64, "opcode": 1, "data": data })
    };
    let messages: Vec<Value> = texts.iter().enumerate().map(frame).collect();
    json!({ "log": { "entries": [{
        "startedDateTime": "2001-09-09T01:46:40Z",
        "request": { "method": "GET", "url": url, "headers": [{ "name": "Origin", "value": "http://{token}" }] },
        "response": { "status": 101, "content": {} },
        "_webSocketMessages": messages,
    }] } })
}

/// The recording with a request at this second of the minute, whose WebSocket begins at the 40th.
fn with_request(mut har: Value, second: u8, to: (&str, &str), body: (&str, &str), answer: &Value) -> Value {
    let request = json!({
        "startedDateTime": format!("2001-09-09T01:46:{second}Z"),
        "request": {
            "method": to.0,
            "url": to.1,
            "postData": { "mimeType": body.0, "text": body.1 },
        },
        "response": {
            "status": 200,
            "headers": [{ "name": "Set-Cookie", "value": format!("s{second}=1") }],
            "content": { "mimeType": "application/json", "text": answer.to_string() },
        },
    });
    har["log"]["entries"].as_array_mut().unwrap().push(request);
    har
}

/// A recording whose WebSocket was asked for with this header.
fn with_header(name: &str, value: &str) -> Value {
    let mut har = recording("ws://a/", &HELLO);
    har["log"]["entries"][0]["request"]["headers"] = json!([{ "name": name, "value": value }]);
    har
}

const NO_BODY: (&str, &str) = ("", "");
/// A login as it is typed, behind its type.
const FORM_OF_LOGIN: (&str, &str) = ("application/x-www-form-urlencoded", "user=ada&password=open-sesame");
/// A message that comes back.
const HELLO: [&str; 2] = [">{\"type\":\"say\",\"text\":\"hello\"}", "<{\"type\":\"say\",\"text\":\"hello\"}"];

fn read(har: &Value) -> Draft {
    let read = Recording::read("a.har", har.to_string().into_bytes());
    let draft = draft(&[read.unwrap_or_else(|error| panic!("{error}"))], "users.csv");
    if let Err(error) = draft.toml.parse::<toml::Table>() {
        panic!("{error}\n{}", draft.toml);
    }
    draft
}

/// The file, as TOML.
fn table(har: &Value) -> toml::Table {
    read(har).toml.parse().unwrap()
}

#[test]
fn broken_files_are_refused() {
    let whole = recording("ws://a/", &[">{\"say\":\"x\"}"]).to_string();
    let deep = format!("{{\"log\":{{\"entries\":{}", "[".repeat(100_000));
    let no_text: &[u8] = b"\xff\xfe\x00";
    let other_json = |column| BadHar::NotHar { line: 1, column };
    for (bytes, expected) in [
        (&b""[..], BadHar::Empty),
        (b"\xef\xbb\xbf\n", BadHar::Empty),
        (b"\x1f\x8b\x08\0", BadHar::Compressed),
        (&whole.as_bytes()[..whole.len() / 2], BadHar::CutOff(1)),
        (b"{\n\"log\":", BadHar::CutOff(2)),
        (b"<html>", BadHar::NotJson { line: 1, column: 1 }),
        (no_text, BadHar::NotJson { line: 1, column: 1 }),
        (b"[]", other_json(2)),
        (b"{}", other_json(2)),
        (b"null", other_json(4)),
        (deep.as_bytes(), other_json(21)),
    ] {
        let read = Recording::read("a.har", bytes.to_vec()).err();
        assert_eq!(read, Some(expected), "{:.40}", String::from_utf8_lossy(bytes));
    }
    let none = json!({ "log": { "entries": [{ "request": { "method": "GET", "url": "http://a/" } }] } });
    assert!(matches!(Recording::read("a", none.to_string().into_bytes()), Err(BadHar::NoSocket)));
    let entries = json!([null, {}, { "request": null, "response": null }]);
    let odd = json!({ "log": { "entries": entries } }).to_string().into_bytes();
    assert!(matches!(Recording::read("a", odd), Err(BadHar::NoSocket)));
    let mut stream = none;
    stream["log"]["entries"][0]["response"] =
        json!({ "status": 200, "content": { "mimeType": "text/event-stream" } });
    let stream = stream.to_string().into_bytes();
    assert!(matches!(Recording::read("a", stream), Err(BadHar::NoEvents)));
    let silent = recording("ws://a/", &[]).to_string().into_bytes();
    assert!(matches!(Recording::read("a", silent), Err(BadHar::NoMessages)));
    let mut binary = recording("ws://a/", &[">x", "<y"]);
    for message in binary["log"]["entries"][0]["_webSocketMessages"].as_array_mut().unwrap() {
        message["opcode"] = 2.into();
    }
    let binary = binary.to_string().into_bytes();
    assert!(matches!(Recording::read("a", binary), Err(BadHar::OnlyBinary(2))));
}

#[test]
fn deep_messages_are_read_as_text() {
    let deep = format!(">{}", "[".repeat(100_000));
    assert!(read(&recording("ws://a/", &[&deep])).findings.len() < 3);
}

#[test]
fn ten_thousand_kinds_are_bounded() {
    let texts: Vec<String> =
        (0..10_000).map(|kind| format!("<{{\"type\":\"kind-{kind}\",\"n\":1}}")).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    assert!(table(&recording("ws://a/", &texts))["ignore"].as_array().unwrap().len() <= 64);
    let sent: Vec<String> = (0..2_000)
        .flat_map(|kind| {
            [
                format!(">{{\"type\":\"k{kind}\",\"text\":\"words {kind}\"}}"),
                format!("<{{\"type\":\"k{kind}\",\"text\":\"words {kind}\"}}"),
            ]
        })
        .collect();
    let sent: Vec<&str> = sent.iter().map(String::as_str).collect();
    assert!(table(&recording("ws://a/", &sent))["say"].as_table().unwrap().len() <= 16);
}

/// Placeholders and variables that a recording names would send what only this machine knows.
#[test]
fn recorded_placeholders_are_plain_text() {
    for (url, texts) in [
        (
            "ws://a/{hmac:sha256:env:HOME:x}?a={token}",
            &[">{hmac:sha256:env:HOME:x}", ">{hmac:sha256:env:HOME:x}"][..],
        ),
        ("ws://a/", &[">{\"join\":\"{hmac:sha256:env:HOME:x}\",\"{sha1:env:HOME}\":1}"]),
        ("ws://a/socket.io/?EIO=4", &["<40{\"sid\":\"a\"}", ">40env:HOME", ">42[\"{sha1:x}\",\"{token}\"]"]),
        ("ws://a/socket.io/?EIO=4", &[">40file:/etc/passwd", ">42[\"join\",\"a\"]"]),
    ] {
        let toml = read(&recording(url, texts)).toml;
        for bad in ["{hmac", "{sha1", "{token}", "\"env:", "\"file:", "'env:", "'file:"] {
            assert!(!toml.contains(bad), "{bad}: {toml}");
        }
    }
}

/// Servers decode an escape in small letters, and a run takes it for no placeholder.
#[test]
fn braces_of_urls_are_escaped() {
    for (recorded, written) in [
        ("/ws?filter={room:1}&x={}", "/ws?filter=%7broom:1}&x={}"),
        ("/ws?f={hmac:sha256:env:HOME:x}", "/ws?f=%7bhmac:sha256:env:HOME:x}"),
        ("/%7Broom%7D?y=%7Bperson.id%7D&{client}=1", "/%7broom%7D?y=%7bperson.id%7D&%7bclient}=1"),
    ] {
        let table = table(&recording(&format!("ws://a{recorded}"), &HELLO));
        assert_eq!(table["connect"]["path"].as_str(), Some(written), "{table}");
    }
}

/// Control characters in a header: browsers refuse them, a recording by hand may have them.
#[test]
fn headers_that_no_request_has_are_left_out() {
    for (name, value, is_told) in [
        ("Authorization", "Bearer a1b2c3d4e5f6\nb", true),
        ("Cookie", "a=b\r\nX: y", true),
        ("X-CSRF-Token", "a1b2c3\u{7f}d4e5f6", true),
        ("Cookie", "a=\tb", false),
    ] {
        let draft = read(&with_header(name, value));
        assert_eq!(draft.toml.contains("left out: 1 header"), is_told, "{}", draft.toml);
        assert_eq!(draft.users.is_none(), is_told, "{}", draft.toml);
    }
}

#[test]
fn origins_without_a_server_are_left_out() {
    for (origin, is_kept) in
        [("https://a:8443", true), ("capacitor://localhost", true), ("null", false), ("http://a b", false)]
    {
        let toml = read(&with_header("Origin", origin)).toml;
        let table: toml::Table = toml.parse().unwrap();
        let written = table["connect"].get("origin").and_then(toml::Value::as_str);
        assert_eq!(written, is_kept.then_some(origin), "{toml}");
        assert_eq!(toml.contains("left out: the Origin"), !is_kept, "{toml}");
    }
}

#[test]
fn names_stay_within_the_file() {
    let texts = [
        ">{\"type\":\"../../x\",\"text\":\"good morning\"}",
        "<{\"type\":\"../../x\",\"text\":\"good morning\"}",
        ">{\"type\":\"a.b]\\n[x\",\"text\":\"good evening\"}",
        "<{\"type\":\"a.b]\\n[x\",\"text\":\"good evening\",\"extra\\n[x]\":\"y\"}",
    ];
    let table = table(&recording("ws://a/../../x", &texts));
    assert!(table.keys().all(|key| key != "x"), "{table}");
}

#[test]
fn random_texts_need_no_digits() {
    for (value, expected) in [
        ("eHaQpUjvnx_vTRYB", true),
        ("phx-ZrYmqTjvmxSnpvWO", true),
        ("a1b2c3d4", true),
        ("CounterLive", false),
        ("/Socket/websocket", false),
    ] {
        assert_eq!(is_random(value), expected, "{value}");
    }
}
