//! A mistake in a file that somebody wrote: what is wrong, where, and what would be right.

use std::iter;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use miette::{Diagnostic, NamedSource, SourceSpan};
use results::format::{printable, printable_lines};
use thiserror::Error;

/// A mistake, with the file and the place in it.
#[derive(Clone, Debug, Error, Diagnostic)]
#[error("{message}")]
pub struct Mistake {
    message: String,
    #[source_code]
    file: Arc<NamedSource<String>>,
    #[label("here")]
    place: Option<SourceSpan>,
    #[help]
    help: Option<String>,
}

impl Mistake {
    /// The file cannot be read at all.
    pub(crate) fn unreadable(path: &Path, error: &std::io::Error) -> Self {
        Self::of_file(path, format!("{}: {error}", path.display()), None)
    }

    /// The file as a whole is wrong, whatever it says.
    pub(crate) fn of_file(path: &Path, message: String, help: Option<String>) -> Self {
        Source { path, text: "" }.told(None, &message, help.as_deref())
    }

    /// The file, and the number of its line where one is at fault.
    pub fn place(&self) -> String {
        let line = self.line_number().map_or(String::new(), |number| format!(":{number}"));
        format!("{}{line}", self.file.name())
    }

    /// One line for a table: the file's line number, and what is wrong.
    pub fn line(&self) -> String {
        let line = self.line_number().map_or(String::new(), |number| format!("line {number}: "));
        format!("{line}{}", self.message)
    }

    fn line_number(&self) -> Option<usize> {
        let before = &self.file.inner()[..self.place?.offset()];
        Some(before.matches('\n').count() + 1)
    }
}

/// A file that is being read, for mistakes to point into.
pub(crate) struct Source<'a> {
    pub(crate) path: &'a Path,
    pub(crate) text: &'a str,
}

impl Source<'_> {
    /// A mistake at these bytes of the text.
    pub(crate) fn mistake(&self, place: Range<usize>, message: String, help: Option<String>) -> Mistake {
        // In bytes, as the parser of TOML has them and the report expects them.
        self.told(Some((place.start, place.len()).into()), &message, help.as_deref())
    }

    /// Makes a mistake that cannot steer the terminal: the file may come from anybody.
    fn told(&self, place: Option<SourceSpan>, message: &str, help: Option<&str>) -> Mistake {
        let file = NamedSource::new(printable(&self.path.display().to_string()), excerptible(self.text));
        Mistake {
            message: printable_lines(message),
            file: Arc::new(file),
            place,
            help: help.map(printable_lines),
        }
    }

    /// The text as a value of a file type. Unknown keys are mistakes, with the keys that exist as help.
    pub(crate) fn parse<'de, T: serde::Deserialize<'de>>(&'de self) -> Result<T, Mistake> {
        toml::from_str(self.text).map_err(|error| {
            let place = error.span().unwrap_or(0..0);
            // serde says both in one sentence: what is wrong, and what would be right.
            let (message, help) = match error.message().split_once(", expected ") {
                Some((message, expected)) => (message.to_owned(), Some(format!("expected {expected}"))),
                None => (error.message().to_owned(), None),
            };
            self.mistake(place, message, help)
        })
    }
}

/// The text with dots in the place of what is not shown, one for each byte: places in it are in bytes.
fn excerptible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for (at, c) in text.char_indices() {
        match c {
            '\n' | '\t' => shown.push(c),
            // A line's end, as Windows writes it.
            '\r' if text[at..].starts_with("\r\n") => shown.push(c),
            c if stats::is_shown(c) => shown.push(c),
            c => shown.extend(iter::repeat_n('.', c.len_utf8())),
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn excerpts_keep_places_and_hide_controls() {
        let text = "a = \"\u{1b}[31m\u{202e}é\"\r\n\tb = 1\r";
        let source = Source { path: Path::new("a\u{1b}.toml"), text };
        let at = text.find("b =").unwrap();
        let mistake = source.mistake(at..at + 1, "no \u{9b}".to_owned(), Some("yes\n\u{202e}".to_owned()));
        assert_eq!(mistake.file.inner(), "a = \".[31m...é\"\r\n\tb = 1.");
        assert!(mistake.file.inner()[at..].starts_with("b ="));
        let told = [mistake.place(), mistake.line(), mistake.help.unwrap()];
        assert_eq!(told, ["a·.toml:2", "line 2: no ·", "yes\n·"]);
    }
}
