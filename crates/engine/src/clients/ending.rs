//! Connections that end: broken, cut on purpose, or with a goodbye.

use load::Cut;
use wire::Reconnection;

use super::Clients;
use crate::books::{Cause, State};
use crate::events::{Entry, Kind};

/// Kinds of connections that are over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ClosedConnection {
    /// No connection: it was over before.
    Nothing,
    /// A connection of a client that had said goodbye.
    Parted,
    /// A connection that was not usable yet.
    Attempt(Reconnection),
    /// A usable connection.
    Usable(Reconnection),
}

impl Clients {
    /// Takes a client out whose connection is broken or over.
    pub(crate) fn lose(&mut self, index: u32, cause: Cause, now_ns: u64) -> ClosedConnection {
        let client = &mut self.all[index as usize];
        // Asked first, since the session ends below.
        let reconnection = client.session.reconnection();
        // Taken whichever client is lost, or this silence would be charged to the next one.
        let silent_ns = self.shared.silent_ns.take();
        match client.record.state {
            State::Vacant => ClosedConnection::Nothing,
            State::Closing => {
                client.vacate(&mut self.shared);
                ClosedConnection::Parted
            }
            State::Connecting | State::Opening => {
                client.fail(index, cause, now_ns, &mut self.ledger, &mut self.shared);
                ClosedConnection::Attempt(reconnection)
            }
            State::Usable => {
                // Before `vacate`, which drops the session that this is taken from.
                client.take_along(self.shared.resumes && self.ledger.step.is_flapping());
                client.vacate(&mut self.shared);
                if let Some(silent_ns) = silent_ns.filter(|_| !client.record.is_slow) {
                    self.ledger.meter.figures.silence.record_ns(silent_ns);
                }
                self.ledger.handle_loss(index, &mut client.record, cause, now_ns);
                ClosedConnection::Usable(reconnection)
            }
        }
    }

    /// Has a usable client say goodbye in mid-step. Returns whether its connection is over with that.
    pub(crate) fn part_with(&mut self, index: u32, now_ns: u64) -> bool {
        let client = &mut self.all[index as usize];
        self.ledger.handle_parting(index, &mut client.record, now_ns);
        client.close(index, &mut self.shared, &mut self.ledger.meter);
        client.record.state == State::Vacant
    }

    /// Has a usable client, whose connection has had its messages, say goodbye. Returns whether its
    /// connection is over with that.
    pub(crate) fn renew(&mut self, index: u32, now_ns: u64) -> bool {
        let client = &mut self.all[index as usize];
        self.ledger.handle_renewal(index, &client.record, now_ns);
        client.close(index, &mut self.shared, &mut self.ledger.meter);
        client.record.state == State::Vacant
    }

    /// Ends the connection of a usable client in this way, and returns when the server wants it back.
    pub(crate) fn cut(&mut self, index: u32, cut: Cut, now_ns: u64) -> Reconnection {
        let client = &mut self.all[index as usize];
        let reconnection = client.session.reconnection();
        client.take_along(self.shared.resumes);
        self.ledger.handle_cut(index, &mut client.record, cut, now_ns);
        if cut == Cut::Close {
            client.close(index, &mut self.shared, &mut self.ledger.meter);
            return reconnection;
        }
        self.ledger.meter.note(|| Entry::new(Kind::Close, now_ns, index));
        let mut streams = std::mem::take(&mut client.streams);
        client.vacate(&mut self.shared);
        match cut {
            Cut::Silence => {
                // The sockets stay open, because a close would send a FIN: the server has to find out by
                // itself.
                streams.silence();
                // One link for each client: the peer of an older one learns that it is dead.
                self.silent.insert(index, streams);
            }
            Cut::Reset | Cut::Close => streams.reset(),
        }
        reconnection
    }

    /// Drops, without a goodbye, the connections of all usable clients that `takes` names by their number in
    /// the run. Returns the clients, and when the server wants them back.
    pub(crate) fn drop_in_storm(
        &mut self,
        takes: impl Fn(u32) -> bool,
        now_ns: u64,
    ) -> Vec<(u32, Reconnection)> {
        let mut dropped = Vec::new();
        for (index, client) in (0..).zip(&mut self.all) {
            if client.record.state == State::Usable && takes(self.shared.number(index)) {
                // Cookies outlast the connection, as in a browser; sessions are resumed by clients that flap
                // alone.
                client.take_along(false);
                dropped.push((index, client.session.reconnection()));
                client.vacate(&mut self.shared);
                self.ledger.handle_storm_loss(index, &mut client.record, now_ns);
            }
        }
        dropped
    }
}
