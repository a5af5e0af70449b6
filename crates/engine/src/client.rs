//! One virtual user: its connection, its session, its record; handlers named for what happens.

mod reading;

use load::Workload;
use net::clock;
use net::errors::ErrorKind;
use net::poll::{Event, Interest};
use net::tls::Tls;
use wire::{Kind, Sending, Stamp, StreamId};

use crate::books::Books;
use crate::cause::Cause;
use crate::events::{self, Entry};
use crate::ledger::{Ledger, Record, Sent, State};
use crate::link::cause_of;
use crate::messages::SentBroadcast;
use crate::meter::Meter;
use crate::shared::{SAID_BYTES_MAX, Shared, Token};
use crate::streams::{Streams, Wish};

/// One client in so many has its packets stamped by the kernel, for the loop lag.
const LAG_SAMPLE_EVERY: u32 = 64;
/// The kernel keeps little for a client that reads slowly, so that the server has to: as on a slow link.
const SLOW_RECV_BUFFER_BYTES: usize = 4 << 10;
/// The code of our goodbye (RFC 6455 §7.4.1).
const NORMAL_CLOSURE: u16 = 1000;

/// A virtual user.
#[derive(Default)]
pub(crate) struct Client {
    streams: Streams,
    pub(crate) session: wire::Client,
    pub(crate) record: Record,
    /// Counts connections, so that an event of an earlier one is known as such.
    pub(crate) attempt: u32,
}

/// What a session hears of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Input {
    /// So many bytes that are in hand.
    Bytes(usize),
    /// That the server has closed the stream.
    End,
    /// That it is time.
    Wake,
}

impl Client {
    /// Starts to connect.
    pub(crate) fn connect(&mut self, index: u32, now_ns: u64, shared: &mut Shared) -> Result<(), Cause> {
        self.attempt += 1;
        let known = std::mem::take(&mut self.record);
        self.record = Record {
            state: State::Connecting,
            started_ns: now_ns,
            since_ns: now_ns,
            is_slow: shared.slow.is_some_and(|slow| slow.is_slow(shared.number(index))),
            is_waiting: false,
            ..known
        };
        self.session = wire::Client::numbered(shared.number(index));
        self.open_stream(index, 0, shared)
    }

    /// Connects one of the client's streams.
    fn open_stream(&mut self, index: u32, stream: StreamId, shared: &mut Shared) -> Result<(), Cause> {
        let (addr, local) = shared.addresses(index);
        let socket = if self.record.is_slow {
            net::socket::connect_narrow(addr, local, SLOW_RECV_BUFFER_BYTES)
        } else {
            net::socket::connect(addr, local)
        };
        let socket = socket.map_err(|error| cause_of(&error))?;
        if index.is_multiple_of(LAG_SAMPLE_EVERY) {
            socket.enable_timestamps().map_err(|error| cause_of(&error))?;
        }
        let token = Token { client: index, stream, attempt: self.attempt };
        let added = shared.poller.add(&socket, token.pack(), Interest::ReadWriteEdge);
        added.map_err(|error| cause_of(&error))?;
        self.streams.open(stream, socket);
        Ok(())
    }

    /// Something happened on the socket of a stream. True: there is more to read, and it is somebody else's turn.
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

    /// A stream is broken: a session over plain requests may go on over another.
    #[cold]
    fn handle_broken(
        &mut self,
        token: Token,
        cause: Cause,
        shared: &mut Shared,
        ledger: &mut Ledger,
    ) -> Result<(), Cause> {
        let is_transport = matches!(cause, Cause::Net(_) | Cause::Tls(_) | Cause::Unread);
        let Shared { wire, output, now_ns, .. } = shared;
        if is_transport && self.session.handle_lost(wire, *now_ns, token.stream, output) {
            ledger.meter.loss(cause, token.client, *now_ns, || cause.to_string());
            return self.flush(token.client, shared);
        }
        if matches!(cause, Cause::Net(ErrorKind::Reset | ErrorKind::BrokenPipe)) {
            // It may be a write that found out: what the server had said before is here, and counts.
            while let Ok(true) = self.handle_readable(token, true, shared, ledger) {}
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
        let Some(socket) = &link.socket else { return Ok(()) };
        if let Some(error) = socket.take_error().map_err(|e| cause_of(&e))? {
            return Err(cause_of(&error));
        }
        link.is_connecting = false;
        if self.record.state == State::Connecting {
            self.record.state = State::Opening;
            ledger.meter.figures.tcp.record_ns(shared.now_ns - self.record.since_ns);
            self.record.since_ns = shared.now_ns;
        }
        if let Some((tls, name)) = &shared.tls {
            link.tls = Some(Box::new(Tls::new_client(tls, name).map_err(Cause::Tls)?));
            return link.write_tls(&mut shared.scratch);
        }
        self.handle_open(token, shared, ledger)
    }

    /// A byte stream stands: the session may speak.
    fn handle_open(&mut self, token: Token, shared: &mut Shared, ledger: &mut Ledger) -> Result<(), Cause> {
        self.session.handle_open(&shared.wire, shared.now_ns, token.stream, &mut shared.output);
        if self.record.state == State::Opening && self.session.is_usable() {
            // Nothing is to be said first: the session has no event to tell of it.
            ledger.handle_usable(token.client, &mut self.record, shared.now_ns);
        }
        self.flush(token.client, shared)
    }

    /// Carries out what the session said and wished.
    #[inline]
    fn flush(&mut self, index: u32, shared: &mut Shared) -> Result<(), Cause> {
        let written = shared.output.flush(&mut self.streams, &mut shared.scratch);
        if shared.output.wishes.is_empty() { written } else { self.grant(index, shared, written) }
    }

    #[cold]
    fn grant(&mut self, index: u32, shared: &mut Shared, written: Result<(), Cause>) -> Result<(), Cause> {
        let mut outcome = written;
        for wish in std::mem::take(&mut shared.output.wishes) {
            match wish {
                Wish::Close(stream) => self.streams.close(stream),
                Wish::Open(stream) => {
                    outcome = outcome.and_then(|()| self.open_stream(index, stream, shared))
                }
            }
        }
        outcome
    }

    /// Tells the session what happened, and books what it makes of that.
    fn handle_input(
        &mut self,
        token: Token,
        input: Input,
        shared: &mut Shared,
        ledger: &mut Ledger,
    ) -> Result<(), Cause> {
        let Shared { wire, tls, read, plain, output, segment, workload, now_ns, said, .. } = shared;
        let mut end = None;
        let bytes = match input {
            Input::Bytes(_) if tls.is_some() => plain.as_slice(),
            Input::Bytes(received) => &read[..received],
            Input::End | Input::Wake => &[],
        };
        if let Some(said) = said {
            said.extend(bytes.iter().take(SAID_BYTES_MAX.saturating_sub(said.len())));
        }
        let mut books = Books {
            now_ns: *now_ns,
            worker: segment.worker,
            workers: segment.workers,
            workload: *workload,
            has_ack: wire.has_ack(),
            client: token.client,
            heard: bytes,
            record: &mut self.record,
            ledger,
            end: &mut end,
        };
        let on = &mut |event| books.handle(event);
        let outcome = match input {
            Input::Bytes(_) => self.session.handle_input(wire, *now_ns, token.stream, bytes, output, on),
            Input::End => self.session.handle_eof(wire, *now_ns, token.stream, output, on),
            Input::Wake => self.session.handle_timeout(wire, *now_ns, output, on),
        };
        // What the session still had to say (a pong, the answer to a close) goes out before its end counts.
        let written = self.flush(token.client, shared);
        outcome.map_err(Cause::Wire)?;
        written?;
        match end {
            Some(cause) => Err(cause),
            None if input == Input::End && self.record.state == State::Closing => {
                Err(Cause::Wire(wire::Failure::Eof))
            }
            None => Ok(()),
        }
    }

    /// The dialect asked to be woken now.
    pub(crate) fn handle_timeout(
        &mut self,
        token: Token,
        shared: &mut Shared,
        ledger: &mut Ledger,
    ) -> Result<(), Cause> {
        self.handle_input(token, Input::Wake, shared, ledger)
    }

    /// Sends this client's next message: whether it went out, and whether the connection held.
    pub(crate) fn send(
        &mut self,
        index: u32,
        intended_ns: u64,
        now_ns: u64,
        ledger: &mut Ledger,
        shared: &mut Shared,
    ) -> (Sending, Result<(), Cause>) {
        let step = &mut ledger.step;
        let (kind, number) = match shared.workload {
            Workload::Echo => (Kind::Echo, self.record.echoes.send()),
            Workload::Broadcast => (Kind::Broadcast, step.sent.len() as u32),
        };
        let stamp = Stamp::new(shared.segment.worker, index, step.seq(number), intended_ns, now_ns);
        if kind == Kind::Broadcast {
            let times = SentBroadcast { intended_ns, sent_ns: stamp.sent_ns() };
            step.sent.push(Sent { client: index, acknowledged: false, times });
            self.record.unacknowledged += 1;
        }
        if step.pace.as_ref().is_some_and(|pace| pace.awaits()) {
            self.record.awaiting.push(intended_ns);
        }
        let unix_ns = shared.wire.unix_ns_of(stamp).unwrap_or_default();
        let sending = self.session.send(&shared.wire, now_ns, unix_ns, kind, stamp, &mut shared.output);
        if sending == Sending::Out {
            let (sender, bytes) = (shared.number(index), shared.output.len());
            ledger
                .meter
                .handle_sent(now_ns, index, intended_ns, |sent| sent.message(sender, number).bytes(bytes));
        }
        let written = self.flush(index, shared).or_else(|cause| {
            let token = Token { client: index, stream: 0, attempt: self.attempt };
            self.handle_broken(token, cause, shared, ledger)
        });
        (sending, written)
    }

    /// Says goodbye, or just leaves where there is nobody to say it to.
    pub(crate) fn close(&mut self, index: u32, shared: &mut Shared, meter: &mut Meter) {
        if self.record.state != State::Usable {
            return self.vacate();
        }
        let now_ns = clock::monotonic_ns();
        meter.note(|| Entry::new(events::Kind::Close, now_ns, index));
        self.session.close(&shared.wire, NORMAL_CLOSURE, &mut shared.output);
        self.record.state = State::Closing;
        if self.flush(index, shared).is_err() || self.session.is_closed() {
            self.vacate();
        }
    }

    /// Whether the server's kernel has given no sign of life: TCP is not connected, or believes so and has no answer to
    /// what it sent, as with an accept queue that was full when the handshake's last packet came.
    pub(crate) fn is_unanswered(&mut self) -> bool {
        let socket = self.streams.get(0).and_then(|link| link.socket.as_ref());
        match self.record.state {
            State::Connecting => true,
            State::Opening => {
                socket.is_some_and(|socket| socket.unacknowledged_bytes().is_ok_and(|bytes| bytes > 0))
            }
            State::Vacant | State::Usable | State::Closing => false,
        }
    }

    /// Books an attempt that failed before the client was usable.
    pub(crate) fn fail(&mut self, index: u32, cause: Cause, now_ns: u64, meter: &mut Meter) {
        match cause {
            Cause::ConnectTimeout => {
                meter.counts.connect_timeouts += 1;
                let taken_ns = now_ns.saturating_sub(self.record.started_ns);
                meter.note_detailed(
                    Entry::new(events::Kind::Timeout, now_ns, index).latency(taken_ns),
                    "connect",
                );
            }
            _ => meter.counts.connect_failures += 1,
        }
        meter.loss(cause, index, now_ns, || match cause {
            Cause::ConnectTimeout => format!("{cause}: {}", self.waits_for()),
            _ => cause.to_string(),
        });
        self.vacate();
    }

    /// What has not come yet of what it takes to be usable.
    fn waits_for(&self) -> &'static str {
        match self.record.state {
            State::Connecting => "TCP is not connected",
            _ if !self.session.is_open() => "the handshake has no answer",
            _ => {
                "the server accepted the connection, but has not answered what the dialect opens with; \
                 is the channel, topic or namespace right?"
            }
        }
    }

    /// Drops the connection.
    pub(crate) fn vacate(&mut self) {
        self.streams = Streams::default();
        self.session = wire::Client::new();
        self.record.state = State::Vacant;
    }
}
