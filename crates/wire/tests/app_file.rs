//! An app of a user's own, over a plain WebSocket: its opening, its messages and heartbeats, and files that
//! are refused.

mod received;
mod resumed;

use std::sync::Arc;

use app::Kind;
use app::app_file::*;
use app::people::People;
use app::template::{Purpose, Quoting, Table, Template};
use wire::{BadOption, Client, Config, DialectId, DialectOptions, Event, Options, Payload};

use crate::common::*;

pub(crate) const WELCOME: &str = r#"{"type":"welcome"}"#;
const JOINED: &str = r#"{"room":"lobby","type":"joined"}"#;
const SECOND_NS: u64 = 1_000_000_000;

fn say(text: &str, purpose: Purpose) -> Say {
    Say { body: Template::parse(text, purpose, &people().names, Quoting::JSON).unwrap(), ..Say::default() }
}

pub(crate) fn is_type(value: &str) -> Condition {
    let json = vec![("/type".to_owned(), JsonScalar::Text(value.into()))];
    Condition { json, ..Condition::default() }
}

pub(crate) fn people() -> People {
    let mut people = People::default();
    people.names.set("data.user", Template::of_column(0));
    people.rows = Table::new(1);
    assert!(people.rows.push(["ann"].into_iter()) && people.rows.push(["bob"].into_iter()));
    people
}

/// A chat: a welcome, a login, a moment, a room.
pub(crate) fn chat() -> AppFile {
    let other = |text| say(text, Purpose::Other);
    AppFile {
        name: "chat".into(),
        open: vec![
            OpenStep::Expect(is_type("welcome")),
            OpenStep::Send(other(r#"{"type":"login","user":"{data.user}","client":{client},"n":{seq}}"#)),
            OpenStep::Wait(SECOND_NS),
            OpenStep::Send(other(r#"{"type":"join","n":{seq}}"#)),
            OpenStep::Expect(is_type("joined")),
        ],
        echo: Some(Exchange {
            send: say(r#"{"type":"ask","id":"{id}","text":"{padding}"}"#, Purpose::Measured),
            reply: Some(is_type("answer")),
            keep: Vec::new(),
            is_replied: false,
        }),
        broadcasts: vec![Broadcast {
            own: Some(is_type("own")),
            ack: Some(is_type("ack")),
            ..Broadcast::of(say(r#"{"type":"say","id":"{id}","at":{unix_ns}}"#, Purpose::Measured))
        }],
        errors: vec![Refusal { kind: "login".into(), when: is_type("denied") }],
        answers: vec![Reaction { when: is_type("ping"), send: other(r#"{"type":"pong"}"#) }],
        ignore: vec![is_type("presence")],
        heartbeats: vec![Heartbeat {
            every_ns: 5 * SECOND_NS,
            room: 0,
            send: other(r#"{"type":"alive","n":{seq}}"#),
        }],
        ..AppFile::default()
    }
}

pub(crate) fn options_of(dialect: AppFile) -> Options {
    let of_dialect = DialectOptions { app: Some(Arc::new(dialect)), ..DialectOptions::default() };
    let payload = Payload { padding: Some(3), text: false };
    Options { of_dialect, payload, people: people().into(), ..options(DialectId::Custom) }
}

pub(crate) fn config_of(dialect: AppFile) -> Config {
    Config::new(options_of(dialect)).unwrap()
}

/// Client number 3 with its request answered, at time 0.
pub(crate) fn opened(cfg: &Config) -> (Client, Fake) {
    opened_as(3, cfg)
}

/// The same with another number.
pub(crate) fn opened_as(number: u32, cfg: &Config) -> (Client, Fake) {
    let (mut client, mut io) = (Client::new(), Fake::of(number));
    client.handle_open(cfg, 0, 0, &mut io);
    let answer = answer_to(&std::mem::take(&mut io.out));
    client.handle_input(cfg, 0, 0, &answer, &mut io, &mut |_| {}).unwrap();
    (client, io)
}

fn answer_to(request: &[u8]) -> Vec<u8> {
    let request = std::str::from_utf8(request).unwrap();
    let key = request.split("Sec-WebSocket-Key: ").nth(1).unwrap().split("\r\n").next().unwrap();
    let accept = codec::ws::upgrade::accept_of(key.as_bytes());
    let head = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n";
    [&head[..], b"Sec-WebSocket-Accept: ", &accept, b"\r\n\r\n"].concat()
}

pub(crate) fn events_of(
    client: &mut Client,
    cfg: &Config,
    now_ns: u64,
    io: &mut Fake,
    messages: &[&str],
) -> Vec<Event> {
    let mut events = Vec::new();
    client.handle_input(cfg, now_ns, 0, &texts(messages), io, &mut |e| events.push(e)).unwrap();
    events
}

fn wake(client: &mut Client, cfg: &Config, now_ns: u64, io: &mut Fake) -> Vec<Event> {
    let mut events = Vec::new();
    client.handle_timeout(cfg, now_ns, io, &mut |e| events.push(e)).unwrap();
    events
}

#[test]
fn the_opening_goes_step_by_step() {
    let cfg = config_of(chat());
    let (mut client, mut io) = opened(&cfg);
    assert!(io.out.is_empty() && !client.is_usable(), "the welcome comes first");
    assert_eq!(client.opening_step(&cfg), Some(1));
    assert_eq!(events_of(&mut client, &cfg, 7, &mut io, &[WELCOME]), []);
    assert_eq!(said(&io.out), [r#"{"type":"login","user":"bob","client":3,"n":1}"#]);
    assert_eq!(client.poll_timeout(), Some(7 + SECOND_NS));
    io.out.clear();
    assert_eq!(wake(&mut client, &cfg, SECOND_NS, &mut io), [], "woken too early: nothing happens");
    assert!(io.out.is_empty());
    assert_eq!(wake(&mut client, &cfg, 7 + SECOND_NS, &mut io), []);
    assert_eq!(said(&io.out), [r#"{"type":"join","n":2}"#]);
    assert_eq!((client.poll_timeout(), client.opening_step(&cfg)), (None, Some(5)));
    client.send(&cfg, 0, 1, Kind::Echo, stamp(1), &mut io);
    assert_eq!(said(&io.out).len(), 1, "nothing is sent before the client is usable");
    assert_eq!(events_of(&mut client, &cfg, 2 * SECOND_NS, &mut io, &[JOINED]), [Event::Usable]);
    assert_eq!((client.is_usable(), client.opening_step(&cfg)), (true, None));
    assert_eq!(client.poll_timeout(), Some(7 * SECOND_NS));
}

#[test]
fn heartbeats_have_their_own_interval() {
    let beat = |every_s: u64, text| Heartbeat {
        every_ns: every_s * SECOND_NS,
        room: 0,
        send: say(text, Purpose::Other),
    };
    let heartbeats = vec![beat(5, "five"), beat(3, "three")];
    let cfg = config_of(AppFile { open: vec![], heartbeats, ..chat() });
    let (mut client, mut io) = opened(&cfg);
    assert!(client.is_usable());
    let mut all = Vec::new();
    while let Some(due_ns) = client.poll_timeout().filter(|due_ns| *due_ns <= 15 * SECOND_NS) {
        io.out.clear();
        wake(&mut client, &cfg, due_ns, &mut io);
        all.extend(said(&io.out).into_iter().map(|text| (due_ns / SECOND_NS, text)));
    }
    let all: Vec<(u64, &str)> = all.iter().map(|(at, text)| (*at, text.as_str())).collect();
    let expected = [
        (3, "three"),
        (5, "five"),
        (6, "three"),
        (9, "three"),
        (10, "five"),
        (12, "three"),
        (15, "five"),
        (15, "three"),
    ];
    assert_eq!(all, expected);
}

#[test]
fn openings_may_be_empty_or_end_waiting() {
    let cfg = config_of(AppFile { open: vec![OpenStep::Wait(5)], ..chat() });
    let (mut client, mut io) = opened(&cfg);
    assert_eq!(wake(&mut client, &cfg, 5, &mut io), [Event::Usable]);
    let cfg = config_of(AppFile { open: vec![], heartbeats: Vec::new(), ..chat() });
    assert!(opened(&cfg).0.is_usable());
    assert_eq!(opened(&cfg).0.poll_timeout(), None);
}

/// A usable client; its output so far is forgotten.
fn usable(cfg: &Config) -> (Client, Fake) {
    let (mut client, mut io) = opened(cfg);
    events_of(&mut client, cfg, 0, &mut io, &[WELCOME]);
    wake(&mut client, cfg, SECOND_NS, &mut io);
    assert_eq!(events_of(&mut client, cfg, SECOND_NS, &mut io, &[JOINED]), [Event::Usable]);
    io.out.clear();
    (client, io)
}

#[test]
fn messages_and_heartbeats_are_as_described() {
    let cfg = config_of(chat());
    let (mut client, mut io) = usable(&cfg);
    client.send(&cfg, 0, 5, Kind::Echo, stamp(1), &mut io);
    client.send(&cfg, 0, 6, Kind::Broadcast, stamp(2), &mut io);
    assert_eq!(wake(&mut client, &cfg, 6 * SECOND_NS, &mut io), []);
    let id = |seq| String::from_utf8(stamp(seq).to_text().to_vec()).unwrap();
    let ask = format!(r#"{{"type":"ask","id":"{}","text":"123"}}"#, id(1));
    let say = format!(r#"{{"type":"say","id":"{}","at":6}}"#, id(2));
    assert_eq!(said(&io.out), [ask, say, r#"{"type":"alive","n":5}"#.into()]);
    assert_eq!(client.poll_timeout(), Some(11 * SECOND_NS));
}

pub(crate) fn text_of(seq: u32) -> String {
    String::from_utf8(stamp(seq).to_text().to_vec()).unwrap()
}

#[test]
fn impossible_messages_are_refused() {
    assert!(matches!(
        Config::new(options(DialectId::Custom)).err(),
        Some(BadOption::OfDialect { option: "app", .. })
    ));
    let dialect = AppFile { open: vec![OpenStep::Wait(1); OPEN_STEPS_MAX + 1], ..chat() };
    assert!(matches!(Config::new(options_of(dialect)).err(), Some(BadOption::OfDialect { .. })));
    let dialect = AppFile { ignore: vec![Condition::default()], ..chat() };
    assert!(matches!(Config::new(options_of(dialect)).err(), Some(BadOption::OfDialect { .. })));
    let mut options = options_of(chat());
    options.payload.padding = Some(u32::MAX);
    assert!(matches!(Config::new(options).err(), Some(BadOption::PayloadSize { .. })));
}

#[test]
fn only_what_is_acknowledged_apart_has_an_ack() {
    assert!(config_of(chat()).acks().has_all());
    let [broadcast] = &chat().broadcasts[..] else { panic!("one kind") };
    let broadcasts = vec![Broadcast { ack: None, ..broadcast.clone() }];
    assert!(!config_of(AppFile { broadcasts, ..chat() }).acks().has_all());
    let both = vec![broadcast.clone(), Broadcast { ack: None, ..broadcast.clone() }];
    let acks = config_of(AppFile { broadcasts: both, ..chat() }).acks();
    assert_eq!((acks.has(0), acks.has(1), acks.has_all()), (true, false, false));
    assert!(config(DialectId::Json).acks().has_all() && !config(DialectId::Raw).acks().has_all());
}
