//! A client on a connection that it shares: it takes a place, opens its stream, and leaves.

use std::mem;

use wire::Failure;

use super::LoadClient;
use crate::books::{Cause, State};
use crate::clients::pool::Seat;
use crate::clients::shared::Shared;

impl LoadClient {
    /// Takes a place on its group's connection, which is opened if there is none.
    pub(super) fn join(&mut self, index: u32, shared: &mut Shared) -> Result<(), Cause> {
        self.leave(shared);
        let Some(slot) = shared.connection_of(index)? else { return Ok(()) };
        self.seat = Some(Seat { slot, client: index, stream: 0 });
        let Some(connection) = shared.pool.as_mut().and_then(|pool| pool.get(slot)) else { return Ok(()) };
        if connection.multiplexer.is_greeted() {
            return self.begin_stream(index, shared);
        }
        connection.waiting.push(index);
        if !connection.link.is_connecting {
            self.handle_connection(shared.now_ns);
        }
        Ok(())
    }

    /// Handles the connection that it waits for: it stands, or is secured.
    pub(crate) fn handle_connection(&mut self, now_ns: u64) {
        // A client that is redirected has a connection behind it.
        if self.record.is_opening() {
            (self.record.state, self.record.since_ns) = (State::Opening, now_ns);
        }
    }

    /// Opens its stream on the connection, which is greeted, or waits for one.
    pub(crate) fn begin_stream(&mut self, index: u32, shared: &mut Shared) -> Result<(), Cause> {
        if self.record.state == State::Connecting {
            self.handle_connection(shared.now_ns);
        }
        let Shared { wire, pool, output, segment, now_ns, scratch, .. } = shared;
        let (Some(seat), Some(pool)) = (&mut self.seat, pool) else { return Ok(()) };
        let Some(connection) = pool.get(seat.slot) else { return Ok(()) };
        match connection.multiplexer.check_room() {
            Ok(()) => {}
            // Later settings may allow one.
            Err(Failure::NoStreams) => {
                connection.waiting.push(index);
                return Ok(());
            }
            Err(failure) => return Err(Cause::Wire(failure)),
        }
        self.session.handle_stream_open(wire, *now_ns, &mut output.of(segment.number(index)));
        let opened = output.take_main(|request| {
            connection.multiplexer.open_stream(wire, index, request, &mut connection.out)
        });
        seat.stream = opened.map_err(Cause::Wire)?;
        connection.send(scratch)
    }

    /// Leaves its connection: its stream ends.
    pub(crate) fn leave(&mut self, shared: &mut Shared) {
        let Shared { pool, scratch, .. } = shared;
        if let (Some(seat), Some(pool)) = (mem::take(&mut self.seat), pool) {
            pool.leave(seat, scratch);
        }
    }

    /// Handles the end of its connection, which is gone.
    pub(crate) fn unseat(&mut self) {
        self.seat = None;
    }

    /// Returns whether it has a place on a shared connection.
    pub(crate) fn is_seated(&self) -> bool {
        self.seat.is_some()
    }

    /// The failure if the server withholds something without which nothing more can be sent.
    pub(crate) fn withheld(&self, shared: &Shared) -> Option<Failure> {
        match (self.seat, &shared.pool) {
            (Some(seat), Some(pool)) => pool.withheld(seat),
            _ => self.session.withheld(),
        }
    }

    /// Returns whether more of what it has said waits than is kept.
    #[inline]
    pub(super) fn is_overfull(&self, shared: &Shared) -> bool {
        match (self.seat, &shared.pool) {
            (Some(seat), Some(pool)) => pool.is_overfull(seat),
            _ => self.session.is_overfull(),
        }
    }
}
