//! Announcements of newcomers to the other members of a room, and which members have heard them: those of one
//! step at one worker.
//!
//! Announcements have numbers of their own, which their stamps carry together with the kind of rooms. The
//! crew finds out which members were to hear one, as it does for messages.

use crate::books::broadcasts::{BROADCASTS_PER_WORKER_MAX, Broadcasts};
use crate::messages::Announced;

/// How many bits of a number lie below the kind of rooms.
const KIND_SHIFT: u32 = BROADCASTS_PER_WORKER_MAX.ilog2() - 3;
/// The number of announcements that are not counted.
pub(crate) const UNCOUNTED: u32 = (1 << KIND_SHIFT) - 1;

// A kind of rooms takes the top three bits of a number; the step's number takes the bits above those.
const _: () = assert!(load::Rooms::KINDS_MAX <= 1 << 3);

/// The announcements of a step at one worker.
#[derive(Debug, Default)]
pub(crate) struct Announcements {
    /// Announcements of clients here, by number.
    made: Vec<Announced>,
    /// Announcements that clients here have heard, of clients anywhere.
    pub(crate) heard: Broadcasts,
}

impl Announcements {
    /// Announcements of a step; with `has_leavers`, clients may leave their rooms in the midst of it.
    pub(crate) fn new(has_leavers: bool) -> Self {
        Self { made: Vec::new(), heard: Broadcasts::new(has_leavers) }
    }

    /// Numbers the announcement of a client (by its number in the run) that asks to be let into its room of
    /// this kind. Returns what the stamp carries.
    pub(crate) fn make(&mut self, client: u32, kind: u16, sent_ns: u64) -> u32 {
        let number = self.made.len() as u32;
        // The stamp has no more bits for the number. The visitor is still announced, but neither due nor
        // missing anywhere.
        if number >= UNCOUNTED {
            return uncounted(kind);
        }
        self.made.push(Announced { client, kind, sent_ns, is_void: false });
        u32::from(kind) << KIND_SHIFT | number
    }

    /// Withdraws the announcement of a client that was not let in: no member is to hear of it. Does nothing
    /// for announcements that are not counted.
    pub(crate) fn withdraw(&mut self, number: u32) {
        if let Some(made) = self.made.get_mut(number as usize) {
            made.is_void = true;
        }
    }

    /// Takes the announcements of clients here.
    pub(crate) fn take_made(&mut self) -> Vec<Announced> {
        std::mem::take(&mut self.made)
    }
}

/// The stamp's number for an uncounted newcomer to a room of this kind.
pub(crate) fn uncounted(kind: u16) -> u32 {
    u32::from(kind) << KIND_SHIFT | UNCOUNTED
}

/// The kind of rooms, and the number among the announcements of a worker, or `None` if the announcement is
/// not counted.
pub(crate) fn split(number: u32) -> (u16, Option<u32>) {
    let below = number & UNCOUNTED;
    ((number >> KIND_SHIFT) as u16, (below != UNCOUNTED).then_some(below))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_name_their_kind_of_rooms() {
        let mut announcements = Announcements::new(true);
        let numbers = [(3, 0), (3, 7), (5, 0)].map(|(client, kind)| announcements.make(client, kind, 9));
        assert_eq!(numbers.map(split), [(0, Some(0)), (7, Some(1)), (0, Some(2))]);
        assert_eq!(split(uncounted(7)), (7, None));
        announcements.withdraw(0);
        announcements.withdraw(UNCOUNTED);
        let voided: Vec<bool> = announcements.take_made().iter().map(|made| made.is_void).collect();
        assert_eq!(voided, [true, false, false]);
    }
}
