//! Sections of rounds as they end: ranked, tied, unmeasured.

use results::finding::Cause;
use results::finding::quantity::Percent;
use results::{Bottleneck, Found, Scenario as Verb, Step};
use stats::Capacity;

use super::*;
use crate::record::{Claim, Entry, Head};
use crate::stage::{Stage, StageFailure};

#[test]
fn lost_rounds_leave_a_target_unknown() {
    let [capacity, rate] = ["capacity", "rate"].map(|name| Figure::parse(name, Verb::Echo).unwrap());
    assert!(is_unknown(&capacity, &[]) && is_unknown(&rate, &[]));
    // Nothing that passed is a capacity of 0; a rate that is not there is no reason to be ahead.
    let runs = [Run::default()];
    assert!(!is_unknown(&capacity, &runs) && !is_unknown(&rate, &runs));
    let wide = Capacity {
        clients: 50,
        low: 10,
        high: 100,
        confidence: 0.95,
        at_least: false,
        contradicted_by: None,
    };
    let [undecided, decided] = [wide, Capacity { low: 40, high: 60, ..wide }].map(|capacity| {
        let mut run = Run { is_search: true, ..Run::default() };
        run.verdict.capacity = Some(capacity);
        run
    });
    assert!(is_unknown(&capacity, std::slice::from_ref(&undecided)));
    assert!(!is_unknown(&capacity, &[undecided, decided]), "one round is known");
}

#[test]
fn secondary_figures_of_bounds_are_floors() {
    let figure = Figure::parse("capacity", Verb::Echo).unwrap();
    let run = |at_least| {
        let (clients, low, high, confidence) = (50, 50, 50, 0.95);
        let mut run = Run { is_search: true, ..Run::default() };
        run.verdict.capacity =
            Some(Capacity { clients, low, high, confidence, at_least, contradicted_by: None });
        run
    };
    assert_eq!(mean_of(&figure, &[run(false), run(false)], &figure), "50");
    assert_eq!(mean_of(&figure, &[run(false), run(true)], &figure), "≥ 50");
    let [rtt, sent] = ["rtt.p50", "rate"].map(|name| Figure::parse(name, Verb::Echo).unwrap());
    let cause = Cause::GeneratorCpu { cpu: Percent(99.0) };
    let mut run = run(false);
    run.verdict.bottleneck = Some(Found { bottleneck: Bottleneck::Generator, cause });
    let mut step = Step::default();
    step.figures.rtt.record_ns(8_000_000);
    run.steps.push(step);
    let is_ceiling = |first| mean_of(&rtt, std::slice::from_ref(&run), first).starts_with("≤ ");
    assert_eq!([&rtt, &sent, &figure].map(is_ceiling), [true, true, false]);
}

#[test]
fn shares_of_bounds_have_signs() {
    let shown = |figure: &str, bounds: [bool; 2]| {
        let figure = Figure::parse(figure, Verb::Echo).unwrap();
        let entrant = |(target, is_bound): (&str, bool)| Entrant {
            target: target.to_owned(),
            values: vec![2.0],
            reaches: vec![2.0],
            is_ranked: true,
            is_bound,
        };
        let entrants = [("a", bounds[0]), (REFERENCE_NAME, bounds[1])].map(entrant);
        let found = super::standings(&figure, &entrants, REFERENCE_NAME);
        share(&figure, found.iter().find(|one| one.target == "a").unwrap())
    };
    let all = [[false, false], [true, false], [false, true], [true, true]];
    assert_eq!(all.map(|bounds| shown("rate", bounds)), ["1.00", "≥ 1.00", "≤ 1.00", ""]);
    assert_eq!(all.map(|bounds| shown("rtt.p95", bounds)), ["1.00", "≤ 1.00", "≥ 1.00", ""]);
}

#[test]
fn controls_that_died_are_not_compared() {
    let suite = Suite::blank();
    let folder = tempfile::tempdir().unwrap();
    let mut record = Record::create(Claim::make(folder.path()).unwrap(), Head::blank()).unwrap();
    let control = |record: &Record| section(&suite.scenarios[0], record).unwrap().control;
    assert_eq!(control(&record), None);
    let entry = |target: &str, repeat, stage| {
        let trouble = Some(StageFailure::new(stage, "signal 9"));
        let (scenario, target) = ("echo".to_owned(), target.to_owned());
        Entry { scenario, target, repeat, trouble, ..Entry::default() }
    };
    let why = |record: &Record| match control(record) {
        Some(Control::Incomparable(why)) => why,
        other => panic!("{other:?}"),
    };
    record.entries = vec![entry(CONTROL_NAME, 1, Stage::Measure)];
    assert!(why(&record).ends_with("measure: signal 9"));
    record.entries = vec![entry(CONTROL_NAME, 1, Stage::Load), entry(REFERENCE_NAME, 1, Stage::Measure)];
    assert!(why(&record).starts_with("the first: ") && why(&record).ends_with("measure: signal 9"));
    record.entries = vec![entry(CONTROL_NAME, 1, Stage::Load), entry(REFERENCE_NAME, 1, Stage::Load)];
    assert_eq!(control(&record), None);
    record.entries.push(entry(CONTROL_NAME, 2, Stage::Load));
    assert!(why(&record).contains("no interval"));
}

#[test]
fn cut_off_command_lines_have_no_protocol() {
    let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
    let (cut, whole) = (words("echo ws://h/ --protocol"), words("echo ws://h/ --protocol raw"));
    assert_eq!(of_all(&[&cut]), "throng echo URL --protocol");
    assert_eq!(of_all(&[&cut, &whole]), "throng echo URL --protocol PROTOCOL");
    let older = words("echo ws://h/ --dialect json");
    assert_eq!(of_all(&[&older, &whole]), "throng echo URL --protocol PROTOCOL");
}
