//! A driver without a network: what a session may do to the world, recorded.

pub(crate) mod http2;
pub(crate) mod phoenix;
pub(crate) mod user;
pub(crate) mod visitor;
pub(crate) mod world;

use app::Kind;
use codec::ws::mask::{self, Key};
use codec::{Io, Limits, Stamp, StreamId};
use wire::{
    Carrier, Client, Config, DialectId, DialectOptions, Event, Failure, Options, Payload, Room, Server,
    ServerConfig, ServerEvent,
};

/// Output, and randomness that is the same each time.
#[derive(Default)]
pub(crate) struct Fake {
    pub(crate) out: Vec<u8>,
    pub(crate) closed: bool,
    pub(crate) reason: Vec<u8>,
    client: u32,
    seed: u64,
}

impl Fake {
    /// The connection of client number `client`.
    pub(crate) fn of(client: u32) -> Fake {
        Fake { client, ..Fake::default() }
    }

    /// A connection with chances of its own.
    pub(crate) fn seeded(seed: u64) -> Fake {
        Fake { seed, ..Fake::default() }
    }
}

impl Io for Fake {
    fn out(&mut self, stream: StreamId) -> &mut Vec<u8> {
        assert_eq!(stream, 0);
        &mut self.out
    }

    fn random_u64(&mut self) -> u64 {
        self.seed = self.seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.seed ^ (self.seed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed ^ (mixed >> 27)
    }

    fn open_stream(&mut self, stream: StreamId) {
        panic!("stream {stream} opened");
    }

    fn close_stream(&mut self, stream: StreamId) {
        assert_eq!(stream, 0);
        self.closed = true;
    }

    fn handle_reason(&mut self, reason: &[u8]) {
        self.reason = reason.to_vec();
    }
}

impl wire::Io for Fake {
    fn client(&self) -> u32 {
        self.client
    }
}

pub(crate) fn options(dialect: DialectId) -> Options {
    Options {
        dialect,
        carrier: Carrier::Http1,
        is_secure: false,
        host: "127.0.0.1:9000".into(),
        path: dialect.facts().paths.first().copied().unwrap_or("/ws").into(),
        headers: vec![],
        subprotocols: vec![],
        origin: None,
        basic_auth: None,
        deflate: None,
        limits: Limits::default(),
        payload: Payload::default(),
        of_dialect: DialectOptions::default(),
        people: Default::default(),
    }
}

pub(crate) fn config(dialect: DialectId) -> Config {
    Config::new(options(dialect)).unwrap()
}

pub(crate) fn stamp(seq: u32) -> Stamp {
    let intended_ns = 1_000_000 + u64::from(seq);
    Stamp::new(1, 2, seq, intended_ns, intended_ns + 5_000_000)
}

/// The request of RFC 6455 §1.3, with `fields` added.
pub(crate) fn request(fields: &str) -> String {
    format!(
        "GET /chat HTTP/1.1\r\nHost: server.example.com\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n{fields}\r\n"
    )
}

/// A server event that outlives its frame.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Happened {
    Upgraded,
    Joined(Room),
    Left(Room),
    Echoed(u32),
    Broadcast(Vec<u8>),
    Rebroadcast(Vec<u8>),
    Requested(bool),
    StreamLost(u32),
    StreamDrained(u32),
    Closed(u16),
}

impl Happened {
    /// Records an event; everyone in a dialect without topics joins its one room, which is no news.
    pub(crate) fn of(event: ServerEvent<'_>) -> Option<Happened> {
        Some(match event {
            ServerEvent::Upgraded => Happened::Upgraded,
            ServerEvent::Asked => return None,
            ServerEvent::Joined { room } if room.topic == 0 => return None,
            ServerEvent::Joined { room } => Happened::Joined(room),
            ServerEvent::Left { room } => Happened::Left(room),
            ServerEvent::Echoed { bytes } => Happened::Echoed(bytes),
            ServerEvent::Broadcast { frame, .. } => Happened::Broadcast(frame.to_vec()),
            ServerEvent::Rebroadcast { frame, .. } => Happened::Rebroadcast(frame.to_vec()),
            ServerEvent::Requested { keep_alive } => Happened::Requested(keep_alive),
            ServerEvent::StreamLost { stream } => Happened::StreamLost(stream),
            ServerEvent::StreamDrained { stream } => Happened::StreamDrained(stream),
            ServerEvent::Closed { code } => Happened::Closed(code),
        })
    }
}

/// All that came of some input: events, output, result.
#[derive(PartialEq, Eq, Debug)]
pub(crate) struct Outcome<E> {
    pub(crate) events: Vec<E>,
    pub(crate) out: Vec<u8>,
    pub(crate) result: Result<(), Failure>,
    /// The reason of the close frame.
    pub(crate) reason: Vec<u8>,
}

/// A server that is fed `bytes` in portions; the handshake's answer is in the output.
pub(crate) fn serve_portions(cfg: &ServerConfig, portions: &[&[u8]]) -> Outcome<Happened> {
    let (mut server, mut io, mut events) = (Server::new(), Fake::default(), Vec::new());
    let mut result = Ok(());
    for portion in portions {
        result = server.handle_input(cfg, 0, 0, portion, &mut io, &mut |e| events.extend(Happened::of(e)));
        if result.is_err() {
            break;
        }
    }
    Outcome { events, out: io.out, result, reason: io.reason }
}

/// As [`serve_portions`], and the same byte by byte, which must come to the same.
pub(crate) fn serve(cfg: &ServerConfig, bytes: &[u8]) -> Outcome<Happened> {
    let whole = serve_portions(cfg, &[bytes]);
    let bytewise = serve_portions(cfg, &bytes.chunks(1).collect::<Vec<_>>());
    assert_eq!(whole, bytewise, "whole and byte by byte differ for {}", bytes.escape_ascii());
    whole
}

/// The outcome of `frames` at a server after the handshake of [`request`], without the handshake.
pub(crate) fn serve_frames(cfg: &ServerConfig, frames: &[u8]) -> Outcome<Happened> {
    serve_at(cfg, "/chat", "", frames)
}

/// As [`serve_frames`], at another path and with `fields` in the request.
pub(crate) fn serve_at(cfg: &ServerConfig, path: &str, fields: &str, frames: &[u8]) -> Outcome<Happened> {
    let request = request(fields).replace("/chat", path);
    let mut outcome = serve(cfg, &[request.as_bytes(), frames].concat());
    assert_eq!(outcome.events.remove(0), Happened::Upgraded);
    let head = outcome.out.windows(4).position(|w| w == b"\r\n\r\n").unwrap() + 4;
    outcome.out.drain(..head);
    outcome
}

/// A client that has sent its request, and the answer it waits for with `fields` added.
pub(crate) fn opening(cfg: &Config, fields: &str) -> (Client, Fake, Vec<u8>) {
    let (mut client, mut io) = (Client::new(), Fake::default());
    client.handle_open(cfg, 0, 0, &mut io);
    let answer = accept(&std::mem::take(&mut io.out), fields);
    (client, io, answer)
}

/// The message with this stamp, unmasked.
pub(crate) fn message(cfg: &Config, kind: Kind, stamp: Stamp) -> Vec<u8> {
    let (mut client, mut io, answer) = opening(cfg, "");
    client.handle_input(cfg, 0, 0, &answer, &mut io, &mut |_| {}).unwrap();
    client.send(cfg, 0, 1_478_000_000_123_456_789, kind, stamp, &mut io);
    let mut out = std::mem::take(io.out(0));
    let header = match out[1] & 0x7f {
        126 => 8,
        127 => 14,
        _ => 6,
    };
    let key = out[header - 4..header].try_into().unwrap();
    mask::apply(&mut out[header..], Key::new(key), 0);
    out.split_off(header)
}

/// The answer to an upgrade request, with `fields` added.
pub(crate) fn accept(request: &[u8], fields: &str) -> Vec<u8> {
    let request = std::str::from_utf8(request).unwrap();
    let key = request.split("Sec-WebSocket-Key: ").nth(1).unwrap().split("\r\n").next().unwrap();
    let accept = codec::ws::upgrade::accept_of(key.as_bytes());
    let accept = std::str::from_utf8(&accept).unwrap();
    let answer = format!(
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Accept: {accept}\r\n{fields}\r\n"
    );
    answer.into_bytes()
}

/// Events of bytes that follow the 101, fed in portions of `step` together with it.
fn receive_by(cfg: &Config, fields: &str, frames: &[u8], step: usize) -> Outcome<Event> {
    let (mut client, mut io, answer) = opening(cfg, fields);
    let (mut events, mut result) = (Vec::new(), Ok(()));
    for portion in [&answer, frames].concat().chunks(step) {
        result = client.handle_input(cfg, 0, 0, portion, &mut io, &mut |e| events.extend(e.each()));
        if result.is_err() {
            break;
        }
    }
    Outcome { events, out: io.out, result, reason: io.reason }
}

/// The outcome of `frames` at a client after its handshake, whole and byte by byte. The client is usable at
/// once.
pub(crate) fn receive(cfg: &Config, fields: &str, frames: &[u8]) -> Outcome<Event> {
    let mut outcome = receive_all(cfg, fields, frames);
    assert_eq!(outcome.events.remove(0), Event::Usable);
    outcome
}

/// The outcome for any dialect, read whole and byte by byte, without the first event.
pub(crate) fn receive_all(cfg: &Config, fields: &str, frames: &[u8]) -> Outcome<Event> {
    let whole = receive_by(cfg, fields, frames, usize::MAX);
    let bytewise = receive_by(cfg, fields, frames, 1);
    assert_eq!(whole, bytewise, "whole and byte by byte differ for {}", frames.escape_ascii());
    let mut outcome = whole;
    assert_eq!(outcome.events.remove(0), Event::Upgraded);
    outcome
}

/// Several text messages of a server.
pub(crate) fn texts(messages: &[&str]) -> Vec<u8> {
    messages.iter().flat_map(|message| plain(0x81, message.as_bytes())).collect()
}

/// Several text messages of a client.
pub(crate) fn masked_texts(messages: &[&str]) -> Vec<u8> {
    messages.iter().flat_map(|message| masked(0x81, message.as_bytes())).collect()
}

/// The payloads of the frames in some output; of a close frame its code; binary ones in hex.
pub(crate) fn said(mut out: &[u8]) -> Vec<String> {
    let mut all = Vec::new();
    while let [first, second, rest @ ..] = out {
        let (len, rest) = match second & 0x7f {
            126 => (usize::from(u16::from_be_bytes([rest[0], rest[1]])), &rest[2..]),
            127 => panic!("no test says so much"),
            len => (usize::from(len), rest),
        };
        let (key, rest) = if second & 0x80 == 0 { (&[0; 4][..], rest) } else { rest.split_at(4) };
        let payload: Vec<u8> = rest[..len].iter().zip(key.iter().cycle()).map(|(b, k)| b ^ k).collect();
        all.push(match first & 0xf {
            1 => String::from_utf8(payload).unwrap(),
            8 => format!("close {}", u16::from_be_bytes([payload[0], payload[1]])),
            _ => payload.iter().map(|b| format!("{b:02x}")).collect(),
        });
        out = &rest[len..];
    }
    all
}

/// One frame as it goes over the wire; `first` is its first byte.
pub(crate) fn frame(first: u8, key: Option<[u8; 4]>, payload: &[u8]) -> Vec<u8> {
    let mut out = vec![first];
    let mask_bit = if key.is_some() { 0x80 } else { 0 };
    match payload.len() {
        n @ 0..=125 => out.push(mask_bit | n as u8),
        n @ 126..=0xffff => {
            out.push(mask_bit | 126);
            out.extend_from_slice(&(n as u16).to_be_bytes());
        }
        n => {
            out.push(mask_bit | 127);
            out.extend_from_slice(&(n as u64).to_be_bytes());
        }
    }
    out.extend_from_slice(&key.unwrap_or_default()[..if key.is_some() { 4 } else { 0 }]);
    let key = key.unwrap_or([0; 4]);
    out.extend(payload.iter().enumerate().map(|(i, b)| b ^ key[i % 4]));
    out
}

/// A client's frame.
pub(crate) fn masked(first: u8, payload: &[u8]) -> Vec<u8> {
    frame(first, Some([0x37, 0xfa, 0x21, 0x3d]), payload)
}

/// A server's frame.
pub(crate) fn plain(first: u8, payload: &[u8]) -> Vec<u8> {
    frame(first, None, payload)
}
