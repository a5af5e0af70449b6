//! The user's browser.

use std::ffi::OsStr;
use std::process::{Command, Stdio};

use crate::stderr;

/// Opens a page or an address in the browser, if there is one: the address has been printed.
pub(crate) fn open(place: impl AsRef<OsStr>) {
    // The desktop knows which browser.
    let mut browser = Command::new("xdg-open");
    browser.arg(place).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    if let Err(error) = browser.spawn() {
        stderr::line(format_args!("throng: --open: xdg-open: {error}; open the address above"));
    }
}
