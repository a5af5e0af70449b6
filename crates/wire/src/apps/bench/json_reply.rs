//! Checks whether a message of websocket-bench's JSON protocol came back whole: every byte that throng wrote
//! is held against it.
//!
//! Rules. A server that returns the bytes returns the message it was sent, but for the type of a result:
//! start, time, stamp and end are compared where they stand. One that decodes and encodes again returns other
//! bytes: these are JSON to their end, with the same type, time, stamp and padding by their keys, wherever
//! those stand. Only a row of data may look different there: its stamp is sound, and that has to do.

use codec::stamp::TEXT_BYTES;
use codec::{Stamp, json};

use super::Expected;
use super::json_words::{
    BEFORE_PADDING, BEFORE_STAMP, BEFORE_TIME_BROADCAST, BEFORE_TIME_ECHO, END, TIME_DIGITS_MAX,
};
use crate::event::Role;

/// Beginnings of a copy, an echo and a result that came back as bytes.
const STARTS: [(&[u8], Role); 3] = [
    (BEFORE_TIME_BROADCAST, Role::Copy),
    (BEFORE_TIME_ECHO, Role::Echo),
    (br#"{"type":"broadcastResult","payload":{"sendTime":""#, Role::Ack),
];

/// The message sent, as far as it follows from its stamp.
#[derive(Clone, Copy)]
struct Sent<'a> {
    /// Everything after the stamp.
    tail: &'a [u8],
    /// The wall clock it shows, where that is known.
    unix_ns: Option<u64>,
}

/// The role of a message with a sound stamp at `offset` at its receiver; `None` when something else in it is
/// damaged.
#[inline(always)]
pub(super) fn role(payload: &[u8], stamp: Stamp, offset: usize, expected: &Expected) -> Option<Role> {
    let sent = Sent { tail: expected.tail_of(&stamp), unix_ns: expected.unix_ns_of(stamp) };
    role_at(payload, offset, sent)
}

#[inline(always)]
fn role_at(payload: &[u8], offset: usize, sent: Sent<'_>) -> Option<Role> {
    let (before, after) = (&payload[..offset], &payload[offset + TEXT_BYTES..]);
    // The end first: its length alone rules out most messages that were written anew.
    if after == sent.tail
        && let Some(before) = before.strip_suffix(BEFORE_STAMP)
        && let Some((start, role)) = STARTS.iter().find(|(start, _)| before.starts_with(start))
        && is_time(&before[start.len()..], sent.unix_ns)
    {
        return Some(*role);
    }
    role_of_rewritten(payload, &payload[offset..offset + TEXT_BYTES], sent)
}

/// The role of a message from a server that encodes payloads anew.
#[inline(never)]
fn role_of_rewritten(payload: &[u8], stamp: &[u8], sent: Sent<'_>) -> Option<Role> {
    let (mut role, mut inner) = (None, None);
    json::object(payload, |key, value| match key {
        b"type" => role = role_of_type(value),
        b"payload" => inner = Some(value),
        _ => {}
    })?;
    let (mut has_id, mut has_time, mut padding) = (false, false, None);
    json::object(inner?, |key, value| match key {
        b"id" => has_id = json::string(value) == Some(stamp),
        // Some take what looks like a number for one.
        b"sendTime" => has_time = is_time(json::string(value).unwrap_or(value), sent.unix_ns),
        b"padding" => padding = json::string(value),
        _ => {}
    })?;
    let filler = sent.tail.strip_prefix(BEFORE_PADDING).and_then(|tail| tail.strip_suffix(END));
    role.filter(|_| has_id && has_time && (filler.is_none() || padding == filler))
}

fn role_of_type(value: &[u8]) -> Option<Role> {
    match json::string(value)? {
        b"echo" => Some(Role::Echo),
        b"broadcast" => Some(Role::Copy),
        b"broadcastResult" => Some(Role::Ack),
        _ => None,
    }
}

#[inline(always)]
fn is_time(digits: &[u8], unix_ns: Option<u64>) -> bool {
    match unix_ns {
        Some(unix_ns) => digits == itoa::Buffer::new().format(unix_ns).as_bytes(),
        None => (1..=TIME_DIGITS_MAX).contains(&digits.len()) && digits.iter().all(u8::is_ascii_digit),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNIX_NS: u64 = 1_478_000_000_123_456_789;
    const TAIL: &[u8] = br#"","padding":"1234567890"}}"#;
    const SENT: Sent<'static> = Sent { tail: TAIL, unix_ns: Some(UNIX_NS) };

    fn stamp() -> String {
        String::from_utf8(Stamp::new(1, 2, 3, 4_000_000, 5_000_000).to_text().to_vec()).unwrap()
    }

    fn role_of(message: &[u8], sent: Sent<'_>) -> Option<Role> {
        let stamp = stamp();
        let offset = memchr::memmem::find(message, stamp.as_bytes())?;
        role_at(message, offset, sent)
    }

    #[test]
    fn unchanged_replies_are_recognised() {
        for (kind, expected) in
            [("echo", Role::Echo), ("broadcast", Role::Copy), ("broadcastResult", Role::Ack)]
        {
            let message = format!(
                r#"{{"type":"{kind}","payload":{{"sendTime":"{UNIX_NS}","id":"{}","padding":"1234567890"}}}}"#,
                stamp()
            );
            assert_eq!(role_of(message.as_bytes(), SENT), Some(expected));
            assert_eq!(role_of(message.as_bytes(), Sent { unix_ns: None, ..SENT }), Some(expected));
        }
    }

    #[test]
    fn every_byte_counts() {
        let message = format!(
            r#"{{"type":"echo","payload":{{"sendTime":"{UNIX_NS}","id":"{}","padding":"1234567890"}}}}"#,
            stamp()
        );
        for at in 0..message.len() {
            let mut damaged = message.clone().into_bytes();
            damaged[at] ^= 1;
            assert_eq!(role_of(&damaged, SENT), None, "{}", String::from_utf8_lossy(&damaged));
            damaged.remove(at);
            assert_eq!(role_of(&damaged, SENT), None, "{}", String::from_utf8_lossy(&damaged));
        }
        for more in ["x", "}", ",", "{}"] {
            assert_eq!(role_of(format!("{message}{more}").as_bytes(), SENT), None, "{more} behind it");
            assert_eq!(role_of(format!("{more}{message}").as_bytes(), SENT), None, "{more} before it");
        }
    }

    #[test]
    fn rewritten_replies_are_recognised_by_keys() {
        let (id, other) = (stamp(), "throng");
        let rewritten = format!(
            r#" {{"listenerCount":3, "payload": {{"padding":"1234567890","id":"{id}","sendTime":"{UNIX_NS}"}}, "type":"broadcastResult"}} "#
        );
        assert_eq!(role_of(rewritten.as_bytes(), SENT), Some(Role::Ack));
        let number = rewritten.replace(&format!("\"{UNIX_NS}\""), &UNIX_NS.to_string());
        assert_eq!(role_of(number.as_bytes(), SENT), Some(Role::Ack));
        for (from, to) in [
            ("1234567890\"", "123456789\""),
            ("\"padding\"", "\"paddinh\""),
            ("\"sendTime\"", "\"sentTime\""),
            ("\"id\"", "\"ie\""),
            ("\"payload\"", "\"payloae\""),
            ("broadcastResult", "broadcastResulu"),
            (" \"type\"", " \"typf\""),
            ("1478000000", "1478000001"),
            ("} ", " "),
            ("{\"padding", "[\"padding"),
        ] {
            assert!(rewritten.contains(from), "{from} of {other}");
            assert_eq!(role_of(rewritten.replacen(from, to, 1).as_bytes(), SENT), None, "{from} → {to}");
        }
        // A row of data may be written anew.
        let row = Sent { tail: br#"","data":{"a":1,"b":[]}}}"#, ..SENT };
        let rewritten = format!(
            r#"{{"type":"echo","payload":{{"data":{{"b": [],"a":1.0}},"id":"{id}","sendTime":"{UNIX_NS}"}}}}"#
        );
        assert_eq!(role_of(rewritten.as_bytes(), row), Some(Role::Echo));
        assert_eq!(role_of(rewritten.replacen("[]", "[", 1).as_bytes(), row), None);
    }
}
