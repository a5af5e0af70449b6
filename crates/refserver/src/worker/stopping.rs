//! The end of a worker: in order, in bounded time.

use std::io;

use super::Worker;
use super::input::Call;
use crate::connection::Phase;

/// The endpoint is going away (RFC 6455 §7.4.1).
pub(super) const GOING_AWAY: u16 = 1001;

impl Worker {
    /// Closes the listeners, and says goodbye to everyone.
    pub(super) fn begin_stop(&mut self) -> io::Result<()> {
        // Who waits to be accepted would otherwise be reset.
        (0..self.listeners.len()).try_for_each(|listener| self.accept(listener))?;
        self.stop_at_ns = Some(self.now_ns + self.options.grace_ns);
        self.accept_again_ns = None;
        self.next_ping_ns = None;
        self.listeners.clear();
        let keys: Vec<usize> = self.connections.iter().map(|(key, _)| key).collect();
        for key in keys {
            if self.connections[key].is_upgraded && self.connections[key].phase == Phase::Open {
                self.part(key);
                self.call(key, Call::Close(GOING_AWAY));
            } else if matches!(self.connections[key].phase, Phase::Fresh | Phase::Open | Phase::Idle) {
                self.close_after_output(key);
            }
        }
        Ok(())
    }

    /// Whether there is nothing left to wait for.
    pub(super) fn has_stopped(&self) -> bool {
        let Some(stop_at_ns) = self.stop_at_ns else { return false };
        self.connections.is_empty() || self.now_ns >= stop_at_ns || self.stop.level() > 1
    }
}
