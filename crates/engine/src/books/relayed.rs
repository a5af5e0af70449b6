//! What concerns the messages of others: connections that say something for clients have it told to these clients' books.

use wire::{Fate, Stamp};

/// What became of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Relayed {
    /// Its request has this answer.
    Answer {
        /// The message's.
        stamp: Stamp,
        /// The answer's.
        status: u16,
        /// Of the answer.
        bytes: u32,
    },
    /// This, without an answer.
    Fate(Stamp, Fate),
}
