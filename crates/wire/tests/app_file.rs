//! An app of a user's own, over a plain WebSocket: its opening, its classification, and whatever a server may
//! say to it.

use std::sync::Arc;

use app::Kind;
use app::app_file::*;
use app::people::People;
use app::template::{KeyForm, Purpose, Quoting, Table, Template};
use proptest::prelude::*;
use wire::{BadOption, Client, Config, DialectId, DialectOptions, Event, Options, Payload, Role, Rule};

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

#[test]
fn every_message_is_what_the_conditions_say() {
    let cfg = config_of(chat());
    let id = String::from_utf8(stamp(9).to_text().to_vec()).unwrap();
    let with_id = |kind: &str| format!(r#"{{"from":{{"type":"x"}},"id":"{id}","type":"{kind}"}}"#);
    let message = |role| Some(Event::Message { role, stamp: stamp(9), bytes: 0 });
    // With one of our marks, it may be what is missing elsewhere.
    let taken = |rule| Some(Event::Taken { stamp: stamp(9), rule });
    let denied = Event::Rejected(wire::Rejection::Named("rejected_login"));
    for (text, expected, answered) in [
        (with_id("answer"), message(Role::Echo), false),
        (with_id("ack"), message(Role::Ack), false),
        (with_id("own"), message(Role::Copy), false),
        (with_id("say"), message(Role::Copy), false),
        (with_id("denied"), Some(denied), false),
        (with_id("ping"), taken(Rule::Answer), true),
        (with_id("presence"), taken(Rule::Ignore), false),
        (with_id("say").replace("throng-", "thring-"), Some(Event::Corrupt { stamp: None, bytes: 0 }), false),
        (r#"{"type":"denied"}"#.into(), Some(denied), false),
        (r#"{"type":"ping"}"#.into(), None, true),
        (r#"{"type":"presence"}"#.into(), None, false),
        (JOINED.into(), Some(Event::Foreign { bytes: 0 }), false),
        (String::new(), Some(Event::Foreign { bytes: 0 }), false),
    ] {
        let (mut client, mut io) = usable(&cfg);
        let mut events = events_of(&mut client, &cfg, 0, &mut io, &[&text]);
        for event in &mut events {
            if let Event::Message { bytes, .. } | Event::Corrupt { bytes, .. } | Event::Foreign { bytes } =
                event
            {
                assert_eq!(std::mem::take(bytes), text.len() as u32);
            }
        }
        assert_eq!(events, Vec::from_iter(expected), "{text}");
        let answers: &[&str] = if answered { &[r#"{"type":"pong"}"#] } else { &[] };
        assert_eq!(said(&io.out), answers, "{text}");
    }
}

#[test]
fn messages_out_of_turn_do_not_open() {
    let cfg = config_of(chat());
    let (mut client, mut io) = opened(&cfg);
    let foreign = Event::Foreign { bytes: JOINED.len() as u32 };
    assert_eq!(events_of(&mut client, &cfg, 0, &mut io, &[JOINED, WELCOME, JOINED]), [foreign, foreign]);
    assert!(!client.is_usable());
    let (mut client, mut io) = opened(&cfg);
    let events = events_of(&mut client, &cfg, 0, &mut io, &[r#"{"type":"denied"}"#]);
    assert_eq!(events, [Event::Rejected(wire::Rejection::Named("rejected_login"))]);
}

#[test]
fn binary_frames_where_the_dialect_has_them() {
    let dialect = AppFile { frames: Frames::Binary, open: vec![], ..chat() };
    let cfg = config_of(dialect);
    let (mut client, mut io) = opened(&cfg);
    client.send(&cfg, 0, 0, Kind::Echo, stamp(1), &mut io);
    assert_eq!(io.out[0], 0x82);
    let reply = [br#"{"type":"answer","id":""#, &stamp(1).to_text()[..], b"\"}\xff"].concat();
    let mut events = Vec::new();
    client.handle_input(&cfg, 0, 0, &plain(0x82, &reply), &mut io, &mut |e| events.push(e)).unwrap();
    assert_eq!(events, [Event::Message { role: Role::Echo, stamp: stamp(1), bytes: reply.len() as u32 }]);
}

#[test]
fn cells_that_break_json_go_as_text() {
    let frames = Frames::MessagePack { delimited: false };
    let echo = |text| Some(Exchange { send: say(text, Purpose::Measured), ..chat().echo.unwrap() });
    for (text, first) in [(r#"["{id}","{data.user}"]"#, 0x82), (r#"["{id}",{data.user}]"#, 0x81)] {
        let cfg = config_of(AppFile { frames: frames.clone(), open: vec![], echo: echo(text), ..chat() });
        let (mut client, mut io) = opened(&cfg);
        client.send(&cfg, 0, 0, Kind::Echo, stamp(1), &mut io);
        assert_eq!(io.out[0], first, "{text}");
    }
}

#[test]
fn frames_may_hold_several_lines() {
    let copy = |seq| {
        format!(r#"{{"type":"say","id":"{}"}}"#, String::from_utf8(stamp(seq).to_text().to_vec()).unwrap())
    };
    let lines = [copy(1), r#"{"type":"ping"}"#.into(), copy(2)].join("\n");
    let heard = |seq, bytes| Event::Message { role: Role::Copy, stamp: stamp(seq), bytes };
    let bytes = |text: &str| text.len() as u32;
    for end in ["", "\n", "\n\n"] {
        let text = format!("{lines}{end}");
        let cfg = config_of(AppFile { frames: Frames::Records("\n".into()), open: vec![], ..chat() });
        let (mut client, mut io) = opened(&cfg);
        let events = events_of(&mut client, &cfg, 0, &mut io, &[&text, &copy(3)]);
        let [line, last] = [bytes(&copy(1)) + 1, bytes(&copy(2)) + end.len().min(1) as u32];
        let both = [heard(1, line), Event::SameFrame, heard(2, last)];
        assert_eq!(events, [&both[..], &[heard(3, bytes(&copy(3)))]].concat(), "{text:?}");
        assert_eq!(said(&io.out), [r#"{"type":"pong"}"#]);
    }
}

#[test]
fn records_end_with_the_separator() {
    let record = |seq: u32| format!(r#"{{"type":"say","id":"{}"}}"#, text_of(seq));
    let cfg = config_of(AppFile { frames: Frames::Records("\u{1e}".into()), open: vec![], ..chat() });
    let half = &record(3)[..40];
    for (frame, copies, others) in [
        (format!("{}\u{1e}{}\u{1e}", record(1), record(2)), vec![1, 2], vec![]),
        (format!("{}\u{1e}{half}", record(1)), vec![1], vec![Event::Corrupt { stamp: None, bytes: 40 }]),
        (format!("\u{1e}{}\u{1e}\u{1e}", record(1)), vec![1], vec![]),
        (half.into(), vec![], vec![Event::Corrupt { stamp: None, bytes: 40 }]),
        ("\u{1e}".into(), vec![], vec![]),
    ] {
        let (mut client, mut io) = opened(&cfg);
        let events = events_of(&mut client, &cfg, 0, &mut io, &[&frame]);
        let is_other = |event: &&Event| !matches!(event, Event::Message { .. } | Event::SameFrame);
        assert_eq!(copies_in(&events), copies, "{frame:?}");
        assert_eq!(events.iter().filter(is_other).copied().collect::<Vec<_>>(), others, "{frame:?}");
    }
}

/// A server's own calls may have the numbers of messages that wait for an answer (OCPP, JSON-RPC both ways).
#[test]
fn server_calls_do_not_consume_answers() {
    let json = vec![("/0".to_owned(), JsonScalar::Bare("3".to_owned()))];
    let key = Some(Key { at: "/1".into(), form: KeyForm::Seq });
    let reply = Some(Condition { json, key, ..Condition::default() });
    let send = say(r#"[2,{seq},"Heartbeat",{}]"#, Purpose::Numbered);
    let echo = Some(Exchange { send, reply, keep: Vec::new(), is_replied: false });
    let cfg = config_of(AppFile { open: vec![], broadcasts: vec![], echo, ..chat() });
    let (mut client, mut io) = opened(&cfg);
    client.send(&cfg, 0, 7, Kind::Echo, stamp(1), &mut io);
    assert_eq!(said(&io.out), [r#"[2,1,"Heartbeat",{}]"#]);
    let events = events_of(&mut client, &cfg, 0, &mut io, &[r#"[2,1,"Reset",{}]"#, "[3,1,{}]", "[3,1,{}]"]);
    let answered: Vec<&Event> = events.iter().filter(|e| matches!(e, Event::Message { .. })).collect();
    let bytes = "[3,1,{}]".len() as u32;
    assert_eq!(answered, [&Event::Message { role: Role::Echo, stamp: stamp(1), bytes }], "{events:?}");
}

pub(crate) fn text_of(seq: u32) -> String {
    String::from_utf8(stamp(seq).to_text().to_vec()).unwrap()
}

/// The numbers of the copies among these events.
fn copies_in(events: &[Event]) -> Vec<u32> {
    let copy = |event: &Event| match event {
        Event::Message { role: Role::Copy, stamp, .. } => Some(stamp.seq),
        _ => None,
    };
    events.iter().filter_map(copy).collect()
}

#[test]
fn every_id_of_a_payload_counts_once() {
    let cfg = config_of(AppFile { open: vec![], ..chat() });
    let listed = |kind: &str, ids: &[u32]| {
        let items: Vec<String> = ids.iter().map(|&seq| format!(r#"{{"id":"{}"}}"#, text_of(seq))).collect();
        format!(r#"{{"type":"{kind}","list":[{}]}}"#, items.join(","))
    };
    let many: Vec<u32> = (0..10_000).collect();
    for (ids, expected) in [
        (&[1, 2, 3][..], vec![1, 2, 3]),
        (&[3, 1, 2], vec![3, 1, 2]),
        (&[1, 1], vec![1]),
        (&[1, 2, 1, 2], vec![1, 2]),
        (&many, many.clone()),
    ] {
        let frame = listed("say", ids);
        let (mut client, mut io) = opened(&cfg);
        let events = events_of(&mut client, &cfg, 0, &mut io, &[&frame, &listed("say", &[77])]);
        assert_eq!(copies_in(&events), [&expected[..], &[77]].concat());
        let same_frame = events.iter().filter(|&&event| event == Event::SameFrame).count();
        assert_eq!(same_frame, expected.len() - 1);
        let bytes =
            |event: &Event| if let Event::Message { bytes, .. } = event { *bytes as usize } else { 0 };
        let total: usize = events.iter().map(bytes).sum();
        assert_eq!(total, frame.len() + listed("say", &[77]).len(), "a frame's bytes count once");
    }
    let damaged =
        listed("say", &[1, 2, 3]).replacen("throng-", "thrang-", 2).replacen("thrang-", "throng-", 1);
    for (frame, expected) in [
        (damaged, vec![Role::Copy, Role::Copy]),
        (listed("answer", &[1, 2]), vec![Role::Echo, Role::Echo]),
        (listed("ack", &[1, 2]), vec![Role::Ack, Role::Ack]),
        (listed("presence", &[1, 2]), vec![]),
        (listed("ping", &[1, 2]), vec![]),
    ] {
        let (mut client, mut io) = opened(&cfg);
        let events = events_of(&mut client, &cfg, 0, &mut io, &[&frame]);
        let role = |event: &Event| if let Event::Message { role, .. } = event { Some(*role) } else { None };
        assert_eq!(events.iter().filter_map(role).collect::<Vec<_>>(), expected, "{frame}");
    }
    let (mut client, mut io) = opened(&cfg);
    let events = events_of(&mut client, &cfg, 0, &mut io, &[&listed("denied", &[1, 2, 3])]);
    assert_eq!(events, [Event::Rejected(wire::Rejection::Named("rejected_login"))], "told once");
}

#[test]
fn histories_in_awaited_openings_are_copies() {
    let cfg = config_of(AppFile { open: vec![OpenStep::Expect(is_type("history"))], ..chat() });
    for ids in [&[][..], &[5], &[5, 6, 7]] {
        let list: Vec<String> = ids.iter().map(|&seq| format!("\"{}\"", text_of(seq))).collect();
        let history = format!(r#"{{"type":"history","list":[{}]}}"#, list.join(","));
        let (mut client, mut io) = opened(&cfg);
        let events = events_of(&mut client, &cfg, 0, &mut io, &[&history]);
        assert_eq!((copies_in(&events), events.last()), (ids.to_vec(), Some(&Event::Usable)));
    }
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

proptest! {
    /// Whatever a server says, in whatever portions: events or a failure, never a panic.
    #[test]
    fn any_message_is_an_event(message in "(\\{|\\}|\\[|\\]|\"type\"|:|,|\"welcome\"|\"ping\"|\\\\|\\\\u|\"|throng-|[a-f0-9]{8}|.){0,40}") {
        let cfg = config_of(AppFile { open: vec![OpenStep::Expect(is_type("welcome"))], ..chat() });
        receive_all(&cfg, "", &texts(&[&message]));
    }
}

/// A chat whose copies are numbered, and which is told the number of the last: in the opening, and behind it.
fn resumed() -> AppFile {
    let mut names = people().names;
    names.set("kept", Template::of_kept(0));
    let say = |text| {
        let body = Template::parse(text, Purpose::Other, &names, Quoting::JSON).unwrap();
        Say { body, ..Say::default() }
    };
    AppFile {
        open: vec![OpenStep::Send(say(r#"{"join":"{kept}"}"#))],
        resume: Some(Resume {
            keeps: vec![Resumed { value: 0, from: vec!["/n".into()], first: "now".into() }],
            send: Some(say(r#"{"since":"{kept}"}"#)),
        }),
        ..chat()
    }
}

#[test]
fn returning_clients_say_how_far_they_came() {
    let cfg = config_of(resumed());
    let id = String::from_utf8(stamp(1).to_text().to_vec()).unwrap();
    let copy = |n: &str| format!(r#"{{"type":"say","id":"{id}","n":{n}}}"#);
    let connect = |client: &mut Client| {
        let mut io = Fake::of(3);
        client.handle_open(&cfg, 0, 0, &mut io);
        let answer = answer_to(&std::mem::take(&mut io.out));
        let mut events = Vec::new();
        client.handle_input(&cfg, 0, 0, &answer, &mut io, &mut |e| events.push(e)).unwrap();
        assert_eq!(events.last(), Some(&Event::Usable));
        io
    };
    let mut client = Client::new();
    let mut io = connect(&mut client);
    assert_eq!(said(&io.out), [r#"{"join":"now"}"#]);
    assert_eq!(client.resumption(true), None, "nothing has come yet");
    for n in ["7", r#""eight""#] {
        events_of(&mut client, &cfg, 0, &mut io, &[&copy(n)]);
    }
    // What no client could send is not kept: a line break would begin another header.
    events_of(
        &mut client,
        &cfg,
        0,
        &mut io,
        &[&copy(r#""a\r\nb""#), &copy(&format!(r#""{}""#, "x".repeat(9_000)))],
    );
    let mut back = Client::resuming(client.resumption(true).unwrap());
    let io = connect(&mut back);
    assert_eq!(said(&io.out), [r#"{"join":"eight"}"#, r#"{"since":"eight"}"#]);
    assert_eq!(back.resumption(true), client.resumption(true), "nothing has come since");
}

#[test]
fn returning_clients_say_several_values() {
    let mut names = people().names;
    names.set("offset", Template::of_kept(0));
    names.set("epoch", Template::of_kept(1));
    let join = r#"{"join":"{epoch}","after":{offset}}"#;
    let join =
        Say { body: Template::parse(join, Purpose::Other, &names, Quoting::JSON).unwrap(), ..Say::default() };
    let resumed = |value, from: &[&str], first: &str| {
        let from = from.iter().map(|&from| from.to_owned()).collect();
        Resumed { value, from, first: first.into() }
    };
    let keeps = vec![resumed(0, &["/n", "/last"], "0"), resumed(1, &["/epoch"], "none")];
    let cfg = config_of(AppFile {
        open: vec![OpenStep::Send(join), OpenStep::Expect(is_type("joined"))],
        resume: Some(Resume { keeps, send: None }),
        ..chat()
    });
    let (mut client, mut io) = opened(&cfg);
    assert_eq!(said(&io.out), [r#"{"join":"none","after":0}"#]);
    let joined = r#"{"type":"joined","last":4,"epoch":"x1"}"#;
    assert_eq!(events_of(&mut client, &cfg, 0, &mut io, &[joined]), [Event::Usable]);
    for (n, expected) in [(None, 4), (Some(5), 5), (Some(12), 12)] {
        let copy = n.map(|n| format!(r#"{{"type":"say","id":"{}","n":{n}}}"#, text_of(n)));
        if let Some(copy) = &copy {
            events_of(&mut client, &cfg, 0, &mut io, &[copy]);
        }
        let mut back = Client::resuming(client.resumption(true).unwrap());
        let mut io = Fake::of(3);
        back.handle_open(&cfg, 0, 0, &mut io);
        let answer = answer_to(&std::mem::take(&mut io.out));
        back.handle_input(&cfg, 0, 0, &answer, &mut io, &mut |_| {}).unwrap();
        assert_eq!(said(&io.out), [format!(r#"{{"join":"x1","after":{expected}}}"#)]);
    }
}
