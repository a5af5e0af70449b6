//! Shared state of a worker's clients.

use std::io::{self, ErrorKind};
use std::net::IpAddr;
use std::ops::Range;
use std::sync::Arc;

use app::Acks;
use codec::StreamId;
use load::{Plan, Segment, Slow};
use net::poll::{Interest, Poller};
use net::socket::{Addr, Socket};
use net::tls::{ClientTls, TlsOptions};
use net::{clock, proc};
use stats::Reach;
use wire::Multiplexer;

use crate::books::Cause;
use crate::clients::link::{Link, Secured, cause_of};
use crate::clients::pause_detector::PauseDetector;
use crate::clients::pool::{Pool, Seat};
use crate::clients::streams::Output;
use crate::clients::token::{POOLED, PUBLISHER, Token};

/// The most bytes that one read takes.
const READ_BYTES: usize = 256 << 10;

/// The receive buffer of a client that reads slowly: small, so that the server has to keep data, as on a slow
/// link.
const SLOW_RECV_BUFFER_BYTES: usize = 4 << 10;
/// Reads of which one asks when the kernel received what it reads, for the loop lag: a prime, so that no
/// round of clients falls in step with it.
const STAMPED_READ_EVERY: u32 = 61;
/// A longer time between two events of a turn is taken for an absence from the CPU. A large batch of messages
/// takes as long, too: the answers behind it then count as a little younger than they are.
const ABSENCE_NS_MIN: u64 = 1_000_000;
/// Time without a read that asked after which the next one asks in any case.
const STAMPED_READ_NS_MAX: u64 = 1_000_000;

/// Most bytes kept of what the server says to a client that probes.
pub(crate) const SAID_BYTES_MAX: usize = 16 << 10;

/// Messages that have been written, and are booked once they have gone out.
pub(crate) struct Staged {
    pub(crate) numbers: Range<u32>,
    pub(crate) intended_ns: u64,
    /// Bytes of each message.
    pub(crate) bytes: u32,
}

impl Staged {
    pub(crate) fn messages(&self) -> u32 {
        self.numbers.end - self.numbers.start
    }
}

/// Shared state of a worker's clients.
pub(crate) struct Shared {
    pub(crate) poller: Arc<Poller>,
    /// Extra bits in the tokens of these clients.
    mark: u64,
    /// True if publishers send the clients' messages, and get the answers.
    pub(crate) has_publishers: bool,
    /// The time of the event in hand, on the run's clock.
    pub(crate) now_ns: u64,
    /// Time at which the worker was last woken by what it then reads.
    woken_ns: u64,
    /// How long ago the kernel had received what is in hand, if it stamped that.
    pub(crate) lag_ns: Option<u64>,
    /// How long the client in hand had been silent when the server ended its connection.
    pub(crate) silent_ns: Option<u64>,
    /// True if all reads ask for the time of receipt: it tells whether a stall is the server's.
    stamps_each_read: bool,
    /// Watches over the worker's turns for the same reason.
    pauses: PauseDetector,
    /// Reads since the last that asked for the time of receipt, and when that was.
    unstamped_reads: u32,
    stamped_ns: u64,
    pub(crate) wire: wire::Config,
    /// The run's own server, and the servers that clients log in at.
    servers: Vec<Server>,
    /// The connections that clients share; absent: each client has its own.
    pub(crate) pool: Option<Pool>,
    local_addrs: Vec<IpAddr>,
    pub(crate) segment: Segment,
    pub(crate) slow: Option<Slow>,
    /// True if clients that flap go on with their sessions.
    pub(crate) resumes: bool,
    pub(crate) read: Vec<u8>,
    pub(crate) plain: Vec<u8>,
    pub(crate) scratch: Vec<u8>,
    pub(crate) output: Output,
    /// The messages of a load that are in the output.
    pub(crate) staged: Vec<Staged>,
    /// The server's messages to a client that probes; absent in a run.
    pub(crate) said: Option<Vec<u8>>,
}

/// Endpoints to connect to in turn, and how.
struct Server {
    endpoints: Vec<Addr>,
    tls: Option<(ClientTls, String)>,
}

impl Shared {
    pub(crate) fn new(plan: &Plan, segment: Segment) -> io::Result<Self> {
        let alpn = plan.client_spec.alpn();
        let client_tls = |tls: &load::TlsPlan| {
            let identity = tls.identity.clone().map(|identity| (identity.chain, identity.key));
            let authorities = tls.authorities.clone();
            let options = TlsOptions { authorities, insecure: tls.insecure, identity, alpn };
            ClientTls::new(&options).map(|client| (client, tls.server_name.clone()))
        };
        let server = |endpoints: &[load::Endpoint], tls: Option<&load::TlsPlan>| {
            Ok::<_, io::Error>(Server {
                endpoints: endpoints.iter().map(addr_of).collect(),
                tls: tls.map(client_tls).transpose()?,
            })
        };
        let mut servers = vec![server(&plan.endpoints, plan.tls.as_ref())?];
        for of_logins in &plan.login_servers {
            servers.push(server(&of_logins.endpoints, of_logins.tls.as_ref())?);
        }
        let wire =
            plan.client_spec.wire_config().map_err(|bad| io::Error::new(ErrorKind::InvalidInput, bad))?;
        let wire = wire.among_workers(segment.workers);
        Ok(Self {
            poller: Arc::new(Poller::new()?),
            mark: 0,
            has_publishers: plan.publishing.is_some(),
            now_ns: clock::monotonic_ns(),
            woken_ns: 0,
            lag_ns: None,
            silent_ns: None,
            stamps_each_read: wire.stall_times().is_some(),
            pauses: PauseDetector::new(wire.stall_times().is_some()),
            unstamped_reads: 0,
            stamped_ns: 0,
            wire: wire.with_wall_clock(plan.unix_epoch_ns.wrapping_sub(plan.epoch_ns)),
            servers,
            pool: Pool::of(plan),
            local_addrs: plan.connecting.local_addrs.clone(),
            segment,
            slow: plan.slow,
            resumes: plan.flap.is_some_and(|flap| flap.resumes),
            read: vec![0; READ_BYTES],
            plain: Vec::new(),
            scratch: Vec::new(),
            output: Output::new(plan.seed.wrapping_add(u64::from(segment.worker))),
            staged: Vec::new(),
            said: None,
        })
    }

    /// The shared state of the publishers of these clients' messages, by the publishers' plan.
    pub(crate) fn of_publishers(&self, plan: &Plan) -> io::Result<Self> {
        Ok(Self { poller: Arc::clone(&self.poller), mark: PUBLISHER, ..Self::new(plan, self.segment)? })
    }

    /// Kinds of messages that the server answers to their senders, besides sending them to the others.
    pub(crate) fn acks(&self) -> Acks {
        if self.has_publishers { Acks::all(true) } else { self.wire.acks() }
    }

    /// The server that a stream of a session goes to.
    pub(crate) fn server_of(&self, session: &wire::Client, stream: StreamId) -> usize {
        if stream == 0 { session.server(&self.wire) } else { 0 }
    }

    /// How connections to a server are secured, and the name that its certificate must carry; `None` without
    /// TLS.
    pub(crate) fn tls(&self, server: usize) -> Option<&(ClientTls, String)> {
        self.servers[server].tls.as_ref()
    }

    /// Decrypts what was received over a link to this server, if the link has TLS.
    pub(crate) fn decrypt(
        &mut self,
        link: &mut Link,
        server: usize,
        received: usize,
    ) -> Result<Option<Secured>, Cause> {
        let Shared { servers, read, plain, scratch, .. } = self;
        let asked = servers[server].tls.as_ref().map(|(asked, _)| asked);
        link.decrypt(&mut read[..received], asked, plain, scratch)
    }

    /// A socket that is connecting to a server, and is polled under this token.
    pub(crate) fn connect(&self, token: Token, is_slow: bool, server: usize) -> Result<Socket, Cause> {
        self.open_socket(token.pack() | self.mark, token.client, is_slow, server)
    }

    /// A socket that is connecting for a group of clients, and is polled under this token of the pool.
    fn connect_pooled(&self, token: Token, group: u32) -> Result<Socket, Cause> {
        self.open_socket(token.pack() | POOLED, group, false, 0)
    }

    /// The slot of the connection on which a client's stream is to be opened; `None` if clients share none.
    pub(crate) fn connection_of(&mut self, index: u32) -> Result<Option<u32>, Cause> {
        let Some(pool) = &mut self.pool else { return Ok(None) };
        let group = pool.group_of(index);
        if let Some(slot) = pool.current(group) {
            return Ok(Some(slot));
        }
        let (token, clients) = (pool.next_token(), pool.clients_each());
        let socket = self.connect_pooled(token, group)?;
        let multiplexer = Multiplexer::new(&self.wire, clients);
        if let Some(pool) = &mut self.pool {
            pool.add(token, group, socket, multiplexer, self.now_ns);
        }
        Ok(Some(token.client))
    }

    /// Sends the output of a client's session on its stream.
    #[inline]
    pub(crate) fn flush_seat(&mut self, seat: Seat) -> Result<(), Cause> {
        let Shared { pool, output, scratch, .. } = self;
        let Some(pool) = pool else { return Ok(()) };
        output.take_main(|bytes| pool.write(seat, bytes, scratch))
    }

    fn open_socket(&self, token: u64, index: u32, is_slow: bool, server: usize) -> Result<Socket, Cause> {
        let (addr, local) = self.addresses(index, server);
        let socket = if is_slow {
            net::socket::connect_narrow(addr, local, SLOW_RECV_BUFFER_BYTES)
        } else {
            net::socket::connect(addr, local)
        };
        let socket = socket.map_err(|error| cause_of(&error))?;
        // Where a kernel tells no times of arrival, nothing is known of the loop's lag.
        let _ = socket.enable_timestamps();
        let added = self.poller.add(&socket, token, Interest::ReadWriteEdge);
        added.map_err(|error| cause_of(&error))?;
        Ok(socket)
    }

    /// The addresses a client connects to and from: clients of all workers take both in turn.
    fn addresses(&self, index: u32, server: usize) -> (&Addr, Option<IpAddr>) {
        let local = match self.local_addrs.len() {
            0 => None,
            n => Some(self.local_addrs[self.turn(index, n)]),
        };
        let endpoints = &self.servers[server].endpoints;
        (&endpoints[self.turn(index, endpoints.len())], local)
    }

    /// A client's number among those of all workers.
    pub(crate) fn number(&self, index: u32) -> u32 {
        self.segment.number(index)
    }

    fn turn(&self, index: u32, of: usize) -> usize {
        self.number(index) as usize % of
    }

    /// Begins a wait for events of at most `wait_ns`, and returns how long to wait.
    pub(crate) fn begin_wait(&mut self, now_ns: u64, wait_ns: Option<u64>) -> Option<u64> {
        self.pauses.begin_wait(now_ns, wait_ns)
    }

    /// Begins a turn of the worker, which was woken at this moment; `has_more` if the last one left something.
    pub(crate) fn begin_turn(&mut self, now_ns: u64, has_more: bool) {
        self.pauses.begin_turn(now_ns, has_more, queued_ns);
        self.handle_woken(now_ns);
    }

    /// Notes that the worker was woken at this moment.
    fn handle_woken(&mut self, now_ns: u64) {
        (self.now_ns, self.woken_ns) = (now_ns, now_ns);
    }

    /// Age of the bytes in hand.
    pub(crate) fn reach(&mut self) -> Reach {
        let PauseDetector { late_ns, starved_ns, .. } = self.pauses;
        let (woken_ns, received_ns) = (self.now_ns.saturating_sub(self.woken_ns), self.lag_ns.take());
        Reach { woken_ns, received_ns, late_ns, starved_ns }
    }

    /// The time now, if others kept the worker from the CPU since that moment of its turn. The coarse clock
    /// tells.
    #[inline]
    pub(crate) fn absence_end_ns(&self, since_ns: u64) -> Option<u64> {
        let is_absence = clock::monotonic_coarse_ns().saturating_sub(since_ns) > ABSENCE_NS_MIN;
        is_absence.then(clock::monotonic_ns)
    }

    /// Begins a read: returns whether it is to ask when the kernel received what it reads.
    #[inline]
    pub(crate) fn begin_read(&mut self) -> bool {
        // A worker that others kept from the CPU in the midst of its turn finds what came meanwhile as if it
        // had been woken now. Asked of the time before the read: the exact clock is read behind it.
        if let Some(back_ns) = self.absence_end_ns(self.now_ns) {
            self.pauses.add(self.now_ns, back_ns, queued_ns);
            self.handle_woken(back_ns);
        }
        if self.stamps_each_read {
            return true;
        }
        self.unstamped_reads += 1;
        // By count, for a busy loop; by time, for a quiet one, in which one read of 61 could be a minute
        // apart.
        let is_stamped = self.unstamped_reads >= STAMPED_READ_EVERY
            || self.now_ns.saturating_sub(self.stamped_ns) > STAMPED_READ_NS_MAX;
        if is_stamped {
            (self.unstamped_reads, self.stamped_ns) = (0, self.now_ns);
        }
        is_stamped
    }
}

/// How long the calling thread has been ready to run without a CPU since it started.
fn queued_ns() -> u64 {
    proc::thread_usage().run_queue_wait_ns
}

fn addr_of(endpoint: &load::Endpoint) -> Addr {
    match endpoint {
        load::Endpoint::Inet(addr) => Addr::Inet(*addr),
        load::Endpoint::Unix(path) => Addr::Unix(path.clone()),
    }
}
