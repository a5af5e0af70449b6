//! Options of a server.

use net::socket::Addr;
use net::tls::ServerTls;
use wire::ServerConfig;

use crate::faults::Faults;

/// The default number of bytes kept for a client that reads slower than others write, before it counts as a
/// slow consumer.
const BACKLOG_BYTES_DEFAULT: usize = 1 << 20;

/// The default number of bytes kept for all such clients together, in each process.
const BACKLOG_TOTAL_BYTES_DEFAULT: usize = 256 << 20;

/// The default time from accept, or the first bytes of a later request, to its answer: absolute, however
/// busily the client drips.
const HANDSHAKE_TIMEOUT_NS_DEFAULT: u64 = 10_000_000_000;

/// The default time for which a connection is kept alive without another request; it is nginx's
/// `keepalive_timeout`.
const IDLE_TIMEOUT_NS_DEFAULT: u64 = 75_000_000_000;

/// The default time from the request to stop until the last connections are cut off.
const GRACE_NS_DEFAULT: u64 = 5_000_000_000;

/// The policy for a client that does not read what is broadcast to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SlowPolicy {
    /// The client is cut off. Others are not held up, and the client knows that it has missed something.
    #[default]
    DropConnection,
    /// The client misses broadcasts until it has caught up, and does not learn of that.
    DropMessage,
}

/// The options of a server, all with defaults except the addresses.
#[derive(Clone)]
pub struct Options {
    /// Addresses to listen on; at least one address. Port 0 lets the kernel choose.
    pub listen: Vec<Addr>,
    /// The most connections that may wait to be accepted.
    pub backlog: u32,
    /// The number of worker threads, each with its own listeners and connections.
    pub threads: usize,
    /// CPUs to tie the workers to, in turn; empty: the scheduler decides.
    pub cpus: Vec<usize>,
    /// The TLS configuration of every address; `None`: no TLS.
    pub tls: Option<ServerTls>,
    /// Protocols, their limits, and the dialect.
    pub protocol: ServerConfig,
    /// The bytes of broadcasts that may wait for a client before `slow_policy` applies. Bytes on their way to
    /// the client do not count, nor do answers; and one turn's broadcasts may wait in any case.
    pub backlog_bytes_max: usize,
    /// The most bytes kept unsent for all clients of a process together. Once this number is reached,
    /// `slow_policy` applies to every client that is behind; and a client whose message is half sent is cut
    /// off.
    pub backlog_total_bytes_max: usize,
    /// The policy for clients that do not keep up.
    pub slow_policy: SlowPolicy,
    /// The time from accept, or the first bytes of a later request on the same connection, until upgraded or
    /// answered.
    pub handshake_timeout_ns: u64,
    /// How long a connection is kept alive without another request.
    pub idle_timeout_ns: u64,
    /// The time between two WebSocket pings to every client, which is more than 0. Absent by default: idle
    /// connections cost nothing and never time out.
    pub ping_interval_ns: Option<u64>,
    /// The time that a graceful stop may take.
    pub grace_ns: u64,
    /// The faults that the server commits on purpose.
    pub faults: Option<Faults>,
    /// Prints a notice of the running server, such as what it has run out of: a line without its end.
    pub say: fn(&str),
}

impl Options {
    /// Makes the default options, with the addresses `listen`.
    pub fn new(listen: Vec<Addr>) -> Options {
        Options {
            listen,
            backlog: 65_535,
            threads: 1,
            cpus: Vec::new(),
            tls: None,
            protocol: ServerConfig::default(),
            backlog_bytes_max: BACKLOG_BYTES_DEFAULT,
            backlog_total_bytes_max: BACKLOG_TOTAL_BYTES_DEFAULT,
            slow_policy: SlowPolicy::default(),
            handshake_timeout_ns: HANDSHAKE_TIMEOUT_NS_DEFAULT,
            idle_timeout_ns: IDLE_TIMEOUT_NS_DEFAULT,
            ping_interval_ns: None,
            grace_ns: GRACE_NS_DEFAULT,
            faults: None,
            say: |_| {},
        }
    }
}
