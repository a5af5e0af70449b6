//! Rooms: who hears whom.
//!
//! A room is `size` people whose numbers follow each other, so that everything about it is arithmetic and nothing is kept
//! for it: who is in it, how many of them at one worker, and which place each has there.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::segment::Segment;

/// How the people of a run are divided into rooms of one size; the last room may have fewer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rooms {
    size: u32,
    /// What somebody says is due to the others alone.
    to_others: bool,
}

/// Where a client sits among those of its room that are at the same worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seat {
    /// Its place among them, from 0.
    pub place: u32,
    /// How many they are.
    pub members: u32,
}

impl Rooms {
    /// One room for everybody.
    pub const ONE: Rooms = Rooms { size: u32::MAX, to_others: false };

    /// Rooms of so many people; 0 counts as 1.
    pub fn of(size: u32) -> Rooms {
        Rooms { size: size.max(1), ..Rooms::ONE }
    }

    /// The same, where nobody gets a copy of what they say themselves.
    pub fn to_others(self) -> Rooms {
        Rooms { to_others: true, ..self }
    }

    /// Whether somebody gets a copy of what they say themselves.
    #[inline]
    pub fn hears_itself(self) -> bool {
        !self.to_others
    }

    /// To how many a broadcast is due, of so many in its room: the sender is one of them.
    #[inline]
    pub fn hearers(self, present: u32) -> u32 {
        present.saturating_sub(self.to_others.into())
    }

    /// Whether everybody is in one room.
    #[inline]
    pub fn is_one(self) -> bool {
        self.size == Self::ONE.size
    }

    /// How many people a full room has; `None`: there is one room, for all there are.
    pub fn size(self) -> Option<u32> {
        (!self.is_one()).then_some(self.size)
    }

    /// The room of a client, by its number in the run.
    #[inline]
    pub fn room(self, number: u32) -> u32 {
        number / self.size
    }

    /// Whether two clients, by their numbers in the run, are in the same room.
    #[inline]
    pub fn are_together(self, one: u32, other: u32) -> bool {
        self.is_one() || self.room(one) == self.room(other)
    }

    /// How many of a step's `clients` are in this room.
    pub fn members(self, room: u32, clients: u32) -> u32 {
        let numbers = self.numbers(room);
        (numbers.end.min(clients.into()) - numbers.start.min(clients.into())) as u32
    }

    /// How many of a step's `clients` are in this room, and at this worker.
    pub fn members_at(self, segment: Segment, room: u32, clients: u32) -> u32 {
        let here = self.here(segment, room, segment.share(clients));
        here.end - here.start
    }

    /// The most that are in one room, and at this worker, which has so many clients.
    pub fn members_at_most(self, segment: Segment, here: u32) -> u32 {
        self.size.div_ceil(segment.workers.into()).min(here)
    }

    /// The seat of a client, by its number at this worker, which has so many.
    #[inline]
    pub fn seat(self, segment: Segment, client: u32, here: u32) -> Seat {
        if self.is_one() {
            return Seat { place: client, members: here };
        }
        let Range { start, end } = self.here(segment, self.room(segment.number(client)), here);
        Seat { place: client - start, members: end - start }
    }

    /// The numbers of a room's people.
    fn numbers(self, room: u32) -> Range<u64> {
        let first = u64::from(room) * u64::from(self.size);
        first..first + u64::from(self.size)
    }

    /// Of the `here` clients at a worker, those in this room, by their numbers at the worker.
    fn here(self, segment: Segment, room: u32, here: u32) -> Range<u32> {
        let (worker, workers) = (u64::from(segment.worker), u64::from(segment.workers));
        let before = |number: u64| number.saturating_sub(worker).div_ceil(workers).min(here.into()) as u32;
        let numbers = self.numbers(room);
        before(numbers.start)..before(numbers.end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn everybody_is_together_where_there_is_one_room() {
        assert!(Rooms::ONE.are_together(0, u32::MAX));
        assert_eq!((Rooms::ONE.members(0, 70), Rooms::ONE.size()), (70, None));
        let seat = Rooms::ONE.seat(Segment { worker: 3, workers: 4 }, 5, 9);
        assert_eq!(seat, Seat { place: 5, members: 9 });
    }

    proptest! {
        /// Against a list of who is where.
        #[test]
        fn arithmetic_agrees_with_counting(size in 1u32..20, clients in 0u32..150, workers in 1u16..6) {
            let rooms = Rooms::of(size);
            for worker in 0..workers {
                let segment = Segment { worker, workers };
                let here: Vec<u32> = (0..clients).filter(|n| n % u32::from(workers) == u32::from(worker)).collect();
                for room in 0..=clients / size {
                    let of_room: Vec<u32> = here.iter().copied().filter(|n| n / size == room).collect();
                    prop_assert_eq!(rooms.members_at(segment, room, clients), of_room.len() as u32);
                    prop_assert!(of_room.len() as u32 <= rooms.members_at_most(segment, here.len() as u32));
                    for (place, &number) in (0..).zip(&of_room) {
                        let client = here.iter().position(|&n| n == number).unwrap() as u32;
                        let seat = rooms.seat(segment, client, here.len() as u32);
                        prop_assert_eq!(seat, Seat { place, members: of_room.len() as u32 });
                    }
                }
            }
            let all: u32 = (0..=clients / size).map(|room| rooms.members(room, clients)).sum();
            prop_assert_eq!(all, clients);
        }
    }
}
