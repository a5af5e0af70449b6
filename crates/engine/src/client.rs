//! One virtual user: its connection, its session, its record; handlers named for what happens.

use std::io::{self, ErrorKind};
use std::net::IpAddr;

use fastrand::Rng;
use load::{Plan, Segment, Workload};
use net::clock;
use net::poll::{Event, Interest, Poller};
use net::socket::Addr;
use net::tls::{ClientTls, Tls, TlsOptions};
use wire::{Kind, Stamp, StreamId};

use crate::books::{Books, Ledger, Record, Sent, State, Step};
use crate::cause::Cause;
use crate::link::{Link, cause_of};
use crate::messages::SentBroadcast;
use crate::meter::Meter;

/// One read takes this much at the most; a connection with more gets its next turn at once.
const READ_BYTES: usize = 256 << 10;
/// One client in so many has its packets stamped by the kernel, for the loop lag.
const LAG_SAMPLE_EVERY: u32 = 64;
/// No event waits this long in a loop that makes progress: the wall clock was set in between.
const LAG_NS_MAX: u64 = 60_000_000_000;
/// The code of our goodbye (RFC 6455 §7.4.1).
const NORMAL_CLOSURE: u16 = 1000;

/// A virtual user.
#[derive(Default)]
pub(crate) struct Client {
    link: Link,
    pub(crate) session: wire::Client,
    pub(crate) record: Record,
    /// Counts connections, so that an event of an earlier one is known as such.
    pub(crate) attempt: u32,
}

/// What the clients of a worker have in common.
pub(crate) struct Shared {
    pub(crate) poller: Poller,
    /// The time of the event in hand, on the run's clock.
    pub(crate) now_ns: u64,
    wire: wire::Config,
    tls: Option<(ClientTls, String)>,
    endpoints: Vec<Addr>,
    local_addrs: Vec<IpAddr>,
    workload: Workload,
    segment: Segment,
    read: Vec<u8>,
    plain: Vec<u8>,
    scratch: Vec<u8>,
    output: Output,
    /// What to add to the run's clock to get the wall clock, as it was at the start.
    unix_minus_monotonic_ns: u64,
}

/// Where sessions write, and where they get their randomness.
struct Output {
    bytes: Vec<u8>,
    rng: Rng,
}

impl wire::Io for Output {
    fn out(&mut self, _stream: StreamId) -> &mut Vec<u8> {
        &mut self.bytes
    }

    fn random_u64(&mut self) -> u64 {
        self.rng.u64(..)
    }

    fn open_stream(&mut self, _stream: StreamId) {}

    fn close_stream(&mut self, _stream: StreamId) {}
}

impl Shared {
    pub(crate) fn new(plan: &Plan, segment: Segment) -> io::Result<Self> {
        let endpoints = plan.endpoints.iter().map(|endpoint| match endpoint {
            load::Endpoint::Inet(addr) => Addr::Inet(*addr),
            load::Endpoint::Unix(path) => Addr::Unix(path.clone()),
        });
        let client_tls = |tls: &load::TlsPlan| {
            let options = TlsOptions { ca: tls.ca.clone(), insecure: tls.insecure };
            ClientTls::new(&options).map(|client| (client, tls.server_name.clone()))
        };
        let wire = plan.speech.wire_config().map_err(|bad| io::Error::new(ErrorKind::InvalidInput, bad))?;
        Ok(Self {
            poller: Poller::new()?,
            now_ns: clock::monotonic_ns(),
            wire,
            tls: plan.tls.as_ref().map(client_tls).transpose()?,
            endpoints: endpoints.collect(),
            local_addrs: plan.connecting.local_addrs.clone(),
            workload: plan.workload,
            segment,
            read: vec![0; READ_BYTES],
            plain: Vec::new(),
            scratch: Vec::new(),
            output: Output {
                bytes: Vec::new(),
                rng: Rng::with_seed(plan.seed.wrapping_add(u64::from(segment.worker))),
            },
            unix_minus_monotonic_ns: clock::realtime_ns().wrapping_sub(clock::monotonic_ns()),
        })
    }

    /// Clients of all workers take endpoints and source addresses in turn.
    fn turn(&self, index: u32, of: usize) -> usize {
        let global = u64::from(index) * u64::from(self.segment.workers) + u64::from(self.segment.worker);
        (global % of as u64) as usize
    }
}

impl Client {
    /// Starts to connect.
    pub(crate) fn connect(&mut self, index: u32, now_ns: u64, shared: &mut Shared) -> Result<(), Cause> {
        self.attempt += 1;
        self.record =
            Record { state: State::Connecting, started_ns: now_ns, since_ns: now_ns, ..Record::default() };
        self.session = wire::Client::new();
        let addr = &shared.endpoints[shared.turn(index, shared.endpoints.len())];
        let local = match shared.local_addrs.len() {
            0 => None,
            n => Some(shared.local_addrs[shared.turn(index, n)]),
        };
        let socket = net::socket::connect(addr, local).map_err(|error| cause_of(&error))?;
        if index.is_multiple_of(LAG_SAMPLE_EVERY) {
            socket.enable_timestamps().map_err(|error| cause_of(&error))?;
        }
        let token = u64::from(index) | u64::from(self.attempt) << 32;
        shared.poller.add(&socket, token, Interest::ReadWriteEdge).map_err(|error| cause_of(&error))?;
        self.link = Link::new(socket);
        Ok(())
    }

    /// Something happened on the socket.
    pub(crate) fn handle_ready(
        &mut self,
        index: u32,
        event: Event,
        shared: &mut Shared,
        ledger: &mut Ledger,
    ) -> Result<(), Cause> {
        shared.now_ns = clock::monotonic_ns();
        if self.record.state == State::Connecting {
            if !event.writable && !event.error {
                return Ok(());
            }
            self.handle_connected(shared, &mut ledger.meter)?;
        }
        if event.writable {
            self.link.handle_writable()?;
        }
        if event.readable || event.closed {
            self.handle_readable(index, event.closed, shared, ledger)?;
        }
        Ok(())
    }

    fn handle_connected(&mut self, shared: &mut Shared, meter: &mut Meter) -> Result<(), Cause> {
        let Some(socket) = &self.link.socket else { return Ok(()) };
        if let Some(error) = socket.take_error().map_err(|e| cause_of(&e))? {
            return Err(cause_of(&error));
        }
        self.record.state = State::Opening;
        meter.figures.tcp.record_ns(shared.now_ns - self.record.since_ns);
        self.record.since_ns = shared.now_ns;
        if let Some((tls, name)) = &shared.tls {
            self.link.tls = Some(Box::new(Tls::new_client(tls, name).map_err(Cause::Tls)?));
            return self.link.write_tls(&mut shared.scratch);
        }
        self.handle_open(shared)
    }

    /// The byte stream stands: the session may speak.
    fn handle_open(&mut self, shared: &mut Shared) -> Result<(), Cause> {
        shared.output.bytes.clear();
        self.session.handle_open(&shared.wire, shared.now_ns, 0, &mut shared.output);
        self.link.write(&shared.output.bytes, &mut shared.scratch)
    }

    fn handle_readable(
        &mut self,
        index: u32,
        closed: bool,
        shared: &mut Shared,
        ledger: &mut Ledger,
    ) -> Result<(), Cause> {
        loop {
            let Some(socket) = &self.link.socket else { return Ok(()) };
            let (received, stamped_ns) = match receive(socket, index, &mut shared.read) {
                Ok(received) => received,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(cause_of(&error)),
            };
            shared.now_ns = clock::monotonic_ns();
            if let Some(lag_ns) = stamped_ns.and_then(lag_since) {
                ledger.meter.figures.loop_lag.record_ns(lag_ns);
            }
            self.handle_bytes(index, received, shared, ledger)?;
            // A short read has emptied the socket (epoll(7)); after a hang-up the end of the stream is to be read.
            if received < shared.read.len() && !closed {
                return Ok(());
            }
        }
    }

    /// `received` bytes are in the read buffer; none: the server has closed the stream.
    fn handle_bytes(
        &mut self,
        index: u32,
        received: usize,
        shared: &mut Shared,
        ledger: &mut Ledger,
    ) -> Result<(), Cause> {
        let mut was_handshaking = false;
        if let Some(tls) = self.link.tls.as_mut().filter(|_| received > 0) {
            was_handshaking = tls.is_handshaking();
            shared.plain.clear();
            let outcome = tls.handle_input(&shared.read[..received], &mut shared.plain).map_err(Cause::Tls);
            let is_handshaking = tls.is_handshaking();
            self.link.write_tls(&mut shared.scratch)?;
            outcome?;
            if is_handshaking {
                return Ok(());
            }
        }
        if was_handshaking {
            ledger.meter.figures.tls.record_ns(shared.now_ns - self.record.since_ns);
            self.record.since_ns = shared.now_ns;
            self.handle_open(shared)?;
        }
        self.handle_plain(index, received, shared, ledger)
    }

    fn handle_plain(
        &mut self,
        index: u32,
        received: usize,
        shared: &mut Shared,
        ledger: &mut Ledger,
    ) -> Result<(), Cause> {
        let Shared { wire, read, plain, scratch, output, segment, workload, now_ns, .. } = shared;
        let bytes = if self.link.tls.is_some() { plain.as_slice() } else { &read[..received] };
        let mut end = None;
        let mut books = Books {
            now_ns: *now_ns,
            worker: segment.worker,
            workers: segment.workers,
            workload: *workload,
            has_ack: wire.options().dialect.has_ack(),
            client: index,
            record: &mut self.record,
            ledger,
            end: &mut end,
        };
        output.bytes.clear();
        let on = &mut |event| books.handle(event);
        let outcome = match received {
            0 => self.session.handle_eof(wire, *now_ns, 0, on),
            _ => self.session.handle_input(wire, *now_ns, 0, bytes, output, on),
        };
        // What the session still had to say (a pong, the answer to a close) goes out before its end counts.
        let written = self.link.write(&output.bytes, scratch);
        outcome.map_err(Cause::Wire)?;
        written?;
        match end {
            Some(cause) => Err(cause),
            None if received == 0 => Err(Cause::Wire(wire::Failure::Eof)),
            None => Ok(()),
        }
    }

    /// The dialect asked to be woken now.
    pub(crate) fn handle_timeout(&mut self, now_ns: u64, shared: &mut Shared) -> Result<(), Cause> {
        shared.output.bytes.clear();
        let mut end = None;
        let on = &mut |event| {
            if let wire::Event::Rejected(rejection) = event {
                end = Some(Cause::Rejected(rejection));
            }
        };
        let outcome = self.session.handle_timeout(&shared.wire, now_ns, &mut shared.output, on);
        self.link.write(&shared.output.bytes, &mut shared.scratch)?;
        outcome.map_err(Cause::Wire)?;
        end.map_or(Ok(()), Err)
    }

    /// Sends this client's next message.
    pub(crate) fn send(
        &mut self,
        index: u32,
        intended_ns: u64,
        now_ns: u64,
        step: &mut Step,
        shared: &mut Shared,
    ) -> Result<(), Cause> {
        let (kind, number) = match shared.workload {
            Workload::Echo => (Kind::Echo, self.record.echoes.send()),
            Workload::Broadcast => {
                let times = SentBroadcast { intended_ns, sent_ns: now_ns };
                step.sent.push(Sent { client: index, acknowledged: false, times });
                (Kind::Broadcast, step.sent.len() as u32 - 1)
            }
        };
        if step.pace.as_ref().is_some_and(|pace| pace.is_closed()) {
            self.record.awaiting_since_ns = intended_ns;
        }
        let seq = step.seq(number);
        let stamp = Stamp::new(shared.segment.worker, index, seq, intended_ns, now_ns);
        let unix_ns = now_ns.wrapping_add(shared.unix_minus_monotonic_ns);
        shared.output.bytes.clear();
        self.session.send(&shared.wire, now_ns, unix_ns, kind, stamp, &mut shared.output);
        self.link.write(&shared.output.bytes, &mut shared.scratch)
    }

    /// Says goodbye, or just leaves where there is nobody to say it to.
    pub(crate) fn close(&mut self, shared: &mut Shared) {
        if self.record.state != State::Usable {
            return self.vacate();
        }
        shared.output.bytes.clear();
        self.session.close(&shared.wire, NORMAL_CLOSURE, &mut shared.output);
        self.record.state = State::Closing;
        if self.link.write(&shared.output.bytes, &mut shared.scratch).is_err() {
            self.vacate();
        }
    }

    /// Books an attempt that failed before the client was usable.
    pub(crate) fn fail(&mut self, cause: Cause, now_ns: u64, meter: &mut Meter) {
        match cause {
            Cause::ConnectTimeout => meter.counts.connect_timeouts += 1,
            _ => meter.counts.connect_failures += 1,
        }
        meter.error(cause.kind(), now_ns, || cause.to_string());
        self.vacate();
    }

    /// Drops the connection.
    pub(crate) fn vacate(&mut self) {
        self.link = Link::default();
        self.session = wire::Client::new();
        self.record.state = State::Vacant;
    }
}

/// Reads once; one client in [`LAG_SAMPLE_EVERY`] also learns when the kernel had the bytes.
fn receive(socket: &net::socket::Socket, index: u32, buffer: &mut [u8]) -> io::Result<(usize, Option<u64>)> {
    if index.is_multiple_of(LAG_SAMPLE_EVERY) {
        return socket.recv_stamped(buffer);
    }
    socket.recv(buffer).map(|received| (received, None))
}

/// How long ago the kernel received something, if the two readings of the wall clock can be believed.
fn lag_since(stamped_ns: u64) -> Option<u64> {
    clock::realtime_ns().checked_sub(stamped_ns).filter(|&lag_ns| lag_ns < LAG_NS_MAX)
}
