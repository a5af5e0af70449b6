//! Messages, taken apart and put together.

use std::borrow::Cow;

use codec::json::{members, object, plain, string};

/// A message taken apart; what it lacks is empty.
pub(super) struct Packet<'a> {
    pub(super) id: Cow<'a, [u8]>,
    /// The id as it stands in the message, escapes and all.
    pub(super) written_id: &'a [u8],
    pub(super) kind: Cow<'a, [u8]>,
    pub(super) payload: &'a [u8],
}

impl<'a> Packet<'a> {
    pub(super) fn parse(message: &'a [u8]) -> Option<Packet<'a>> {
        let (mut written_id, mut kind, mut payload) = (&b""[..], &b""[..], &b""[..]);
        object(message, |key, value| match &*plain(key) {
            b"id" => written_id = string(value).unwrap_or_default(),
            b"type" => kind = string(value).unwrap_or_default(),
            b"payload" => payload = value,
            _ => {}
        })?;
        Some(Packet { id: plain(written_id), written_id, kind: plain(kind), payload })
    }

    /// Returns whether the members are of the types that this kind of message has (graphql-ws 6, common.ts,
    /// `validateMessage`).
    pub(super) fn is_valid(&self) -> bool {
        match &*self.kind {
            b"connection_init" | b"connection_ack" | b"ping" | b"pong" => is_missing_or(self.payload, b'{'),
            b"subscribe" => !self.id.is_empty() && is_operation(self.payload),
            b"next" => !self.id.is_empty() && self.payload.starts_with(b"{"),
            b"error" => !self.id.is_empty() && self.payload.starts_with(b"["),
            b"complete" => !self.id.is_empty(),
            _ => false,
        }
    }
}

/// Returns whether a value, which is JSON, is missing, `null`, or of the type that begins so.
fn is_missing_or(value: &[u8], first: u8) -> bool {
    matches!(value, b"" | b"null") || value.first() == Some(&first)
}

fn is_operation(payload: &[u8]) -> bool {
    let all = members(payload, ["query", "variables", "operationName", "extensions"]);
    all.is_some_and(|[query, variables, name, extensions]| {
        query.starts_with(b"\"")
            && is_missing_or(variables, b'{')
            && is_missing_or(name, b'"')
            && is_missing_or(extensions, b'{')
    })
}

/// The answer to a ping with this payload, in parts.
pub(super) fn pong(payload: &[u8]) -> [&[u8]; 3] {
    match payload {
        b"" | b"null" => [br#"{"type":"pong"}"#, b"", b""],
        _ => [br#"{"type":"pong","payload":"#, payload, b"}"],
    }
}

/// A result, in parts; the id is as it stands in JSON.
pub(super) fn result<'a>(id: &'a [u8], field: &'a [u8], value: &'a [u8]) -> [&'a [u8]; 7] {
    [br#"{"id":""#, id, br#"","type":"next","payload":{"data":{""#, field, br#"":"#, value, b"}}}"]
}
