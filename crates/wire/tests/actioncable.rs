//! Action Cable in both roles, held to sessions recorded between programs that are not ours: Rails 6.1 and
//! AnyCable-Go 1.5 on the server's side, @rails/actioncable and @anycable/core on the client's.

use app::Kind;
use wire::{
    BadOption, Config, DialectId, DialectOptions, Event, Failure, Options, Payload, Rejection, Role, Room,
    Server, ServerConfig, Settings, TokenPlace,
};

use crate::common::*;

const WELCOME: &str = r#"{"type":"welcome"}"#;
const SUBSCRIBE: &str =
    r#"{"command":"subscribe","identifier":"{\"channel\":\"BenchmarkChannel\",\"id\":\"1\"}"}"#;
const CONFIRM: &str =
    r#"{"identifier":"{\"channel\":\"BenchmarkChannel\",\"id\":\"1\"}","type":"confirm_subscription"}"#;
const PING: &str = r#"{"type":"ping","message":1795172192}"#;
/// The start of every command of the recorded client, and of every answer to it.
const MESSAGE: &str =
    r#"{"command":"message","identifier":"{\"channel\":\"BenchmarkChannel\",\"id\":\"1\"}","data":"#;
const ANSWER: &str = r#"{"identifier":"{\"channel\":\"BenchmarkChannel\",\"id\":\"1\"}","message":"#;

fn of(of_dialect: DialectOptions) -> Options {
    Options { of_dialect, ..options(DialectId::Actioncable) }
}

/// A client that subscribes as the recorded one does.
fn recorded() -> Config {
    Config::new(of(Settings::default().with("channel-params", r#"{"id":"1"}"#).into())).unwrap()
}

/// The payload that a message of ours with that number has.
fn payload(seq: u32, padding: &str) -> String {
    let stamp = stamp(seq).to_text();
    format!(r#"{{"sendTime":"1","id":"{}"{padding}}}"#, std::str::from_utf8(&stamp).unwrap())
}

fn serve_cable(messages: &[&str]) -> Outcome<Happened> {
    let fields = "Sec-WebSocket-Protocol: actioncable-v1-json, actioncable-unsupported\r\n";
    serve_at(&ServerConfig::default(), "/cable", fields, &masked_texts(messages))
}

fn room() -> Room {
    Room::of(DialectId::Actioncable, 0, br#"{"channel":"BenchmarkChannel","id":"1"}"#)
}

/// Rooms of the tool's own name are no damaged messages of its own.
#[test]
fn rooms_may_be_called_throng() {
    let params = r#"{"room":"throng-1"}"#;
    let cfg = Config::new(of(Settings::default().with("channel-params", params).into())).unwrap();
    let identifier = r#"{\"channel\":\"BenchmarkChannel\",\"room\":\"throng-1\"}"#;
    let confirm = format!(r#"{{"identifier":"{identifier}","type":"confirm_subscription"}}"#);
    let outcome = receive_all(&cfg, "", &texts(&[WELCOME, &confirm]));
    assert_eq!(outcome.events, [Event::Usable], "{:?}", said(&outcome.out));
}

#[test]
fn the_client_speaks_as_the_recorded_one() {
    let cfg = recorded();
    let outcome = receive_all(&cfg, "Sec-WebSocket-Protocol: actioncable-v1-json\r\n", &texts(&[WELCOME]));
    assert_eq!((outcome.events, said(&outcome.out)), (vec![], vec![SUBSCRIBE.to_owned()]));
    let outcome = receive_all(&cfg, "", &texts(&[WELCOME, CONFIRM, PING, WELCOME, CONFIRM]));
    assert_eq!(outcome.events, [Event::Usable], "usable once, and pings are no news");
    assert_eq!(said(&outcome.out), [SUBSCRIBE], "it subscribes once");
    let (mut client, mut io, answer) = opening(&cfg, "");
    let mut input = answer;
    input.extend(texts(&[WELCOME]));
    client.handle_input(&cfg, 0, 0, &input, &mut io, &mut |_| {}).unwrap();
    io.out.clear();
    client.send(&cfg, 0, 1, Kind::Echo, stamp(1), &mut io);
    assert!(!client.is_usable() && io.out.is_empty(), "nothing is sent before the confirmation");
    client.handle_input(&cfg, 0, 0, &texts(&[CONFIRM]), &mut io, &mut |_| {}).unwrap();
    assert!(client.is_usable());
    client.send(&cfg, 0, 1, Kind::Echo, stamp(1), &mut io);
    client.send(&cfg, 0, 1, Kind::Broadcast, stamp(2), &mut io);
    let data = |action, seq| format!(r#"{{"action":"{action}","payload":{}}}"#, payload(seq, ""));
    let message = |data: String| format!(r#"{MESSAGE}"{}"}}"#, data.replace('"', "\\\""));
    assert_eq!(said(&io.out), [message(data("echo", 1)), message(data("broadcast", 2))]);
}

#[test]
fn answers_in_rails_order_and_in_ours() {
    let mut options = of(DialectOptions::default());
    options.payload = Payload { padding: Some(12), text: false };
    let cfg = Config::new(options).unwrap();
    let padding = r#","padding":"123456789012""#;
    let body = payload(7, padding);
    let answer = r#"{"identifier":"{\"channel\":\"BenchmarkChannel\"}","message":"#;
    for (action, role) in [("echo", Role::Echo), ("broadcast", Role::Copy), ("broadcastResult", Role::Ack)] {
        for message in [
            format!(r#"{answer}{{"action":"{action}","payload":{body}}}}}"#),
            format!(r#"{answer}{{"payload":{body},"action":"{action}"}}}}"#),
            format!(
                r#"{answer}{{"payload":{body},"action":"{action}"}},"stream_id":"b","epoch":"RFww","offset":2}}"#
            ),
            format!(
                r#"{{ "message" : {{"action" : "{action}", "payload" : {body}}} , "identifier" : "{{\"channel\":\"BenchmarkChannel\"}}"}}"#
            ),
            format!(
                r#"{answer}{{"action":"{action}","payload":{}}}}}"#,
                body.replace(':', ": ").replace(',', ", ")
            ),
        ] {
            let outcome = receive_all(&cfg, "", &texts(&[&message]));
            let bytes = message.len() as u32;
            assert_eq!(outcome.events, [Event::Message { role, stamp: stamp(7), bytes }], "{message}");
        }
    }
    for (action, body, stamp) in [
        ("broadcast", body.replace("56789", "56 89"), Some(stamp(7))),
        ("broadcast", body.replace("throng-", "thring-"), None),
        ("other", body, Some(stamp(7))),
    ] {
        let damaged = format!(r#"{answer}{{"action":"{action}","payload":{body}}}}}"#);
        let outcome = receive_all(&cfg, "", &texts(&[&damaged]));
        let bytes = damaged.len() as u32;
        assert_eq!(outcome.events, [Event::Corrupt { stamp, bytes }], "{damaged}");
    }
}

#[test]
fn refusals_have_kinds() {
    let reject = CONFIRM.replace("confirm", "reject");
    let disconnect =
        |reason: &str| format!(r#"{{"type":"disconnect","reason":"{reason}","reconnect":false}}"#);
    for (message, rejection, name) in [
        (reject, Rejection::Subscription, "rejected_subscription"),
        (disconnect("unauthorized"), Rejection::Unauthorized, "disconnect_unauthorized"),
        (disconnect("invalid_request"), Rejection::InvalidRequest, "disconnect_invalid_request"),
        (disconnect("server_restart"), Rejection::ServerRestart, "disconnect_server_restart"),
        (disconnect("remote"), Rejection::Remote, "disconnect_remote"),
        (disconnect("idle_timeout"), Rejection::Disconnected, "disconnect"),
        (r#"{"type":"disconnect","reconnect":true}"#.into(), Rejection::Disconnected, "disconnect"),
    ] {
        let outcome = receive_all(&recorded(), "", &texts(&[&message]));
        assert_eq!(outcome.events, [Event::Rejected(rejection)], "{message}");
        assert_eq!(rejection.name(), name);
    }
}

#[test]
fn anycable_as_recorded() {
    let settings = Settings::default()
        .with("channel", "$pubsub")
        .with("channel-params", r#" { "stream_name":"room/1" } "#);
    let subprotocols = vec!["actioncable-v1-ext-json".to_owned()];
    let cfg = Config::new(Options { subprotocols, ..of(settings.into()) }).unwrap();
    let identifier = r#""identifier":"{\"channel\":\"$pubsub\",\"stream_name\":\"room/1\"}""#;
    let outcome = receive_all(
        &cfg,
        "Sec-WebSocket-Protocol: actioncable-v1-ext-json\r\nX-AnyCable-Version: 1.5.0\r\n",
        &texts(&[
            r#"{"type":"welcome","sid":"B0wzD_cTNvnFkdk4ur6tN"}"#,
            &format!(r#"{{"type":"confirm_subscription",{identifier}}}"#),
            &format!(r#"{{"type":"confirm_history",{identifier}}}"#),
            r#"{"type":"ping","message":1795172269}"#,
            &format!(
                r#"{{{identifier},"message":{{"hello":1}},"stream_id":"room/1","epoch":"RFww","offset":2}}"#
            ),
        ]),
    );
    assert_eq!(outcome.events, [Event::Usable, Event::Foreign { bytes: 138 }], "somebody else's message");
    assert_eq!(said(&outcome.out), [format!(r#"{{"command":"subscribe",{identifier}}}"#)]);
}

#[test]
fn several_subscriptions_of_which_the_first_counts() {
    let cfg = Config::new(of(Settings::default().with("subscriptions", 3).into())).unwrap();
    let identifier = |more| format!(r#""{{\"channel\":\"BenchmarkChannel\"{more}}}""#);
    let (first, second) = (identifier(""), identifier(r#",\"id\":2"#));
    let confirm =
        |identifier: &str| format!(r#"{{"identifier":{identifier},"type":"confirm_subscription"}}"#);
    let two = texts(&[WELCOME, &confirm(&first), &confirm(&second)]);
    let outcome = receive_all(&cfg, "", &two);
    assert_eq!(outcome.events, [], "not before the last confirmation");
    assert_eq!(said(&outcome.out).len(), 3);
    assert!(said(&outcome.out)[1].contains(&second));
    let copy = |identifier: &str| {
        format!(
            r#"{{"identifier":{identifier},"message":{{"action":"broadcast","payload":{}}}}}"#,
            payload(1, "")
        )
    };
    let third = confirm(&identifier(r#",\"id\":3"#));
    let outcome = receive_all(&cfg, "", &[two, texts(&[&third, &copy(&second), &copy(&first)])].concat());
    assert!(
        matches!(outcome.events[..], [Event::Usable, Event::Beside, Event::Message { role: Role::Copy, .. }]),
        "{:?}",
        outcome.events
    );
}

#[test]
fn numbers_of_params_are_no_subscriptions() {
    let settings = Settings::default().with("subscriptions", 3).with("channel-params", r#"{"room":2}"#);
    let cfg = Config::new(of(settings.into())).unwrap();
    let [first, third, second] = ["", r#",\"id\":3"#, r#",\"id\":2"#].map(|more| {
        let identifier = format!(r#"{{\"channel\":\"BenchmarkChannel\",\"room\":2{more}}}"#);
        format!(r#"{{"identifier":"{identifier}","type":"confirm_subscription"}}"#)
    });
    let outcome = receive_all(&cfg, "", &texts(&[WELCOME, &first, &third, &second]));
    assert_eq!(outcome.events, [Event::Usable]);
}

/// As Rails and Go's encoding/json write them, for which pages of HTML are dangerous places.
#[test]
fn messages_count_with_any_escaping() {
    let settings = Settings::default().with("subscriptions", 2).with("channel-params", r#"{"room":"a&<b>"}"#);
    let cfg = Config::new(of(settings.into())).unwrap();
    let identifier = |more: &str| {
        format!(r#"{{\"channel\":\"BenchmarkChannel\",\"room\":\"a\u0026\u003cb\u003e\"{more}}}"#)
    };
    let (first, second) = (identifier(""), identifier(r#",\"id\":2"#));
    let confirm =
        |identifier: &str| format!(r#"{{"identifier":"{identifier}","type":"confirm_subscription"}}"#);
    let said = |identifier: &str, action: &str| {
        let payload = payload(1, "");
        format!(r#"{{"identifier":"{identifier}","message":{{"action":"{action}","payload":{payload}}}}}"#)
    };
    let confirmed = [WELCOME, &confirm(&first), &confirm(&second)];
    let heard = [said(&second, "broadcast"), said(&first, "broadcast"), said(&first, "echo")];
    let heard: Vec<&str> = heard.iter().map(String::as_str).collect();
    let outcome = receive_all(&cfg, "", &texts(&[&confirmed[..], &heard].concat()));
    let [Event::Usable, Event::Beside, Event::Message { role: copy, .. }, Event::Message { role: echo, .. }] =
        outcome.events[..]
    else {
        panic!("{:?}", outcome.events)
    };
    assert_eq!((copy, echo), (Role::Copy, Role::Echo));
}

#[test]
fn foreign_subscriptions_are_not_ours() {
    let cfg = Config::new(of(Settings::default().with("subscriptions", 2).into())).unwrap();
    let confirm =
        |identifier: &str| format!(r#"{{"type":"confirm_subscription","identifier":"{identifier}"}}"#);
    let first = confirm(r#"{\"channel\":\"BenchmarkChannel\"}"#);
    let other = confirm(r#"{\"channel\":\"OtherChannel\"}"#);
    let outcome = receive_all(&cfg, "", &texts(&[WELCOME, &first, &other, &first]));
    assert_eq!(outcome.events, [Event::Foreign { bytes: other.len() as u32 }], "one of two is missing");
    // As another encoder escapes it.
    let second = confirm(r#"{\u0022channel\u0022:\"BenchmarkChannel\",\"id\":2}"#);
    let outcome = receive_all(&cfg, "", &texts(&[WELCOME, &first, &second]));
    assert_eq!(outcome.events, [Event::Usable]);
}

#[test]
fn hostile_messages_are_counted() {
    let deep = format!(r#"{{"type":{}"#, "[".repeat(100_000));
    for (message, is_foreign) in [
        ("", true),
        ("{", true),
        ("[]", true),
        ("null", true),
        (r#"{"type":"#, true),
        (r#"{"type":"nope"}"#, true),
        (r#"{"type":1}"#, true),
        (r#"{"identifier":1,"message":{}}"#, true),
        (&deep, true),
        (r#"{"type":"confirm_subscription"}"#, true),
        (r#"{"type":"reject_subscription","identifier":"{}"}"#, true),
        (r#"{"type":"confirm_history"}"#, false),
    ] {
        let outcome = receive_all(&recorded(), "", &plain(0x81, message.as_bytes()));
        let foreign = vec![Event::Foreign { bytes: message.len() as u32 }];
        assert_eq!(outcome.events, if is_foreign { foreign } else { vec![] }, "{:.60}", message);
        assert_eq!(outcome.out, [], "{:.60}", message);
    }
}

#[test]
fn options_that_cannot_be_carried_out() {
    for params in ["", "[]", "1", "{", r#"{"a":1}}"#, "{'a':1}"] {
        let settings = Settings::default().with("channel-params", params);
        let bad = Config::new(of(settings.into())).unwrap_err();
        assert!(matches!(bad, BadOption::OfDialect { option: "channel-params", .. }), "{params}");
    }
    let settings = Settings::default().with("subscriptions", 0);
    assert!(matches!(
        Config::new(of(settings.into())),
        Err(BadOption::OfDialect { option: "subscriptions", .. })
    ));
    let mut options = of(DialectOptions::default());
    options.payload.padding = Some(1 << 30);
    assert!(matches!(Config::new(options), Err(BadOption::PayloadSize { .. })));
}

#[test]
fn a_token_goes_where_it_is_wanted() {
    let request = |path: &str, token_in| {
        let of_dialect =
            DialectOptions { token: Some("ey.J9-_".into()), token_in, ..DialectOptions::default() };
        let headers = vec![("Cookie".to_owned(), "a=b".into())];
        let cfg = Config::new(Options { path: path.into(), headers, ..of(of_dialect) }).unwrap();
        String::from_utf8(opening(&cfg, "").1.out).unwrap_or_default();
        let (mut client, mut io) = (wire::Client::new(), Fake::default());
        client.handle_open(&cfg, 0, 0, &mut io);
        String::from_utf8(io.out).unwrap()
    };
    assert!(request("/cable", None).starts_with("GET /cable?jid=ey.J9-_ HTTP/1.1\r\n"));
    assert!(request("/cable?a=1", None).starts_with("GET /cable?a=1&jid=ey.J9-_ HTTP/1.1\r\n"));
    assert!(request("/cable", Some(TokenPlace::Query("t".into()))).contains("/cable?t=ey.J9-_ "));
    assert!(request("/cable", Some(TokenPlace::Header("X-JID".into()))).contains("\r\nX-JID: ey.J9-_\r\n"));
    assert!(
        request("/cable", Some(TokenPlace::Cookie("jid".into())))
            .contains("\r\nCookie: a=b; jid=ey.J9-_\r\n")
    );
    assert!(request("/cable", None).contains("\r\nSec-WebSocket-Protocol: actioncable-v1-json\r\n"));
}

#[test]
fn the_server_answers_as_recorded() {
    let outcome = serve_cable(&[
        SUBSCRIBE,
        &format!(r#"{MESSAGE}"{{\"payload\":{{\"t\":1}},\"action\":\"echo\"}}"}}"#),
        &format!(r#"{MESSAGE}"{{\"payload\":{{\"t\":2}},\"action\":\"broadcast\"}}"}}"#),
        r#"{"command":"unsubscribe","identifier":"{\"channel\":\"BenchmarkChannel\",\"id\":\"1\"}"}"#,
        &format!(r#"{MESSAGE}"{{\"action\":\"echo\"}}"}}"#),
    ]);
    let broadcast = format!(r#"{ANSWER}{{"payload":{{"t":2}},"action":"broadcast"}}}}"#);
    assert_eq!(
        said(&outcome.out),
        [
            WELCOME,
            CONFIRM,
            &format!(r#"{ANSWER}{{"payload":{{"t":1}},"action":"echo"}}}}"#),
            &broadcast.replace("broadcast", "broadcastResult"),
        ]
    );
    assert_eq!(
        outcome.events,
        [
            Happened::Joined(room()),
            Happened::Echoed(137),
            Happened::Broadcast(plain(0x81, broadcast.as_bytes())),
            Happened::Left(room()),
        ]
    );
}

#[test]
fn the_server_is_silent_where_rails_is() {
    let deep = format!(r#"{{"command":"subscribe","identifier":{}"#, "[".repeat(20_000));
    let nested = format!(r#"{MESSAGE}"{{\"action\":\"echo\",\"payload\":{}"}}"#, "[".repeat(20_000));
    for message in [
        r#"{"command":"#,
        r#"{"command":"nope","identifier":"{\"channel\":\"BenchmarkChannel\"}"}"#,
        r#"{"command":"message","identifier":"{\"channel\":\"BenchmarkChannel\"}","data":"{\"action\":\"echo\"}"}"#,
        r#"{"command":"unsubscribe","identifier":"{\"channel\":\"BenchmarkChannel\"}"}"#,
        r#"{"command":"subscribe","identifier":"{\"channel\":\"NoSuch\"}"}"#,
        r#"{"command":"subscribe","identifier":{"channel":"BenchmarkChannel"}}"#,
        r#"{"command":"subscribe","identifier":"BenchmarkChannel"}"#,
        r#"{"command":"subscribe","identifier":"{\"channel\":\"BenchmarkChannel\",\"a\":\"\\ud800\"}x"}"#,
        r#"{"command":"subscribe"}"#,
        r#"{"command":"whisper","identifier":"{\"channel\":\"BenchmarkChannel\"}","data":{"w":1}}"#,
        r#"{"command":"pong"}"#,
        "",
        "[]",
        "null",
        &deep,
    ] {
        let outcome = serve_cable(&[message]);
        assert_eq!((said(&outcome.out), outcome.events), (vec![WELCOME.to_owned()], vec![]), "{message:.99}");
    }
    for message in [
        SUBSCRIBE,
        &format!(r#"{MESSAGE}"{{\"action\":\"nope\"}}"}}"#),
        &format!(r#"{MESSAGE}"{{\"payload\":1}}"}}"#),
        &format!(r#"{MESSAGE}"xx"}}"#),
        &format!(r#"{MESSAGE}{{"action":"echo"}}}}"#),
        &nested,
    ] {
        let outcome = serve_cable(&[SUBSCRIBE, message]);
        assert_eq!(said(&outcome.out), [WELCOME, CONFIRM], "{message:.99}");
        assert_eq!(outcome.events, [Happened::Joined(room())], "{message:.99}");
    }
    let binary = [masked_texts(&[SUBSCRIBE]), masked(0x82, &[1, 2, 3])].concat();
    let outcome = serve_at(&ServerConfig::default(), "/cable", "", &binary);
    assert_eq!((said(&outcome.out).len(), outcome.result), (2, Ok(())));
}

#[test]
fn subscriptions_of_one_connection_are_bounded() {
    let subscribe = |id| {
        format!(
            r#"{{"command":"subscribe","identifier":"{{\"channel\":\"BenchmarkChannel\",\"id\":{id}}}"}}"#
        )
    };
    let all: Vec<String> = (0..300).map(subscribe).collect();
    let outcome = serve_cable(&all.iter().map(String::as_str).collect::<Vec<_>>());
    let count = |kind: &str| said(&outcome.out).iter().filter(|text| text.contains(kind)).count();
    assert_eq!((count("confirm_subscription"), count("reject_subscription")), (256, 44));
    assert_eq!(outcome.events.len(), 256);
}

#[test]
fn subprotocols_and_origins() {
    let cfg = ServerConfig { origins: vec!["http://good.example".into()], ..ServerConfig::default() };
    let head = |fields: &str| {
        let outcome = serve(&cfg, request(fields).replace("/chat", "/cable?a=1").as_bytes());
        (String::from_utf8_lossy(&outcome.out).into_owned(), outcome.result)
    };
    for (offered, chosen) in [
        ("actioncable-v1-json, actioncable-unsupported", Some("actioncable-v1-json")),
        ("actioncable-v1-ext-json", Some("actioncable-v1-ext-json")),
        ("actioncable-unsupported", Some("actioncable-unsupported")),
        ("nope", None),
    ] {
        let (answer, _) = head(&format!("Sec-WebSocket-Protocol: {offered}\r\n"));
        let line =
            chosen.map_or_else(String::new, |chosen| format!("\r\nSec-WebSocket-Protocol: {chosen}\r\n"));
        assert!(answer.starts_with("HTTP/1.1 101") && answer.contains(&line), "{answer}");
        assert_eq!(answer.contains("Sec-WebSocket-Protocol"), chosen.is_some());
        assert!(answer.contains(r#"{"type":"welcome""#));
    }
    let (answer, result) = head("Origin: http://evil.example\r\n");
    assert!(answer.starts_with("HTTP/1.1 404 "), "{answer}");
    assert_eq!(result, Err(Failure::Refused(404)));
    assert!(head("Origin: http://good.example\r\n").0.starts_with("HTTP/1.1 101"));
}

#[test]
fn the_extended_protocol_has_session_ids_and_histories() {
    let fields = "Sec-WebSocket-Protocol: actioncable-v1-ext-json\r\n";
    for (streams, kind) in [("{}", "confirm"), (r#"{"a":{"offset":1,"epoch":"x"}}"#, "reject")] {
        let subscribe = SUBSCRIBE
            .replace("}\"}", &format!("}}\",\"history\":{{\"since\":1795172267,\"streams\":{streams}}}}}"));
        let outcome = serve_at(&ServerConfig::default(), "/cable", fields, &masked_texts(&[&subscribe]));
        let said = said(&outcome.out);
        let sid =
            said[0].strip_prefix(r#"{"type":"welcome","sid":""#).and_then(|rest| rest.strip_suffix(r#""}"#));
        assert_eq!(sid.map(str::len), Some(21), "{said:?}");
        assert_eq!(
            said[1..],
            [CONFIRM.to_owned(), CONFIRM.replace("confirm_subscription", &format!("{kind}_history"))]
        );
    }
}

#[test]
fn pings_at_intervals_and_last_words() {
    const SECOND: u64 = 1_000_000_000;
    let settings = Settings::default().with("cable-ping-interval", 3 * SECOND);
    let cfg = ServerConfig { settings, unix_minus_now_ns: 1_795_172_192 * SECOND, ..ServerConfig::default() };
    let (mut server, mut io) = (Server::new(), Fake::default());
    let request = request("").replace("/chat", "/cable");
    server.handle_input(&cfg, 5 * SECOND, 0, request.as_bytes(), &mut io, &mut |_| {}).unwrap();
    io.out.clear();
    assert_eq!(server.poll_timeout(), Some(8 * SECOND));
    server.handle_timeout(&cfg, 8 * SECOND, &mut io).unwrap();
    assert_eq!(said(&io.out), [r#"{"type":"ping","message":1795172200}"#]);
    assert_eq!(server.poll_timeout(), Some(11 * SECOND));
    io.out.clear();
    // After a long sleep there is one ping, not ten.
    server.handle_timeout(&cfg, 41 * SECOND, &mut io).unwrap();
    assert!(server.poll_timeout() > Some(41 * SECOND));
    io.out.clear();
    server.close(&cfg, 42 * SECOND, 1001, &mut io);
    server.close(&cfg, 42 * SECOND, 1001, &mut io);
    assert_eq!(
        said(&io.out),
        [r#"{"type":"disconnect","reason":"server_restart","reconnect":true}"#, "close 1001"]
    );
}
