//! Clients of an app that come back, and say how far they came.

use app::app_file::*;
use app::template::{Purpose, Quoting, Template};
use wire::{Client, Event};

use super::{answer_to, chat, config_of, events_of, is_type, opened, people, text_of};
use crate::common::*;

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
