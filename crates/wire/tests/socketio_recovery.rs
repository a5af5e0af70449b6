//! Socket.IO's connection state recovery on the client's side: what it notes of a session, and says of it
//! when it comes back.

use secret::Secret;
use wire::{Client, Config, DialectId, DialectOptions, Event, Failure, Options, Resumption, Settings};

use crate::common::*;

const OPEN: &str = r#"0{"sid":"mr9eyr291sLNBg0pAAC9","upgrades":[],"pingInterval":25000,"pingTimeout":20000,"maxPayload":1000000}"#;
const NAMED: &str = r#"40{"sid":"H_HJsi_5VJZO_GWKAABh","pid":"P-1"}"#;

fn config(auth: Option<&str>) -> Config {
    let auth = auth.map(Secret::from);
    let settings = auth.map_or(Settings::default(), |auth| Settings::default().with("auth", auth));
    let of_dialect = DialectOptions { settings, ..DialectOptions::default() };
    Config::new(Options { of_dialect, ..options(DialectId::Socketio) }).unwrap()
}

/// A client that was told to go on with another session, and has had these messages.
fn connected(cfg: &Config, before: Option<Resumption>, messages: &[&str]) -> (Client, Fake) {
    let mut client = before.map_or_else(Client::new, Client::resuming);
    let mut io = Fake::default();
    client.handle_open(cfg, 0, 0, &mut io);
    let answer = accept(&std::mem::take(&mut io.out), "");
    let on = &mut |_: Event| {};
    client.handle_input(cfg, 0, 0, &answer, &mut io, on).unwrap();
    client.handle_input(cfg, 0, 0, &texts(messages), &mut io, on).unwrap();
    (client, io)
}

/// The output and the resumption of such a client.
fn handle(cfg: &Config, before: Option<Resumption>, messages: &[&str]) -> (Vec<String>, Option<Resumption>) {
    let (client, io) = connected(cfg, before, messages);
    (said(&io.out), client.resumption(true))
}

#[test]
fn returning_clients_name_session_and_offset() {
    let cfg = config(None);
    let event = r#"42["broadcast",{"sendTime":"1"},"o-7"]"#;
    let (said, known) = handle(&cfg, None, &[OPEN, NAMED, event, r#"42["news",{"a":"b"}]"#]);
    assert_eq!(said, ["40"]);
    assert!(known.is_some());
    let (said, again) = handle(&cfg, known.clone(), &[OPEN, NAMED]);
    assert_eq!(said, [r#"40{"pid":"P-1","offset":"o-7"}"#]);
    assert_eq!(again, known, "nothing has come since");
    let with_auth = config(Some(r#"{"user":1}"#));
    let (said, _) = handle(&with_auth, known.clone(), &[OPEN]);
    assert_eq!(said, [r#"40{"pid":"P-1","offset":"o-7","user":1}"#]);
    // Another session, and what it goes on from: as socket.io-client, which forgets no offset.
    let (_, other) = handle(&cfg, known, &[OPEN, &NAMED.replace("P-1", "P-2")]);
    assert_eq!(handle(&cfg, other, &[OPEN]).0, [r#"40{"pid":"P-2","offset":"o-7"}"#]);
}

#[test]
fn failed_sessions_are_resumed() {
    let cfg = config(None);
    let messages = [OPEN, NAMED, r#"42["broadcast",{"sendTime":"1"},"o-7"]"#];
    let (_, known) = handle(&cfg, None, &messages);
    assert!(known.is_some());
    let on = &mut |_: Event| {};
    let (mut client, mut io) = connected(&cfg, None, &messages);
    let late_ns = client.poll_timeout().unwrap();
    assert_eq!(client.handle_timeout(&cfg, late_ns, &mut io, on), Err(Failure::HeartbeatTimeout));
    assert_eq!(client.resumption(true), known);
    let (mut client, mut io) = connected(&cfg, None, &messages);
    assert!(client.handle_input(&cfg, 0, 0, b"\xff\xff", &mut io, on).is_err());
    assert_eq!(client.resumption(true), known);
}

#[test]
fn clients_without_an_offset_begin_anew() {
    let cfg = config(None);
    let plain = NAMED.replace(r#","pid":"P-1""#, "");
    let long = format!(r#"42["e","{}"]"#, "x".repeat(10_000));
    for messages in [
        &[OPEN, NAMED][..],
        &[OPEN, NAMED, r#"42["broadcast"]"#],
        &[OPEN, NAMED, r#"42["broadcast",7]"#],
        &[OPEN, NAMED, r#"42["broadcast","a\"b"]"#],
        &[OPEN, NAMED, &long],
        &[OPEN, NAMED, r#"42/other,["broadcast","o-7"]"#],
        &[OPEN, &plain, r#"42["broadcast","o-7"]"#],
        &[OPEN, &NAMED.replace("P-1", r#"P\"1"#), r#"42["broadcast","o-7"]"#],
        &[OPEN],
    ] {
        let (_, known) = handle(&cfg, None, messages);
        assert_eq!(handle(&cfg, known, &[OPEN]).0, ["40"], "{messages:?}");
    }
}
