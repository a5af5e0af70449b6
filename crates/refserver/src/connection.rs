//! One accepted connection: a link, a session, and how far it has come.

use std::io;

use net::socket::Socket;
use net::tls::{ServerSide, Tls};

use crate::backlog::Batch;
use crate::faults::ClientFaults;
use crate::held::{Held, Share};
use crate::link::{Link, Way};
use crate::memberships::Memberships;

/// The number of unsent bytes, or of bytes of waiting requests, above which a connection is not read: a
/// client that does not take its answers, or asks for more than can be answered, may not ask for more.
const UNREAD_ABOVE_BYTES: usize = 64 << 10;

/// The deadline of a connection without one.
pub(crate) const NEVER_NS: u64 = u64::MAX;

/// How far a connection has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// The connection was accepted: it has until its deadline to upgrade or to make a request.
    Fresh,
    /// The connection is in use.
    Open,
    /// Its request is answered: the connection has until its deadline to make another.
    Idle,
    /// The last bytes are queued: the connection closes when they have gone out.
    Closing,
    /// Everything was sent: bytes that still arrive are thrown away until the peer closes too. Closing a
    /// socket with unread bytes would reset it, and the peer might lose the last message, which names what
    /// was wrong.
    Lingering,
}

pub(crate) struct Connection {
    pub(crate) link: Link,
    /// A number that tells this connection from an earlier one with the same key.
    pub(crate) serial: u32,
    pub(crate) session: wire::Server,
    pub(crate) tls: Option<Tls<ServerSide>>,
    pub(crate) is_upgraded: bool,
    /// The connection's places in rooms.
    pub(crate) memberships: Memberships,
    /// The token of the session that holds the connection's request, and will answer when it has output; or
    /// of the session that the connection has taken over.
    pub(crate) held_by: Option<u64>,
    /// The same of each stream of HTTP/2 with an answer under way.
    pub(crate) streams: Vec<(u32, u64)>,
    /// The bytes that wait for the windows of HTTP/2, once there were any.
    windowed: Option<Share>,
    /// The record of the client's faults, once the connection is upgraded and if the server has faults.
    pub(crate) faults: Option<Box<ClientFaults>>,
    pub(crate) phase: Phase,
    /// True while a request of the connection for a session waits for its turn.
    pub(crate) is_asked: bool,
    /// True if there was something to read while reading was held back.
    pub(crate) unread: bool,
    /// True if the connection is going to be read without an event.
    pub(crate) is_unfinished: bool,
    /// The time when the phase has to end.
    pub(crate) deadline_ns: u64,
    /// The time of the connection's valid entry in the timers.
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
            windowed: None,
            faults: None,
            phase: Phase::Fresh,
            is_asked: false,
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

    /// Returns whether its session follows a reader that has not taken what was sent to it.
    fn is_followed_behind(&self) -> bool {
        self.link.unsent_bytes() > 0 && self.session.follows_reader()
    }

    /// Books the bytes that wait for the windows of HTTP/2.
    pub(crate) fn book_windowed(&mut self, held: &Held) {
        let bytes = self.session.all_unsent_bytes();
        if bytes > 0 || self.windowed.is_some() {
            self.windowed.get_or_insert_with(|| held.share()).set(bytes);
        }
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

    /// Returns whether a fault lets nothing more out to the client or in from it.
    pub(crate) fn is_silent(&self) -> bool {
        self.faults.as_ref().is_some_and(|client| client.silent)
    }

    /// The time when the session has something to do: none once nothing may be added to the output. A reader
    /// that is behind is followed when it has caught up (`handle_drained`).
    pub(crate) fn session_timeout_ns(&self) -> Option<u64> {
        let is_over = self.is_silent() || matches!(self.phase, Phase::Closing | Phase::Lingering);
        if is_over || self.is_followed_behind() { None } else { self.session.poll_timeout() }
    }

    /// Handles that a request was answered, or that a session was asked to answer it. A connection without
    /// further requests is idle from then on.
    pub(crate) fn handle_answered(&mut self, is_asked: bool, idle_until_ns: u64) {
        (self.phase, self.deadline_ns) = match self.is_upgraded || is_asked || self.session.is_answering() {
            true => (Phase::Open, NEVER_NS),
            false => (Phase::Idle, idle_until_ns),
        };
    }

    /// Handles the first bytes of another request on the connection: like the first request, it has until a
    /// deadline.
    pub(crate) fn handle_begun(&mut self, until_ns: u64) {
        // Only then: the first request has its deadline from when the connection was accepted.
        if self.phase == Phase::Idle {
            (self.phase, self.deadline_ns) = (Phase::Open, until_ns);
        }
    }

    /// Sends an answer; every byte of an answer is sent by this function. `cipher` is scratch.
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

    /// Sends a broadcast to this member; every byte of a broadcast is sent by this function. Encrypted bytes
    /// are the member's own, not shared.
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
