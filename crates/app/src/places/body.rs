//! Places of values in the bodies of messages and answers, and how to look there.

use std::borrow::Cow;

use regex::bytes::{Regex, RegexBuilder};

use super::pointer::Pointer;

/// The most memory that one expression may take, compiled.
const REGEX_BYTES_MAX: usize = 1 << 20;

/// A place in a body.
#[derive(Debug)]
pub enum InBody {
    /// A JSON pointer.
    Json(Pointer),
    /// The match of the first group; the whole, if there is none.
    Regex(Regex),
}

/// A place that cannot be looked at.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum BadPlace {
    /// A text that is no JSON pointer.
    Pointer,
    /// A text that does not compile as a regular expression, with the compiler's message.
    Regex(String),
}

impl InBody {
    /// The place of a kind, as a file has it; `None`: there is no such kind.
    pub(super) fn new(kind: &str, what: &str) -> Option<Result<InBody, BadPlace>> {
        match kind {
            "json" => Some(Pointer::parse(what).map(InBody::Json).ok_or(BadPlace::Pointer)),
            "regex" => Some(regex(what).map(InBody::Regex).map_err(BadPlace::Regex)),
            _ => None,
        }
    }

    /// The place as an app's file has it: `json:/token`. `None`: nothing can be looked for there.
    pub fn written(text: &str) -> Option<InBody> {
        let (kind, what) = text.split_once(':')?;
        InBody::new(kind, what)?.ok()
    }

    /// The value there.
    pub fn find<'a>(&self, body: &'a [u8]) -> Option<Cow<'a, str>> {
        match self {
            InBody::Json(pointer) => pointer.value(body),
            InBody::Regex(regex) => std::str::from_utf8(group(regex, body)?).ok().map(Cow::Borrowed),
        }
    }

    /// The bytes there, as they are written, also of an object or an array.
    pub fn bytes<'a>(&self, body: &'a [u8]) -> Option<&'a [u8]> {
        match self {
            InBody::Json(pointer) => pointer.written(body),
            InBody::Regex(regex) => group(regex, body),
        }
    }
}

/// An expression, compiled.
///
/// # Errors
/// The compiler's message, if the text is no regular expression or takes too much memory.
pub(crate) fn regex(text: &str) -> Result<Regex, String> {
    // A file may come from others: an expression with large counts must not fill the memory.
    RegexBuilder::new(text).size_limit(REGEX_BYTES_MAX).build().map_err(|error| error.to_string())
}

fn group<'a>(regex: &Regex, body: &'a [u8]) -> Option<&'a [u8]> {
    let groups = regex.captures(body)?;
    Some(groups.get(1).or_else(|| groups.get(0))?.as_bytes())
}
