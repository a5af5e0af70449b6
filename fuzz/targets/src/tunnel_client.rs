//! Any bytes as frames of a server of HTTP/2 at a client whose WebSocket is a stream of theirs, in each dialect.

use crate::support::{Fake, app, check_portions, options, split};
use app::Kind;
use codec::{DeflateOptions, Stamp};
use wire::{BadOption, Carrier, Client, Config, DialectId, DialectOptions, Options, Payload};

thread_local! {
    /// Configurations of each dialect that can be spoken over HTTP/2.
    static CONFIGS: Vec<Config> =
        DialectId::ALL.iter().filter_map(|&dialect| config(dialect).ok()).collect();
}

fn config(dialect: DialectId) -> Result<Config, BadOption> {
    let of_dialect = match dialect.facts().needs_app {
        true => app("/type", "say"),
        false => DialectOptions::default(),
    };
    Config::new(Options {
        carrier: Carrier::Http2,
        is_secure: true,
        deflate: Some(DeflateOptions::default()),
        payload: Payload::default(),
        of_dialect,
        ..options(dialect, "/")
    })
}

/// SETTINGS with ENABLE_CONNECT_PROTOCOL, and the answer to the client's CONNECT, or GET of an event stream:
/// status 200, with the type that the latter needs.
const GREETING: &[u8] = b"\0\0\x06\x04\0\0\0\0\0\0\x08\0\0\0\x01";
const GRANTED: &[u8] = b"\0\0\x14\x01\x04\0\0\0\x01\x88\x5f\x11text/event-stream";

/// Feeds one input.
pub fn run(data: &[u8]) {
    let Some((dialect, data)) = data.split_first() else { return };
    let Some((step, bytes)) = split(data) else { return };
    CONFIGS.with(|all| feed(&all[usize::from(*dialect) % all.len()], bytes, step));
}

fn feed(cfg: &Config, bytes: &[u8], step: usize) {
    check_portions(bytes, step, |portions| {
        let (mut client, mut io, mut events) = (Client::new(), Fake::default(), Vec::new());
        client.handle_open(cfg, 0, 0, &mut io);
        let mut handle = |client: &mut Client, io: &mut Fake, portion: &[u8]| {
            client.handle_input(cfg, 0, 0, portion, io, &mut |event| events.extend(event.each()))
        };
        handle(&mut client, &mut io, GREETING).expect("a good greeting");
        handle(&mut client, &mut io, GRANTED).expect("a good answer");
        if client.is_usable() {
            client.send(cfg, 0, 0, Kind::Echo, Stamp::new(0, 0, 1, 0, 0), &mut io);
        }
        let result = portions.iter().try_for_each(|portion| handle(&mut client, &mut io, portion));
        (io.out, events, result)
    });
}
