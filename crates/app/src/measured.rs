//! Kinds of measured messages, and the broadcasts that are acknowledged to their senders.

use crate::people::Mix;

/// Kinds of measured messages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A message for the server to send back.
    Echo,
    /// A message for the server to send to everyone.
    Broadcast,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Kind; 2] = [Kind::Echo, Kind::Broadcast];
}

/// The kinds of broadcasts whose sender gets an acknowledgement beside its own copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Acks {
    /// A bit for each kind.
    kinds: u32,
    count: u32,
}

impl Acks {
    /// Treats all kinds of messages alike.
    pub fn all(are_acknowledged: bool) -> Acks {
        Acks { kinds: if are_acknowledged { u32::MAX } else { 0 }, count: 1 }
    }

    /// Each as it is said.
    pub fn of(kinds: impl Iterator<Item = bool>) -> Acks {
        let mut acks = Acks { kinds: 0, count: 0 };
        for is_acknowledged in kinds.take(Mix::KINDS_MAX) {
            acks.kinds |= u32::from(is_acknowledged) << acks.count;
            acks.count += 1;
        }
        acks
    }

    /// Returns whether broadcasts of this kind are.
    #[inline]
    pub fn has(self, kind: usize) -> bool {
        self.kinds >> kind & 1 != 0
    }

    /// Returns whether all are.
    pub fn has_all(self) -> bool {
        (0..self.count as usize).all(|kind| self.has(kind)) && self.count > 0
    }
}
