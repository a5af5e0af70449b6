//! Values that a user's own app keeps of what the server says, over a plain WebSocket.

use app::Kind;
use app::app_file::*;
use app::people::Mix;
use app::template::{Purpose, Quoting, Template};
use wire::{BadOption, Config, Event, Lacking, Rejection, Role};

use crate::app_file::{
    WELCOME, chat, config_of, events_of, is_type, opened, opened_as, options_of, people, text_of,
};
use crate::common::*;

/// Values kept of a message, under these numbers.
fn keep(keeps: &[(u16, &str, &str)]) -> Vec<Keep> {
    let keep = |&(value, name, from): &(u16, &str, &str)| Keep {
        name: name.into(),
        value,
        from: from.into(),
        place: Some("app.toml:3".into()),
    };
    keeps.iter().map(keep).collect()
}

/// A chat that names the socket, has its answer to that signed, and asks with a number that it wants to have
/// back.
fn keeping() -> AppFile {
    let mut names = people().names;
    for (value, name) in [(0, "socket"), (1, "n")] {
        names.set(name, Template::of_kept(value));
    }
    let say = |text, purpose| Say {
        body: Template::parse(text, purpose, &names, Quoting::JSON).unwrap(),
        ..Say::default()
    };
    AppFile {
        open: vec![
            OpenStep::Expect(is_type("welcome")),
            OpenStep::Keep(keep(&[(0, "socket", "json:/id")])),
            OpenStep::Send(say(r#"{"auth":"{hmac:sha256:key:{socket}:room}"}"#, Purpose::Other)),
        ],
        notes: vec![Note { when: is_type("ping"), keep: keep(&[(1, "n", r#"regex:"n":(\d+)"#)]) }],
        answers: vec![Reaction { when: is_type("ping"), send: say(r#"{"pong":{n}}"#, Purpose::Other) }],
        broadcasts: vec![Broadcast::of(say(r#"{"id":"{id}","from":"{socket}"}"#, Purpose::Measured))],
        heartbeats: Vec::new(),
        ..chat()
    }
}

#[test]
fn values_of_a_message_are_said_later() {
    let cfg = config_of(keeping());
    let (mut client, mut io) = opened(&cfg);
    let welcome = r#"{"type":"welcome","id":"a\"b"}"#;
    assert_eq!(events_of(&mut client, &cfg, 0, &mut io, &[welcome]), [Event::Usable]);
    // openssl dgst -sha256 -hmac key, of a"b:room
    let auth = "ba4b0efca8e21db0429525a8d8a8f1329f718eb51e60c969fc05ffdf1a846651";
    assert_eq!(said(&io.out), [format!(r#"{{"auth":"{auth}"}}"#)]);
    io.out.clear();
    let pings = [r#"{"type":"ping","n":7}"#, r#"{"type":"ping","n":8}"#];
    assert_eq!(events_of(&mut client, &cfg, 0, &mut io, &pings), []);
    assert_eq!(said(&io.out), [r#"{"pong":7}"#, r#"{"pong":8}"#]);
    io.out.clear();
    client.send(&cfg, 0, 5, Kind::Broadcast, stamp(1), &mut io);
    assert_eq!(said(&io.out), [format!(r#"{{"id":"{}","from":"a\"b"}}"#, text_of(1))]);
}

#[test]
fn a_value_that_never_came_is_named() {
    let cfg = config_of(keeping());
    let lacking = Event::Rejected(Rejection::Lacking(&Lacking {
        name: "not_kept_socket",
        from: "json:/id (app.toml:3)",
    }));
    for welcome in [WELCOME.into(), r#"{"type":"welcome","id":"a\nb"}"#.to_owned()] {
        let (mut client, mut io) = opened(&cfg);
        assert_eq!(events_of(&mut client, &cfg, 0, &mut io, &[&welcome]), [lacking], "{welcome}");
        assert!(io.out.is_empty());
    }
    for from in ["json:id", "regex:(", "header:x", "x"] {
        let open = vec![OpenStep::Expect(is_type("welcome")), OpenStep::Keep(keep(&[(0, "socket", from)]))];
        let options = options_of(AppFile { open, ..keeping() });
        assert!(
            matches!(Config::new(options).err(), Some(BadOption::OfDialect { option: "app", .. })),
            "{from}"
        );
    }
}

/// The condition of one kind's acknowledgements fits those of the other as well.
#[test]
fn only_the_kinds_of_a_frame_keep() {
    let broadcast = |name: &str, value| {
        let send = Template::parse(r#"{"id":"{id}"}"#, Purpose::Measured, &people().names, Quoting::JSON);
        let from = format!("json:/{name}");
        Broadcast {
            ack: Some(is_type("ack")),
            keep: keep(&[(value, name, &from)]),
            ..Broadcast::of(Say { body: send.unwrap(), ..Say::default() })
        }
    };
    let broadcasts = vec![broadcast("a", 0), broadcast("b", 1)];
    let cfg = config_of(AppFile { open: vec![], broadcasts, ..chat() });
    let of_kind = |kind| {
        let mix = Mix::new([1, 1]);
        (0..100)
            .filter(|&seq| mix.kind(stamp(seq).worker, stamp(seq).client, seq) == kind)
            .collect::<Vec<u32>>()
    };
    let (first, second) = (of_kind(0), of_kind(1));
    for (ids, kept, expected) in [
        ([first[0], first[1]], r#""a":1"#, Ok(2)),
        ([second[0], second[1]], r#""b":1"#, Ok(2)),
        ([first[0], second[0]], r#""a":1,"b":2"#, Ok(2)),
        ([first[0], second[0]], r#""a":1"#, Err("not_kept_b")),
        ([second[0], second[1]], r#""a":1"#, Err("not_kept_b")),
    ] {
        let list = ids.map(text_of).join(r#"",""#);
        let ack = format!(r#"{{"type":"ack","of":["{list}"],{kept}}}"#);
        let (mut client, mut io) = opened(&cfg);
        let events = events_of(&mut client, &cfg, 0, &mut io, &[&ack]);
        let refused = events.iter().find_map(|event| match event {
            Event::Rejected(Rejection::Lacking(lacking)) => Some(lacking.name),
            _ => None,
        });
        let acks = events.iter().filter(|event| matches!(event, Event::Message { role: Role::Ack, .. }));
        assert_eq!(refused.map_or(Ok(acks.count()), Err), expected, "{ack}");
    }
}

/// The value at this pointer is each client's own.
fn is_own(pointer: &str, placeholder: &str) -> Condition {
    let mut names = people().names;
    names.set("socket", Template::of_kept(0));
    let template = Template::parse(placeholder, Purpose::Condition, &names, Quoting::Plain).unwrap();
    let text = ConditionText { written: placeholder.into(), of_client: Some(template) };
    Condition { json: vec![(pointer.to_owned(), JsonScalar::Text(text))], ..Condition::default() }
}

#[test]
fn only_the_own_answer_counts() {
    let mut reply = is_type("answer");
    reply.json.extend(is_own("/to", "{data.user}").json);
    let echo = chat().echo.map(|echo| Exchange { reply: Some(reply), ..echo });
    let cfg = config_of(AppFile { open: vec![], echo, broadcasts: vec![], ..chat() });
    let answer = |to: &str| format!(r#"{{"type":"answer","to":"{to}","id":"{}"}}"#, text_of(1));
    for (number, own, other) in [(2, "ann", "bob"), (3, "bob", "ann")] {
        let (mut client, mut io) = opened_as(number, &cfg);
        let events = events_of(&mut client, &cfg, 0, &mut io, &[&answer(own)]);
        assert!(matches!(events[..], [Event::Message { role: Role::Echo, .. }]), "{own}: {events:?}");
        let events = events_of(&mut client, &cfg, 0, &mut io, &[&answer(other)]);
        let [Event::Unmatched { near: Some(near), .. }] = events[..] else { panic!("{own}: {events:?}") };
        assert!(cfg.misses()[usize::from(near)].ends_with(r#""/to" = "{data.user}""#), "as it is written");
    }
}

/// Nothing that these clients say has the value in it.
#[test]
fn conditions_have_values_kept_before() {
    let cfg = config_of(AppFile {
        frames: Frames::Records("\u{1e}".into()),
        open: vec![
            OpenStep::Expect(is_type("welcome")),
            OpenStep::Keep(keep(&[(0, "socket", "json:/id")])),
            OpenStep::Expect(is_own("/joined", "{socket}")),
        ],
        ignore: vec![is_own("/session", "{socket}")],
        ..chat()
    });
    let welcome = r#"{"type":"welcome","id":"s1"}"#;
    let (joined, own, other) = (r#"{"joined":"s1"}"#, r#"{"session":"s1"}"#, r#"{"session":"s2"}"#);
    let all = [welcome, joined, own].join("\u{1e}");
    // In frames of their own, or all in one.
    for before in [&[welcome, joined, own][..], &[all.as_str()][..]] {
        let (mut client, mut io) = opened(&cfg);
        let strange = events_of(&mut client, &cfg, 0, &mut io, &[r#"{"session":""}"#, own]);
        assert!(matches!(strange[..], [Event::Foreign { .. }, Event::Foreign { .. }]), "{strange:?}");
        assert_eq!(events_of(&mut client, &cfg, 0, &mut io, before), [Event::Usable], "{before:?}");
        assert_eq!(events_of(&mut client, &cfg, 0, &mut io, &[own]), []);
        let strange = events_of(&mut client, &cfg, 0, &mut io, &[other]);
        assert!(matches!(strange[..], [Event::Foreign { .. }]), "{strange:?}");
    }
}
