//! The Huffman code of HPACK (RFC 7541 §5.2, appendix B).
//!
//! The code is canonical: codes of the same length follow each other in the order of their symbols, and
//! shorter ones come first. So the lengths are all there is to know of it.

use super::integer::BadBlock;

/// The symbol that stands for the end, and does not occur within a text.
const END: u16 = 256;
const BITS_MAX: usize = 30;
/// Most symbols that occur have no longer code: one look finds these.
const QUICK_BITS: usize = 8;

/// How many bits each symbol has.
#[rustfmt::skip]
const LENGTHS: [u8; END as usize + 1] = [
    13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 28,
    6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6, 5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10,
    13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6,
    15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5, 6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28,
    20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23, 24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24,
    22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23, 21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23,
    26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25, 19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27,
    20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23, 26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26,
    30,
];

/// The code, made of the lengths.
struct Code {
    /// All symbols, in the order of their codes.
    symbols: [u16; LENGTHS.len()],
    /// For each length: the first code beyond those that have it, the first that has it, and where its symbol
    /// is.
    levels: [Level; BITS_MAX + 1],
    /// For each beginning of `QUICK_BITS` bits, the symbol whose code it begins with, and the length of the
    /// code; 0 if the code is longer.
    quick: [(u8, u8); 1 << QUICK_BITS],
}

#[derive(Clone, Copy)]
struct Level {
    end: u32,
    first: u32,
    at: usize,
}

static CODE: Code = Code::new();

impl Code {
    const fn new() -> Code {
        let mut code = Code {
            symbols: [0; LENGTHS.len()],
            levels: [Level { end: 0, first: 0, at: 0 }; BITS_MAX + 1],
            quick: [(0, 0); 1 << QUICK_BITS],
        };
        let (mut next, mut at, mut bits) = (0, 0, 1);
        while bits <= BITS_MAX {
            // Canonical: the first code of a length is that behind the last of the length before, one bit
            // longer.
            next <<= 1;
            code.levels[bits] = Level { end: next, first: next, at };
            let mut symbol = 0;
            while symbol < LENGTHS.len() {
                if LENGTHS[symbol] as usize == bits {
                    code.symbols[at] = symbol as u16;
                    let mut behind = 0;
                    // A short code stands under all beginnings that continue it.
                    while bits <= QUICK_BITS && behind < 1 << (QUICK_BITS - bits) {
                        let beginning = ((next as usize) << (QUICK_BITS - bits)) + behind;
                        code.quick[beginning] = (symbol as u8, bits as u8);
                        behind += 1;
                    }
                    (next, at) = (next + 1, at + 1);
                }
                symbol += 1;
            }
            code.levels[bits].end = next;
            bits += 1;
        }
        code
    }

    /// The symbol with which these bits begin, and how many of them are its code.
    fn find(&self, bits: u32) -> (u16, u32) {
        // Codes of one length are consecutive numbers, and shorter codes lie below: the end alone decides.
        for length in QUICK_BITS + 1..=BITS_MAX {
            let Level { end, first, at } = self.levels[length];
            let code = bits >> (u32::BITS - length as u32);
            if code < end {
                return (self.symbols[at + (code - first) as usize], length as u32);
            }
        }
        (END, BITS_MAX as u32)
    }
}

/// Appends the text that these bytes are the code of.
pub(super) fn decode(mut bytes: &[u8], text: &mut Vec<u8>) -> Result<(), BadBlock> {
    // The bits that are in but not looked at stand at the upper end.
    let (mut bits, mut count) = (0_u64, 0_u32);
    loop {
        while count <= u64::BITS - 8
            && let Some((&byte, rest)) = bytes.split_first()
        {
            bits |= u64::from(byte) << (u64::BITS - 8 - count);
            (bytes, count) = (rest, count + 8);
        }
        let (symbol, length) = match CODE.quick[(bits >> (u64::BITS - QUICK_BITS as u32)) as usize] {
            (_, 0) => CODE.find((bits >> u32::BITS) as u32),
            (symbol, length) => (u16::from(symbol), u32::from(length)),
        };
        // Zeros fill up what is not there, so a code that is cut short is found as some longer one.
        if length > count {
            // What is left fills the last byte, with the beginning of the end's code: ones.
            // A whole byte of padding, or one of other bits, is an error (RFC 7541 §5.2).
            let is_filling = count < 8 && bits.leading_ones() >= count;
            return if is_filling { Ok(()) } else { Err(BadBlock) };
        }
        if symbol == END {
            return Err(BadBlock);
        }
        // Symbols but the end are bytes.
        text.push(symbol as u8);
        bits <<= length;
        count -= length;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(bytes: &[u8]) -> Result<String, BadBlock> {
        let mut text = Vec::new();
        decode(bytes, &mut text).map(|()| String::from_utf8_lossy(&text).into_owned())
    }

    #[test]
    fn the_examples_of_the_standard() {
        // RFC 7541, appendix C.4 and C.6.
        for (bytes, text) in [
            (&b"\xf1\xe3\xc2\xe5\xf2\x3a\x6b\xa0\xab\x90\xf4\xff"[..], "www.example.com"),
            (b"\xa8\xeb\x10\x64\x9c\xbf", "no-cache"),
            (b"\x25\xa8\x49\xe9\x5b\xa9\x7d\x7f", "custom-key"),
            (b"\x25\xa8\x49\xe9\x5b\xb8\xe8\xb4\xbf", "custom-value"),
            (b"\x64\x02", "302"),
            (
                b"\xd0\x7a\xbe\x94\x10\x54\xd4\x44\xa8\x20\x05\x95\x04\x0b\x81\x66\xe0\x82\xa6\x2d\x1b\xff",
                "Mon, 21 Oct 2013 20:13:21 GMT",
            ),
            (b"", ""),
        ] {
            assert_eq!(decoded(bytes).as_deref(), Ok(text));
        }
    }

    #[test]
    fn codes_of_every_kind_are_found() {
        // Lines of appendix B: short and long codes, the first and the last of their length, and the end's
        // own.
        for (code, bits, symbol) in [
            (0x0, 5, u16::from(b'0')),
            (0x14, 6, u16::from(b' ')),
            (0xfc, 8, u16::from(b'X')),
            (0x1ff8, 13, 0),
            (0x7fff0, 19, u16::from(b'\\')),
            (0x007f_ffd8, 23, 1),
            (0x0fff_ffe2, 28, 2),
            (0x3fff_fffc, 30, 10),
            (0x3fff_ffff, 30, END),
        ] {
            let beginning: u32 = code << (u32::BITS - bits);
            let found = match CODE.quick[(beginning >> (u32::BITS - QUICK_BITS as u32)) as usize] {
                (_, 0) => CODE.find(beginning),
                (symbol, bits) => (u16::from(symbol), u32::from(bits)),
            };
            assert_eq!(found, (symbol, bits), "{code:x}");
        }
        let codes: u64 = LENGTHS.iter().map(|&bits| 1 << (32 - u32::from(bits))).sum();
        assert_eq!(codes, 1 << 32, "every sequence of bits is one of codes");
    }

    #[test]
    fn padding_is_ones_below_a_byte() {
        // "0" is five zeros.
        assert_eq!(decoded(b"\x07").as_deref(), Ok("0"));
        for bad in [&b"\x06"[..], b"\x00", b"\x07\xff", b"\xff", b"\xff\xff\xff\xff", b"\x3f\xff\xff\xff\xfc"]
        {
            assert_eq!(decoded(bad), Err(BadBlock), "{}", bad.escape_ascii());
        }
    }
}
