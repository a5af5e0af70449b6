//! UTF-8 validation of a text that arrives in pieces (RFC 6455 §8.1).
//!
//! Fails on the first byte that cannot be part of any valid text, not at the end of the piece, frame or
//! message: what Autobahn calls fail-fast (cases 6.4.x).

/// The text is not UTF-8.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BadUtf8;

/// Validates a text piece by piece; holds at most the three bytes of an unfinished character.
#[derive(Clone, Copy, Debug, Default)]
pub struct Validator {
    tail: [u8; 4],
    held: u8,
}

impl Validator {
    /// Takes the next piece.
    pub fn push(&mut self, mut piece: &[u8]) -> Result<(), BadUtf8> {
        while self.held > 0 {
            let Some((&byte, rest)) = piece.split_first() else { return Ok(()) };
            piece = rest;
            self.tail[usize::from(self.held)] = byte;
            self.held += 1;
            match std::str::from_utf8(&self.tail[..usize::from(self.held)]) {
                Ok(_) => self.held = 0,
                Err(e) if e.error_len().is_some() => return Err(BadUtf8),
                Err(_) => {}
            }
        }
        match simdutf8::compat::from_utf8(piece) {
            Ok(_) => Ok(()),
            Err(e) if e.error_len().is_some() => Err(BadUtf8),
            Err(e) => {
                let tail = &piece[e.valid_up_to()..];
                self.tail[..tail.len()].copy_from_slice(tail);
                self.held = tail.len() as u8;
                Ok(())
            }
        }
    }

    /// The text is over: it must not end inside a character.
    pub fn finish(self) -> Result<(), BadUtf8> {
        if self.held == 0 { Ok(()) } else { Err(BadUtf8) }
    }
}

/// Validates a whole text. Most is ASCII, which is told sooner.
#[inline]
pub fn check(text: &[u8]) -> Result<(), BadUtf8> {
    if text.is_ascii() {
        return Ok(());
    }
    simdutf8::basic::from_utf8(text).map(|_| ()).map_err(|_| BadUtf8)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many bytes go in before the validator objects.
    fn accepted(text: &[u8]) -> usize {
        let mut v = Validator::default();
        text.iter().take_while(|b| v.push(std::slice::from_ref(b)).is_ok()).count()
    }

    #[test]
    fn fails_on_the_first_impossible_byte() {
        for (text, ok) in [
            (&b"\xce\xba\xe1\xbd\xb9\xed\xa0\x80"[..], 6), // a surrogate: known by its second byte
            (b"\xf4\x90\x80\x80", 1),                      // above U+10FFFF
            (b"\xf0\x80", 1),                              // overlong
            (b"\xe0\x80\xaf", 1),
            (b"\xc0\xaf", 0),
            (b"a\xff", 1),
            (b"\x80", 0),
            (b"\xe2\x82a", 2),
        ] {
            assert_eq!(accepted(text), ok, "{text:x?}");
            assert!(check(text).is_err(), "{text:x?}");
        }
    }

    #[test]
    fn split_text_is_valid_and_truncated_is_not() {
        let text = "κόσμε €🎉 some-ascii-for-a-vector-or-two: 0123456789abcdef0123456789".as_bytes();
        for split in 0..=text.len() {
            let mut v = Validator::default();
            assert_eq!(v.push(&text[..split]), Ok(()));
            let at_boundary = std::str::from_utf8(&text[..split]).is_ok();
            assert_eq!(v.finish().is_ok(), at_boundary, "cut at {split}");
            assert_eq!(v.push(&text[split..]), Ok(()));
            assert_eq!(v.finish(), Ok(()));
        }
    }
}
