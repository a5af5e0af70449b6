//! What lets a client in is no one else's business: a type for it that does not print itself, and the knowledge of where
//! such things stand on a command line, in a URL and in what a server says.
//!
//! Results, reports, logs and argument lists are shared. What goes into them is text; a [`Secret`] has to be
//! [revealed](Secret::reveal) to become one, which only those do that speak to the server. The crates of results, reports
//! and the store do not know the type at all (`tests/tidy.rs`).

mod command;
mod mask;
mod names;
mod place;
mod scrub;

use std::fmt;

use serde::{Deserialize, Serialize};

pub use command::in_command;
pub use mask::{KEY_BYTES, Mask, without_tags};
pub use names::is_secret;
pub use place::in_place;
pub use scrub::{SCRUBBED_BYTES_MIN, scrub, scrub_bytes};

/// What stands for a secret.
pub const HIDDEN: &str = "***";

/// A token, a password, the value of a header. It has no `Display`, and `Debug` prints `***`; serialized it is what it is,
/// for the plan has to carry it to those who speak to the server.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Secret(String);

impl Secret {
    /// The secret itself: for the wire, and for nobody's eyes.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(HIDDEN)
    }
}

impl From<String> for Secret {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl From<&str> for Secret {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

/// Where a secret is, when it is not on the command line itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reference<'a> {
    /// `env:NAME`: in that variable of the environment.
    Env(&'a str),
    /// `file:PATH`: in that file.
    File(&'a str),
}

impl<'a> Reference<'a> {
    /// Reads `env:NAME` or `file:PATH`; `None`: the text stands for itself.
    pub fn of(text: &'a str) -> Option<Self> {
        let env = text.strip_prefix("env:").map(Self::Env);
        env.or_else(|| text.strip_prefix("file:").map(Self::File))
    }

    /// The same of a header's value, which may have a scheme before it, as in `Bearer env:NAME`: that, and the reference.
    pub fn of_header(value: &'a str) -> Option<(&'a str, Self)> {
        let last = value.rfind(' ').map_or(0, |space| space + 1);
        Some((&value[..last], Self::of(&value[last..])?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_does_not_print_itself() {
        let secret = Secret::from("open sesame");
        assert_eq!(format!("{secret:?} {:?}", Some(&secret)), "*** Some(***)");
        assert_eq!(secret.reveal(), "open sesame");
    }

    #[test]
    fn a_reference_says_where_the_secret_is() {
        assert_eq!(Reference::of("env:TOKEN"), Some(Reference::Env("TOKEN")));
        assert_eq!(Reference::of("file:/run/secrets/jwt"), Some(Reference::File("/run/secrets/jwt")));
        assert_eq!(Reference::of("eyJhbGciOi"), None);
        assert_eq!(Reference::of_header("Bearer env:A"), Some(("Bearer ", Reference::Env("A"))));
        assert_eq!(Reference::of_header("env:A"), Some(("", Reference::Env("A"))));
        assert_eq!(Reference::of_header("Bearer abc"), None);
    }
}
