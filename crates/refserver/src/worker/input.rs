//! Input: bytes, ends of streams, and the sessions' answers.

use std::cell::Cell;
use std::io;
use std::ops::Range;

use codec::StreamId;
use net::errors::ErrorKind;
use net::poll::Event;
use net::tls::Tls;
use wire::{AnswerPart, Failure, Io, Server, ServerConfig, ServerEvent};
use wire::{SessionRequest, SessionSignal};

use super::{Buffers, READ_BYTES, Worker};
use crate::connection::Phase;
use crate::faults::whole;

/// The most reads of one connection per turn, so that a flood of one client waits for the others.
pub(super) const READS_PER_TURN: usize = 8;

/// The results of one call of a session, besides its output.
#[derive(Default)]
struct Verdict {
    /// True if the first answer is written: the handshake's deadline is met.
    answered: bool,
    /// The ranges of the output that hold echoes, for the faults.
    echoes: Vec<Range<usize>>,
    /// True if the connection ends when the output is sent.
    ends: bool,
    /// Number of requests for sessions that are complete.
    asked: usize,
    /// Streams of HTTP/2 that the client has reset.
    lost: Vec<u32>,
    /// Streams whose client has taken all that waited for it.
    drained: Vec<u32>,
}

impl Verdict {
    /// Notes an event of the session, for which it writes from `at` on: echoes go on up to the next event of
    /// another kind.
    fn note_echo(&mut self, is_echo: bool, at: usize) {
        match self.echoes.last_mut().filter(|last| last.end == usize::MAX) {
            None if is_echo => self.echoes.push(at..usize::MAX),
            Some(last) if !is_echo => last.end = at,
            _ => {}
        }
    }
}

/// The session's side of a connection.
struct SessionIo<'a> {
    output: &'a mut Vec<u8>,
    rng: &'a mut fastrand::Rng,
    closes: bool,
    /// The end of the frames that were whole when the session last wrote; only for the faults.
    whole: Option<&'a Cell<usize>>,
}

impl codec::Io for SessionIo<'_> {
    fn out(&mut self, _stream: StreamId) -> &mut Vec<u8> {
        if let Some(end) = self.whole {
            end.set(whole(self.output, end.get()));
        }
        self.output
    }

    fn random_u64(&mut self) -> u64 {
        self.rng.u64(..)
    }

    fn open_stream(&mut self, _stream: StreamId) {
        unreachable!("a server does not connect");
    }

    fn close_stream(&mut self, _stream: StreamId) {
        self.closes = true;
    }
}

impl Io for SessionIo<'_> {}

/// A method of a session to call.
pub(super) enum Call<'a> {
    Input(&'a [u8]),
    Eof,
    Timeout,
    Close(u16),
    /// A session has answered its request, and gives this signal besides.
    Answered(Option<SessionSignal>),
    /// A session has written a part of its answer on a stream of HTTP/2.
    Part(u32, &'a [u8], AnswerPart),
}

impl Call<'_> {
    fn on(
        self,
        session: &mut Server,
        cfg: &ServerConfig,
        now_ns: u64,
        io: &mut SessionIo<'_>,
        on: &mut impl FnMut(ServerEvent<'_>),
    ) -> Result<(), Failure> {
        match self {
            Call::Input(bytes) => session.handle_input(cfg, now_ns, 0, bytes, io, on),
            Call::Eof => session.handle_eof(cfg, now_ns, 0, on),
            Call::Timeout => session.handle_timeout(cfg, now_ns, io),
            Call::Answered(word) => session.handle_answered(cfg, now_ns, word, io, on),
            Call::Part(stream, part, then) => {
                session.handle_part(stream, part, then, io, on);
                Ok(())
            }
            Call::Close(code) => {
                session.close(cfg, now_ns, code, io);
                Ok(())
            }
        }
    }
}

impl Worker {
    pub(super) fn handle_connection(&mut self, event: Event) {
        let Some(key) = self.find(event.token) else { return };
        if event.error {
            let error = self.connections[key].link.socket.take_error();
            // An error that cannot be asked for is an error, too.
            if let Some(error) = error.unwrap_or_else(Some) {
                return self.fail(key, ErrorKind::of(&error));
            }
        }
        if event.writable && self.connections[key].link.unsent_bytes() > 0 {
            self.flush(key);
        }
        // A connection that will be read anyway is not read twice: a flood would get ever more reads in a
        // turn.
        if event.readable && self.connections.get(key).is_some_and(|connection| !connection.is_unfinished) {
            self.read(event.token, event.closed);
        }
    }

    /// Has a connection read without an event: still in this turn, or else in the next.
    pub(super) fn read_later(&mut self, key: usize) {
        let token = self.token_of(key);
        if !std::mem::replace(&mut self.connections[key].is_unfinished, true) {
            self.unfinished.push(token);
        }
    }

    /// Has a connection read that was held back, if it no longer has to be.
    pub(super) fn resume_reading(&mut self, key: usize) {
        let connection = &mut self.connections[key];
        if connection.unread && !connection.is_held_back() {
            connection.unread = false;
            self.read_later(key);
        }
    }

    /// Reads an entry of the unfinished connections.
    pub(super) fn read_unfinished(&mut self, token: u64) {
        if let Some(key) = self.find(token) {
            self.connections[key].is_unfinished = false;
            self.read(token, true);
        }
    }

    /// Reads until the socket is empty: a short read shows that, unless the peer has closed.
    fn read(&mut self, token: u64, closed: bool) {
        for _ in 0..READS_PER_TURN {
            let Some(key) = self.find(token) else { return };
            if self.is_deaf(key, token) {
                return;
            }
            let connection = &mut self.connections[key];
            // Noted, as no event comes for bytes that have been announced.
            if connection.is_held_back() {
                connection.unread = true;
                return;
            }
            match connection.link.socket.recv(&mut self.buffers.input) {
                Ok(0) => return self.handle_eof(key),
                Ok(count) => {
                    self.handle_bytes(key, count);
                    self.bound_batches();
                    if count < READ_BYTES && !closed {
                        return;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    // A peer that has ended TLS need not end TCP.
                    if self.connections[key].tls.as_ref().is_some_and(Tls::peer_closed) {
                        self.handle_eof(key);
                    }
                    return;
                }
                Err(error) => return self.fail(key, ErrorKind::of(&error)),
            }
        }
        let Some(key) = self.find(token) else { return };
        // There may be more, and no event comes for it.
        if !std::mem::replace(&mut self.connections[key].is_unfinished, true) {
            self.exhausted.push(token);
        }
    }

    /// Handles `count` bytes that are in the input buffer.
    fn handle_bytes(&mut self, key: usize, count: usize) {
        let connection = &mut self.connections[key];
        // Read and thrown away: unread, it would turn the close into a reset.
        if matches!(connection.phase, Phase::Closing | Phase::Lingering) {
            return;
        }
        let Some(tls) = &mut connection.tls else {
            let input = std::mem::take(&mut self.buffers.input);
            self.call(key, Call::Input(&input[..count]));
            self.buffers.input = input;
            return;
        };
        let mut plain = std::mem::take(&mut self.buffers.plain);
        let result = tls.handle_input(&mut self.buffers.input[..count], &mut plain);
        // Also when it has failed: an alert says why.
        self.send_tls_records(key);
        if self.connections.contains(key) && !plain.is_empty() {
            self.call(key, Call::Input(&plain));
        }
        self.buffers.plain = Buffers::reuse(plain);
        let Some(connection) = self.connections.get(key) else { return };
        let closed = connection.tls.as_ref().is_some_and(Tls::peer_closed);
        if let Err(error) = result {
            self.stats.count_error(error.name());
            self.close_after_output(key);
        } else if closed {
            self.handle_eof(key);
        }
    }

    fn handle_eof(&mut self, key: usize) {
        // The end stays to be read: behind the answer, in the next turn.
        if self.connections[key].is_asked {
            return self.read_later(key);
        }
        match self.connections[key].phase {
            Phase::Fresh | Phase::Open | Phase::Idle => {
                self.call(key, Call::Eof);
                // A peer that only sends no more may still be reading what it is owed.
                if self.connections.get(key).is_some_and(|connection| connection.link.unsent_bytes() == 0) {
                    self.close(key);
                } else if self.connections.contains(key) {
                    self.close_after_output(key);
                }
            }
            // It ends when its output is sent, whether or not the peer sends any more.
            Phase::Closing => {}
            Phase::Lingering => self.close(key),
        }
    }

    pub(super) fn handle_session_timeout(&mut self, key: usize) {
        self.call(key, Call::Timeout);
    }

    /// Calls the session, and carries out its requests.
    pub(super) fn call(&mut self, key: usize, call: Call<'_>) {
        let connection = &mut self.connections[key];
        let mut output = std::mem::take(&mut self.buffers.output);
        let written = Cell::new(0);
        let is_faulty = self.faults.as_ref().is_some_and(|faults| faults.are_of_messages());
        let whole = is_faulty.then_some(&written);
        let mut io = SessionIo { output: &mut output, rng: &mut self.rng, closes: false, whole };
        let mut verdict = Verdict::default();
        let (groups, stats, is_upgraded) = (&mut self.groups, &mut self.stats, &mut connection.is_upgraded);
        let (faults, client_faults) = (&mut self.faults, &mut connection.faults);
        let memberships = &mut connection.memberships;
        // Told after the call: the connections are borrowed until then.
        let mut moved = Vec::new();
        let mut on = |event: ServerEvent<'_>| {
            if is_faulty {
                verdict.note_echo(matches!(event, ServerEvent::Echoed { .. }), written.get());
            }
            match event {
                ServerEvent::Upgraded => {
                    stats.upgrades += 1;
                    verdict.answered = true;
                    *is_upgraded = true;
                    *client_faults = faults.as_ref().map(|faults| faults.client());
                }
                ServerEvent::Joined { room } => memberships.join(groups, room, key as u32),
                ServerEvent::Left { .. } if faults.as_mut().is_some_and(|faults| faults.lingers()) => {}
                // A server that stops has removed all clients from all rooms: then there is nothing to leave.
                ServerEvent::Left { room } => moved.extend(memberships.leave(groups, room)),
                ServerEvent::Echoed { .. } => stats.echoes += 1,
                ServerEvent::Broadcast { room, frame } => {
                    stats.broadcasts += 1;
                    groups.push(room, 1, frame);
                }
                ServerEvent::Rebroadcast { room, frame } => groups.push(room, 1, frame),
                ServerEvent::Requested { keep_alive } => {
                    stats.requests += 1;
                    verdict.answered = true;
                    verdict.ends |= !keep_alive;
                }
                ServerEvent::Asked => {
                    verdict.answered = true;
                    verdict.asked += 1;
                }
                ServerEvent::StreamLost { stream } => {
                    // As if it was answered: the connection may be idle from now on.
                    verdict.answered = true;
                    verdict.lost.push(stream);
                }
                ServerEvent::StreamDrained { stream } => verdict.drained.push(stream),
                ServerEvent::Closed { .. } => verdict.ends = true,
            }
        };
        let result = call.on(&mut connection.session, &self.options.protocol, self.now_ns, &mut io, &mut on);
        verdict.ends |= io.closes || result.is_err();
        connection.book_windowed(&self.held);
        if let Err(failure) = result {
            self.stats.count_error(failure.name());
        }
        for other in moved {
            self.handle_moved(other);
        }
        let requests = self.handle_verdict(key, &verdict);
        // Only echoes are messages to the faults; answers to requests and to pings are not.
        if verdict.echoes.is_empty() {
            self.send_output(key, &output);
        } else {
            self.send_echoes(key, &output, &verdict.echoes);
        }
        self.buffers.output = Buffers::reuse(output);
        self.handle_called(key, verdict.ends);
        if self.connections.contains(key) {
            let token = self.token_of(key);
            self.asked.extend(requests.into_iter().map(|(stream, request)| (token, stream, request)));
            self.handle_streams_drained(key, &verdict.drained);
        }
    }

    /// Sets the connection's next deadline, and takes its requests for sessions, with their streams.
    fn handle_verdict(&mut self, key: usize, verdict: &Verdict) -> Vec<(u32, SessionRequest)> {
        let connection = &mut self.connections[key];
        // A WebSocket has one as often as it is asked.
        let requests: Vec<_> = (0..verdict.asked).filter_map(|_| connection.session.take_request()).collect();
        connection.is_asked |= !requests.is_empty();
        let is_beginning = requests.first().is_some_and(|(_, request)| request.is_beginning());
        // A request whose body is on its way has the time that it had.
        if verdict.answered && !is_beginning {
            connection.handle_answered(verdict.asked > 0, self.now_ns + self.options.idle_timeout_ns);
        } else if connection.session.is_amid_request() {
            connection.handle_begun(self.now_ns + self.options.handshake_timeout_ns);
        }
        self.bereft.extend(verdict.lost.iter().filter_map(|&stream| connection.take_stream(stream)));
        requests
    }

    /// Finishes the call of a session: ends the connection, if the call did, and sets the next deadline.
    fn handle_called(&mut self, key: usize, ends: bool) {
        if !self.connections.contains(key) {
            return;
        }
        if ends {
            self.close_after_output(key);
        } else {
            self.arm(key);
            self.resume_reading(key);
        }
    }
}
