//! Messages sent on behalf of others: their outcomes go to the books of the clients they are for.

use stats::Reach;
use wire::{RequestOutcome, Stamp};

/// The outcome of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Relayed {
    /// Its request has this answer.
    Answer {
        /// The message's.
        stamp: Stamp,
        /// The answer's.
        status: u16,
        /// Bytes of the answer.
        bytes: u32,
        /// Age of its bytes.
        reach: Reach,
    },
    /// This, without an answer.
    RequestOutcome(Stamp, RequestOutcome),
}
