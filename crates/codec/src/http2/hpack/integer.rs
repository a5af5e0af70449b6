//! Whole numbers (RFC 7541 §5.1): in what is left of a byte, or in as many more as it takes.

/// A block that cannot be decoded; nor can any that follows it on its connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BadBlock;

/// Bits that the first byte may have before and beside the number.
const BYTE_BITS: u32 = 8;

/// Takes a number off the input, whose first byte has `bits` bits for it.
pub(super) fn read(bits: u32, input: &mut &[u8]) -> Result<u32, BadBlock> {
    let most = (1_u32 << bits) - 1;
    let (&first, rest) = input.split_first().ok_or(BadBlock)?;
    *input = rest;
    // In 64 bits, which five bytes cannot overflow.
    let mut number = u64::from(u32::from(first) & most);
    if number < u64::from(most) {
        return Ok(number as u32);
    }
    // Five bytes hold any number of 32 bits: more bytes would be zeros that only cost time.
    for shift in [0, 7, 14, 21, 28] {
        let (&byte, rest) = input.split_first().ok_or(BadBlock)?;
        *input = rest;
        number += u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return u32::try_from(number).map_err(|_| BadBlock);
        }
    }
    Err(BadBlock)
}

/// Appends a number behind the `pattern` of its first byte, which leaves `bits` bits for it.
pub(super) fn write(pattern: u8, bits: u32, number: u32, out: &mut Vec<u8>) {
    debug_assert!((1..BYTE_BITS + 1).contains(&bits));
    let most = (1_u32 << bits) - 1;
    if number < most {
        return out.push(pattern | number as u8);
    }
    out.push(pattern | most as u8);
    // What the first byte says is taken off, and the rest goes out seven bits at a time, lowest first.
    let mut left = number - most;
    while left >= 0x80 {
        out.push(left as u8 | 0x80);
        left >>= 7;
    }
    out.push(left as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_examples_of_the_standard_both_ways() {
        // RFC 7541, appendix C.1.
        for (bits, number, bytes) in
            [(5, 10, &b"\x0a"[..]), (5, 1337, b"\x1f\x9a\x0a"), (8, 42, b"\x2a"), (7, 127, b"\x7f\x00")]
        {
            let mut out = Vec::new();
            write(0, bits, number, &mut out);
            assert_eq!(out, bytes);
            let behind = [bytes, b"rest"].concat();
            let mut input = &behind[..];
            assert_eq!((read(bits, &mut input), input), (Ok(number), &b"rest"[..]));
        }
    }

    #[test]
    fn truncated_or_large_integers_are_refused() {
        for bad in
            [&b""[..], b"\x1f", b"\x1f\x80", b"\x1f\xff\xff\xff\xff\x7f", b"\x1f\x80\x80\x80\x80\x80\x00"]
        {
            assert_eq!(read(5, &mut &bad[..]), Err(BadBlock), "{}", bad.escape_ascii());
        }
        let mut out = Vec::new();
        write(0x80, 7, u32::MAX, &mut out);
        assert_eq!(read(7, &mut &out[..]), Ok(u32::MAX));
    }
}
