//! Who hears whom, as the plan says it.

use serde::{Deserialize, Serialize};
use wire::people::Division;

/// How the people of a run are divided into rooms, and whether those who speak hear themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rooms {
    /// Who shares one.
    pub division: Division,
    /// What somebody says is due to the others alone.
    to_others: bool,
}

impl Rooms {
    /// One room for everybody.
    pub const ONE: Rooms = Rooms { division: Division::ONE, to_others: false };

    /// Rooms in which everybody hears everybody.
    pub fn of(division: Division) -> Rooms {
        Rooms { division, ..Rooms::ONE }
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
        self.division == Division::ONE
    }
}
