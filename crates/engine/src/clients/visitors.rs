//! Clients that visit rooms.

use wire::{Direction, Passage};

use super::{Clients, Token};
use crate::books::Cause;

impl Clients {
    /// Returns whether a client may say something now: it is usable, and in the rooms where it speaks. A
    /// message that is published by others needs no membership.
    #[inline]
    pub(crate) fn may_speak(&self, index: u32) -> bool {
        self.is_usable(index) && (self.shared.has_publishers || self.ledger.may_speak(index))
    }

    /// Returns whether a client makes visits: slow ones do nothing but read.
    pub(crate) fn is_visitor(&self, index: u32) -> bool {
        self.is_usable(index) && !self.all[index as usize].record.is_slow
    }

    /// Returns whether a client waits for an answer: to its joining a room of this kind, or to something
    /// that it has said itself.
    pub(crate) fn is_unanswered(&self, index: u32, kind: u16) -> bool {
        let record = &self.all[index as usize].record;
        let has_said = !self.shared.has_publishers && self.ledger.awaits_answer(index, record);
        has_said || self.ledger.is_joining(index, kind)
    }

    /// Waits no longer for answers to what a client has said itself.
    pub(crate) fn stop_waiting(&mut self, index: u32) {
        self.ledger.stop_waiting(index, &self.all[index as usize].record);
    }

    /// Sends a client into its room of this kind, or out of it. Does nothing for a leave if the client was
    /// not let in.
    pub(crate) fn pass(&mut self, index: u32, kind: u16, way: Direction, now_ns: u64) -> Result<(), Cause> {
        let mut announced = None;
        match way {
            Direction::In => {
                let is_announced = self.shared.wire.announces(kind);
                announced = self.ledger.handle_asking(index, kind, is_announced, now_ns);
            }
            Direction::Out if !self.ledger.is_at(index, kind) => return Ok(()),
            Direction::Out => self.ledger.handle_leaving(index, kind, now_ns),
        }
        self.shared.now_ns = now_ns;
        let client = &mut self.all[index as usize];
        let token = Token { client: index, stream: 0, attempt: client.attempt };
        let passed = client.pass(token, Passage { kind, way, announced }, &mut self.shared, &mut self.ledger);
        self.book_request_outcomes(index, now_ns);
        passed
    }
}
