//! Copies of broadcasts.

use codec::Stamp;
use stats::{Count, Timed};

use super::Booking;
use crate::books::absences::Due;
use crate::books::broadcasts::{Copy, Origin};
use crate::books::ledger::Ledger;
use crate::books::membership::MembershipState;
use crate::books::record::State;
use crate::events::{Entry, Kind};

impl Booking<'_> {
    /// Books a copy of a broadcast.
    // Called from another file, and so maybe another codegen unit: only this hint lets it be inlined there.
    #[inline]
    pub(super) fn copy(&mut self, stamp: Stamp, number: u32, kind: usize, bytes: u32) {
        // In this order. A copy from another room is a leak, even at a slow reader. A slow reader's other
        // copies are counted apart. Then go copies sent before the client was there, in an absence, or while
        // it was outside a room that it visits. Only what is left was due to it here, and may set its bit in
        // the tally.
        let Some(room) = self.ledger.shared_room(self.client, stamp, kind) else {
            self.ledger.count(Count::Leaked, kind, self.client);
            return self.note(Kind::Leaked, stamp, Some(number), bytes);
        };
        if self.record.is_slow {
            self.ledger.meter.counts.slow_received += 1;
            let late = Entry::new(Kind::Receive, self.now_ns, self.client).bytes(bytes);
            return self.ledger.meter.note_detailed(late, "slow");
        }
        if self.record.state != State::Usable && !self.record.is_away {
            return; // the rest of what it takes to be there is still to come, and nobody's books have it due before
        }
        // The sender's clock may be ahead, but its message was sent before it came here: else it could belong
        // to a stay that begins later.
        let (mut absence, sent_ns) = (None, stamp.sent_ns().min(self.now_ns));
        // Only messages from before the present connection can belong to an absence; all others skip the
        // search.
        if sent_ns < self.record.since_ns || self.record.is_away {
            match self.ledger.step.absences.due(self.record, sent_ns) {
                Due::Here => {}
                Due::Away(which) => absence = Some(which),
                // Sent before it was there: not due to it, and the sender's books say the same.
                Due::Never => return,
            }
        }
        let is_passing = match self.ledger.membership_state(self.client, kind, sent_ns, self.now_ns) {
            MembershipState::Inside => false,
            MembershipState::Passing => true,
            MembershipState::Before => return,
            MembershipState::Outside => {
                self.ledger.count(Count::Leaked, kind, self.client);
                return self.note(Kind::Leaked, stamp, Some(number), bytes);
            }
        };
        let member = self.ledger.local_rooms.kind_of_rooms(kind).member(self.client, room);
        let mut due = member.members;
        if !self.ledger.local_rooms.say(kind).hears_itself() {
            if self.is_own(stamp) {
                return self.unexpected(stamp, bytes);
            }
            // The sender is one of the room's members at its own worker alone.
            due -= u32::from(stamp.worker == self.ledger.segment.worker);
        }
        let Stamp { worker, client, .. } = stamp;
        let is_away = absence.is_some() || is_passing;
        let origin = Origin { worker, client, kind: kind as u16, room, number, sent_ns, due, is_away };
        let Ledger { local_rooms, step, .. } = &mut *self.ledger;
        let timed = || match local_rooms.rooms().is_one() {
            true => Timed::Delivery,
            false => Timed::delivery_in(local_rooms.kind_of_rooms(kind).members(room)),
        };
        let (copy, timed) = step.broadcasts.handle(origin, member, self.now_ns, timed);
        match copy {
            Copy::Duplicate => return self.duplicate(stamp, number, bytes),
            Copy::Unexpected => return self.unexpected(stamp, bytes),
            Copy::Reordered => self.ledger.count(Count::Reordered, kind, self.client),
            Copy::InOrder => {}
        }
        self.note(Kind::Receive, stamp, Some(number), bytes);
        // Recovered copies are in the account of absences alone: neither in `received` nor in the deliveries,
        // which would then measure the absence.
        if let Some(absence) = absence {
            return self.recovered(absence, kind, sent_ns);
        }
        if is_passing {
            self.ledger.count(Count::InPassing, kind, self.client);
        }
        self.record.copies += 1;
        self.record.latest_ns = self.record.latest_ns.max(sent_ns);
        self.received(kind, 1, bytes);
        let late_ns = self.now_ns.saturating_sub(stamp.intended_ns);
        self.ledger.meter.figures.get_mut(timed).record_ns(late_ns);
        if let Some(say) = self.ledger.meter.say(kind) {
            say.delivery.record_ns(late_ns);
        }
        if let Some(role) = self.ledger.role(self.client) {
            role.delivery.record_ns(late_ns);
        }
    }

    /// Books a copy that was due in an absence of the client.
    #[cold]
    fn recovered(&mut self, absence: u32, kind: usize, sent_ns: u64) {
        self.ledger.count(Count::Recovered, kind, self.client);
        let Ledger { step, meter, .. } = &mut *self.ledger;
        let back_ns = step.absences.recover(absence, sent_ns, self.now_ns);
        meter.last_arrival_ns = self.now_ns;
        // A replay may come before the server confirms that the client is ready: it then took no time.
        meter.figures.replay.record_ns(self.now_ns.saturating_sub(back_ns));
    }
}
