//! The server of a data sheet, and the account of what is spent on it.

use std::cell::Cell;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use codec::StreamId;
use load::{Endpoint, Plan};
use net::signals::Interrupts;
use net::socket::Addr;
use net::tls::{ClientTls, TlsOptions, TlsVersion};
use wire::Io;

use super::row::{Cost, NotTried};
use crate::verbs::probe::service::Service;

/// Interval at which a pause looks for an interrupt.
const LOOK: Duration = Duration::from_millis(50);

/// Limits that the user sets.
#[derive(Clone, Debug)]
pub(super) struct Bounds {
    /// Connections at once.
    pub(super) connections: usize,
    /// Silence that is waited for.
    pub(super) idle: Duration,
    /// Absence to resume from.
    pub(super) absence: Duration,
    /// Bytes of a message.
    pub(super) message_bytes: u64,
    /// A message that the server takes; `None`: the protocol's own.
    pub(super) message: Option<String>,
}

/// The server under test.
pub(super) struct Site {
    /// A plan whose clients speak the protocol that was found.
    pub(super) plan: Plan,
    /// The service; `None` if there is none that lets clients in.
    pub(super) service: Option<Service>,
    /// True if a message comes back to its sender.
    pub(super) echoes: bool,
    pub(super) bounds: Bounds,
    pub(super) interrupts: Interrupts,
    pub(super) known: Known,
    open: AtomicUsize,
    are_waiting_open: AtomicBool,
}

/// Limits that one probe finds and a later one keeps, so as not to take one limit for another.
#[derive(Default)]
pub(super) struct Known {
    message_bytes: OnceLock<u64>,
    burst: OnceLock<u64>,
}

impl Known {
    /// Notes the greatest message.
    pub(super) fn note_message_bytes(&self, bytes: u64) {
        // Each is found once.
        let _ = self.message_bytes.set(bytes);
    }

    /// Notes the number of messages after which the server wants no more.
    pub(super) fn note_burst(&self, messages: u64) {
        let _ = self.burst.set(messages);
    }

    /// A size of at most `bytes` that the server takes.
    pub(super) fn message_bytes(&self, bytes: u64) -> u64 {
        self.message_bytes.get().map_or(bytes, |&most| most.min(bytes))
    }

    /// The number of messages after which the server wants no more, if it has one.
    pub(super) fn burst(&self) -> Option<u64> {
        self.burst.get().copied()
    }
}

impl Site {
    /// A server to which there is no connection yet.
    pub(super) fn new(
        plan: Plan,
        service: Option<Service>,
        echoes: bool,
        bounds: Bounds,
        interrupts: Interrupts,
    ) -> Site {
        let (known, open, are_waiting_open) = (Known::default(), AtomicUsize::new(0), AtomicBool::new(false));
        Site { plan, service, echoes, bounds, interrupts, known, open, are_waiting_open }
    }

    /// The address that all connections go to.
    pub(super) fn addr(&self) -> Addr {
        match &self.plan.endpoints[0] {
            Endpoint::Inet(addr) => Addr::Inet(*addr),
            Endpoint::Unix(path) => Addr::Unix(path.clone()),
        }
    }

    /// The client's side of TLS that asks for this protocol, of one version or of any; `None`: the server is
    /// asked in plain text.
    pub(super) fn tls(
        &self,
        alpn: Option<&'static str>,
        version: Option<TlsVersion>,
    ) -> Result<Option<ClientTls>, NotTried> {
        let Some(tls) = &self.plan.tls else { return Ok(None) };
        let identity = tls.identity.clone().map(|identity| (identity.chain, identity.key));
        let (authorities, insecure) = (tls.authorities.clone(), tls.insecure);
        let options = TlsOptions { authorities, insecure, identity, alpn };
        let made = match version {
            None => ClientTls::new(&options),
            Some(version) => ClientTls::of_version(&options, version),
        };
        made.map(Some).map_err(|error| NotTried(error.to_string()))
    }

    /// Connections that are open now.
    pub(super) fn open(&self) -> usize {
        self.open.load(Ordering::Relaxed)
    }

    /// Notes that the connections of the probes that wait are open.
    pub(super) fn note_waiting_open(&self) {
        self.are_waiting_open.store(true, Ordering::Relaxed);
    }

    /// Returns whether the connections of the probes that wait are open.
    pub(super) fn are_waiting_open(&self) -> bool {
        self.are_waiting_open.load(Ordering::Relaxed)
    }

    /// Returns whether the user has had enough.
    pub(super) fn is_interrupted(&self) -> bool {
        self.interrupts.count() > 0
    }

    /// Waits, unless the user has had enough.
    pub(super) fn pause(&self, time: Duration) -> Result<(), NotTried> {
        let until = Instant::now() + time;
        while !self.is_interrupted() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            thread::sleep(left.min(LOOK));
        }
        Err(NotTried("interrupted".to_owned()))
    }
}

/// One probe's way to the server, and its account.
pub(super) struct Tester<'a> {
    pub(super) site: &'a Site,
    begun: Instant,
    connections: Cell<u64>,
    bytes: Cell<u64>,
}

impl<'a> Tester<'a> {
    /// Opens an account.
    pub(super) fn new(site: &'a Site) -> Tester<'a> {
        Tester { site, begun: Instant::now(), connections: Cell::new(0), bytes: Cell::new(0) }
    }

    /// The cost so far.
    pub(super) fn cost(&self) -> Cost {
        Cost { connections: self.connections.get(), bytes: self.bytes.get(), time: self.begun.elapsed() }
    }

    /// Counts bytes that went out or came in.
    pub(super) fn count_bytes(&self, bytes: usize) {
        self.bytes.set(self.bytes.get() + bytes as u64);
    }

    /// Takes a connection, which is given back when this is dropped.
    pub(super) fn take_connection(&self) -> Lease<'a> {
        self.connections.set(self.connections.get() + 1);
        self.site.open.fetch_add(1, Ordering::Relaxed);
        Lease(&self.site.open)
    }
}

/// A connection that counts as open.
pub(super) struct Lease<'a>(&'a AtomicUsize);

impl Drop for Lease<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Bytes that a session wants to send, and randomness for it.
#[derive(Default)]
pub(super) struct Written(pub(super) Vec<u8>);

impl codec::Io for Written {
    fn out(&mut self, _: StreamId) -> &mut Vec<u8> {
        &mut self.0
    }

    fn random_u64(&mut self) -> u64 {
        fastrand::u64(..)
    }

    fn open_stream(&mut self, _: StreamId) {}

    fn close_stream(&mut self, _: StreamId) {}
}

impl Io for Written {}
