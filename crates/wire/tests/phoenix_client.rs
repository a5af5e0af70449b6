//! A client of Phoenix channels, held to sessions recorded between phoenix.js and Phoenix 1.7 with both
//! serializers.

use app::Kind;
use secret::Secret;
use wire::{
    BadOption, Client, Config, DialectId, DialectOptions, Event, Failure, Options, Payload, Rejection, Role,
    ServerConfig, Settings, Value,
};

use crate::common::phoenix::{JOIN, JOIN_V1, JOINED, JOINED_V1, SECOND, V2, room};
use crate::common::*;

fn of(of_dialect: DialectOptions) -> Options {
    Options { of_dialect, ..options(DialectId::Phoenix) }
}

fn vsn(vsn: &str) -> Options {
    of(Settings::default().with("vsn", vsn).into())
}

fn v2() -> Config {
    Config::new(vsn("2.0.0")).unwrap()
}

/// The value of `body` in a message of ours with that number.
fn body(seq: u32, padding: &str) -> String {
    let stamp = stamp(seq).to_text();
    format!(r#"{{"sendTime":"1","id":"{}"{padding}}}"#, std::str::from_utf8(&stamp).unwrap())
}

/// A client that has upgraded and sent its join.
fn joining(cfg: &Config) -> (Client, Fake) {
    let (mut client, mut io, answer) = opening(cfg, "");
    client.handle_input(cfg, 0, 0, &answer, &mut io, &mut |e| assert_eq!(e, Event::Upgraded)).unwrap();
    (client, io)
}

#[test]
fn clients_join_and_push_as_recorded() {
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
            [
                Event::Message { role, stamp: stamp(7), bytes },
                Event::Corrupt { stamp: Some(stamp(7)), bytes }
            ],
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
fn events_of_other_channels_are_not_ours() {
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
fn hostile_messages_are_counted() {
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
    let corrupt = Event::Corrupt { stamp: Some(stamp(3)), bytes: copy.len() as u32 - 1 };
    assert_eq!(events, [message(Role::Copy, &copy), message(Role::Ack, &reply), corrupt]);
}
