//! Numbers that are a user's own or a message's, names that come back, and pongs of a busy page.

use serde_json::{Value, json};

use super::{NO_BODY, recording, table, with_request};
use crate::naming::is_of_id;
use crate::{Recording, draft};

/// A session of the user with this number, which messages have as it is here: a number, or a text. An answer at
/// `path` told it before the WebSocket, and so did one with a list of users.
fn session(id: &Value, path: Option<&str>) -> Recording {
    let say = |text: &str| format!(">{}", json!({ "type": "say", "userId": id, "text": text }));
    let said = |text: &str| format!("<{}", json!({ "type": "said", "text": text }));
    let texts = [say("good morning"), said("good morning"), say("good evening"), said("good evening")];
    let mut har = recording("ws://a/", &texts.each_ref().map(String::as_str));
    if let Some(path) = path {
        har = with_request(har, 38, ("GET", path), NO_BODY, &json!({ "id": id, "posts": 7 }));
    }
    har = with_request(har, 39, ("GET", "http://a/api/users"), NO_BODY, &json!([{ "id": 1 }, { "id": id }]));
    Recording::read("a.har", har.to_string().into_bytes()).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn own_numbers_are_kept_of_answers() {
    let me = Some("http://a/api/me");
    for (path, ids, user) in [
        (me, [json!(100), json!(101)], "{id_2}"),
        (me, [json!("100"), json!("101")], "\"{id_2}\""),
        (None, [json!(100), json!(101)], "100"),
        (None, [json!("100"), json!("101")], "\"100\""),
    ] {
        let toml = draft(&ids.each_ref().map(|id| session(id, path)), "users.csv").toml;
        let table: toml::Table = toml.parse().unwrap();
        let send = table["broadcast"]["send"].as_str().unwrap();
        assert!(send.contains(&format!("\"userId\":{user}")), "{toml}");
        let login = table.get("login").map(|login| &login[0]);
        assert_eq!(login.and_then(|login| login["get"].as_str()), path.map(|_| "/api/me"), "{toml}");
        assert_eq!(
            login.and_then(|login| login["keep"]["id_2"].as_str()),
            path.map(|_| "json:/id"),
            "{toml}"
        );
        assert_eq!(toml.contains("{person.userid}"), path.is_none(), "a remark names the column: {toml}");
    }
}

#[test]
fn keys_of_ids_end_with_the_word() {
    let keys = ["id", "ID", "uid", "userid", "userId", "user_id", "player-id", "userID"];
    let others = ["paid", "valid", "grid", "bid"];
    assert_eq!(keys.into_iter().filter(|key| !is_of_id(key)).collect::<Vec<_>>(), [""; 0]);
    assert_eq!(others.into_iter().filter(|key| is_of_id(key)).collect::<Vec<_>>(), [""; 0]);
}

#[test]
fn late_pongs_answer_their_pings() {
    let table = table(&recording(
        "ws://a/",
        &[
            "<{\"op\":\"ping\",\"n\":7}",
            ">{\"op\":\"pong\",\"n\":7}",
            "<{\"op\":\"ping\",\"n\":8}",
            "<{\"op\":\"note\"}",
            ">{\"op\":\"pong\",\"n\":8}",
            "<{\"op\":\"ping\",\"n\":9}",
            "<{\"op\":\"note\"}",
            ">{\"op\":\"pong\",\"n\":9}",
        ],
    ));
    let answer = &table["answer"][0];
    assert_eq!(answer["when"]["json"]["/op"].as_str(), Some("ping"), "{table}");
    assert_eq!(answer["send"].as_str(), Some("{\"op\":\"pong\",\"n\":{n}}"), "{table}");
    assert!(!table.contains_key("heartbeat"), "{table}");
}

#[test]
fn pongs_of_both_sides_answer_pings() {
    let [ping, pong] = ["{\"op\":\"ping\"}", "{\"op\":\"pong\"}"];
    let round = [format!("<{ping}"), format!(">{ping}"), format!("<{pong}"), format!(">{pong}")];
    let round = round.each_ref().map(String::as_str);
    let table = table(&recording("ws://a/", &[round, round].concat()));
    assert_eq!(table["answer"][0]["when"]["json"]["/op"].as_str(), Some("ping"), "{table}");
    assert_eq!(table["answer"][0]["send"].as_str(), Some(pong), "{table}");
    assert_eq!(table["heartbeat"][0]["send"].as_str(), Some(ping), "{table}");
}

#[test]
fn references_count_or_tell_the_time() {
    for (key, first, second, expected) in [
        ("ref", "1", "2", "{seq}"),
        ("ref", "1000000000123", "1000000002456", "{now}000"),
        ("ref", "12", "57", "57"),
        ("qty", "1", "2", "2"),
    ] {
        let say = |text: &str, number: &str| {
            format!(">{}", json!({ "event": "say", "payload": { "text": text }, (key): number }))
        };
        let said = |text: &str| format!("<{}", json!({ "event": "said", "payload": { "text": text } }));
        let texts = [
            say("good morning", first),
            said("good morning"),
            say("good evening", second),
            said("good evening"),
        ];
        let table = table(&recording("ws://a/", &texts.each_ref().map(String::as_str)));
        let send: Value = serde_json::from_str(table["broadcast"]["send"].as_str().unwrap()).unwrap();
        assert_eq!(send["payload"]["text"].as_str(), Some("{id} {padding}"), "{table}");
        assert_eq!(send[key].as_str(), Some(expected), "{table}");
    }
}

#[test]
fn names_of_kinds_stay_what_they_are() {
    let cursor = |mark: &str, x: u8| format!("{mark}{}", json!({ "event": "cursor", "x": x, "y": 2 * x }));
    let session = |own: &str, theirs: &str| {
        let texts = [cursor(own, 7), cursor(own, 9), cursor(theirs, 12), cursor(theirs, 5)];
        let har = recording("ws://a/", &texts.each_ref().map(String::as_str));
        Recording::read("a.har", har.to_string().into_bytes()).unwrap_or_else(|error| panic!("{error}"))
    };
    let toml = draft(&[session(">", "<"), session("<", ">")], "users.csv").toml;
    let table: toml::Table = toml.parse().unwrap();
    let send = table["broadcast"]["send"].as_str().unwrap();
    assert!(send.contains(r#""event":"cursor""#) && send.contains(r#""ref":"{id}""#), "{toml}");
}
