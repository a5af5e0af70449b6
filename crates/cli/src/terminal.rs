//! The terminal that standard output is, if it is one.

use std::io::{self, IsTerminal};

use ratatui::crossterm::terminal;
use report::Style;
use results::format::printable_lines;

use crate::exit::allows_colour;
use crate::locale;

/// Columns where nothing says how many there are.
const COLUMNS: usize = 80;

/// The columns that text for people may have.
pub(crate) fn columns() -> usize {
    known_columns().unwrap_or(COLUMNS)
}

/// The style of text that fits it.
pub(crate) fn style() -> Style {
    let ansi = io::stdout().is_terminal() && allows_colour();
    Style { ansi, columns: known_columns(), ascii: locale::is_ascii(), ..Style::PLAIN }
}

/// Text without colours, in letters that it has; names in it may come from anybody.
pub(crate) fn in_letters(text: String) -> String {
    style().in_letters(printable_lines(&text))
}

fn known_columns() -> Option<usize> {
    io::stdout().is_terminal().then(terminal::size).and_then(Result::ok).map(|(columns, _)| columns.into())
}
