//! Any messages at a client that speaks an app of its user's own, whose pointer and placeholders are any, too.

use crate::support::{Fake, answer, app, check_portions, limits, options, split};
use app::people::People;
use app::template::{Purpose, Quoting, Template};
use codec::Limits;
use wire::{Client, Config, DialectId, Options, Payload};

/// Feeds one input.
pub fn run(data: &[u8]) {
    let Some((step, data)) = split(data) else { return };
    let mut lines = data.split(|&byte| byte == b'\n');
    let mut word = || std::str::from_utf8(lines.next().unwrap_or_default()).unwrap_or_default();
    let (pointer, text) = (word(), word());
    let mut people = People::default();
    people.names.set("data.a", Template::of_column(0));
    for purpose in [Purpose::Measured, Purpose::Other, Purpose::Opening] {
        let _ = Template::parse(text, purpose, &people.names, Quoting::JSON);
    }
    // A pointer that is none is refused; any other must do.
    let Ok(cfg) = Config::new(Options {
        limits: Limits { head_bytes_max: 4096, ..limits() },
        payload: Payload::default(),
        of_dialect: app(pointer, text),
        people: people.into(),
        ..options(DialectId::Custom, &format!("/?{text}"))
    }) else {
        return;
    };
    let frames: Vec<u8> = lines.flat_map(|message| frame(&message[..message.len().min(125)])).collect();
    check_portions(&frames, step, |portions| {
        let (mut client, mut io, mut events) = (Client::new(), Fake::default(), Vec::new());
        client.handle_open(&cfg, 0, 0, &mut io);
        let answer = answer(&std::mem::take(&mut io.out), "");
        let mut feed =
            |bytes: &[u8]| client.handle_input(&cfg, 0, 0, bytes, &mut io, &mut |e| events.extend(e.each()));
        feed(&answer).expect("a good answer");
        let result = portions.iter().try_for_each(|bytes| feed(bytes));
        (io.out, events, result)
    });
}

/// A short message of a server, binary so that it may be anything.
fn frame(message: &[u8]) -> Vec<u8> {
    [&[0x82, message.len() as u8], message].concat()
}
