//! Credentials, however they are said: what is planted stands in the users' data alone.

use serde_json::json;

use super::{HELLO, NO_BODY, read, recording, with_header, with_request};
use crate::{Draft, Recording, Summary};

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

/// Words of the file's list.
fn subprotocols(draft: &Draft) -> Vec<String> {
    let table: toml::Table = draft.toml.parse().unwrap();
    let names = table.get("subprotocols").and_then(toml::Value::as_array).cloned().unwrap_or_default();
    names.iter().map(|name| name.as_str().unwrap().to_owned()).collect()
}

const JWT: &str = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhZGEifQ.bXp3-L3CLbnFG5SonAv4YgLLBlVLuIAFTU5dd6i_mBc";
const TICKET: &str = "a8f3kd92jf83hd72";

#[test]
fn subprotocols_are_kept_of_answers() {
    for (offered, answer, expected) in [
        (format!("access_token, {JWT}"), json!({ "access_token": JWT }), ["access_token", "{access_token}"]),
        (format!("chat.v1, {TICKET}"), json!({ "ticket": TICKET }), ["chat.v1", "{ticket}"]),
    ] {
        let mut har = recording("ws://a/", &HELLO);
        har["log"]["entries"][0]["request"]["headers"] =
            json!([{ "name": "Sec-WebSocket-Protocol", "value": offered }]);
        let draft = read(&with_request(har, 39, ("POST", "http://a/login"), NO_BODY, &answer));
        assert_eq!(subprotocols(&draft), expected, "{}", draft.toml);
        let kept = draft.toml.parse::<toml::Table>().unwrap()["login"][0]["keep"].clone();
        assert_eq!(kept.as_table().unwrap().len(), 1, "{}", draft.toml);
        assert_eq!(draft.users, None, "{}", draft.toml);
    }
}

#[test]
fn tickets_of_nobody_are_columns() {
    for (name, expected) in [
        (TICKET, "{person.token}"),
        ("v12.stomp", "v12.stomp"),
        ("MBWS.huawei.com", "MBWS.huawei.com"),
        ("2025-11-25", "2025-11-25"),
    ] {
        let mut har = recording("ws://a/", &HELLO);
        har["log"]["entries"][0]["request"]["headers"] =
            json!([{ "name": "Sec-WebSocket-Protocol", "value": format!("chat.v1, {name}") }]);
        let draft = read(&har);
        assert_eq!(subprotocols(&draft), ["chat.v1", expected], "{}", draft.toml);
    }
}

/// A token with `/` or `=` in it is no token of HTTP (RFC 9110 §5.6.2): browsers refuse it.
#[test]
fn subprotocols_that_no_request_has_are_left_out() {
    for (offered, expected, left_out) in [
        (format!("access_token, {JWT}=.a/b"), "access_token", 1),
        ("a b, \"x\", ,,\u{e9}, chat".to_owned(), "chat", 3),
    ] {
        let draft = read(&with_header("Sec-WebSocket-Protocol", &offered));
        assert_eq!(subprotocols(&draft), [expected], "{}", draft.toml);
        assert!(draft.toml.contains(&format!("left out: {left_out} subprotocol")), "{}", draft.toml);
        assert_eq!(draft.users, None, "{}", draft.toml);
    }
}

/// Protocols with subprotocols of their own name none in a file, unless a token is among them.
#[test]
fn own_subprotocols_stand_beside_tokens() {
    let identifier = json!({ "channel": "Chat" }).to_string();
    let cable = format!(">{}", json!({ "command": "subscribe", "identifier": identifier }));
    let said = json!({ "command": "message", "identifier": identifier, "data": "{\"action\":\"say\"}" });
    let phoenix = r#">["1","1","room:1","phx_join",{}]"#.to_owned();
    let pushed = r#">["1","2","room:1","say",{"text":"good morning"}]"#.to_owned();
    let query = json!({ "query": "subscription { said { text } }" });
    let graphql = format!(">{}", json!({ "id": "1", "type": "subscribe", "payload": query }));
    for (url, texts, own, is_base64) in [
        ("ws://a/cable", [cable, format!(">{said}")], "actioncable-v1-json", false),
        ("ws://a/socket/websocket", [phoenix, pushed], "phoenix", true),
        (
            "ws://a/graphql",
            [graphql, ">{\"type\":\"connection_init\"}".to_owned()],
            "graphql-transport-ws",
            false,
        ),
    ] {
        let token = if is_base64 { format!("base64url.bearer.phx.{TICKET}") } else { JWT.to_owned() };
        for (offered, expected) in [
            (own.to_owned(), Vec::new()),
            (format!("{own}, {token}"), vec![own.to_owned(), "{person.token}".to_owned()]),
        ] {
            let mut har = recording(url, &texts.each_ref().map(String::as_str));
            har["log"]["entries"][0]["request"]["headers"] =
                json!([{ "name": "Sec-WebSocket-Protocol", "value": offered }]);
            let draft = read(&har);
            assert_eq!(subprotocols(&draft), expected, "{}", draft.toml);
            let is_told = draft.toml.lines().any(|line| line.starts_with('#') && line.contains("Base64url"));
            assert_eq!(is_told, is_base64 && !expected.is_empty(), "{}", draft.toml);
        }
    }
}

#[test]
fn tickets_in_paths_are_no_text() {
    let uuid = "1b671a64-40d5-491e-99b0-da01ff1f3341";
    let (answer, none) = (json!({ "ticket": TICKET }), json!({}));
    let padded = json!({ "ticket": "dGlja2V0MTIzNDU2Nzg5MA==" });
    for (path, answer, expected) in [
        (format!("/ws/{TICKET}"), &answer, "/ws/{ticket}"),
        (format!("/ws/{TICKET}/rooms/7"), &none, "/ws/{person.token}/rooms/{room}"),
        (format!("/rooms/{uuid}"), &json!({ "id": uuid }), &*format!("/rooms/{uuid}")),
        (format!("/ws/{uuid}"), &none, "/ws/{person.token}"),
        ("/ws/dGlja2V0MTIzNDU2Nzg5MA%3D%3D".to_owned(), &padded, "/ws/{ticket}"),
        (
            "/ws/%D0%BA%D0%BE%D0%BC%D0%BD%D0%B0%D1%82%D0%B0".to_owned(),
            &none,
            "/ws/%D0%BA%D0%BE%D0%BC%D0%BD%D0%B0%D1%82%D0%B0",
        ),
        ("/api/v2/NotificationHubEndpoint".to_owned(), &none, "/api/v2/NotificationHubEndpoint"),
        // Pusher's key of the app is public.
        ("/app/de504dc5763aeef9ff52?protocol=7".to_owned(), &none, "/app/de504dc5763aeef9ff52?protocol=7"),
    ] {
        let har = recording(&format!("ws://a{path}"), &HELLO);
        let draft = read(&with_request(har, 39, ("GET", "http://a/me"), NO_BODY, answer));
        let table: toml::Table = draft.toml.parse().unwrap();
        assert_eq!(table["connect"]["path"].as_str(), Some(expected), "{}", draft.toml);
        assert!(!draft.toml.contains(TICKET), "{}", draft.toml);
    }
}

/// The WebSocket that is left out is named at the top.
#[test]
fn tickets_of_other_sockets_are_hidden() {
    let mut har = recording("ws://a/", &HELLO);
    let other = recording(&format!("ws://b/ws/{TICKET}"), &HELLO[..1]);
    har["log"]["entries"].as_array_mut().unwrap().push(other["log"]["entries"][0].clone());
    let toml = read(&har).toml;
    assert!(toml.contains("ws://b/ws/*") && !toml.contains(TICKET), "{toml}");
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
