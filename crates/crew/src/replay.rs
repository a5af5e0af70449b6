//! A step by reports that are there already: what a coordinator makes of whatever workers may say.

use std::sync::mpsc;

use engine::Report;
use load::{Plan, StepOrder};
use results::Step;

use crate::crew::Crew;
use crate::error::Broken;
use crate::local::LocalWorkers;
use crate::observer::{Observer, Progress};
use crate::watch::ServerWatch;

/// An observer that ignores everything.
struct NullObserver;

impl Observer for NullObserver {
    fn handle_progress(&mut self, _: &Progress) {}

    fn is_interrupted(&self) -> bool {
        false
    }
}

/// Measures a step from the `reports` of `workers` workers, in this order: as a run does, but without
/// workers, and without waiting.
///
/// # Errors
/// A report cannot be true, or what is needed for the step does not come.
pub fn replay(plan: &Plan, workers: u16, order: StepOrder, reports: Vec<Report>) -> Result<Step, Broken> {
    let (sender, inbox) = mpsc::channel();
    for report in reports {
        let _ = sender.send(report);
    }
    drop(sender);
    let local = LocalWorkers::Children { all: Vec::new(), rss_before: Some(0) };
    let mut crew = Crew::of_agents(plan, Box::new(local), workers, inbox, ServerWatch::new(None, false));
    crew.measure(order, &mut NullObserver)
}
