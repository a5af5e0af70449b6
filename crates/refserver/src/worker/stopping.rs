//! How all connections go at the end of a worker: in order, in bounded time.

use std::io;

use codec::ws::close::GOING_AWAY;
use net::clock::monotonic_ns;

use super::Worker;
use super::input::Call;
use crate::connection::{NEVER_NS, Phase};

impl Worker {
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
