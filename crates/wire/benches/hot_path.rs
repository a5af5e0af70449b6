//! What one message costs, in nanoseconds of one core: `cargo bench -p throng-wire`.
//!
//! The best of many short rounds, since what disturbs a round only ever adds to it.

#[path = "../tests/common/mod.rs"]
mod common;

use std::hint::black_box;
use std::time::Instant;

use common::*;
use wire::{Client, Config, DialectId, Kind, Options, Payload, Server, ServerConfig};

const ROUNDS: u32 = 200;
const CALLS: u32 = 2_000;

fn measure(name: &str, mut call: impl FnMut()) {
    let best = (0..ROUNDS).map(|_| {
        let start = Instant::now();
        (0..CALLS).for_each(|_| call());
        start.elapsed().as_nanos() as f64 / f64::from(CALLS)
    });
    println!("{name:<40} {:7.1} ns", best.fold(f64::INFINITY, f64::min));
}

/// An upgraded client, what it sends for an echo, and the same as the server would send it back.
fn client(dialect: DialectId, text: bool) -> (Config, Client, Fake, Vec<u8>, Vec<u8>) {
    let payload = Payload { padding: None, text };
    let cfg = Config::new(Options { payload, ..options(dialect) }).unwrap();
    let (mut client, mut io, answer) = opening(&cfg, "");
    client.handle_input(&cfg, 0, 0, &answer, &mut io, &mut |_| {}).unwrap();
    client.send(&cfg, 0, 1_478_000_000_123_456_789, Kind::Echo, stamp(1), &mut io);
    let sent = std::mem::take(&mut io.out);
    let header = if sent[1] & 0x7f == 126 { 8 } else { 6 };
    let mut plain_payload = sent[header..].to_vec();
    wire::ws::mask::apply(&mut plain_payload, sent[header - 4..header].try_into().unwrap(), 0);
    let answer = plain(sent[0], &plain_payload);
    (cfg, client, io, sent, answer)
}

fn main() {
    for (name, dialect, text) in [
        ("raw", DialectId::Raw, false),
        ("raw text", DialectId::Raw, true),
        ("json", DialectId::Json, false),
        ("binary", DialectId::Binary, false),
    ] {
        let (cfg, mut client, mut io, sent, answer) = client(dialect, text);
        measure(&format!("client receives, {name}, {} B", answer.len()), || {
            let mut on = |event| {
                black_box(event);
            };
            client.handle_input(&cfg, 0, 0, black_box(&answer), &mut io, &mut on).unwrap();
        });
        let mark = stamp(1);
        measure(&format!("client sends, {name}, {} B", sent.len()), || {
            io.out.clear();
            client.send(&cfg, 0, 1_478_000_000_123_456_789, Kind::Echo, black_box(mark), &mut io);
        });
        let server_cfg = ServerConfig::default();
        let (mut server, mut io) = (Server::new(), Fake::default());
        server.handle_input(&server_cfg, 0, 0, request("").as_bytes(), &mut io, &mut |_| {}).unwrap();
        measure(&format!("server echoes, {name}, {} B", sent.len()), || {
            io.out.clear();
            server.handle_input(&server_cfg, 0, 0, black_box(&sent), &mut io, &mut |_| {}).unwrap();
        });
        if text || dialect == DialectId::Json {
            measure(&format!("stamp found, {name}"), || {
                black_box(wire::stamp::find(black_box(&answer[2..])));
            });
        }
    }
    let (cfg, upgrade) = (ServerConfig::default(), request(""));
    measure("server upgrades", || {
        let (mut server, mut io) = (Server::new(), Fake::default());
        server.handle_input(&cfg, 0, 0, black_box(upgrade.as_bytes()), &mut io, &mut |_| {}).unwrap();
    });
    let get = "GET / HTTP/1.1\r\nHost: example.com\r\nUser-Agent: x\r\n\r\n";
    let (mut server, mut io) = (Server::new(), Fake::default());
    measure("server answers GET", || {
        io.out.clear();
        server.handle_input(&cfg, 0, 0, black_box(get.as_bytes()), &mut io, &mut |_| {}).unwrap();
    });
}
