//! The members of rooms of every kind at one worker.

use std::sync::Arc;

use app::people::{Mix, RoleAssignment};

use super::hearing::{Rooms, SayKind};
use super::local_kind::LocalRoomKind;
use crate::segment::Segment;

/// The rooms of a run, as one worker sees them in the step under way.
#[derive(Debug)]
pub struct LocalRooms {
    rooms: Arc<Rooms>,
    mix: Mix,
    role_assignment: RoleAssignment,
    /// The worker's view of each kind of rooms.
    local_kinds: Vec<LocalRoomKind>,
}

impl LocalRooms {
    /// The rooms before the first step, without members.
    pub fn new(rooms: Arc<Rooms>, segment: Segment) -> LocalRooms {
        let local_kinds =
            rooms.kinds().iter().map(|kind| LocalRoomKind::new(&kind.division, segment)).collect();
        LocalRooms {
            mix: rooms.mix(segment.workers),
            role_assignment: rooms.role_assignment(),
            local_kinds,
            rooms,
        }
    }

    /// Begins a step of `clients` clients; `here` are at this worker, counting clients of earlier steps.
    pub fn start_step(&mut self, clients: u32, here: u32) {
        for local_kind in &mut self.local_kinds {
            local_kind.start_step(clients, here);
        }
    }

    /// The rooms, in which members hear each other.
    #[inline]
    pub fn rooms(&self) -> &Rooms {
        &self.rooms
    }

    /// The kind of the message with this sequence number, sent by this client of this worker, by its number
    /// there.
    #[inline]
    pub fn kind_of(&self, worker: u16, client: u32, seq: u32) -> usize {
        self.mix.kind(worker, client, seq)
    }

    /// The role of a client, by its number in the run; `None`: there are no roles.
    #[inline]
    pub fn role_of(&self, number: u32) -> Option<usize> {
        (!self.rooms.roles().is_empty()).then(|| self.role_assignment.role(number))
    }

    /// The description of the messages of this kind.
    #[inline]
    pub fn say(&self, kind: usize) -> &SayKind {
        &self.rooms.says()[kind]
    }

    /// The rooms to which messages of this kind are sent.
    #[inline]
    pub fn kind_of_rooms(&self, kind: usize) -> &LocalRoomKind {
        &self.local_kinds[usize::from(self.say(kind).room)]
    }

    /// The rooms of each kind.
    pub fn local_kinds(&self) -> &[LocalRoomKind] {
        &self.local_kinds
    }

    /// How many clients a message of this kind is due to, by its sender's number in the run: the members of
    /// its room that hear it.
    #[inline]
    pub fn hearers_of(&self, sender: u32, kind: usize) -> u32 {
        let local_kind = self.kind_of_rooms(kind);
        self.say(kind).hearers(local_kind.members(local_kind.room(sender)))
    }
}

#[cfg(test)]
mod tests {
    use app::people::Division;
    use proptest::prelude::*;

    use super::*;
    use crate::rooms::hearing::RoomKind;

    proptest! {
        /// Compares with a list of all members, for every message of every sender.
        #[test]
        fn messages_are_due_to_members_of_their_room(
            sizes in proptest::collection::vec(1u32..12, 1..5),
            says in proptest::collection::vec((0u16..5, any::<bool>(), 1u32..10), 1..6),
            clients in 1u32..60, workers in 1u16..4,
        ) {
            let kinds: Vec<RoomKind> = sizes
                .iter()
                .map(|&size| RoomKind { name: String::new(), division: Division::of_size(size.try_into().unwrap()), joined_by: None })
                .collect();
            let says: Vec<SayKind> = says
                .into_iter()
                .map(|(room, to_others, share)| {
                    SayKind { name: String::new(), room: room % sizes.len() as u16, to_others, share }
                })
                .collect();
            let rooms = Arc::new(Rooms::several(kinds, says.clone(), Vec::new()).unwrap());
            let segment = Segment { worker: workers - 1, workers };
            let mut local_rooms = LocalRooms::new(Arc::clone(&rooms), segment);
            local_rooms.start_step(clients, segment.share(clients));
            for seq in 0..40 {
                let (kind, sender) = (local_rooms.kind_of(3, 0, seq), seq % clients);
                let say = &says[kind];
                let size = sizes[usize::from(say.room)];
                let hears = |&n: &u32| n / size == sender / size && (!say.to_others || n != sender);
                prop_assert_eq!(local_rooms.hearers_of(sender, kind), (0..clients).filter(hears).count() as u32);
            }
        }
    }
}
