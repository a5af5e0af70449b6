//! A walk through a JSON text that checks every character. No recursion and no allocation, whatever the
//! depth: the kinds of the open containers are the bits of one number.

/// The deepest nesting accepted. Ruby's parser has the same `max_nesting`.
pub(super) const DEPTH_MAX: u32 = 100;

/// A place in a text.
pub(super) struct Walk<'a> {
    pub(super) text: &'a [u8],
    pub(super) at: usize,
}

impl<'a> Walk<'a> {
    /// The whole text: blanks, an opening bracket, what `item` takes off, with commas between, and the
    /// closing one.
    pub(super) fn items(
        &mut self,
        open: u8,
        close: u8,
        mut item: impl FnMut(&mut Walk<'a>) -> Option<()>,
    ) -> Option<()> {
        self.token(open)?;
        if self.peek()? == close {
            self.at += 1;
        } else {
            loop {
                item(self)?;
                match self.next()? {
                    b',' => {}
                    byte if byte == close => break,
                    _ => return None,
                }
            }
        }
        self.skip_blanks();
        (self.at == self.text.len()).then_some(())
    }

    /// Past one value inside `depth` containers.
    pub(super) fn value(&mut self, outer: u32) -> Option<&'a [u8]> {
        self.skip_blanks();
        let start = self.at;
        // The kinds of the open containers, the innermost last: 1 is an object.
        let (mut kinds, mut depth) = (0u128, outer);
        loop {
            let opened = match self.next()? {
                b'{' => Some((1, b'}')),
                b'[' => Some((0, b']')),
                b'"' => self.string().map(|_| None)?,
                first => self.scalar(first).map(|()| None)?,
            };
            if let Some((kind, close)) = opened {
                (kinds, depth) = (kinds << 1 | kind, depth + 1);
                if depth > DEPTH_MAX {
                    return None;
                }
                if self.peek()? != close {
                    if kind == 1 {
                        self.key()?;
                    }
                    continue;
                }
            }
            // A value has ended; with it may end any number of the containers around it.
            while depth > outer {
                match (self.next()?, kinds & 1) {
                    (b',', 1) => {
                        self.key()?;
                        break;
                    }
                    (b',', 0) => break,
                    (b'}', 1) | (b']', 0) => (kinds, depth) = (kinds >> 1, depth - 1),
                    _ => return None,
                }
            }
            if depth == outer {
                return Some(&self.text[start..self.at]);
            }
        }
    }

    /// Past a key and its colon.
    #[inline]
    pub(super) fn key(&mut self) -> Option<&'a [u8]> {
        self.token(b'"')?;
        let key = self.string()?;
        self.token(b':')?;
        Some(key)
    }

    /// Past the rest of a string whose opening mark has been read: its inside.
    fn string(&mut self) -> Option<&'a [u8]> {
        let start = self.at;
        loop {
            let rest = &self.text[self.at..];
            let length = memchr::memchr2(b'"', b'\\', rest)?;
            // Control characters have to be escaped (RFC 8259 §7).
            if rest[..length].iter().any(|&byte| byte < b' ') {
                return None;
            }
            self.at += length + 1;
            if rest[length] == b'"' {
                return Some(&self.text[start..self.at - 1]);
            }
            let escape = *self.text.get(self.at)?;
            self.at += 1;
            match escape {
                b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => {}
                b'u' => {
                    let digits = self.text.get(self.at..self.at + 4)?;
                    if !digits.iter().all(u8::is_ascii_hexdigit) {
                        return None;
                    }
                    self.at += 4;
                }
                _ => return None,
            }
        }
    }

    /// Past the rest of a number or a word.
    fn scalar(&mut self, first: u8) -> Option<()> {
        let word: &[u8] = match first {
            b't' => b"rue",
            b'f' => b"alse",
            b'n' => b"ull",
            _ => {
                self.at -= 1;
                return self.number();
            }
        };
        let found = self.text[self.at..].starts_with(word);
        self.at += word.len();
        found.then_some(())
    }

    fn number(&mut self) -> Option<()> {
        self.skip_any(b"-");
        match self.text.get(self.at)? {
            b'0' => self.at += 1,
            _ => self.digits()?,
        }
        if self.skip_any(b".") {
            self.digits()?;
        }
        if self.skip_any(b"eE") {
            self.skip_any(b"+-");
            self.digits()?;
        }
        Some(())
    }

    fn digits(&mut self) -> Option<()> {
        let count = self.text[self.at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        self.at += count;
        (count > 0).then_some(())
    }

    /// Past one byte if it is one of these.
    fn skip_any(&mut self, bytes: &[u8]) -> bool {
        let found = self.text.get(self.at).is_some_and(|byte| bytes.contains(byte));
        self.at += usize::from(found);
        found
    }

    #[inline]
    pub(super) fn skip_blanks(&mut self) {
        while matches!(self.text.get(self.at), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.at += 1;
        }
    }

    /// The byte after blanks; not consumed.
    fn peek(&mut self) -> Option<u8> {
        self.skip_blanks();
        self.text.get(self.at).copied()
    }

    fn next(&mut self) -> Option<u8> {
        let byte = self.peek()?;
        self.at += 1;
        Some(byte)
    }

    fn token(&mut self, expected: u8) -> Option<()> {
        (self.next()? == expected).then_some(())
    }
}
