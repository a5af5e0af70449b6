//! A worker's faults. Without faults, each of these is one branch.

use std::io;
use std::ops::Range;
use std::thread;
use std::time::Duration;

use codec::ws::close::GOING_AWAY;
use net::clock::monotonic_ns;
use net::socket::Socket;

use super::Worker;
use super::input::Call;
use crate::connection::{Connection, Phase};
use crate::faults::{CloseMethod, DeferredFault, WorkerFaults};

/// The time between two checks of a stalled server for a request to stop.
const STALL_POLL: Duration = Duration::from_millis(50);

/// Sends the part of a client's output that the faults let through now; `messages` are the ranges of its
/// messages.
pub(super) fn send(
    faults: &mut WorkerFaults,
    connection: &mut Connection,
    output: &[u8],
    messages: &[Range<usize>],
    token: u64,
    send: impl FnOnce(&mut Connection, &[u8]) -> io::Result<()>,
) -> io::Result<()> {
    // Members of rooms are upgraded, all but those that poll over HTTP, which are left alone.
    let Some(mut client) = connection.faults.take() else { return send(connection, output) };
    // Not the time of the turn: no message may seem to have come earlier than it did.
    let now = faults.handle_messages(&mut client, token, output, messages, monotonic_ns());
    connection.faults = Some(client);
    if now.is_empty() { Ok(()) } else { send(connection, now) }
}

impl Worker {
    /// Sleeps while a fault demands that the server do nothing at all. A server that is to stop does not
    /// stall.
    pub(super) fn stall(&self) {
        let Some(faults) = &self.faults else { return };
        let until_ns = faults.stalled_until_ns(monotonic_ns()).unwrap_or_default();
        while self.stop.level() == 0 {
            let rest = Duration::from_nanos(until_ns.saturating_sub(monotonic_ns()));
            if rest.is_zero() {
                return;
            }
            // In slices: no signal wakes a sleep of the standard library's.
            thread::sleep(rest.min(STALL_POLL));
        }
    }

    /// Handles an accepted connection: serves it now, later, or not at all.
    pub(super) fn admit(&mut self, socket: Socket) {
        match &mut self.faults {
            None => self.open(socket),
            Some(faults) => {
                if let Some(socket) = faults.handle_accepted(socket, self.now_ns) {
                    self.open(socket);
                }
            }
        }
    }

    /// Returns whether a connection is not to be read now.
    pub(super) fn is_deaf(&mut self, key: usize, token: u64) -> bool {
        let Some(faults) = &mut self.faults else { return false };
        faults.is_deaf(self.connections[key].faults.as_deref(), token, monotonic_ns())
    }

    /// Does the work that is due: sends delayed messages, carries out deferred faults, and reads and accepts
    /// connections that were left waiting.
    pub(super) fn work_faults(&mut self) {
        if self.faults.is_none() {
            return;
        }
        let now_ns = monotonic_ns();
        while let Some((token, bytes)) = self.active_faults().poll_later(now_ns) {
            if let Some(key) = self.find(token).filter(|&key| self.hears(key)) {
                self.send_output(key, &bytes);
            }
        }
        while let Some(fault) = self.active_faults().poll_deferred() {
            self.carry_out(fault);
        }
        while let Some(token) = self.active_faults().poll_unread(now_ns) {
            if let Some(key) = self.find(token) {
                self.read_later(key);
            }
        }
        while let Some(socket) = self.active_faults().poll_accepted(now_ns) {
            self.open(socket);
        }
    }

    /// Adds the committed faults to the totals.
    pub(super) fn count_faults(&mut self) {
        let counts = self.faults.iter().flat_map(|faults| faults.counts());
        self.stats.faults = counts.map(|(&name, &count)| (name.into(), count)).collect();
    }

    fn carry_out(&mut self, fault: DeferredFault) {
        match fault {
            DeferredFault::Stray(token, bytes) => {
                let stranger = self.stranger_to(token, |_| true);
                self.send_copy(stranger, &bytes, "stray");
            }
            DeferredFault::Leak(token, bytes) => {
                // Gone since, and its rooms with it: no client is known to be in another room.
                let Some(own) = self.find(token) else { return };
                let groups = |key: usize| self.connections[key].memberships.groups();
                let rooms: Vec<u32> = groups(own).collect();
                let outsider =
                    self.stranger_to(token, |key| !groups(key).any(|group| rooms.contains(&group)));
                self.send_copy(outsider, &bytes, "leak");
            }
            DeferredFault::End(token, how) => {
                if let Some(key) = self.find(token) {
                    self.active_faults().count(how.name());
                    self.end(key, how);
                }
            }
        }
    }

    /// Sends a client a message that is not for it, and counts the fault; without a client it does neither.
    fn send_copy(&mut self, client: Option<usize>, bytes: &[u8], fault: &'static str) {
        if let Some(key) = client {
            self.send_output(key, bytes);
            self.active_faults().count(fault);
        }
    }

    fn end(&mut self, key: usize, how: CloseMethod) {
        match how {
            // Its faults are silent from now on, and the socket stays open.
            CloseMethod::Mute => {}
            CloseMethod::Close => {
                self.part(key);
                // The close itself is to come out.
                self.connections[key].faults = None;
                self.call(key, Call::Close(GOING_AWAY));
            }
            CloseMethod::Reset => {
                self.part(key);
                self.connections.remove(key).link.socket.abort();
            }
        }
    }

    /// Another client of this worker for which `holds` is true: the next one after the token's client, or
    /// else the first.
    fn stranger_to(&self, token: u64, holds: impl Fn(usize) -> bool) -> Option<usize> {
        let own = token as u32 as usize;
        let is_other = |&key: &usize| key != own && self.hears(key) && holds(key);
        let others = || self.connections.iter().map(|(key, _)| key).filter(is_other);
        others().find(|&key| key > own).or_else(|| others().next())
    }

    /// Returns whether a client is there, and can be sent messages.
    fn hears(&self, key: usize) -> bool {
        let connection = &self.connections[key];
        connection.phase == Phase::Open && connection.faults.is_some() && !connection.is_silent()
    }

    fn active_faults(&mut self) -> &mut WorkerFaults {
        self.faults.as_mut().expect("looked at before")
    }
}
