//! What clients send, and what happens to them.

use std::fmt;

use crate::stamp::Stamp;

/// What to send.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A message for the server to send back.
    Echo,
    /// A message for the server to send to everyone.
    Broadcast,
}

/// What a stamped message that came in is to its receiver.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// The answer to one's own echo.
    Echo,
    /// The acknowledgement of one's own broadcast (`broadcastResult`).
    Ack,
    /// A copy of a broadcast, one's own included.
    Copy,
}

/// A refusal in the dialect's own words.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rejection {
    /// The server refused the subscription or join.
    Subscription,
    /// The server refused a message.
    Message,
}

impl Rejection {
    /// The name under which results count it.
    pub fn name(self) -> &'static str {
        match self {
            Rejection::Subscription => "rejected_subscription",
            Rejection::Message => "rejected_message",
        }
    }
}

impl fmt::Display for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Rejection::Subscription => "the server refused the subscription",
            Rejection::Message => "the server refused a message",
        })
    }
}

/// What happened on a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    /// The 101 is in and verified.
    Upgraded,
    /// The dialect is ready: messages may be sent.
    Usable,
    /// A message of ours, whole and sound.
    Message {
        /// What it is to this client.
        role: Role,
        /// The mark it carried.
        stamp: Stamp,
        /// Payload bytes on the wire, all fragments together, as compressed.
        bytes: u32,
    },
    /// A message of ours that was changed on its way.
    Corrupt {
        /// Payload bytes on the wire.
        bytes: u32,
    },
    /// A message that is not ours.
    Foreign {
        /// Payload bytes on the wire.
        bytes: u32,
    },
    /// The dialect refused something.
    Rejected(Rejection),
    /// The peer's close frame is in (and answered, unless it was the answer); 1005 when it had no code.
    Closed {
        /// The peer's close code.
        code: u16,
    },
}
