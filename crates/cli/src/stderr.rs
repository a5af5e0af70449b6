//! Remarks on standard error. Nobody may be reading there (`2>&1 | head -1`): that is no reason to end a run, and what
//! is left to do (results, reports) is done all the same. `eprintln!` would panic.

use std::fmt::Display;
use std::io::{self, Write};

use crate::secrets;

/// A line of its own.
pub(crate) fn line(text: impl Display) {
    self::text(format_args!("{text}\n"));
}

/// Text as it is, but for secrets that somebody else has put into it: a server, a parser of URLs.
pub(crate) fn text(text: impl Display) {
    // In one piece, so that lines of several threads do not mix.
    let _ = io::stderr().write_all(secrets::scrub(&text.to_string()).as_bytes());
}
