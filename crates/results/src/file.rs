//! Results on disk: schema 1, as JSON (docs/results.schema.json describes it).
//!
//! The types below this module are the file's own; nothing else is serialised. Times become milliseconds and seconds,
//! and what does not apply is left out. Adding a field keeps the schema number, changing one raises it; readers pass
//! over fields they do not know.

use std::borrow::Cow;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use thiserror::Error;

use crate::run::Run;

mod counts;
mod figure;
mod finding;
mod frame;
mod judgement;
mod mirror;
mod parts;
mod resources;
mod run;
pub mod salvage;
mod spent;
mod step;

pub use frame::{Frame, write_step, write_steps_behind};
pub use run::{SCHEMA, is_run_id, run_id, started};

/// Bytes of a results file that is read: with 5.7 kB a step, those of 180,000 steps.
pub const BYTES_MAX: u64 = 1 << 30;

/// Why a text is not a results file.
#[derive(Debug, Error)]
pub enum FileError {
    /// Not JSON, not of the schema's shape, or with a damaged histogram.
    #[error("this is not a results file: {0}")]
    Shape(serde_json::Error),
    /// Cut short, by an incomplete copy or a full disk.
    #[error("this results file ends too early, at line {line}; the rest is missing")]
    Cut {
        /// The last line there is.
        line: usize,
    },
    /// Written by a newer throng.
    #[error(
        "this results file has schema {found}; this throng reads up to {SCHEMA}: use the throng that wrote it, or newer"
    )]
    Newer {
        /// The file's schema.
        found: u64,
    },
}

impl FileError {
    /// Why `text` could not be read, as far as serde_json tells.
    fn of(text: &str, error: serde_json::Error) -> Self {
        // A number cut behind its sign or its point is a wrong one to serde_json, not an end.
        let last_line = text.lines().last().unwrap_or_default();
        let is_at_end = error.line() == text.lines().count() && error.column() == last_line.len();
        let cut = error.is_eof() || error.is_syntax() && is_at_end;
        // An empty file was never one of ours.
        if cut && error.line() > 1 { Self::Cut { line: error.line() } } else { Self::Shape(error) }
    }
}

/// The file's text for a run, indented, ending in a newline.
pub fn write(run: &Run) -> String {
    Frame::of(run).around(run.steps.iter().map(|step| write_step(run, step)))
}

/// The same in a line, a third shorter: for folders with thousands of files.
pub fn write_line(run: &Run) -> String {
    serde_json::to_string(&run::FileRun::of(run)).expect("the file's types are plain data") + "\n"
}

/// Reads what [`write()`] or [`write_line`] wrote.
///
/// # Errors
/// Not JSON or not a results file; a newer schema; a damaged histogram.
pub fn read(text: &str) -> Result<Run, FileError> {
    #[derive(Deserialize)]
    struct Head {
        schema: u64,
    }
    let shown = printable(text);
    let text = shown.as_ref();
    // The number is read on its own first: the rest of a newer file may not fit this version's types.
    let Head { schema } = parse(text)?;
    if schema > SCHEMA {
        return Err(FileError::Newer { found: schema });
    }
    Ok(parse::<run::FileRun>(text)?.into())
}

/// A file's text without the characters in its strings that do not show as what they are, except tabs and
/// line feeds: names, versions and examples of errors go to terminals, and a file may come from anybody.
fn printable(text: &str) -> Cow<'_, str> {
    let is_hidden = |c: char| !stats::is_shown(c) && !matches!(c, '\t' | '\n' | '\r');
    let has_escapes = ["\\u", "\\b", "\\f", "\\r"].iter().any(|escape| text.contains(escape));
    // As are nearly all files: no copy is made of them.
    if !has_escapes && !text.contains(is_hidden) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(|c: char| c == '\\' || is_hidden(c)) {
        shown.push_str(&rest[..at]);
        rest = &rest[at..];
        // By characters: what stands behind a backslash may be one of several bytes.
        let escape = rest.char_indices().nth(2).map_or(rest, |(end, _)| &rest[..end]);
        let number = || rest.get(2..6).and_then(|digits| u32::from_str_radix(digits, 16).ok());
        let taken = match escape {
            "\\b" | "\\f" | "\\r" => escape.len(),
            "\\u" if number().and_then(char::from_u32).is_some_and(|c| c == '\r' || is_hidden(c)) => 6,
            _ if escape.starts_with('\\') => {
                shown.push_str(escape);
                escape.len()
            }
            _ => rest.chars().next().map_or(0, char::len_utf8),
        };
        rest = &rest[taken..];
    }
    shown.push_str(rest);
    Cow::Owned(shown)
}

fn parse<T: DeserializeOwned>(text: &str) -> Result<T, FileError> {
    serde_json::from_str(text).map_err(|error| FileError::of(text, error))
}

#[cfg(test)]
mod tests;
