//! A client over plain requests, with streams that the test plays the server of.

use app::Kind;
use codec::StreamId;
use wire::{Client, Config, DialectId, Event, Failure, Io, Settings};

use super::{options, stamp};

/// Streams, and what became of them.
#[derive(Default)]
pub(crate) struct Streams {
    pub(crate) out: [Vec<u8>; 3],
    pub(crate) opened: Vec<StreamId>,
    pub(crate) closed: Vec<StreamId>,
    pub(crate) reason: Vec<u8>,
    pub(crate) seed: u64,
}

impl codec::Io for Streams {
    fn out(&mut self, stream: StreamId) -> &mut Vec<u8> {
        &mut self.out[usize::from(stream)]
    }

    fn random_u64(&mut self) -> u64 {
        self.seed += 1;
        self.seed
    }

    fn open_stream(&mut self, stream: StreamId) {
        self.opened.push(stream);
    }

    fn close_stream(&mut self, stream: StreamId) {
        self.closed.push(stream);
    }

    fn handle_reason(&mut self, reason: &[u8]) {
        self.reason = reason.to_vec();
    }
}

impl Io for Streams {}

/// A client and its streams.
pub(crate) struct User {
    pub(crate) cfg: Config,
    pub(crate) client: Client,
    pub(crate) io: Streams,
    pub(crate) events: Vec<Event>,
}

impl User {
    /// Connected, and having asked for frames.
    pub(crate) fn of(transport: &str) -> User {
        let mut options = options(DialectId::Sockjs);
        options.path = "/echo?token=t".into();
        options.of_dialect.settings = Settings::default().with("transport", transport);
        User::with(Config::new(options).unwrap())
    }

    /// Connected, and having made the first request of these options.
    pub(crate) fn with(cfg: Config) -> User {
        let mut user = User { cfg, client: Client::new(), io: Streams::default(), events: Vec::new() };
        user.open(0);
        user
    }

    pub(crate) fn open(&mut self, stream: StreamId) {
        self.client.handle_open(&self.cfg, 5, stream, &mut self.io);
    }

    pub(crate) fn handle(&mut self, stream: StreamId, bytes: &[u8]) -> Result<(), Failure> {
        let Self { cfg, client, io, events } = self;
        client.handle_input(cfg, 5, stream, bytes, io, &mut |event| events.push(event))
    }

    pub(crate) fn hear_by(&mut self, stream: StreamId, bytes: &[u8], step: usize) -> Result<(), Failure> {
        bytes.chunks(step).try_for_each(|portion| self.handle(stream, portion))
    }

    pub(crate) fn eof(&mut self, stream: StreamId) -> Result<(), Failure> {
        let Self { cfg, client, io, events } = self;
        client.handle_eof(cfg, 5, stream, io, &mut |event| events.push(event))
    }

    pub(crate) fn send(&mut self, seq: u32) {
        self.client.send(&self.cfg, 6, 1_700_000_000_000_000_000, Kind::Echo, stamp(seq), &mut self.io);
    }

    pub(crate) fn said(&mut self, stream: usize) -> String {
        String::from_utf8(std::mem::take(&mut self.io.out[stream])).unwrap()
    }

    pub(crate) fn events(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.events)
    }
}
