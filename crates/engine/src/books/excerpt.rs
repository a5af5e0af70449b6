//! Excerpts of a server's messages, as far as a person can read them: for the example of an error.

/// The most characters shown.
const CHARS_MAX: usize = 120;
/// The first byte of a text and of a close frame: FIN and the opcode (RFC 6455 §5.2).
const TEXT: u8 = 0x81;
const CLOSE: u8 = 0x88;

/// The text in bytes as they came: the payloads of unmasked text frames and the reasons of close frames, one
/// after the other, or else the bytes themselves. Empty if nothing can be read.
pub(crate) fn excerpt(mut bytes: &[u8]) -> String {
    // What came right behind the head of an upgrade, or the body behind a good one.
    let behind = bytes.windows(4).position(|four| four == b"\r\n\r\n").map(|head| &bytes[head + 4..]);
    if let Some(behind) = behind.filter(|behind| match bytes.starts_with(b"HTTP/1.1 2") {
        true => !behind.is_empty(),
        false => bytes.starts_with(b"HTTP/1.1 101 "),
    }) {
        bytes = behind;
    }
    let mut said = Vec::new();
    // Frames first: read as text, their binary heads would stand between the words.
    while let Some((payload, rest)) = text_frame(bytes) {
        said.push(String::from_utf8_lossy(payload));
        bytes = rest;
    }
    if said.is_empty() {
        said.push(String::from_utf8_lossy(bytes));
    }
    let is_readable = |c: &char| stats::is_shown(*c) && *c != char::REPLACEMENT_CHARACTER;
    // A blank for each line's end: fields of a head would run together.
    let text =
        said.join(" ").split(['\r', '\n']).filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ");
    text.chars().filter(is_readable).take(CHARS_MAX).collect()
}

/// The text of a text or close frame, as far as it is there, and what follows.
fn text_frame(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    // A server does not mask (RFC 6455 §5.1), so the top bit of the length is clear.
    let (&[first @ (TEXT | CLOSE), short], rest) = bytes.split_first_chunk()? else { return None };
    let (length, rest) = match short {
        ..126 => (u64::from(short), rest),
        126 => rest.split_first_chunk().map(|(length, rest)| (u16::from_be_bytes(*length).into(), rest))?,
        127 => rest.split_first_chunk().map(|(length, rest)| (u64::from_be_bytes(*length), rest))?,
        _ => return None,
    };
    let length = usize::try_from(length).unwrap_or(usize::MAX).min(rest.len());
    let (payload, rest) = rest.split_at(length);
    // A reason stands behind a code of two bytes (§5.5.1).
    let text = if first == CLOSE { payload.get(2..).unwrap_or_default() } else { payload };
    Some((text, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_parsed_and_rest_is_shown() {
        let frames = b"\x81\x12{\"type\":\"welcome\"}\x81\x02{}\x81\x7e\x01\x00cut";
        assert_eq!(excerpt(frames), r#"{"type":"welcome"} {} cut"#);
        assert_eq!(excerpt(b"HTTP/1.1 200 OK\r\n"), "HTTP/1.1 200 OK");
        assert_eq!(excerpt(b"HTTP/1.1 404\r\nA: b\r\n\r\n"), "HTTP/1.1 404 A: b");
        assert_eq!(excerpt(b"HTTP/1.1 200 OK\r\nServer: s\r\n\r\n{}\n"), "{}");
        assert_eq!(excerpt(b"HTTP/1.1 200\r\nA: b\r\n\r\n"), "HTTP/1.1 200 A: b");
        assert_eq!(excerpt(b"HTTP/1.1 101 Switching Protocols\r\n\r\n\x81\x02hi"), "hi");
        assert_eq!(excerpt(b"\x81\x02{}\x88\x06\x11\x33gone"), "{} gone");
        assert_eq!([b"\x88\x02\x03\xe8".as_slice(), b"\x88\x00"].map(excerpt), ["", ""]);
        assert_eq!(excerpt(b"\x82\x02\x00\x01"), "");
        assert_eq!(excerpt(&[b'a'; 500]).len(), CHARS_MAX);
        assert_eq!(excerpt(b"\x81\x7f\xff\xff\xff\xff\xff\xff\xff\xffx"), "x");
        assert_eq!(excerpt(b"\x81\x7e\x01"), "~");
        assert_eq!(excerpt("a\u{202e}\u{1b}[31mb\u{2066}".as_bytes()), "a[31mb");
    }
}
