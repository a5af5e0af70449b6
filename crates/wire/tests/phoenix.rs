//! Phoenix channels in both roles, held to sessions recorded between phoenix.js and Phoenix 1.7 with both serializers.

mod common;

use common::*;
use secret::Secret;
use wire::{
    BadOption, Client, Config, DialectId, DialectOptions, Event, Failure, Kind, Options, Payload, Rejection,
    Role, Room, Server, ServerConfig, Settings, Value,
};

const SECOND: u64 = 1_000_000_000;
const V1: &str = "/socket/websocket";
const V2: &str = "/socket/websocket?vsn=2.0.0";
const JOIN: &str = r#"["1","1","room:lobby","phx_join",{}]"#;
const JOINED: &str = r#"["1","1","room:lobby","phx_reply",{"response":{},"status":"ok"}]"#;
const JOIN_V1: &str = r#"{"topic":"room:lobby","event":"phx_join","payload":{},"ref":"1"}"#;
const JOINED_V1: &str =
    r#"{"event":"phx_reply","payload":{"response":{},"status":"ok"},"ref":"1","topic":"room:lobby"}"#;

fn of(of_dialect: DialectOptions) -> Options {
    Options { of_dialect, ..options(DialectId::Phoenix) }
}

fn vsn(vsn: &str) -> Options {
    of(Settings::default().with("vsn", vsn).into())
}

fn v2() -> Config {
    Config::new(vsn("2.0.0")).unwrap()
}

fn room(version: u8) -> Room {
    // The two serializers are numbered from 0.
    Room::of(DialectId::Phoenix, version - 1, b"room:lobby")
}

/// The value of `body` in a message of ours with that number.
fn body(seq: u32, padding: &str) -> String {
    let stamp = stamp(seq).to_text();
    format!(r#"{{"sendTime":"1","id":"{}"{padding}}}"#, std::str::from_utf8(&stamp).unwrap())
}

/// What a server says to these messages, after its events.
fn serve_phoenix(path: &str, messages: &[&str]) -> (Vec<String>, Outcome<Happened>) {
    let outcome = serve_at(&ServerConfig::default(), path, "", &masked_texts(messages));
    (said(&outcome.out), outcome)
}

/// A client that has upgraded and sent its join.
fn joining(cfg: &Config) -> (Client, Fake) {
    let (mut client, mut io, answer) = opening(cfg, "");
    client.handle_input(cfg, 0, 0, &answer, &mut io, &mut |e| assert_eq!(e, Event::Upgraded)).unwrap();
    (client, io)
}

#[test]
fn the_client_joins_and_pushes_as_the_recorded_one() {
    for (options, join, reply, push) in [
        (vsn("2.0.0"), JOIN, JOINED, r#"["1","2","room:lobby","broadcast",{"body":BODY}]"#),
        (
            vsn("1.0.0"),
            JOIN_V1,
            JOINED_V1,
            r#"{"ref":"2","topic":"room:lobby","event":"broadcast","payload":{"body":BODY}}"#,
        ),
    ] {
        let cfg = Config::new(options).unwrap();
        let (mut client, mut io) = joining(&cfg);
        client.send(&cfg, 0, 1, Kind::Echo, stamp(1), &mut io);
        assert_eq!(said(&io.out), [join], "nothing but the join before its reply");
        io.out.clear();
        let mut events = vec![];
        client.handle_input(&cfg, 0, 0, &texts(&[reply, reply]), &mut io, &mut |e| events.push(e)).unwrap();
        assert_eq!(events, [Event::Usable], "usable once");
        client.send(&cfg, 0, 1, Kind::Broadcast, stamp(2), &mut io);
        assert_eq!(said(&io.out), [push.replace("BODY", &body(2, ""))]);
    }
}

#[test]
fn the_version_is_in_the_query() {
    let request = |options| {
        let cfg = Config::new(options).unwrap();
        let (mut client, mut io) = (Client::new(), Fake::default());
        client.handle_open(&cfg, 0, 0, &mut io);
        String::from_utf8(io.out).unwrap()
    };
    let with_path = |path: &str, options: Options| Options { path: path.into(), ..options };
    let default = || of(DialectOptions::default());
    assert!(request(default()).starts_with("GET /socket/websocket?vsn=2.0.0 HTTP/1.1\r\n"));
    assert!(request(vsn("1.0.0")).starts_with("GET /socket/websocket?vsn=1.0.0 "));
    assert!(request(with_path("/s?vsn=1.0.0", default())).starts_with("GET /s?vsn=1.0.0 "));
    assert!(request(with_path("/s?a=b", default())).starts_with("GET /s?a=b&vsn=2.0.0 "));
    let token = DialectOptions { token: Some("a+b/c".into()), ..DialectOptions::default() };
    assert!(request(of(token)).starts_with("GET /socket/websocket?vsn=2.0.0&token=a%2Bb%2Fc "));
    let is_bad = |options, name: &str| match Config::new(options) {
        Err(BadOption::OfDialect { option, .. }) => option == name,
        _ => false,
    };
    for bad in ["3.0.0", "2", "2.0", "2.0.", "2.1.0", "", "2.0.x"] {
        assert!(is_bad(vsn(bad), "vsn"), "{bad}");
    }
    assert!(is_bad(with_path("/s?vsn=1.0.0", vsn("2.0.0")), "vsn"));
    let chosen = |name, value: Value| of(Settings::default().with(name, value).into());
    assert!(is_bad(with_path("/s?vsn=1.0.0", chosen("binary", Value::On)), "binary"));
    assert!(is_bad(chosen("join-params", Secret::from("[]").into()), "join-params"));
    assert!(is_bad(chosen("topic", "x".repeat(256).into()), "topic"));
}

#[test]
fn joins_carry_topic_and_params() {
    let params = Secret::from(r#" {"n":1} "#);
    let settings = Settings::default().with("topic", "chat:\"1\"").with("join-params", params);
    let (_, io) = joining(&Config::new(of(settings.into())).unwrap());
    assert_eq!(said(&io.out), [r#"["1","1","chat:\"1\"","phx_join",{"n":1}]"#]);
}

#[test]
fn copies_and_replies_as_recorded_and_as_seeded() {
    let mut options = vsn("2.0.0");
    options.payload = Payload { padding: Some(12), text: false };
    let cfg = Config::new(options).unwrap();
    let body = body(7, r#","padding":"123456789012""#);
    for (kind, role, message) in [
        (Kind::Echo, Role::Copy, r#"[null,null,"room:lobby","broadcast",{"body":BODY}]"#),
        (Kind::Echo, Role::Copy, r#"[null,null,"room:lobby","broadcast",{"body":BODY,"type":"broadcast"}]"#),
        (Kind::Echo, Role::Copy, r#"["1",null,"room:lobby","broadcast",{"type":"broadcast","body":BODY}]"#),
        (
            Kind::Echo,
            Role::Copy,
            r#"{"event":"broadcast","payload":{"body":BODY},"ref":null,"topic":"room:lobby"}"#,
        ),
        (
            Kind::Echo,
            Role::Echo,
            r#"["1","2","room:lobby","phx_reply",{"response":{"body":BODY,"type":"echo"},"status":"ok"}]"#,
        ),
        (
            Kind::Broadcast,
            Role::Ack,
            r#"["1","2","room:lobby","phx_reply",{"response":{"body":BODY},"status":"ok"}]"#,
        ),
        (
            Kind::Broadcast,
            Role::Ack,
            r#"{"event":"phx_reply","payload":{"response":{"body":BODY},"status":"ok"},"ref":"2","topic":"room:lobby"}"#,
        ),
    ] {
        let (mut client, mut io) = joining(&cfg);
        client.handle_input(&cfg, 0, 0, &texts(&[JOINED]), &mut io, &mut |_| {}).unwrap();
        client.send(&cfg, 0, 1, kind, stamp(7), &mut io);
        let good = message.replace("BODY", &body);
        let corrupt = good.replace("5678", "56 8");
        let mut events = vec![];
        client
            .handle_input(&cfg, 0, 0, &texts(&[&good, &corrupt]), &mut io, &mut |e| events.push(e))
            .unwrap();
        let bytes = good.len() as u32;
        assert_eq!(
            events,
            [Event::Message { role, stamp: stamp(7), bytes }, Event::Corrupt { bytes }],
            "{good}"
        );
    }
}

#[test]
fn refusals_have_kinds() {
    let refused = format!(
        r#"["1","2","room:lobby","phx_reply",{{"response":{{"body":{}}},"status":"error"}}]"#,
        body(1, "")
    );
    for (message, rejection, name) in [
        (
            r#"["1","1","room:deny","phx_reply",{"response":{"reason":"unauthorized"},"status":"error"}]"#,
            Rejection::Subscription,
            "rejected_subscription",
        ),
        (
            r#"[null,"1","nope:1","phx_reply",{"response":{"reason":"unmatched topic"},"status":"error"}]"#,
            Rejection::Subscription,
            "rejected_subscription",
        ),
        (
            r#"{"event":"phx_reply","payload":{"response":{"reason":"join crashed"},"status":"error"},"ref":"1","topic":"room:crash"}"#,
            Rejection::Subscription,
            "rejected_subscription",
        ),
        (
            r#"[null,"2","room:lobby","phx_reply",{"response":{"reason":"unmatched topic"},"status":"error"}]"#,
            Rejection::Message,
            "rejected_message",
        ),
        (&refused, Rejection::Message, "rejected_message"),
        (r#"["1","1","room:lobby","phx_error",{}]"#, Rejection::Crashed, "channel_crashed"),
        (
            r#"{"event":"phx_close","payload":{},"ref":null,"topic":"room:lobby"}"#,
            Rejection::ChannelClosed,
            "channel_closed",
        ),
    ] {
        let topics = ["room:deny", "nope:1", "room:crash", "room:lobby"];
        let topic = topics.into_iter().find(|topic| message.contains(topic)).map(str::to_owned);
        let settings = topic.map_or(Settings::default(), |topic| Settings::default().with("topic", topic));
        let cfg = Config::new(of(settings.into())).unwrap();
        let outcome = receive_all(&cfg, "", &texts(&[message]));
        assert_eq!(outcome.events, [Event::Rejected(rejection)], "{message}");
        assert_eq!(rejection.name(), name);
    }
}

#[test]
fn what_happens_to_other_channels_is_not_ours() {
    let of_others = [
        r#"["1","1","room:other","phx_reply",{"response":{},"status":"ok"}]"#,
        r#"["1","1","room:other","phx_reply",{"response":{},"status":"error"}]"#,
        r#"{"event":"phx_reply","payload":{"response":{},"status":"ok"},"ref":"1","topic":"room:other"}"#,
        r#"["1","1","room:other","phx_error",{}]"#,
        r#"{"event":"phx_close","payload":{},"ref":null}"#,
    ];
    let outcome = receive_all(&v2(), "", &texts(&of_others));
    let foreign = of_others.map(|message| Event::Foreign { bytes: message.len() as u32 });
    assert_eq!(outcome.events, foreign);
    // As another encoder escapes it.
    let outcome = receive_all(&v2(), "", &texts(&[&JOINED.replace("room:", "\\u0072oom:")]));
    assert_eq!(outcome.events, [Event::Usable]);
}

#[test]
fn what_a_hostile_server_says_is_counted() {
    let deep = format!(r#"["1","1","room:lobby",{}"#, "[".repeat(100_000));
    for (message, is_foreign) in [
        ("", true),
        ("{{{", true),
        ("[]", true),
        ("null", true),
        (r#"["1","1","room:lobby","phx_reply"]"#, false),
        (r#"["1","1","room:lobby","nosuch",[]]"#, true),
        (r#"["1","9","room:lobby","phx_reply",{"response":{},"status":"ok"}]"#, true),
        (r#"[null,null,"room:lobby","presence_diff",{"joins":{},"leaves":{}}]"#, false),
        (&deep, true),
    ] {
        let outcome = receive_all(&v2(), "", &texts(&[message]));
        let foreign = Event::Foreign { bytes: message.len() as u32 };
        assert_eq!(outcome.events.contains(&foreign), is_foreign, "{message:.60}");
        assert_eq!(said(&outcome.out), [JOIN], "{message:.60}");
    }
    for binary in [&[][..], &[9], &[0, 1, 1], &[1, 255, 0, 0, 0], &[2, 0, 0]] {
        let outcome = receive_all(&v2(), "", &plain(0x82, binary));
        assert_eq!(outcome.events, [Event::Foreign { bytes: binary.len() as u32 }], "{binary:?}");
    }
}

#[test]
fn heartbeats_are_sent_and_must_be_answered() {
    for (options, heartbeat, reply) in [
        (
            vsn("2.0.0"),
            r#"[null,"0","phoenix","heartbeat",{}]"#,
            r#"[null,"0","phoenix","phx_reply",{"response":{},"status":"ok"}]"#,
        ),
        (
            vsn("1.0.0"),
            r#"{"topic":"phoenix","event":"heartbeat","payload":{},"ref":"0"}"#,
            r#"{"event":"phx_reply","payload":{"response":{},"status":"ok"},"ref":"0","topic":"phoenix"}"#,
        ),
    ] {
        let cfg = Config::new(options).unwrap();
        let (mut client, mut io) = joining(&cfg);
        for round in 1..4 {
            io.out.clear();
            let now_ns = round * 30 * SECOND;
            assert_eq!(client.poll_timeout(), Some(now_ns));
            assert_eq!(client.handle_timeout(&cfg, now_ns - 1, &mut io, &mut |_| {}), Ok(()));
            assert!(io.out.is_empty(), "not before its time");
            client.handle_timeout(&cfg, now_ns, &mut io, &mut |_| {}).unwrap();
            assert_eq!(said(&io.out), [heartbeat]);
            client
                .handle_input(&cfg, now_ns, 0, &texts(&[reply]), &mut io, &mut |e| panic!("{e:?}"))
                .unwrap();
        }
        client.handle_timeout(&cfg, 120 * SECOND, &mut io, &mut |_| {}).unwrap();
        let result = client.handle_timeout(&cfg, 150 * SECOND, &mut io, &mut |_| {});
        assert_eq!(result, Err(Failure::HeartbeatTimeout));
    }
}

#[test]
fn binary_pushes() {
    let mut options = of(Settings::default().with("binary", Value::On).into());
    options.payload = Payload { padding: Some(4), text: false };
    let cfg = Config::new(options).unwrap();
    let (mut client, mut io) = joining(&cfg);
    assert_eq!(said(&io.out), [JOIN]);
    client.handle_input(&cfg, 0, 0, &texts(&[JOINED]), &mut io, &mut |_| {}).unwrap();
    io.out.clear();
    client.send(&cfg, 0, 1, Kind::Broadcast, stamp(3), &mut io);
    let data = [&stamp(3).to_binary()[..], b"1234"].concat();
    let push = [b"\x00\x01\x01\x0a\x0912room:lobbybroadcast", &data[..]].concat();
    let hex = |bytes: &[u8]| bytes.iter().map(|b| format!("{b:02x}")).collect::<String>();
    assert_eq!(said(&io.out), [hex(&push)]);

    let outcome =
        serve_at(&ServerConfig::default(), V2, "", &[masked_texts(&[JOIN]), masked(0x82, &push)].concat());
    let reply = [b"\x01\x01\x01\x0a\x0212room:lobbyok", &data[..]].concat();
    let copy = [b"\x02\x0a\x09room:lobbybroadcast", &data[..]].concat();
    assert_eq!(said(&outcome.out), [JOINED, &hex(&reply)]);
    assert_eq!(outcome.events, [Happened::Joined(room(2)), Happened::Broadcast(plain(0x82, &copy))]);
    let mut events = vec![];
    let input = [plain(0x82, &copy), plain(0x82, &reply), plain(0x82, &copy[..copy.len() - 1])].concat();
    client.handle_input(&cfg, 0, 0, &input, &mut io, &mut |e| events.push(e)).unwrap();
    let message = |role, bytes: &[u8]| Event::Message { role, stamp: stamp(3), bytes: bytes.len() as u32 };
    let corrupt = Event::Corrupt { bytes: copy.len() as u32 - 1 };
    assert_eq!(events, [message(Role::Copy, &copy), message(Role::Ack, &reply), corrupt]);
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
fn what_is_no_message_ends_the_connection() {
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
