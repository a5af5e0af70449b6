//! The account of a step: what was due, and what is missing, altogether, by kind of messages and by role.
//!
//! Lost agents leave a part of it unknown. A copy that came proves that it was due; whatever else their
//! clients sent or were due is neither due nor missing.

use std::collections::HashSet;

use app::people::RoleKind;
use engine::RoleDelta;
use load::Workload;
use results::{RoleFigures, SayFigures};
use stats::{Counts, Histogram};

use super::{Account, ArrivedDue, Merge, certain};
use crate::audience::{Audience, Due};
use crate::ending::Ending;

impl Merge {
    /// Fills in what was due and what is missing, and returns what else is known of broadcasts.
    pub(super) fn account(&self, counts: &mut Counts, now_ns: u64, ending: Ending) -> Audience {
        let mut audience = Audience::default();
        match self.workload {
            Workload::Echo => {
                let waiting: u64 = self.present().map(|account| account.held.waiting()).sum();
                // A request that still waits for a connection was due all the same (METHODOLOGY `expected`).
                counts.expected = counts.sent + waiting - self.echoes_of_lost();
                counts.in_flight = self.present().map(|account| account.counts.in_flight).sum();
            }
            Workload::Broadcast => {
                audience = Audience::of(&self.people, &self.settled, now_ns, ending);
                counts.expected = audience.due.copies + counts.in_passing + self.copies_of_lost();
                counts.in_flight = audience.due.left_behind;
                let recovered_of_lost: u64 = self.counts_of_lost().map(|counts| counts.recovered).sum();
                // What was recovered was due, also where the sender's books, which would say so, are lost.
                counts.offline_due = counts.recovered.max(audience.away.due + recovered_of_lost);
                counts.lost_offline = counts.offline_due - counts.recovered;
                (counts.seen_due, counts.seen) = audience.presence;
                counts.unseen = counts.seen_due - counts.seen;
            }
        }
        counts.connecting += self.connecting_without_books();
        charge_outstanding(counts, ending);
        audience
    }

    /// Figures by kind of messages, where there are several. `total` counts all of them together.
    pub(super) fn says(&self, audience: &Audience, total: &Counts, ending: Ending) -> Vec<SayFigures> {
        let of_lost = self.of_lost_by_say();
        let rooms = &self.people.rooms;
        let mut says: Vec<SayFigures> = Vec::new();
        for (kind, delta) in self.totals.says.iter().enumerate() {
            let (say, due) = (&rooms.says()[kind], audience.of_says.get(kind).copied().unwrap_or_default());
            says.push(SayFigures {
                name: say.name.clone(),
                room: rooms.kinds()[usize::from(say.room)].name.clone(),
                counts: accounted(delta.counts, due, of_lost[kind], ending),
                rtt: delta.rtt.clone(),
                delivery: delta.delivery.clone(),
            });
        }
        divide_in_flight(&mut says, total.in_flight);
        says
    }

    /// Figures by role, where there are roles. Of the copies due to a lost agent's clients, only the ones
    /// that came are known.
    pub(super) fn roles(&self, audience: &Audience, ending: Ending) -> Vec<RoleFigures> {
        let (rooms, role_assignment) = (&self.people.rooms, self.people.rooms.role_assignment());
        let of_lost = self.arrived_at_lost(rooms.roles().len(), |account| &account.of_roles);
        let figures = |(place, (role, delta)): (usize, (&RoleKind, &RoleDelta<Histogram>))| RoleFigures {
            name: role.name.clone(),
            people: role_assignment.people(place, self.people.clients).into(),
            counts: {
                let due = audience.of_roles.get(place).copied().unwrap_or_default();
                accounted(delta.counts, due, of_lost[place], ending)
            },
            handshake: delta.handshake.clone(),
            rtt: delta.rtt.clone(),
            delivery: delta.delivery.clone(),
        };
        rooms.roles().iter().zip(&self.totals.roles).enumerate().map(figures).collect()
    }

    /// Echoes that were under way at lost agents: it is unknown what became of them.
    fn echoes_of_lost(&self) -> u64 {
        self.counts_of_lost().map(|counts| counts.sent.saturating_sub(counts.received)).sum()
    }

    /// Copies that lost agents received, and copies of their messages that others received: they were due,
    /// because they came.
    fn copies_of_lost(&self) -> u64 {
        let to_lost: u64 = self.counts_of_lost().map(certain).sum();
        let tallies = self.settled.iter().flat_map(|settled| &settled.tallies);
        let from_lost = tallies.filter(|tally| self.lost.contains(&tally.worker));
        to_lost + from_lost.map(|tally| u64::from(tally.received)).sum::<u64>()
    }

    /// Copies by kind of messages: those that lost agents received, also again after absences, and copies of
    /// their messages that others received.
    fn of_lost_by_say(&self) -> Vec<ArrivedDue> {
        let mut of_lost = self.arrived_at_lost(self.people.rooms.says().len(), |account| &account.of_says);
        let mix = self.people.rooms.mix(self.people.workers);
        for tally in self.settled.iter().flat_map(|settled| &settled.tallies) {
            if self.lost.contains(&tally.worker) {
                let kind = mix.kind(tally.worker, tally.client, engine::seq(self.order.index, tally.number));
                of_lost[kind].copies += u64::from(tally.received);
            }
        }
        of_lost
    }

    /// Copies that came to lost agents, by kind of messages or by role, of which there are `all`.
    fn arrived_at_lost(&self, all: usize, of: fn(&Account) -> &Vec<ArrivedDue>) -> Vec<ArrivedDue> {
        let mut arrived = vec![ArrivedDue::default(); all];
        for account in self.lost.iter().filter_map(|worker| self.accounts.get(worker)) {
            ArrivedDue::add(&mut arrived, of(account).iter().copied());
        }
        arrived
    }

    /// Connections that were under way at workers that never closed their books: neither usable nor failed.
    fn connecting_without_books(&self) -> u64 {
        let settled: HashSet<u16> = self.settled.iter().map(|settled| settled.worker).collect();
        let under_way = |counts: &Counts| {
            let ended = counts.connected + counts.connect_timeouts + counts.connect_failures;
            counts.connects.saturating_sub(ended + counts.connecting)
        };
        let without_books = self.accounts.iter().filter(|(worker, _)| !settled.contains(worker));
        without_books.map(|(_, account)| under_way(&account.counts)).sum()
    }
}

/// Completes the counts of a part of the messages by what was due, and by what came to and from lost agents.
fn accounted(counted: Counts, due: Due, of_lost: ArrivedDue, ending: Ending) -> Counts {
    let mut counts = counted;
    counts.expected = due.copies + counts.in_passing + of_lost.copies;
    counts.in_flight = due.left_behind;
    charge_outstanding(&mut counts, ending);
    counts.offline_due = counts.recovered.max(due.offline + of_lost.recovered);
    counts.lost_offline = counts.offline_due - counts.recovered;
    counts
}

/// Has the kinds add up to what was under way in total. Which of its rooms a client that left had heard of
/// last is not known; how much it lacked is.
fn divide_in_flight(says: &mut [SayFigures], total: u64) {
    let known: u64 = says.iter().map(|say| say.counts.in_flight).sum();
    // What is known only in total is taken from the kinds' missing, in their order.
    let mut unknown = total.saturating_sub(known);
    for Counts { in_flight, missing, missing_own, .. } in says.iter_mut().map(|say| &mut say.counts) {
        let taken = unknown.min(*missing);
        (*in_flight, *missing) = (*in_flight + taken, *missing - taken);
        *missing_own = (*missing_own).min(*missing);
        unknown -= taken;
    }
}

/// Divides what was due and has not come into what is missing and what is under way: to clients that left,
/// `in_flight` at the most, or in a step that was cut short, all.
fn charge_outstanding(counts: &mut Counts, ending: Ending) {
    // A worker that was lost cannot tell what it sent.
    counts.expected = counts.expected.max(counts.received);
    let outstanding = counts.expected - counts.received;
    counts.in_flight = counts.in_flight.min(outstanding);
    if ending == Ending::CutShort {
        counts.in_flight = outstanding;
        // Acknowledgements that were under way when the step ended are not the server's failure.
        counts.unacknowledged = 0;
    }
    counts.missing = outstanding - counts.in_flight;
    // A sender that has left since lacks what is under way.
    counts.missing_own = counts.missing_own.min(counts.missing);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_own_copies_are_missing() {
        let say = |in_flight, missing, missing_own| SayFigures {
            counts: Counts { in_flight, missing, missing_own, ..Counts::default() },
            ..SayFigures::default()
        };
        let mut says = [say(1, 3, 3), say(0, 4, 2)];
        divide_in_flight(&mut says, 6);
        let counts = says.map(|say| (say.counts.in_flight, say.counts.missing, say.counts.missing_own));
        assert_eq!(counts, [(4, 0, 0), (2, 2, 2)]);
    }
}
