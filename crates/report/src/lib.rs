//! Results to text, Markdown, CSV and JSON: one file per exporter, all of them pure functions of a run.

use results::Run;

mod csv;
mod format;
mod markdown;
mod style;
mod text;

pub use csv::csv;
pub use format::{bytes, count, duration, rate};
pub use markdown::markdown;
pub use style::{Colour, Style};
pub use text::{step_lines, summary, text};

/// What a run can be exported to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// For people at a terminal.
    Text,
    /// The results file itself, schema 1.
    Json,
    /// One row per step, for spreadsheets.
    Csv,
    /// Tables for issues, READMEs and blogs.
    Markdown,
}

/// The whole run in one format, ending in a newline. Only text looks at the style.
pub fn render(run: &Run, format: Format, style: &Style) -> String {
    match format {
        Format::Text => text(run, style),
        Format::Json => results::file::write(run),
        Format::Csv => csv(run),
        Format::Markdown => markdown(run),
    }
}

#[cfg(test)]
mod sample;
