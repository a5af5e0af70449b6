//! Functions of placeholders: `{hmac:sha256:KEY:TEXT}`, `{sha256:TEXT}`, `{base64:TEXT}`, `{random:1..6}`,
//! `{uuid}`; and the bytes of messages that are no text: `{hex:0a1f}`, `{delimited:TEXT}`.
//!
//! `TEXT` is a template of its own, in which placeholders stand as they are, without quotes. Nothing here is
//! random for the operating system: values differ between clients, messages and times, and a seed repeats
//! them.

use std::convert::Infallible;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use codec::json::extend_decimal;
use codec::varint;
use ring::{digest, hmac};
use secret::Secret;
use serde::{Deserialize, Serialize};

use super::md5;
use super::quoting::Quoting;
use super::uuid::{self, draw, extend_hex};

/// How they are written, for errors.
pub(super) const FORMS: [&str; 12] = [
    "{now}",
    "{now:ms}",
    "{uuid}",
    "{hmac:sha256:KEY:TEXT}",
    "{hmac:sha1:KEY:TEXT}",
    "{sha256:TEXT}",
    "{sha1:TEXT}",
    "{md5:TEXT}",
    "{base64:TEXT}",
    "{random:1..6}",
    "{hex:0a1f}",
    "{delimited:TEXT}",
];

/// The most draws that one random value takes: a UUID takes two.
const DRAWS_EACH: u64 = 2;

/// A function of a text, computed for each message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Function<T> {
    /// A code that can only be made with the key (RFC 2104), in hex.
    Hmac { digest: Digest, key: Secret, of: T },
    /// A digest in hex.
    Digest { digest: Digest, of: T },
    /// Base64 with padding (RFC 4648 §4).
    Base64 { of: T, quoting: Quoting },
    /// Its length as a varint, and the text behind it: a field of Protocol Buffers, or one of SignalR's
    /// binary messages.
    Delimited { of: T },
    /// A UUID of version 4 in form (RFC 9562 §5.4): the `nth` random value of its message.
    Uuid { nth: u32 },
    /// A number between these, both included.
    Random { from: u64, to: u64, nth: u32 },
}

/// Digests of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Digest {
    /// MD5 (RFC 1321).
    Md5,
    /// SHA-1 (FIPS 180-4).
    Sha1,
    /// SHA-256 (FIPS 180-4).
    Sha256,
}

impl Digest {
    fn named(name: &str) -> Option<Digest> {
        match name {
            "md5" => Some(Digest::Md5),
            "sha1" => Some(Digest::Sha1),
            "sha256" => Some(Digest::Sha256),
            _ => None,
        }
    }

    /// Bytes of it, as written: two digits each.
    fn digits(self) -> usize {
        match self {
            Digest::Md5 => 2 * md5::BYTES,
            Digest::Sha1 => 2 * digest::SHA1_OUTPUT_LEN,
            Digest::Sha256 => 2 * digest::SHA256_OUTPUT_LEN,
        }
    }
}

/// A call, taken apart into the function and its text.
pub(super) enum Call<'a> {
    Hmac { digest: Digest, key: &'a str, of: &'a str },
    Digest { digest: Digest, of: &'a str },
    Base64 { of: &'a str },
    Delimited { of: &'a str },
    Hex { digits: &'a str },
    Random { from: u64, to: u64 },
}

impl<'a> Call<'a> {
    /// The functions that are given something.
    pub(super) const NAMES: [&'static str; 8] =
        ["hmac", "sha256", "sha1", "md5", "base64", "random", "hex", "delimited"];

    /// Reads `NAME:ARGUMENTS`. `None`: there is no such function, or it takes other arguments.
    pub(super) fn read(text: &'a str) -> Option<Call<'a>> {
        let (name, rest) = text.split_once(':')?;
        if let Some(digest) = Digest::named(name) {
            return Some(Call::Digest { digest, of: rest });
        }
        match name {
            "hmac" => {
                let (digest, rest) = rest.split_once(':')?;
                let digest = Digest::named(digest).filter(|digest| *digest != Digest::Md5)?;
                // A key that is somewhere else has a colon in its name.
                let scheme = ["env:", "file:"].into_iter().find(|scheme| rest.starts_with(scheme));
                let scheme = scheme.map_or(0, str::len);
                let end = scheme + rest[scheme..].find(':')?;
                (end > scheme).then_some(Call::Hmac { digest, key: &rest[..end], of: &rest[end + 1..] })
            }
            "base64" => Some(Call::Base64 { of: rest }),
            "delimited" => Some(Call::Delimited { of: rest }),
            "hex" => bytes_of(rest).map(|_| Call::Hex { digits: rest }),
            "random" => {
                let (from, to) = rest.split_once("..")?;
                let (from, to) = (from.parse().ok()?, to.parse().ok()?);
                (from <= to).then_some(Call::Random { from, to })
            }
            _ => None,
        }
    }

    /// The text that it is of; `None`: of nothing.
    pub(super) fn of(&self) -> Option<&'a str> {
        match self {
            Call::Hmac { of, .. }
            | Call::Digest { of, .. }
            | Call::Base64 { of }
            | Call::Delimited { of } => Some(of),
            Call::Random { .. } | Call::Hex { .. } => None,
        }
    }

    /// The bytes that stand there; `None`: something has to be computed.
    pub(super) fn bytes(&self) -> Option<Vec<u8>> {
        match self {
            Call::Hex { digits } => bytes_of(digits),
            _ => None,
        }
    }

    /// The function of this text; `None`: it is [bytes](Call::bytes).
    pub(super) fn function<T>(&self, of: T) -> Option<Function<T>> {
        Some(match *self {
            Call::Hmac { digest, key, .. } => Function::Hmac { digest, key: key.into(), of },
            Call::Digest { digest, .. } => Function::Digest { digest, of },
            Call::Base64 { .. } => Function::Base64 { of, quoting: Quoting::Plain },
            Call::Delimited { .. } => Function::Delimited { of },
            Call::Random { from, to } => Function::Random { from, to, nth: 0 },
            Call::Hex { .. } => return None,
        })
    }
}

/// Decodes hexadecimal digits, two for a byte, with blanks between bytes for human readers.
fn bytes_of(digits: &str) -> Option<Vec<u8>> {
    let plain: Vec<u8> = digits.bytes().filter(|byte| *byte != b' ').collect();
    let byte = |pair: &[u8]| Some((hex_digit(pair[0])? << 4 | hex_digit(*pair.get(1)?)?) as u8);
    plain.chunks(2).map(byte).collect::<Option<Vec<u8>>>().filter(|bytes| !bytes.is_empty())
}

fn hex_digit(byte: u8) -> Option<u32> {
    char::from(byte).to_digit(16)
}

impl<T> Function<T> {
    /// The text that it is of.
    pub(super) fn of(&self) -> Option<&T> {
        match self {
            Function::Hmac { of, .. } | Function::Digest { of, .. } | Function::Base64 { of, .. } => Some(of),
            Function::Delimited { of } => Some(of),
            Function::Uuid { .. } | Function::Random { .. } => None,
        }
    }

    /// The text, if that is left as it is.
    pub(super) fn carried(&self) -> Option<&T> {
        match self {
            Function::Delimited { of } => Some(of),
            _ => None,
        }
    }

    /// A copy of the function with another text.
    pub(super) fn with(&self, other: impl Fn(&T) -> T) -> Function<T> {
        let Ok(function) = self.map(|of| Ok::<_, Infallible>(other(of)), |key| Ok(key.clone()));
        function
    }

    /// A copy of the function whose text and key are converted.
    pub(super) fn map<E>(
        &self,
        of_text: impl Fn(&T) -> Result<T, E>,
        of_key: impl Fn(&Secret) -> Result<Secret, E>,
    ) -> Result<Function<T>, E> {
        Ok(match self {
            Function::Hmac { digest, key, of } => {
                Function::Hmac { digest: *digest, key: of_key(key)?, of: of_text(of)? }
            }
            Function::Digest { digest, of } => Function::Digest { digest: *digest, of: of_text(of)? },
            Function::Base64 { of, quoting } => Function::Base64 { of: of_text(of)?, quoting: *quoting },
            Function::Delimited { of } => Function::Delimited { of: of_text(of)? },
            Function::Uuid { nth } => Function::Uuid { nth: *nth },
            Function::Random { from, to, nth } => Function::Random { from: *from, to: *to, nth: *nth },
        })
    }

    /// Changes the quoting of what the function writes. Only Base64 has any: digits and letters have nothing
    /// to quote.
    pub(super) fn requote(&mut self, quoted: impl Fn(Quoting) -> Quoting) {
        if let Function::Base64 { quoting, .. } = self {
            *quoting = quoted(*quoting);
        }
    }

    /// Numbers the random values in it from `next` on; `of_text` numbers those of its text.
    pub(super) fn number_draws(&mut self, next: &mut u32, of_text: impl FnOnce(&mut T, &mut u32)) {
        match self {
            Function::Hmac { of, .. } | Function::Digest { of, .. } | Function::Base64 { of, .. } => {
                of_text(of, next);
            }
            Function::Delimited { of } => of_text(of, next),
            Function::Uuid { nth } | Function::Random { nth, .. } => {
                *nth = *next;
                *next += 1;
            }
        }
    }

    /// The most bytes that it has, percent-encoding aside, where `of_text` says how many its text has;
    /// `None` if that has no bound.
    pub(super) fn bytes_max(&self, of_text: impl FnOnce(&T) -> Option<usize>) -> Option<usize> {
        match self {
            Function::Hmac { digest, .. } | Function::Digest { digest, .. } => Some(digest.digits()),
            Function::Base64 { of, .. } => Some(4 * of_text(of)?.div_ceil(3)),
            Function::Delimited { of } => Some(varint::BYTES_MAX + of_text(of)?),
            Function::Uuid { .. } => Some(uuid::BYTES),
            Function::Random { to, .. } => Some(to.to_string().len()),
        }
    }

    /// Appends the value. `filled` is its text; what is drawn depends on `seed`.
    pub(super) fn write(&self, out: &mut Vec<u8>, filled: impl FnOnce(&T) -> Vec<u8>, seed: [u64; 3]) {
        match self {
            Function::Hmac { digest, key, of } => {
                let algorithm = match digest {
                    Digest::Md5 => unreachable!("no key is asked for: Call::read"),
                    Digest::Sha1 => hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY,
                    Digest::Sha256 => hmac::HMAC_SHA256,
                };
                let key = hmac::Key::new(algorithm, key.reveal().as_bytes());
                extend_hex(out, hmac::sign(&key, &filled(of)).as_ref());
            }
            Function::Digest { digest, of } => {
                let algorithm = match digest {
                    Digest::Md5 => return extend_hex(out, &md5::md5(&filled(of))),
                    Digest::Sha1 => &digest::SHA1_FOR_LEGACY_USE_ONLY,
                    Digest::Sha256 => &digest::SHA256,
                };
                extend_hex(out, digest::digest(algorithm, &filled(of)).as_ref());
            }
            Function::Base64 { of, quoting } => quoting.write(out, STANDARD.encode(filled(of)).as_bytes()),
            Function::Delimited { of } => {
                let text = filled(of);
                varint::extend(out, text.len());
                out.extend_from_slice(&text);
            }
            Function::Uuid { nth } => {
                let salt = DRAWS_EACH * u64::from(*nth);
                out.extend(uuid::of_bits([draw(seed, salt), draw(seed, salt + 1)]));
            }
            Function::Random { from, to, nth } => {
                let span = u128::from(to - from) + 1;
                // A multiple of the span and no remainder: no value is likelier than another by over 2⁻⁶⁴.
                let above = (u128::from(draw(seed, DRAWS_EACH * u64::from(*nth))) * span) >> u64::BITS;
                extend_decimal(out, from + above as u64);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::template::pieces::tests::nobody;
    use crate::template::{BadTemplate, ClientContext, Filling, Mark, Names, Purpose, Table, Template};
    use codec::stamp::TEXT_BYTES;

    fn parsed(text: &str) -> Result<Template, BadTemplate> {
        let mut names = Names::default();
        names.set("socket_id", Template::literal("1234.1234"));
        names.set("person.name", Template::of_column(0));
        Template::parse(text, Purpose::Other, &names, Quoting::JSON)
    }

    fn written(text: &str, client: u32, seq: u32) -> String {
        let mut rows = Table::new(1);
        assert!(rows.push([r#"a"b"#].into_iter()));
        let context = ClientContext { client, ..nobody(&rows) };
        let filling = Filling { mark: Mark::NONE, seq, context, tail: b"" };
        let mut out = Vec::new();
        parsed(text).unwrap().write(&mut out, &filling, 0);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn values_are_those_of_their_documents() {
        for (text, value) in [
            // Pusher's own example of a private channel; openssl dgst -hmac key; FIPS 180-4; RFC 4648 §10.
            (
                "{hmac:sha256:7ad3773142a6692b25b8:{socket_id}:private-foobar}",
                "58df8b0c36d6982b82c3ecf6b4662e34fe8c25bba48f5369f135bf843651c3a4",
            ),
            ("{hmac:sha1:key:value}", "57443a4c052350a44638835d64fd66822f813319"),
            ("{sha256:abc}", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
            ("{sha1:abc}", "a9993e364706816aba3e25717850c26c9cd0d89d"),
            ("{md5:abc}", "900150983cd24fb0d6963f7d28e17f72"),
            ("{base64:foobar}", "Zm9vYmFy"),
            (r#"{base64:{"a":"{person.name}"}}"#, "eyJhIjoiYSJiIn0="),
            ("{base64:{sha1:abc}}", "YTk5OTNlMzY0NzA2ODE2YWJhM2UyNTcxNzg1MGMyNmM5Y2QwZDg5ZA=="),
            ("{random:7..7}", "7"),
            ("{hex:0a 6869}", "\nhi"),
            ("{delimited:}{delimited:{hex:22}{delimited:{person.name}}}", "\0\u{5}\"\u{3}a\"b"),
        ] {
            assert_eq!(written(text, 0, 1), value, "{text}");
        }
    }

    #[test]
    fn random_values_differ_by_client_and_message() {
        let drawn = |text: &str| -> Vec<String> {
            let of_client = |client| (1..20).map(move |seq| (client, seq));
            (0..20).flat_map(of_client).map(|(client, seq)| written(text, client, seq)).collect()
        };
        let mut uuids = drawn("{uuid}");
        for uuid in &uuids {
            let parts: Vec<usize> = uuid.split('-').map(str::len).collect();
            assert!(parts == [8, 4, 4, 4, 12] && uuid[14..].starts_with('4'), "{uuid}");
            assert!(['8', '9', 'a', 'b'].contains(&uuid[19..].chars().next().unwrap()), "{uuid}");
        }
        uuids.sort();
        uuids.dedup();
        assert_eq!(uuids.len(), 20 * 19);
        let mut numbers = drawn("{random:3..6}");
        numbers.sort();
        numbers.dedup();
        assert_eq!(numbers, ["3", "4", "5", "6"]);
    }

    #[test]
    fn random_values_of_one_message_differ() {
        let text = "{uuid} {base64:{uuid}} {uuid} {random:0..999999} {random:0..999999}";
        let message = written(text, 3, 4);
        let mut values: Vec<&str> = message.split(' ').collect();
        values.sort_unstable();
        values.dedup();
        assert_eq!(values.len(), 5, "{message}");
        assert_eq!(written(text, 3, 4), message, "a seed repeats them");
    }

    #[test]
    fn a_functions_size_follows_from_its_text() {
        for (text, bytes) in [
            ("{base64:{padding}}", 16),
            ("{delimited:{padding}}", 16),
            ("{base64:{base64:{padding}}}", 24),
            ("{sha1:{padding}}", 40),
            ("{uuid}", 36),
        ] {
            let names = Names::default();
            let template =
                Template::parse(&format!("{{id}}{text}"), Purpose::Measured, &names, Quoting::JSON);
            assert_eq!(template.unwrap().bytes_max(12) - TEXT_BYTES, bytes, "{text}");
        }
    }

    #[test]
    fn unknown_functions_are_refused_in_place() {
        for (text, at) in [
            ("é{hmc:sha256:k:x}", 2..18),
            ("{hmac:md4:k:x}", 0..14),
            ("{hmac:sha256:k}", 0..15),
            ("{hmac:sha256::x}", 0..16),
            ("{random:6..1}", 0..13),
            ("{random:a}", 0..10),
            ("{hex:0}", 0..7),
            ("{hex:}", 0..6),
            ("{hex:xy}", 0..8),
            ("{base64:{sockt_id}}", 8..18),
            ("{sha256:{hmc:x}}", 8..15),
        ] {
            let Err(BadTemplate::Unknown { at: found, known }) = parsed(text) else { panic!("{text}") };
            assert_eq!(found, at, "{text}");
            assert!(FORMS.iter().all(|form| known.iter().any(|known| known == form)), "{known:?}");
        }
        for text in
            [r#"{"a":{"b":1}}"#, "{ hmac:x}", "{A:b}", "{a: b}", r#"{a:"b"}"#, "{a:1}", "{hmac:sha256:k:x"]
        {
            assert_eq!(written(text, 0, 1), text);
        }
    }

    #[test]
    fn a_key_may_be_somewhere_else() {
        let template = parsed("{base64:{hmac:sha256:env:KEY:x}}{hmac:sha1:file:/a/b:y}").unwrap();
        let keys = std::cell::RefCell::new(Vec::new());
        let read = |key: &str| {
            keys.borrow_mut().push(key.to_owned());
            Ok::<_, ()>(Secret::from("k"))
        };
        let known = template.with_keys(&read).unwrap();
        assert_eq!(*keys.borrow(), ["env:KEY", "file:/a/b"]);
        assert_eq!(known, parsed("{base64:{hmac:sha256:k:x}}{hmac:sha1:k:y}").unwrap());
        assert!(template.with_keys(&|_| Err(())).is_err());
    }
}
