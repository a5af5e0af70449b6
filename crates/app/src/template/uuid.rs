//! UUIDs of version 4 in form (RFC 9562 §5.4), and those that stand for a measured message.

use codec::Stamp;

/// Bytes of one as text.
pub(super) const BYTES: usize = 36;
/// The ranges of its parts among its 32 digits.
const PARTS: [(usize, usize); 5] = [(0, 8), (8, 12), (12, 16), (16, 20), (20, 32)];
/// The start of the last digits, which say a number: behind everything that the form claims.
const NUMBER_AT: usize = BYTES - 8;

/// A UUID of these bits, with version and variant in their places.
pub(super) fn of_bits([high, low]: [u64; 2]) -> [u8; BYTES] {
    // Version 4, and the variant of RFC 9562 (§4.1): some servers refuse any other.
    let high = high & !0xf000 | 0x4000;
    let low = low & !(0b11 << 62) | 0b10 << 62;
    let mut digits = Vec::with_capacity(BYTES);
    extend_hex(&mut digits, &[high.to_be_bytes(), low.to_be_bytes()].concat());
    let mut text = [b'-'; BYTES];
    for (dashes, (start, end)) in PARTS.into_iter().enumerate() {
        text[start + dashes..end + dashes].copy_from_slice(&digits[start..end]);
    }
    text
}

/// The UUID of a message, by its stamp and its number on the connection: the number is its end, and the rest
/// follows from the stamp, so that it is the same wherever both are known.
pub fn of_message(stamp: &Stamp, number: u32) -> [u8; BYTES] {
    let sender = u64::from(stamp.run) << 48 | u64::from(stamp.worker) << 32 | u64::from(stamp.client);
    let seed = [sender, stamp.intended_ns, u64::from(stamp.seq)];
    of_bits([draw(seed, 1), draw(seed, 2) & !u64::from(u32::MAX) | u64::from(number)])
}

/// The number that a message's UUID ends with; `None`: this is no UUID. Servers may write its letters in
/// either case.
pub fn number(text: &str) -> Option<u32> {
    let is_uuid = text.len() == BYTES
        && text.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        });
    if is_uuid { u32::from_str_radix(&text[NUMBER_AT..], 16).ok() } else { None }
}

/// Bits that depend on a seed and a salt (SplitMix64's finalizer over each part).
pub(super) fn draw(seed: [u64; 3], salt: u64) -> u64 {
    seed.into_iter().fold(salt, |state, part| {
        let x = (state ^ part).wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ x >> 31
    })
}

pub(super) fn extend_hex(out: &mut Vec<u8>, bytes: &[u8]) {
    for byte in bytes {
        out.extend([byte >> 4, byte & 15].map(|digit| b"0123456789abcdef"[usize::from(digit)]));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_messages_uuid_ends_with_its_number() {
        let stamp = Stamp::new(7, 12, 5, 999, 999);
        for expected in [1, 17, u32::MAX] {
            let uuid = String::from_utf8(of_message(&stamp, expected).to_vec()).unwrap();
            assert!(uuid[14..].starts_with('4') && "89ab".contains(&uuid[19..20]), "{uuid}");
            assert_eq!(number(&uuid), Some(expected), "{uuid}");
            assert_eq!(number(&uuid.to_uppercase()), Some(expected));
            let other = of_message(&Stamp { client: 13, ..stamp }, expected);
            assert_ne!(uuid.as_bytes(), other, "another client's");
        }
        for text in ["", "17", &"0".repeat(36), "g0000000-0000-4000-8000-000000000000"] {
            assert_eq!(number(text), None, "{text}");
        }
    }
}
