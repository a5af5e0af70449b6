//! Client and server joined in memory: what one sends the other understands, in any portions, for every
//! dialect, with and without compression.

use app::Kind;
use codec::DeflateOptions;
use proptest::prelude::*;
use wire::{Client, Config, DialectId, Event, Options, Payload, Role, Server, ServerConfig};

use crate::common::*;

/// A client and a server, and the bytes on their way between them.
struct Joined<'a> {
    cfg: &'a Config,
    server_cfg: &'a ServerConfig,
    client: Client,
    server: Server,
    to_client: Fake,
    to_server: Fake,
    events: Vec<Event>,
    happened: Vec<Happened>,
    now_ns: u64,
}

impl<'a> Joined<'a> {
    fn new(cfg: &'a Config, server_cfg: &'a ServerConfig) -> Joined<'a> {
        let mut joined = Joined {
            cfg,
            server_cfg,
            client: Client::new(),
            server: Server::new(),
            to_client: Fake::default(),
            to_server: Fake::default(),
            events: vec![],
            happened: vec![],
            now_ns: 0,
        };
        joined.client.handle_open(cfg, 0, 0, &mut joined.to_server);
        joined
    }

    /// Carries bytes both ways, at most `portion` at a time, until there are none.
    fn settle(&mut self, mut portion: impl FnMut() -> usize) {
        while !self.to_server.out.is_empty() || !self.to_client.out.is_empty() {
            self.now_ns += 1_000;
            let n = portion().min(self.to_server.out.len());
            let bytes: Vec<u8> = self.to_server.out.drain(..n).collect();
            let (happened, events) = (&mut self.happened, &mut self.events);
            let (cfg, io) = (self.server_cfg, &mut self.to_client);
            let result = self
                .server
                .handle_input(cfg, self.now_ns, 0, &bytes, io, &mut |e| happened.extend(Happened::of(e)));
            assert_eq!(result, Ok(()));
            let n = portion().min(self.to_client.out.len());
            let bytes: Vec<u8> = self.to_client.out.drain(..n).collect();
            let io = &mut self.to_server;
            let result =
                self.client.handle_input(self.cfg, self.now_ns, 0, &bytes, io, &mut |e| events.push(e));
            assert_eq!(result, Ok(()));
        }
    }
}

/// Compressions offered and accepted: nothing, windows that are kept, windows that are forgotten.
const COMPRESSIONS: [Option<DeflateOptions>; 3] = {
    let kept = DeflateOptions { level: 1, no_context_takeover: false };
    [None, Some(kept), Some(DeflateOptions { no_context_takeover: true, ..kept })]
};

fn configs(
    dialect: DialectId,
    deflate: Option<DeflateOptions>,
    padding: Option<u32>,
    text: bool,
) -> (Config, ServerConfig) {
    let options = Options { deflate, payload: Payload { padding, text }, ..options(dialect) };
    (Config::new(options).unwrap(), ServerConfig { deflate, ..ServerConfig::default() })
}

#[test]
fn a_conversation_in_each_dialect() {
    for (dialect, text) in [
        (DialectId::Raw, false),
        (DialectId::Raw, true),
        (DialectId::Json, false),
        (DialectId::Binary, false),
        (DialectId::Actioncable, false),
        (DialectId::Phoenix, false),
        (DialectId::Socketio, false),
    ] {
        for deflate in COMPRESSIONS {
            for step in [1, 3, 1000, usize::MAX] {
                let (cfg, server_cfg) = configs(dialect, deflate, Some(200), text);
                let mut joined = Joined::new(&cfg, &server_cfg);
                joined.settle(|| step);
                assert_eq!(joined.events, [Event::Upgraded, Event::Usable]);
                joined.events.clear();
                for seq in 0..3 {
                    joined.client.send(&cfg, 0, 1, Kind::Echo, stamp(seq), &mut joined.to_server);
                }
                joined.settle(|| step);
                let got: Vec<_> = joined.events.drain(..).collect();
                assert_eq!(got.len(), 3);
                for (seq, event) in (0..).zip(got) {
                    assert!(
                        matches!(event, Event::Message { role: Role::Echo, stamp: s, .. } if s == stamp(seq)),
                        "{dialect:?} {event:?}"
                    );
                }
                joined.client.close(&cfg, 0, 1000, &mut joined.to_server);
                joined.settle(|| step);
                assert_eq!(joined.events, [Event::Closed { code: 1000 }]);
                assert_eq!(joined.happened.last(), Some(&Happened::Closed(1000)));
                assert!(joined.to_client.closed, "the server closes first (RFC 6455 §7.1.1)");
            }
        }
    }
}

#[test]
fn broadcasts_are_one_frame_for_all() {
    for dialect in
        [DialectId::Json, DialectId::Binary, DialectId::Actioncable, DialectId::Phoenix, DialectId::Socketio]
    {
        let [without, with, forgetting] = COMPRESSIONS;
        for (deflate, padding) in
            [(without, None), (without, Some(100)), (with, Some(1000)), (forgetting, Some(1000))]
        {
            let (cfg, server_cfg) = configs(dialect, deflate, padding, false);
            let mut joined = Joined::new(&cfg, &server_cfg);
            joined.settle(|| usize::MAX);
            joined.events.clear();
            joined.client.send(&cfg, 0, 1, Kind::Broadcast, stamp(7), &mut joined.to_server);
            joined.settle(|| usize::MAX);
            assert!(
                matches!(joined.events[..], [Event::Message { role: Role::Ack, stamp: s, .. }] if s == stamp(7)),
                "{:?}",
                joined.events
            );
            joined.events.clear();
            let is_broadcast = |of: &&Happened| matches!(of, Happened::Broadcast(_));
            let Some(Happened::Broadcast(frame)) = joined.happened.iter().rfind(is_broadcast).cloned() else {
                panic!("{:?}", joined.happened)
            };
            // Any member understands the frame, with compression or without.
            joined.to_client.out.extend_from_slice(&frame);
            joined.settle(|| 1);
            assert!(
                matches!(joined.events[..], [Event::Message { role: Role::Copy, stamp: s, .. }] if s == stamp(7))
            );
        }
    }
}

#[test]
fn the_result_of_a_recorded_broadcast() {
    let cfg = ServerConfig::default();
    let broadcast = br#"{"type":"broadcast","payload":{"foo": "bar"}}"#;
    let outcome = serve_frames(&cfg, &masked(0x81, broadcast));
    assert_eq!(outcome.events, [Happened::Broadcast(plain(0x81, broadcast))]);
    assert_eq!(outcome.out, plain(0x81, br#"{"type":"broadcastResult","payload":{"foo": "bar"}}"#));
    // Other orders and blanks are kept; longer results take a longer header.
    let padding = "x".repeat(60);
    let broadcast = format!(r#"{{ "payload" : "{padding}{padding}" , "type" : "broadcast" }}"#);
    let result = broadcast.replace("broadcast", "broadcastResult");
    let outcome = serve_frames(&cfg, &masked(0x81, broadcast.as_bytes()));
    assert_eq!(outcome.out, plain(0x81, result.as_bytes()));
    // Binary: the same with 'r' for 'b'. A wrong size makes it raw.
    let broadcast = b"b\0\0\0\x0a\0\0\0\0\0\0\0\x01ab";
    let outcome = serve_frames(&cfg, &masked(0x82, broadcast));
    assert_eq!(outcome.events, [Happened::Broadcast(plain(0x82, broadcast))]);
    assert_eq!(outcome.out, plain(0x82, b"r\0\0\0\x0a\0\0\0\0\0\0\0\x01ab"));
    for raw in [&b"b\0\0\0\x0b\0\0\0\0\0\0\0\x01ab"[..], b"b", b"", b"b\0\0\0\0"] {
        let outcome = serve_frames(&cfg, &masked(0x82, raw));
        assert_eq!(outcome.events, [Happened::Echoed(raw.len() as u32)]);
    }
}

#[test]
fn one_dialect_only_when_so_configured() {
    let broadcast = br#"{"type":"broadcast","payload":1}"#;
    for (dialect, frame, events) in [
        (DialectId::Raw, masked(0x81, broadcast), 1),
        (DialectId::Json, masked(0x81, b"not json"), 0),
        (DialectId::Json, masked(0x82, broadcast), 0),
        (DialectId::Binary, masked(0x81, broadcast), 0),
    ] {
        let cfg = ServerConfig { dialect: Some(dialect), ..ServerConfig::default() };
        let outcome = serve_frames(&cfg, &frame);
        assert_eq!(outcome.events.len(), events, "{dialect:?}");
        assert!(!matches!(outcome.events.first(), Some(Happened::Broadcast(_))));
        assert_eq!(outcome.out.is_empty(), events == 0);
    }
}

#[test]
fn the_server_can_close_first() {
    let (cfg, server_cfg) = configs(DialectId::Json, None, None, false);
    let mut joined = Joined::new(&cfg, &server_cfg);
    joined.settle(|| usize::MAX);
    joined.events.clear();
    joined.server.close(&server_cfg, 0, 1001, &mut joined.to_client);
    joined.server.close(&server_cfg, 0, 1000, &mut joined.to_client);
    assert!(!joined.to_client.closed, "the client's answer is waited for");
    // A message that crosses the close gets no answer.
    joined.client.send(&cfg, 0, 1, Kind::Echo, stamp(1), &mut joined.to_server);
    joined.settle(|| usize::MAX);
    assert_eq!(joined.events, [Event::Closed { code: 1001 }]);
    assert_eq!(joined.happened, [Happened::Upgraded, Happened::Closed(1001)]);
    assert!(joined.to_client.closed);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_conversation_in_any_portions(
        dialect in prop::sample::select(vec![DialectId::Raw, DialectId::Json, DialectId::Binary]),
        deflate in prop::sample::select(COMPRESSIONS.to_vec()),
        padding in 60..3000u32,
        portions in prop::collection::vec(1..400usize, 1..20),
        messages in 1..8u32,
    ) {
        let (cfg, server_cfg) = configs(dialect, deflate, Some(padding), false);
        let mut joined = Joined::new(&cfg, &server_cfg);
        let mut portions = portions.into_iter().cycle();
        joined.settle(|| portions.next().unwrap());
        joined.events.clear();
        for seq in 0..messages {
            joined.client.send(&cfg, 0, u64::from(seq), Kind::Echo, stamp(seq), &mut joined.to_server);
        }
        joined.settle(|| portions.next().unwrap());
        let stamps: Vec<_> = joined.events.iter().map(|e| match e {
            Event::Message { role: Role::Echo, stamp, .. } => *stamp,
            other => panic!("{other:?}"),
        }).collect();
        prop_assert_eq!(stamps, (0..messages).map(stamp).collect::<Vec<_>>());
    }
}
