//! Memberships of visited rooms over time: the visitors of one worker.
//!
//! ```text
//! outside --asks to be let in--> at the door --let in--> inside --leaves--> on the way out --gone--> outside
//! at the door --refused, or leaves unanswered--> on the way out
//! ```
//!
//! Rules. Where a copy belongs is decided by when its message was sent. Inside, it is due. At the door and on
//! the way out it is due once or not at all: the server may have known of the visitor, or not. A visitor is
//! at the door from what may have been under way when it asked, [`OVERTAKE_NS`] before; and on the way out
//! from what it may have left under way: the latest message of the room that came to any client here stood as
//! far behind what was sent before. Outside, nothing is due, and what comes to a client that is outside has
//! leaked.

use std::iter;

use load::Rooms;

use crate::books::absences::OVERTAKE_NS;
use crate::books::announcements::UNCOUNTED;
use crate::books::late_joins::LateJoins;

/// Precision to which the clocks of several machines agree: a client whose leave was confirmed is gone only
/// after this time.
const CLOCKS_NS: u64 = 100_000_000;

/// The membership of a copy's receiver when the message was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MembershipState {
    /// In the room.
    Inside,
    /// At the door, or on the way out.
    Passing,
    /// Outside, and has come in since: an app may show newcomers what was said before.
    Before,
    /// Outside then, and outside now.
    Outside,
}

/// The visits of a step at one worker.
#[derive(Debug)]
pub(crate) struct Memberships {
    /// The kinds of rooms that are visited: a bit each, as in all that follows.
    visited: u8,
    /// By role: the kinds of rooms in which its users send something.
    speaks_in: Vec<u8>,
    /// By client: the kinds of rooms in which it is.
    inside: Vec<u8>,
    /// By client: the kinds of rooms that it has left, without the server's word on that.
    leaving: Vec<u8>,
    /// Joins that were given up.
    late_joins: LateJoins,
    /// By client: its messages whose answers hold up no leave.
    waivers: Vec<Waiver>,
    /// By client, and then by visited kind: the number of its latest stay, from 1; 0 without one.
    latest: Vec<u32>,
    all: Vec<Membership>,
    /// The number of stays in front that are from an earlier step.
    carried: u32,
    /// Clients that have come in since [`take_entered`](Self::take_entered) was last called.
    entered: Vec<u32>,
}

/// Messages of one client for whose answers it has waited long enough.
#[derive(Clone, Copy, Debug, Default)]
struct Waiver {
    /// The number behind the last of them.
    below: u32,
    /// Number of these that have had no answer.
    unanswered: u32,
}

/// The stays of a step by client and kind of rooms.
pub(crate) struct History<'a> {
    memberships: &'a Memberships,
    /// By slot, the latest first.
    stays: Vec<Vec<&'a Membership>>,
}

/// One stay of one client.
#[derive(Clone, Copy, Debug)]
struct Membership {
    /// When it asked to be let in.
    asked_ns: u64,
    /// When it was let in; `u64::MAX` if it is at the door.
    from_ns: u64,
    /// The time up to which messages sent are due; `u64::MAX` if it has not left.
    until_ns: u64,
    /// The moment from which the client is outside.
    gone_ns: u64,
    /// The number of the client's stay before.
    before: u32,
    /// The number by which it was announced in this step, if that is counted.
    announced: u32,
}

impl Membership {
    fn is_waiting(&self) -> bool {
        self.from_ns == u64::MAX && self.until_ns == u64::MAX
    }

    /// Returns whether the client left, or was turned away, before it was let in.
    fn was_given_up(&self) -> bool {
        self.from_ns == u64::MAX && self.until_ns != u64::MAX
    }

    /// Ends the stay at `now_ns`; messages sent until `until_ns` are due.
    fn end(&mut self, until_ns: u64, now_ns: u64) {
        (self.until_ns, self.gone_ns) = (until_ns, now_ns + OVERTAKE_NS);
    }
}

impl History<'_> {
    /// Returns whether a client was inside its room of this kind at this moment.
    pub(crate) fn was_inside(&self, client: u32, kind: u16, at_ns: u64) -> bool {
        if self.memberships.visited & 1 << kind == 0 {
            return true;
        }
        // A binary search: in a long step, a client has thousands of stays, and as many messages.
        let stays = &self.stays[self.memberships.slot(client, kind)];
        let latest = stays.get(stays.partition_point(|stay| stay.asked_ns > at_ns));
        latest.is_some_and(|stay| (stay.from_ns..stay.until_ns).contains(&at_ns))
    }
}

impl Memberships {
    /// Memberships in which no client is inside yet; `None` without visitors.
    pub(crate) fn of(rooms: &Rooms) -> Option<Memberships> {
        if rooms.visits().is_empty() {
            return None;
        }
        let visited = rooms.visited();
        let in_which = |says: &dyn Fn(usize) -> bool| {
            let said = rooms.says().iter().enumerate().filter(|(kind, _)| says(*kind));
            said.fold(0, |kinds, (_, say)| kinds | 1 << say.room) & visited
        };
        let speaks_in = match rooms.roles() {
            [] => vec![in_which(&|_| true)],
            roles => roles.iter().map(|role| in_which(&|kind| role.says[kind] > 0)).collect(),
        };
        let (inside, leaving, late_joins, waivers) = Default::default();
        let (latest, all, carried, entered) = Default::default();
        Some(Memberships {
            visited,
            speaks_in,
            inside,
            leaving,
            late_joins,
            waivers,
            latest,
            all,
            carried,
            entered,
        })
    }

    /// Begins a step with this many clients here. Clients that are in a room, or waiting to enter one, stay
    /// as they are.
    pub(crate) fn start_step(&mut self, clients: u32) {
        let clients = self.inside.len().max(clients as usize);
        self.inside.resize(clients, 0);
        self.leaving.resize(clients, 0);
        self.waivers.clear();
        self.waivers.resize(clients, Waiver::default());
        self.latest.resize(clients * self.visited.count_ones() as usize, 0);
        // Stays that are over are of no use to another step, whose copies were all sent after them.
        let before = std::mem::take(&mut self.all);
        for latest in &mut self.latest {
            let membership = latest.checked_sub(1).map(|place| before[place as usize]);
            *latest = match membership.filter(|membership| membership.until_ns == u64::MAX) {
                Some(membership) => {
                    self.all.push(Membership { before: 0, announced: UNCOUNTED, ..membership });
                    self.all.len() as u32
                }
                None => 0,
            };
        }
        self.carried = self.all.len() as u32;
    }

    /// Returns whether a client is in its room of this kind, as far as it may be counted there.
    pub(crate) fn is_in(&self, client: u32, kind: u16) -> bool {
        self.visited & 1 << kind == 0 || self.inside[client as usize] & 1 << kind != 0
    }

    /// Returns whether a client of this role is in all rooms where the role's users send something.
    #[inline]
    pub(crate) fn may_speak(&self, client: u32, role: usize) -> bool {
        let needed = self.speaks_in[role];
        self.inside[client as usize] & needed == needed
    }

    /// Returns whether a client has come into a room since that was asked last.
    pub(crate) fn has_entered(&self) -> bool {
        !self.entered.is_empty()
    }

    /// The clients that have come into a room since this was asked last.
    pub(crate) fn take_entered(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.entered)
    }

    /// The client's membership in its room of this kind when a message that came now was sent.
    pub(crate) fn membership_state(
        &self,
        client: u32,
        kind: u16,
        sent_ns: u64,
        now_ns: u64,
    ) -> MembershipState {
        if self.visited & 1 << kind == 0 {
            return MembershipState::Inside;
        }
        // From the latest stay back in time. Stays of one client do not overlap, so the first interval that
        // begins before the message decides.
        let latest = self.latest(client, kind);
        let (mut membership, mut is_near) = (latest, false);
        while let Some(Membership { asked_ns, from_ns, until_ns, gone_ns, before, .. }) = membership {
            match sent_ns {
                _ if sent_ns >= *gone_ns => break,
                _ if sent_ns >= *until_ns => return MembershipState::Passing,
                _ if sent_ns >= *from_ns => return MembershipState::Inside,
                _ if sent_ns >= *asked_ns => return MembershipState::Passing,
                _ => {
                    // Sent just before the visitor asked: the server may have handled the two in the other
                    // order.
                    is_near |= sent_ns >= asked_ns.saturating_sub(OVERTAKE_NS);
                    membership = self.membership(*before);
                }
            }
        }
        match latest {
            Some(_) if is_near => MembershipState::Passing,
            Some(membership) if now_ns < membership.gone_ns => MembershipState::Before,
            // The server may let it in late, before it lets it go.
            _ if self.late_joins.is_owed(self.slot(client, kind)) => MembershipState::Passing,
            _ => MembershipState::Outside,
        }
    }

    /// The stays of the step.
    pub(crate) fn history(&self) -> History<'_> {
        let back_from = |&latest: &u32| {
            iter::successors(self.membership(latest), |stay| self.membership(stay.before)).collect()
        };
        History { memberships: self, stays: self.latest.iter().map(back_from).collect() }
    }

    /// Notes that a client asks to be let in, and is announced by this number.
    pub(crate) fn ask(&mut self, client: u32, kind: u16, announced: u32, now_ns: u64) {
        let slot = self.slot(client, kind);
        let never = u64::MAX;
        let before = self.latest[slot];
        let (from_ns, until_ns, gone_ns) = (never, never, never);
        self.all.push(Membership { asked_ns: now_ns, from_ns, until_ns, gone_ns, before, announced });
        self.latest[slot] = self.all.len() as u32;
        self.leaving[client as usize] &= !(1 << kind);
        self.late_joins.ask(slot);
    }

    /// Handles the server's answer to a join, which is known to be late or not. Returns whether it is to the
    /// last join: an answer that comes when its visitor has left belongs to no visit.
    pub(crate) fn handle_joined(&mut self, client: u32, kind: u16, is_late: bool, now_ns: u64) -> bool {
        let slot = self.slot(client, kind);
        let is_last = self.late_joins.handle_joined(slot, is_late);
        let membership = self.latest_mut(client, kind);
        if let Some(membership) = membership.filter(|membership| membership.was_given_up()) {
            // The server lets it go behind this answer.
            membership.gone_ns = membership.gone_ns.max(now_ns + OVERTAKE_NS);
        }
        is_last
    }

    /// Lets a client in, and returns when it asked, if it still waits for that.
    pub(crate) fn enter(&mut self, client: u32, kind: u16, now_ns: u64) -> Option<u64> {
        let membership = self.latest_mut(client, kind).filter(|membership| membership.is_waiting())?;
        membership.from_ns = now_ns;
        let asked_ns = membership.asked_ns;
        self.inside[client as usize] |= 1 << kind;
        self.entered.push(client);
        Some(asked_ns)
    }

    /// Ends the wait of a client that is not let in. Returns the number by which it was announced, if it
    /// waited and [no earlier step](Self::is_overdue) has counted that.
    pub(crate) fn turn_away(&mut self, client: u32, kind: u16, now_ns: u64) -> Option<u32> {
        let is_overdue = self.is_overdue(client, kind);
        let membership = self.latest_mut(client, kind).filter(|membership| membership.is_waiting())?;
        // A stay of no length: nothing was due, and what comes in the next moments is in passing, not leaked.
        membership.end(membership.asked_ns, now_ns);
        let announced = membership.announced;
        self.leaving[client as usize] |= 1 << kind;
        (!is_overdue).then_some(announced)
    }

    /// Ends the wait of a client that leaves without an answer, which may come later. Returns the same as
    /// [`turn_away`](Self::turn_away).
    pub(crate) fn give_up(&mut self, client: u32, kind: u16, now_ns: u64) -> Option<u32> {
        if self.is_at_door(client, kind) {
            let slot = self.slot(client, kind);
            self.late_joins.give_up(slot);
        }
        self.turn_away(client, kind, now_ns)
    }

    /// Returns whether a client is inside or at the door.
    pub(crate) fn is_at(&self, client: u32, kind: u16) -> bool {
        self.latest(client, kind).is_some_and(|membership| membership.until_ns == u64::MAX)
    }

    /// Returns whether a client that is at the door asked in an earlier step, which has counted that as
    /// unanswered.
    pub(crate) fn is_overdue(&self, client: u32, kind: u16) -> bool {
        self.is_at_door(client, kind) && self.latest[self.slot(client, kind)] <= self.carried
    }

    /// Returns whether a client is at the door.
    pub(crate) fn is_at_door(&self, client: u32, kind: u16) -> bool {
        self.latest(client, kind).is_some_and(Membership::is_waiting)
    }

    /// Books that a client that is inside leaves. Returns the time from which it is on the way out, by when
    /// the newest message in its room was sent that came to any client here; `None` if it is not inside.
    pub(crate) fn leave(&mut self, client: u32, kind: u16, newest_ns: u64, now_ns: u64) -> Option<u64> {
        let membership = self.latest_mut(client, kind);
        let membership = membership
            .filter(|membership| membership.until_ns == u64::MAX && membership.from_ns != u64::MAX)?;
        let until_ns = newest_ns.min(now_ns).saturating_sub(OVERTAKE_NS).max(membership.from_ns);
        membership.end(until_ns, now_ns);
        self.inside[client as usize] &= !(1 << kind);
        self.leaving[client as usize] |= 1 << kind;
        Some(until_ns)
    }

    /// Books that the server has confirmed a client's leave, and returns when the client had left; `None` if
    /// it had confirmed that before, or the client was not let in.
    pub(crate) fn confirm(&mut self, client: u32, kind: u16, now_ns: u64) -> Option<u64> {
        let slot = self.slot(client, kind);
        let was_let_in = self.late_joins.handle_left(slot);
        if !was_let_in || self.leaving[client as usize] & 1 << kind == 0 {
            return None;
        }
        let membership =
            self.latest_mut(client, kind).filter(|membership| membership.until_ns != u64::MAX)?;
        // [`Membership::end`] put it this far behind the leave, where the client was let in.
        let left_ns = (!membership.was_given_up()).then_some(membership.gone_ns - OVERTAKE_NS);
        // Once confirmed, the server has no excuse to go on; only senders' clocks may differ.
        membership.gone_ns = now_ns + CLOCKS_NS;
        self.leaving[client as usize] &= !(1 << kind);
        left_ns
    }

    /// Notes that a client waits no longer for the answers to its messages below this number, `unanswered` of
    /// which have had none.
    pub(crate) fn waive(&mut self, client: u32, below: u32, unanswered: u32) {
        self.waivers[client as usize] = Waiver { below, unanswered };
    }

    /// Notes the answer to a client's message of this number.
    pub(crate) fn handle_answered(&mut self, client: u32, number: u32) {
        let Waiver { below, unanswered } = &mut self.waivers[client as usize];
        *unanswered = unanswered.saturating_sub(u32::from(number < *below));
    }

    /// Number of a client's messages without an answer for which it waits no longer.
    pub(crate) fn waived(&self, client: u32) -> u32 {
        self.waivers[client as usize].unanswered
    }

    /// Takes a client that has lost its connection out of all rooms. Returns the numbers by which it was
    /// announced where it was at the door.
    pub(crate) fn handle_gone(&mut self, client: u32, now_ns: u64) -> Vec<u32> {
        self.inside[client as usize] = 0;
        let mut doors = Vec::new();
        for kind in self.kinds() {
            let slot = self.slot(client, kind);
            self.late_joins.clear(slot);
            if let Some(announced) = self.turn_away(client, kind, now_ns) {
                doors.push(announced);
            } else if let Some(membership) =
                self.latest_mut(client, kind).filter(|membership| membership.until_ns == u64::MAX)
            {
                membership.end(now_ns, now_ns);
            }
        }
        doors
    }

    /// The kinds of rooms that are visited.
    fn kinds(&self) -> impl Iterator<Item = u16> + use<> {
        let visited = self.visited;
        (0..8).filter(move |kind| visited & 1 << kind != 0)
    }

    /// Clients that are at a door since they asked in this step, each with the number by which it was
    /// announced.
    pub(crate) fn waiting(&self) -> Vec<(u32, u32)> {
        let slots = self.visited.count_ones();
        let waits = |&latest: &u32| {
            let asked = Some(latest).filter(|&latest| latest > self.carried);
            asked.and_then(|latest| self.membership(latest)).filter(|membership| membership.is_waiting())
        };
        (0..)
            .zip(&self.latest)
            .filter_map(|(slot, latest)| Some((slot / slots, waits(latest)?.announced)))
            .collect()
    }

    fn membership(&self, number: u32) -> Option<&Membership> {
        number.checked_sub(1).map(|place| &self.all[place as usize])
    }

    fn latest(&self, client: u32, kind: u16) -> Option<&Membership> {
        self.membership(self.latest[self.slot(client, kind)])
    }

    fn latest_mut(&mut self, client: u32, kind: u16) -> Option<&mut Membership> {
        let latest = self.latest[self.slot(client, kind)];
        latest.checked_sub(1).map(|place| &mut self.all[place as usize])
    }

    /// The slot of a client's latest stay in rooms of this kind.
    fn slot(&self, client: u32, kind: u16) -> usize {
        let before = (self.visited & ((1 << kind) - 1)).count_ones() as usize;
        client as usize * self.visited.count_ones() as usize + before
    }
}

#[cfg(test)]
mod tests {
    use load::{Visit, VisitStep};

    use super::*;

    const S: u64 = 1_000_000_000;

    fn memberships() -> Memberships {
        let wait = VisitStep::Wait { ns_min: S, ns_max: S };
        let visit = Visit { steps: vec![VisitStep::Join(0), wait, VisitStep::Leave(0), wait], stays: 0 };
        let mut memberships = Memberships::of(&Rooms::default().with_visits(vec![visit]).unwrap()).unwrap();
        memberships.start_step(2);
        memberships
    }

    #[test]
    fn without_visits_nobody_comes_or_goes() {
        assert!(Memberships::of(&Rooms::default()).is_none());
    }

    #[test]
    fn copies_are_due_once_inside_or_on_entry() {
        let mut memberships = memberships();
        memberships.ask(1, 0, 7, 10 * S);
        assert!(!memberships.is_in(1, 0) && !memberships.may_speak(1, 0));
        assert_eq!(memberships.enter(1, 0, 11 * S), Some(10 * S));
        assert_eq!((memberships.enter(1, 0, 12 * S), memberships.take_entered()), (None, vec![1]));
        assert!(memberships.is_in(1, 0) && memberships.may_speak(1, 0));
        // The newest message that any client has was sent at 19.5 s.
        assert_eq!(memberships.leave(1, 0, 19 * S + S / 2, 20 * S), Some(18 * S + S / 2));
        assert!(!memberships.is_in(1, 0));
        let membership_state =
            |memberships: &Memberships, sent_ns, now_ns| memberships.membership_state(1, 0, sent_ns, now_ns);
        for (sent_ns, expected) in [
            (9 * S - 1, MembershipState::Before),
            (9 * S, MembershipState::Passing),
            (10 * S, MembershipState::Passing),
            (11 * S, MembershipState::Inside),
            (18 * S, MembershipState::Inside),
            (18 * S + S / 2, MembershipState::Passing),
            (20 * S, MembershipState::Passing),
        ] {
            assert_eq!(membership_state(&memberships, sent_ns, 20 * S), expected, "{sent_ns}");
        }
        assert_eq!(
            membership_state(&memberships, 21 * S, 21 * S),
            MembershipState::Outside,
            "a second is enough to be gone"
        );
        let confirmed = [1, S / 4].map(|ns| memberships.confirm(1, 0, 20 * S + ns));
        assert_eq!(confirmed, [Some(20 * S), None], "a server may answer twice");
        assert_eq!(
            membership_state(&memberships, 20 * S + S / 5, 21 * S),
            MembershipState::Outside,
            "the server has said so"
        );
        memberships.ask(1, 0, 7, 30 * S);
        assert_eq!(
            membership_state(&memberships, 25 * S, 31 * S),
            MembershipState::Before,
            "what newcomers are shown"
        );
        assert_eq!(
            membership_state(&memberships, 17 * S, 31 * S),
            MembershipState::Inside,
            "a late one of the stay before"
        );
    }

    #[test]
    fn the_history_knows_each_stay() {
        let mut memberships = memberships();
        for round in 1..50 {
            memberships.ask(1, 0, 7, 10 * round * S);
            if round % 3 == 0 {
                memberships.turn_away(1, 0, (10 * round + 2) * S);
            } else {
                memberships.enter(1, 0, (10 * round + 1) * S);
                memberships.leave(1, 0, (10 * round + 7) * S, (10 * round + 8) * S);
            }
        }
        let history = memberships.history();
        let is_inside =
            |at_ns| memberships.membership_state(1, 0, at_ns, u64::MAX) == MembershipState::Inside;
        for at_ns in (0..1_000).map(|half| half * S / 2) {
            assert_eq!(history.was_inside(1, 0, at_ns), is_inside(at_ns), "{at_ns}");
        }
        assert!(is_inside(11 * S) && !history.was_inside(0, 0, 11 * S));
    }

    #[test]
    fn refused_clients_were_never_members() {
        let mut memberships = memberships();
        memberships.ask(0, 0, 7, 10 * S);
        assert!(
            memberships.waiting() == [(0, 7)]
                && memberships.is_at_door(0, 0)
                && !memberships.is_at_door(1, 0)
        );
        let turned = [12, 12].map(|s| memberships.turn_away(0, 0, s * S));
        assert!(turned == [Some(7), None] && !memberships.is_at(0, 0));
        assert_eq!(memberships.leave(0, 0, 13 * S, 13 * S), None);
        assert_eq!(memberships.membership_state(0, 0, 11 * S, 13 * S), MembershipState::Passing);
        assert_eq!(memberships.membership_state(0, 0, 13 * S, 13 * S), MembershipState::Outside);
    }

    #[test]
    fn repeated_answers_move_no_leave() {
        let mut memberships = memberships();
        memberships.ask(1, 0, 7, 10 * S);
        memberships.enter(1, 0, 11 * S);
        memberships.leave(1, 0, 20 * S, 20 * S);
        assert!(memberships.handle_joined(1, 0, false, 20 * S + S / 4), "the same join, once more");
        assert_eq!(memberships.confirm(1, 0, 20 * S + S / 2), Some(20 * S));
        assert!(memberships.handle_joined(1, 0, false, 21 * S));
        assert_eq!(memberships.membership_state(1, 0, 21 * S, 21 * S), MembershipState::Outside);
    }

    #[test]
    fn answered_leaves_need_a_stay() {
        let mut memberships = memberships();
        memberships.ask(1, 0, 7, 10 * S);
        memberships.turn_away(1, 0, 16 * S);
        assert_eq!(memberships.confirm(1, 0, 17 * S), None);
    }

    #[test]
    fn unanswered_joins_count_in_one_step() {
        let mut memberships = memberships();
        for client in 0..2 {
            memberships.ask(client, 0, 7, 10 * S);
        }
        assert_eq!(memberships.waiting(), [(0, 7), (1, 7)]);
        memberships.start_step(2);
        assert!(memberships.waiting().is_empty() && memberships.is_overdue(0, 0));
        assert_eq!(memberships.enter(0, 0, 20 * S), Some(10 * S));
        assert_eq!(memberships.turn_away(1, 0, 20 * S), None);
        assert!(memberships.is_in(0, 0) && !memberships.is_at(1, 0));
        memberships.ask(1, 0, 8, 21 * S);
        assert!(!memberships.is_overdue(1, 0) && memberships.waiting() == [(1, 8)]);
    }

    #[test]
    fn memberships_last_as_long_as_their_connection() {
        let mut memberships = memberships();
        for client in 0..2 {
            memberships.ask(client, 0, 7, S);
            memberships.enter(client, 0, 2 * S);
        }
        memberships.handle_gone(1, 3 * S);
        memberships.start_step(3);
        assert!(memberships.is_in(0, 0) && !memberships.is_in(1, 0) && !memberships.is_in(2, 0));
        assert_eq!(memberships.membership_state(0, 0, 9 * S, 9 * S), MembershipState::Inside);
        assert_eq!(memberships.membership_state(1, 0, 9 * S, 9 * S), MembershipState::Outside);
    }

    #[test]
    fn a_stay_takes_forty_bytes() {
        assert_eq!(size_of::<Membership>(), 40);
    }
}
