//! Broadcasts that another server has encoded.

use super::payload::SEPARATOR;
use crate::json;

/// How many attachments follow a packet with an event: `42["name",…]`, `42/ns,[…]`, `451-["name",…]`.
pub(super) fn attachments(packet: &[u8]) -> Option<u32> {
    let (attachments, rest) = match packet.strip_prefix(b"42") {
        Some(rest) => (0, rest),
        None => {
            let rest = packet.strip_prefix(b"45")?;
            let dash = rest.iter().position(|&byte| byte == b'-')?;
            (json::decimal(&rest[..dash])?, &rest[dash + 1..])
        }
    };
    let array = match rest.first()? {
        b'/' => &rest[rest.iter().position(|&byte| byte == b',')? + 1..],
        _ => rest,
    };
    json::array(array, |_| {})?;
    Some(attachments)
}

/// How many events packets are, each with a separator before it, as sessions over requests are given them.
pub(super) fn packets(bytes: &[u8]) -> Option<u32> {
    // They go into bodies of text as they are, and a single byte could spoil all of a session's packets.
    simdutf8::basic::from_utf8(bytes).ok()?;
    let (mut messages, mut missing) = (0, 0);
    for packet in bytes.strip_prefix(&[SEPARATOR])?.split(|&byte| byte == SEPARATOR) {
        match packet.strip_prefix(b"b") {
            Some(_) if missing > 0 => missing -= 1,
            None if missing == 0 => {
                missing = attachments(packet)?;
                messages += 1;
            }
            _ => return None,
        }
    }
    (missing == 0).then_some(messages)
}
