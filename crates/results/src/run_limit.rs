//! The limits of a run, each told once for all of its steps.

use crate::conclusion::{FailureRule, asked};
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
        let asked_for = verdict::folded(&run.steps, &run.verdict, |step| step.limits.iter());
        let beside = verdict::folded(&run.steps, &run.verdict, |step| step.stop.iter().chain(&step.standing));
        let rule = FailureRule::of(run);
        let limit = |is_asked| {
            let rule = &rule;
            move |(outcome, step): (&'a LimitOutcome, &Step)| RunLimit {
                outcome,
                is_asked,
                is_failure: rule.failures(step).any(|failed| failed.of == outcome.of),
                at: (!outcome.passed() && run.steps.len() > 1).then(|| asked(run.scenario, step)),
            }
        };
        asked_for.into_iter().map(limit(true)).chain(beside.into_iter().map(limit(false))).collect()
    }

    /// Its outcome in words: `kept`, `broken at 4,000 clients`.
    pub fn outcome_text(&self) -> String {
        let at = self.at.as_ref().map(|at| format!(" at {at}")).unwrap_or_default();
        match (self.outcome.passed(), self.is_failure) {
            (true, _) => "kept".into(),
            (false, true) => format!("broken{at}"),
            (false, false) => format!("broken{at} (the run goes on until it breaks)"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Scenario;
    use crate::limit::LimitStatus;

    fn step(clients: u64, passed: bool) -> Step {
        let of = |text| LimitOutcome {
            status: LimitStatus::of(passed),
            actual: Some(1.0),
            ..LimitOutcome::of_text(text)
        };
        Step { clients, limits: vec![of("p99<5ms")], stop: Some(of("p95<=5ms")), ..Step::default() }
    }

    #[test]
    fn limits_break_at_the_lightest_load() {
        let steps = [step(30, false), step(10, true), step(20, false)].to_vec();
        let run = Run { scenario: Scenario::Echo, steps, ..Run::default() };
        let texts: Vec<String> = RunLimit::all(&run).iter().map(RunLimit::outcome_text).collect();
        assert_eq!(texts[0], "broken at 20 clients");
        assert!(texts[1].starts_with("broken at 20 clients ("), "a walk ends there: {texts:?}");
        let alone = Run { steps: vec![step(20, false)], ..run };
        let limits = RunLimit::all(&alone);
        assert!(limits.iter().all(|limit| limit.is_failure && limit.outcome_text() == "broken"));
    }
}
