//! Subscriptions beside the one of the file: they are named, and their secrets are in no file.

use serde_json::{Value, json};

use super::{read, recording};

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
