//! The rules that fail a job: `--fail-if`.

use results::Scenario;
use results::compare::{Comparison, Rule};
use stats::compare::Ruling;

use crate::exit::{Exit, Failure};
use crate::stderr;

/// What `--fail-if` says of runs of that scenario.
pub(super) fn read(texts: &[String], scenario: Scenario) -> Result<Vec<Rule>, Failure> {
    let rule =
        |text: &String| Rule::parse(text, scenario).map_err(|error| Failure::usage("--fail-if", error));
    texts.iter().map(rule).collect()
}

/// Says on standard error what became of each rule. One that is broken decides, then one that cannot be told.
pub(super) fn check(rules: &[Rule], found: &Comparison) -> Result<Exit, Failure> {
    let mut exit = Exit::Fine;
    for rule in rules {
        let ruled = rule.check(found);
        if ruled.is_empty() {
            let why = "its figure was not measured at any level that both sides have";
            return Err(Failure::could_not(format!("tell whether '{}'", rule.text()), why));
        }
        for ruled in &ruled {
            stderr::line(format_args!(
                "throng: {} (--fail-if '{}')",
                report::ruling(rule, ruled),
                rule.text()
            ));
            exit = match (exit, ruled.ruling) {
                (_, Ruling::Broken) => Exit::LimitBroken,
                (Exit::Fine, Ruling::CannotTell) => Exit::CannotTell,
                (before, _) => before,
            };
        }
    }
    Ok(exit)
}
