//! The arithmetic of rooms of equal size.

use std::ops::Range;

use crate::segment::Segment;

/// Rooms of equal size: every `people` clients with consecutive numbers have `rooms` rooms.
#[derive(Clone, Copy, Debug)]
pub(super) struct Even {
    pub(super) people: u32,
    pub(super) rooms: u32,
}

impl Even {
    /// How many of a step's `clients` are in this room.
    pub(super) fn members(self, room: u32, clients: u32) -> u32 {
        let numbers = self.numbers(room);
        (numbers.end.min(clients.into()) - numbers.start.min(clients.into())) as u32
    }

    /// The `here` clients of a worker that are in this room, by their numbers at the worker.
    #[inline]
    pub(super) fn here(self, segment: Segment, room: u32, here: u32) -> Range<u32> {
        let (worker, workers) = (u64::from(segment.worker), u64::from(segment.workers));
        // The inverse of `Segment::number`: how many clients of this worker have a number below that one.
        let before = |number: u64| number.saturating_sub(worker).div_ceil(workers).min(here.into()) as u32;
        let numbers = self.numbers(room);
        before(numbers.start)..before(numbers.end)
    }

    /// The numbers of a room's people.
    #[inline]
    fn numbers(self, room: u32) -> Range<u64> {
        let (room, people, rooms) = (u64::from(room), u64::from(self.people), u64::from(self.rooms));
        match rooms {
            // As a rule, and asked for each copy: without a division.
            1 => room * people..(room + 1) * people,
            _ => (room * people).div_ceil(rooms)..((room + 1) * people).div_ceil(rooms),
        }
    }
}
