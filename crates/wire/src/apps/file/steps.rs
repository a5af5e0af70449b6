//! Steps of clients of a user's app, to get in or out.

use app::conditions::{Matcher, Received};

use super::keeps::Keeps;
use super::script::Script;
use crate::carried::{Arrival, MessageHint, MessageTemplate};
use crate::event::Rejection;

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

/// Takes a message that the step `at` may wait for, and keeps what the app's file keeps of it. Returns the
/// number of steps that are done with it; 0: it is not waited for.
///
/// # Errors
/// It lacks what is to be kept of it.
pub(super) fn take(
    steps: &[Step],
    at: u16,
    arrival: &Arrival<'_>,
    received: Received<'_>,
    script: &mut Script,
) -> Result<u16, Rejection> {
    let is_awaited = match steps.get(usize::from(at)) {
        Some(Step::Expect(expected)) => expected.matches(received),
        Some(Step::Reply) => is_reply(arrival),
        _ => false,
    };
    if !is_awaited {
        return Ok(0);
    }
    // Here, since the message is gone when that step would have its turn.
    let Some(Step::Keep(keeps)) = steps.get(usize::from(at) + 1) else { return Ok(1) };
    keeps.keep(received.opened, script)?;
    Ok(2)
}

/// Returns whether it can be the protocol's own reply to a message that is not measured.
fn is_reply(arrival: &Arrival<'_>) -> bool {
    matches!(arrival.hint, MessageHint::Answer(_) | MessageHint::Unknown)
}
