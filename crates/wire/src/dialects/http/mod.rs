//! Plain HTTP: every message is a request, and its answer is what comes back.
//!
//! Nothing of a message is on the wire: answers come in the order of their requests (RFC 9112 §9.3.2), so the stamps
//! wait in the client, oldest first.

pub(crate) mod options;
mod parts;
mod requests;

pub(crate) use parts::parts;
pub(crate) use requests::Requests;

/// What the name would mean over a WebSocket, which this dialect never opens.
pub(crate) use super::raw::Client;
