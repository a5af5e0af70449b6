//! How connections come in: a bounded number in a turn, and none for a while after descriptors have run out.

use std::io;

use net::errors::ErrorKind;
use net::poll::Interest;
use net::socket::Socket;
use net::tls::Tls;

use super::{TOKEN_LISTENERS, Worker};
use crate::connection::Connection;

/// The most connections accepted from one listener per turn, so that a storm of new clients does not starve
/// the present ones.
const ACCEPTS_PER_TURN: usize = 256;
/// The pause before the worker accepts again when descriptors or memory have run out, so that it does not
/// fail in a tight loop.
const ACCEPT_PAUSE_NS: u64 = 100_000_000;

impl Worker {
    /// Accepts the connections that wait at a listener.
    pub(super) fn accept(&mut self, listener: usize) -> io::Result<()> {
        self.accept_at_most(listener, ACCEPTS_PER_TURN)
    }

    pub(super) fn accept_at_most(&mut self, listener: usize, connections: usize) -> io::Result<()> {
        for _ in 0..connections {
            // A connection of this very turn may have found descriptors gone.
            if self.accept_again_ns.is_some() {
                return Ok(());
            }
            // Gone if this turn has brought a stop.
            let Some(listener) = self.listeners.get(listener) else { return Ok(()) };
            match listener.accept() {
                Ok(socket) => self.admit(socket),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) => {
                    let kind = ErrorKind::of(&error);
                    self.count_failure(kind);
                    // A client that gave up while it waited is its own affair; anything else is likely to
                    // last.
                    if kind != ErrorKind::Aborted {
                        self.pause_accepting()?;
                    }
                }
            }
        }
        Ok(())
    }

    fn pause_accepting(&mut self) -> io::Result<()> {
        self.accept_again_ns = Some(self.now_ns + ACCEPT_PAUSE_NS);
        // Watched by level, they would wake the worker at once and again.
        self.unwatch_listeners()
    }

    pub(super) fn unwatch_listeners(&self) -> io::Result<()> {
        self.listeners.iter().try_for_each(|listener| self.poller.remove(&**listener))
    }

    pub(super) fn resume_accepting(&mut self) -> io::Result<()> {
        self.accept_again_ns = None;
        for (number, listener) in (0u64..).zip(&self.listeners) {
            self.poller.add(&**listener, TOKEN_LISTENERS + number, Interest::ReadLevel)?;
        }
        Ok(())
    }

    pub(super) fn open(&mut self, socket: Socket) {
        self.stats.connections += 1;
        let tls = self.options.tls.as_ref().map(Tls::new_server);
        let deadline_ns = self.now_ns + self.options.handshake_timeout_ns;
        let connection = Connection::new(socket, self.new_serial(), tls, deadline_ns);
        let key = self.connections.insert(connection);
        let token = self.token_of(key);
        match self.poller.add(&self.connections[key].link.socket, token, Interest::ReadEdge) {
            Ok(()) => self.arm(key),
            Err(error) => self.fail(key, ErrorKind::of(&error)),
        }
    }
}
