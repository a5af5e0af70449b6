//! Protocols over a plain WebSocket or SockJS that are none of throng's: STOMP, and the older GraphQL.

use serde_json::{Value, json};

use super::{read, recording};

/// A frame of STOMP as a message over SockJS, or as it is.
fn framed(mark: &str, frame: &str, is_sockjs: bool) -> String {
    let frame = format!("{frame}\0");
    match (is_sockjs, mark) {
        (false, _) => format!("{mark}{frame}"),
        (true, ">") => format!(">{}", json!([frame])),
        (true, _) => format!("<a{}", json!([frame])),
    }
}

#[test]
fn stomp_is_drafted_plain_and_in_sockjs() {
    for (url, is_sockjs) in [("ws://a/ws", false), ("ws://a/ws/123/abcdefgh/websocket", true)] {
        let mut texts = if is_sockjs { vec!["<o".to_owned()] } else { Vec::new() };
        let connect = "CONNECT\naccept-version:1.2\nheart-beat:4000,0\nlogin:ada\npasscode:planted77\n\n";
        texts.push(framed(">", connect, is_sockjs));
        texts.push(framed("<", "CONNECTED\nversion:1.2\nheart-beat:0,10000\n\n", is_sockjs));
        texts.push(framed(">", "SUBSCRIBE\nid:sub-0\ndestination:/topic/room-7\n\n", is_sockjs));
        for text in ["good morning", "hello everybody", "see you tomorrow"] {
            let said = format!("SEND\ndestination:/app/room/7\ncontent-length:{}\n\n{text}", text.len());
            texts.push(framed(">", &said, is_sockjs));
            let heard = format!("MESSAGE\ndestination:/topic/room-7\nmessage-id:{}\n\n{text}", texts.len());
            texts.push(framed("<", &heard, is_sockjs));
        }
        texts.push(framed(">", "DISCONNECT\nreceipt:77\n\n", is_sockjs));
        let draft = read(&recording(url, &texts.iter().map(String::as_str).collect::<Vec<_>>()));
        let table: toml::Table = draft.toml.parse().unwrap();
        let open = table["open"].as_array().unwrap();
        let step = |at: usize, key: &str| open[at][key].as_str().unwrap_or_default().to_owned();
        assert_eq!((draft.protocol, draft.is_measured, open.len()), ("STOMP", true, 3), "{table}");
        assert!(step(0, "send").contains("login:{person.name}\npasscode:{person.password}\n"), "{table}");
        assert_eq!(open[1]["expect"]["regex"].as_str(), Some(r"^CONNECTED\r?\n"), "{table}");
        assert!(step(2, "send").contains("destination:/topic/room-{room}\n"), "{table}");
        let broadcast = &table["broadcast"];
        let send = "SEND\ndestination:/app/room/{room}\n\n{id} {padding}\0";
        assert_eq!(broadcast["send"].as_str(), Some(send), "{table}");
        assert_eq!(broadcast["copy"]["regex"].as_str(), Some(r"^MESSAGE\r?\n"), "{table}");
        assert_eq!(table["heartbeat"][0]["every"].as_str(), Some("10000ms"), "{table}");
        assert_eq!(draft.users.as_deref(), Some("name,password\nada,planted77\n"));
    }
}

#[test]
fn stomp_bodies_and_destinations_tell_kinds() {
    let message = |body: &str| format!("<MESSAGE\ndestination:/topic/chat\n\n{body}\0");
    let said = |body: &str| format!(">SEND\ndestination:/app/chat\n\n{body}\0");
    let mut texts = vec![">CONNECT\n\n\0".to_owned(), "<CONNECTED\n\n\0".to_owned()];
    let join = r#"{"type":"JOIN","sender":"ada"}"#;
    texts.extend([said(join), message(join)]);
    for text in ["good morning", "good evening"] {
        let body = json!({ "type": "CHAT", "content": text }).to_string();
        texts.extend([said(&body), message(&body)]);
    }
    texts.extend([">\n", ">\n", "<\n"].map(str::to_owned));
    let draft = read(&recording("ws://a/ws", &texts.iter().map(String::as_str).collect::<Vec<_>>()));
    let table: toml::Table = draft.toml.parse().unwrap();
    assert_eq!(
        table["open"].as_array().unwrap().len(),
        4,
        "CONNECT and JOIN, each with what follows: {table}"
    );
    let copy = table["broadcast"]["copy"]["regex"].as_str().unwrap();
    assert!(copy.contains("destination:/topic/chat") && copy.contains("CHAT"), "{table}");
    assert_eq!(table["heartbeat"][0]["send"].as_str(), Some("\n"), "{table}");
}

#[test]
fn lone_beat_is_no_opening_step() {
    let mut texts = vec![
        ">CONNECT\nheart-beat:10000,0\n\n\0".to_owned(),
        "<CONNECTED\nheart-beat:0,10000\n\n\0".to_owned(),
        ">\n".to_owned(),
    ];
    for text in ["good morning", "good evening"] {
        texts.push(format!(">SEND\ndestination:/app/chat\n\n{text}\0"));
        texts.push(format!("<MESSAGE\ndestination:/topic/chat\n\n{text}\0"));
    }
    let draft = read(&recording("ws://a/ws", &texts.iter().map(String::as_str).collect::<Vec<_>>()));
    let table: toml::Table = draft.toml.parse().unwrap();
    assert_eq!(table["open"].as_array().unwrap().len(), 2, "CONNECT and CONNECTED: {table}");
    let beat = &table["heartbeat"][0];
    assert_eq!((beat["every"].as_str(), beat["send"].as_str()), (Some("10000ms"), Some("\n")), "{table}");
}

#[test]
fn stomp_conditions_follow_the_body() {
    let message = |body: &str| format!("<MESSAGE\ndestination:/topic/chat\n\n{body}\0");
    let mut texts = vec![">CONNECT\n\n\0".to_owned(), "<CONNECTED\n\n\0".to_owned()];
    texts.push(message(r#"{"type":"CHAT","op":10,"who":"ada"}"#));
    for text in ["good morning", "good evening"] {
        let body = format!(r#"{{"type":"CHAT","op":1,"content":"{text}"}}"#);
        texts.extend([format!(">SEND\ndestination:/app/chat\n\n{body}\0"), message(&body)]);
    }
    let draft = read(&recording("ws://a/ws", &texts.iter().map(String::as_str).collect::<Vec<_>>()));
    let table: toml::Table = draft.toml.parse().unwrap();
    let copy = table["broadcast"]["copy"]["regex"].as_str().unwrap();
    // As in the body, and not by the alphabet; and 1 is not 10.
    assert!(copy.ends_with(r#""type"\s*:\s*"CHAT"(?s:.*)"op"\s*:\s*1\b"#), "{table}");
}

fn legacy(texts: &[String]) -> Value {
    let mut har = recording("ws://a/graphql", &texts.iter().map(String::as_str).collect::<Vec<_>>());
    har["log"]["entries"][0]["request"]["headers"] =
        json!([{ "name": "Sec-WebSocket-Protocol", "value": "graphql-ws" }]);
    har
}

#[test]
fn older_graphql_is_drafted_by_number() {
    let start = |id: &str, query: &str, variables: Value| {
        let payload = json!({ "query": query, "variables": variables });
        format!(">{}", json!({ "id": id, "type": "start", "payload": payload }))
    };
    let data = |id: &str, data: Value| {
        format!("<{}", json!({ "id": id, "type": "data", "payload": { "data": data } }))
    };
    let mut texts = vec![
        ">{\"type\":\"connection_init\",\"payload\":{}}".to_owned(),
        "<{\"type\":\"connection_ack\"}".to_owned(),
        start("1", "subscription { said { text } }", json!({})),
    ];
    for (id, text) in [("2", "good morning"), ("3", "hello everybody"), ("4", "see you tomorrow")] {
        texts.push(start(id, "mutation($t: String!) { say(text: $t) }", json!({ "t": text })));
        texts.push(data(id, json!({ "say": 1 })));
        texts.push(data("1", json!({ "said": { "text": text } })));
        texts.push(format!("<{}", json!({ "id": id, "type": "complete" })));
    }
    texts.push(">{\"id\":\"1\",\"type\":\"stop\"}".to_owned());
    let draft = read(&legacy(&texts));
    let table: toml::Table = draft.toml.parse().unwrap();
    assert_eq!((draft.protocol, draft.is_measured), ("graphql-ws", true), "{table}");
    let open = table["open"].as_array().unwrap();
    assert_eq!(open[1]["expect"]["json"]["/type"].as_str(), Some("connection_ack"), "{table}");
    let begun: Value = serde_json::from_str(open[2]["send"].as_str().unwrap()).unwrap();
    let broadcast = &table["broadcast"];
    let said: Value = serde_json::from_str(broadcast["send"].as_str().unwrap()).unwrap();
    assert_eq!(
        (&said["id"], &said["payload"]["variables"]["t"]),
        (&json!("{seq}"), &json!("{id} {padding}"))
    );
    assert_eq!(broadcast["copy"]["json"]["/id"].as_str(), begun["id"].as_str(), "{table}");
    assert_eq!(broadcast["ack"]["json"]["/id"].as_str(), Some("{seq}"), "{table}");
    let ignored = table["ignore"].as_array().unwrap();
    assert!(ignored.iter().all(|rule| rule["when"]["json"].get("/id") != Some(&"{seq}".into())), "{table}");
}
