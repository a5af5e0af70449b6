//! websocket-bench's messages, as binary.
//!
//! ```text
//! byte 0: 'e' echo, 'b' broadcast, 'r' its result | u32 BE: size of the rest | i64 BE: unix ns | padding
//! ```
//!
//! The server sends back what it got, to everyone if it is a broadcast; the sender's result has 'r' for 'b'.
//! The padding starts with the stamp and is as large as it at least.

use app::Kind;
use app::template::{Piece, Template};
use codec::stamp::{self, padding};
use codec::ws::MessageType;
use codec::{Found, Stamp};

use super::Expected;
use crate::event::Role;
use crate::options::{BadOption, Options};

const HEAD_BYTES: usize = 5;
const TIME_BYTES: usize = 8;
const STAMP_AT: usize = HEAD_BYTES + TIME_BYTES;
/// The place of a message's kind, and its values for a broadcast and its result.
pub(crate) const KIND_AT: usize = 0;
const ECHO: u8 = b'e';
const BROADCAST: u8 = b'b';
pub(crate) const RESULT: u8 = b'r';

/// The padding after the stamp.
pub(super) fn tail(options: &Options) -> Result<Vec<u8>, BadOption> {
    let min = stamp::BINARY_BYTES as u32;
    let max = options.limits.message_bytes_max.saturating_sub(STAMP_AT);
    let max = u32::try_from(max).unwrap_or(u32::MAX - STAMP_AT as u32);
    // The stamp stands in the padding, which so cannot be smaller.
    let size = options.payload.padding.unwrap_or(0).max(min);
    if size > max {
        return Err(BadOption::PayloadSize { min, max });
    }
    Ok(padding((size - min) as usize).collect())
}

/// A message that ends in a tail of `tail_bytes` bytes.
pub(super) fn template(kind: Kind, tail: &Template, tail_bytes: usize) -> Template {
    let kind = match kind {
        Kind::Echo => ECHO,
        Kind::Broadcast => BROADCAST,
    };
    let size = (TIME_BYTES + stamp::BINARY_BYTES + tail_bytes) as u32;
    let head = [&[kind][..], &size.to_be_bytes()].concat();
    Template::literal(head).hole(Piece::UnixNsBytes).hole(Piece::IdBytes).then(tail)
}

/// Reads a client's request of this form: its size must be as announced.
#[inline]
pub(crate) fn recognise(message: &[u8]) -> Option<Kind> {
    let (head, rest) = message.split_first_chunk::<HEAD_BYTES>()?;
    let [kind, size @ ..] = *head;
    // Other binary messages are echoed as they are, and must not be taken for these.
    if rest.len() < TIME_BYTES || u32::from_be_bytes(size) as usize != rest.len() {
        return None;
    }
    match kind {
        ECHO => Some(Kind::Echo),
        BROADCAST => Some(Kind::Broadcast),
        _ => None,
    }
}

/// The stamp, where it has to be.
#[inline(always)]
pub(super) fn find(message: &[u8], message_type: MessageType) -> Found {
    if message_type == MessageType::Text || message.len() < STAMP_AT {
        return Found::None;
    }
    match stamp::read_binary(&message[STAMP_AT..]) {
        Found::At { stamp, .. } => Found::At { stamp, offset: STAMP_AT },
        other => other,
    }
}

/// The role of a message with a sound stamp at this client; `None` when something else in it is damaged.
#[inline(always)]
pub(super) fn role(payload: &[u8], stamp: Stamp, expected: &Expected) -> Option<Role> {
    let size = u32::from_be_bytes(payload[1..HEAD_BYTES].try_into().expect("4 bytes"));
    let unix_ns = u64::from_be_bytes(payload[HEAD_BYTES..STAMP_AT].try_into().expect("8 bytes"));
    if size as usize != payload.len() - HEAD_BYTES
        || expected.unix_ns_of(stamp).is_some_and(|sent_ns| sent_ns != unix_ns)
        || !expected.is_tail(&payload[STAMP_AT + stamp::BINARY_BYTES..])
    {
        return None;
    }
    match payload[KIND_AT] {
        ECHO => Some(Role::Echo),
        BROADCAST => Some(Role::Copy),
        RESULT => Some(Role::Ack),
        _ => None,
    }
}
