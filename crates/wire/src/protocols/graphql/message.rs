//! Messages, taken apart and put together.

use crate::json::{object, string};

/// A message taken apart; strings are still escaped, and nothing where the message has none.
pub(super) struct Packet<'a> {
    pub(super) id: &'a [u8],
    pub(super) kind: &'a [u8],
    pub(super) payload: &'a [u8],
}

impl<'a> Packet<'a> {
    pub(super) fn parse(message: &'a [u8]) -> Option<Packet<'a>> {
        let mut packet = Packet { id: b"", kind: b"", payload: b"" };
        // Names that the compiler knows are compared in place: each message comes by here.
        object(message, |key, value| match key {
            b"id" => packet.id = string(value).unwrap_or_default(),
            b"type" => packet.kind = string(value).unwrap_or_default(),
            b"payload" => packet.payload = value,
            _ => {}
        })?;
        Some(packet)
    }
}

/// A result, in parts.
pub(super) fn result<'a>(id: &'a [u8], field: &'a [u8], value: &'a [u8]) -> [&'a [u8]; 7] {
    [br#"{"id":""#, id, br#"","type":"next","payload":{"data":{""#, field, br#"":"#, value, b"}}}"]
}
