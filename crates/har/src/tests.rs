//! Recordings that are broken, hostile or odd: each is refused, or read into a file that is TOML and bounded.

mod own;
mod secrets;
mod spoken;
mod summaries;

use serde_json::{Value, json};

use crate::trace::is_random;
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

const FORM: &str = "application/x-www-form-urlencoded";
const NO_BODY: (&str, &str) = ("", "");
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
        (deep.as_bytes(), other_json(20)),
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
    stream["log"]["entries"][0]["response"] = json!({ "content": { "mimeType": "text/event-stream" } });
    let stream = stream.to_string().into_bytes();
    assert!(matches!(Recording::read("a", stream), Err(BadHar::OnlyStreams)));
    let silent = recording("ws://a/", &[]).to_string().into_bytes();
    assert!(matches!(Recording::read("a", silent), Err(BadHar::NoMessages)));
    let mut binary = recording("ws://a/", &[">x", "<y"]);
    for message in binary["log"]["entries"][0]["_webSocketMessages"].as_array_mut().unwrap() {
        message["opcode"] = 2.into();
    }
    let binary = binary.to_string().into_bytes();
    assert!(matches!(Recording::read("a", binary), Err(BadHar::OnlyBinary(2))));
}

/// WebSockets as Firefox's `HarBuilder` writes them, with `http` in the URL, and as WebKit's `HARBuilder` does:
/// neither has messages.
#[test]
fn exporters_without_messages_are_told() {
    let headers = json!([{ "name": "Upgrade", "value": "websocket" }]);
    let response = json!({ "status": 101, "statusText": "Switching Protocols", "headers": headers, "cookies": [],
        "content": { "mimeType": "", "size": 0 }, "redirectURL": "", "headersSize": 129, "bodySize": 0 });
    for (creator, url) in [("Firefox", "http://a/ws"), ("WebKit Web Inspector", "wss://a/ws")] {
        let request =
            json!({ "method": "GET", "url": url, "headers": headers, "cookies": [], "queryString": [] });
        let entry = json!({ "pageref": "page_0", "startedDateTime": "2001-09-09T01:46:40.000+01:00",
            "request": request, "response": response, "cache": {}, "timings": {}, "time": 0 });
        let har = json!({ "log": { "creator": { "name": creator }, "pages": [], "entries": [entry] } });
        let read = Recording::read("a", har.to_string().into_bytes());
        assert!(matches!(read, Err(BadHar::NoMessages)), "{creator}");
    }
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

/// A password of the words that a file is made of leaves it readable.
#[test]
fn typed_words_of_the_file_are_no_secret() {
    let login = (FORM, "user=send&password=password");
    let har = recording("ws://a/", &HELLO);
    let table = table(&with_request(har, 39, ("POST", "http://a/login"), login, &Value::Null));
    let form = &table["login"][0]["form"];
    let typed = ["user", "password"].map(|field| form[field].as_str());
    assert_eq!(typed, [Some("{person.name}"), Some("{person.password}")], "{table}");
}

/// An exporter that writes the messages of each entry has null in place of a request's.
#[test]
fn requests_with_null_messages_keep_logins() {
    let login = (FORM, "user=ada&password=open-sesame");
    let mut har =
        with_request(recording("ws://a/", &HELLO), 39, ("POST", "http://a/login"), login, &Value::Null);
    har["log"]["entries"][1]["_webSocketMessages"] = Value::Null;
    assert!(table(&har).contains_key("login"), "{har}");
}

#[test]
fn name_as_password_has_two_columns() {
    for (login, users) in [
        ((FORM, "user=admin&password=admin"), "name,password\nadmin,admin\n"),
        ((FORM, "password=admin&user=admin"), "password,name\nadmin,admin\n"),
        (("application/json", r#"{"password":"x1","confirmPassword":"x1"}"#), "password\nx1\n"),
    ] {
        let har = recording("ws://a/", &HELLO);
        let draft = read(&with_request(har, 39, ("POST", "http://a/login"), login, &Value::Null));
        assert_eq!(draft.users.as_deref(), Some(users), "{}", draft.toml);
    }
}

#[test]
fn secrets_of_the_query_become_columns() {
    for name in ["session", "sid", "sig", "ticket", "x-api-key", "token"] {
        let table = table(&recording(&format!("ws://a/ws?{name}=6f1c0a7be2&room=1"), &HELLO));
        let path = table["connect"]["path"].as_str().unwrap();
        assert!(path.starts_with(&format!("/ws?{name}={{person.")) && path.ends_with("&room=1"), "{path}");
    }
}

#[test]
fn login_that_cannot_be_sent_is_noted() {
    let mut har = recording("ws://a/", &HELLO);
    har["log"]["entries"][0]["request"]["headers"] = json!([{ "name": "Cookie", "value": "s39=1" }]);
    let body = ("multipart/form-data; boundary=x", "--x");
    let toml = read(&with_request(har, 39, ("PUT", "http://a/login"), body, &Value::Null)).toml;
    assert!(toml.contains("PUT of multipart/form-data"), "{toml}");
}

#[test]
fn repeated_values_are_searched_once() {
    let device = r#""a":"d3v1c3aaaaaa","b":"d3v1c3bbbbbb","c":"d3v1c3cccccc""#;
    let texts = (0..30).map(|number| format!(">{{\"type\":\"t{number}\",{device}}}"));
    let texts: Vec<String> = texts.chain([r#">{"type":"last","sid":"a1b2c3d4e5"}"#.to_owned()]).collect();
    let har = recording("ws://a/", &texts.iter().map(String::as_str).collect::<Vec<_>>());
    let table = table(&with_request(har, 39, ("GET", "http://a/"), NO_BODY, &json!({ "sid": "a1b2c3d4e5" })));
    assert_eq!(table["login"][0]["keep"]["sid"].as_str(), Some("json:/sid"), "{table}");
}

#[test]
fn publishing_needs_no_login() {
    let har = recording("ws://a/", &["<{\"type\":\"said\",\"text\":\"good morning\"}"]);
    let har = with_request(har, 39, ("GET", "http://a/"), NO_BODY, &json!({ "csrf": "csrf1234abcd" }));
    let body = r#"{"text":"good morning","csrf":"csrf1234abcd","password":"open-sesame"}"#;
    let body = ("application/json", body);
    let mut har = with_request(har, 41, ("POST", "http://b/rooms?x=1"), body, &Value::Null);
    har["log"]["entries"][2]["request"]["headers"] =
        json!([{ "name": "X-CSRF-Token", "value": "csrf1234abcd" }]);
    let draft = read(&har);
    let table: toml::Table = draft.toml.parse().unwrap();
    let publish = &table["publish"];
    assert_eq!(publish["post"].as_str(), Some("http://b/rooms?x=1"), "{table}");
    assert_eq!(publish["headers"].as_table().unwrap().len(), 1, "its type alone: {table}");
    let said = r#"{"text":"{id} {padding}","csrf":"{person.csrf}","password":"{person.password}"}"#;
    assert_eq!(publish["body"].as_str(), Some(said), "{table}");
    assert!(table.get("login").is_none(), "{table}");
    assert!(draft.is_measured);
}

#[test]
fn value_is_kept_of_the_earliest_answer() {
    let (csrf, login) = (json!({ "csrf": "csrf1234abcd" }), (FORM, "password=open-sesame&csrf=csrf1234abcd"));
    let har = recording("ws://a/?csrf=csrf1234abcd", &HELLO);
    let har = with_request(har, 37, ("GET", "http://a/login"), NO_BODY, &csrf);
    let har = with_request(har, 38, ("POST", "http://a/login"), login, &Value::Null);
    let table = table(&with_request(har, 39, ("GET", "http://a/home"), NO_BODY, &csrf));
    let logins = table["login"].as_array().unwrap();
    assert_eq!(logins[0]["keep"]["csrf"].as_str(), Some("json:/csrf"), "{table}");
    assert_eq!(logins[1]["form"]["csrf"].as_str(), Some("{csrf}"), "{table}");
    assert_eq!(table["connect"]["path"].as_str(), Some("/?csrf={csrf}"), "{table}");
    assert_eq!(logins.len(), 2, "nothing is kept of the later answer: {table}");
    assert!(logins[1].get("keep").is_none(), "{table}");
}

#[test]
fn pages_without_a_type_are_read() {
    for (kind, is_kept) in [("", true), ("x-unknown", true), ("application/octet-stream", false)] {
        let har = recording("ws://a/?t=6f1c0a7be2", &HELLO);
        let mut har = with_request(har, 39, ("GET", "http://a/"), NO_BODY, &Value::Null);
        har["log"]["entries"][1]["response"]["content"] =
            json!({ "mimeType": kind, "text": "\n<input name=t value=6f1c0a7be2>" });
        let table = table(&har);
        assert_eq!(table.get("login").is_some(), is_kept, "{kind}: {table}");
    }
}

#[test]
fn text_beside_a_placeholder_is_escaped() {
    let texts = [
        r#">{"type":"hello","session":"a1b2c3d4e5"}"#,
        r#">{"type":"join","data":"{\"t\":\"a1b2c3d4e5\"} {uuid}"}"#,
    ];
    let har = recording("ws://a/", &texts);
    let table = table(&with_request(har, 39, ("GET", "http://a/"), NO_BODY, &json!({ "sid": "a1b2c3d4e5" })));
    let send = table["open"][1]["send"].as_str().unwrap();
    assert_eq!(send, r#"{"type":"join","data":"{\"t\":\"{sid}\"} \u007buuid}"}"#, "{table}");
}

/// Moves as arrays have no place for an id, and moves as objects do.
#[test]
fn measured_arrays_without_texts_are_noted() {
    let drafted = |moves: [&str; 3]| {
        let said = |mark: &str| {
            let texts: Vec<String> = moves.iter().map(|text| format!("{mark}{text}")).collect();
            let har = recording("ws://a/", &texts.iter().map(String::as_str).collect::<Vec<_>>());
            Recording::read("a.har", har.to_string().into_bytes()).unwrap()
        };
        draft(&[said(">"), said("<")], "users.csv").toml
    };
    let has_id = |toml: &str, is_comment: bool| {
        toml.lines().any(|line| line.contains("{id}") && line.starts_with('#') == is_comment)
    };
    let (array, object) =
        (drafted(["[4,7]", "[5,9]", "[6,2]"]), drafted(["{\"x\":4}", "{\"x\":5}", "{\"x\":7}"]));
    assert_eq!((has_id(&array, true), has_id(&array, false)), (true, false), "{array}");
    assert_eq!((has_id(&object, true), has_id(&object, false)), (false, true), "{object}");
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
fn questions_are_told_from_lines() {
    let texts = [
        "<{\"type\":\"welcome\",\"you\":\"c-1234567\"}",
        ">{\"type\":\"hello\",\"client\":\"c-1234567\"}",
        "<{\"type\":\"ready\"}",
        ">{\"type\":\"ask\",\"text\":\"what is it\"}",
        "<{\"type\":\"answer\",\"text\":\"what is it\"}",
        ">{\"type\":\"say\",\"text\":\"it is late\"}",
        "<{\"type\":\"said\",\"text\":\"it is late\"}",
        "<{\"type\":\"said\",\"text\":\"it is not\"}",
    ];
    let table = table(&recording("ws://a/", &texts));
    let open = table["open"].as_array().unwrap();
    assert_eq!(open[0]["keep"]["you"].as_str(), Some("json:/you"), "{table}");
    assert_eq!(open[1]["send"].as_str(), Some("{\"type\":\"hello\",\"client\":\"{you}\"}"), "{table}");
    assert_eq!(open[2]["expect"]["json"]["/type"].as_str(), Some("ready"), "{table}");
    assert_eq!(table["echo"]["reply"]["json"]["/type"].as_str(), Some("answer"), "{table}");
    assert_eq!(table["broadcast"]["copy"]["json"]["/type"].as_str(), Some("said"), "{table}");
}

#[test]
fn parameters_of_other_subscriptions_are_left_out() {
    let chat = json!({ "channel": "ChatChannel" });
    let other = |stream: &str| json!({ "channel": "Turbo::StreamsChannel", "signed_stream_name": stream });
    let subscribe =
        |to: &Value| format!(">{}", json!({ "command": "subscribe", "identifier": to.to_string() }));
    let data = json!({ "action": "say", "text": "good morning" }).to_string();
    let said = json!({ "command": "message", "identifier": chat.to_string(), "data": data });
    let texts = [subscribe(&chat), subscribe(&other("IloyZ2lk")), subscribe(&other("IjEyMzQi"))];
    let texts = texts.into_iter().chain([format!(">{said}")]).collect::<Vec<_>>();
    let draft = read(&recording("ws://a/cable", &texts.iter().map(String::as_str).collect::<Vec<_>>()));
    assert!(draft.toml.contains("Turbo::StreamsChannel (2)"), "{}", draft.toml);
    let written = format!("{}{:?}{:?}", draft.toml, draft.users, draft.findings);
    assert!(!written.contains("IloyZ2lk") && !written.contains("IjEyMzQi"), "{written}");
}

#[test]
fn topics_of_other_channels_are_left_out() {
    let said =
        |topic: &str, event: &str, payload: Value| format!(">{}", json!(["1", "1", topic, event, payload]));
    let joins = ["room:1", "user:6f1c0a7b", "user:6f1c0a7b", "user:e2d94a11", "lobby"];
    let joins = joins.map(|topic| said(topic, "phx_join", json!({})));
    let talk = said("room:1", "say", json!({ "text": "good morning" }));
    let texts = joins.iter().chain([&talk]).map(String::as_str).collect::<Vec<_>>();
    let draft = read(&recording("ws://a/socket/websocket", &texts));
    for note in ["topics of user (2)", "topics of lobby (1)"] {
        assert!(draft.toml.contains(note), "{note}: {}", draft.toml);
    }
    assert!(!draft.toml.contains("6f1c0a7b") && !draft.toml.contains("e2d94a11"), "{}", draft.toml);
}

#[test]
fn arguments_of_other_operations_are_left_out() {
    let documents = [
        "subscription { said { text } }",
        "subscription { inbox(token: \"6f1c0a7b\") { text } }",
        "subscription Alerts($of: ID = \"e2d94a11\") { alerts(of: $of) { text } }",
        "subscription($of: ID = \"e2d94a11\") { inbox(of: $of) { text } }",
    ];
    let begun = |(id, query): (usize, &str)| {
        let payload = json!({ "query": query });
        format!(">{}", json!({ "id": id.to_string(), "type": "subscribe", "payload": payload }))
    };
    let texts: Vec<String> = documents.into_iter().enumerate().map(begun).collect();
    let mut har = recording("ws://a/graphql", &texts.iter().map(String::as_str).collect::<Vec<_>>());
    har["log"]["entries"][0]["request"]["headers"] =
        json!([{ "name": "Sec-WebSocket-Protocol", "value": "graphql-transport-ws" }]);
    let draft = read(&har);
    for note in ["subscriptions to inbox (2)", "subscriptions to Alerts (1)"] {
        assert!(draft.toml.contains(note), "{note}: {}", draft.toml);
    }
    assert!(!draft.toml.contains("6f1c0a7b") && !draft.toml.contains("e2d94a11"), "{}", draft.toml);
}

#[test]
fn messages_that_create_are_told_from_joins() {
    for (kind, key, copy) in [
        ("message.create", "text", Some("message.create")),
        ("join", "room", None),
        ("subscribe", "symbol", None),
        ("join", "payload", None),
        ("subscribe", "data", None),
    ] {
        let said = ["red", "green", "blue"].map(|word| json!({ "type": kind, key: word }).to_string());
        let texts: Vec<String> =
            said.iter().flat_map(|said| [format!(">{said}"), format!("<{said}")]).collect();
        let table = table(&recording("ws://a/", &texts.iter().map(String::as_str).collect::<Vec<_>>()));
        let broadcast = table.get("broadcast").map(|broadcast| &broadcast["copy"]["json"]["/type"]);
        assert_eq!(broadcast.and_then(toml::Value::as_str), copy, "{table}");
    }
}

#[test]
fn values_are_kept_for_each_measured_kind() {
    let table = table(&recording(
        "ws://a/",
        &[
            "<{\"type\":\"welcome\",\"you\":\"c-1234567\"}",
            ">{\"type\":\"say\",\"text\":\"good morning\"}",
            "<{\"type\":\"say\",\"text\":\"good morning\"}",
            ">{\"type\":\"shout\",\"by\":\"c-1234567\",\"text\":\"good evening\"}",
            "<{\"type\":\"shout\",\"text\":\"good evening\"}",
        ],
    ));
    assert_eq!(table["open"][0]["keep"]["you"].as_str(), Some("json:/you"), "{table}");
    let body = table["say"]["shout"]["body"].as_str().unwrap();
    assert!(body.contains("\"by\":\"{you}\""), "{table}");
}

#[test]
fn values_of_replies_are_kept() {
    let table = table(&recording(
        "ws://a/socket.io/?EIO=4",
        &[
            ">421[\"join\",\"lobby\"]",
            "<431[{\"roomId\":5}]",
            ">42[\"say\",{\"roomId\":5,\"text\":\"good morning\"}]",
            "<42[\"said\",{\"text\":\"good morning\"}]",
        ],
    ));
    let join = &table["open"][0];
    assert_eq!(join["replied"].as_bool(), Some(true), "{table}");
    assert_eq!(join["keep"]["roomid"].as_str(), Some("json:/0/roomId"), "{table}");
    assert!(table["broadcast"]["send"].as_str().unwrap().contains("\"roomId\":{roomid}"), "{table}");
}

#[test]
fn answers_keep_values_of_their_question() {
    let ping = "<{\"type\":\"ping\",\"conn\":\"c-1234567\"}";
    let pong = ">{\"type\":\"pong\",\"conn\":\"c-1234567\"}";
    let mut har = recording("ws://a/", &[ping, pong, ping, pong]);
    for message in har["log"]["entries"][0]["_webSocketMessages"].as_array_mut().unwrap() {
        message["time"] = json!(1e9);
    }
    let table = table(&har);
    let answer = &table["answer"][0];
    assert_eq!(answer["keep"]["conn"].as_str(), Some("json:/conn"), "{table}");
    assert_eq!(answer["send"].as_str(), Some("{\"type\":\"pong\",\"conn\":\"{conn}\"}"), "{table}");
}

#[test]
fn pushes_of_one_name_have_two_tables() {
    let push =
        |number: usize| ["a.b", "a-b"].map(|kind| format!("<{{\"type\":\"{kind}\",\"n\":{}}}", number + 7));
    let texts: Vec<String> = (0..3).flat_map(push).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let table = table(&recording("ws://a/", &texts));
    assert_eq!(table["push"].as_table().unwrap().len(), 2, "{table}");
}

#[test]
fn beats_answers_and_pushes() {
    let mut texts = Vec::new();
    for number in 0..4 {
        texts.push(format!(
            "<{{\"type\":\"tick\",\"seq\":{},\"at\":{}}}",
            number + 7,
            1_000_000_000 + 4 * number
        ));
        texts.push(">{\"type\":\"alive\"}".to_owned());
        texts.push(format!("<{{\"type\":\"check\",\"nonce\":\"x-{number}234567\"}}"));
        texts.push(format!(">{{\"type\":\"checked\",\"nonce\":\"x-{number}234567\"}}"));
    }
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let mut har = recording("ws://a/", &texts);
    // An answer comes at once.
    for (number, frame) in
        har["log"]["entries"][0]["_webSocketMessages"].as_array_mut().unwrap().iter_mut().enumerate()
    {
        frame["time"] = json!(1e9 + (number - number % 2 * usize::from(number % 4 == 3)) as f64);
    }
    let table = table(&har);
    let tick = &table["push"]["tick"];
    assert_eq!(
        (tick["number"].as_str(), tick["time"].as_str()),
        (Some("json:/seq"), Some("json:/at")),
        "{table}"
    );
    assert_eq!(table["heartbeat"][0]["every"].as_str(), Some("4000ms"), "{table}");
    let answer = &table["answer"][0];
    assert_eq!(answer["when"]["json"]["/type"].as_str(), Some("check"), "{table}");
    assert_eq!(answer["send"].as_str(), Some("{\"type\":\"checked\",\"nonce\":\"{nonce}\"}"), "{table}");
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

#[test]
fn channel_of_a_page_stays_as_recorded() {
    let identifier = json!({ "channel": "RoomStreamsChannel", "signed": "xJ9rT2kQ7vLm" }).to_string();
    let line = |data: &str| json!({ "command": "message", "identifier": identifier, "data": data });
    let said = json!({ "action": "speak", "body": "good morning" }).to_string();
    let texts = [
        format!(">{}", json!({ "command": "subscribe", "identifier": identifier })),
        format!(">{}", line(&said)),
        format!("<{}", json!({ "identifier": identifier, "message": { "body": "good morning" } })),
    ];
    let har = recording("ws://a/cable", &texts.iter().map(String::as_str).collect::<Vec<_>>());
    let page = json!({ "channel": "RoomStreamsChannel", "stream": "xJ9rT2kQ7vLm" });
    let draft = read(&with_request(har, 39, ("GET", "http://a/rooms"), NO_BODY, &page));
    let flags = draft.toml.parse::<toml::Table>().unwrap()["flags"].clone();
    assert_eq!(flags["channel"].as_str(), Some("RoomStreamsChannel"), "{}", draft.toml);
    assert_eq!(flags["channel-params"].as_str(), Some(r#"{"signed":"{stream}"}"#), "{}", draft.toml);
}

#[test]
fn ids_of_clients_stay_uuids() {
    let message = |mark: &str, kind: &str, text: &str, digit: u8| {
        let id = format!("1b671a64-40d5-491e-99b0-da01ff1f334{digit}");
        format!("{mark}{}", json!({ "type": kind, "text": text, "clientId": id }))
    };
    let texts = [("good morning", 1), ("good evening", 2)].into_iter();
    let texts: Vec<String> = texts
        .flat_map(|(text, digit)| [message(">", "say", text, digit), message("<", "said", text, digit)])
        .collect();
    let table = table(&recording("ws://a/", &texts.iter().map(String::as_str).collect::<Vec<_>>()));
    let send: Value = serde_json::from_str(table["broadcast"]["send"].as_str().unwrap()).unwrap();
    assert_eq!((&send["text"], &send["clientId"]), (&json!("{id} {padding}"), &json!("{uuid}")), "{table}");
}
