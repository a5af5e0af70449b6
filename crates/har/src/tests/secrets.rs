//! Credentials, however they are said: what is planted stands in the users' data alone.

use serde_json::json;

use super::{HELLO, NO_BODY, read, recording, with_request};
use crate::{Recording, Summary};

const SAID: [&str; 3] = [
    r#"<{"type":"said","text":"good morning"}"#,
    r#">{"type":"say","text":"good evening"}"#,
    r#"<{"type":"said","text":"good evening"}"#,
];
const SOCKETIO: &str = "ws://a/socket.io/?EIO=4";

/// Reads these messages with some talk behind them, and looks for what was planted; returns the columns.
fn columns(url: &str, texts: &[&str]) -> String {
    let har = recording(url, &[texts, &SAID].concat());
    let draft = read(&har);
    let users = draft.users.unwrap_or_default();
    let summary = Summary::of(&Recording::read("a.har", har.to_string().into_bytes()).unwrap());
    let shown = format!("{}{:?}{}{summary:?}", draft.toml, draft.findings, draft.server);
    for secret in ["planted", "two2", "4711", "ada"] {
        assert!(!shown.contains(secret), "{secret} of {texts:?}: {shown}\n{users}");
    }
    assert!(users.contains("planted") && !users.contains("{room}"), "{texts:?}: {}\n{users}", draft.toml);
    users.lines().next().unwrap_or_default().to_owned()
}

#[test]
fn arguments_of_logins_are_columns() {
    for (text, expected) in [
        (r#">420["login","ada","planted2two2"]"#, "name,password"),
        (r#">42["auth","planted2two2"]"#, "token"),
        (r#">42["pin","planted2two2"]"#, "token"),
        (r#">42["join","lobby7","planted2two2"]"#, "value"),
        (r#">42["sign in",{"u":"ada","p":"planted2two2","code":471147}]"#, "u,p,code"),
        (r#">40{"auth":"plantedone","pin":4711}"#, "auth,pin"),
    ] {
        assert_eq!(columns(SOCKETIO, &["<0{\"sid\":\"a\"}", text]), expected, "{text}");
    }
    for (text, expected) in [
        (r#">{"type":"auth","token":"plantedone","pin":471147}"#, "token,pin"),
        (r#">{"method":"login","params":["ada","planted2two2"],"id":1}"#, "name,password"),
        (r#">{"user":"ada","pass":"plantedtwo"}"#, "name,password"),
        (r#">{"type":"hello","access_token":"plantedone"}"#, "access_token"),
        (r#">["login","ada","planted2two2"]"#, "name,password"),
        (">/login ada planted2two2", "name,password"),
        (">PASS plantedone\r\nNICK ada", "name,password"),
        (r#">["pin","planted2two2"]"#, "token"),
        (r#">{"type":"pin","pin":"planted2two2"}"#, "pin"),
        (r#">auth {"user":"ada","with":"planted2two2"}"#, "name,with"),
    ] {
        assert_eq!(columns("ws://a/", &[text]), expected, "{text}");
    }
}

#[test]
fn secrets_of_connections_are_columns() {
    assert_eq!(
        columns("ws://ada:plantedone@a/?key=plantedtwo&token=planted3", &[]),
        "key,token,name,password"
    );
    let mut har = recording("ws://a/", &SAID);
    har["log"]["entries"][0]["request"]["headers"] =
        serde_json::json!([{ "name": "Sec-WebSocket-Protocol", "value": "chat.v1, bearer, plantedone" }]);
    let draft = read(&har);
    let table: toml::Table = draft.toml.parse().unwrap();
    let offered: Vec<_> =
        table["subprotocols"].as_array().unwrap().iter().map(|name| name.as_str()).collect();
    assert_eq!(offered, [Some("chat.v1"), Some("bearer"), Some("{person.token}")], "{table}");
    assert_eq!(draft.users.as_deref(), Some("token\nplantedone\n"));
}

#[test]
fn secrets_of_joins_are_columns() {
    let identifier = serde_json::json!({ "channel": "Chat", "token": "plantedone" }).to_string();
    let data = serde_json::json!({ "action": "login", "u": "ada", "p": "planted2two2" }).to_string();
    let subscribe = serde_json::json!({ "command": "subscribe", "identifier": identifier });
    let login = serde_json::json!({ "command": "message", "identifier": identifier, "data": data });
    assert_eq!(columns("ws://a/cable", &[&format!(">{subscribe}"), &format!(">{login}")]), "token,p,u");
    let join = r#">["1","1","room:1","phx_join",{"token":"plantedone","passcode":"planted2two2"}]"#;
    let login = r#">["1","2","room:1","login",{"who":"ada","with":"plantedtwo"}]"#;
    assert_eq!(columns("ws://a/socket/websocket", &[join, login]), "token,password,who,with");
    let auth = r#">["{\"type\":\"auth\",\"token\":\"plantedone\"}"]"#;
    assert_eq!(columns("ws://a/ws/123/abcdefgh/websocket", &["<o", auth]), "token");
}

/// Chats pin messages, and pass the salt: neither is typed.
#[test]
fn pinned_messages_are_no_logins() {
    for texts in [
        [r#">{"type":"pin","message":"the rules"}"#, r#"<{"type":"pinned","message":"the rules"}"#],
        [">pass me the salt", "<pass me the salt"],
    ] {
        let draft = read(&recording("ws://a/", &[texts, HELLO].concat()));
        assert_eq!((draft.users, draft.is_measured), (None, true), "{texts:?}: {}", draft.toml);
    }
}

#[test]
fn kept_tokens_stand_in_no_document() {
    let token = "xJ9rT2kQ7vLm";
    let init = json!({ "type": "connection_init", "payload": { "token": token } });
    let query = format!("subscription {{ said(token: \"{token}\") {{ text }} }}");
    let begun = json!({ "id": "1", "type": "subscribe", "payload": { "query": query } });
    let mut har = recording("ws://a/graphql", &[&format!(">{init}"), &format!(">{begun}")]);
    har["log"]["entries"][0]["request"]["headers"] =
        json!([{ "name": "Sec-WebSocket-Protocol", "value": "graphql-transport-ws" }]);
    let answer = json!({ "token": token });
    let draft = read(&with_request(har, 39, ("POST", "http://a/login"), NO_BODY, &answer));
    assert!(!draft.toml.contains(token), "{}", draft.toml);
}
