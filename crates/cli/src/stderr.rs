//! Remarks on standard error. It may have no reader (`2>&1 | head -1`): that is no reason to end a run, and
//! what is left to do (results, reports) is done all the same. `eprintln!` would panic.

use std::env;
use std::fmt::Display;
use std::io::{self, IsTerminal};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use net::pipe;

use crate::secrets;

/// How long a remark waits for earlier ones to be read. After that there is no reader, and later remarks do
/// not wait.
const READ_WITHIN: Duration = Duration::from_secs(1);
static IS_READ: AtomicBool = AtomicBool::new(true);

/// Returns whether it is a terminal whose lines can be drawn again.
pub(crate) fn is_live() -> bool {
    io::stderr().is_terminal() && !is_dumb()
}

/// Returns whether the terminal says that it can neither colour nor move (`TERM=dumb`).
pub(crate) fn is_dumb() -> bool {
    env::var_os("TERM").is_some_and(|term| term == "dumb")
}

/// A line of its own.
pub(crate) fn line(text: impl Display) {
    self::text(format_args!("{text}\n"));
}

/// Prints a note to the user.
pub(crate) fn note(text: &str) {
    line(format_args!("throng: {text}"));
}

/// Text as it is, except for secrets that others have put into it: a server, or a parser of URLs.
pub(crate) fn text(text: impl Display) {
    let text = secrets::scrub(&text.to_string()).into_owned();
    let within = if IS_READ.load(Ordering::Relaxed) { READ_WITHIN } else { Duration::ZERO };
    // Locked, so that lines of several threads do not mix.
    let written = pipe::write_within(io::stderr().lock(), text.as_bytes(), within);
    // A reader that is there again is waited for again.
    IS_READ.store(written.is_ok_and(|bytes| bytes == text.len()), Ordering::Relaxed);
}
