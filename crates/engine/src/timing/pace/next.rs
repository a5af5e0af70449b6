//! The answer of a pace that is asked what to do.

/// The next action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// Send `messages` messages, which were due at this moment, through this client.
    Send { client: u32, intended_ns: u64, messages: u32 },
    /// Nothing before this moment.
    At(u64),
    /// Nothing until an answer frees a slot.
    Wait,
    /// The step's last message has been sent.
    Over,
}
