//! One virtual user: its connection, its session, its record; handlers named for what happens.

mod seated;
mod sending;

use codec::StreamId;
use net::clock;
use net::errors::ErrorKind;
use net::poll::Event;
use net::tls::{Tls, TlsError};
use wire::Passage;

use crate::books::{Booking, Cause, Ledger, Meter, Record, State};
use crate::clients::link::Secured;
use crate::clients::pool::Seat;
use crate::clients::shared::{SAID_BYTES_MAX, Shared};
use crate::clients::streams::{StreamCommand, Streams};
use crate::clients::token::Token;
use crate::events::{Entry, Kind};

/// Reads of one client after which it is another's turn: a server that floods one client must not keep the
/// others waiting.
pub(super) const READS_PER_TURN: u32 = 4;
/// The code of our goodbye (RFC 6455 §7.4.1).
const NORMAL_CLOSURE: u16 = 1000;

/// A virtual user.
#[derive(Default)]
pub(crate) struct LoadClient {
    pub(crate) streams: Streams,
    /// Its place on a connection that it shares.
    seat: Option<Seat>,
    pub(crate) session: wire::Client,
    pub(crate) record: Record,
    /// The resumption of the session before, where it resumes.
    resumption: Option<Box<wire::Resumption>>,
    /// Counts connections, so that an event of an earlier one is known as such.
    pub(crate) attempt: u32,
}

/// Input of a session.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Input<'a> {
    /// This many bytes that are in hand.
    Bytes(usize),
    /// Bytes that TLS has decrypted.
    Plain,
    /// Bytes of its stream on a shared connection.
    Data(&'a [u8]),
    /// The server has closed the stream.
    End,
    /// The time to wake it has come.
    Wake,
    /// It goes into a room, or out of it.
    Pass(Passage),
}

/// Messages that did not go out.
#[derive(Debug)]
pub(crate) struct Unsent {
    /// Number of messages, which no client can have.
    pub(crate) messages: u32,
    /// Why the connection is over, if it was there.
    pub(crate) cause: Option<Cause>,
}

impl AsMut<Record> for LoadClient {
    fn as_mut(&mut self) -> &mut Record {
        &mut self.record
    }
}

impl LoadClient {
    /// Starts to connect.
    pub(crate) fn connect(&mut self, index: u32, now_ns: u64, shared: &mut Shared) -> Result<(), Cause> {
        self.attempt += 1;
        // What is known of the client (its absences, its numbers, what it has been) outlasts its connections.
        let known = std::mem::take(&mut self.record);
        self.record = Record {
            state: State::Connecting,
            started_ns: now_ns,
            since_ns: now_ns,
            is_slow: shared.slow.is_some_and(|slow| slow.is_slow(shared.number(index))),
            is_waiting: false,
            ..known
        };
        self.session = match &self.resumption {
            Some(resumption) => wire::Client::resuming(wire::Resumption::clone(resumption)),
            None => wire::Client::new(),
        };
        // A stream on a connection that is there begins now, and not when the event in hand came in.
        shared.now_ns = shared.now_ns.max(now_ns);
        self.open_stream(index, 0, shared)
    }

    /// Connects one of the client's streams.
    fn open_stream(&mut self, index: u32, stream: StreamId, shared: &mut Shared) -> Result<(), Cause> {
        if shared.pool.is_some() {
            return self.join(index, shared);
        }
        let token = Token { client: index, stream, attempt: self.attempt };
        let socket = shared.connect(token, self.record.is_slow, shared.server_of(&self.session, stream))?;
        self.streams.open(stream, socket);
        Ok(())
    }

    /// Handles an event on the socket of a stream. Returns true if there is more to read, but it is another
    /// client's turn.
    pub(crate) fn handle_ready(
        &mut self,
        token: Token,
        event: Event,
        shared: &mut Shared,
        ledger: &mut Ledger,
    ) -> Result<bool, Cause> {
        shared.now_ns = clock::monotonic_ns();
        match self.handle_event(token, event, shared, ledger) {
            Err(cause) => self.handle_broken(token, cause, shared, ledger).map(|()| false),
            fine => fine,
        }
    }

    /// Handles a broken stream: a session over plain requests may go on over another.
    #[cold]
    fn handle_broken(
        &mut self,
        token: Token,
        cause: Cause,
        shared: &mut Shared,
        ledger: &mut Ledger,
    ) -> Result<(), Cause> {
        let is_transport = matches!(cause, Cause::Net(_) | Cause::Tls(_) | Cause::Unread);
        let Shared { wire, output, segment, now_ns, .. } = shared;
        let io = &mut output.of(segment.number(token.client));
        // A broken protocol is the server's doing on any stream; only a lost transport may be replaced (RFC
        // 9112 §9.3.2).
        if is_transport && self.session.handle_lost(wire, *now_ns, token.stream, io) {
            ledger.meter.loss(cause, token.client, *now_ns, || cause.to_string());
            return self.flush(token.client, shared);
        }
        if matches!(cause, Cause::Net(ErrorKind::Reset | ErrorKind::BrokenPipe)) {
            // It may be a write that found out: what the server had said before is here, and counts; its last
            // words are why.
            return loop {
                match self.handle_readable(token, true, shared, ledger) {
                    Ok(true) => {}
                    Err(said) if said.is_said() => break Err(said),
                    _ => break Err(cause),
                }
            };
        }
        Err(cause)
    }

    fn handle_event(
        &mut self,
        token: Token,
        event: Event,
        shared: &mut Shared,
        ledger: &mut Ledger,
    ) -> Result<bool, Cause> {
        let Some(link) = self.streams.get(token.stream) else { return Ok(false) };
        if link.is_connecting {
            // A socket that connects is writable once it is connected (connect(2), EINPROGRESS); until then
            // nothing else counts.
            if !event.writable && !event.error {
                return Ok(false);
            }
            self.handle_connected(token, shared, ledger)?;
        } else if event.writable {
            link.handle_writable()?;
        }
        if event.readable || event.closed {
            return self.handle_readable(token, event.closed, shared, ledger);
        }
        Ok(false)
    }

    fn handle_connected(
        &mut self,
        token: Token,
        shared: &mut Shared,
        ledger: &mut Ledger,
    ) -> Result<(), Cause> {
        let Some(link) = self.streams.get(token.stream) else { return Ok(()) };
        link.handle_connected()?;
        // Further streams of a session connect while it is open: only the first is part of the handshake.
        if self.record.state == State::Connecting {
            self.record.state = State::Opening;
            ledger.meter.figures.tcp.record_ns(shared.now_ns - self.record.since_ns);
            self.record.since_ns = shared.now_ns;
        }
        if let Some((tls, name)) = shared.tls(shared.server_of(&self.session, token.stream)) {
            // Further connections of a session are none that results count.
            let is_back = self.record.was_usable && self.session.is_new();
            let secured = if is_back { Tls::new_client_again(tls, name) } else { Tls::new_client(tls, name) };
            link.tls = Some(secured.map_err(Cause::Tls)?);
            return link.write_tls(&mut shared.scratch);
        }
        self.handle_open(token, shared, ledger)
    }

    /// Handles a byte stream that is open: the session may send.
    fn handle_open(&mut self, token: Token, shared: &mut Shared, ledger: &mut Ledger) -> Result<(), Cause> {
        let io = &mut shared.output.of(shared.segment.number(token.client));
        self.session.handle_open(&shared.wire, shared.now_ns, token.stream, io);
        if self.record.state == State::Opening && self.session.is_usable() {
            // Nothing is to be said first: the session has no event to tell of it.
            ledger.handle_usable(token.client, &mut self.record, shared.now_ns);
        }
        self.flush(token.client, shared)
    }

    /// Sends what the session has written, and carries out its commands.
    #[inline]
    fn flush(&mut self, index: u32, shared: &mut Shared) -> Result<(), Cause> {
        let written = match self.seat {
            Some(seat) => shared.flush_seat(seat),
            None => shared.output.flush(&mut self.streams, &mut shared.scratch),
        };
        if shared.output.commands.is_empty() { written } else { self.grant(index, shared, written) }
    }

    #[cold]
    fn grant(&mut self, index: u32, shared: &mut Shared, written: Result<(), Cause>) -> Result<(), Cause> {
        let mut outcome = written;
        for command in std::mem::take(&mut shared.output.commands) {
            match command {
                StreamCommand::Close(_) if self.seat.is_some() => self.leave(shared),
                StreamCommand::Close(stream) => self.streams.close(stream),
                StreamCommand::Open(stream) => {
                    outcome = outcome.and_then(|()| self.open_stream(index, stream, shared))
                }
            }
        }
        outcome
    }

    /// Reads what there is. Returns true if there is more, but it is another client's turn.
    fn handle_readable(
        &mut self,
        token: Token,
        closed: bool,
        shared: &mut Shared,
        ledger: &mut Ledger,
    ) -> Result<bool, Cause> {
        shared.silent_ns = None;
        for _ in 0..READS_PER_TURN {
            let is_stamped = shared.begin_read();
            // The session may have asked for another connection in place of this one.
            let Some(link) = self.streams.get(token.stream) else { return Ok(false) };
            let slow = shared.slow.filter(|_| self.record.is_slow && self.record.state == State::Usable);
            let bytes_max = slow.map_or(shared.read.len(), |slow| slow.read_bytes());
            let read = link.read(is_stamped, &mut shared.read[..bytes_max]);
            // Asked while the socket is still there: the kernel's count goes with it.
            if matches!(read, Err(_) | Ok(Some((0, _)))) {
                shared.silent_ns = link.silent_for_ns();
            }
            let Some((received, lag_ns)) = read? else { return Ok(false) };
            // After each read and not once for a batch of events: what a busy loop comes to late must show
            // that.
            shared.now_ns = clock::monotonic_ns();
            shared.lag_ns = lag_ns;
            if let Some(lag_ns) = lag_ns {
                ledger.meter.loop_lag.record_ns(lag_ns);
            }
            if received == 0 && link.is_handshaking() {
                // The session, which has not heard of this connection, would take it for the end of the one
                // before.
                return Err(Cause::Tls(TlsError::Eof));
            }
            if received == 0 {
                // Gone before the session hears of it: it may live on without this stream, or ask for it
                // anew.
                self.streams.close(token.stream);
                return self.handle_input(token, Input::End, shared, ledger).map(|()| false);
            }
            self.handle_bytes(token, received, shared, ledger)?;
            if slow.is_some() {
                self.record.has_paused = true;
                return Ok(false);
            }
            // A short read has emptied the socket (epoll(7)); after a hang-up the end of the stream is to be
            // read.
            if received < shared.read.len() && !closed {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Handles the `received` bytes that are in the read buffer.
    fn handle_bytes(
        &mut self,
        token: Token,
        received: usize,
        shared: &mut Shared,
        ledger: &mut Ledger,
    ) -> Result<(), Cause> {
        let Some(link) = self.streams.get(token.stream) else { return Ok(()) };
        // Asked for a handshake alone: what is agreed on then holds.
        let server = if link.is_handshaking() { shared.server_of(&self.session, token.stream) } else { 0 };
        let Some(Secured { was_handshaking, is_handshaking, is_resumed }) =
            shared.decrypt(link, server, received)?
        else {
            return self.handle_input(token, Input::Bytes(received), shared, ledger);
        };
        if is_handshaking {
            return Ok(());
        }
        if was_handshaking {
            // A connection that takes the place of one that the server has closed is part of what it is
            // needed for.
            if self.record.state == State::Opening && self.session.is_new() {
                ledger.meter.figures.tls.record_ns(shared.now_ns - self.record.since_ns);
                ledger.meter.counts.tls_resumed += u64::from(is_resumed);
                self.record.since_ns = shared.now_ns;
            }
            self.handle_open(token, shared, ledger)?;
        }
        self.handle_input(token, Input::Plain, shared, ledger)
    }

    /// Tells the session what happened, and books what it makes of that.
    pub(super) fn handle_input(
        &mut self,
        token: Token,
        input: Input<'_>,
        shared: &mut Shared,
        ledger: &mut Ledger,
    ) -> Result<(), Cause> {
        let reach = shared.reach();
        let Shared { wire, read, plain, output, segment, now_ns, said, .. } = shared;
        let bytes = match input {
            Input::Plain => plain.as_slice(),
            Input::Bytes(received) => &read[..received],
            Input::Data(bytes) => bytes,
            Input::End | Input::Wake | Input::Pass(..) => &[],
        };
        if let Some(said) = said {
            said.extend(bytes.iter().take(SAID_BYTES_MAX.saturating_sub(said.len())));
        }
        let mut booking = Booking::new(token.client, &mut self.record, ledger, *now_ns).of_read(bytes, reach);
        let was_logging_in = self.session.is_logging_in();
        let on = &mut |event| booking.handle(event);
        let io = &mut output.of(segment.number(token.client));
        let outcome = match input {
            Input::Bytes(_) | Input::Plain | Input::Data(_) => {
                self.session.handle_input(wire, *now_ns, token.stream, bytes, io, on)
            }
            Input::End => self.session.handle_eof(wire, *now_ns, token.stream, io, on),
            Input::Wake => self.session.handle_timeout(wire, *now_ns, io, on),
            Input::Pass(passage) => {
                self.session.pass(wire, *now_ns, passage, io, on);
                Ok(())
            }
        };
        let end = booking.finish();
        let reason = output.take_reason();
        if let Some(cause @ Cause::Closed(_)) = end {
            ledger.meter.hear(cause.kind(), token.client, &reason);
            // Before its answer goes out, which is no word of the client's own.
            shared.silent_ns = self.streams.get(token.stream).and_then(|link| link.silent_for_ns());
        }
        // What the session still had to say (a pong, the answer to a close) goes out before its end counts.
        let written = self.flush(token.client, shared);
        if was_logging_in {
            Self::handle_login(outcome, shared, ledger);
        }
        outcome.map_err(Cause::Wire)?;
        // Before a write that failed: a server that says why it closes may be gone before it has the answer.
        if let Some(cause) = end {
            return Err(cause);
        }
        written?;
        if self.is_overfull(shared) {
            return Err(Cause::Unread);
        }
        // The server has closed without an answer to the goodbye. The client is gone either way, and this
        // is not counted.
        match input == Input::End && self.record.state == State::Closing {
            true => Err(Cause::Wire(wire::Failure::Eof)),
            false => Ok(()),
        }
    }

    /// Handles the outcome of a client's login. Its bytes are forgotten, because they let the client in,
    /// unless they broke HTTP and are to be shown. An error is reported with the request in which it came up.
    #[cold]
    fn handle_login(outcome: Result<(), wire::Failure>, shared: &mut Shared, ledger: &mut Ledger) {
        if let Err(failure) = outcome {
            let Some(words) = shared.wire.login_words(failure) else { return };
            ledger.meter.tell(failure.name(), words);
        }
        if let Some(said) = &mut shared.said {
            said.clear();
        }
    }

    /// Wakes the dialect, which asked for that.
    pub(crate) fn handle_timeout(
        &mut self,
        token: Token,
        shared: &mut Shared,
        ledger: &mut Ledger,
    ) -> Result<(), Cause> {
        self.handle_input(token, Input::Wake, shared, ledger)
    }

    /// Sends the client into its room of this kind, or out of it.
    pub(crate) fn pass(
        &mut self,
        token: Token,
        passage: Passage,
        shared: &mut Shared,
        ledger: &mut Ledger,
    ) -> Result<(), Cause> {
        self.handle_input(token, Input::Pass(passage), shared, ledger)
    }

    /// Says goodbye, or just leaves where no connection is open.
    pub(crate) fn close(&mut self, index: u32, shared: &mut Shared, meter: &mut Meter) {
        if self.record.state != State::Usable {
            return self.vacate(shared);
        }
        let now_ns = clock::monotonic_ns();
        meter.note(|| Entry::new(Kind::Close, now_ns, index));
        let io = &mut shared.output.of(shared.segment.number(index));
        self.session.close(&shared.wire, now_ns, NORMAL_CLOSURE, io);
        self.record.state = State::Closing;
        if self.flush(index, shared).is_err() || self.session.is_closed() {
            self.vacate(shared);
        }
    }

    /// Keeps the cookies of a connection that is about to end, and what the client needs if it goes on with
    /// its session.
    pub(crate) fn take_along(&mut self, goes_on: bool) {
        self.resumption = self.session.resumption(goes_on).map(Box::new);
    }

    /// Forgets all that the client could go on with.
    pub(crate) fn forget_session(&mut self) {
        self.resumption = None;
    }

    /// Drops the connection.
    pub(crate) fn vacate(&mut self, shared: &mut Shared) {
        self.leave(shared);
        self.streams = Streams::default();
        self.session = wire::Client::new();
        self.record.state = State::Vacant;
    }
}
