//! Lengths as Protocol Buffers and SignalR write them (Protocol Buffers, "Base 128 Varints"): seven bits a
//! byte, the lowest first, and in each byte but the last the highest bit.

/// The most bytes of a length that is read: more than 28 bits are no length of a message.
pub const BYTES_MAX: usize = 4;

/// Appends one.
#[inline]
pub fn extend(out: &mut Vec<u8>, mut length: usize) {
    while length >= 0x80 {
        out.push(length as u8 | 0x80);
        length >>= 7;
    }
    out.push(length as u8);
}

/// Takes one off, and as many bytes as it says. `None` if they are not there.
#[inline]
pub fn take<'a>(bytes: &mut &'a [u8]) -> Option<&'a [u8]> {
    let end = bytes.iter().take(BYTES_MAX).position(|byte| byte & 0x80 == 0)?;
    let digits = bytes[..=end].iter().rev();
    let length = digits.fold(0, |length, byte| length << 7 | usize::from(byte & 0x7f));
    let (taken, rest) = bytes[end + 1..].split_at_checked(length)?;
    *bytes = rest;
    Some(taken)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delimited_messages_round_trip() {
        for length in [0, 1, 127, 128, 300, 16_383, 16_384] {
            let mut out = Vec::new();
            extend(&mut out, length);
            out.resize(out.len() + length + 2, b'x');
            let mut rest = &out[..];
            assert_eq!((take(&mut rest).map(<[u8]>::len), rest), (Some(length), &b"xx"[..]));
        }
        let mut out = Vec::new();
        extend(&mut out, 150);
        assert_eq!(out, [0x96, 0x01], "the documentation's own example");
        for mut cut in [&b""[..], b"\x80", b"\x02x", b"\xff\xff\xff\xff\x01"] {
            assert_eq!(take(&mut cut), None, "{cut:x?}");
        }
    }
}
