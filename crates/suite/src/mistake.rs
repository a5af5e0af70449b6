//! A mistake in a file that somebody wrote: what is wrong, where, and what would be right.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use miette::{Diagnostic, NamedSource, SourceSpan};
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
        let file = Arc::new(NamedSource::new(path.display().to_string(), String::new()));
        Self { message, file, place: None, help }
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
        Mistake {
            message,
            file: Arc::new(NamedSource::new(self.path.display().to_string(), self.text.to_owned())),
            // In bytes, as the parser of TOML has them and the report expects them.
            place: Some((place.start, place.len()).into()),
            help,
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
