//! Header fields: tokens, lists and parameters (RFC 9110 §5.6).

use crate::error::{Error, HttpReason};

/// The fields of one head, in order, names as they came.
#[derive(Debug, Default)]
pub struct Fields<'a> {
    /// Names and values.
    pub list: Vec<httparse::Header<'a>>,
}

impl<'a> Fields<'a> {
    /// The values of every field of that name.
    pub fn all(&self, name: &str) -> impl Iterator<Item = &'a [u8]> {
        self.list.iter().filter(move |f| f.name.eq_ignore_ascii_case(name)).map(|f| f.value)
    }

    /// The value of the only field of that name; `Err` when there are several.
    pub fn only(&self, name: &str) -> Result<Option<&'a [u8]>, Several> {
        let mut values = self.all(name);
        match (values.next(), values.next()) {
            (value, None) => Ok(value),
            _ => Err(Several),
        }
    }

    /// The members of a comma-separated list, over all fields of that name (§5.6.1); empty ones are skipped.
    pub fn members(&self, name: &str) -> impl Iterator<Item = &'a [u8]> {
        self.all(name).flat_map(members)
    }

    /// Returns whether a list has that member, whatever its case.
    pub fn has_member(&self, name: &str, member: &str) -> bool {
        self.members(name).any(|m| m.eq_ignore_ascii_case(member.as_bytes()))
    }
}

/// A field that may be there once was there more often.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Several;

/// The members of one list value. Commas inside quoted strings do not separate.
pub fn members(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut quoted = false;
    let is_separator = move |b: &u8| {
        // An escaped quote is not looked for: no list that is read here has a use for one.
        quoted ^= *b == b'"';
        *b == b',' && !quoted
    };
    value.split(is_separator).map(trim).filter(|m| !m.is_empty())
}

/// One parameter and its value, if any.
pub type Param<'a> = (&'a [u8], Option<&'a [u8]>);

/// Reads `*( OWS ";" OWS token [ "=" ( token / quoted token ) ] )`: the parameters of an extension (RFC 6455
/// §9.1). `None` when the bytes are anything else.
pub fn params(bytes: &[u8]) -> Option<Vec<Param<'_>>> {
    let bytes = trim(bytes);
    if bytes.is_empty() {
        return Some(Vec::new());
    }
    let rest = bytes.strip_prefix(b";")?;
    rest.split(|&b| b == b';').map(|param| read_param(trim(param))).collect()
}

fn read_param(param: &[u8]) -> Option<Param<'_>> {
    let Some(at) = memchr::memchr(b'=', param) else {
        return is_token(param).then_some((param, None));
    };
    let (name, value) = (trim_end(&param[..at]), trim(&param[at + 1..]));
    // Quoted or not, the value has to be a token (RFC 6455 §9.1), in which nothing needs an escape.
    let value = match value {
        [b'"', inner @ .., b'"'] => inner,
        _ => value,
    };
    (is_token(name) && is_token(value)).then_some((name, Some(value)))
}

/// Returns whether the bytes are a token (RFC 9110 §5.6.2).
pub fn is_token(bytes: &[u8]) -> bool {
    !bytes.is_empty() && bytes.iter().all(|&b| is_tchar(b))
}

/// Returns whether the byte may be part of a token.
pub fn is_tchar(b: u8) -> bool {
    b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b)
}

/// Returns whether the bytes may be sent as a field value: visible, blank or beyond ASCII, no blank at either
/// end (§5.5).
pub fn is_value(bytes: &[u8]) -> bool {
    trim(bytes).len() == bytes.len() && bytes.iter().all(|&b| b == b'\t' || (b >= b' ' && b != 0x7f))
}

/// A decimal number without sign; `Err` for anything else and for what does not fit.
pub fn number(bytes: &[u8]) -> Result<u64, Error> {
    let bad = Error::BadHttp(HttpReason::ContentLength);
    // Rust's parser takes a plus sign, and two readers would differ on the length (RFC 9110 §8.6).
    if bytes.is_empty() || !bytes.iter().all(u8::is_ascii_digit) {
        return Err(bad);
    }
    std::str::from_utf8(bytes).ok().and_then(|digits| digits.parse().ok()).ok_or(bad)
}

/// Without the blanks at either end.
pub fn trim(bytes: &[u8]) -> &[u8] {
    let start = bytes.iter().position(|b| !is_blank(b)).unwrap_or(bytes.len());
    trim_end(&bytes[start..])
}

fn trim_end(bytes: &[u8]) -> &[u8] {
    let end = bytes.iter().rposition(|b| !is_blank(b)).map_or(0, |at| at + 1);
    &bytes[..end]
}

fn is_blank(b: &u8) -> bool {
    *b == b' ' || *b == b'\t'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_skip_empty_members_and_respect_quotes() {
        let got: Vec<_> = members(b" a ,, b;x=\"1,2\"\t, ,c").collect();
        assert_eq!(got, [&b"a"[..], b"b;x=\"1,2\"", b"c"]);
        assert_eq!(members(&[b' '; 8000]).count(), 0);
    }

    #[test]
    fn params_are_read_strictly() {
        assert_eq!(params(b""), Some(vec![]));
        assert_eq!(
            params(b"; a ;b=1; c = \"2\""),
            Some(vec![(&b"a"[..], None), (b"b", Some(&b"1"[..])), (b"c", Some(b"2"))])
        );
        for bad in [&b";"[..], b"a", b";a;", b";a=", b";=1", b";a=\"", b";a=\"\"", b";a b", b";a=b c"] {
            assert_eq!(params(bad), None, "{}", bad.escape_ascii());
        }
    }

    #[test]
    fn numbers_have_digits_only_and_fit() {
        assert_eq!(number(b"18446744073709551615"), Ok(u64::MAX));
        for bad in [&b""[..], b"-1", b"+1", b"1 ", b"0x1", b"1_0", b"18446744073709551616"] {
            assert!(number(bad).is_err(), "{}", bad.escape_ascii());
        }
    }
}
