//! Recordings as exporters write them: what each leaves out, encodes or cuts.

use serde_json::{Value, json};

use super::{HELLO, NO_BODY, read, recording, table, with_request};
use crate::{BadHar, Recording};

const TOKEN: &str = "a1b2c3d4e5f6";

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

/// A WebSocket as mitmproxy's `savehar` writes it: with `https` in the URL, and microseconds in its time.
#[test]
fn sockets_of_mitmproxy_are_read() {
    let mut har = recording("https://a/ws?t=a1b2c3d4e5f6", &HELLO);
    har["log"]["creator"] = json!({ "name": "mitmproxy", "version": "12.1.1", "comment": "" });
    let socket = &mut har["log"]["entries"][0];
    socket["_resourceType"] = json!("websocket");
    socket["startedDateTime"] = json!("2001-09-09T01:46:40.123456+00:00");
    let har = with_request(har, 39, ("GET", "https://a/me"), NO_BODY, &json!({ "ticket": TOKEN }));
    let draft = read(&har);
    let table: toml::Table = draft.toml.parse().unwrap();
    assert_eq!((draft.server.as_str(), draft.is_measured), ("wss://a", true), "{table}");
    assert_eq!(table["connect"]["path"].as_str(), Some("/ws?t={ticket}"), "{table}");
}

/// HAR 1.2: of `text` and `params`, a body has one.
#[test]
fn fields_of_forms_are_bodies() {
    for (kind, has_form) in
        [("application/x-www-form-urlencoded", true), ("", true), ("multipart/form-data", false)]
    {
        let har = recording("ws://a/", &HELLO);
        let mut har = with_request(har, 39, ("POST", "http://a/login"), NO_BODY, &Value::Null);
        har["log"]["entries"][0]["request"]["headers"] = json!([{ "name": "Cookie", "value": "s39=1" }]);
        har["log"]["entries"][1]["request"]["postData"] = json!({
            "mimeType": kind,
            "params": [{ "name": "user", "value": "ada b" }, { "name": "password", "value": "open&sesame" }],
        });
        let draft = read(&har);
        let table: toml::Table = draft.toml.parse().unwrap();
        let login = &table["login"][0];
        let form = login.get("form").and_then(|form| form["password"].as_str());
        assert_eq!(form, has_form.then_some("{person.password}"), "{table}");
        let users = has_form.then_some("name,password\nada b,open&sesame\n");
        assert_eq!(draft.users.as_deref(), users, "{table}");
        assert_eq!(draft.toml.contains("POST of multipart/form-data"), !has_form, "{}", draft.toml);
    }
}

#[test]
fn lost_bodies_are_noted() {
    for (length, is_lost) in [("27", true), ("0", false)] {
        let har = recording("ws://a/", &HELLO);
        let mut har = with_request(har, 39, ("POST", "http://a/login"), NO_BODY, &Value::Null);
        har["log"]["entries"][0]["request"]["headers"] = json!([{ "name": "Cookie", "value": "s39=1" }]);
        har["log"]["entries"][1]["request"]["headers"] =
            json!([{ "name": "Content-Length", "value": length }]);
        let toml = read(&har).toml;
        assert_eq!(toml.contains("# left out: its body"), is_lost, "{toml}");
    }
}

#[test]
fn encoded_bodies_are_read() {
    for (kind, text, place) in [
        ("application/json", "eyJ0IjoiYTFiMmMzZDRlNWY2In0=", Some("json:/t")),
        ("", "eyJ0IjoiYTFiMmMzZDRlNWY2In0=", Some("json:/t")),
        ("text/html", "PGlucHV0IG5hbWU9dCB2YWx1ZT1hMWIyYzNkNGU1ZjY+", Some("html:t")),
        ("image/png", "eyJ0IjoiYTFiMmMzZDRlNWY2In0=", None),
        ("application/json", "eyJ0", None),
        ("application/json", "?", None),
    ] {
        let har = recording("ws://a/?t=a1b2c3d4e5f6", &HELLO);
        let mut har = with_request(har, 39, ("GET", "http://a/"), NO_BODY, &Value::Null);
        har["log"]["entries"][1]["response"]["content"] =
            json!({ "mimeType": kind, "text": text, "encoding": "base64" });
        let table = table(&har);
        let keep = table.get("login").map(|login| login[0]["keep"]["t"].as_str().unwrap());
        assert_eq!(keep, place, "{kind}: {table}");
    }
}

/// JavaScript cuts texts between the halves of a character.
#[test]
fn halves_of_characters_are_replaced() {
    let har = recording("ws://a/?t=a1b2c3d4e5f6", &[">HALF", "<HALF"]);
    let answer = json!({ "t": TOKEN, "name": "HALF" });
    let har = with_request(har, 39, ("GET", "http://a/"), NO_BODY, &answer);
    let bytes = har.to_string().replace("HALF", "x\\ud800").into_bytes();
    let recording = Recording::read("a.har", bytes).unwrap_or_else(|error| panic!("{error}"));
    let draft = crate::draft(&[recording], "users.csv");
    let table: toml::Table = draft.toml.parse().unwrap();
    assert_eq!(table["connect"]["path"].as_str(), Some("/?t={t}"), "{table}");
    assert!(draft.is_measured, "{table}");
}

/// A login with such a password would fail.
#[test]
fn halves_in_cells_are_told() {
    for (password, is_told) in [("open-HALF", true), ("open-sesame", false)] {
        let body = format!(r#"{{"user":"ada","password":"{password}"}}"#);
        let (har, to) = (recording("ws://a/", &HELLO), ("POST", "http://a/login"));
        let har = with_request(har, 39, to, ("application/json", body.as_str()), &Value::Null);
        let bytes = har.to_string().replace("HALF", "\\udfff").into_bytes();
        let recording = Recording::read("a.har", bytes).unwrap_or_else(|error| panic!("{error}"));
        let draft = crate::draft(&[recording], "users.csv");
        let told: Vec<_> = draft.findings.iter().filter(|line| line.contains("row 1 of users.csv")).collect();
        assert_eq!(told.len(), usize::from(is_told), "{:?}", draft.findings);
        assert!(draft.users.unwrap().starts_with("name,password\nada,open-"), "{told:?}");
    }
}
