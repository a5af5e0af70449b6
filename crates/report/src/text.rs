//! Text for a terminal: a line that says what runs, its steps as they end, and the block that ends a run.
//!
//! A run of one step has a page of checks, latencies and resources; one of several has a table with a row for
//! each. Both end in RESULT, WHY, CAVEATS and NEXT. With every detail, and for readers of other programs'
//! lines, each step is a block of its own ([`blocks`]).

use results::{Run, Step};
use stats::Timed;

use crate::style::{Detail, Style, Words};

mod absences;
mod blocks;
mod end;
mod http;
mod row;
mod says;
mod single;
mod told;
mod walk;

pub use end::Suggestion;
pub(crate) use end::{LEVEL_NAMES, ceiling, level_cells, share_of_ceiling};

/// How steps are laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Layout {
    /// Not at all.
    Nothing,
    /// The only one: everything that is to be said of it.
    Single,
    /// A row each, of this metric, once there is one.
    Rows(Option<Timed>),
    /// A block each.
    Blocks,
}

/// Prints one run, from its first line to its last.
#[derive(Clone, Debug)]
pub struct Printer {
    style: Style,
    layout: Layout,
}

impl Printer {
    /// A printer for a run; `is_walk`: it may have several steps.
    pub fn new(is_walk: bool, style: Style) -> Self {
        let layout = match (style.detail, style.words) {
            (Detail::Result, _) => Layout::Nothing,
            (Detail::Full, _) | (_, Words::WebsocketBench(_) | Words::Wsdemo) => Layout::Blocks,
            (Detail::Usual, Words::Own) if is_walk => Layout::Rows(None),
            (Detail::Usual, Words::Own) => Layout::Single,
        };
        Self { style, layout }
    }

    /// The line that says what runs, and against what; printed before the first step.
    pub fn head(&self, run: &Run) -> String {
        let text = match self.layout {
            Layout::Nothing | Layout::Blocks => String::new(),
            Layout::Single | Layout::Rows(_) => told::head(run),
        };
        self.style.in_letters(text)
    }

    /// The lines of a step, for printing as soon as it ends.
    pub fn step(&mut self, run: &Run, step: &Step) -> String {
        let text = match &mut self.layout {
            Layout::Nothing => String::new(),
            Layout::Single => single::lines(run.scenario, step, &self.style),
            Layout::Rows(Some(timed)) => walk::row(run.scenario, step, *timed, &self.style),
            // The first step decides the metric: the names of the columns stand above all rows.
            Layout::Rows(timed) => {
                let timed = *timed.insert(walk::metric(step));
                walk::names(step, timed, &self.style) + &walk::row(run.scenario, step, timed, &self.style)
            }
            Layout::Blocks => blocks::lines(run.scenario, step, &self.style),
        };
        self.style.in_letters(text)
    }

    /// The block that ends a run, each line ending in a newline; `next`: what to do next.
    pub fn end(&self, run: &Run, next: &[Suggestion]) -> String {
        let text = match self.layout {
            Layout::Nothing => end::result(run, &self.style),
            Layout::Single | Layout::Rows(_) | Layout::Blocks => {
                let is_walk = matches!(self.layout, Layout::Rows(_));
                let walked = if is_walk { walk::beside(run, &self.style) } else { String::new() };
                format!("{walked}\n{}{}", end::lines(run, &self.style), end::next(next, &self.style))
            }
        };
        self.style.in_letters(text)
    }
}

/// The whole run: every step, and the summary.
pub fn text(run: &Run, style: &Style) -> String {
    let mut printer = Printer::new(run.steps.len() > 1, *style);
    let mut text = printer.head(run);
    for step in &run.steps {
        text += &printer.step(run, step);
    }
    text + &printer.end(run, &[])
}
