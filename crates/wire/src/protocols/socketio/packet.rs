//! The packets of Socket.IO, read and judged.
//!
//! ```text
//! <type>[<attachments>-][<namespace>,][<ack id>][<payload, JSON>]
//! ```
//!
//! The namespace is left out when it is `/`. Of binary packets, the attachments follow in messages of their
//! own, and an object `{"_placeholder":true,"num":0}` stands for each in the payload.

use std::borrow::Cow;

use codec::json::{self, plain};

use crate::failure::Failure;

/// The namespace that needs no name.
pub(crate) const MAIN: &[u8] = b"/";
/// Attachments of one packet: as many as socket.io-parser takes.
pub(crate) const ATTACHMENTS_MAX: u8 = 10;
/// Most bytes of a namespace's name. No namespace has a longer one.
const NAMESPACE_BYTES_MAX: usize = 1024;
/// Digits of an ack id. JavaScript's largest number has 309, but no client counts that far.
const ID_DIGITS_MAX: usize = 32;
/// Digits of an ack id that is the same number everywhere: below 2^53.
const ID_DIGITS_EXACT: usize = 15;

/// Kinds of packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Connect,
    Disconnect,
    Event,
    Ack,
    ConnectError,
}

/// A packet, as it stands in the message that carried it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Packet<'a> {
    pub(crate) kind: Kind,
    /// How many attachments follow; `None` for packets that cannot have any.
    pub(crate) attachments: Option<u8>,
    /// The namespace, and before version 5 of the protocol a query behind it.
    pub(crate) namespace: &'a [u8],
    /// The ack id, digits.
    pub(crate) id: Option<&'a [u8]>,
    /// JSON, or nothing at all; not looked at yet.
    pub(crate) payload: &'a [u8],
}

impl<'a> Packet<'a> {
    /// Reads all but the payload.
    pub(crate) fn parse(text: &'a [u8]) -> Result<Packet<'a>, Failure> {
        let (&kind, mut rest) = text.split_first().ok_or(Failure::BadMessage)?;
        let (kind, is_binary) = match kind {
            b'0' => (Kind::Connect, false),
            b'1' => (Kind::Disconnect, false),
            b'2' => (Kind::Event, false),
            b'3' => (Kind::Ack, false),
            b'4' => (Kind::ConnectError, false),
            b'5' => (Kind::Event, true),
            b'6' => (Kind::Ack, true),
            _ => return Err(Failure::BadMessage),
        };
        let mut attachments = None;
        if is_binary {
            attachments = Some(take_attachments(&mut rest)?);
        }
        let mut namespace = MAIN;
        if rest.starts_with(b"/") {
            let end = memchr::memchr(b',', rest).unwrap_or(rest.len());
            if end > NAMESPACE_BYTES_MAX {
                return Err(Failure::BadMessage);
            }
            namespace = &rest[..end];
            rest = rest.get(end + 1..).unwrap_or_default();
        }
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        // They are said again in the answer: a long one would be a way to have it sent back.
        if digits > ID_DIGITS_MAX {
            return Err(Failure::BadMessage);
        }
        let (id, payload) = rest.split_at(digits);
        let id = (digits > 0).then_some(id);
        Ok(Packet { kind, attachments, namespace, id, payload })
    }
}

/// The number of attachments, and the dash after it.
fn take_attachments(rest: &mut &[u8]) -> Result<u8, Failure> {
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    // More than two digits are too many attachments anyway.
    let count = match rest[..digits] {
        [ones] => ones - b'0',
        [tens, ones] => (tens - b'0') * 10 + (ones - b'0'),
        _ => return Err(Failure::BadMessage),
    };
    if count > ATTACHMENTS_MAX {
        return Err(Failure::BadMessage);
    }
    *rest = rest[digits..].strip_prefix(b"-").ok_or(Failure::BadMessage)?;
    Ok(count)
}

/// An ack id as JavaScript's peers say it again: to them it is a number, rounded from 2^53 on (ECMA-262,
/// `Number::toString`).
pub(crate) fn ack_id(id: &[u8]) -> Cow<'_, [u8]> {
    if id.len() <= ID_DIGITS_EXACT && (id.len() == 1 || !id.starts_with(b"0")) {
        return Cow::Borrowed(id);
    }
    let number: f64 = std::str::from_utf8(id).ok().and_then(|digits| digits.parse().ok()).unwrap_or_default();
    // The shortest digits that mean this number, and its exponent.
    let shortest = format!("{number:e}");
    let (digits, exponent) = shortest.split_once('e').expect("an exponent");
    let exponent: usize = exponent.parse().expect("of an integer, and so not negative");
    let text = match exponent {
        0..21 => format!("{:0<width$}", digits.replace('.', ""), width = exponent + 1),
        _ => format!("{digits}e+{exponent}"),
    };
    Cow::Owned(text.into_bytes())
}

/// The name of an event, and how far into the payload its arguments start: at the comma before the first of
/// them, or at the closing bracket. The whole payload is checked. As socket.io-parser has it, a name may be a
/// number.
pub(crate) fn event(payload: &[u8]) -> Result<(&[u8], usize), Failure> {
    let mut first = None;
    let walked = json::array(payload, |item| _ = first.get_or_insert(item));
    let first = walked.and(first).ok_or(Failure::BadMessage)?;
    let name = match first {
        [b'-' | b'0'..=b'9', ..] => first,
        // As socket.io-parser does: a client that could send `disconnect` could run a handler of the
        // server's.
        _ => json::string(first).filter(|name| !is_reserved(&plain(name))).ok_or(Failure::BadMessage)?,
    };
    // The item is a part of the payload, so that the distance of the two is its place.
    let end = first.as_ptr() as usize - payload.as_ptr() as usize + first.len();
    let blanks = payload[end..].iter().take_while(|byte| byte.is_ascii_whitespace()).count();
    Ok((name, end + blanks))
}

/// The names of what happens to a socket, which no peer may make happen.
fn is_reserved(name: &[u8]) -> bool {
    let reserved: [&[u8]; 6] =
        [b"connect", b"connect_error", b"disconnect", b"disconnecting", b"newListener", b"removeListener"];
    reserved.contains(&name)
}

/// Returns whether every placeholder in a payload, which is JSON, stands for one of `attachments`
/// attachments.
pub(crate) fn are_placeholders_sound(payload: &[u8], attachments: u8) -> bool {
    let mut starts = Vec::new();
    let mut at = 0;
    while let Some(step) = payload[at..].iter().position(|byte| matches!(byte, b'"' | b'{' | b'}')) {
        at += step + 1;
        match payload[at - 1] {
            b'{' => starts.push((at - 1, false)),
            b'"' => {
                let inside = at;
                at = json::string_end(payload, at).expect("strings in JSON end") + 1;
                if &payload[inside..at - 1] == b"_placeholder"
                    && let Some((_, is_placeholder)) = starts.last_mut()
                {
                    *is_placeholder = true;
                }
            }
            _ => match starts.pop() {
                Some((start, true)) if !is_placeholder_sound(&payload[start..at], attachments) => {
                    return false;
                }
                _ => {}
            },
        }
    }
    true
}

fn is_placeholder_sound(object: &[u8], attachments: u8) -> bool {
    let (mut is_placeholder, mut number) = (false, None);
    let walked = json::object(object, |key, value| match key {
        b"_placeholder" => is_placeholder = value == b"true",
        b"num" => number = json::decimal::<u8>(value),
        _ => {}
    });
    walked.is_some() && (!is_placeholder || number.is_some_and(|number| number < attachments))
}

/// A namespace as it stands in a packet.
pub(crate) fn in_packet(namespace: &[u8]) -> [&[u8]; 2] {
    if namespace == MAIN { [b"", b""] } else { [namespace, b","] }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(kind: Kind) -> Packet<'static> {
        Packet { kind, attachments: None, namespace: MAIN, id: None, payload: b"" }
    }

    #[test]
    fn the_examples_of_the_protocol_document() {
        let sid = br#"{"sid":"oSO0OpakMV_3jnilAAAA"}"#;
        let refused = br#"{"message":"Not authorized"}"#;
        for (text, expected) in [
            (&b"0"[..], packet(Kind::Connect)),
            (
                br#"0/admin,{"sid":"oSO0OpakMV_3jnilAAAA"}"#,
                Packet { namespace: b"/admin", payload: sid, ..packet(Kind::Connect) },
            ),
            (br#"4{"message":"Not authorized"}"#, Packet { payload: refused, ..packet(Kind::ConnectError) }),
            (br#"2["foo"]"#, Packet { payload: br#"["foo"]"#, ..packet(Kind::Event) }),
            (
                br#"2/admin,["bar"]"#,
                Packet { namespace: b"/admin", payload: br#"["bar"]"#, ..packet(Kind::Event) },
            ),
            (
                br#"51-["baz",{"_placeholder":true,"num":0}]"#,
                Packet {
                    attachments: Some(1),
                    payload: br#"["baz",{"_placeholder":true,"num":0}]"#,
                    ..packet(Kind::Event)
                },
            ),
            (br#"212["foo"]"#, Packet { id: Some(b"12"), payload: br#"["foo"]"#, ..packet(Kind::Event) }),
            (
                br#"3/admin,13["bar"]"#,
                Packet { namespace: b"/admin", id: Some(b"13"), payload: br#"["bar"]"#, ..packet(Kind::Ack) },
            ),
            (
                br#"61-15["bar",1]"#,
                Packet {
                    attachments: Some(1),
                    id: Some(b"15"),
                    payload: br#"["bar",1]"#,
                    ..packet(Kind::Ack)
                },
            ),
            (b"1", packet(Kind::Disconnect)),
            (b"1/admin,", Packet { namespace: b"/admin", ..packet(Kind::Disconnect) }),
            (b"0/custom", Packet { namespace: b"/custom", ..packet(Kind::Connect) }),
        ] {
            assert_eq!(Packet::parse(text), Ok(expected), "{}", text.escape_ascii());
        }
    }

    #[test]
    fn invalid_packets_are_refused() {
        let long = ["0/", &"n".repeat(100_000), ","].concat();
        for text in [
            "",
            "7",
            "a",
            "5",
            "5[\"a\"]",
            "5-[\"a\"]",
            "511-[\"a\"]",
            "51000000000-[\"a\"]",
            "5a-[]",
            "51[\"a\"]",
            "2123456789012345678901234567890123[\"a\"]",
            &long,
        ] {
            assert_eq!(Packet::parse(text.as_bytes()), Err(Failure::BadMessage), "{text:.40}");
        }
    }

    #[test]
    fn events_have_a_name_and_arguments() {
        assert_eq!(event(br#"["a"]"#), Ok((&b"a"[..], 4)));
        assert_eq!(event(br#"["a",1]"#), Ok((&b"a"[..], 4)));
        assert_eq!(event(br#" [ "a" , 1 ] "#), Ok((&b"a"[..], 7)));
        assert_eq!(event(br#"["__proto__","connect"]"#), Ok((&b"__proto__"[..], 12)));
        assert_eq!(event(br#"[7 ,"a"]"#), Ok((&b"7"[..], 3)));
        assert_eq!(event(b"[-0.5e1]"), Ok((&b"-0.5e1"[..], 7)));
        assert_eq!(event(br#"["",1]"#), Ok((&b""[..], 3)));
        let deep = format!("[\"a\",{}", "[".repeat(100_000));
        for bad in [
            "",
            "{}",
            "[]",
            "[null]",
            "[true,\"a\"]",
            "[[\"a\"]]",
            "[\"a\"",
            "[\"a\"]]",
            "[\"a\",]",
            "[\"connect\"]",
            "[\"\\u0063onnect\"]",
            "[\"disconnecting\"]",
            "[\"newListener\"]",
            "\"a\"",
            &deep,
        ] {
            assert_eq!(event(bad.as_bytes()), Err(Failure::BadMessage), "{bad:.40}");
        }
    }

    #[test]
    fn ack_ids_are_numbers_to_javascript() {
        for (id, said) in [
            ("0", "0"),
            ("789", "789"),
            ("007", "7"),
            ("00", "0"),
            ("9007199254740991", "9007199254740991"),
            ("9007199254740993", "9007199254740992"),
            ("9223372036854775807", "9223372036854776000"),
            ("18446744073709551615", "18446744073709552000"),
            ("999999999999999999999", "1e+21"),
            ("12345678901234567890123", "1.2345678901234568e+22"),
        ] {
            assert_eq!(ack_id(id.as_bytes()).escape_ascii().to_string(), said);
        }
    }

    #[test]
    fn placeholders_stand_for_attachments_that_are_there() {
        for (payload, sound) in [
            (r#"["a",{"_placeholder":true,"num":0},{"_placeholder":true,"num":1}]"#, true),
            (r#"["a",{"b":[{ "num" : 1 , "_placeholder" : true }]}]"#, true),
            (r#"["a",{"_placeholder":false,"num":7}]"#, true),
            (r#"["_placeholder",{"num":7},"{\"_placeholder\":true}"]"#, true),
            (r#"["a",{"x":{"_placeholder":true,"num":1},"num":9}]"#, true),
            (r#"["a",{"_placeholder":true,"num":2}]"#, false),
            (r#"["a",{"_placeholder":true,"num":-1}]"#, false),
            (r#"["a",{"_placeholder":true,"num":"splice"}]"#, false),
            (r#"["a",{"_placeholder":true,"num":0.5}]"#, false),
            (r#"["a",{"_placeholder":true}]"#, false),
            (r#"["a",[{"b":{"_placeholder":true,"num":300}}]]"#, false),
        ] {
            assert!(json::array(payload.as_bytes(), |_| {}).is_some(), "{payload}");
            assert_eq!(are_placeholders_sound(payload.as_bytes(), 2), sound, "{payload}");
        }
    }
}
