//! How a secret is shown where somebody will want to know whether it was the same as another's.

use std::fmt;

use sha2::{Digest, Sha256};

use crate::{Flags, HIDDEN, command, place};

/// Length of the key.
pub const KEY_BYTES: usize = 16;
/// Bytes of the hash that are shown. With so few of them a guess that fits is still one of a 65,536th of all
/// guesses, and two secrets look alike once in as many pairs.
const TAG_BYTES: usize = 2;

/// Shows secrets as `***` and four digits that tell two apart, as in `***3f2a`.
///
/// The digits are of a keyed hash: whoever sees them cannot try guesses, because the key stays with the user who made
/// it. Should that get out as well, what two bytes say of a weak password still leaves all others that have the same
/// two.
pub struct Mask {
    key: [u8; KEY_BYTES],
    flags: Flags,
}

impl fmt::Debug for Mask {
    /// Without its key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Who logs it must not log what makes guesses possible.
        f.write_str("Mask")
    }
}

impl Mask {
    /// Masks by this key, which must stay secret, and by the flags of the command lines to come.
    pub fn new(key: [u8; KEY_BYTES], flags: Flags) -> Self {
        Self { key, flags }
    }

    /// The shown form of a secret.
    pub fn of(&self, secret: &str) -> String {
        let hash = Sha256::new().chain_update(self.key).chain_update(secret).finalize();
        let tag = hash.iter().take(TAG_BYTES).map(|byte| format!("{byte:02x}"));
        tag.fold(HIDDEN.to_owned(), |shown, digits| shown + &digits)
    }

    /// A command line, fit to be recorded: what was asked for, without what lets a client in. `env:NAME` and
    /// `file:PATH` are no secrets.
    pub fn command(&self, words: impl IntoIterator<Item = String>) -> Vec<String> {
        command::hide(&self.flags, words, &mut |secret| self.of(secret))
    }

    /// A URL without user and password, and without the values of its query that are secrets.
    pub fn url(&self, text: &str) -> String {
        place::hide_in_url(text, &mut |secret| self.of(secret))
    }

    /// The same of a path with its query.
    pub fn place(&self, text: &str) -> String {
        place::hide_in_place(text, &mut |secret| self.of(secret))
    }
}

/// A mask without its digits: two command lines that are compared may have been recorded with different keys.
pub fn without_tags(text: &str) -> String {
    let mut pieces = text.split(HIDDEN);
    let first = pieces.next().unwrap_or_default().to_owned();
    pieces.fold(first, |shown, piece| {
        // Where the user has typed three asterisks, other text may follow.
        let is_tag = |tag: &str| tag.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        let digits = piece.get(..2 * TAG_BYTES).filter(|tag| is_tag(tag)).map_or(0, str::len);
        shown + HIDDEN + &piece[digits..]
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_depend_on_secret_and_key() {
        let mask = Mask::new([7; KEY_BYTES], Flags::default());
        let shown = mask.of("open sesame");
        assert!(shown.starts_with(HIDDEN) && shown.len() == HIDDEN.len() + 2 * TAG_BYTES, "{shown}");
        assert_eq!(shown, mask.of("open sesame"));
        assert_ne!(shown, mask.of("close sesame"));
        assert_ne!(shown, Mask::new([8; KEY_BYTES], Flags::default()).of("open sesame"));
        assert_eq!(without_tags(&format!("a={shown}&b={shown}")), "a=***&b=***");
        assert_eq!(without_tags("*** and ***xyz1 and ***"), "*** and ***xyz1 and ***");
    }
}
