//! The subject of a page: runs, and the step and the figure that stand for each.

use results::conclusion::heaviest_kept;
use results::{Run, Step, Unit};
use stats::{Histogram, Timed};

/// A figure that somebody published, beside what was measured of the same.
#[derive(Clone, Debug, PartialEq)]
pub struct Published {
    /// The scenario it is of.
    pub scenario: String,
    /// The server.
    pub target: String,
    /// The figure's name: `rtt.p99`, `capacity`.
    pub figure: String,
    /// The unit of both.
    pub unit: Unit,
    /// As it was published.
    pub then: f64,
    /// As it was measured; `None` where that failed.
    pub now: Option<f64>,
}

/// The subject of a page.
#[derive(Clone, Copy, Debug, Default)]
pub struct Page<'a> {
    /// At least one.
    pub runs: &'a [Run],
    /// The other repeats of each run, in the order of the runs; what is not there has none.
    pub repeats: &'a [Vec<Run>],
    /// Published figures of the same.
    pub published: &'a [Published],
    /// A link back to where its readers came from, if there is one.
    pub home: Option<&'a str>,
}

impl<'a> Page<'a> {
    /// Each run with its other repeats.
    pub(super) fn with_repeats(&self) -> impl Iterator<Item = (&'a Run, &'a [Run])> {
        let none: &[Run] = &[];
        // Without a list, or with one that is too short, each run still has its turn.
        let repeats = self.repeats.iter().map(Vec::as_slice).chain(std::iter::repeat(none));
        self.runs.iter().zip(repeats)
    }
}

/// The step that stands for the run: the heaviest that kept its limits, or the last.
pub(super) fn shown(run: &Run) -> usize {
    let kept = heaviest_kept(run).and_then(|kept| run.steps.iter().position(|step| std::ptr::eq(step, kept)));
    kept.unwrap_or(run.steps.len().saturating_sub(1))
}

/// The run's figure that a reader means by latency, if it has one.
pub(super) fn main_figure(step: &Step) -> (&'static str, &Histogram) {
    let (name, figure) = main_figure_name(step);
    (name, step.figures.get(figure))
}

/// The same by what readers call it.
pub(super) fn main_figure_name(step: &Step) -> (&'static str, Timed) {
    let found = MAIN_FIGURES.into_iter().find(|(_, timed)| !step.figures.get(*timed).is_empty());
    found.unwrap_or(HANDSHAKE)
}

const HANDSHAKE: (&str, Timed) = ("handshake", Timed::Handshake);

/// The figures that a reader means by latency, with what readers call them: the first of these that a step has.
const MAIN_FIGURES: [(&str, Timed); 5] = [
    ("first event", Timed::First),
    ("round trip", Timed::Rtt),
    ("recovery", Timed::Recovery),
    ("gap between pushes", Timed::PushGap),
    HANDSHAKE,
];

/// Names of the figures that a reader means by latency, in the order of preference: for the page of a live run.
pub fn latency_names() -> [&'static str; MAIN_FIGURES.len()] {
    MAIN_FIGURES.map(|(_, timed)| timed.name())
}
