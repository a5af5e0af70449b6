//! One accepted connection: a link, a session, and how far it has come.

use std::io;

use net::socket::Socket;
use net::tls::{ServerSide, Tls};

use crate::backlog::Batch;
use crate::faults::ClientFaults;
use crate::link::{Link, Way};
use crate::memberships::Memberships;

/// Unsent bytes, or bytes of requests that wait for their turn, above which a connection is not read: a
/// client that does not take its answers, or asks for more than can be answered, may not ask for more.
const UNREAD_ABOVE_BYTES: usize = 64 << 10;

/// No deadline.
pub(crate) const NEVER_NS: u64 = u64::MAX;

/// How far a connection has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Accepted: has until its deadline to upgrade or to make a request.
    Fresh,
    /// In use.
    Open,
    /// Its request is answered: has until its deadline to make another.
    Idle,
    /// Nothing more will be said: closes when the unsent bytes have gone out.
    Closing,
    /// Everything was sent: what still comes is thrown away until the peer closes too. Closing a socket with
    /// unread bytes would reset it, and the peer might lose the last message, which says what was wrong.
    Lingering,
}

pub(crate) struct Connection {
    pub(crate) link: Link,
    /// Tells this connection from an earlier one with the same key.
    pub(crate) serial: u32,
    pub(crate) session: wire::Server,
    pub(crate) tls: Option<Tls<ServerSide>>,
    pub(crate) is_upgraded: bool,
    /// The rooms it is in.
    pub(crate) memberships: Memberships,
    /// The token of the session that holds its request, and will answer when there is something to say; or
    /// that it has taken over.
    pub(crate) held_by: Option<u64>,
    /// The same of each stream of HTTP/2 with an answer under way.
    pub(crate) streams: Vec<(u32, u64)>,
    /// Once it is upgraded, if the server has faults.
    pub(crate) faults: Option<Box<ClientFaults>>,
    pub(crate) phase: Phase,
    /// There was something to read while reading was held back.
    pub(crate) unread: bool,
    /// It is going to be read without an event.
    pub(crate) is_unfinished: bool,
    /// When the phase has to end.
    pub(crate) deadline_ns: u64,
    /// The time of the entry in the timers that counts.
    pub(crate) timer_ns: u64,
}

impl Connection {
    pub(crate) fn new(
        socket: Socket,
        serial: u32,
        tls: Option<Tls<ServerSide>>,
        deadline_ns: u64,
    ) -> Connection {
        Connection {
            link: Link::new(socket),
            serial,
            session: wire::Server::new(),
            tls,
            is_upgraded: false,
            memberships: Memberships::default(),
            held_by: None,
            streams: Vec::new(),
            faults: None,
            phase: Phase::Fresh,
            unread: false,
            is_unfinished: false,
            deadline_ns,
            timer_ns: NEVER_NS,
        }
    }

    /// Returns whether reading is held back.
    pub(crate) fn is_held_back(&self) -> bool {
        // What is not read fills the kernel's buffers, until TCP makes the client wait.
        self.link.unsent_bytes() > UNREAD_ABOVE_BYTES || self.session.waiting_bytes() > UNREAD_ABOVE_BYTES
    }

    /// Takes the session that answers on a stream of HTTP/2.
    pub(crate) fn take_stream(&mut self, stream: u32) -> Option<u64> {
        let at = self.streams.iter().position(|&(of, _)| of == stream)?;
        Some(self.streams.swap_remove(at).1)
    }

    /// Bytes that wait to be sent as part of the answer on a stream, or on a connection that has none.
    pub(crate) fn unsent_bytes(&self, stream: u32) -> usize {
        self.link.unsent_bytes() + self.session.unsent_bytes(stream)
    }

    /// It has got what it asked for, or a session is asked for it. With nothing more to come it is idle.
    pub(crate) fn handle_answered(&mut self, is_asked: bool, idle_until_ns: u64) {
        (self.phase, self.deadline_ns) = match self.is_upgraded || is_asked || self.session.is_answering() {
            true => (Phase::Open, NEVER_NS),
            false => (Phase::Idle, idle_until_ns),
        };
    }

    /// The next request on a connection that lives on has as long as the first, from its first bytes on.
    pub(crate) fn handle_begun(&mut self, until_ns: u64) {
        // Only then: the first request has its deadline from when the connection was accepted.
        if self.phase == Phase::Idle {
            (self.phase, self.deadline_ns) = (Phase::Open, until_ns);
        }
    }

    /// Every byte of an answer leaves through here. `cipher` is scratch.
    #[inline]
    pub(crate) fn send_messages(
        &mut self,
        frames: &[u8],
        way: Way<'_>,
        cipher: &mut Vec<u8>,
    ) -> io::Result<()> {
        let Some(tls) = &mut self.tls else { return self.link.send(frames, way) };
        cipher.clear();
        tls.write(frames, cipher);
        self.link.send(cipher, way)
    }

    /// Every byte of a broadcast leaves through here, for each member. What is encrypted is its own.
    #[inline]
    pub(crate) fn send_copies(
        &mut self,
        batch: &mut Batch<'_>,
        way: Way<'_>,
        cipher: &mut Vec<u8>,
    ) -> io::Result<()> {
        let Some(tls) = &mut self.tls else { return self.link.send_copies(batch, way) };
        cipher.clear();
        tls.write(batch.bytes(), cipher);
        // Each connection has keys of its own, so that no other can use these bytes.
        self.link.send_copies(&mut Batch::new(cipher), way)
    }
}
