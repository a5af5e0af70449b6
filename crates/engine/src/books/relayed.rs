//! Messages sent on behalf of others: their outcomes go to the books of the clients they are for.

use codec::Stamp;
use stats::Reach;
use wire::RequestOutcome;

/// The outcome of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Relayed {
    /// Its request was answered.
    Answer {
        /// The message's stamp.
        stamp: Stamp,
        /// The answer's status.
        status: u16,
        /// Bytes of the answer.
        bytes: u32,
        /// Age of its bytes.
        reach: Reach,
    },
    /// Its request has another outcome, without an answer.
    RequestOutcome(Stamp, RequestOutcome),
}
