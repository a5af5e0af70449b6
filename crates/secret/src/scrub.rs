//! Text of others, in which secrets may be quoted: what a server answers, what a parser of command lines complains of.

use std::borrow::Cow;
use std::ops::Range;

use memchr::memmem;

use crate::secret::{HIDDEN, Secret};

/// Shorter ones are left where they are: no secret that is worth the name is shorter (NIST SP 800-63B §5.1.1.2 asks for
/// eight characters), and `throng` for a password would take the program's name out of all it says.
pub const SCRUBBED_BYTES_MIN: usize = 8;

/// The text with `***` for each of the secrets in it, and for each JSON Web Token.
pub fn scrub<'a>(text: &'a str, secrets: &[Secret]) -> Cow<'a, str> {
    let mut text = Cow::Borrowed(text);
    // Anew after each: what stands in its place moves all behind it.
    while let Some(token) = jwt_in(text.as_bytes()) {
        text.to_mut().replace_range(token, HIDDEN);
    }
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
    while let Some(token) = jwt_in(&bytes) {
        bytes.to_mut().splice(token, HIDDEN.bytes());
    }
    for secret in longest_first(secrets) {
        let found: Vec<usize> = memmem::find_iter(&bytes, secret).collect();
        // Most answers quote none, and need no copy.
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

/// The length from which a random text is a key of some kind: session ids are longer (OWASP asks for 16 bytes of them).
const RANDOM_BYTES_MIN: usize = 16;

/// The bytes with `***` for whatever looks random: of clients that log in nobody knows any more what the
/// server has given them, and it may quote that.
pub fn scrub_random(bytes: &[u8]) -> Cow<'_, [u8]> {
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.%+/=~".contains(byte);
    let is_random = |run: &[u8]| {
        let has = |is: fn(&u8) -> bool| run.iter().any(is);
        let kinds = [u8::is_ascii_digit, u8::is_ascii_lowercase, u8::is_ascii_uppercase];
        // Long words are of one kind; keys in hexadecimal or base64 are not.
        run.len() >= RANDOM_BYTES_MIN && kinds.into_iter().filter(|&kind| has(kind)).count() >= 2
    };
    let (mut shown, mut rest) = (Vec::new(), bytes);
    while !rest.is_empty() {
        let part = rest.iter().position(|byte| !is_part(byte)).unwrap_or(rest.len());
        let (run, behind) = rest.split_at(part);
        shown.extend_from_slice(if is_random(run) { HIDDEN.as_bytes() } else { run });
        let between = behind.iter().position(is_part).unwrap_or(behind.len());
        shown.extend_from_slice(&behind[..between]);
        rest = &behind[between..];
    }
    if shown == bytes { bytes.into() } else { shown.into() }
}

/// Finds the first JSON Web Token (RFC 7519): each client may have one of its own, so that no list has them all. Half
/// of one, as an answer that is cut short has it, is one as well.
fn jwt_in(bytes: &[u8]) -> Option<Range<usize>> {
    /// The beginning of each head, for it is a JSON object: `{"`, in base64.
    const START: &[u8] = b"eyJ";
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    memmem::find_iter(bytes, START).find_map(|start| {
        let length = bytes[start..].iter().position(|byte| !is_part(byte)).unwrap_or(bytes.len() - start);
        (length >= SCRUBBED_BYTES_MIN).then_some(start..start + length)
    })
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
    fn random_looking_words_are_taken_out() {
        let said = b"session s%3AVb0x1Yk3_q.Zz9 of 0a1b2c3d4e5f6071 is over (internationalization, 1234567890123456): \xff";
        let shown = b"session *** of *** is over (internationalization, 1234567890123456): \xff";
        assert_eq!(*scrub_random(said), shown[..], "{}", scrub_random(said).escape_ascii());
        assert!(matches!(scrub_random(b"nothing"), Cow::Borrowed(_)));
    }

    #[test]
    fn quoted_secrets_are_taken_out() {
        let secrets = ["open sesame", "user:open sesame", "short"].map(Secret::from);
        let said = "not user:open sesame; open sesame; short stays";
        let shown = "not ***; ***; short stays";
        assert_eq!(scrub(said, &secrets), shown);
        assert_eq!(scrub_bytes(said.as_bytes(), &secrets), shown.as_bytes());
        assert!(matches!(scrub("nothing", &secrets), Cow::Borrowed(_)));
        let said = "bad token eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiI1In0.c2lnbmVk: expired; and eyJhbGciOiJI";
        assert_eq!(scrub(said, &[]), "bad token ***: expired; and ***");
        assert_eq!(scrub_bytes(b"\xffeyJhbGciOiJI.a\xff eyJ", &[]), &b"\xff***\xff eyJ"[..]);
        assert!(matches!(scrub_bytes(b"nothing", &secrets), Cow::Borrowed(_)));
    }
}
