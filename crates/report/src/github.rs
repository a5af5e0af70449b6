//! Workflow commands, by which a job of GitHub Actions is told what went wrong.
//!
//! `::error title=…::…`: the percent sign and line ends are escaped everywhere, commas and colons in properties
//! (docs.github.com, "Workflow commands for GitHub Actions"; its toolkit escapes the same).

use results::Run;
use results::conclusion::{self, FailureRule};
use results::format::printable;

/// An error for each limit by which a step fails the run, a warning for each reason not to trust the figures; a
/// line each.
pub fn annotations(run: &Run) -> String {
    let title = property(&format!("throng {}", run.verb()));
    let mut lines = String::new();
    let rule = FailureRule::of(run);
    for step in &run.steps {
        for limit in rule.failures(step) {
            let broken = conclusion::failing(run.scenario, step, limit);
            let text = format!("at {}: {broken}", conclusion::asked(run.scenario, step));
            lines += &format!("::error title={title}::{}\n", data(&text));
        }
    }
    for caveat in &run.verdict.caveats {
        lines += &format!("::warning title={title}::{}\n", data(&caveat.to_string()));
    }
    lines
}

fn data(text: &str) -> String {
    printable(text).replace('%', "%25")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use results::finding::{Caveat, Finding};

    use super::*;
    use crate::sample;

    fn limited() -> Run {
        let mut run = sample::broadcast_run();
        for step in &mut run.steps {
            step.limits.extend(step.stop.take());
        }
        run
    }

    #[test]
    fn broken_limits_are_errors_and_doubts_are_warnings() {
        assert_snapshot!(sample::keyed(&limited(), &annotations(&limited())), @"
        ::error title=throng broadcast::at 4,000 clients: rtt.p95<=250ms was 6.40s
        ::error title=throng broadcast::at 4,000 clients: loss.clients
        ::error title=throng broadcast::at 4,000 clients: loss.missing
        ::error title=throng broadcast::at 4,000 clients: loss.wrong
        ::warning title=throng broadcast::caveat.samples
        ");
    }

    #[test]
    fn titles_have_the_verb_that_was_typed() {
        let mut run = limited();
        run.command[1] = "audit".into();
        assert!(annotations(&run).starts_with("::error title=throng audit::"), "{}", annotations(&run));
    }

    #[test]
    fn a_search_has_no_errors() {
        let mut run = limited();
        run.is_search = true;
        assert!(!annotations(&run).contains("::error"), "{}", annotations(&run));
    }

    #[test]
    fn nothing_from_outside_is_a_command() {
        let mut run = sample::idle_run();
        run.verdict.caveats = vec![Caveat::told("100%\n::error::mine".into()).into()];
        assert_eq!(annotations(&run), "::warning title=throng idle::100%25·::error::mine\n");
    }
}
