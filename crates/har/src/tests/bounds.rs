//! Logins and values of which a file may not have as many as were recorded.

use serde_json::{Value, json};

use super::{HELLO, NO_BODY, read, recording, table, with_request};
use crate::file::File;

/// Requests, and values of one answer, that a file has at most.
const MAX: usize = 20;

/// A value within this many objects.
fn nested(value: &str, depth: usize) -> Value {
    (0..depth).fold(json!(value), |inner, _| json!({ "k": inner }))
}

/// An answer with this many values.
fn values(count: usize) -> Value {
    (0..count).map(|number| (format!("v{number}"), json!(format!("a1b2c3d4e5f{number}")))).collect()
}

#[test]
fn further_logins_are_left_out() {
    let body = ("application/json", r#"{"password":"open-sesame"}"#);
    let logins = (15..36).fold(recording("ws://a/", &HELLO), |har, second| {
        with_request(har, second, ("POST", "http://a/login"), body, &Value::Null)
    });
    let draft = read(&with_request(logins, 36, ("GET", "http://a/"), NO_BODY, &Value::Null));
    let table: toml::Table = draft.toml.parse().unwrap();
    assert_eq!(table["login"].as_array().unwrap().len(), MAX, "{table}");
    assert!(draft.toml.contains("left out: 1 ") && draft.logs_in, "{}", draft.toml);
    assert!(draft.findings[0].contains(&MAX.to_string()), "{:?}", draft.findings);
}

#[test]
fn passwords_stay_among_many_cookies() {
    let body = ("application/json", r#"{"password":"open-sesame"}"#);
    let mut har =
        with_request(recording("ws://a/", &HELLO), 10, ("POST", "http://a/login"), body, &Value::Null);
    let mut cookies = Vec::new();
    for second in 11..36 {
        har = with_request(har, second, ("GET", "http://a/"), NO_BODY, &Value::Null);
        cookies.push(format!("s{second}=1"));
    }
    har["log"]["entries"][0]["request"]["headers"] =
        json!([{ "name": "Cookie", "value": cookies.join("; ") }]);
    let table = table(&har);
    let logins = table["login"].as_array().unwrap();
    assert_eq!(logins.len(), MAX, "{table}");
    assert_eq!(logins[0]["post"].as_str(), Some("/login"), "the oldest, but with a password: {table}");
}

#[test]
fn values_of_left_logins_are_columns() {
    let query: Vec<String> = (10..35).map(|number| format!("q{number}=a1b2c3d4e5f{number}")).collect();
    let mut har = recording(&format!("ws://a/?{}", query.join("&")), &HELLO);
    for number in 10..35_u8 {
        let name = format!("v{number}");
        let answer = json!({ (name): format!("a1b2c3d4e5f{number}") });
        har = with_request(har, number, ("GET", "http://a/"), NO_BODY, &answer);
    }
    let draft = read(&har);
    let table: toml::Table = draft.toml.parse().unwrap();
    let path = table["connect"]["path"].as_str().unwrap();
    assert_eq!(table["login"].as_array().unwrap().len(), MAX, "{table}");
    assert_eq!((path.matches("{person.v").count(), path.matches("{v").count()), (5, MAX), "{table}");
    assert!(draft.users.unwrap().starts_with("v10,v11,v12,v13,v14\na1b2c3d4e5f10,"), "{table}");
}

#[test]
fn further_values_are_no_keeps() {
    let said = |mark: &str| format!("{mark}{}", with_type(values(60), "hello"));
    let talk = |texts: &[String]| {
        let texts = texts.iter().map(String::as_str).chain(HELLO).collect::<Vec<_>>();
        recording("ws://a/", &texts)
    };
    let answered = with_request(talk(&[said(">")]), 39, ("GET", "http://a/"), NO_BODY, &values(60));
    let draft = read(&answered);
    let logged_in: toml::Table = draft.toml.parse().unwrap();
    assert_eq!(logged_in["login"][0]["keep"].as_table().unwrap().len(), MAX, "{logged_in}");
    assert!(!draft.toml.contains("a1b2c3d4e5f"), "each is kept or in a column: {logged_in}");
    let heard = table(&talk(&[said("<"), said(">")]));
    assert_eq!(heard["open"][0]["keep"].as_table().unwrap().len(), MAX, "{heard}");
}

/// They are most headers of a long recording, and would take the room of a login's.
#[test]
fn headers_of_pictures_are_not_kept() {
    for (header, kept) in [("Set-Cookie", 1), ("ETag", 0)] {
        let picture = ("GET", "http://a/a.png");
        let mut har = with_request(recording("ws://a/", &HELLO), 10, picture, NO_BODY, &Value::Null);
        let response = &mut har["log"]["entries"][1]["response"];
        response["content"]["mimeType"] = json!("image/png");
        response["headers"][0]["name"] = json!(header);
        let file: File = serde_json::from_slice(har.to_string().as_bytes()).unwrap();
        assert_eq!(file.log.entries.kept[1].response.headers.len(), kept, "{header}");
    }
}

#[test]
fn talk_behind_long_messages_is_measured() {
    let long = ["a", "b", "c"].map(|letter| {
        let text = letter.repeat(3 << 20);
        format!("<{}", json!({ "type": "snapshot", "text": text }))
    });
    let texts: Vec<&str> = long.iter().map(String::as_str).chain(HELLO).collect();
    let draft = read(&recording("ws://a/", &texts));
    assert!(draft.is_measured && draft.toml.contains("left out: 1 "), "{:.2000}", draft.toml);
}

fn with_type(mut value: Value, kind: &str) -> Value {
    value["type"] = json!(kind);
    value
}

/// A pointer of a file has at most sixteen keys.
#[test]
fn deep_values_are_kept_by_expressions() {
    for (depth, place) in [(16, "json:/k"), (17, "regex:")] {
        let har = recording("ws://a/?t=a1b2c3d4e5", &HELLO);
        let answer = nested("a1b2c3d4e5", depth);
        let table = table(&with_request(har, 39, ("GET", "http://a/"), NO_BODY, &answer));
        let keep = table["login"][0]["keep"].as_table().unwrap();
        let kept = keep.values().next().and_then(toml::Value::as_str).unwrap();
        assert!(kept.starts_with(place), "{depth}: {table}");
        let heard = with_type(nested("a1b2c3d4e5", depth), "welcome").to_string();
        let said = json!({ "type": "hello", "k": "a1b2c3d4e5" }).to_string();
        let texts = [format!("<{heard}"), format!(">{said}")];
        let opened = self::table(&recording("ws://a/", &texts.each_ref().map(String::as_str)));
        let has_keep = opened["open"].as_array().unwrap().iter().any(|step| step.get("keep").is_some());
        assert_eq!(has_keep, depth == 16, "{opened}");
    }
}
