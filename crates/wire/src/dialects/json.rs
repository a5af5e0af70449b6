//! websocket-bench's JSON protocol.
//!
//! ```text
//! >> {"type":"echo","payload":{"sendTime":"<unix ns>","id":"<stamp>","padding":"1234567890…"}}
//! << the same
//! >> {"type":"broadcast","payload":P}
//! << the same, to everyone; to the sender also {"type":"broadcastResult","payload":P}
//! ```
//!
//! Servers decode and encode again: the order of keys and the blanks between them may change, and keys such as
//! `listenerCount` may be added. The stamp and the type are found all the same, without building a tree
//! ([`json_reply`](super::json_reply)).

use std::sync::LazyLock;

use memchr::memmem::{self, Finder};

use super::contract::{ClientDialect, Link};
use super::json_reply::{self, Sent};
use super::json_words::{
    BEFORE_PADDING, BEFORE_STAMP, BEFORE_TIME_BROADCAST, BEFORE_TIME_ECHO, END, TIME_DIGITS_MAX,
};
use super::parts::Parts;
use crate::event::{Event, Kind, Role};
use crate::failure::Failure;
use crate::io::Io;
use crate::json::extend_decimal;
use crate::json::scan::Scan;
use crate::options::{BadOption, Options};
use crate::stamp::{self, Found, Stamp, padding};
use crate::ws::receiver::Message;

/// The padding after the stamp, and the end.
pub(crate) fn parts(options: &Options) -> Result<Parts, BadOption> {
    let size = options.payload.padding.unwrap_or(0);
    let around = BEFORE_TIME_BROADCAST.len() + TIME_DIGITS_MAX + BEFORE_STAMP.len() + stamp::TEXT_BYTES;
    let around = around + BEFORE_PADDING.len() + END.len();
    let max = options.limits.message_bytes_max.saturating_sub(around);
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
    Ok(Parts { tail, ..Parts::default() })
}

/// The client's side: no state.
#[derive(Debug, Default)]
pub(crate) struct Client;

impl ClientDialect for Client {
    fn handle_upgraded<I: Io>(&mut self, _link: &mut Link<'_, I>, on: &mut impl FnMut(Event)) {
        on(Event::Usable);
    }

    #[inline]
    fn handle_message<I: Io>(
        &mut self,
        link: &mut Link<'_, I>,
        message: &Message<'_>,
        on: &mut impl FnMut(Event),
    ) -> Result<(), Failure> {
        let (payload, bytes) = (message.bytes()?, message.wire_bytes);
        let found = if link.cfg.is_varied() { stamp::find(payload) } else { find(payload, link.cfg.tail()) };
        on(match found {
            Found::At { stamp, offset } => {
                let sent = Sent { tail: link.cfg.tail_of(stamp), unix_ns: link.cfg.unix_ns_of(stamp) };
                match json_reply::role(payload, offset, sent) {
                    Some(role) => Event::Message { role, stamp, bytes },
                    None => Event::Corrupt { bytes },
                }
            }
            Found::Corrupt => Event::Corrupt { bytes },
            Found::None => Event::Foreign { bytes },
        });
        Ok(())
    }

    #[inline]
    fn send<I: Io>(&mut self, link: &mut Link<'_, I>, unix_ns: u64, kind: Kind, stamp: Stamp) {
        let tail = link.cfg.tail_of(stamp);
        link.sender.message(link.io, true, |out| {
            out.extend_from_slice(match kind {
                Kind::Echo => BEFORE_TIME_ECHO,
                Kind::Broadcast => BEFORE_TIME_BROADCAST,
            });
            extend_decimal(out, unix_ns);
            out.extend_from_slice(BEFORE_STAMP);
            out.extend_from_slice(&stamp.to_text());
            out.extend_from_slice(tail);
        });
    }
}

/// How the words of a message are written: as they are, or with every quotation mark escaped, in a JSON string.
pub(crate) trait Spelling {
    /// What a copy of a broadcast, an echo and a result usually start with.
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

impl Spelling for Plain {
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

impl Spelling for Escaped {
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
    [(Finder::new(result), Role::Ack), (Finder::new(broadcast), Role::Copy), (Finder::new(echo), Role::Echo)]
}

/// What a message is to the client that got it; `tail` is what its own end with, spelt the same way.
#[inline]
pub(crate) fn classify<S: Spelling>(payload: &[u8], bytes: u32, tail: &[u8]) -> Event {
    judge::<S>(role::<S>, payload, bytes, tail)
}

/// The same, of a dialect that tells what a message of ours is in its own way.
#[inline]
pub(crate) fn judge<S: Spelling>(
    role: impl FnOnce(&[u8]) -> Option<Role>,
    payload: &[u8],
    bytes: u32,
    tail: &[u8],
) -> Event {
    match find(payload, tail) {
        Found::At { stamp, offset } => match role(payload) {
            Some(role) if is_padding_sound::<S>(payload, offset + stamp::TEXT_BYTES, tail) => {
                Event::Message { role, stamp, bytes }
            }
            _ => Event::Corrupt { bytes },
        },
        Found::Corrupt => Event::Corrupt { bytes },
        Found::None => Event::Foreign { bytes },
    }
}

/// The stamp: usually where it was put, just before the tail.
#[inline]
fn find(payload: &[u8], tail: &[u8]) -> Found {
    let usual = payload.len().checked_sub(tail.len() + stamp::TEXT_BYTES);
    if let Some(offset) = usual
        && let Some(stamp) = stamp::read_text(&payload[offset..])
    {
        return Found::At { stamp, offset };
    }
    stamp::find(payload)
}

/// What a message of ours is to this client, by its type. The payload holds no such word, so the type is found
/// wherever it stands.
#[inline]
pub(crate) fn role<S: Spelling>(payload: &[u8]) -> Option<Role> {
    if let Some(&(_, role)) = S::STARTS.iter().find(|(start, _)| payload.starts_with(start)) {
        return Some(role);
    }
    S::types().iter().find(|(word, _)| word.find(payload).is_some()).map(|&(_, role)| role)
}

/// Whether the padding came through; `after` is where the stamp ends. It usually follows the stamp as sent.
#[inline]
pub(crate) fn is_padding_sound<S: Spelling>(payload: &[u8], after: usize, tail: &[u8]) -> bool {
    let sent = &tail[..tail.len() - 2];
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

/// What a client asks of the server, and where in the message the value of its `type` starts. A scan of the
/// outermost object for one key: no tree, no recursion, whatever the depth.
pub(crate) fn recognise(message: &[u8]) -> Option<(Kind, usize)> {
    const VALUE_AT: usize = br#"{"type":""#.len();
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
            let length = if kind == Kind::Echo { 4 } else { 9 };
            return Some((kind, scan.at() - 1 - length));
        }
        scan.skip_value()?;
        scan.token(b',')?;
    }
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
