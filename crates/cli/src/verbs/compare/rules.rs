//! The rules that fail a job: `--fail-if`.

use results::Scenario;
use results::compare::{Comparison, Rule};
use stats::compare::Ruling;

use crate::exit::{Exit, Failure};
use crate::stderr;

const UNMEASURED: &str = "unclear: its metric was not measured at any level that both sides have";

/// Reads `--fail-if` for runs of that scenario.
pub(super) fn read(texts: &[String], scenario: Scenario) -> Result<Vec<Rule>, Failure> {
    let rule =
        |text: &String| Rule::parse(text, scenario).map_err(|error| Failure::usage("--fail-if", error));
    texts.iter().map(rule).collect()
}

/// Prints the outcome of each rule on standard error. A broken rule decides the exit code, then one that
/// cannot be told, for example because its figure was not measured.
pub(super) fn check(rules: &[Rule], found: &Comparison) -> Exit {
    let mut exit = Exit::Fine;
    for rule in rules {
        let ruled = rule.check(found);
        let unmeasured = ruled.is_empty().then(|| (UNMEASURED.to_owned(), Ruling::CannotTell));
        let ruled = ruled.iter().map(|ruled| (report::ruling(rule, ruled, found), ruled.ruling));
        for (said, ruling) in ruled.chain(unmeasured) {
            stderr::line(format_args!("throng: {said} (--fail-if '{}')", rule.text()));
            exit = match (exit, ruling) {
                (_, Ruling::Broken) => Exit::LimitBroken,
                (Exit::Fine, Ruling::CannotTell) => Exit::CannotTell,
                (before, _) => before,
            };
        }
    }
    exit
}
