//! Number of a room's members that were there over time: of all roles, and of each.

use std::collections::HashMap;
use std::hash::Hash;

use engine::{Attendance, Settled};

use super::room_index::RoomIndex;

/// A kind of rooms, and one of them.
type Room = (u16, u32);
/// (time, net change in membership), cumulative.
type Changes = Vec<(u64, i64)>;

/// The members present in the rooms of a step, over time.
pub(super) struct MembershipTimeline<'a> {
    /// Clients of the workers whose books are there.
    room_index: &'a RoomIndex<'a>,
    /// Changes by room; and when members left.
    changes: HashMap<Room, Changes>,
    left_ns: HashMap<Room, Vec<u64>>,
    /// Members of the rooms by role, if there are roles, and how these changed.
    members_of_roles: HashMap<(Room, usize), u32>,
    changes_of_roles: HashMap<(Room, usize), Changes>,
}

impl<'a> MembershipTimeline<'a> {
    pub(super) fn of(room_index: &'a RoomIndex<'a>, books: &[Settled]) -> Self {
        let room = |change: &Attendance| (change.place.kind, change.place.room);
        let mut membership = Self {
            room_index,
            changes: changes(books, room),
            left_ns: left_ns(books),
            members_of_roles: HashMap::new(),
            changes_of_roles: HashMap::new(),
        };
        if room_index.roles() > 0 {
            membership.changes_of_roles = changes(books, |change| (room(change), change.place.role.into()));
            for client in room_index.clients() {
                let role = room_index.role_of(client);
                for (kind, census) in (0..).zip(&room_index.censuses) {
                    *membership.members_of_roles.entry(((kind, census.room(client)), role)).or_default() += 1;
                }
            }
        }
        membership
    }

    /// How many of a client's room of this kind were there at that moment.
    pub(super) fn at(&self, kind: u16, client: u32, at_ns: u64) -> u32 {
        let census = self.room_index.census(kind);
        let room = census.room(client);
        present(census.members(room), self.changes.get(&(kind, room)), at_ns)
    }

    /// How many members of a client's room of this kind left it after one moment, and not after another.
    pub(super) fn leavers(&self, kind: u16, client: u32, from_ns: u64, to_ns: u64) -> u32 {
        let left_ns = self
            .left_ns
            .get(&(kind, self.room_index.census(kind).room(client)))
            .map_or(&[][..], Vec::as_slice);
        let until = |ns| left_ns.partition_point(|&left_ns| left_ns <= ns);
        (until(to_ns) - until(from_ns)) as u32
    }

    /// How many of these members had each role; empty without roles.
    pub(super) fn of_roles_at(&self, kind: u16, client: u32, at_ns: u64) -> impl Iterator<Item = u32> {
        let room = (kind, self.room_index.census(kind).room(client));
        (0..self.room_index.roles()).map(move |role| {
            let members = self.members_of_roles.get(&(room, role)).copied().unwrap_or(0);
            present(members, self.changes_of_roles.get(&(room, role)), at_ns)
        })
    }
}

/// When members left each room, where newcomers are announced.
fn left_ns(books: &[Settled]) -> HashMap<Room, Vec<u64>> {
    let mut left_ns: HashMap<Room, Vec<u64>> = HashMap::new();
    let are_announced = books.iter().any(|settled| !settled.announced.is_empty());
    for change in books.iter().filter(|_| are_announced).flat_map(|settled| &settled.attendance) {
        for _ in change.change..0 {
            left_ns.entry((change.place.kind, change.place.room)).or_default().push(change.at_ns);
        }
    }
    for left_ns in left_ns.values_mut() {
        left_ns.sort_unstable();
    }
    left_ns
}

/// Adds up the changes of each key, in order of time.
fn changes<K: Eq + Hash>(books: &[Settled], of: impl Fn(&Attendance) -> K) -> HashMap<K, Changes> {
    let mut changes: HashMap<K, Changes> = HashMap::new();
    for change in books.iter().flat_map(|settled| &settled.attendance) {
        changes.entry(of(change)).or_default().push((change.at_ns, change.change.into()));
    }
    for changes in changes.values_mut() {
        // Each worker's changes are in order of time, but not the changes of all workers together.
        changes.sort_by_key(|&(at_ns, _)| at_ns);
        let mut sum = 0;
        for (_, change) in changes {
            sum += *change;
            *change = sum;
        }
    }
    changes
}

/// Members present at `at_ns`.
fn present(members: u32, changes: Option<&Changes>, at_ns: u64) -> u32 {
    let Some(changes) = changes else { return members };
    let after = changes.partition_point(|&(from_ns, _)| from_ns <= at_ns);
    let change = after.checked_sub(1).map_or(0, |last| changes[last].1);
    // Lost agents' books may lack a return that belongs to a departure.
    (i64::from(members) + change).clamp(0, u32::MAX.into()) as u32
}
