//! Text for a terminal: the lines of each step as it ends, and the block that ends a run.

use results::Run;

use crate::Style;

mod absences;
mod http;
mod row;
mod says;
mod step;
mod summary;

pub use step::step_lines;
pub use summary::summary;
pub(crate) use summary::{LEVEL_NAMES, ceiling, level_cells};

/// The whole run: every step, and the summary.
pub fn text(run: &Run, style: &Style) -> String {
    let steps: String = run.steps.iter().map(|step| step_lines(run.scenario, step, style)).collect();
    format!("{steps}\n{}", summary(run, style))
}
