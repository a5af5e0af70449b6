//! Messages of a server as an app's conditions classify them: alone, several in a frame, or out of turn.

use app::Kind;
use app::app_file::*;
use app::template::{KeyForm, Purpose};
use proptest::prelude::*;
use wire::{Event, Role, Rule};

use super::{JOINED, WELCOME, chat, config_of, events_of, is_type, opened, say, text_of, usable};
use crate::common::*;

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

proptest! {
    /// Whatever a server says, in whatever portions: events or a failure, never a panic.
    #[test]
    fn any_message_is_an_event(message in "(\\{|\\}|\\[|\\]|\"type\"|:|,|\"welcome\"|\"ping\"|\\\\|\\\\u|\"|throng-|[a-f0-9]{8}|.){0,40}") {
        let cfg = config_of(AppFile { open: vec![OpenStep::Expect(is_type("welcome"))], ..chat() });
        receive_all(&cfg, "", &texts(&[&message]));
    }
}
