//! JUnit's XML, which every CI system shows: a test suite for each step, a test case for each limit.
//!
//! The dialect is the one that Jenkins' and GitLab's readers share: `testsuites`, `testsuite`, `testcase`, with
//! `failure`, `skipped` and `system-out` in it.

use results::conclusion::{self, FailureRule};
use results::finding::{Finding, Loss};
use results::format::{counted, printable};
use results::{LimitOutcome, Run, Scenario, Step};

use crate::names::unique;

/// Words behind a broken limit of a search or a walk.
const GOES_ON: &str = "the run goes on until it breaks";

/// The run as JUnit's XML. A limit by which the run fails is a failure; one that broke on the way of a
/// search, or at the end of a walk, is skipped, for that is how they find their answer. A step without limits
/// has one case, so that it is seen to have run. So has one in which no client got in or nothing was
/// answered, and there the case is an error; and one that the user ended before its load began, where it is
/// skipped. A run that had not ended has a suite with an error more: of what did not run, nothing was kept.
pub fn junit(run: &Run) -> String {
    let rule = FailureRule::of(run);
    let suites = run.steps.iter().zip(loads(run)).map(|(step, load)| suite(run, &rule, step, &load));
    let suites: Vec<Suite> = suites.chain(run.resume_after.map(|whole| unended(run, whole))).collect();
    let sum = |of: fn(&Suite) -> usize| suites.iter().map(of).sum::<usize>();
    let time_ns: u64 = run.steps.iter().map(|step| step.duration_ns).sum();
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"{}\" tests=\"{}\" failures=\"{}\" skipped=\"{}\" errors=\"{}\" time=\"{}\">\n{}</testsuites>\n",
        escape(&title(run)),
        sum(|suite| suite.tests),
        sum(|suite| suite.failures),
        sum(|suite| suite.skipped),
        sum(|suite| suite.errors),
        seconds(time_ns),
        suites.into_iter().map(|suite| suite.xml).collect::<String>(),
    )
}

/// The run's title: `throng broadcast node-ws`.
fn title(run: &Run) -> String {
    format!("throng {} {}", run.scenario, run.target.name.as_ref().unwrap_or(&run.target.url))
}

fn class(run: &Run) -> String {
    format!("throng.{}", run.scenario)
}

/// The load of each step, by which it is told from the others; one that is asked again has a number.
fn loads(run: &Run) -> Vec<String> {
    unique(run.steps.iter().map(|step| conclusion::asked(run.scenario, step)))
}

struct Suite {
    tests: usize,
    failures: usize,
    skipped: usize,
    errors: usize,
    xml: String,
}

fn suite(run: &Run, rule: &FailureRule, step: &Step, load: &str) -> Suite {
    let is_search = rule.breaks_on_purpose();
    let limits = limits(step);
    let is_failure = |limit: &LimitOutcome| rule.failures(step).any(|failed| failed.of == limit.of);
    let failures = limits.iter().filter(|limit| !limit.passed() && is_failure(limit)).count();
    let mut skipped = limits.iter().filter(|limit| !limit.passed()).count() - failures;
    // GitLab shows no name of a suite.
    let head = |what: &str| attributes(&class(run), &format!("{load}: {what}"), step.duration_ns);
    let caveats: String = step.caveats.iter().map(|caveat| escape(&caveat.to_string()) + "\n").collect();
    let said = if caveats.is_empty() { caveats } else { format!("<system-out>{caveats}</system-out>") };
    let case = |limit: &LimitOutcome| {
        let outcome = outcome(run.scenario, step, limit, is_failure(limit)).map(|outcome| outcome + &said);
        testcase(&head(&limit.of.to_string()), outcome)
    };
    let mut cases: String = limits.iter().copied().map(case).collect();
    // A search may well go on until no client gets in.
    let lost = |step: &Step| conclusion::total(run.scenario, step);
    let dead = lost(step).filter(|_| !is_search || run.steps.iter().all(|step| lost(step).is_some()));
    let measured = |outcome| testcase(&head("measured"), outcome);
    if let Some(loss) = &dead {
        cases += &measured(Some(error(step, loss) + &said));
    } else if limits.is_empty() {
        cases = measured(None);
    }
    let mut errors = usize::from(dead.is_some());
    let mut tests = (limits.len() + errors).max(1);
    // Of a load that never began, or never answered, no limit was kept.
    if let Some(why) = conclusion::untold(step).filter(|_| step.has_passed()) {
        cases = measured(Some(format!("<skipped message=\"{why}\"/>")));
        (tests, skipped, errors) = (1, 1, 0);
    }
    if !said.is_empty() {
        cases += &format!("    {said}\n");
    }
    let xml = format!(
        "  <testsuite name=\"{}\" tests=\"{tests}\" failures=\"{failures}\" errors=\"{errors}\" skipped=\"{skipped}\" time=\"{}\">\n{cases}  </testsuite>\n",
        escape(load),
        seconds(step.duration_ns),
    );
    Suite { tests, failures, skipped, errors, xml }
}

/// The suite of a run that was cut short, or is still under way, after so many whole steps.
fn unended(run: &Run, whole: u32) -> Suite {
    let error = format!(
        "<error message=\"the run had not ended: {} measured\"/>",
        counted(whole.into(), "whole step")
    );
    let case = testcase(&attributes(&class(run), "ended", 0), Some(error));
    let xml = format!(
        "  <testsuite name=\"the run\" tests=\"1\" failures=\"0\" errors=\"1\" skipped=\"0\" time=\"{}\">\n{case}  </testsuite>\n",
        seconds(0),
    );
    Suite { tests: 1, failures: 0, skipped: 0, errors: 1, xml }
}

/// The error of a step in which all was lost, with the most frequent error of its connections.
fn error(step: &Step, loss: &Loss) -> String {
    let main = step.errors.iter().max_by_key(|(_, error)| error.count);
    let example = main.map(|(kind, error)| format!("{kind}: {}", error.example));
    element("error", loss, example.as_deref())
}

/// A failure or an error. GitLab shows the text in it and no attributes, others the message.
fn element(name: &str, loss: &Loss, example: Option<&str>) -> String {
    let message = escape(&loss.to_string());
    let example = example.map(|example| format!(": {}", escape(example))).unwrap_or_default();
    format!("<{name} type=\"{}\" message=\"{message}\">{message}{example}</{name}>", loss.key())
}

/// The limits of a step. Of cases with one name GitLab shows the first alone, so none has the name of another.
fn limits(step: &Step) -> Vec<&LimitOutcome> {
    let mut limits: Vec<&LimitOutcome> = Vec::new();
    for limit in step.limits.iter().chain(&step.stop).chain(&step.standing) {
        if !limits.iter().any(|known| known.of == limit.of) {
            limits.push(limit);
        }
    }
    limits
}

/// The outcome of a broken limit; `None` if it was kept.
fn outcome(scenario: Scenario, step: &Step, limit: &LimitOutcome, is_failure: bool) -> Option<String> {
    if limit.passed() {
        return None;
    }
    let loss = conclusion::failing(scenario, step, limit);
    Some(match is_failure {
        true => element("failure", &loss, None),
        false => format!("<skipped message=\"{}: {GOES_ON}\"/>", escape(&loss.to_string())),
    })
}

/// A test case of these attributes, with what it holds.
fn testcase(attributes: &str, holds: Option<String>) -> String {
    match holds {
        Some(holds) => format!("    <testcase {attributes}>{holds}</testcase>\n"),
        None => format!("    <testcase {attributes}/>\n"),
    }
}

fn attributes(class: &str, name: &str, ns: u64) -> String {
    format!("classname=\"{}\" name=\"{}\" time=\"{}\"", escape(class), escape(name), seconds(ns))
}

fn seconds(ns: u64) -> String {
    format!("{:.3}", ns as f64 / 1e9)
}

/// For attributes and text alike; XML 1.0 has no way to write most control characters.
fn escape(text: &str) -> String {
    let text = printable(text);
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use insta::assert_snapshot;
    use results::finding::Caveat;
    use results::{LimitStatus, Requirement, standing};

    use super::*;
    use crate::sample;

    fn limited() -> Run {
        let mut run = sample::broadcast_run();
        for step in &mut run.steps {
            let rtt = step.stop.take().expect("the sample has one");
            let missing = LimitOutcome {
                status: LimitStatus::of(step.counts.missing == 0),
                actual: Some(step.counts.missing as f64),
                ..LimitOutcome::unmeasured(Requirement::parse("missing==0", Scenario::Broadcast))
            };
            step.limits = vec![rtt, missing];
        }
        run
    }

    #[test]
    fn limits_are_cases_and_steps_suites() {
        assert_snapshot!(sample::keyed(&limited(), &junit(&limited())), @r#"
        <?xml version="1.0" encoding="UTF-8"?>
        <testsuites name="throng broadcast node-ws" tests="12" failures="4" skipped="0" errors="0" time="40.000">
          <testsuite name="1,000 clients" tests="6" failures="0" errors="0" skipped="0" time="20.000">
            <testcase classname="throng.broadcast" name="1,000 clients: rtt.p95&lt;=250ms" time="20.000"/>
            <testcase classname="throng.broadcast" name="1,000 clients: missing==0" time="20.000"/>
            <testcase classname="throng.broadcast" name="1,000 clients: unusable==0" time="20.000"/>
            <testcase classname="throng.broadcast" name="1,000 clients: disconnects==0" time="20.000"/>
            <testcase classname="throng.broadcast" name="1,000 clients: unacknowledged==0" time="20.000"/>
            <testcase classname="throng.broadcast" name="1,000 clients: wrong==0" time="20.000"/>
          </testsuite>
          <testsuite name="4,000 clients" tests="6" failures="4" errors="0" skipped="0" time="20.000">
            <testcase classname="throng.broadcast" name="4,000 clients: rtt.p95&lt;=250ms" time="20.000"><failure type="loss.limit" message="rtt.p95&lt;=250ms was 6.40s">rtt.p95&lt;=250ms was 6.40s</failure><system-out>caveat.samples
        </system-out></testcase>
            <testcase classname="throng.broadcast" name="4,000 clients: missing==0" time="20.000"><failure type="loss.missing" message="loss.missing">loss.missing</failure><system-out>caveat.samples
        </system-out></testcase>
            <testcase classname="throng.broadcast" name="4,000 clients: unusable==0" time="20.000"><failure type="loss.clients" message="loss.clients">loss.clients</failure><system-out>caveat.samples
        </system-out></testcase>
            <testcase classname="throng.broadcast" name="4,000 clients: disconnects==0" time="20.000"/>
            <testcase classname="throng.broadcast" name="4,000 clients: unacknowledged==0" time="20.000"/>
            <testcase classname="throng.broadcast" name="4,000 clients: wrong==0" time="20.000"><failure type="loss.wrong" message="loss.wrong">loss.wrong</failure><system-out>caveat.samples
        </system-out></testcase>
            <system-out>caveat.samples
        </system-out>
          </testsuite>
        </testsuites>
        "#);
    }

    #[test]
    fn each_case_has_a_name_of_its_own() {
        let mut run = limited();
        run.steps.push(run.steps[1].clone());
        for step in &mut run.steps {
            step.standing.clear();
        }
        let xml = junit(&run);
        let names: Vec<&str> = xml.lines().filter_map(|line| line.split("name=").nth(2)).collect();
        assert!(names.len() >= 6 && names.iter().collect::<HashSet<_>>().len() == names.len(), "{names:?}");
    }

    #[test]
    fn a_search_breaks_limits_on_purpose() {
        let mut run = limited();
        run.is_search = true;
        let xml = junit(&run);
        assert!(xml.contains("tests=\"12\" failures=\"0\" skipped=\"4\""), "{xml}");
        let skipped = format!("<skipped message=\"rtt.p95&lt;=250ms was 6.40s: {GOES_ON}\"/>");
        assert!(xml.contains(&skipped), "{xml}");
    }

    #[test]
    fn a_walk_fails_where_it_held_nothing() {
        let mut run = sample::broadcast_run();
        for step in &mut run.steps {
            step.standing.clear();
        }
        assert!(junit(&run).contains("tests=\"2\" failures=\"0\" skipped=\"1\""), "{}", junit(&run));
        run.steps.remove(0);
        assert!(junit(&run).contains("tests=\"1\" failures=\"1\" skipped=\"0\""), "{}", junit(&run));
    }

    #[test]
    fn steps_without_limits_are_shown() {
        assert_snapshot!(junit(&sample::idle_run()), @r#"
        <?xml version="1.0" encoding="UTF-8"?>
        <testsuites name="throng idle node-ws" tests="2" failures="0" skipped="0" errors="0" time="30.000">
          <testsuite name="20,000 clients" tests="2" failures="0" errors="0" skipped="0" time="30.000">
            <testcase classname="throng.idle" name="20,000 clients: unusable==0" time="30.000"/>
            <testcase classname="throng.idle" name="20,000 clients: disconnects==0" time="30.000"/>
          </testsuite>
        </testsuites>
        "#);
    }

    #[test]
    fn absent_servers_do_not_pass() {
        let mut run = sample::idle_run();
        let step = &mut run.steps[0];
        step.counts = stats::Counts { connects: 20, connect_failures: 20, ..Default::default() };
        step.errors.add("refused", 0, "connection refused");
        let error = |run: &Run| {
            let xml = junit(run);
            assert_eq!(xml.matches("errors=\"1\"").count(), 2, "of the suite, and of all: {xml}");
            let (_, rest) = xml.split_once("<error type=\"").expect("there is one");
            let (error, _) = rest.split_once("</error></testcase>").unwrap();
            assert!(error.ends_with(": refused: connection refused"), "{error}");
            error.split_once('"').unwrap().0.to_owned()
        };
        assert_eq!(error(&run), "loss.clients");
        // Nothing is missing where nothing was due.
        run.steps[0].limits = limited().steps[0].limits.clone();
        assert!(junit(&run).contains("tests=\"5\" failures=\"0\""), "{}", junit(&run));
        let step = &mut run.steps[0];
        let (connects, connected, sent, expected, missing) = (20, 20, 50, 50, 50);
        step.counts = stats::Counts { connects, connected, sent, expected, missing, ..Default::default() };
        assert_eq!(error(&run), "loss.missing");
        run.is_search = true;
        error(&run);
        run.steps.extend(sample::echo_run().steps);
        assert!(!junit(&run).contains("<error "), "a search may end like that: {}", junit(&run));
    }

    #[test]
    fn clients_of_earlier_steps_are_connected() {
        let mut run = sample::idle_run();
        let step = &mut run.steps[0];
        (step.reached, step.usable) = (Some(10_000), Some(10_000));
        step.counts = stats::Counts { connects: 10_000, connect_failures: 10_000, ..Default::default() };
        step.standing = standing::check(&standing::limits(Scenario::Idle, &[], 0.0), step);
        let xml = junit(&run);
        assert!(!xml.contains("<error ") && xml.matches(" failures=\"1\"").count() == 2, "{xml}");
        run.steps[0].usable = Some(0);
        assert!(!junit(&run).contains("<error "), "they were there, and were lost: {}", junit(&run));
    }

    #[test]
    fn messages_without_receivers_are_no_error() {
        let mut run = sample::broadcast_run();
        run.steps.truncate(1);
        (run.steps[0].counts.expected, run.steps[0].counts.received) = (0, 0);
        assert!(!junit(&run).contains("<error "), "{}", junit(&run));
    }

    #[test]
    fn unfinished_runs_do_not_pass() {
        let mut run = sample::idle_run();
        run.resume_after = Some(1);
        assert_snapshot!(junit(&run), @r#"
        <?xml version="1.0" encoding="UTF-8"?>
        <testsuites name="throng idle node-ws" tests="3" failures="0" skipped="0" errors="1" time="30.000">
          <testsuite name="20,000 clients" tests="2" failures="0" errors="0" skipped="0" time="30.000">
            <testcase classname="throng.idle" name="20,000 clients: unusable==0" time="30.000"/>
            <testcase classname="throng.idle" name="20,000 clients: disconnects==0" time="30.000"/>
          </testsuite>
          <testsuite name="the run" tests="1" failures="0" errors="1" skipped="0" time="0.000">
            <testcase classname="throng.idle" name="ended" time="0.000"><error message="the run had not ended: 1 whole step measured"/></testcase>
          </testsuite>
        </testsuites>
        "#);
    }

    #[test]
    fn a_load_that_never_began_has_kept_nothing() {
        let mut run = sample::idle_run();
        run.steps[0].interrupted = Some(results::Interrupted::Connecting);
        let xml = junit(&run);
        assert!(xml.contains("tests=\"1\" failures=\"0\" skipped=\"1\" errors=\"0\""), "{xml}");
        let skipped = "name=\"20,000 clients: measured\" time=\"30.000\"><skipped message=\"interrupted while 20,000 clients connected\"/>";
        assert!(xml.contains(skipped) && xml.matches("<testcase").count() == 1, "{xml}");
    }

    #[test]
    fn nothing_from_outside_is_markup() {
        let mut run = sample::idle_run();
        run.target.name = Some("a\"<b>&\u{1b}".into());
        run.steps[0].caveats = vec![Caveat::told("</system-out>".into())];
        let xml = junit(&run);
        assert!(xml.contains("name=\"throng idle a&quot;&lt;b&gt;&amp;·\""), "{xml}");
        assert!(xml.contains("<system-out>&lt;/system-out&gt;\n</system-out>"), "{xml}");
    }
}
