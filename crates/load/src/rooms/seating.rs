//! Where the clients of one worker sit, in rooms of every kind.

use std::sync::Arc;

use wire::people::{Casting, Mix};

use super::floor::Floor;
use super::hearing::{Rooms, SayKind};
use crate::segment::Segment;

/// The rooms of a run, as one worker sees them in the step under way.
#[derive(Debug)]
pub struct Seating {
    rooms: Arc<Rooms>,
    mix: Mix,
    casting: Casting,
    /// By kind of rooms.
    floors: Vec<Floor>,
}

impl Seating {
    /// The rooms before the first step, in which nobody is yet.
    pub fn new(rooms: Arc<Rooms>, segment: Segment) -> Seating {
        let floors = rooms.kinds().iter().map(|kind| Floor::new(&kind.division, segment)).collect();
        Seating { mix: rooms.mix(segment.workers), casting: rooms.casting(), floors, rooms }
    }

    /// A step of so many clients begins; at this worker there are so many, those of earlier steps included.
    pub fn start_step(&mut self, clients: u32, here: u32) {
        for floor in &mut self.floors {
            floor.start_step(clients, here);
        }
    }

    /// Who hears whom.
    #[inline]
    pub fn rooms(&self) -> &Rooms {
        &self.rooms
    }

    /// The kind of the message with this sequence number, sent by this client of this worker, by its number there.
    #[inline]
    pub fn kind_of(&self, worker: u16, client: u32, seq: u32) -> usize {
        self.mix.kind(worker, client, seq)
    }

    /// The role of a client, by its number in the run; `None`: there are no roles.
    #[inline]
    pub fn role_of(&self, number: u32) -> Option<usize> {
        (!self.rooms.roles().is_empty()).then(|| self.casting.role(number))
    }

    /// Messages of this kind.
    #[inline]
    pub fn say(&self, kind: usize) -> &SayKind {
        &self.rooms.says()[kind]
    }

    /// The rooms in which messages of this kind are said.
    #[inline]
    pub fn floor_of(&self, kind: usize) -> &Floor {
        &self.floors[usize::from(self.say(kind).room)]
    }

    /// The rooms of each kind.
    pub fn floors(&self) -> &[Floor] {
        &self.floors
    }

    /// To how many a message of this kind is due, by its sender's number in the run: the members of its room who hear it.
    #[inline]
    pub fn hearers_of(&self, sender: u32, kind: usize) -> u32 {
        let floor = self.floor_of(kind);
        self.say(kind).hearers(floor.members(floor.room(sender)))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use wire::people::Division;

    use super::*;
    use crate::rooms::hearing::RoomKind;

    proptest! {
        /// Against a list of who is where, for every message of every sender.
        #[test]
        fn a_message_is_due_to_the_members_of_its_room_of_its_kind(
            sizes in proptest::collection::vec(1u32..12, 1..5),
            says in proptest::collection::vec((0u16..5, any::<bool>(), 1u32..10), 1..6),
            clients in 1u32..60, workers in 1u16..4,
        ) {
            let kinds: Vec<RoomKind> = sizes
                .iter()
                .map(|&size| RoomKind { name: String::new(), division: Division::of_size(size.try_into().unwrap()) })
                .collect();
            let says: Vec<SayKind> = says
                .into_iter()
                .map(|(room, to_others, share)| {
                    SayKind { name: String::new(), room: room % sizes.len() as u16, to_others, share }
                })
                .collect();
            let rooms = Arc::new(Rooms::several(kinds, says.clone(), Vec::new()).unwrap());
            let segment = Segment { worker: workers - 1, workers };
            let mut seating = Seating::new(Arc::clone(&rooms), segment);
            seating.start_step(clients, segment.share(clients));
            for seq in 0..40 {
                let (kind, sender) = (seating.kind_of(3, 0, seq), seq % clients);
                let say = &says[kind];
                let size = sizes[usize::from(say.room)];
                let hears = |&n: &u32| n / size == sender / size && (!say.to_others || n != sender);
                prop_assert_eq!(seating.hearers_of(sender, kind), (0..clients).filter(hears).count() as u32);
            }
        }
    }
}
