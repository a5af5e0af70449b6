//! Any bytes as frames of a server at a client with requests under way: the same events, output and failure
//! in any portions.

use crate::support::{Fake, check_portions, options, split};
use app::Kind;
use codec::Stamp;
use wire::{Client, Config, DialectId, HttpOptions, Options, Payload};

/// Settings without any.
const GREETING: &[u8] = b"\0\0\0\x04\0\0\0\0\0";

/// Feeds one input.
pub fn run(data: &[u8]) {
    let Some((step, bytes)) = split(data) else { return };
    let http = HttpOptions {
        method: "PUT".into(),
        body: Some(vec![7; 70_000]),
        pipelining: 3,
        ..HttpOptions::default()
    };
    let mut all = Options { payload: Payload::default(), ..options(DialectId::Http2, "/") };
    all.of_dialect.settings = http.into();
    let cfg = Config::new(all).expect("good options");
    check_portions(bytes, step, |portions| {
        let (mut client, mut io, mut events) = (Client::new(), Fake::default(), Vec::new());
        client.handle_open(&cfg, 0, 0, &mut io);
        let mut handle = |client: &mut Client, io: &mut Fake, portion: &[u8]| {
            client.handle_input(&cfg, 0, 0, portion, io, &mut |event| events.push(event))
        };
        handle(&mut client, &mut io, GREETING).expect("a good greeting");
        for number in 0..3 {
            client.send(&cfg, 0, 0, Kind::Echo, Stamp::new(0, 0, number, 0, 0), &mut io);
        }
        let result = portions.iter().try_for_each(|portion| handle(&mut client, &mut io, portion));
        (io.out, events, result)
    });
}
