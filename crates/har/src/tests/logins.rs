//! Logins, and values that answers and pages had before a message or a request has them.

use serde_json::{Value, json};

use super::{HELLO, NO_BODY, read, recording, table, with_request};

const FORM: &str = "application/x-www-form-urlencoded";

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
fn headers_and_pages_are_sources() {
    for (header, page, name, place) in [
        ("X-Auth-Token", "<p>", "x_auth_token", "header:X-Auth-Token"),
        ("X-Other", "<meta name=\"ws-ticket\" content=\"6f1c0a7be2\">", "ws_ticket", "html:ws-ticket"),
        ("X-Other", "<div data-room-key=\"6f1c0a7be2\">x</div>", "data_room_key", "html:data-room-key"),
    ] {
        let value = if header == "X-Other" { "1" } else { "6f1c0a7be2" };
        let texts = [&[">{\"type\":\"hello\",\"session\":\"6f1c0a7be2\"}"][..], &HELLO].concat();
        let har = recording("ws://a/", &texts);
        let mut har = with_request(har, 39, ("GET", "http://a/"), NO_BODY, &Value::Null);
        let response = &mut har["log"]["entries"][1]["response"];
        response["content"] = json!({ "mimeType": "text/html", "text": page });
        response["headers"] = json!([{ "name": header, "value": value }]);
        let table = table(&har);
        assert_eq!(table["login"][0]["keep"][name].as_str(), Some(place), "{table}");
        let send: Value = serde_json::from_str(table["open"][0]["send"].as_str().unwrap()).unwrap();
        assert_eq!(send["session"].as_str(), Some(&*format!("{{{name}}}")), "{table}");
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

/// Two WebSockets of one server at the same time: of two users, or of one in two windows.
#[test]
fn two_users_at_one_address_are_noticed() {
    let login = |name: &str| format!("user={name}&password=open-sesame");
    let shared = "a=1";
    for (cookies, names, has_two) in [
        ([shared, "a=2"], ["ada", "ada"], true),
        ([shared, shared], ["ada", "bob"], true),
        ([shared, shared], ["ada", "ada"], false),
    ] {
        let mut har = recording("ws://a/", &HELLO);
        let mut second = har["log"]["entries"][0].clone();
        let cookie = |value: &str| json!([{ "name": "Cookie", "value": value }]);
        har["log"]["entries"][0]["request"]["headers"] = cookie(cookies[0]);
        second["request"]["headers"] = cookie(cookies[1]);
        har["log"]["entries"].as_array_mut().unwrap().push(second);
        for (at, name) in (10..).zip(names) {
            let form = login(name);
            let body = (FORM, form.as_str());
            har = with_request(har, at, ("POST", "http://a/login"), body, &json!({}));
        }
        assert_eq!(read(&har).has_two_users, has_two, "{cookies:?} {names:?}");
    }
}
