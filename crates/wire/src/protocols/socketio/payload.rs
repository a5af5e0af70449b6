//! Packets joined into the body of a request or an answer.
//!
//! ```text
//! version 4: <packet>RS<packet>RS…          an attachment is b and its bytes in base64
//! version 3: <length>:<packet><length>:…    in units of UTF-16; an attachment is b4 and its bytes in base64
//! ```
//!
//! Version 3 also has a binary form, for clients that say they can read it; throng's do not.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::version::Version;
use crate::failure::Failure;

/// Between two packets, since version 4: the record separator of ASCII.
pub(super) const SEPARATOR: u8 = 0x1e;

/// A packet taken out of a body.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Unit<'a> {
    /// Its type included.
    Text(&'a [u8]),
    Attachment(Vec<u8>),
}

/// Appends the packet that `write` appends to those that wait to be sent, with a separator before it.
pub(crate) fn push(packets: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    packets.push(SEPARATOR);
    write(packets);
}

/// Appends a packet of text, in parts, with a separator before it.
pub(crate) fn push_text(packets: &mut Vec<u8>, parts: &[&[u8]]) {
    push(packets, |out| codec::io::extend(out, parts));
}

/// Appends an attachment, with a separator before it.
pub(crate) fn push_attachment(packets: &mut Vec<u8>, bytes: &[u8]) {
    packets.extend_from_slice(&[SEPARATOR, b'b']);
    let start = packets.len();
    packets.resize(start + bytes.len().div_ceil(3) * 4, 0);
    let written = STANDARD.encode_slice(bytes, &mut packets[start..]);
    debug_assert_eq!(written, Ok(packets.len() - start));
}

/// The packets that wait, one by one.
pub(crate) fn waiting(packets: &[u8]) -> impl Iterator<Item = &[u8]> {
    packets.split(|&byte| byte == SEPARATOR).skip(1)
}

/// How many bytes of the packets that wait make a body of no more than `bytes_max`: at least one packet.
pub(crate) fn portion(packets: &[u8], bytes_max: usize) -> usize {
    // A length and its colon, in version 3.
    const AROUND_MAX: usize = 8;
    let (mut end, mut body) = (0, 0);
    for packet in waiting(packets) {
        body += packet.len() + AROUND_MAX;
        // A packet that is too long goes alone, for the server to refuse: nothing would ever go out
        // otherwise.
        if end > 0 && body > bytes_max {
            break;
        }
        end += packet.len() + 1;
    }
    end
}

/// The body that packets, each with a separator before it, make.
pub(crate) fn body(version: Version, packets: &[u8]) -> Vec<u8> {
    match version {
        Version::V4 => packets.get(1..).unwrap_or_default().to_vec(),
        Version::V3 => waiting(packets).fold(Vec::new(), |mut out, packet| {
            let (before, rest): (&[u8], _) = match packet.strip_prefix(b"b") {
                Some(encoded) => (b"b4", encoded),
                None => (b"", packet),
            };
            let units = before.len() + utf16_units(rest);
            out.extend_from_slice(format!("{units}:").as_bytes());
            out.extend_from_slice(before);
            out.extend_from_slice(rest);
            out
        }),
    }
}

/// Hands on the packets of a body in order. It must not be empty.
pub(crate) fn read(
    version: Version,
    body: &[u8],
    mut each: impl FnMut(Unit<'_>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    // Both versions are text, and attachments are in base64.
    let text = std::str::from_utf8(body).map_err(|_| Failure::BadMessage)?;
    match version {
        Version::V4 => body.split(|&byte| byte == SEPARATOR).try_for_each(|packet| each(unit(packet, b"b")?)),
        Version::V3 => {
            let mut rest = text;
            while {
                let packet = take_packet(&mut rest)?;
                each(unit(packet.as_bytes(), b"b4")?)?;
                !rest.is_empty()
            } {}
            Ok(())
        }
    }
}

fn unit<'a>(packet: &'a [u8], before_attachment: &[u8]) -> Result<Unit<'a>, Failure> {
    match packet.strip_prefix(before_attachment) {
        Some(encoded) => STANDARD.decode(encoded).map(Unit::Attachment).map_err(|_| Failure::BadMessage),
        None if packet.is_empty() => Err(Failure::BadMessage),
        None => Ok(Unit::Text(packet)),
    }
}

/// The next packet of version 3.
fn take_packet<'a>(rest: &mut &'a str) -> Result<&'a str, Failure> {
    // A length of more digits is above every limit, and may overflow.
    const DIGITS_MAX: usize = 9;
    let colon = rest.bytes().take(DIGITS_MAX + 1).position(|byte| byte == b':').ok_or(Failure::BadMessage)?;
    let (digits, text) = (&rest[..colon], &rest[colon + 1..]);
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(Failure::BadMessage);
    }
    let units: usize = digits.parse().map_err(|_| Failure::BadMessage)?;
    let (mut end, mut left) = (0, units);
    for letter in text.chars() {
        if left == 0 {
            break;
        }
        // Half of a surrogate pair is no letter: no length ends within one.
        left = left.checked_sub(letter.len_utf16()).ok_or(Failure::BadMessage)?;
        end += letter.len_utf8();
    }
    if left > 0 {
        return Err(Failure::BadMessage);
    }
    *rest = &text[end..];
    Ok(&text[..end])
}

/// The length in the language of the first implementation.
fn utf16_units(text: &[u8]) -> usize {
    // A character takes as many units as it has first bytes, and one more if it has four bytes.
    text.iter().map(|&byte| usize::from(byte & 0xc0 != 0x80) + usize::from(byte >= 0xf0)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn units(version: Version, body: &[u8]) -> Result<Vec<String>, Failure> {
        let mut all = Vec::new();
        read(version, body, |unit| {
            all.push(match unit {
                Unit::Text(text) => String::from_utf8(text.to_vec()).unwrap(),
                Unit::Attachment(bytes) => format!("{bytes:?}"),
            });
            Ok(())
        })?;
        Ok(all)
    }

    /// A body of many packets is looked through once, and not once for each.
    #[test]
    fn many_small_packets_are_read() {
        let body = b"1:6".repeat(300_000);
        assert_eq!(units(Version::V3, &body).unwrap().len(), 300_000);
    }

    #[test]
    fn the_examples_of_the_protocol_document() {
        let mut packets = Vec::new();
        push_text(&mut packets, &[b"4", b"hello"]);
        push_attachment(&mut packets, &[1, 2, 3, 4]);
        assert_eq!(body(Version::V4, &packets), b"4hello\x1ebAQIDBA==");
        assert_eq!(
            units(Version::V4, b"4hello\x1ebAQIDBA=="),
            Ok(vec!["4hello".into(), "[1, 2, 3, 4]".into()])
        );
        assert_eq!(units(Version::V4, b"4hello\x1e2\x1e4world").map(|all| all.len()), Ok(3));
        assert_eq!(body(Version::V3, &packets), b"6:4hello10:b4AQIDBA==");
        assert_eq!(
            units(Version::V3, b"6:4hello10:b4AQIDBA=="),
            Ok(vec!["4hello".into(), "[1, 2, 3, 4]".into()])
        );
        assert_eq!((body(Version::V4, b""), body(Version::V3, b"")), (vec![], vec![]));
    }

    #[test]
    fn portions_are_of_whole_packets() {
        let mut packets = Vec::new();
        for n in 0..4 {
            push_text(&mut packets, &[b"4", &[b'x'; 91], n.to_string().as_bytes()]);
        }
        assert_eq!(packets.len(), 4 * 94);
        for (bytes_max, expected) in
            [(0, 1), (101, 1), (201, 1), (202, 2), (403, 3), (404, 4), (usize::MAX, 4)]
        {
            assert_eq!(portion(&packets, bytes_max), expected * 94, "{bytes_max}");
        }
        assert_eq!(portion(b"", 10), 0);
    }

    #[test]
    fn lengths_are_in_units_of_utf_16() {
        let mut packets = Vec::new();
        push_text(&mut packets, &["4€😀é".as_bytes()]);
        push_text(&mut packets, &[b"2"]);
        assert_eq!(body(Version::V3, &packets), "5:4€😀é1:2".as_bytes());
        assert_eq!(units(Version::V3, "5:4€😀é1:2".as_bytes()), Ok(vec!["4€😀é".into(), "2".into()]));
        assert_eq!(units(Version::V3, "3:4€😀é1:2".as_bytes()), Err(Failure::BadMessage), "half a character");
    }

    #[test]
    fn invalid_bodies_are_refused() {
        for bad in [&b""[..], b"\x1e4a", b"4a\x1e", b"4a\x1e\x1e4b", b"b!", b"bAQI", b"4\xff"] {
            assert_eq!(units(Version::V4, bad), Err(Failure::BadMessage), "{}", bad.escape_ascii());
        }
        for bad in
            [&b""[..], b"4a", b":4a", b"0:", b"2:4", b"-1:4", b"+1:4", b"1:4x", b"99999999999:4", b"4:b4A!"]
        {
            assert_eq!(units(Version::V3, bad), Err(Failure::BadMessage), "{}", bad.escape_ascii());
        }
    }
}
