//! A results file in pieces, so that one that grows by a step is not written anew.
//!
//! The text before the steps never changes, and neither does a step that has ended. The text behind them
//! does: it says how many are whole, and what they come to. So a file grows by writing a step and a new tail
//! over the old tail. A crash in the middle of that tears the end of the file; [`salvage`](super::salvage)
//! reads what stands before.

use serde::Serialize;

use super::run::FileRun;
use super::step::FileStep;
use crate::run::Run;
use crate::step::Step;

/// The line that the steps stand behind; only the root's fields are indented by two spaces.
pub(super) const STEPS: &str = "\n  \"steps\": [";

/// A results file without its steps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The text before the steps.
    pub head: String,
    /// The text behind the steps.
    pub tail: String,
}

impl Frame {
    /// The frame of the run as it is now.
    pub fn of(run: &Run) -> Self {
        let text = pretty(&FileRun::without_steps(run)) + "\n";
        // The first one: strings before it have their line feeds escaped, so that none can look like it.
        let (head, tail) = text.split_once(STEPS).expect("a run's file has steps");
        Frame { head: format!("{head}{STEPS}"), tail: tail.into() }
    }

    /// The frame that the file of a run without steps consists of.
    pub fn parse(text: &str) -> Option<Self> {
        let (head, tail) = text.split_once(STEPS)?;
        tail.starts_with(']').then(|| Frame { head: format!("{head}{STEPS}"), tail: tail.into() })
    }

    /// The text behind the last of `steps` steps.
    pub fn end(&self, steps: usize) -> String {
        if steps == 0 { self.tail.clone() } else { format!("\n  {}", self.tail) }
    }

    /// The whole file, of these steps as [`write_step`] writes them.
    pub fn around<S: AsRef<str>>(&self, steps: impl IntoIterator<Item = S>) -> String {
        let mut text = self.head.clone();
        let mut count = 0;
        for step in steps {
            text.push_str(&separated(count, step.as_ref()));
            count += 1;
        }
        text.push_str(&self.end(count));
        text
    }
}

/// A step of the run as it stands in the file.
pub fn write_step(run: &Run, step: &Step) -> String {
    // Text within strings has no line feeds of its own.
    pretty(&FileStep::of(run.scenario, step)).replace('\n', "\n    ")
}

/// The text of the run's steps behind the first `before`, which stand in the file already.
pub fn write_steps_behind(run: &Run, before: usize) -> String {
    let steps = run.steps.iter().enumerate().skip(before);
    steps.map(|(index, step)| separated(index, &write_step(run, step))).collect()
}

/// A step's text with what separates it from those `before` it.
fn separated(before: usize, step: &str) -> String {
    format!("{}\n    {step}", if before == 0 { "" } else { "," })
}

fn pretty(value: &impl Serialize) -> String {
    serde_json::to_string_pretty(value).expect("the file's types are plain data")
}
