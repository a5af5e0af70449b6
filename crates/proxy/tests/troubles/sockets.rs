//! WebSockets through the proxy: refused, lost, or over TLS.

use std::io::{self, Read, Write};

use har::Direction;
use proxy::Trouble;

use crate::{Proxy, answering, secure_server, server, status, trusting};

#[test]
fn refused_upgrade_is_passed() {
    let proxy = Proxy::start(answering("HTTP/1.1 403 Forbidden\r\nContent-Length: 4\r\n\r\nnope"));
    let got = proxy.answer(&upgrade(&proxy));
    assert_eq!((status(&got), got.contains("\r\nnope\r\n")), ("403", true), "{got}");
    proxy.assert_trouble(|trouble| *trouble == Trouble::SocketRefused(403));
    assert_eq!(proxy.end()[0].messages, Some(Vec::new()));
}

fn upgrade(proxy: &Proxy) -> String {
    format!(
        "GET /ws HTTP/1.1\r\nHost: {}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
         Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Extensions: permessage-deflate\r\n\r\n",
        proxy.address
    )
}

/// Says "Hello", hears one frame, and goes without a word.
fn greet(stream: &mut (impl Read + Write)) -> io::Result<()> {
    stream.write_all(
        b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n\x81\x05Hello",
    )?;
    stream.read_exact(&mut [0; 11])
}

/// Asserts that "Hello" passes to the client and to the server, and that the end without a word is told.
fn assert_hello_passes(proxy: Proxy, origin: &str) {
    let mut stream = proxy.connect();
    stream.write_all(upgrade(&proxy).as_bytes()).unwrap();
    let mut got = Vec::new();
    let mut byte = [0];
    while !got.ends_with(b"Hello") {
        stream.read_exact(&mut byte).unwrap();
        got.push(byte[0]);
    }
    // "Hello", masked (RFC 6455 §5.7).
    stream.write_all(&[0x81, 0x85, 0x37, 0xfa, 0x21, 0x3d, 0x7f, 0x9f, 0x4d, 0x51, 0x58]).unwrap();
    assert_eq!(stream.read(&mut byte).unwrap_or(0), 0);
    proxy.assert_trouble(|trouble| *trouble == Trouble::SocketLost);
    let entry = proxy.end().remove(0);
    assert_eq!(entry.request.url, format!("{origin}/ws"));
    let said: Vec<_> =
        entry.messages.unwrap().into_iter().map(|frame| (frame.direction, frame.data)).collect();
    assert_eq!(said, [(Direction::Receive, "Hello".into()), (Direction::Send, "Hello".into())]);
}

#[test]
fn lost_sockets_are_told_and_ended() {
    let address = server(|head, stream| {
        assert!(!head.to_lowercase().contains("permessage-deflate"), "{head}");
        greet(stream)
    });
    assert_hello_passes(Proxy::start(address), &format!("ws://{address}"));
}

#[test]
fn sockets_pass_over_tls() {
    let (port, pem) = secure_server(|_, stream| greet(stream));
    let origin = format!("wss://localhost:{port}");
    assert_hello_passes(Proxy::start_with(&origin, &trusting(pem)), &origin);
}
