//! Copies due to clients, by kind of messages and by role.

use std::collections::HashMap;

use engine::Settled;

use super::away::Away;
use super::room_index::{BroadcastId, RoomIndex};
use super::said::Said;
use crate::ending::Ending;

/// Copies due to clients.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Due {
    /// Copies.
    pub(crate) copies: u64,
    /// Copies under way to clients when these left.
    pub(crate) left_behind: u64,
    /// Copies to clients that were away, counted apart.
    pub(crate) offline: u64,
}

/// Copies of each kind due to clients that left in mid-step or were away.
pub(super) fn apart_of_says(
    room_index: &RoomIndex<'_>,
    lacking: &HashMap<BroadcastId, u32>,
    away: &Away,
    books: &[Settled],
) -> Vec<Due> {
    let mut of_says = vec![Due::default(); room_index.kinds()];
    for (&id, &copies) in lacking {
        of_says[room_index.kind_of(id)].left_behind += u64::from(copies);
    }
    for (of_say, &sent) in of_says.iter_mut().zip(&away.of_says) {
        of_say.offline = sent;
    }
    for (kind, had) in books.iter().flat_map(|settled| settled.had_of_says.iter().enumerate()) {
        // Books may come over a network and have more kinds than the run.
        let Some(of_say) = of_says.get_mut(kind) else { continue };
        // What came before the connection ended was due to a client that was there, although it was sent in
        // what counts as its absence.
        (of_say.copies, of_say.offline) = (of_say.copies + had, of_say.offline.saturating_sub(*had));
    }
    of_says
}

/// Copies of each role due to clients that left in mid-step or were away; empty without roles.
/// Absences that a step's end has broken off are treated as in [`Away::of`].
pub(super) fn apart_of_roles(
    room_index: &RoomIndex<'_>,
    said: &Said<'_>,
    books: &[Settled],
    ending: Ending,
) -> Vec<Due> {
    let mut of_roles = vec![Due::default(); room_index.roles()];
    for settled in books.iter().filter(|_| room_index.roles() > 0) {
        for departure in &settled.departures {
            let due = said.to(departure.client, departure.from_ns, departure.to_ns);
            let left_behind = due.skip(departure.received as usize).count() as u64;
            of_roles[room_index.role_of(departure.client)].left_behind += left_behind;
        }
        for absence in &settled.absences {
            let (of_role, had) = (&mut of_roles[room_index.role_of(absence.client)], u64::from(absence.had));
            of_role.copies += had;
            if ending == Ending::CutShort && absence.to_ns == u64::MAX {
                continue;
            }
            let sent = said.to(absence.client, absence.from_ns, absence.to_ns).count() as u64;
            of_role.offline += sent.saturating_sub(had);
        }
    }
    of_roles
}
