//! How connections come in, and how all of them go at the end of a worker: in order, in bounded time.

use std::io;

use codec::ws::close::GOING_AWAY;
use net::clock::monotonic_ns;
use net::errors::ErrorKind;
use net::poll::Interest;
use net::socket::Socket;
use net::tls::Tls;

use super::input::Call;
use super::{TOKEN_LISTENERS, Worker};
use crate::connection::{Connection, NEVER_NS, Phase};

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

    fn accept_at_most(&mut self, listener: usize, connections: usize) -> io::Result<()> {
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

    fn unwatch_listeners(&self) -> io::Result<()> {
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

    /// Closes the listeners, and sends every client the end of its connection.
    pub(super) fn begin_stop(&mut self) -> io::Result<()> {
        // Clients that wait to be accepted would otherwise be reset. Those that come meanwhile must not keep
        // it from ending.
        let waiting = self.options.backlog as usize + 1;
        (0..self.listeners.len()).try_for_each(|listener| self.accept_at_most(listener, waiting))?;
        // Closing is not enough: a unix socket stays open with other workers and the parent, and in this
        // epoll (epoll(7)).
        if self.accept_again_ns.take().is_none() {
            self.unwatch_listeners()?;
        }
        // The whole of it, and not from the beginning of the turn in which the stop is noticed.
        self.stop_at_ns = Some(monotonic_ns() + self.options.grace_ns);
        // A client that is told to go need not say that it is there.
        self.next_ping_ns = None;
        self.listeners.clear();
        // Those that a fault keeps waiting are told as well.
        while let Some(socket) = self.faults.as_mut().and_then(|faults| faults.poll_accepted(NEVER_NS)) {
            self.open(socket);
        }
        let keys: Vec<usize> = self.connections.iter().map(|(key, _)| key).collect();
        for key in keys {
            if self.connections[key].is_silent() {
                // No goodbye; that its socket ends with the server, nothing can hide.
                self.close(key);
            } else if self.connections[key].is_upgraded && self.connections[key].phase == Phase::Open {
                // Out of its rooms first, so that nothing is broadcast to it behind the close.
                self.part(key);
                self.call(key, Call::Close(GOING_AWAY));
            } else if matches!(self.connections[key].phase, Phase::Fresh | Phase::Open | Phase::Idle) {
                self.close_after_output(key);
            }
        }
        Ok(())
    }

    /// Returns whether the worker has nothing left to wait for.
    pub(super) fn has_stopped(&self) -> bool {
        let Some(stop_at_ns) = self.stop_at_ns else { return false };
        self.connections.is_empty() || self.now_ns >= stop_at_ns || self.stop.level() > 1
    }
}
