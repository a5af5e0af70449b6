//! Events of a connection, each for the client of its stream.

use std::borrow::Cow;

use codec::ErrorCode;

use crate::failure::Failure;

/// Events of a connection, each of one frame.
#[derive(Debug)]
pub enum StreamEvent<'a> {
    /// Nothing of concern.
    Nothing,
    /// The server's settings are in, its first or others: streams may be opened.
    Ready,
    /// The server said something to a client, as it would over a connection of its own.
    Input {
        /// The client.
        client: u32,
        /// Bytes; there may be none where the stream ends.
        bytes: Cow<'a, [u8]>,
        /// True if the server says no more. The driver closes the stream.
        ends: bool,
    },
    /// The server has reset a client's stream.
    Reset {
        /// The client.
        client: u32,
        /// The server's reason.
        code: ErrorCode,
        /// True if the stream was open: its request had been answered.
        was_open: bool,
    },
    /// A client's stream is of no further use. The driver closes it.
    Failed {
        /// The client.
        client: u32,
        /// Why.
        failure: Failure,
    },
    /// The server takes no more streams, and does nothing with those after `last` (RFC 9113 §6.8).
    Leaving {
        /// The last stream that it serves.
        last: u32,
        /// Its reason.
        code: ErrorCode,
    },
}

/// A client, and its stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StreamOwner {
    /// The client, by the number that its driver knows it by.
    pub client: u32,
    /// The stream's number.
    pub stream: u32,
}
