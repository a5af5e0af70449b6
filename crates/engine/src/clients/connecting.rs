//! Attempts to connect: begun, under way, given up.

use net::clock;
use net::errors::ErrorKind;
use stats::error_kind;

use super::Clients;
use crate::books::{Cause, State};

/// The outcome of an attempt to connect.
pub(crate) enum ConnectAttempt {
    /// It is under way.
    UnderWay {
        /// The number of the client's attempt.
        attempt: u32,
        /// When it began: its deadline counts from then.
        begun_ns: u64,
    },
    /// The server could not take another one: a unix socket's backlog is full.
    Full,
    /// It has failed.
    Failed,
}

impl Clients {
    /// Connects a client. If it tried before and went unanswered, its time counts from then; if it may wait
    /// for room in a unix socket's backlog, a full one is no failure.
    pub(crate) fn connect_first(
        &mut self,
        index: u32,
        first_tried_ns: Option<u64>,
        may_wait: bool,
    ) -> ConnectAttempt {
        // A newcomer, even if another client had this place in an earlier step: its TLS session is a first
        // one, too.
        self.all[index as usize].record.was_usable = false;
        // Read for each client, and not once a turn, in which many connect one after the other.
        let now_ns = clock::monotonic_ns();
        let Some(begun) = self.begin(index, may_wait, now_ns) else { return ConnectAttempt::Full };
        match first_tried_ns {
            // The time that it went unanswered belongs to its handshake: a server with a full queue must
            // not look fast.
            Some(first_ns) if begun.is_ok() => self.all[index as usize].record.started_ns = first_ns,
            Some(_) => {}
            None => self.ledger.meter.handle_connect(index, now_ns),
        }
        self.begun(index, begun, now_ns)
    }

    /// Connects a client again that lost its connection, or another in its place; `None` if it has a
    /// connection. If it may wait for room in a unix socket's backlog, a full one is no failure.
    pub(crate) fn connect_again(
        &mut self,
        index: u32,
        may_wait: bool,
        now_ns: u64,
    ) -> Option<ConnectAttempt> {
        let client = &mut self.all[index as usize];
        // The server does not answer its goodbye.
        if client.record.state == State::Closing {
            client.vacate(&mut self.shared);
        }
        if client.record.state != State::Vacant {
            return None;
        }
        let Some(begun) = self.begin(index, may_wait, now_ns) else { return Some(ConnectAttempt::Full) };
        self.ledger.meter.handle_connect(index, now_ns);
        Some(self.begun(index, begun, now_ns))
    }

    /// Begins to connect a client; `None` if it may wait for room in a unix socket's backlog, and that is
    /// full.
    fn begin(&mut self, index: u32, may_wait: bool, now_ns: u64) -> Option<Result<(), Cause>> {
        let client = &mut self.all[index as usize];
        let begun = client.connect(index, now_ns, &mut self.shared);
        if begun != Err(Cause::Net(ErrorKind::WouldBlock)) {
            return Some(begun);
        }
        if may_wait {
            client.vacate(&mut self.shared);
            return None;
        }
        // A full backlog is how a unix socket shows that the server does not accept; over TCP, the same
        // ends in a timeout.
        Some(Err(Cause::ConnectTimeout))
    }

    fn begun(&mut self, index: u32, begun: Result<(), Cause>, now_ns: u64) -> ConnectAttempt {
        let client = &mut self.all[index as usize];
        match begun {
            Ok(()) => ConnectAttempt::UnderWay { attempt: client.attempt, begun_ns: now_ns },
            Err(cause) => {
                client.fail(index, cause, now_ns, &mut self.ledger, &mut self.shared);
                ConnectAttempt::Failed
            }
        }
    }

    /// Returns whether this attempt is still under way.
    pub(crate) fn is_opening(&self, index: u32, attempt: u32) -> bool {
        let client = &self.all[index as usize];
        client.attempt == attempt && client.record.is_opening()
    }

    /// When an attempt began that has had no answer from the server's kernel; `None` if it had one.
    pub(crate) fn unanswered_since(&mut self, index: u32) -> Option<u64> {
        let client = &mut self.all[index as usize];
        client.is_unanswered().then_some(client.record.started_ns)
    }

    /// Gives up an attempt that went unanswered, to be made again.
    pub(crate) fn take_back_attempt(&mut self, index: u32, now_ns: u64) {
        let why = || "TCP had no answer while others had: the server's accept queue was full".into();
        self.ledger.meter.error(error_kind::UNACCEPTED, index, now_ns, why);
        self.all[index as usize].vacate(&mut self.shared);
    }

    /// Drops every connection that is on its way to be usable, and returns how many there were.
    pub(crate) fn drop_attempts(&mut self) -> u64 {
        let mut dropped = 0;
        for client in self.all.iter_mut().filter(|client| client.record.is_opening()) {
            client.vacate(&mut self.shared);
            dropped += 1;
        }
        dropped
    }
}
