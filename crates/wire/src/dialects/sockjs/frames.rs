//! The strings of an array, as they are written in it, and back.

use crate::failure::Failure;

/// The strings of a JSON array, still escaped, in order; an error where there is anything else. Whether what is in
/// the strings is well escaped is not looked at.
pub(crate) struct Strings<'a> {
    array: &'a [u8],
    at: usize,
    state: State,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Start,
    Within,
    Over,
}

impl<'a> Strings<'a> {
    pub(crate) fn new(array: &'a [u8]) -> Strings<'a> {
        Strings { array, at: 0, state: State::Start }
    }

    fn advance(&mut self) -> Result<Option<&'a [u8]>, Failure> {
        if self.state == State::Start {
            self.expect(b'[')?;
            if self.peek() == Some(b']') {
                return self.end();
            }
        } else {
            match self.peek() {
                Some(b',') => self.at += 1,
                _ => return self.end(),
            }
        }
        self.state = State::Within;
        self.expect(b'"')?;
        let end = string_end(self.array, self.at).ok_or(Failure::BadMessage)?;
        let string = &self.array[self.at..end];
        self.at = end + 1;
        Ok(Some(string))
    }

    /// Nothing may follow the array.
    fn end(&mut self) -> Result<Option<&'a [u8]>, Failure> {
        self.expect(b']')?;
        self.state = State::Over;
        if self.peek().is_none() { Ok(None) } else { Err(Failure::BadMessage) }
    }

    fn expect(&mut self, byte: u8) -> Result<(), Failure> {
        if self.peek() != Some(byte) {
            return Err(Failure::BadMessage);
        }
        self.at += 1;
        Ok(())
    }

    /// The byte after blanks.
    fn peek(&mut self) -> Option<u8> {
        while matches!(self.array.get(self.at), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.at += 1;
        }
        self.array.get(self.at).copied()
    }
}

impl<'a> Iterator for Strings<'a> {
    type Item = Result<&'a [u8], Failure>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.state == State::Over {
            return None;
        }
        let next = self.advance();
        if next.is_err() {
            self.state = State::Over;
        }
        next.transpose()
    }
}

/// Where the string that starts at `at`, behind its mark, ends: at its other mark.
pub(crate) fn string_end(bytes: &[u8], mut at: usize) -> Option<usize> {
    loop {
        at += memchr::memchr2(b'"', b'\\', bytes.get(at..)?)?;
        if bytes[at] == b'"' {
            return Some(at);
        }
        at += 2;
    }
}

/// Appends text as it is written in a JSON string.
pub(crate) fn escape(out: &mut Vec<u8>, text: &[u8]) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    out.reserve(text.len() + text.len() / 8);
    for &byte in text {
        match byte {
            b'"' | b'\\' => out.extend_from_slice(&[b'\\', byte]),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            0..=0x1f => {
                let digits = [HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]];
                out.extend_from_slice(b"\\u00");
                out.extend_from_slice(&digits);
            }
            _ => out.push(byte),
        }
    }
}

/// Appends the text that a JSON string stands for. Surrogates without their other half, which no text can hold,
/// become U+FFFD.
pub(crate) fn unescape(out: &mut Vec<u8>, string: &[u8]) -> Result<(), Failure> {
    let mut rest = string;
    while let Some(at) = memchr::memchr(b'\\', rest) {
        out.extend_from_slice(&rest[..at]);
        let (&escape, after) = rest[at + 1..].split_first().ok_or(Failure::BadMessage)?;
        rest = after;
        let byte = match escape {
            b'"' | b'\\' | b'/' => escape,
            b'b' => 8,
            b't' => b'\t',
            b'n' => b'\n',
            b'f' => 12,
            b'r' => b'\r',
            b'u' => {
                let character = take_unicode(&mut rest)?;
                out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
                continue;
            }
            _ => return Err(Failure::BadMessage),
        };
        out.push(byte);
    }
    out.extend_from_slice(rest);
    Ok(())
}

/// The character behind `\u`: four digits, or two times four with `\u` between for what lies beyond U+FFFF.
fn take_unicode(rest: &mut &[u8]) -> Result<char, Failure> {
    let high = take_hex(rest)?;
    if !(0xd800..0xdc00).contains(&high) {
        return Ok(char::from_u32(high).unwrap_or(char::REPLACEMENT_CHARACTER));
    }
    let Some(mut after) = rest.strip_prefix(b"\\u") else { return Ok(char::REPLACEMENT_CHARACTER) };
    let low = take_hex(&mut after)?;
    if !(0xdc00..0xe000).contains(&low) {
        return Ok(char::REPLACEMENT_CHARACTER);
    }
    *rest = after;
    let code = 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
    Ok(char::from_u32(code).expect("a pair of surrogates is a character"))
}

fn take_hex(rest: &mut &[u8]) -> Result<u32, Failure> {
    let (digits, after) = rest.split_first_chunk::<4>().ok_or(Failure::BadMessage)?;
    *rest = after;
    digits.iter().try_fold(0, |value, &digit| {
        let digit = char::from(digit).to_digit(16).ok_or(Failure::BadMessage)?;
        Ok(value << 4 | digit)
    })
}
