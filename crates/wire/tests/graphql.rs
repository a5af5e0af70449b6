//! GraphQL over WebSocket: what a client makes of a server's messages, in whichever order their members stand. Whole sessions
//! with programs of others are in tests/dialect_graphql.rs.

mod common;

use common::*;
use secret::Secret;
use wire::{
    BadOption, Client, Config, DialectId, DialectOptions, Event, Kind, Options, Rejection, Role, Settings,
    Value,
};

const ACK: &str = r#"{"type":"connection_ack"}"#;
const PROBED: &str = r#"{"id":"0","type":"next","payload":{"data":{"__typename":"Query"}}}"#;
const SUBSCRIBE: &str =
    r#"{"id":"1","type":"subscribe","payload":{"query":"subscription{messages}","variables":{}}}"#;
const PROBE: &str = r#"{"id":"0","type":"subscribe","payload":{"query":"{__typename}"}}"#;

fn of(settings: Settings) -> Result<Config, BadOption> {
    let of_dialect: DialectOptions = settings.into();
    Config::new(Options { of_dialect, ..options(DialectId::Graphql) })
}

/// A client that has upgraded, and what it has said since.
fn upgraded(cfg: &Config) -> (Client, Fake) {
    let (mut client, mut io, answer) = opening(cfg, "Sec-WebSocket-Protocol: graphql-transport-ws\r\n");
    client.handle_input(cfg, 0, 0, &answer, &mut io, &mut |e| assert_eq!(e, Event::Upgraded)).unwrap();
    (client, io)
}

fn told(cfg: &Config, client: &mut Client, io: &mut Fake, messages: &[&str]) -> Vec<Event> {
    let mut events = Vec::new();
    client.handle_input(cfg, 0, 0, &texts(messages), io, &mut |e| events.push(e)).unwrap();
    events
}

/// The payload of our messages with that number.
fn payload(seq: u32) -> String {
    let stamp = stamp(seq).to_text();
    format!(r#"{{"sendTime":"1","id":"{}"}}"#, std::str::from_utf8(&stamp).unwrap())
}

fn role(event: &Event) -> Option<Role> {
    if let Event::Message { role, .. } = event { Some(*role) } else { None }
}

#[test]
fn a_client_is_usable_when_its_question_is_answered() {
    let cfg = of(Settings::default()).unwrap();
    let (mut client, mut io) = upgraded(&cfg);
    assert_eq!(said(&std::mem::take(&mut io.out)), [r#"{"type":"connection_init"}"#]);
    assert_eq!(told(&cfg, &mut client, &mut io, &[ACK, ACK]), [Event::Foreign { bytes: ACK.len() as u32 }]);
    assert_eq!(said(&std::mem::take(&mut io.out)), [SUBSCRIBE, PROBE]);
    let complete = r#"{"id":"0","type":"complete"}"#;
    assert_eq!(told(&cfg, &mut client, &mut io, &[PROBED, complete]), [Event::Usable]);

    client.send(&cfg, 0, 1, Kind::Broadcast, stamp(7), &mut io);
    let query =
        r#"{"query":"mutation($payload:JSON!){broadcast(payload:$payload)}","variables":{"payload":@}}"#;
    let operation =
        format!(r#"{{"id":"2","type":"subscribe","payload":{}}}"#, query.replace('@', &payload(7)));
    assert_eq!(said(&std::mem::take(&mut io.out)), [operation]);
    for (message, expected) in [
        (r#"{"id":"1","type":"next","payload":{"data":{"messages":@}}}"#, Role::Copy),
        (r#"{"type":"next","payload":{"data":{"messages":@}},"id":"1"}"#, Role::Copy),
        (r#"{"id":"2","type":"next","payload":{"data":{"broadcast":@}}}"#, Role::Ack),
        (r#"{"payload":{"data":{"broadcast":@}},"id":"2","type":"next"}"#, Role::Ack),
    ] {
        let message = message.replace('@', &payload(7));
        let events = told(&cfg, &mut client, &mut io, &[&message]);
        assert_eq!(events.iter().map(role).collect::<Vec<_>>(), [Some(expected)], "{message}: {events:?}");
    }
}

#[test]
fn a_client_answers_pings_and_counts_refusals() {
    let cfg = of(Settings::default()).unwrap();
    let rejected = |rejection| vec![Event::Rejected(rejection)];
    for (message, expected) in [
        (r#"{"type":"ping"}"#, vec![]),
        (r#"{"id":"2","type":"complete"}"#, vec![]),
        (r#"{"id":"1","type":"complete"}"#, rejected(Rejection::ChannelClosed)),
        (r#"{"id":"1","type":"error","payload":[{"message":"no"}]}"#, rejected(Rejection::Subscription)),
        (
            r#"{"id":"1","type":"next","payload":{"errors":[{"message":"no"}]}}"#,
            rejected(Rejection::Subscription),
        ),
        (r#"{"id":"2","type":"error","payload":[{"message":"no"}]}"#, rejected(Rejection::Message)),
        (r#"{"id":"2","type":"next","payload":{"data":null,"errors":[]}}"#, rejected(Rejection::Message)),
        (r#"{"type":"welcome"}"#, vec![Event::Foreign { bytes: 18 }]),
        ("no JSON", vec![Event::Foreign { bytes: 7 }]),
    ] {
        let (mut client, mut io) = upgraded(&cfg);
        told(&cfg, &mut client, &mut io, &[ACK, PROBED]);
        client.send(&cfg, 0, 1, Kind::Echo, stamp(1), &mut io);
        io.out.clear();
        assert_eq!(told(&cfg, &mut client, &mut io, &[message]), expected, "{message}");
        let pongs = if message.contains("ping") { &[r#"{"type":"pong"}"#][..] } else { &[] };
        assert_eq!(said(&io.out), pongs);
    }
}

#[test]
fn what_opens_the_session_is_chosen() {
    let settings = Settings::default().with("subscription", "subscription { \"a\" }".to_owned());
    let settings = settings.with("subscription-variables", r#"{"room":{room}}"#.to_owned());
    let cfg = of(settings.with("init-payload", Secret::from(r#"{"token":"t"}"#))).unwrap();
    let (mut client, mut io) = upgraded(&cfg);
    assert_eq!(said(&std::mem::take(&mut io.out)), [r#"{"type":"connection_init","payload":{"token":"t"}}"#]);
    told(&cfg, &mut client, &mut io, &[ACK]);
    let subscribe = r#"{"id":"1","type":"subscribe","payload":{"query":"subscription { \"a\" }","variables":{"room":0}}}"#;
    assert_eq!(said(&io.out), [subscribe, PROBE]);
    for (flag, value) in [
        ("subscription-variables", Value::from("[]".to_owned())),
        ("init-payload", Value::from(Secret::from("x"))),
    ] {
        let bad = of(Settings::default().with(flag, value)).unwrap_err();
        assert!(matches!(bad, BadOption::OfDialect { option, .. } if option == flag), "{flag}: {bad:?}");
    }
}
