//! Results to text, Markdown, CSV and JSON: one file per exporter, all of them pure functions of a run.

mod style;
mod text;

pub use style::Style;
pub use text::{step_lines, summary};
