//! The step and the figure that stand for a run.

use results::conclusion::heaviest_kept;
use results::{Run, Step};
use stats::Histogram;

/// The step that stands for the run: the heaviest that kept its limits, or the last.
pub(super) fn shown(run: &Run) -> usize {
    let kept = heaviest_kept(run).and_then(|kept| run.steps.iter().position(|step| std::ptr::eq(step, kept)));
    kept.unwrap_or(run.steps.len().saturating_sub(1))
}

/// What a reader means by latency, where the run has it.
pub(super) fn main_figure(step: &Step) -> (&'static str, &Histogram) {
    let (name, figure) = main_figure_name(step);
    (name, step.figures.get(figure))
}

/// The same by its names, for readers and in [`results::Figures::get`].
pub(super) fn main_figure_name(step: &Step) -> (&'static str, &'static str) {
    let candidates = [("round trip", "rtt"), ("recovery", "recovery")];
    let found = candidates.into_iter().find(|(_, figure)| !step.figures.get(figure).is_empty());
    found.unwrap_or(("handshake", "handshake"))
}
