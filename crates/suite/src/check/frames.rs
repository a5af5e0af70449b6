//! WebSocket itself, frame by frame (RFC 6455): what comes back is what was sent, a ping has its pong, a close its close.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use url::Url;
use wire::http::head::{Expect, HeadReader};
use wire::http::response::Response;
use wire::ws::frame::{self, Accepts, Opcode};
use wire::ws::mask::Key;
use wire::ws::reader::{Item, Reader};
use wire::ws::{End, close, upgrade};
use wire::{Io, Limits, StreamId};

use crate::visit::{self, ANSWER_MAX};

/// The code of a normal close (RFC 6455 §7.4.1).
const NORMAL: u16 = 1000;
/// Letters of one to four bytes, beside characters that look like JSON and markup.
const UTF8: &str = "throng: \u{e9}\u{df} \u{20ac} \u{1f514} \"'\\</\u{2028}";

/// Checks a server that sends back whatever comes.
pub(super) fn check(url: &str) -> Result<(), String> {
    let mut socket = Socket::open(url).map_err(|why| format!("handshake: {why}"))?;
    let large: Vec<u8> = (0..64 << 10).map(|k: u32| (k % 251) as u8).collect();
    let messages: [(&str, Opcode, &[u8]); 5] = [
        ("text", Opcode::Text, b"hello"),
        ("binary", Opcode::Binary, &[0, 255, 128, 7]),
        ("UTF-8", Opcode::Text, UTF8.as_bytes()),
        ("an empty message", Opcode::Text, b""),
        ("64 KiB", Opcode::Binary, &large),
    ];
    for (name, opcode, payload) in messages {
        socket.echo(opcode, payload).map_err(|why| format!("{name}: {why}"))?;
    }
    socket.ping().map_err(|why| format!("ping: {why}"))?;
    socket.close().map_err(|why| format!("close: {why}"))
}

/// A WebSocket without a session on it.
struct Socket {
    stream: TcpStream,
    reader: Reader,
    /// Bytes that came in and were not looked at yet.
    input: Vec<u8>,
}

/// What came in.
#[derive(Debug, PartialEq, Eq)]
struct Frame {
    opcode: Opcode,
    payload: Vec<u8>,
}

impl Socket {
    fn open(url: &str) -> Result<Socket, String> {
        let url = Url::parse(url).map_err(|error| error.to_string())?;
        let mut socket = Socket::connect(&url).map_err(|error| error.to_string())?;
        let key = upgrade::new_key(&mut Random);
        let (host, port) = (url.host_str().unwrap_or_default(), url.port_or_known_default().unwrap_or(80));
        let request = format!(
            "GET {} HTTP/1.1\r\nHost: {host}:{port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
             Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {}\r\n\r\n",
            url.path(),
            String::from_utf8_lossy(&key)
        );
        socket.stream.write_all(request.as_bytes()).map_err(|error| error.to_string())?;
        let mut head = HeadReader::default();
        loop {
            socket.read_more()?;
            let bytes = std::mem::take(&mut socket.input);
            let mut rest = bytes.as_slice();
            let found = head.read(Expect::Response, &Limits::default(), &mut rest);
            if let Some((head, lines)) = found.map_err(|failure| failure.to_string())? {
                let response = Response::parse(head, lines).map_err(|failure| failure.to_string())?;
                upgrade::verify(&response, &key, &[], None).map_err(|failure| failure.to_string())?;
                socket.input = rest.to_vec();
                return Ok(socket);
            }
        }
    }

    fn connect(url: &Url) -> io::Result<Socket> {
        let stream = TcpStream::connect_timeout(&visit::address(url)?, Duration::from_secs(2))?;
        stream.set_read_timeout(Some(ANSWER_MAX))?;
        stream.set_write_timeout(Some(ANSWER_MAX))?;
        Ok(Socket { stream, reader: Reader::default(), input: Vec::new() })
    }

    fn echo(&mut self, opcode: Opcode, payload: &[u8]) -> Result<(), String> {
        self.send(opcode, payload)?;
        let back = self.receive()?;
        if back.opcode != opcode {
            return Err(format!("came back as {:?}", back.opcode));
        }
        if back.payload != payload {
            return Err(format!("{} bytes came back changed, as {}", payload.len(), back.payload.len()));
        }
        Ok(())
    }

    fn ping(&mut self) -> Result<(), String> {
        let payload = b"are you there";
        self.send(Opcode::Ping, payload)?;
        match self.receive()? {
            Frame { opcode: Opcode::Pong, payload: back } if back == payload => Ok(()),
            Frame { opcode: Opcode::Pong, .. } => {
                Err("the pong does not carry the ping's payload".to_owned())
            }
            other => Err(format!("answered with {:?}", other.opcode)),
        }
    }

    fn close(&mut self) -> Result<(), String> {
        self.send(Opcode::Close, &NORMAL.to_be_bytes())?;
        match self.receive()? {
            Frame { opcode: Opcode::Close, payload } => match close::parse(&payload) {
                Ok(NORMAL | close::NO_CODE) => Ok(()),
                Ok(code) => Err(format!("answered with code {code}")),
                Err(reason) => Err(format!("{reason:?}")),
            },
            other => Err(format!("answered with {:?}", other.opcode)),
        }
    }

    fn send(&mut self, opcode: Opcode, payload: &[u8]) -> Result<(), String> {
        let mut out = Vec::new();
        let start = frame::open(&mut out, End::Client);
        out.extend_from_slice(payload);
        frame::seal(&mut out, start, opcode, false, Some(Key::new(fastrand::u32(..).to_ne_bytes())));
        self.stream.write_all(&out).map_err(|error| error.to_string())
    }

    /// The next message or control frame; a server's own pings are answered and left out.
    fn receive(&mut self) -> Result<Frame, String> {
        loop {
            if let Some(frame) = self.take()? {
                if frame.opcode != Opcode::Ping {
                    return Ok(frame);
                }
                self.send(Opcode::Pong, &frame.payload)?;
            } else {
                self.read_more()?;
            }
        }
    }

    fn take(&mut self) -> Result<Option<Frame>, String> {
        let bytes = std::mem::take(&mut self.input);
        let mut rest = bytes.as_slice();
        let accepts = Accepts { end: End::Client, deflate: false };
        let item = self.reader.next(&Limits::default(), accepts, &mut rest);
        let frame = item.map_err(|failure| failure.to_string())?.map(|item| match item {
            Item::Message { text: true, payload, .. } => {
                Frame { opcode: Opcode::Text, payload: payload.bytes.to_vec() }
            }
            Item::Message { payload, .. } => {
                Frame { opcode: Opcode::Binary, payload: payload.bytes.to_vec() }
            }
            Item::Control(opcode, payload) => Frame { opcode, payload: payload.bytes.to_vec() },
        });
        self.input = rest.to_vec();
        Ok(frame)
    }

    fn read_more(&mut self) -> Result<(), String> {
        let mut buffer = [0; 16 << 10];
        match self.stream.read(&mut buffer) {
            Ok(0) => Err("the server closed the connection".to_owned()),
            Ok(bytes) => {
                self.input.extend_from_slice(&buffer[..bytes]);
                Ok(())
            }
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
                Err(format!("no answer within {ANSWER_MAX:?}"))
            }
            Err(error) => Err(error.to_string()),
        }
    }
}

/// Randomness for the handshake's key; nothing is written through it.
struct Random;

impl Io for Random {
    fn out(&mut self, _: StreamId) -> &mut Vec<u8> {
        unreachable!("a key is only drawn")
    }

    fn random_u64(&mut self) -> u64 {
        fastrand::u64(..)
    }

    fn open_stream(&mut self, _: StreamId) {}

    fn close_stream(&mut self, _: StreamId) {}
}
