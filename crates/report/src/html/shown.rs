//! The step and the figure that stand for a run.

use results::{Run, Step};
use stats::Histogram;

use crate::text::heaviest_kept;

/// The step that stands for the run: the heaviest that kept its limits, or the last.
pub(super) fn shown(run: &Run) -> usize {
    let kept = heaviest_kept(run).and_then(|kept| run.steps.iter().position(|step| std::ptr::eq(step, kept)));
    kept.unwrap_or(run.steps.len().saturating_sub(1))
}

/// What a reader means by latency, where the run has it.
pub(super) fn main_figure(step: &Step) -> (&'static str, &Histogram) {
    let figures = &step.figures;
    let candidates = [("round trip", &figures.rtt), ("recovery", &figures.recovery)];
    candidates.into_iter().find(|(_, figure)| !figure.is_empty()).unwrap_or(("handshake", &figures.handshake))
}
