//! Places of values in answers to requests, and how to look there.

use std::borrow::Cow;
use std::fmt;

use codec::http::cookies::Cookies;
use codec::http::fields;
use codec::http::response::Response;

use super::body::{BadPlace, InBody};
use super::html;
use super::pointer::POINTER_DEPTH_MAX;
use crate::template::Values;

/// The place of a value.
#[derive(Debug)]
pub enum Find {
    /// A cookie of this name, among those that the client has by then.
    Cookie(String),
    /// A field of this name in the head.
    Header(String),
    /// A form's field, a `meta` or an attribute of this name in a page.
    Html(String),
    /// A place in the body.
    InBody(InBody),
}

/// A place that is none.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum BadFind {
    /// No known kind of place.
    Unknown,
    /// A name that is none.
    Name(&'static str),
    /// A pointer that is none.
    Pointer,
    /// An expression that is none, and why.
    Regex(String),
}

impl fmt::Display for BadFind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BadFind::Unknown => f.write_str(
                "expected where in the answer it is: \"cookie:NAME\", \"header:NAME\", \"json:/POINTER\", \
                 \"html:NAME\" or \"regex:EXPRESSION\"",
            ),
            BadFind::Name(what) => write!(f, "expected the name of {what} behind the colon"),
            BadFind::Pointer => write!(
                f,
                "expected a JSON pointer (RFC 6901) of at most {POINTER_DEPTH_MAX} keys behind the colon: \
                 \"json:/token\", \"json:/items/0/id\""
            ),
            BadFind::Regex(error) => f.write_str(error),
        }
    }
}

/// Checks that `from` names a place where a value can be looked for.
///
/// # Errors
/// Faults of the place.
pub fn check(from: &str) -> Result<(), BadFind> {
    Find::new(from).map(drop)
}

impl Find {
    /// The place, as a file has it.
    ///
    /// # Errors
    /// Faults of the place.
    pub fn new(from: &str) -> Result<Find, BadFind> {
        let (kind, what) = from.split_once(':').ok_or(BadFind::Unknown)?;
        let token = |of| match fields::is_token(what.as_bytes()) {
            true => Ok(what.to_owned()),
            false => Err(BadFind::Name(of)),
        };
        match kind {
            "cookie" => token("a cookie").map(Find::Cookie),
            "header" => token("a header").map(Find::Header),
            "html" if what.is_empty() => Err(BadFind::Name("a field, a meta or an attribute")),
            "html" => Ok(Find::Html(what.to_owned())),
            kind => match InBody::new(kind, what).ok_or(BadFind::Unknown)? {
                Ok(place) => Ok(Find::InBody(place)),
                Err(BadPlace::Pointer) => Err(BadFind::Pointer),
                Err(BadPlace::Regex(error)) => Err(BadFind::Regex(error)),
            },
        }
    }

    /// Returns whether it is in the body.
    pub fn is_in_body(&self) -> bool {
        matches!(self, Find::InBody(_) | Find::Html(_))
    }

    /// The value in an answer with this head and body; `None`: it is not there, or is nothing that could be
    /// said anywhere.
    pub fn find(&self, response: &Response<'_>, body: &[u8], cookies: &Cookies) -> Option<Box<str>> {
        let text = |bytes| std::str::from_utf8(bytes).ok();
        let found: Cow<'_, str> = match self {
            Find::Cookie(name) => cookies.get(name)?.into(),
            Find::Header(name) => text(response.fields.all(name).next()?)?.into(),
            Find::Html(name) => html::find(text(body)?, name)?,
            Find::InBody(place) => place.find(body)?,
        };
        Values::can_hold(&found).then(|| found.into())
    }
}
