//! websocket-bench's messages, as JSON.
//!
//! ```text
//! >> {"type":"echo","payload":{"sendTime":"<unix ns>","id":"<stamp>","padding":"1234567890…"}}
//! << the same
//! >> {"type":"broadcast","payload":P}
//! << the same, to everyone; to the sender also {"type":"broadcastResult","payload":P}
//! ```
//!
//! Servers decode and encode again: the order of keys and the blanks between them may change, and keys such
//! as `listenerCount` may be added. The stamp and the type are found all the same, without building a tree
//! ([`json_reply`](super::json_reply)).

use std::sync::LazyLock;

use app::Kind;
use codec::json::members;
use codec::json::scan::Scan;
use codec::stamp::{self, padding};
use memchr::memmem::{self, Finder};

use super::json_words::{BEFORE_PADDING, BEFORE_STAMP, BEFORE_TIME_BROADCAST, END, TIME_DIGITS_MAX};
use crate::event::Role;
use crate::options::{BadOption, Options};

/// The text before a data row, and behind it.
const BEFORE_ROW: &[u8] = br#"","data":"#;
const AFTER_ROW: &[u8] = b"}}";

/// The padding after the stamp, and the end.
pub(super) fn tail(options: &Options) -> Result<Vec<u8>, BadOption> {
    let size = options.payload.padding.unwrap_or(0);
    let context = BEFORE_TIME_BROADCAST.len() + TIME_DIGITS_MAX + BEFORE_STAMP.len() + stamp::TEXT_BYTES;
    let context = context + BEFORE_PADDING.len() + END.len();
    let max = options.limits.message_bytes_max.saturating_sub(context);
    let max = u32::try_from(max).unwrap_or(u32::MAX);
    if size > max {
        return Err(BadOption::PayloadSize { min: 0, max });
    }
    let mut tail = Vec::new();
    if size > 0 {
        tail.extend_from_slice(BEFORE_PADDING);
        tail.extend(padding(size as usize));
    }
    tail.extend_from_slice(END);
    Ok(tail)
}

/// The end of a message with a row of data, which is JSON, in the place of the padding.
pub(super) fn tail_of_row(row: &str) -> Vec<u8> {
    [BEFORE_ROW, row.as_bytes(), AFTER_ROW].concat()
}

/// How the words of a message are written: as they are, or with every quotation mark escaped, in a JSON
/// string.
pub(crate) trait Spelled {
    /// The usual beginnings of a copy of a broadcast, an echo and a result.
    const STARTS: [(&'static [u8], Role); 3];
    /// The padding's key, with its own marks; before its value; and one mark.
    const PADDING_KEY: &'static [u8];
    const BEFORE_PADDING: &'static [u8];
    const MARK: &'static [u8];

    /// Finders of the types, wherever they stand.
    fn types() -> &'static Types;
}

type Types = [(Finder<'static>, Role); 3];

/// The message as it is.
pub(crate) struct Plain;

impl Spelled for Plain {
    const STARTS: [(&'static [u8], Role); 3] = [
        (br#"{"type":"broadcast","#, Role::Copy),
        (br#"{"type":"echo","#, Role::Echo),
        (br#"{"type":"broadcastResult","#, Role::Ack),
    ];
    const PADDING_KEY: &'static [u8] = br#""padding""#;
    const BEFORE_PADDING: &'static [u8] = BEFORE_PADDING;
    const MARK: &'static [u8] = br#"""#;

    fn types() -> &'static Types {
        static TYPES: LazyLock<Types> =
            LazyLock::new(|| types([r#""broadcastResult""#, r#""broadcast""#, r#""echo""#]));
        &TYPES
    }
}

/// The message in a JSON string.
pub(crate) struct Escaped;

impl Spelled for Escaped {
    const STARTS: [(&'static [u8], Role); 3] = [
        (br#"{\"type\":\"broadcast\","#, Role::Copy),
        (br#"{\"type\":\"echo\","#, Role::Echo),
        (br#"{\"type\":\"broadcastResult\","#, Role::Ack),
    ];
    const PADDING_KEY: &'static [u8] = br#"\"padding\""#;
    const BEFORE_PADDING: &'static [u8] = br#"\",\"padding\":\""#;
    const MARK: &'static [u8] = br#"\""#;

    fn types() -> &'static Types {
        static TYPES: LazyLock<Types> =
            LazyLock::new(|| types([r#"\"broadcastResult\""#, r#"\"broadcast\""#, r#"\"echo\""#]));
        &TYPES
    }
}

fn types([result, broadcast, echo]: [&'static str; 3]) -> Types {
    // With the closing mark, so that broadcast is not found in broadcastResult.
    [(Finder::new(result), Role::Ack), (Finder::new(broadcast), Role::Copy), (Finder::new(echo), Role::Echo)]
}

/// The role of a message of ours at this client, by its type. The payload holds no such word, so the type is
/// found wherever it stands.
#[inline]
pub(crate) fn role<S: Spelled>(payload: &[u8]) -> Option<Role> {
    // Most servers keep the order of the keys, so that the payload is not searched.
    if let Some(&(_, role)) = S::STARTS.iter().find(|(start, _)| payload.starts_with(start)) {
        return Some(role);
    }
    S::types().iter().find(|(word, _)| word.find(payload).is_some()).map(|&(_, role)| role)
}

/// Returns whether the padding came through, which was sent as this and with it what is before and behind it;
/// `after` is where the stamp ends, which it usually follows.
#[inline(always)]
pub(crate) fn is_padding_sound<S: Spelled>(payload: &[u8], after: usize, sent: &[u8]) -> bool {
    if payload[after..].starts_with(sent) {
        return true;
    }
    // A row of data that a server wrote anew may look different: its stamp is sound, and that has to do.
    let Some(filler) = sent.strip_prefix(S::BEFORE_PADDING) else { return true };
    memmem::find(payload, S::PADDING_KEY).is_some_and(|at| {
        let value = payload[at + S::PADDING_KEY.len()..].trim_ascii_start();
        let value = value.strip_prefix(b":").map(<[u8]>::trim_ascii_start);
        value.and_then(|v| v.strip_prefix(S::MARK)).is_some_and(|v| v.starts_with(filler))
    })
}

/// A client's request, and where in the message the value of its `type` starts. A scan of the
/// outermost object for one key: no tree, no recursion, whatever the depth.
pub(crate) fn recognise(message: &[u8]) -> Option<(Kind, usize)> {
    const VALUE_AT: usize = br#"{"type":""#.len();
    // As throng writes them: nothing has to be scanned.
    if message.starts_with(br#"{"type":"broadcast","#) {
        return Some((Kind::Broadcast, VALUE_AT));
    }
    if message.starts_with(br#"{"type":"echo","#) {
        return Some((Kind::Echo, VALUE_AT));
    }
    let mut scan = Scan::new(message);
    scan.token(b'{')?;
    loop {
        let key = scan.string()?;
        scan.token(b':')?;
        if key == b"type" {
            let kind = match scan.string()? {
                b"echo" => Kind::Echo,
                b"broadcast" => Kind::Broadcast,
                _ => return None,
            };
            // Back over the closing mark and the word, to where a result's type is put in its place.
            let length = if kind == Kind::Echo { 4 } else { 9 };
            return Some((kind, scan.at() - 1 - length));
        }
        scan.skip_value()?;
        scan.token(b',')?;
    }
}

/// The room that a broadcast is for, if it names one: behind its type, where clients that do put it.
#[inline]
pub(crate) fn room_of_broadcast(message: &[u8]) -> Option<&[u8]> {
    let named = message.strip_prefix(br#"{"type":"broadcast","room":"#)?;
    Scan::new(named).string()
}

/// Recognises a message that joins a room (true) or leaves it (false), and finds the room's name, as written
/// there.
pub(crate) fn recognise_move(message: &[u8]) -> Option<(bool, &[u8])> {
    let joins = message.starts_with(br#"{"type":"join","room":"#);
    let named = match joins {
        true => message.strip_prefix(br#"{"type":"join","room":"#)?,
        false => message.strip_prefix(br#"{"type":"leave","room":"#)?,
    };
    Some((joins, Scan::new(named).string()?))
}

/// The payload of a newcomer's message to a room.
pub(crate) fn payload_of_move(message: &[u8]) -> Option<&[u8]> {
    let [payload] = members(message, ["payload"])?;
    (!payload.is_empty()).then_some(payload)
}

/// The value of `type` in the result of a broadcast, which is `broadcast` in the broadcast.
pub(crate) const RESULT: &[u8] = b"broadcastResult";
/// Bytes of the value it replaces.
pub(crate) const BROADCAST_BYTES: usize = b"broadcast".len();

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_recognised_in_any_order_and_spacing() {
        for (message, kind) in [
            (r#"{"type":"echo","payload":{}}"#, Kind::Echo),
            (r#"{"type":"broadcast","payload":{"type":"echo"}}"#, Kind::Broadcast),
            (
                " {\n\t\"payload\" : [\"}\\\"\", {\"type\": 1}] , \"type\" : \"broadcast\"\r\n}",
                Kind::Broadcast,
            ),
            (r#"{"a":1.5,"b":null,"payload":"\\","type":"echo"}"#, Kind::Echo),
        ] {
            let (got, at) = recognise(message.as_bytes()).expect(message);
            assert_eq!(got, kind, "{message}");
            let word = if kind == Kind::Echo { "echo\"" } else { "broadcast\"" };
            assert!(message[at..].starts_with(word), "{message}");
        }
    }

    #[test]
    fn anything_else_is_not_recognised() {
        let deep = format!(r#"{{"payload":{}1,"type":"echo"}}"#, "[".repeat(100_000));
        for message in [
            "",
            "{",
            "{}",
            "[]",
            "echo",
            r#"{"type":"#,
            r#"{"type":"echo"#,
            r#"{"type":"ech\"o"}"#,
            r#"{"type":1}"#,
            r#"{"type":"broadcastResult"}"#,
            r#"{"payload":{"type":"echo"}}"#,
            r#"["type","echo"]"#,
            r#"{"a"\"#,
            r#"{"a":"\"#,
            r#"{"a":]"#,
            &deep,
        ] {
            assert_eq!(recognise(message.as_bytes()), None, "{}", &message[..message.len().min(40)]);
        }
    }

    #[test]
    fn types_are_found_wherever_servers_put_them() {
        for (message, expected) in [
            (r#"{"type":"broadcastResult","payload":{},"listenerCount":3}"#, Some(Role::Ack)),
            (r#"{"listenCount":3,"payload":{},"type":"broadcastResult"}"#, Some(Role::Ack)),
            (r#"{"payload": {}, "type": "broadcast"}"#, Some(Role::Copy)),
            (r#"{"payload":{},"type":"echo"}"#, Some(Role::Echo)),
            (r#"{"payload":{},"type":"other"}"#, None),
        ] {
            assert_eq!(role::<Plain>(message.as_bytes()), expected, "{message}");
        }
    }
}
