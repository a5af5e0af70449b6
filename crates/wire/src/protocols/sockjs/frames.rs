//! The strings of an array, as they are written in it, and back.

use std::ops::Range;

use codec::json;

use crate::failure::Failure;

/// Finds the strings of a JSON array of strings, in order; an error where there is anything else. The escapes
/// in the strings are not checked.
#[derive(Default)]
pub(crate) struct Strings {
    at: usize,
    state: State,
}

#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum State {
    #[default]
    Start,
    Within,
    Over,
}

impl Strings {
    /// The range of the next string, without its marks; `None` behind the last. `array` is the same each
    /// time.
    pub(crate) fn next(&mut self, array: &[u8]) -> Result<Option<Range<usize>>, Failure> {
        match self.state {
            State::Over => return Ok(None),
            State::Start => {
                self.expect(array, b'[')?;
                if self.peek(array) == Some(b']') {
                    return self.end(array);
                }
            }
            State::Within => match self.peek(array) {
                Some(b',') => self.at += 1,
                _ => return self.end(array),
            },
        }
        self.state = State::Within;
        self.expect(array, b'"')?;
        // Whatever is escaped in it: all that has to be known is where it ends.
        let string = self.at..json::string_end(array, self.at).ok_or(Failure::BadMessage)?;
        self.at = string.end + 1;
        Ok(Some(string))
    }

    /// Checks that nothing follows the array.
    fn end(&mut self, array: &[u8]) -> Result<Option<Range<usize>>, Failure> {
        self.expect(array, b']')?;
        self.state = State::Over;
        if self.peek(array).is_none() { Ok(None) } else { Err(Failure::BadMessage) }
    }

    fn expect(&mut self, array: &[u8], byte: u8) -> Result<(), Failure> {
        if self.peek(array) != Some(byte) {
            return Err(Failure::BadMessage);
        }
        self.at += 1;
        Ok(())
    }

    /// The byte after blanks.
    fn peek(&mut self, array: &[u8]) -> Option<u8> {
        while matches!(array.get(self.at), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.at += 1;
        }
        array.get(self.at).copied()
    }
}

/// Judges what is in a string (RFC 8259 §7): escapes there are, and no control characters.
pub(crate) fn check(string: &[u8]) -> Result<(), Failure> {
    if string.iter().any(|&b| b < 0x20) {
        return Err(Failure::BadMessage);
    }
    let mut rest = string;
    while let Some(at) = memchr::memchr(b'\\', rest) {
        let (&escape, mut after) = rest[at + 1..].split_first().ok_or(Failure::BadMessage)?;
        match escape {
            b'u' => drop(take_hex(&mut after)?),
            b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => {}
            _ => return Err(Failure::BadMessage),
        }
        rest = after;
    }
    Ok(())
}

/// Returns whether a string holds characters that browsers mangle on some transport.
pub(crate) fn has_mangled(string: &[u8]) -> bool {
    // The first bytes of all of them in UTF-8: most texts have neither, and are searched once.
    memchr::memchr2_iter(0xe2, 0xef, string).any(|at| mangled(&string[at..]).is_some())
}

/// Appends a string with what browsers mangle escaped.
pub(crate) fn escape_mangled(out: &mut Vec<u8>, string: &[u8]) {
    let mut rest = string;
    while let Some(at) = memchr::memchr2(0xe2, 0xef, rest) {
        out.extend_from_slice(&rest[..at]);
        rest = &rest[at..];
        let taken = match mangled(rest) {
            Some(code) => {
                out.extend_from_slice(format!("\\u{code:04x}").as_bytes());
                3
            }
            None => {
                out.push(rest[0]);
                1
            }
        };
        rest = &rest[taken..];
    }
    out.extend_from_slice(rest);
}

/// The character at the start, if it is one that the protocol document has servers escape, beyond ASCII:
/// U+200C–200F, 2028–202F, 2060–206F, FFF0–FFFF.
fn mangled(bytes: &[u8]) -> Option<u32> {
    let &[a @ (0xe2 | 0xef), b, c] = bytes.first_chunk::<3>()? else { return None };
    let code = u32::from(a & 15) << 12 | u32::from(b & 63) << 6 | u32::from(c & 63);
    matches!(code, 0x200c..=0x200f | 0x2028..=0x202f | 0x2060..=0x206f | 0xfff0..=0xffff).then_some(code)
}

/// Appends the text that a JSON string stands for. Surrogates without their other half, which no text can
/// hold, become U+FFFD.
pub(crate) fn unescape(out: &mut Vec<u8>, string: &[u8]) -> Result<(), Failure> {
    out.reserve(string.len());
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
