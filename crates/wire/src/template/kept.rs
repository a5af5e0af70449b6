//! What a client was given at its login, for the holes that ask for it.

use std::fmt;

use crate::http::cookies::Cookies;

/// What a client was given at its login.
#[derive(Default)]
pub(crate) struct Kept {
    /// The values of its app's names, by their numbers.
    pub(crate) values: Vec<Box<str>>,
    pub(crate) cookies: Cookies,
}

impl fmt::Debug for Kept {
    /// How much it is, and no more: it lets the client in.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} values, {:?}", self.values.len(), self.cookies)
    }
}

impl Kept {
    /// Of clients that do not log in.
    pub(crate) const NOTHING: &'static Kept = &Kept { values: Vec::new(), cookies: Cookies::NONE };
}
