//! Clients over plain requests, whatever happens to their connections, in any order.

use proptest::prelude::*;
use wire::{Config, DialectId, Settings};

use crate::common::user::User;
use crate::common::*;

/// An event on a stream.
#[derive(Clone, Copy, Debug)]
enum Step {
    Open,
    Hear(usize),
    End,
    Lost,
    Wait,
    Send,
}

/// Words of servers: whole answers of each kind, some of which close, and parts of one.
const ANSWERS: [&str; 12] = [
    "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\no\n",
    "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nh\n",
    "HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\na[\"x\"]\n",
    "HTTP/1.0 200 OK\r\n\r\nh\n",
    "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\na[",
    "HTTP/1.1 204 No Content\r\n\r\n",
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\nid: 1\ndata: x\n\n",
    "HTTP/1.1 200 OK\r\nContent-Length: 85\r\n\r\n0{\"sid\":\"lv_VI97HAXpY6yYWAAAC\",\"upgrades\":[],\"pingInterval\":25000,\"pingTimeout\":5000}",
    "HTTP/1.1 200 OK\r\nContent-Length: 32\r\n\r\n40{\"sid\":\"wZX3oN0bSVIhsaknAAAI\"}",
    "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
    "HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n",
    "HTTP/1.1 302 Found\r\nLocation: /next\r\nContent-Length: 0\r\n\r\n",
];

/// A stream of the client's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stream {
    Absent,
    Asked,
    Open,
}

/// A client, and its streams as a driver has them.
struct Driven {
    user: User,
    streams: [Stream; 3],
    now_ns: u64,
    sent: u32,
}

impl Driven {
    fn new(dialect: DialectId, transport: &str) -> Driven {
        let mut all = options(dialect);
        if !transport.is_empty() {
            all.of_dialect.settings = Settings::default().with("transport", transport);
        }
        let user = User::with(Config::new(all).unwrap());
        let mut driven = Driven { user, streams: [Stream::Absent; 3], now_ns: 5, sent: 0 };
        driven.streams[0] = Stream::Open;
        driven.carry_out();
        driven
    }

    /// Closes and opens the streams as the client has asked.
    fn carry_out(&mut self) {
        for stream in std::mem::take(&mut self.user.io.closed) {
            self.streams[usize::from(stream)] = Stream::Absent;
        }
        for stream in std::mem::take(&mut self.user.io.opened) {
            self.streams[usize::from(stream)] = Stream::Asked;
        }
    }

    /// Does a step, if that can happen now. Returns whether the client lives on.
    fn does(&mut self, at: usize, step: Step) -> bool {
        let stream = at as u8;
        let lives = match (step, self.streams[at]) {
            (Step::Open, Stream::Asked) => {
                self.streams[at] = Stream::Open;
                self.user.open(stream);
                true
            }
            (Step::Hear(answer), Stream::Open) => {
                self.user.handle(stream, ANSWERS[answer].as_bytes()).is_ok()
            }
            (Step::End, Stream::Open) => {
                self.streams[at] = Stream::Absent;
                self.user.eof(stream).is_ok()
            }
            (Step::Lost, Stream::Open | Stream::Asked) => {
                self.streams[at] = Stream::Absent;
                let User { cfg, client, io, .. } = &mut self.user;
                client.handle_lost(cfg, self.now_ns, stream, io)
            }
            (Step::Wait, _) => {
                self.now_ns += 20_000_000_000;
                let User { cfg, client, io, events } = &mut self.user;
                client.handle_timeout(cfg, self.now_ns, io, &mut |event| events.push(event)).is_ok()
            }
            (Step::Send, _) if self.user.client.is_usable() => {
                self.sent += 1;
                self.user.send(self.sent);
                true
            }
            _ => true,
        };
        self.carry_out();
        lives
    }
}

fn steps() -> impl Strategy<Value = Vec<(usize, Step)>> {
    let step = prop_oneof![
        3 => Just(Step::Open),
        6 => (0..ANSWERS.len()).prop_map(Step::Hear),
        2 => Just(Step::End),
        1 => Just(Step::Lost),
        1 => Just(Step::Wait),
        2 => Just(Step::Send),
    ];
    prop::collection::vec((0..3usize, step), 0..24)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn sessions_over_requests_never_wait_for_nothing(steps in steps()) {
        for (dialect, transport) in [
            (DialectId::Sockjs, "xhr-polling"),
            (DialectId::Sockjs, "xhr-streaming"),
            (DialectId::Sockjs, "eventsource"),
            (DialectId::Socketio, "polling"),
            (DialectId::Socketio, "upgrade"),
            (DialectId::Sse, ""),
        ] {
            let mut driven = Driven::new(dialect, transport);
            let lives = steps.iter().all(|&(at, step)| driven.does(at, step));
            let client = &driven.user.client;
            // A client that listens does so on the first stream; with another, Socket.IO has its heartbeat.
            let waits = driven.streams[0] != Stream::Absent || client.poll_timeout().is_some() || client.is_closed();
            prop_assert!(!lives || waits, "{dialect:?} {transport}");
        }
    }

    #[test]
    fn requests_survive_any_order(steps in steps()) {
        let mut driven = Driven::new(DialectId::Http, "");
        _ = steps.iter().all(|&(at, step)| driven.does(at, step));
    }
}
