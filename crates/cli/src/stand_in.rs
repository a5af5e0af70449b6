//! JSON on standard output in place of what was asked for: programs that read it are told of an error there, too.

use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::secrets;

/// Set while standard output is to be JSON (`--format json`), and nothing is on it yet.
static LACKS_JSON: AtomicBool = AtomicBool::new(false);

/// Reads from a command line, be it one that clap refuses, whether it asks for JSON.
pub(crate) fn begin<'a>(words: impl IntoIterator<Item = &'a str>) {
    // Behind it are no flags.
    let mut words = words.into_iter().take_while(|word| *word != "--").peekable();
    let mut asks = false;
    while let Some(word) = words.next() {
        let is_flag = ["-f", "--format"].contains(&word);
        asks |= word == "--format=json" || is_flag && words.peek() == Some(&"json");
    }
    LACKS_JSON.store(asks, Ordering::Relaxed);
}

/// Standard output has what was asked for, or a part of it.
pub(crate) fn note_printed() {
    LACKS_JSON.store(false, Ordering::Relaxed);
}

/// Prints JSON that stands in for what was asked for, if that is JSON and nothing was printed.
pub(crate) fn print(json: &str) {
    if LACKS_JSON.swap(false, Ordering::Relaxed) {
        // The failure that it tells of is on standard error as well.
        let _ = io::stdout().write_all(secrets::scrub(json).as_bytes());
    }
}
