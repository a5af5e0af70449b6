//! JSON looked into, not checked: for one word of a message that is ours anyway, at the price of the bytes
//! before it.

use super::string_end;

/// A walk over JSON that understands strings and nesting, and nothing else.
pub struct Scan<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Scan<'a> {
    /// A walk from the start.
    #[inline]
    pub fn new(bytes: &'a [u8]) -> Scan<'a> {
        Scan { bytes, at: 0 }
    }

    /// The position of the walk: all before it is consumed.
    #[inline]
    pub fn at(&self) -> usize {
        self.at
    }

    /// The byte after blanks; not consumed.
    #[inline]
    pub fn peek(&mut self) -> Option<u8> {
        while matches!(self.bytes.get(self.at), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.at += 1;
        }
        self.bytes.get(self.at).copied()
    }

    /// Past this one byte, which comes next but for blanks.
    #[inline]
    pub fn token(&mut self, token: u8) -> Option<()> {
        (self.peek()? == token).then(|| self.at += 1)
    }

    /// A string, without its quotes and with its escapes as they are.
    #[inline]
    pub fn string(&mut self) -> Option<&'a [u8]> {
        self.token(b'"')?;
        let (start, end) = (self.at, string_end(self.bytes, self.at)?);
        self.at = end + 1;
        Some(&self.bytes[start..end])
    }

    /// A word that is neither string, object nor array; empty if none comes next.
    #[inline]
    pub fn word(&mut self) -> &'a [u8] {
        let rest = &self.bytes[self.at..];
        let is_end =
            |b: &u8| matches!(b, b',' | b']' | b'}' | b'{' | b'[' | b'"' | b':') || b.is_ascii_whitespace();
        let word = &rest[..rest.iter().position(is_end).unwrap_or(rest.len())];
        self.at += word.len();
        word
    }

    /// Reads one value, and gives it as it is written.
    pub fn value(&mut self) -> Option<&'a [u8]> {
        self.peek()?;
        let (start, mut depth) = (self.at, 0usize);
        loop {
            match self.peek()? {
                b'"' => _ = self.string()?,
                b'{' | b'[' => (depth, self.at) = (depth + 1, self.at + 1),
                b'}' | b']' => (depth, self.at) = (depth.checked_sub(1)?, self.at + 1),
                b',' | b':' if depth > 0 => self.at += 1,
                _ => _ = Some(self.word()).filter(|word| !word.is_empty())?,
            }
            if depth == 0 {
                return Some(&self.bytes[start..self.at]);
            }
        }
    }

    /// Past one value: up to the comma or brace that ends it.
    pub fn skip_value(&mut self) -> Option<()> {
        let mut depth = 0usize;
        loop {
            match self.peek()? {
                b'"' => {
                    self.string()?;
                    continue;
                }
                b'{' | b'[' => depth += 1,
                b',' if depth == 0 => return Some(()),
                b'}' | b']' => depth = depth.checked_sub(1)?,
                _ => {}
            }
            self.at += 1;
        }
    }
}
