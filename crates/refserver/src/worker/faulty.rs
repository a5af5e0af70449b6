//! A worker's faults. Without faults, each of these is one branch.

use std::io;
use std::thread;
use std::time::Duration;

use net::clock::monotonic_ns;
use net::socket::Socket;

use super::Worker;
use super::doors::GOING_AWAY;
use super::input::Call;
use crate::connection::{Connection, Phase};
use crate::faults::{CloseMethod, DeferredFault, WorkerFaults};

/// Sends what the faults let out now of messages for one client.
pub(super) fn send(
    line: &mut WorkerFaults,
    connection: &mut Connection,
    messages: &[u8],
    token: u64,
    send: impl FnOnce(&mut Connection, &[u8]) -> io::Result<()>,
) -> io::Result<()> {
    // Members of rooms are upgraded, all but those that poll over HTTP, which are left alone.
    let Some(mut client) = connection.faults.take() else { return send(connection, messages) };
    // Not the time of the turn: no message may seem to have come earlier than it did.
    let now = line.handle_messages(&mut client, token, messages, monotonic_ns());
    connection.faults = Some(client);
    if now.is_empty() { Ok(()) } else { send(connection, now) }
}

impl Worker {
    /// Sleeps as long as nothing at all is to be done.
    pub(super) fn stall(&self) {
        let Some(line) = &self.faults else { return };
        let now_ns = monotonic_ns();
        if let Some(until_ns) = line.stalled_until_ns(now_ns) {
            thread::sleep(Duration::from_nanos(until_ns - now_ns));
        }
    }

    /// Lets a connection in: now, later, or not at all.
    pub(super) fn admit(&mut self, socket: Socket) {
        match &mut self.faults {
            None => self.open(socket),
            Some(line) => {
                if let Some(socket) = line.handle_accepted(socket, self.now_ns) {
                    self.open(socket);
                }
            }
        }
    }

    /// Returns whether a connection is not to be read now.
    pub(super) fn is_deaf(&mut self, key: usize, token: u64) -> bool {
        let Some(line) = &mut self.faults else { return false };
        line.is_deaf(self.connections[key].faults.as_deref(), token, monotonic_ns())
    }

    /// Does what is due: sends what was delayed, plays the tricks, reads and accepts what was left waiting.
    pub(super) fn work_faults(&mut self) {
        if self.faults.is_none() {
            return;
        }
        let now_ns = monotonic_ns();
        while let Some((token, bytes)) = self.line().poll_later(now_ns) {
            if let Some(key) = self.find(token).filter(|&key| self.hears(key)) {
                self.send_output(key, &bytes);
            }
        }
        while let Some(trick) = self.line().poll_trick() {
            self.play(trick);
        }
        while let Some(token) = self.line().poll_unread(now_ns) {
            if let Some(key) = self.find(token) {
                self.read_later(key);
            }
        }
        while let Some(socket) = self.line().poll_accepted(now_ns) {
            self.open(socket);
        }
    }

    /// Puts what was done wrong into the totals.
    pub(super) fn count_faults(&mut self) {
        let counts = self.faults.iter().flat_map(|line| line.counts());
        self.stats.faults = counts.map(|(&name, &count)| (name.into(), count)).collect();
    }

    fn play(&mut self, trick: DeferredFault) {
        match trick {
            DeferredFault::Stray(token, bytes) => {
                if let Some(stranger) = self.stranger_to(token, |_| true) {
                    self.send_output(stranger, &bytes);
                }
            }
            DeferredFault::Leak(token, bytes) => {
                let groups = |key: usize| self.connections[key].memberships.groups();
                // Somebody who is in none of the rooms of the one that the message was for.
                let is_in = |group: u32| groups(token as u32 as usize).any(|own| own == group);
                let outsider = self.stranger_to(token, |key| !groups(key).any(is_in));
                if let Some(outsider) = outsider {
                    self.send_output(outsider, &bytes);
                }
            }
            DeferredFault::End(token, how) => {
                if let Some(key) = self.find(token) {
                    self.end(key, how);
                }
            }
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

    /// Another client of this worker of which this holds: the next, or the first.
    fn stranger_to(&self, token: u64, holds: impl Fn(usize) -> bool) -> Option<usize> {
        let own = token as u32 as usize;
        let is_other = |&key: &usize| key != own && self.hears(key) && holds(key);
        let others = || self.connections.iter().map(|(key, _)| key).filter(is_other);
        others().find(|&key| key > own).or_else(|| others().next())
    }

    /// Returns whether a client is there to be sent to.
    fn hears(&self, key: usize) -> bool {
        let connection = &self.connections[key];
        connection.phase == Phase::Open && connection.faults.as_ref().is_some_and(|client| !client.silent)
    }

    fn line(&mut self) -> &mut WorkerFaults {
        self.faults.as_mut().expect("looked at before")
    }
}
