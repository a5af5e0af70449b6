//! The subject of a page: runs, and the step and the figure that stand for each.

use results::{Run, Step, Unit};
use stats::{Count, Histogram, Timed};

/// A figure that somebody published, beside what was measured of the same.
#[derive(Clone, Debug, PartialEq)]
pub struct Published {
    /// The scenario it is of.
    pub scenario: String,
    /// The name of the server.
    pub target: String,
    /// The figure's name: `rtt.p99`, `capacity`.
    pub figure: String,
    /// The unit of `then` and `now`.
    pub unit: Unit,
    /// The published value, in `unit`.
    pub then: f64,
    /// As it was measured; `None` where that failed.
    pub now: Option<f64>,
    /// The sign before that: `≥ ` or `≤ ` where it is a bound.
    pub sign: &'static str,
}

/// The subject of a page.
#[derive(Clone, Copy, Debug, Default)]
pub struct Page<'a> {
    /// The runs, at least one; several are compared.
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

/// The figure of a step that a reader means by latency, if it has one: of a storm, how long clients were away.
pub(super) fn main_timed(step: &Step) -> Timed {
    if step.figures.recovery.is_empty() { step.main_timed() } else { Timed::Recovery }
}

/// Its values.
pub(super) fn main_figure(step: &Step) -> &Histogram {
    step.figures.get(main_timed(step))
}

/// Names of the figures that a reader means by latency, in the order of preference: for the page of a live run.
pub fn latency_names() -> impl Iterator<Item = &'static str> {
    [Timed::Recovery].into_iter().chain(Step::MAIN).map(Timed::name)
}

/// Names of the counts of deliveries that did not come, or came wrong: for the page of a live run.
pub fn defect_names() -> impl Iterator<Item = &'static str> {
    Count::ALL.into_iter().filter(|count| count.facts().is_defect).map(Count::name)
}
