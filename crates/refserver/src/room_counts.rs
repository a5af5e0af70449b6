//! The number of members of each room, at all workers of the process together: publishers from outside get
//! it.
//!
//! No message between members needs the numbers; a join or a leave takes the lock once.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use wire::Room;

/// The number of members of each room that has members.
#[derive(Debug, Default)]
pub(crate) struct RoomCounts {
    rooms: Mutex<HashMap<Room, u32>>,
}

impl RoomCounts {
    pub(crate) fn join(&self, room: Room) {
        *self.rooms().entry(room).or_default() += 1;
    }

    pub(crate) fn leave(&self, room: Room) {
        let mut rooms = self.rooms();
        if let Some(members) = rooms.get_mut(&room) {
            *members -= 1;
            if *members == 0 {
                rooms.remove(&room);
            }
        }
    }

    pub(crate) fn members(&self, room: Room) -> u32 {
        self.rooms().get(&room).copied().unwrap_or(0)
    }

    fn rooms(&self) -> MutexGuard<'_, HashMap<Room, u32>> {
        // A number is whole whenever a worker may have panicked.
        self.rooms.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
