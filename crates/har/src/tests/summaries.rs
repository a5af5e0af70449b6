//! Sessions in a line, as they are shown while they are recorded.

use super::recording;
use crate::{Recording, Summary};

fn summary(url: &str, texts: &[&str]) -> Summary {
    let har = recording(url, texts).to_string().into_bytes();
    Summary::of(&Recording::read("a.har", har).unwrap_or_else(|error| panic!("{error}")))
}

fn said(kinds: &[(&str, usize)]) -> Vec<(String, usize)> {
    kinds.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect()
}

#[test]
fn rooms_and_kinds_are_summed_up() {
    let socketio = [
        r#"<0{"sid":"a"}"#,
        ">40",
        r#"<40{"sid":"b"}"#,
        r#">420["join","room-7"]"#,
        r#"<430[{"ok":true}]"#,
        r#">42["typing",{}]"#,
        r#">421["say",{"text":"good morning"}]"#,
        r#"<42["line",{"from":"ada","text":"good morning"}]"#,
        r#">422["say",{"text":"good evening"}]"#,
        r#"<42["line",{"from":"ada","text":"good evening"}]"#,
    ];
    let phoenix = [
        r#">["1","1","room:1","phx_join",{}]"#,
        r#"<["1","1","room:1","phx_reply",{"status":"ok","response":{}}]"#,
        r#">["1","2","room:1","say",{"text":"good morning"}]"#,
        r#"<["1","2","room:1","phx_reply",{"status":"ok","response":{}}]"#,
    ];
    let stomp = [
        ">CONNECT\nlogin:ada\npasscode:planted\n\n\0",
        "<CONNECTED\n\n\0",
        ">SEND\ndestination:/app/room/7\n\ngood morning\0",
        "<MESSAGE\ndestination:/topic/room/7\n\ngood morning\0",
    ];
    let plain = [
        r#">{"type":"login","name":"ada","password":"planted"}"#,
        r#">{"type":"join","room":"lobby"}"#,
        r#">{"type":"join","room":"eyJhbGciOiJIUzI1NiIsInR5cCI6"}"#,
        r#">{"type":"say","text":"good morning"}"#,
        r#"<{"type":"said","text":"good morning"}"#,
    ];
    for (url, texts, protocol, is_logged_in, rooms, kinds, heard) in [
        (
            "ws://a/socket.io/?EIO=4",
            &socketio[..],
            "socketio",
            false,
            &["room-7"][..],
            &[("say", 2), ("typing", 1)][..],
            2,
        ),
        ("ws://a/socket/websocket", &phoenix, "phoenix", false, &["room:1"], &[("say", 1)], 0),
        ("ws://a/ws", &stomp, "STOMP", true, &[], &[("SEND /app/room/#", 1)], 2),
        ("ws://a/", &plain, "plain", true, &["lobby"], &[("say", 1)], 1),
    ] {
        let rooms = rooms.iter().map(|room| (*room).to_owned()).collect();
        let expected =
            Summary { protocol, is_logged_in, rooms, said: said(kinds), heard, ..Summary::default() };
        assert_eq!(summary(url, texts), expected, "{url}");
    }
}

#[test]
fn most_frequent_kinds_come_first() {
    let texts: Vec<String> = ["a", "b", "b", "c", "c", "c", "d", "d", "d", "d"]
        .iter()
        .map(|kind| format!(r#">{{"type":"{kind}","text":"good morning"}}"#))
        .collect();
    let summary = summary("ws://a/", &texts.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(summary.said, said(&[("d", 4), ("c", 3), ("b", 2)]));
}
