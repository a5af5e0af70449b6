//! Text of others, in which secrets may be quoted: what a server answers, what a parser of command lines complains of.

use std::borrow::Cow;

use memchr::memmem;

use crate::{HIDDEN, Secret};

/// Shorter ones are left where they are: no secret that is worth the name is shorter (NIST SP 800-63B §5.1.1.2 asks for
/// eight characters), and `throng` for a password would take the program's name out of all it says.
pub const SCRUBBED_BYTES_MIN: usize = 8;

/// The text with `***` for each of the secrets in it.
pub fn scrub<'a>(text: &'a str, secrets: &[Secret]) -> Cow<'a, str> {
    let mut text = Cow::Borrowed(text);
    for secret in longest_first(secrets) {
        if text.contains(secret) {
            text = text.replace(secret, HIDDEN).into();
        }
    }
    text
}

/// The same of bytes as they came.
pub fn scrub_bytes<'a>(bytes: &'a [u8], secrets: &[Secret]) -> Cow<'a, [u8]> {
    let mut bytes = Cow::Borrowed(bytes);
    for secret in longest_first(secrets) {
        let found: Vec<usize> = memmem::find_iter(&bytes, secret).collect();
        if found.is_empty() {
            continue;
        }
        let (mut shown, mut from) = (Vec::with_capacity(bytes.len()), 0);
        for at in found {
            shown.extend_from_slice(&bytes[from..at]);
            shown.extend_from_slice(HIDDEN.as_bytes());
            from = at + secret.len();
        }
        shown.extend_from_slice(&bytes[from..]);
        bytes = shown.into();
    }
    bytes
}

/// One may be part of another, which would then no longer be found.
fn longest_first(secrets: &[Secret]) -> Vec<&str> {
    let mut secrets: Vec<&str> = secrets.iter().map(Secret::reveal).collect();
    secrets.retain(|secret| secret.len() >= SCRUBBED_BYTES_MIN);
    secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
    secrets
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoted_secrets_are_taken_out() {
        let secrets = ["open sesame", "user:open sesame", "short"].map(Secret::from);
        let said = "no entry with user:open sesame, nor open sesame; short stays";
        let shown = "no entry with ***, nor ***; short stays";
        assert_eq!(scrub(said, &secrets), shown);
        assert_eq!(scrub_bytes(said.as_bytes(), &secrets), shown.as_bytes());
        assert!(matches!(scrub("nothing", &secrets), Cow::Borrowed(_)));
        assert!(matches!(scrub_bytes(b"nothing", &secrets), Cow::Borrowed(_)));
    }
}
