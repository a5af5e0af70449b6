//! The query of a request's target (RFC 3986 §3.4), and the values in it.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode, utf8_percent_encode};

/// All that is not unreserved (RFC 3986 §2.3).
pub const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// The parameter of a request's query with that name.
pub fn param<'a>(target: &'a str, name: &str) -> Option<&'a str> {
    let (_, query) = target.split_once('?')?;
    query.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='))
}

/// The parameters of a request's query, in order, each with its value.
pub fn params(target: &str) -> impl Iterator<Item = (&str, &str)> {
    let query = target.split_once('?').map_or("", |(_, query)| query);
    let pairs = query.split('&').filter(|pair| !pair.is_empty());
    pairs.map(|pair| pair.split_once('=').unwrap_or((pair, "")))
}

/// A path with another parameter in its query, percent-encoded.
pub fn with(path: &str, name: &str, value: &str) -> String {
    let sign = if path.contains('?') { '&' } else { '?' };
    format!("{path}{sign}{}={}", escaped(name), escaped(value))
}

/// A name or a value as it stands in a query.
pub fn escaped(text: &str) -> String {
    utf8_percent_encode(text, ESCAPED).to_string()
}

/// The bytes that a value of a form stands for. What is no escape stands for itself.
pub fn form_value(value: &[u8]) -> Vec<u8> {
    // Before the escapes: a plus that was escaped is one.
    let spaced: Vec<u8> = value.iter().map(|&byte| if byte == b'+' { b' ' } else { byte }).collect();
    percent_decode(&spaced).collect()
}
