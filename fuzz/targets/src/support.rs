//! Support of the targets: a driver without a network, and the two ways to feed a session.

use std::sync::Arc;

use app::app_file::{AppFile, Condition, Exchange, JsonScalar, OpenStep, Reaction, Refusal, Say};
use app::template::{Names, Purpose, Quoting, Template};
use codec::StreamId;
use codec::ws::upgrade::accept_of;
use wire::{Carrier, Client, Config, DialectId, DialectOptions, Io, Options, Payload};

/// Output kept, randomness fixed: the same input must do the same each time.
#[derive(Default)]
pub struct Fake {
    /// Bytes sent.
    pub out: Vec<u8>,
}

impl codec::Io for Fake {
    fn out(&mut self, _: StreamId) -> &mut Vec<u8> {
        &mut self.out
    }

    fn random_u64(&mut self) -> u64 {
        0x9e37_79b9_7f4a_7c15
    }

    fn open_stream(&mut self, _: StreamId) {}

    fn close_stream(&mut self, _: StreamId) {}
}

impl Io for Fake {}

/// Splits the fuzzer's input: the first byte is the size of the portions in which the rest is fed.
pub fn split(data: &[u8]) -> Option<(usize, &[u8])> {
    let (&step, rest) = data.split_first()?;
    Some((usize::from(step).max(1), rest))
}

/// The choice of a byte of the input.
pub fn choose<T: Copy>(from: &[T], by: u8) -> T {
    from[usize::from(by) % from.len()]
}

/// Checks that input fed whole and in portions of `step` comes to the same.
pub fn check_portions<T: PartialEq + std::fmt::Debug>(
    bytes: &[u8],
    step: usize,
    run: impl Fn(&[&[u8]]) -> T,
) {
    let portions: Vec<&[u8]> = bytes.chunks(step).collect();
    assert_eq!(run(&[bytes]), run(&portions), "in portions of {step}");
}

/// Small limits, so that the fuzzer reaches them.
pub fn limits() -> codec::Limits {
    codec::Limits {
        head_bytes_max: 512,
        headers_max: 8,
        body_bytes_max: 256,
        frame_bytes_max: 512,
        message_bytes_max: 1024,
        fragments_max: 8,
    }
}

/// A client's options, with small limits.
pub fn options(dialect: DialectId, path: &str) -> Options {
    Options {
        dialect,
        host: "h".into(),
        path: path.into(),
        headers: vec![],
        subprotocols: vec![],
        origin: None,
        basic_auth: None,
        deflate: None,
        limits: limits(),
        payload: Payload { padding: Some(10), text: false },
        of_dialect: DialectOptions::default(),
        people: Arc::default(),
        carrier: Carrier::default(),
        is_secure: false,
    }
}

/// Checks a client over plain requests that gets these bytes for an answer to its first.
pub fn check_requests(dialect: DialectId, path: &str, of_dialect: DialectOptions, bytes: &[u8], step: usize) {
    let cfg = Config::new(Options { of_dialect, ..options(dialect, path) }).expect("good options");
    check_portions(bytes, step, |portions| {
        let (mut client, mut io, mut events) = (Client::new(), Fake::default(), Vec::new());
        client.handle_open(&cfg, 0, 0, &mut io);
        let result = portions.iter().try_for_each(|portion| {
            client.handle_input(&cfg, 0, 0, portion, &mut io, &mut |event| events.extend(event.each()))
        });
        (io.out, events, result)
    });
}

/// A good answer to a client's upgrade request, with `fields` added.
pub fn answer(request: &[u8], fields: &str) -> Vec<u8> {
    let request = std::str::from_utf8(request).expect("ASCII");
    let key = request.split("\r\nSec-WebSocket-Key: ").nth(1).expect("a key");
    let accept = accept_of(key.split("\r\n").next().expect("a line").as_bytes());
    let head = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n";
    [&head[..], fields.as_bytes(), b"Sec-WebSocket-Accept: ", &accept, b"\r\n\r\n"].concat()
}

/// Options with an app of one's own that has something of everything, in JSON objects that any protocol
/// carries, and looks for `text` at `pointer`.
pub fn app(pointer: &str, text: &str) -> DialectOptions {
    let json = |value| Condition { json: vec![(pointer.into(), value)], ..Condition::default() };
    let contains = |text: &str| Condition { contains: Some(text.into()), ..Condition::default() };
    let regex = Condition { regex: Some(r#""n":\s*\d+"#.into()), ..Condition::default() };
    let say = |text, purpose| Say {
        event: "said".into(),
        body: Template::parse(text, purpose, &Names::default(), Quoting::JSON).expect("a good template"),
        ..Say::default()
    };
    let app = AppFile {
        open: vec![
            OpenStep::Send(say(r#"{"hello":{client}}"#, Purpose::Other)),
            OpenStep::Expect(json(JsonScalar::Text(text.into()))),
        ],
        echo: Some(Exchange {
            send: say(r#"{"id":"{id}"}"#, Purpose::Measured),
            reply: Some(regex),
            keep: vec![],
            is_replied: false,
        }),
        errors: vec![Refusal { kind: "fuzz".into(), when: json(JsonScalar::Bare(text.into())) }],
        answers: vec![Reaction { when: contains("ping"), send: say(r#"{"pong":{seq}}"#, Purpose::Other) }],
        ignore: vec![contains("noise")],
        ..AppFile::default()
    };
    DialectOptions { app: Some(Arc::new(app)), ..DialectOptions::default() }
}
