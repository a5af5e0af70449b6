//! Any bytes at a client after its upgrade with compression, in each dialect, with the benchmark's messages
//! and an app's.

use std::sync::LazyLock;

use crate::support::{Fake, answer, app, check_portions, choose, limits, options, split};
use codec::{DeflateOptions, Limits};
use wire::{Client, Config, DialectId, DialectOptions, Options, Payload};

/// All dialects but those that stay with plain requests.
static UPGRADING: LazyLock<Vec<DialectId>> = LazyLock::new(|| {
    let upgrades = |dialect: &DialectId| {
        let facts = dialect.facts();
        !facts.asks && !facts.only_receives
    };
    DialectId::ALL.iter().copied().filter(upgrades).collect()
});

/// Feeds one input.
pub fn run(data: &[u8]) {
    let Some((dialect, data)) = data.split_first() else { return };
    let Some((step, bytes)) = split(data) else { return };
    let has_app = dialect & 0x80 != 0;
    let dialect = choose(&UPGRADING, dialect & 0x7f);
    let of_dialect = match has_app || dialect.facts().needs_app {
        true => app("/type", "say"),
        false => DialectOptions::default(),
    };
    let cfg = Config::new(Options {
        deflate: Some(DeflateOptions::default()),
        // The server's 101 must pass.
        limits: Limits { head_bytes_max: 4096, ..limits() },
        payload: Payload::default(),
        of_dialect,
        ..options(dialect, "/")
    });
    let cfg = cfg.expect("good options");
    check_portions(bytes, step, |portions| {
        let (mut client, mut io, mut events) = (Client::new(), Fake::default(), Vec::new());
        client.handle_open(&cfg, 0, 0, &mut io);
        let answer = answer(&std::mem::take(&mut io.out), "Sec-WebSocket-Extensions: permessage-deflate\r\n");
        let mut feed =
            |bytes: &[u8]| client.handle_input(&cfg, 0, 0, bytes, &mut io, &mut |e| events.extend(e.each()));
        feed(&answer).expect("a good answer");
        let result = portions.iter().try_for_each(|bytes| feed(bytes));
        (io.out, events, result)
    });
}
