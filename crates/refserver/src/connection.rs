//! One accepted connection: a link, a session, and how far it has come.

use std::io;

use net::poll::Poller;
use net::socket::Socket;
use net::tls::Tls;

use crate::faults::ClientFaults;
use crate::group::Membership;
use crate::link::Link;

/// Unsent bytes above which a connection is not read: who does not take its answers may not ask for more.
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
    /// Nothing more will be said: closes when the unsent bytes have gone out.
    Closing,
    /// Everything was said: what still comes is thrown away until the peer closes too. Closing a socket with
    /// unread bytes would reset it, and the peer might lose the last words, which say what was wrong.
    Lingering,
}

pub(crate) struct Connection {
    pub(crate) link: Link,
    /// Tells this connection from an earlier one with the same key.
    pub(crate) serial: u32,
    pub(crate) session: wire::Server,
    pub(crate) tls: Option<Tls>,
    pub(crate) is_upgraded: bool,
    /// The rooms it is in.
    pub(crate) memberships: Vec<Membership>,
    /// The token of the session that holds its request, and will answer when there is something to say.
    pub(crate) held_by: Option<u64>,
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
    pub(crate) fn new(socket: Socket, serial: u32, tls: Option<Tls>, deadline_ns: u64) -> Connection {
        Connection {
            link: Link::new(socket),
            serial,
            session: wire::Server::new(),
            tls,
            is_upgraded: false,
            memberships: Vec::new(),
            held_by: None,
            faults: None,
            phase: Phase::Fresh,
            unread: false,
            is_unfinished: false,
            deadline_ns,
            timer_ns: NEVER_NS,
        }
    }

    /// Whether reading is held back.
    pub(crate) fn is_held_back(&self) -> bool {
        self.link.unsent_bytes() > UNREAD_ABOVE_BYTES
    }

    /// Every byte of a message leaves through here: replies, and each member's copy of a broadcast. `token` is this
    /// connection's with the poller, `cipher` scratch.
    #[inline]
    pub(crate) fn send_messages(
        &mut self,
        frames: &[u8],
        poller: &Poller,
        token: u64,
        cipher: &mut Vec<u8>,
    ) -> io::Result<()> {
        let Some(tls) = &mut self.tls else { return self.link.send(frames, poller, token) };
        cipher.clear();
        tls.write(frames, cipher);
        self.link.send(cipher, poller, token)
    }
}
