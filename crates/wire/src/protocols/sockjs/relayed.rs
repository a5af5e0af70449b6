//! Broadcasts that another server has encoded.

use super::service::is_framed;
use crate::json;
use crate::room::Room;

/// Returns whether this is what the members of a room get: those with frames a frame, the others anything.
pub(super) fn is_text_of(room: Room, text: &[u8]) -> bool {
    !is_framed(room) || text.strip_prefix(b"a").and_then(|array| json::array(array, |_| {})).is_some()
}

/// How many strings these are, each with a comma before it, as sessions over requests are given them.
pub(super) fn strings(bytes: &[u8]) -> Option<u32> {
    simdutf8::basic::from_utf8(bytes).ok()?;
    let array = [b"[", bytes.strip_prefix(b",")?, b"]"].concat();
    let (mut count, mut are_strings) = (0, true);
    json::array(&array, |item| {
        count += 1;
        are_strings &= json::string(item).is_some();
    })?;
    are_strings.then_some(count)
}
