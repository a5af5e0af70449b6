//! Any bytes at the server after an upgrade with compression, in each dialect.

use crate::support::{Fake, check_portions, choose, limits, split};
use codec::DeflateOptions;
use wire::{Server, ServerConfig};

const FIELDS: &str = "Host: h\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
    Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\
    Sec-WebSocket-Extensions: permessage-deflate\r\n\r\n";

const PATHS: [&str; 10] = [
    "/",
    "/cable",
    "/socket/websocket",
    "/socket/websocket?vsn=2.0.0",
    "/sockjs/0/a/websocket",
    "/sockjs/websocket",
    "/close/0/a/websocket",
    "/socket.io/?EIO=4&transport=websocket",
    "/socket.io/?EIO=3&transport=websocket",
    "/engine.io/?EIO=4&transport=websocket",
];

/// Feeds one input.
pub fn run(data: &[u8]) {
    let Some((path, data)) = data.split_first() else { return };
    let Some((step, bytes)) = split(data) else { return };
    let upgrade = format!("GET {} HTTP/1.1\r\n{FIELDS}", choose(&PATHS, *path));
    let deflate = Some(DeflateOptions::default());
    let cfg = ServerConfig { limits: limits(), deflate, ..ServerConfig::default() };
    check_portions(bytes, step, |portions| {
        let (mut server, mut io, mut events) = (Server::new(), Fake::default(), 0);
        let mut feed = |bytes: &[u8]| server.handle_input(&cfg, 0, 0, bytes, &mut io, &mut |_| events += 1);
        feed(upgrade.as_bytes()).expect("a good upgrade");
        let result = portions.iter().try_for_each(|bytes| feed(bytes));
        (io.out, events, result)
    });
}
