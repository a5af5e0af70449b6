//! Steps of clients of a user's app, to get in or out.

use super::keeps::Keeps;
use super::matcher::Matcher;
use crate::carried::{Arrival, MessageHint, MessageTemplate};

/// One step of an opening, or of a way into a room or out of it.
#[derive(Debug)]
pub(super) enum Step {
    Send(MessageTemplate),
    /// The protocol's own reply to what was said last.
    Reply,
    Expect(Matcher),
    Wait(u64),
    /// Keeps values of the message that the step before has waited for.
    Keep(Keeps),
}

/// Returns whether it can be the protocol's own reply to a message that is not measured.
pub(super) fn is_reply(arrival: &Arrival<'_>) -> bool {
    matches!(arrival.hint, MessageHint::Answer(_) | MessageHint::Unknown)
}
