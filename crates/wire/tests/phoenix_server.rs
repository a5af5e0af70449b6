//! The server's side of Phoenix channels, held to sessions recorded between phoenix.js and Phoenix 1.7 with
//! both serializers.

use wire::{Failure, Server, ServerConfig};

use crate::common::phoenix::{JOIN, JOIN_V1, JOINED, JOINED_V1, SECOND, V2, room};
use crate::common::*;

const V1: &str = "/socket/websocket";

/// The events of a server, and its answers to these messages.
fn serve_phoenix(path: &str, messages: &[&str]) -> (Vec<String>, Outcome<Happened>) {
    let outcome = serve_at(&ServerConfig::default(), path, "", &masked_texts(messages));
    (said(&outcome.out), outcome)
}

#[test]
fn the_server_answers_as_recorded() {
    let (said, outcome) = serve_phoenix(
        V2,
        &[
            JOIN,
            r#"["1","15","room:lobby","echo",{"a":1}]"#,
            r#"["1","16","room:lobby","broadcast",{"body":{"t":2}}]"#,
            r#"[null,"23","phoenix","heartbeat",{}]"#,
            r#"["11","21","nope:1","phx_leave",{}]"#,
            r#"["99","2","room:lobby","echo",{}]"#,
            r#"[null,"3","room:lobby","echo", { } ]"#,
            r#"["1","25","room:lobby","phx_leave",{}]"#,
        ],
    );
    assert_eq!(
        said,
        [
            JOINED,
            r#"["1","15","room:lobby","phx_reply",{"response":{"a":1,"type":"echo"},"status":"ok"}]"#,
            r#"["1","16","room:lobby","phx_reply",{"response":{"body":{"t":2},"type":"broadcastResult"},"status":"ok"}]"#,
            r#"[null,"23","phoenix","phx_reply",{"response":{},"status":"ok"}]"#,
            r#"["11","21","nope:1","phx_reply",{"response":{},"status":"ok"}]"#,
            r#"["1","2","room:lobby","phx_reply",{"response":{"type":"echo"},"status":"ok"}]"#,
            r#"["1","3","room:lobby","phx_reply",{"response":{"type":"echo"},"status":"ok"}]"#,
            r#"["1","25","room:lobby","phx_reply",{"response":{},"status":"ok"}]"#,
            r#"["1","1","room:lobby","phx_close",{}]"#,
        ]
    );
    let v1 = r#"{"event":"broadcast","payload":{"body":{"t":2},"type":"broadcast"},"ref":null,"topic":"room:lobby"}"#;
    let v2 = r#"[null,null,"room:lobby","broadcast",{"body":{"t":2},"type":"broadcast"}]"#;
    let events: Vec<_> =
        outcome.events.iter().filter(|e| !matches!(e, Happened::Echoed(_))).cloned().collect();
    assert_eq!(
        events,
        [
            Happened::Joined(room(2)),
            Happened::Broadcast(plain(0x81, v2.as_bytes())),
            Happened::Rebroadcast(plain(0x81, v1.as_bytes())),
            Happened::Left(room(2)),
        ]
    );
    assert_eq!(outcome.events.len() - events.len(), 3);
}

#[test]
fn the_server_answers_the_first_serializer_as_recorded() {
    let (said, outcome) = serve_phoenix(
        V1,
        &[
            JOIN_V1,
            r#"{"topic":"nope:1","event":"phx_join","payload":{},"ref":"11"}"#,
            r#"{"topic":"room:lobby","event":"echo","payload":{"x":1},"ref":"2"}"#,
            r#"{"topic":"room:lobby","event":"broadcast","payload":{"body":{"t":2}},"ref":"16"}"#,
            r#"{"topic":"phoenix","event":"heartbeat","payload":{},"ref":"20"}"#,
            r#"{"topic":"room:lobby","event":"phx_leave","payload":{},"ref":"22"}"#,
        ],
    );
    let reply = |response: &str, number: &str, topic: &str| {
        format!(
            r#"{{"event":"phx_reply","payload":{{"response":{response}}},"ref":"{number}","topic":"{topic}"}}"#
        )
    };
    assert_eq!(
        said,
        [
            JOINED_V1.to_owned(),
            reply(r#"{"reason":"unmatched topic"},"status":"error""#, "11", "nope:1"),
            reply(r#"{"x":1,"type":"echo"},"status":"ok""#, "2", "room:lobby"),
            reply(r#"{"body":{"t":2},"type":"broadcastResult"},"status":"ok""#, "16", "room:lobby"),
            reply(r#"{},"status":"ok""#, "20", "phoenix"),
            reply(r#"{},"status":"ok""#, "22", "room:lobby"),
            r#"{"event":"phx_close","payload":{},"ref":null,"topic":"room:lobby"}"#.to_owned(),
        ]
    );
    assert_eq!(outcome.events.first(), Some(&Happened::Joined(room(1))));
}

#[test]
fn recorded_edges() {
    for (messages, answers) in [
        (
            &[r#"["1","2","room:lobby","echo",{}]"#][..],
            &[
                r#"[null,"2","room:lobby","phx_reply",{"response":{"reason":"unmatched topic"},"status":"error"}]"#,
            ][..],
        ),
        (
            &[r#"["1","2","zzz:1","phx_join",{}]"#],
            &[r#"[null,"2","zzz:1","phx_reply",{"response":{"reason":"unmatched topic"},"status":"error"}]"#],
        ),
        (
            &[JOIN, r#"["2","2","room:lobby","phx_join",{}]"#],
            &[
                JOINED,
                r#"["2","2","room:lobby","phx_reply",{"response":{},"status":"ok"}]"#,
                r#"["1","1","room:lobby","phx_close",{}]"#,
            ],
        ),
        (
            &[JOIN, r#"["1","3","room:lobby","nosuch",{}]"#, r#"["1","4","room:lobby","echo",{}]"#],
            &[
                JOINED,
                r#"["1","1","room:lobby","phx_error",{}]"#,
                r#"[null,"4","room:lobby","phx_reply",{"response":{"reason":"unmatched topic"},"status":"error"}]"#,
            ],
        ),
        (
            &[JOIN, r#"["1","3","room:lobby","echo",[]]"#],
            &[JOINED, r#"["1","1","room:lobby","phx_error",{}]"#],
        ),
        (&[JOIN, r#"["1",null,"room:lobby","echo",{}]"#], &[JOINED]),
    ] {
        assert_eq!(serve_phoenix(V2, messages).0, answers, "{messages:?}");
    }
}

#[test]
fn invalid_messages_end_the_connection() {
    let deep = format!(r#"["1","2","room:lobby","echo",{}"#, "[".repeat(20_000));
    for message in [
        "",
        "{{{",
        "null",
        "1",
        "{}",
        "[]",
        r#"["1","2","room:lobby","echo"]"#,
        r#"["1","2",3,"echo",{}]"#,
        r#"["1","2","room:lobby",4,{}]"#,
        r#"["1","2","room:\ud800","echo",{}]"#,
        &deep,
    ] {
        let (said, outcome) = serve_phoenix(V2, &[message]);
        assert_eq!(
            (said, outcome.result),
            (vec!["close 1011".to_owned()], Err(Failure::BadMessage)),
            "{message:.60}"
        );
    }
    for message in [JOIN, r#"{"topic":"room:lobby","event":"phx_join","payload":{}}"#] {
        assert_eq!(serve_phoenix(V1, &[message]).0, ["close 1011"], "{message}");
    }
    let truncated = [masked_texts(&[JOIN]), masked(0x82, &[0, 1, 1, 10, 4, 0x31])].concat();
    let outcome = serve_at(&ServerConfig::default(), V2, "", &truncated);
    assert_eq!(said(&outcome.out), [JOINED, "close 1011"]);
    let outcome = serve_at(&ServerConfig::default(), V1, "", &masked(0x82, b"\0\0\0\0\0"));
    assert_eq!(said(&outcome.out), ["close 1011"], "the first serializer has no binary messages");
}

#[test]
fn binary_edges() {
    for (push, answers) in [
        (&b"\0\x01\x02\x0a\x04112room:lobbyecho\x01\xff"[..], &["0101020a023131"][..]),
        (b"\0\x01\x02\x0a\x04112room:lobbynope\x01\xff", &[r#"["1","1","room:lobby","phx_error",{}]"#]),
        (
            b"\0\x01\x02\x06\x04112room:2echo\x01\xff",
            &[
                r#"[null,"12","room:2","phx_reply",{"response":{"reason":"unmatched topic"},"status":"error"}]"#,
            ],
        ),
        (b"\0\x01\x02\x01\x04112\xffecho\x01\xff", &["close 1011"]),
    ] {
        let frames = [masked_texts(&[JOIN]), masked(0x82, push)].concat();
        let said = said(&serve_at(&ServerConfig::default(), V2, "", &frames).out);
        assert_eq!(said.len(), 1 + answers.len(), "{said:?}");
        assert!(said[1].starts_with(answers[0]), "{said:?}");
    }
}

#[test]
fn versions_and_origins_are_judged_at_the_upgrade() {
    let cfg = ServerConfig { origins: vec!["http://good.example".into()], ..ServerConfig::default() };
    for (path, fields, status) in [
        ("/socket/websocket", "", "101"),
        ("/socket/websocket?vsn=1.0.0", "", "101"),
        ("/socket/websocket?token=t&vsn=2.0.0", "", "101"),
        ("/socket/websocket?vsn=9.9.9", "", "403"),
        ("/socket/websocket?vsn=", "", "403"),
        (V2, "Origin: http://evil.example\r\n", "403"),
        (V2, "Origin: http://good.example\r\n", "101"),
    ] {
        let outcome = serve(&cfg, request(fields).replace("/chat", path).as_bytes());
        assert_eq!(std::str::from_utf8(&outcome.out[9..12]), Ok(status), "{path} {fields}");
    }
}

/// They are kept, and a binary answer has a byte for their lengths.
#[test]
fn joins_with_long_names_are_refused() {
    let (longest, longer) = ("1".repeat(253), "1".repeat(254));
    let join = |join_ref: &str, topic: &str| {
        masked(0x81, format!(r#"["{join_ref}","1","{topic}","phx_join",{{}}]"#).as_bytes())
    };
    let push = b"\x00\x01\x01\x06\x0411room:xecho\xff";
    for (join, joins) in [
        (join(&longest, "room:x"), true),
        (join(&longer, "room:x"), false),
        (join("1", &format!("room:{longest}")), false),
    ] {
        let frames = [join, masked(0x82, push)].concat();
        let outcome = serve_at(&ServerConfig::default(), V2, "", &frames);
        assert_eq!(outcome.events.iter().any(|event| matches!(event, Happened::Joined(_))), joins);
        assert_eq!(outcome.result, Ok(()));
    }
}

#[test]
fn topics_of_one_connection_are_bounded() {
    let joins: Vec<String> = (0..300).map(|n| format!(r#"["1","1","room:{n}","phx_join",{{}}]"#)).collect();
    let (said, outcome) = serve_phoenix(V2, &joins.iter().map(String::as_str).collect::<Vec<_>>());
    let refused = said.iter().filter(|text| text.contains("too many topics")).count();
    assert_eq!((said.len(), refused, outcome.events.len()), (300, 44, 256));
}

#[test]
fn a_silent_client_is_closed() {
    let cfg = ServerConfig::default();
    let (mut server, mut io) = (Server::new(), Fake::default());
    let request = request("").replace("/chat", V2);
    server.handle_input(&cfg, SECOND, 0, request.as_bytes(), &mut io, &mut |_| {}).unwrap();
    assert_eq!(server.poll_timeout(), Some(61 * SECOND));
    server.handle_input(&cfg, 31 * SECOND, 0, &masked_texts(&[JOIN]), &mut io, &mut |_| {}).unwrap();
    io.out.clear();
    assert_eq!(server.handle_timeout(&cfg, 61 * SECOND, &mut io), Ok(()));
    assert_eq!(server.poll_timeout(), Some(91 * SECOND));
    assert_eq!(server.handle_timeout(&cfg, 91 * SECOND, &mut io), Err(Failure::Silent));
    assert_eq!(said(&io.out), ["close 1002"]);
    assert!(io.closed);
}
