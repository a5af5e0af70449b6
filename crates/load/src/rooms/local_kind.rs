//! The members of rooms of one kind at one worker.

use app::people::{Division, Layout};

use super::even::Even;
use super::unequal::UnequalRooms;
use crate::segment::Segment;

/// A client's place among the members of its room that are at the same worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LocalMember {
    /// The client's place, from 0.
    pub place: u32,
    /// How many members of the room are at the worker.
    pub members: u32,
}

/// The rooms of one kind, as one worker sees them in the step under way.
#[derive(Debug)]
pub struct LocalRoomKind {
    segment: Segment,
    layout: Layout,
    kind: Kind,
    /// Clients of the step, over all workers.
    clients: u32,
    /// Clients at this worker, counting clients of earlier steps.
    here: u32,
}

/// A single room, equal rooms or unequal rooms, with the data from which places are computed.
#[derive(Debug)]
enum Kind {
    One,
    Even(Even),
    Unequal(UnequalRooms),
}

impl LocalRoomKind {
    /// The rooms before the first step, without members.
    pub(super) fn new(division: &Division, segment: Segment) -> LocalRoomKind {
        let kind = match division {
            division if *division == Division::ONE => Kind::One,
            Division::Even { people, rooms } => Kind::Even(Even { people: people.get(), rooms: rooms.get() }),
            Division::Zipf { rooms, .. } | Division::Listed { rooms, .. } => {
                Kind::Unequal(UnequalRooms::new(rooms.get()))
            }
        };
        LocalRoomKind { segment, layout: Layout::new(division), kind, clients: 0, here: 0 }
    }

    /// Begins a step of `clients` clients; `here` are at this worker, counting clients of earlier steps.
    pub(super) fn start_step(&mut self, clients: u32, here: u32) {
        if let Kind::Unequal(unequal) = &mut self.kind {
            unequal.start_step(&self.layout, self.segment, clients, here);
        }
        (self.clients, self.here) = (clients, here);
    }

    /// The room of a client, by its number in the run.
    #[inline]
    pub fn room(&self, number: u32) -> u32 {
        self.layout.room(number)
    }

    /// The room that two clients share, by their numbers in the run; `None` if they are in different rooms.
    #[inline]
    pub fn shared(&self, one: u32, other: u32) -> Option<u32> {
        if matches!(self.kind, Kind::One) {
            return Some(0);
        }
        let room = self.layout.room(one);
        (room == self.layout.room(other)).then_some(room)
    }

    /// How many of the step's clients are in this room.
    pub fn members(&self, room: u32) -> u32 {
        match &self.kind {
            Kind::One => self.clients,
            Kind::Even(even) => even.members(room, self.clients),
            Kind::Unequal(unequal) => unequal.all.get(room as usize).copied().unwrap_or(0),
        }
    }

    /// How many of the clients here are in this room.
    pub fn members_here(&self, room: u32) -> u32 {
        match &self.kind {
            Kind::One => self.here,
            Kind::Even(even) => {
                let here = even.here(self.segment, room, self.here);
                here.end - here.start
            }
            Kind::Unequal(unequal) => unequal.here.get(room as usize).copied().unwrap_or(0),
        }
    }

    /// The place of a client, by its number at this worker, in its room.
    #[inline]
    pub fn member(&self, client: u32, room: u32) -> LocalMember {
        match &self.kind {
            Kind::One => LocalMember { place: client, members: self.here },
            Kind::Even(even) => {
                let here = even.here(self.segment, room, self.here);
                LocalMember { place: client - here.start, members: here.end - here.start }
            }
            Kind::Unequal(unequal) => {
                LocalMember { place: unequal.places[client as usize], members: unequal.here[room as usize] }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZero;

    use proptest::prelude::*;

    use super::*;
    use crate::rooms::census::Census;

    fn division(people: u32, rooms: u32, exponent_milli: u32) -> Division {
        let nonzero = |n| NonZero::new(n).unwrap();
        match NonZero::new(exponent_milli) {
            None => Division::Even { people: nonzero(people.max(rooms)), rooms: nonzero(rooms) },
            Some(exponent_milli) => Division::Zipf { rooms: nonzero(rooms), exponent_milli },
        }
    }

    #[test]
    fn everybody_is_together_where_there_is_one_room() {
        let mut local_kind = LocalRoomKind::new(&Division::ONE, Segment { worker: 3, workers: 4 });
        local_kind.start_step(36, 9);
        assert_eq!(local_kind.shared(0, u32::MAX), Some(0));
        assert_eq!((local_kind.members(0), local_kind.members_here(0)), (36, 9));
        assert_eq!(local_kind.member(5, 0), LocalMember { place: 5, members: 9 });
    }

    #[test]
    fn nobody_moves_when_a_step_grows() {
        let mut local_kind =
            LocalRoomKind::new(&division(1, 1_000, 1_100), Segment { worker: 1, workers: 3 });
        local_kind.start_step(3_000, 1_000);
        let before: Vec<LocalMember> =
            (0..1_000).map(|n| local_kind.member(n, local_kind.room(n * 3 + 1))).collect();
        local_kind.start_step(9_000, 3_000);
        let places = |seats: &[LocalMember]| seats.iter().map(|member| member.place).collect::<Vec<_>>();
        let after: Vec<LocalMember> =
            (0..1_000).map(|n| local_kind.member(n, local_kind.room(n * 3 + 1))).collect();
        assert_eq!(places(&before), places(&after));
        let Kind::Unequal(unequal) = &local_kind.kind else { panic!("rooms of unequal size") };
        assert_eq!(size_of_val(&unequal.places[..]), 4 * 3_000);
    }

    proptest! {
        /// Compares with a list of all members, in steps that grow and shrink.
        #[test]
        fn arithmetic_of_rooms_agrees_with_counting(
            people in 1u32..40, rooms in 1u32..20, exponent_milli in prop_oneof![Just(0), 1u32..4_000],
            steps in proptest::collection::vec(0u32..150, 1..4), workers in 1u16..6,
        ) {
            let division = division(people, rooms, exponent_milli);
            let layout = Layout::new(&division);
            for worker in 0..workers {
                let segment = Segment { worker, workers };
                let mut local_kind = LocalRoomKind::new(&division, segment);
                let mut here_max = 0;
                for &clients in &steps {
                    here_max = here_max.max(segment.share(clients));
                    local_kind.start_step(clients, here_max);
                    let here: Vec<u32> = (0..here_max).map(|client| segment.number(client)).collect();
                    let alone = Census::of(&division, clients, workers, &[worker]);
                    for room in 0..=layout.room(u32::from(workers) * 150) {
                        let of_room: Vec<u32> = here.iter().copied().filter(|&n| layout.room(n) == room).collect();
                        prop_assert_eq!(local_kind.members_here(room), of_room.len() as u32);
                        let in_step = of_room.iter().filter(|&&n| n < clients).count() as u32;
                        prop_assert_eq!(alone.members(room), in_step);
                        for (place, &number) in (0..).zip(&of_room) {
                            let client = here.iter().position(|&n| n == number).unwrap() as u32;
                            let expected = LocalMember { place, members: of_room.len() as u32 };
                            prop_assert_eq!(local_kind.member(client, room), expected);
                        }
                        let all = (0..clients).filter(|&n| layout.room(n) == room).count() as u32;
                        prop_assert_eq!(local_kind.members(room), all);
                    }
                }
            }
        }
    }
}
