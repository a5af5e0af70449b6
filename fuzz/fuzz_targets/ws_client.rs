//! Any bytes at a client after its upgrade with compression, in each dialect.

#![no_main]

use libfuzzer_sys::fuzz_target;
use throng_fuzz::{Fake, check_portions, limits, split};
use wire::ws::upgrade::accept_of;
use wire::{Client, Config, DeflateOptions, DialectId, DialectOptions, Limits, Options, Payload};

fuzz_target!(|data: &[u8]| {
    let Some((dialect, data)) = data.split_first() else { return };
    let Some((step, bytes)) = split(data) else { return };
    let dialect = DialectId::ALL[usize::from(*dialect) % DialectId::ALL.len()];
    let cfg = Config::new(Options {
        dialect,
        host: "h".into(),
        path: "/".into(),
        headers: vec![],
        subprotocols: vec![],
        origin: None,
        basic_auth: None,
        deflate: Some(DeflateOptions::default()),
        // The server's 101 must pass.
        limits: Limits { head_bytes_max: 4096, ..limits() },
        payload: Payload::default(),
        of_dialect: DialectOptions::default(),
    });
    let cfg = cfg.expect("good options");
    check_portions(bytes, step, |portions| {
        let (mut client, mut io, mut events) = (Client::new(), Fake::default(), Vec::new());
        client.handle_open(&cfg, 0, 0, &mut io);
        let answer = answer(&std::mem::take(&mut io.out));
        let mut feed =
            |bytes: &[u8]| client.handle_input(&cfg, 0, 0, bytes, &mut io, &mut |e| events.push(e));
        feed(&answer).expect("a good answer");
        let result = portions.iter().try_for_each(|bytes| feed(bytes));
        (io.out, events, result)
    });
});

fn answer(request: &[u8]) -> Vec<u8> {
    let request = std::str::from_utf8(request).expect("ASCII");
    let key = request.split("Sec-WebSocket-Key: ").nth(1).expect("a key");
    let accept = accept_of(key.split("\r\n").next().expect("a line").as_bytes());
    let head = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
        Sec-WebSocket-Extensions: permessage-deflate\r\nSec-WebSocket-Accept: ";
    [&head[..], &accept, b"\r\n\r\n"].concat()
}
