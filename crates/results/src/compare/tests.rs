use stats::{Counts, Histogram};

use super::*;
use crate::run::Environment;
use crate::step::{Figures, Rates};

/// A run of echoes whose latency is about so many ms, for so many seconds.
fn echo(ms: f64, seconds: u64, seed: u64) -> Run {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut rtt = Histogram::new();
    let mut second = |t: u64| {
        let mut samples: Vec<u64> =
            (0..200).map(|_| (-ms * 1e6 * (1.0 - random.f64()).ln()) as u64 + 100_000).collect();
        samples.sort_unstable();
        samples.iter().for_each(|&ns| rtt.record_ns(ns));
        let of = |rank: usize| Some(samples[rank]);
        Second {
            t_ns: t * 1_000_000_000,
            received: 200,
            p50_ns: of(99),
            p95_ns: of(189),
            p99_ns: of(197),
            ..Second::default()
        }
    };
    let series = (1..=seconds).map(&mut second).collect();
    let step = Step {
        clients: 10,
        duration_ns: seconds * 1_000_000_000,
        rates: Rates { asked_per_s: Some(200.0), achieved_per_s: Some(200.0), ..Rates::default() },
        figures: Figures { rtt, ..Figures::default() },
        counts: Counts { sent: 200 * seconds, received: 200 * seconds, ..Counts::default() },
        series,
        ..Step::default()
    };
    Run { scenario: "echo".into(), steps: vec![step], ..Run::default() }
}

fn found<'a>(comparison: &'a Comparison, figure: &str) -> &'a Row {
    comparison
        .rows
        .iter()
        .find(|row| row.figure == figure)
        .unwrap_or_else(|| panic!("{figure}: {comparison:?}"))
}

#[test]
fn the_same_server_twice_is_no_difference() {
    let wrong = (0..100)
        .filter(|seed| {
            let comparison = compare(&[echo(5.0, 60, 2 * seed)], &[echo(5.0, 60, 2 * seed + 1)]);
            assert!(found(&comparison, "rtt.p99").change.is_some());
            comparison.rows.iter().any(|row| row.change.is_some_and(|change| change != Change::NoDifference))
        })
        .count();
    assert!(wrong <= 5, "{wrong} of 100 comparisons of a server with itself found a difference");
}

#[test]
fn a_slower_server_breaks_the_rule() {
    let comparison = compare(&[echo(5.0, 60, 1)], &[echo(6.0, 60, 2)]);
    let row = found(&comparison, "rtt.p95");
    assert_eq!(row.change, Some(Change::Slower));
    assert!((10.0..30.0).contains(&row.percent().unwrap()), "{row:?}");
    let broken = |text| Rule::parse(text, "echo").unwrap().broken(&comparison).map(|rows| rows.len());
    assert_eq!(broken("p95 slower by 5%"), Some(1));
    assert_eq!(broken("rtt.p95 worse"), Some(1));
    assert_eq!(broken("p95 slower by 50%"), Some(0));
    assert_eq!(broken("p95 faster"), Some(0));
    assert_eq!(broken("rate worse"), None, "one run each, and no series of it");
}

#[test]
fn a_series_is_of_what_the_step_exchanged_whatever_the_scenario() {
    let of = |scenario: &str, is_broadcast, ms, seed| {
        let mut run = echo(ms, 60, seed);
        run.scenario = scenario.into();
        if is_broadcast {
            run.steps[0].figures.delivery = run.steps[0].figures.rtt.clone();
        }
        run
    };
    let changes = |scenario, is_broadcast| {
        let comparison =
            compare(&[of(scenario, is_broadcast, 5.0, 1)], &[of(scenario, is_broadcast, 6.0, 2)]);
        let change = |figure: &str| comparison.rows.iter().find(|row| row.figure == figure)?.change;
        (change("rtt.p95"), change("delivery.p95"))
    };
    assert_eq!(changes("saturate", false), (Some(Change::Slower), None));
    assert_eq!(changes("saturate", true), (None, Some(Change::Slower)));
    assert_eq!(changes("broadcast", true), (None, Some(Change::Slower)));
}

#[test]
fn short_runs_need_repeats() {
    let comparison = compare(&[echo(5.0, 5, 1)], &[echo(6.0, 5, 2)]);
    assert_eq!(found(&comparison, "rtt.p95").change, None);
    assert!(comparison.notes.iter().any(|note| note.contains("two runs a side")), "{:?}", comparison.notes);

    let repeats = |ms, seed: u64| (0..5).map(|k| echo(ms, 5, seed + k)).collect::<Vec<_>>();
    let comparison = compare(&repeats(5.0, 10), &repeats(10.0, 20));
    assert_eq!(found(&comparison, "rtt.p95").change, Some(Change::Slower));
    assert_eq!(found(&comparison, "rate").change, Some(Change::NoDifference));
}

#[test]
fn only_the_same_level_is_compared() {
    let (a, mut b) = (echo(5.0, 5, 1), echo(5.0, 5, 2));
    b.steps[0].clients = 11;
    b.environment = Environment { cpu: Some("another".into()), ..Environment::default() };
    let comparison = compare(&[a], &[b]);
    assert_eq!(comparison.rows, []);
    assert_eq!(comparison.notes[0], "2 levels were measured on one side only and are left out");
}

#[test]
fn capacities_are_apart_when_their_intervals_are() {
    let searched = |clients, low, high| {
        let mut run = echo(5.0, 5, 1);
        run.verdict.capacity =
            Some(Capacity { clients, low, high, confidence: 0.95, at_least: false, contradicted_by: None });
        run
    };
    let change = |b| found(&compare(&[searched(1_000, 900, 1_100)], &[b]), "capacity").change;
    assert_eq!(change(searched(1_150, 1_050, 1_250)), Some(Change::NoDifference));
    assert_eq!(change(searched(1_300, 1_200, 1_400)), Some(Change::Faster));
    assert_eq!(change(searched(700, 650, 750)), Some(Change::Slower));
}

#[test]
fn what_is_no_rule_is_said() {
    for text in ["", "p99", "p99 slower by", "p99 slower by 5", "p99 bluer by 5%", "p99 slower by 5% please"]
    {
        assert_eq!(Rule::parse(text, "echo"), Err(RuleError::Shape(text.into())), "{text}");
    }
    let unknown = Rule::parse("tea slower", "idle").unwrap_err().to_string();
    assert!(
        unknown.contains("\"tea\"") && unknown.contains("handshake.p99") && !unknown.contains("rtt"),
        "{unknown}"
    );
}
