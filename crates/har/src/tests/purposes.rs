//! Purposes that messages are found to have, and what each kind keeps of others.

use serde_json::{Value, json};

use super::{read, recording, table};
use crate::{Draft, Recording, draft};

/// Moves as arrays have no place for an id, and moves as objects do.
#[test]
fn measured_arrays_without_texts_are_noted() {
    let drafted = |moves: [&str; 3]| {
        let said = |mark: &str| {
            let texts: Vec<String> = moves.iter().map(|text| format!("{mark}{text}")).collect();
            let har = recording("ws://a/", &texts.iter().map(String::as_str).collect::<Vec<_>>());
            Recording::read("a.har", har.to_string().into_bytes()).unwrap()
        };
        draft(&[said(">"), said("<")], "users.csv")
    };
    let has_id = |draft: &Draft, is_comment: bool| {
        draft.toml.lines().any(|line| line.contains("{id}") && line.starts_with('#') == is_comment)
    };
    let (array, object) =
        (drafted(["[4,7]", "[5,9]", "[6,2]"]), drafted(["{\"x\":4}", "{\"x\":5}", "{\"x\":7}"]));
    assert_eq!((has_id(&array, true), has_id(&array, false)), (true, false), "{}", array.toml);
    assert_eq!((has_id(&object, true), has_id(&object, false)), (false, true), "{}", object.toml);
    assert_eq!((array.is_measured, object.is_measured), (false, true), "a run refuses it without an id");
}

/// A text that is no JSON carries the id, even if the other user alone hears it.
#[test]
fn texts_to_others_are_measured() {
    let session = |mark: &str| {
        let texts = ["good morning", "hello all"].map(|text| format!("{mark}{text}"));
        let har = recording("ws://a/", &texts.each_ref().map(String::as_str));
        Recording::read("a.har", har.to_string().into_bytes()).unwrap_or_else(|error| panic!("{error}"))
    };
    let draft = draft(&[session(">"), session("<")], "users.csv");
    let table: toml::Table = draft.toml.parse().unwrap();
    let broadcast = ["to", "send"].map(|key| table["broadcast"][key].as_str());
    assert_eq!(broadcast, [Some("others"), Some("{id} {padding}")], "{table}");
}

/// Arrays without a name are of one kind, whatever is in them.
#[test]
fn unlike_arrays_have_the_newest_with_text() {
    let said = ["good morning", "hello all", "see you"].map(|text| json!(["say", "lobby", { "body": text }]));
    let texts = said.iter().flat_map(|said| [format!(">{said}"), format!("<{said}")]);
    let texts: Vec<String> = texts.chain([">[\"9\",\"t\"]", ">[1,2,3,4,5]"].map(str::to_owned)).collect();
    let draft = read(&recording("ws://a/", &texts.iter().map(String::as_str).collect::<Vec<_>>()));
    let table: toml::Table = draft.toml.parse().unwrap();
    let send = r#"["say","lobby",{"body":"{id} {padding}"}]"#;
    assert_eq!(table["broadcast"]["send"].as_str(), Some(send), "{table}");
    assert!(draft.is_measured, "{table}");
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

/// Somebody else said the same words before: they are what is said all the same.
#[test]
fn repeated_words_carry_the_id() {
    let texts = ["hello 1", "hello 2"].map(|text| json!({ "type": "say", "text": text }).to_string());
    let texts = texts.iter().flat_map(|said| [format!("<{said}"), format!(">{said}")]).collect::<Vec<_>>();
    let table = table(&recording("ws://a/", &texts.iter().map(String::as_str).collect::<Vec<_>>()));
    let send: Value = serde_json::from_str(table["broadcast"]["send"].as_str().unwrap()).unwrap();
    assert_eq!((&send["text"], send.get("ref")), (&json!("{id} {padding}"), None), "{table}");
}

/// A game that names its types by one letter, recorded by the one who moves and by one who sees it.
#[test]
fn short_keys_name_types() {
    let join = [">{\"t\":\"join\",\"room\":\"arena\"}", "<{\"t\":\"joined\",\"room\":\"arena\"}"];
    let beat = [">{\"t\":\"ping\"}", "<{\"t\":\"pong\"}"];
    let moves = ["{\"t\":\"move\",\"x\":4,\"y\":7}", "{\"t\":\"move\",\"x\":5,\"y\":9}"];
    let [said, heard] = [">", "<"].map(|mark| moves.map(|text| format!("{mark}{text}")));
    let session = |texts: &[&str]| {
        let har = recording("ws://a/", texts).to_string();
        Recording::read("a.har", har.into_bytes()).unwrap()
    };
    let own = session(&[join[0], join[1], beat[0], beat[1], &said[0], beat[0], beat[1], &said[1]]);
    let other = session(&[join[0], join[1], &heard[0], &heard[1]]);
    let table: toml::Table = draft(&[own, other], "users.csv").toml.parse().unwrap();
    let send = table["broadcast"]["send"].as_str().unwrap();
    assert!(send.contains("\"t\":\"move\"") && send.contains("{id}"), "{table}");
    assert_eq!(table["broadcast"]["copy"]["json"]["/t"].as_str(), Some("move"), "{table}");
    assert!(table["open"][0]["send"].as_str().unwrap().contains("\"join\""), "{table}");
    assert_eq!(table["heartbeat"][0]["send"].as_str(), Some(beat[0].trim_start_matches('>')), "{table}");
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

/// The file of one session says what else a broadcast may be; a second user's session tells.
#[test]
fn lone_sessions_name_the_alternative() {
    let session = |is_own: bool| {
        let texts = ["good morning", "hello all", "see you"].into_iter().flat_map(|text| {
            let said = is_own.then(|| format!(">{}", json!({ "type": "say", "text": text })));
            said.into_iter().chain([format!("<{}", json!({ "type": "said", "text": text }))])
        });
        let texts: Vec<String> = texts.collect();
        let har = recording("ws://a/", &texts.iter().map(String::as_str).collect::<Vec<_>>());
        Recording::read("a.har", har.to_string().into_bytes()).unwrap_or_else(|error| panic!("{error}"))
    };
    for (sessions, is_unsure) in [(vec![session(true)], true), (vec![session(true), session(false)], false)] {
        let toml = draft(&sessions, "users.csv").toml;
        assert_eq!(toml.contains("One session cannot tell"), is_unsure, "{toml}");
        let table: toml::Table = toml.parse().unwrap();
        assert_eq!(table["broadcast"]["copy"]["json"]["/type"].as_str(), Some("said"), "{toml}");
    }
}

/// A call of JSON-RPC, and its answer; others take numbers between.
fn calls(is_heard: bool, answer: &Value) -> toml::Table {
    let mut texts = vec![">{\"id\":1,\"method\":\"login\",\"params\":[]}".to_owned()];
    for (number, text) in (1..).zip(["good morning", "hello all", "see you"]) {
        let params = json!({ "text": text });
        texts.push(format!(">{}", json!({ "id": number * number + 1, "method": "say", "params": params })));
        let mut answer = answer.clone();
        answer["id"] = json!(number * number + 1);
        texts.push(format!("<{answer}"));
        let said = format!("<{}", json!({ "method": "said", "params": params }));
        texts.extend(is_heard.then_some(said));
    }
    table(&recording("ws://a/", &texts.iter().map(String::as_str).collect::<Vec<_>>()))
}

#[test]
fn answers_by_number_are_no_pushes() {
    let result = json!({ "jsonrpc": "2.0", "result": "ok" });
    let named = json!({ "type": "ack" });
    for (is_heard, answer, says, slot) in [
        (true, &result, "broadcast", "ack"),
        (false, &result, "echo", "reply"),
        (true, &named, "broadcast", "ack"),
    ] {
        let table = calls(is_heard, answer);
        let condition = &table[says][slot];
        assert_eq!(condition["json"]["/id"].as_str(), Some("{seq}"), "{table}");
        let told = condition.get("contains").or(condition["json"].get("/type")).and_then(toml::Value::as_str);
        assert_eq!(told, Some(if answer.get("type").is_some() { "ack" } else { "\"result\"" }), "{table}");
        let send = table[says]["send"].as_str().unwrap();
        assert!(send.contains("\"id\":{seq}") && send.contains("{id} {padding}"), "{table}");
        assert!(table.get("push").is_none() && table.get("ignore").is_none(), "{table}");
    }
}

/// A broadcast that carries its sender's number is a copy, and no acknowledgement.
#[test]
fn copies_with_numbers_stay_copies() {
    let texts: Vec<String> = (1..)
        .zip(["good morning", "hello all", "see you"])
        .flat_map(|(number, text)| {
            let said = json!({ "type": "say", "seq": number, "text": text });
            [format!(">{said}"), format!("<{said}")]
        })
        .collect();
    let table = table(&recording("ws://a/", &texts.iter().map(String::as_str).collect::<Vec<_>>()));
    let broadcast = &table["broadcast"];
    assert_eq!(broadcast["copy"]["json"]["/type"].as_str(), Some("say"), "{table}");
    assert!(broadcast.get("ack").is_none() && broadcast["copy"]["json"].get("/seq").is_none(), "{table}");
}

#[test]
fn acks_have_a_sign_beside_their_number() {
    let texts: Vec<String> = (1..)
        .zip(["good morning", "hello all", "see you"])
        .flat_map(|(number, text)| {
            let said = json!({ "n": number, "text": text });
            let copy = json!({ "n": number, "text": text, "from": "ada" });
            [format!(">{said}"), format!("<{}", json!({ "n": number, "ok": true })), format!("<{copy}")]
        })
        .collect();
    let table = table(&recording("ws://a/", &texts.iter().map(String::as_str).collect::<Vec<_>>()));
    let ack = &table["broadcast"]["ack"];
    assert_eq!(ack["json"]["/n"].as_str(), Some("{seq}"), "{table}");
    assert_eq!(ack["contains"].as_str(), Some("\"ok\""), "a copy has the number, too: {table}");
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
