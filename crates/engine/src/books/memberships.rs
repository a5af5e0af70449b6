//! Memberships of visited rooms over time: the stays of one worker's visitors, by client and kind of rooms.
//! `membership` has the rules of one stay.

use std::iter;

use load::Rooms;

use crate::books::absences::OVERTAKE_NS;
use crate::books::late_joins::LateJoins;
use crate::books::membership::{Membership, MembershipState};
use crate::books::waivers::Waivers;

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
    pub(super) waivers: Waivers,
    /// By client, and then by visited kind: the number of its latest stay, from 1; 0 without one.
    latest: Vec<u32>,
    all: Vec<Membership>,
    /// The number of stays in front that are from an earlier step.
    carried: u32,
    /// Joins asked in this step that have no answer yet.
    joining: u32,
    /// Clients that have come in since [`take_entered`](Self::take_entered) was last called.
    entered: Vec<u32>,
}

/// The stays of a step by client and kind of rooms.
pub(crate) struct History<'a> {
    memberships: &'a Memberships,
    /// By slot, the latest first.
    stays: Vec<Vec<&'a Membership>>,
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
            joining: 0,
            entered,
        })
    }

    /// Begins a step with this many clients here. Clients that are in a room, or waiting to enter one, stay
    /// as they are.
    pub(crate) fn start_step(&mut self, clients: u32) {
        let clients = self.inside.len().max(clients as usize);
        self.inside.resize(clients, 0);
        self.leaving.resize(clients, 0);
        self.waivers.start_step(clients);
        self.latest.resize(clients * self.visited.count_ones() as usize, 0);
        // Stays that are over are of no use to another step, whose copies were all sent after them.
        let before = std::mem::take(&mut self.all);
        for latest in &mut self.latest {
            let membership = latest.checked_sub(1).map(|place| before[place as usize]);
            *latest = match membership.filter(Membership::is_open) {
                Some(membership) => {
                    self.all.push(membership.carried_over());
                    self.all.len() as u32
                }
                None => 0,
            };
        }
        self.carried = self.all.len() as u32;
        self.joining = 0;
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

    /// Returns whether any client has asked in this step to be let in, and has no answer yet.
    pub(crate) fn are_joining(&self) -> bool {
        self.joining > 0
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
        self.all.push(Membership::ask(self.latest[slot], announced, now_ns));
        self.latest[slot] = self.all.len() as u32;
        self.joining += 1;
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
            membership.handle_late_answer(now_ns);
        }
        is_last
    }

    /// Lets a client in, and returns when it asked, if it still waits for that.
    pub(crate) fn enter(&mut self, client: u32, kind: u16, now_ns: u64) -> Option<u64> {
        let is_overdue = self.is_overdue(client, kind);
        let membership = self.latest_mut(client, kind).filter(|membership| membership.is_joining())?;
        let asked_ns = membership.enter(now_ns);
        self.joining -= u32::from(!is_overdue);
        self.inside[client as usize] |= 1 << kind;
        self.entered.push(client);
        Some(asked_ns)
    }

    /// Ends the wait of a client that is not let in. Returns the number by which it was announced, if it
    /// waited and [no earlier step](Self::is_overdue) has counted that.
    pub(crate) fn turn_away(&mut self, client: u32, kind: u16, now_ns: u64) -> Option<u32> {
        let is_overdue = self.is_overdue(client, kind);
        let membership = self.latest_mut(client, kind).filter(|membership| membership.is_joining())?;
        membership.turn_away(now_ns);
        let announced = membership.announced;
        self.joining -= u32::from(!is_overdue);
        self.leaving[client as usize] |= 1 << kind;
        (!is_overdue).then_some(announced)
    }

    /// Ends the wait of a client that leaves without an answer, which may come later. Returns the same as
    /// [`turn_away`](Self::turn_away).
    pub(crate) fn give_up(&mut self, client: u32, kind: u16, now_ns: u64) -> Option<u32> {
        if self.is_joining(client, kind) {
            let slot = self.slot(client, kind);
            self.late_joins.give_up(slot);
        }
        self.turn_away(client, kind, now_ns)
    }

    /// Returns whether a client is joining or inside.
    pub(crate) fn is_at(&self, client: u32, kind: u16) -> bool {
        self.latest(client, kind).is_some_and(Membership::is_open)
    }

    /// Returns whether a client that is joining asked in an earlier step, which has counted that as
    /// unanswered.
    pub(crate) fn is_overdue(&self, client: u32, kind: u16) -> bool {
        self.is_joining(client, kind) && self.latest[self.slot(client, kind)] <= self.carried
    }

    /// Returns whether a client is joining.
    pub(crate) fn is_joining(&self, client: u32, kind: u16) -> bool {
        self.latest(client, kind).is_some_and(Membership::is_joining)
    }

    /// Books that a client that is inside leaves. Returns the time from which it is leaving, by when
    /// the newest message in its room was sent that came to any client here; `None` if it is not inside.
    pub(crate) fn leave(&mut self, client: u32, kind: u16, newest_ns: u64, now_ns: u64) -> Option<u64> {
        let membership = self.latest_mut(client, kind).filter(|membership| membership.is_inside())?;
        let until_ns = membership.leave(newest_ns, now_ns);
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
        let membership = self.latest_mut(client, kind).filter(|membership| !membership.is_open())?;
        let left_ns = membership.confirm(now_ns);
        self.leaving[client as usize] &= !(1 << kind);
        left_ns
    }

    /// Takes a client that has lost its connection out of all rooms. Returns the numbers by which it was
    /// announced where it was joining.
    pub(crate) fn handle_gone(&mut self, client: u32, now_ns: u64) -> Vec<u32> {
        self.inside[client as usize] = 0;
        let mut waited = Vec::new();
        for kind in self.kinds() {
            let slot = self.slot(client, kind);
            // Answers come over the connection: none is owed any longer.
            self.late_joins.clear(slot);
            if let Some(announced) = self.turn_away(client, kind, now_ns) {
                waited.push(announced);
            } else if let Some(membership) =
                self.latest_mut(client, kind).filter(|membership| membership.is_open())
            {
                membership.end(now_ns, now_ns);
            }
        }
        waited
    }

    /// The kinds of rooms that are visited.
    fn kinds(&self) -> impl Iterator<Item = u16> + use<> {
        let visited = self.visited;
        (0..8).filter(move |kind| visited & 1 << kind != 0)
    }

    /// Clients that are joining since they asked in this step, each with the number by which it was
    /// announced.
    pub(crate) fn waiting(&self) -> Vec<(u32, u32)> {
        let slots = self.visited.count_ones();
        let waits = |&latest: &u32| {
            // The stays in front were counted as unanswered by the step that they come from.
            let asked = Some(latest).filter(|&latest| latest > self.carried);
            asked.and_then(|latest| self.membership(latest)).filter(|membership| membership.is_joining())
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
        // Only visited kinds have slots: most kinds of rooms have members that stay.
        let before = (self.visited & ((1 << kind) - 1)).count_ones() as usize;
        client as usize * self.visited.count_ones() as usize + before
    }
}

#[cfg(test)]
mod tests;
