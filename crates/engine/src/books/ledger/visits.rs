//! Visits: visitors ask to be let in, are let in or not, and leave.

use codec::Stamp;
use load::Segment;
use stats::{Count, Timed, error_kind};
use wire::RoomChange;

use super::Ledger;
use super::attendance::note;
use crate::books::announcements::{self, UNCOUNTED};
use crate::books::broadcasts::{Copy, Origin};
use crate::books::membership::MembershipState;
use crate::books::record::Record;

/// How long a room's first message may be under way after a load began.
const YOUNG_NS: u64 = 10_000_000_000;

impl Ledger {
    /// Returns whether a client is in its room of this kind; always true without visitors.
    pub(super) fn is_in(&self, client: u32, kind: u16) -> bool {
        self.memberships.as_ref().is_none_or(|memberships| memberships.is_in(client, kind))
    }

    /// A client's membership when a message of this kind was sent that came at `now_ns`. Without visitors,
    /// every client is in its room.
    #[inline]
    pub(crate) fn membership_state(
        &self,
        client: u32,
        kind: usize,
        sent_ns: u64,
        now_ns: u64,
    ) -> MembershipState {
        match &self.memberships {
            None => MembershipState::Inside,
            Some(memberships) => {
                memberships.membership_state(client, self.local_rooms.say(kind).room, sent_ns, now_ns)
            }
        }
    }

    /// Returns whether a usable client is in all rooms where it has something to say.
    #[inline]
    pub(crate) fn may_speak(&self, client: u32) -> bool {
        let role = || self.local_rooms.role_of(self.segment.number(client)).unwrap_or(0);
        self.memberships.as_ref().is_none_or(|memberships| memberships.may_speak(client, role()))
    }

    /// Returns whether any client has asked in this step to be let into a room, and has no answer yet.
    pub(crate) fn are_joining(&self) -> bool {
        self.memberships.as_ref().is_some_and(|memberships| memberships.are_joining())
    }

    /// Clients that have come into a room since this was asked last.
    pub(crate) fn take_entered(&mut self) -> Vec<u32> {
        self.memberships.as_mut().map(|memberships| memberships.take_entered()).unwrap_or_default()
    }

    /// Books that a client asks to be let into its room of this kind. Returns the stamp that announces it
    /// there, if rooms of this kind are told of newcomers.
    pub(crate) fn handle_asking(
        &mut self,
        client: u32,
        kind: u16,
        is_announced: bool,
        now_ns: u64,
    ) -> Option<Stamp> {
        // A client that comes before the load begins counts as there from the start.
        let number = match self.step.terms {
            Some(_) if is_announced => {
                self.step.announcements.make(self.segment.number(client), kind, now_ns)
            }
            _ => announcements::uncounted(kind),
        };
        if let Some(memberships) = &mut self.memberships {
            memberships.ask(client, kind, announcements::split(number).1.unwrap_or(UNCOUNTED), now_ns);
        }
        let stamp = || Stamp::new(self.segment.worker, client, self.step.seq(number), now_ns, now_ns);
        is_announced.then(|| stamp().of_run(self.run).announcing())
    }

    /// Books that a client hears of a newcomer to a room. Returns false if the client is not in that room.
    pub(crate) fn handle_news(&mut self, client: u32, stamp: Stamp, now_ns: u64) -> bool {
        let Some(number) = self.step.number(stamp.seq) else { return true };
        let (kind, number) = announcements::split(number);
        let (own, newcomer) = (self.segment.number(client), Segment { worker: stamp.worker, ..self.segment });
        let newcomer = newcomer.number(stamp.client);
        let (Some(memberships), Some(local_kind)) =
            (&self.memberships, self.local_rooms.local_kinds().get(usize::from(kind)))
        else {
            return false;
        };
        // A server may or may not tell a newcomer of itself; neither is due.
        if newcomer == own {
            return true;
        }
        // As for copies: the newcomer's clock may be ahead.
        let (shared, sent_ns) = (local_kind.shared(own, newcomer), stamp.sent_ns().min(now_ns));
        let membership_state = match shared {
            Some(_) => memberships.membership_state(client, kind, sent_ns, now_ns),
            None => MembershipState::Outside,
        };
        let (Some(room), MembershipState::Inside | MembershipState::Passing) = (shared, membership_state)
        else {
            return membership_state != MembershipState::Outside;
        };
        // Announced before the load, or beyond the numbers that a stamp has: heard, and not counted.
        let Some(number) = number else { return true };
        let member = local_kind.member(client, room);
        let Stamp { worker, client, .. } = stamp;
        let is_away = membership_state == MembershipState::Passing;
        let origin = Origin { worker, client, kind, room, number, sent_ns, due: member.members, is_away };
        let heard = self.step.announcements.heard.handle(origin, member, now_ns, || Timed::Delivery);
        // A server may announce a member again and again, also to later newcomers.
        if matches!(heard.0, Copy::InOrder | Copy::Reordered) && !is_away {
            self.meter.figures.presence.record_ns(now_ns.saturating_sub(stamp.intended_ns));
        }
        true
    }

    /// Returns whether a client is joining its room of this kind, or in it.
    pub(crate) fn is_at(&self, client: u32, kind: u16) -> bool {
        self.memberships.as_ref().is_some_and(|memberships| memberships.is_at(client, kind))
    }

    /// Returns whether a client has asked to be let into its room of this kind, and has no answer.
    pub(crate) fn is_joining(&self, client: u32, kind: u16) -> bool {
        self.memberships.as_ref().is_some_and(|memberships| memberships.is_joining(client, kind))
    }

    /// Returns whether a client that is to leave waits for an answer to something that it has said.
    pub(crate) fn awaits_answer(&self, client: u32, record: &Record) -> bool {
        let waived =
            self.memberships.as_ref().map_or(0, |memberships| memberships.waivers.unanswered(client));
        record.unacknowledged > waived
    }

    /// Has leaves of a client wait no longer for the answers to what it has said until now.
    pub(crate) fn stop_waiting(&mut self, client: u32, record: &Record) {
        let below = self.step.sent.len() as u32;
        if let Some(memberships) = &mut self.memberships {
            memberships.waivers.waive(client, below, record.unacknowledged);
        }
    }

    /// Books the server's answer to a visitor.
    pub(crate) fn handle_passed(&mut self, client: u32, kind: u16, change: RoomChange, now_ns: u64) {
        let Some(memberships) = &mut self.memberships else { return };
        match change {
            RoomChange::In | RoomChange::Late => {
                let is_late = change == RoomChange::Late;
                if !memberships.handle_joined(client, kind, is_late, now_ns) {
                    return;
                }
                // An answer to an earlier step comes too late for the figures of both steps.
                let is_overdue = memberships.is_overdue(client, kind);
                let Some(asked_ns) = memberships.enter(client, kind, now_ns) else { return };
                if !is_overdue {
                    self.meter.figures.join.record_ns(now_ns.saturating_sub(asked_ns));
                    self.meter.counts.visits += 1;
                }
                self.note_visit(client, kind, 1, now_ns);
            }
            RoomChange::Out => {
                if let Some(left_ns) = memberships.confirm(client, kind, now_ns) {
                    self.meter.figures.leave.record_ns(now_ns.saturating_sub(left_ns));
                }
            }
            RoomChange::Refused => {
                if !memberships.handle_joined(client, kind, false, now_ns) {
                    return;
                }
                if let Some(announced) = memberships.turn_away(client, kind, now_ns) {
                    self.step.announcements.withdraw(announced);
                    self.meter.counts.join_failures += 1;
                    let why = || "the server did not let a visitor into its room".into();
                    self.meter.error(error_kind::JOIN_REFUSED, client, now_ns, why);
                }
            }
        }
    }

    /// Books that a client leaves its room of this kind.
    pub(crate) fn handle_leaving(&mut self, client: u32, kind: u16, now_ns: u64) {
        let newest_ns = self.newest_in_room(client, kind, now_ns);
        let Some(memberships) = &mut self.memberships else { return };
        match memberships.leave(client, kind, newest_ns, now_ns) {
            Some(until_ns) => {
                self.excuse_visitor(client, kind, until_ns);
                self.note_visit(client, kind, -1, until_ns);
            }
            None => {
                if let Some(announced) = memberships.give_up(client, kind, now_ns) {
                    self.handle_unanswered_visit(client, announced, now_ns);
                }
            }
        }
    }

    /// When the newest message in a client's room of this kind was sent that has come to any client here.
    /// Without one, a young load may all be under way at the server; an old one cannot.
    fn newest_in_room(&self, client: u32, kind: u16, now_ns: u64) -> u64 {
        let room = self.local_rooms.local_kinds()[usize::from(kind)].room(self.segment.number(client));
        let begun_ns = self.step.terms.map_or(now_ns, |terms| terms.begin_ns);
        let is_young = now_ns < begun_ns.saturating_add(YOUNG_NS);
        let default_ns = if is_young { begun_ns } else { now_ns };
        let says = (0..).zip(self.local_rooms.rooms().says()).filter(|(_, said)| said.room == kind);
        let newest = says.filter_map(|(say, _)| self.step.broadcasts.newest_ns(say, room));
        newest.max().unwrap_or(default_ns)
    }

    /// Books clients that still wait to be let into a room as unanswered, before the books are closed.
    pub(crate) fn close_joins(&mut self, now_ns: u64) {
        let waiting = self.memberships.as_ref().map(|memberships| memberships.waiting()).unwrap_or_default();
        for (client, announced) in waiting {
            self.handle_unanswered_visit(client, announced, now_ns);
        }
    }

    fn handle_unanswered_visit(&mut self, client: u32, announced: u32, now_ns: u64) {
        self.step.announcements.withdraw(announced);
        self.meter.counts.join_failures += 1;
        let why = || "the server has not answered a visitor who asked to be let into a room".into();
        self.meter.error(error_kind::JOIN_UNANSWERED, client, now_ns, why);
    }

    /// Takes copies of messages sent to a visitor's room since `from_ns`, which came in passing, out of the
    /// copies due, and takes out announcements of newcomers as well.
    fn excuse_visitor(&mut self, client: u32, kind: u16, from_ns: u64) {
        for say in 0..self.local_rooms.rooms().says().len() {
            if self.local_rooms.say(say).room == kind {
                let had = self.excuse(client, say, from_ns);
                self.count_all(Count::InPassing, say, client, had.into());
            }
        }
        let Self { local_rooms, segment, step, .. } = self;
        let local_kind = &local_rooms.local_kinds()[usize::from(kind)];
        let room = local_kind.room(segment.number(client));
        let place = local_kind.member(client, room).place;
        step.announcements.heard.excuse(kind, room, place, from_ns, |_, _| true);
    }

    /// Marks the messages whose senders were not in the room, as far as that is counted.
    pub(crate) fn mark_outside(&mut self) {
        let Some(memberships) = &self.memberships else { return };
        let history = memberships.history();
        let mut all = std::mem::take(&mut self.step.sent);
        for (number, sent) in (0..).zip(&mut all) {
            let room = self.local_rooms.say(self.kind_of(sent.client, number)).room;
            sent.times.is_outside = !history.was_inside(sent.client, room, sent.times.sent_ns);
        }
        self.step.sent = all;
    }

    /// Notes one member more or fewer in a visitor's room from `at_ns` on.
    fn note_visit(&mut self, client: u32, kind: u16, change: i32, at_ns: u64) {
        let place = self.rooms_of(client).nth(kind.into()).expect("a room of each kind");
        note(&mut self.step.attendance, at_ns, place, change);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use app::people::Division;
    use load::{LocalMember, LocalRooms, RoomKind, Rooms, SayKind, Visit, VisitStep, Workload};
    use wire::{Event, Role};

    use super::*;
    use crate::books::booking::Booking;
    use crate::books::broadcasts::Broadcasts;
    use crate::books::ledger::tests::ledger;
    use crate::books::memberships::Memberships;
    use crate::books::record::State;

    const S: u64 = 1_000_000_000;

    #[test]
    fn lag_of_a_room_shows_in_every_message() {
        let kind = |name: &str| RoomKind {
            name: name.into(),
            division: Division::of_size(4.try_into().unwrap()),
            joined_by: None,
        };
        let say = |name: &str, room| SayKind { name: name.into(), room, to_others: false, share: 1 };
        let says = vec![say("note", 0), say("line", 1), say("typing", 1)];
        let rooms = Rooms::several(vec![kind("own"), kind("hall")], says, Vec::new()).unwrap();
        let mut ledger = ledger(Workload::Broadcast, 4, None);
        ledger.local_rooms = LocalRooms::new(Arc::new(rooms), ledger.segment);
        ledger.local_rooms.start_step(4, 4);
        ledger.step.broadcasts = Broadcasts::new(true);
        let hear = |ledger: &mut Ledger, kind, number, sent_ns| {
            let origin =
                Origin { worker: 0, client: 1, kind, room: 0, number, sent_ns, due: 4, is_away: false };
            ledger
                .step
                .broadcasts
                .handle(origin, LocalMember { place: 2, members: 4 }, sent_ns, || Timed::Delivery);
        };
        hear(&mut ledger, 1, 0, 5 * S);
        assert_eq!(ledger.newest_in_room(3, 1, 20 * S), 5 * S);
        hear(&mut ledger, 2, 1, 7 * S);
        assert_eq!(ledger.newest_in_room(3, 1, 20 * S), 7 * S);
        let of_silent = [9, 20].map(|s| ledger.newest_in_room(3, 0, s * S));
        assert_eq!(of_silent, [0, 20 * S], "a young load may have it all under way");
    }

    /// A ledger of two clients that visit rooms, and their records.
    fn visited() -> (Ledger, [Record; 2]) {
        let wait = VisitStep::Wait { ns_min: S, ns_max: S };
        let visit = Visit { steps: vec![VisitStep::Join(0), wait, VisitStep::Leave(0), wait], stays: 0 };
        let rooms = Rooms::default().with_visits(vec![visit]).unwrap();
        let mut ledger = ledger(Workload::Broadcast, 2, None);
        ledger.memberships = Memberships::of(&rooms).map(Box::new);
        ledger.local_rooms = LocalRooms::new(Arc::new(rooms), ledger.segment);
        ledger.start_step(ledger.step.order, 2);
        ledger.step.broadcasts = Broadcasts::new(true);
        let records = [0, 1].map(|_| Record { state: State::Usable, ..Record::default() });
        (ledger, records)
    }

    #[test]
    fn leaves_wait_once_for_each_answer() {
        let (mut ledger, [mut record, _]) = visited();
        let (_, first) = ledger.handle_sending(0, &mut record, S, S);
        assert!(ledger.awaits_answer(0, &record));
        ledger.stop_waiting(0, &record);
        assert!(!ledger.awaits_answer(0, &record));
        let (_, second) = ledger.handle_sending(0, &mut record, 2 * S, 2 * S);
        let waits = [first, second].map(|stamp| {
            let mut booking = Booking::new(0, &mut record, &mut ledger, 3 * S);
            booking.handle(Event::Message { role: Role::Ack, stamp, bytes: 33 });
            booking.finish();
            ledger.awaits_answer(0, &record)
        });
        assert_eq!(waits, [true, false]);
    }

    #[test]
    fn late_joins_belong_to_no_visit() {
        let (mut ledger, _) = visited();
        let counts = |ledger: &Ledger| (ledger.meter.counts.visits, ledger.meter.counts.join_failures);
        ledger.handle_asking(1, 0, false, S);
        ledger.handle_leaving(1, 0, 7 * S);
        let state = ledger.membership_state(1, 0, 12 * S, 12 * S);
        assert_eq!(state, MembershipState::Passing, "the server may let it in until it lets it go");
        ledger.handle_asking(1, 0, false, 13 * S);
        ledger.handle_passed(1, 0, RoomChange::In, 14 * S);
        ledger.handle_passed(1, 0, RoomChange::Out, 14 * S);
        assert_eq!((counts(&ledger), ledger.is_in(1, 0)), ((0, 1), false));
        ledger.handle_passed(1, 0, RoomChange::In, 16 * S);
        assert_eq!((counts(&ledger), ledger.is_in(1, 0)), ((1, 1), true));
        assert!(ledger.meter.figures.join.min_ns() > 2 * S && ledger.meter.figures.leave.is_empty());
    }

    #[test]
    fn copies_of_clocks_ahead_are_excused_once() {
        let (mut ledger, mut records) = visited();
        // Its sender says that it will send it when the visitor has been let in.
        let (_, stamp) = ledger.handle_sending(0, &mut records[0], 4 * S, 4 * S);
        ledger.handle_asking(1, 0, false, S);
        let mut booking = Booking::new(1, &mut records[1], &mut ledger, 2 * S);
        booking.handle(Event::Message { role: Role::Copy, stamp, bytes: 33 });
        booking.finish();
        ledger.handle_passed(1, 0, RoomChange::In, 3 * S);
        ledger.handle_leaving(1, 0, 5 * S);
        let counts = &ledger.meter.counts;
        assert_eq!(
            (counts.received, counts.in_passing, ledger.step.broadcasts.finish()[0].received),
            (1, 1, 0)
        );
    }
}
