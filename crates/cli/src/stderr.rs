//! Remarks on standard error. It may have no reader (`2>&1 | head -1`): that is no reason to end a run, and
//! what is left to do (results, reports) is done all the same. `eprintln!` would panic.

use std::env;
use std::fmt::Display;
use std::io::{self, IsTerminal};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use net::pipe;
use ratatui::crossterm::terminal;
use textwrap::{Options, WordSeparator, WordSplitter};

use crate::{locale, secrets};

/// How long a remark waits for earlier ones to be read. After that there is no reader, and later remarks do
/// not wait.
const READ_WITHIN: Duration = Duration::from_secs(1);
/// Columns below which folding leaves nothing to read.
const COLUMNS_MIN: usize = 40;
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

/// Prints a note to the user, or an error.
pub(crate) fn note(text: &str) {
    let said = format!("throng: {text}");
    line(columns().map_or_else(|| said.clone(), |columns| folded(&said, columns)));
}

/// The columns of the terminal; `None` where it is none, or does not say.
pub(crate) fn columns() -> Option<usize> {
    let size = io::stderr().is_terminal().then(terminal::size).and_then(Result::ok);
    size.map(|(columns, _)| columns.into())
}

/// Breaks lines that are too long between words, as a terminal would within them. What has an order of lines, such as
/// an excerpt of a file, stays as it is.
fn folded(text: &str, columns: usize) -> String {
    if text.trim_end().contains('\n') || columns < COLUMNS_MIN {
        return text.to_owned();
    }
    // A command that is broken at its hyphens cannot be copied.
    let options = Options::new(columns).subsequent_indent("  ").word_splitter(WordSplitter::NoHyphenation);
    textwrap::fill(text, options.word_separator(WordSeparator::AsciiSpace).break_words(false))
}

/// Text as it is, except for secrets that others have put into it: a server, or a parser of URLs.
pub(crate) fn text(text: impl Display) {
    let text = locale::spelled(secrets::scrub(&text.to_string()).into_owned());
    let within = if IS_READ.load(Ordering::Relaxed) { READ_WITHIN } else { Duration::ZERO };
    // Locked, so that lines of several threads do not mix.
    let written = pipe::write_within(io::stderr().lock(), text.as_bytes(), within);
    // A reader that is there again is waited for again.
    IS_READ.store(written.is_ok_and(|bytes| bytes == text.len()), Ordering::Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_errors_are_folded_between_words() {
        let text =
            format!("throng: --limit: {}", "word ".repeat(30) + "throng probe ws://127.0.0.1:9000/a-b");
        let lines: Vec<String> = folded(&text, 80).lines().map(str::to_owned).collect();
        assert!(lines.len() > 2 && lines.iter().all(|line| line.chars().count() <= 80), "{lines:?}");
        assert_eq!(lines.iter().map(|line| line.trim()).collect::<Vec<_>>().join(" "), text);
        assert_eq!(folded("one\ntwo", 80), "one\ntwo");
    }
}
