//! The limits of a run, each told once for all of its steps.

use crate::conclusion::{asked, failures};
use crate::limit::LimitOutcome;
use crate::run::Run;
use crate::step::Step;
use crate::verdict;

/// A limit over all steps of a run.
pub struct RunLimit<'a> {
    /// Its outcome at the lightest step that broke it, or at the heaviest.
    pub outcome: &'a LimitOutcome,
    /// True if the user asked for it: it is neither a standing one, nor the end of the steps.
    pub is_asked: bool,
    /// True if the run fails by it: it was not broken to find where it breaks.
    pub is_failure: bool,
    /// The load at which it broke, if the run has several.
    at: Option<String>,
}

impl<'a> RunLimit<'a> {
    /// The limits that the user asked for, the end of the steps, and the standing limits.
    pub fn all(run: &'a Run) -> Vec<RunLimit<'a>> {
        let asked_for = verdict::folded(&run.steps, |step| step.limits.iter());
        let beside = verdict::folded(&run.steps, |step| step.stop.iter().chain(&step.standing));
        let limit = |is_asked| {
            move |(outcome, step): (&'a LimitOutcome, &Step)| RunLimit {
                outcome,
                is_asked,
                is_failure: failures(run, step).any(|failed| failed.of == outcome.of),
                at: (!outcome.passed && run.steps.len() > 1).then(|| asked(run.scenario, step)),
            }
        };
        asked_for.into_iter().map(limit(true)).chain(beside.into_iter().map(limit(false))).collect()
    }

    /// Its outcome in words: `kept`, `broken at 4,000 clients`.
    pub fn outcome_text(&self) -> String {
        let at = self.at.as_ref().map(|at| format!(" at {at}")).unwrap_or_default();
        match (self.outcome.passed, self.is_failure) {
            (true, _) => "kept".into(),
            (false, true) => format!("broken{at}"),
            (false, false) => format!("broken{at}, where the steps end"),
        }
    }
}
