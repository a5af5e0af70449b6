//! The members of rooms of unequal size at one worker: four bytes for each of them, and eight for each room.

use app::people::Layout;

use crate::segment::Segment;

/// The places of a worker's clients, by their numbers there, and the number of members of each room.
#[derive(Debug, Default)]
pub(super) struct UnequalRooms {
    pub(super) places: Vec<u32>,
    /// Clients at this worker, by room.
    pub(super) here: Vec<u32>,
    /// Clients at any worker, by room.
    pub(super) all: Vec<u32>,
    /// The number of clients that are counted in `all`.
    counted: u32,
}

impl UnequalRooms {
    /// Empty rooms.
    pub(super) fn new(rooms: u32) -> UnequalRooms {
        let none = vec![0; rooms as usize];
        UnequalRooms { places: Vec::new(), here: none.clone(), all: none, counted: 0 }
    }

    /// Begins a step of `clients` clients, of which `here` are at this worker. Clients that were there before
    /// keep their places.
    pub(super) fn start_step(&mut self, layout: &Layout, segment: Segment, clients: u32, here: u32) {
        for client in self.places.len() as u32..here {
            let room = layout.room(segment.number(client)) as usize;
            self.places.push(self.here[room]);
            // Places are given for good: a tally's bits refer to them, and clients of earlier steps keep
            // theirs.
            self.here[room] += 1;
        }
        // A step of fewer clients, as in a search: counted anew, because which rooms lose members follows
        // from no arithmetic.
        if clients < self.counted {
            self.all.fill(0);
            self.counted = 0;
        }
        for number in self.counted..clients {
            self.all[layout.room(number) as usize] += 1;
        }
        self.counted = clients;
    }
}
