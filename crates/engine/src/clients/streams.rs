//! The byte streams of one client: one as a rule, more for transports that poll (one stream to receive, one
//! to send).

use codec::{Stamp, StreamId};
use net::socket::Socket;
use wire::RequestOutcome;

use crate::books::Cause;
use crate::clients::link::Link;

/// The most streams of one client: receive, send, upgrade, and one to spare.
pub(crate) const STREAMS_MAX: usize = 4;

/// A client's links. All but the first live in a box that exists once a session has asked for one.
#[derive(Default)]
pub(crate) struct Streams {
    main: Link,
    more: Option<Box<[Link; STREAMS_MAX - 1]>>,
}

impl Streams {
    /// The link of a stream, if there can be one.
    #[inline]
    pub(crate) fn get(&mut self, stream: StreamId) -> Option<&mut Link> {
        match stream {
            0 => Some(&mut self.main),
            _ => self.more.as_mut()?.get_mut(usize::from(stream) - 1),
        }
    }

    /// Returns whether the main link is being connected, or secured.
    pub(crate) fn is_dialling(&self) -> bool {
        self.main.is_connecting || self.main.is_handshaking()
    }

    /// Sets the socket of a stream, whose connection has begun.
    pub(crate) fn open(&mut self, stream: StreamId, socket: Socket) {
        if stream > 0 {
            self.more.get_or_insert_default();
        }
        *self.get(stream).expect("sessions keep to STREAMS_MAX") = Link::connecting(socket);
    }

    fn links(&mut self) -> impl Iterator<Item = &mut Link> {
        std::iter::once(&mut self.main).chain(self.more.iter_mut().flat_map(|more| more.iter_mut()))
    }

    /// Ends all streams with a reset.
    pub(crate) fn reset(mut self) {
        for socket in self.links().filter_map(|link| link.socket.take()) {
            socket.abort();
        }
    }

    /// Silences the connection: nothing arrives any more, and the server is not told.
    pub(crate) fn silence(&mut self) {
        // Best effort, as on a unix socket, where what arrives waits unread.
        for socket in self.links().filter_map(|link| link.socket.as_ref()) {
            let _ = socket.drop_input();
        }
    }

    /// Ends a stream once what was written to it has been sent.
    pub(crate) fn close(&mut self, stream: StreamId) {
        if let Some(link) = self.get(stream) {
            link.close_when_sent();
        }
    }
}

/// Output of a session, by stream, and where it gets its randomness.
pub(crate) struct Output {
    bytes: [Vec<u8>; STREAMS_MAX],
    /// Streams to open and to close, in the order asked for.
    pub(crate) commands: Vec<StreamCommand>,
    /// Outcomes of messages since they were last taken.
    pub(crate) request_outcomes: Vec<(Stamp, RequestOutcome)>,
    /// The server's reason for closing, in its own words.
    reason: Vec<u8>,
    rng: fastrand::Rng,
}

/// Commands of a session for its streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StreamCommand {
    Open(StreamId),
    Close(StreamId),
}

impl Output {
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            bytes: Default::default(),
            commands: Vec::new(),
            request_outcomes: Vec::new(),
            reason: Vec::new(),
            rng: fastrand::Rng::with_seed(seed),
        }
    }

    /// The output of a client's session, by the client's number in the run.
    #[inline]
    pub(crate) fn of(&mut self, client: u32) -> ClientOutput<'_> {
        ClientOutput { output: self, client }
    }

    /// Takes the server's reason for closing the session that was just driven; empty if it gave none.
    pub(crate) fn take_reason(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.reason)
    }

    /// Bytes that are not sent yet.
    #[inline]
    pub(crate) fn len(&self) -> u32 {
        self.bytes.iter().map(Vec::len).sum::<usize>() as u32
    }

    /// Takes off what was written to the main stream, which `take` is given.
    #[inline]
    pub(crate) fn take_main<T>(&mut self, take: impl FnOnce(&[u8]) -> T) -> T {
        let taken = take(&self.bytes[0]);
        self.bytes[0].clear();
        taken
    }

    /// Sends all output. Nothing is left for another client, even where one of the streams fails.
    #[inline]
    pub(crate) fn flush(&mut self, streams: &mut Streams, scratch: &mut Vec<u8>) -> Result<(), Cause> {
        let mut written = Ok(());
        for (stream, bytes) in self.bytes.iter_mut().enumerate() {
            if bytes.is_empty() {
                continue;
            }
            if let (Ok(()), Some(link)) = (&written, streams.get(stream as StreamId)) {
                written = link.write(bytes, scratch);
            }
            // Cleared and not taken: all clients of the worker write into these buffers.
            bytes.clear();
        }
        written
    }
}

/// The output, as the session of one client has it.
pub(crate) struct ClientOutput<'a> {
    output: &'a mut Output,
    /// The client's number in the run.
    client: u32,
}

impl codec::Io for ClientOutput<'_> {
    #[inline]
    fn out(&mut self, stream: StreamId) -> &mut Vec<u8> {
        &mut self.output.bytes[usize::from(stream)]
    }

    fn random_u64(&mut self) -> u64 {
        self.output.rng.u64(..)
    }

    fn open_stream(&mut self, stream: StreamId) {
        self.output.commands.push(StreamCommand::Open(stream));
    }

    fn close_stream(&mut self, stream: StreamId) {
        self.output.commands.push(StreamCommand::Close(stream));
    }

    fn handle_reason(&mut self, reason: &[u8]) {
        self.output.reason = reason.to_vec();
    }
}

impl wire::Io for ClientOutput<'_> {
    #[inline]
    fn client(&self) -> u32 {
        self.client
    }

    fn handle_request_outcome(&mut self, stamp: Stamp, outcome: RequestOutcome) {
        self.output.request_outcomes.push((stamp, outcome));
    }
}
