use std::slice::from_ref;

use stats::compare::{Ruling, ToTell};
use stats::{Capacity, Counts, Figures, Histogram};

use super::*;
use crate::finding::quantity::{Ns, Percent, Quantile};
use crate::finding::{Cause, Caveat};
use crate::rates::Rates;
use crate::run::Environment;
use crate::scenario::Scenario;
use crate::standing;
use crate::step::{Interrupted, RoleFigures, SayFigures};

/// A run of echoes with a mean latency of about `ms`, for this many seconds.
fn echo(ms: f64, seconds: u64, seed: u64) -> Run {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut rtt = Histogram::new();
    let mut second = |t: u64| {
        let mut samples: Vec<u64> =
            (0..200).map(|_| (-ms * 1e6 * (1.0 - random.f64()).ln()) as u64 + 100_000).collect();
        samples.sort_unstable();
        for &ns in &samples {
            rtt.record_ns(ns);
        }
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
        figures: Figures { service: rtt.clone(), rtt, ..Figures::default() },
        counts: Counts { sent: 200 * seconds, received: 200 * seconds, ..Counts::default() },
        series,
        ..Step::default()
    };
    Run { scenario: Scenario::Echo, steps: vec![step], ..Run::default() }
}

fn found<'a>(comparison: &'a Comparison, figure: &str) -> &'a Row {
    comparison
        .rows
        .iter()
        .find(|row| row.figure == figure)
        .unwrap_or_else(|| panic!("{figure}: {comparison:?}"))
}

fn claims(comparison: &Comparison) -> usize {
    let claims = |row: &&Row| matches!(row.change, Change::Faster | Change::Slower);
    comparison.rows.iter().filter(claims).count()
}

fn repeats(ms: f64, n: u64, seed: u64) -> Vec<Run> {
    (0..n).map(|k| echo(ms, 5, seed + k)).collect()
}

fn ruling(comparison: &Comparison, text: &str) -> Vec<Ruling> {
    let rule = Rule::parse(text, Scenario::Echo).unwrap();
    rule.check(comparison).iter().map(|ruled| ruled.ruling).collect()
}

#[test]
fn equal_servers_are_not_claimed_to_differ() {
    let wrong = (0..100)
        .filter(|seed| {
            let comparison = compare(&[echo(5.0, 60, 2 * seed)], &[echo(5.0, 60, 2 * seed + 1)]);
            assert!(found(&comparison, "rtt.p99").found.is_some());
            claims(&comparison) > 0
        })
        .count();
    assert_eq!(wrong, 0, "comparisons of one run each");
    let of = |seed: u64| compare(&repeats(5.0, 4, 100 * seed), &repeats(5.0, 4, 100 * seed + 50));
    let wrong = (0..100).filter(|&seed| claims(&of(seed)) > 0).count();
    assert!(wrong <= 5, "{wrong} of 100 comparisons of a server with itself found a difference");
}

#[test]
fn slower_is_slower_or_cannot_be_told() {
    for seed in 0..20 {
        let three = compare(&repeats(5.0, 3, 10 * seed), &repeats(24.65, 3, 1_000 + 10 * seed));
        assert_eq!(found(&three, "rtt.p95").change, Change::Slower, "393% more");
        assert_eq!(ruling(&three, "p95 slower by 5%"), [Ruling::Broken]);
        let little = compare(&repeats(5.0, 3, 10 * seed), &repeats(5.25, 3, 1_000 + 10 * seed));
        assert_ne!(found(&little, "rtt.p95").change, Change::NoDifference);
        let single = compare(&[echo(5.0, 60, seed)], &[echo(17.25, 60, 100 + seed)]);
        assert_eq!(found(&single, "rtt.p95").change, Change::Slower, "245% more, beyond what runs vary by");
        let single = compare(&[echo(5.0, 60, seed)], &[echo(6.0, 60, 100 + seed)]);
        assert_eq!(found(&single, "rtt.p95").change, Change::CannotTell, "20% is what the next run may give");
    }
}

#[test]
fn rules_are_broken_kept_or_undecided() {
    let comparison = compare(&repeats(5.0, 8, 1), &repeats(8.0, 8, 51));
    let row = found(&comparison, "rtt.p95");
    assert!((40.0..80.0).contains(&row.percent().unwrap()), "{row:?}");
    assert!(row.difference().unwrap().contains(row.b - row.a), "{row:?}");
    let ruling = |text| ruling(&comparison, text);
    assert_eq!(ruling("p95 slower by 5%"), [Ruling::Broken]);
    assert_eq!(ruling("rtt.p95 worse"), [Ruling::Broken]);
    assert_eq!(ruling("p95 slower by 300%"), [Ruling::Kept]);
    assert_eq!(ruling("p95 faster"), [Ruling::Kept]);
    assert_eq!(ruling("rate worse by 1%"), [Ruling::Kept]);
    assert_eq!(ruling("missing worse"), [Ruling::Kept], "nothing on both sides");
    assert_eq!(ruling("server.cpu worse"), [], "not measured");
    let two = compare(&repeats(5.0, 2, 1), &repeats(5.0, 2, 51));
    let rule = Rule::parse("p99 slower by 5%", Scenario::Echo).unwrap();
    let ruled = rule.check(&two)[0];
    assert_eq!(ruled.ruling, Ruling::CannotTell);
    assert!(!matches!(ruled.row.runs_to_tell(rule.share()), ToTell::Repeats(..=10)), "{ruled:?}");
    assert!(matches!(ruled.row.runs_to_tell(0.5), ToTell::Repeats(3..)), "{ruled:?}");
}

#[test]
fn large_caveats_block_a_rule() {
    let late = |mut runs: Vec<Run>, ms: u64| {
        for step in runs.iter_mut().flat_map(|run| &mut run.steps) {
            let (latency, lag) = (Ns(300_000_000), Ns(ms * 1_000_000));
            let (metric, quantile) = ("rtt".into(), Quantile(0.95));
            step.caveats.push(Caveat::GeneratorLag { latency, metric, quantile, lag });
        }
        runs
    };
    let of = |lag_a, lag_b| {
        let comparison = compare(&late(repeats(5.0, 4, 1), lag_a), &late(repeats(25.0, 4, 51), lag_b));
        assert_eq!(found(&comparison, "rtt.p95").change, Change::Slower);
        (ruling(&comparison, "p95 slower by 5%"), ruling(&comparison, "p95 faster"))
    };
    let explained = compare(&late(repeats(5.0, 4, 1), 1), &late(repeats(25.0, 4, 51), 200));
    assert_eq!(found(&explained, "rtt.p95").told(), Change::CannotTell);
    assert_eq!(of(1, 200), (vec![Ruling::CannotTell], vec![Ruling::Kept]));
    assert_eq!(of(1, 9).0, [Ruling::Broken], "a part of the difference");
    assert_eq!(of(200, 200).0, [Ruling::Broken], "both are as late");
}

#[test]
fn sides_without_their_load_keep_nothing() {
    let lossy = |mut runs: Vec<Run>| {
        for step in runs.iter_mut().flat_map(|run| &mut run.steps) {
            step.counts.missing = 500;
            step.standing = standing::check(&standing::limits(Scenario::Echo, &[], 0.0), step);
        }
        runs
    };
    let (fine, broken) = (repeats(25.0, 4, 1), lossy(repeats(5.0, 4, 51)));
    let comparison = compare(&fine, &broken);
    let p95 = found(&comparison, "rtt.p95");
    assert_eq!((p95.change, p95.told()), (Change::Faster, Change::CannotTell), "of what came");
    assert_eq!(found(&comparison, "missing").told(), Change::Slower);
    let rate = found(&comparison, "rate");
    assert_eq!((rate.change, rate.told()), (Change::NoDifference, Change::CannotTell));
    assert_eq!(ruling(&comparison, "p95 slower by 5%"), [Ruling::CannotTell]);
    assert_eq!(ruling(&comparison, "p95 faster by 5%"), [Ruling::CannotTell]);
    assert_eq!(ruling(&comparison, "missing worse"), [Ruling::Broken]);
    let not_held = |found: &Comparison, side: &str, clients: &str| {
        found.notes.iter().any(|note| match note {
            Note::LoadNotHeld { side: of, runs: 4, of: 4, failure } => {
                of == side && failure.contains(clients)
            }
            _ => false,
        })
    };
    assert!(not_held(&comparison, "B", " 10 clients"), "{:?}", comparison.notes);
    assert_eq!(ruling(&compare(&broken, &fine), "p95 slower by 5%"), [Ruling::Broken]);
    // With more clients, A does not hold its load either: that says nothing of this one.
    let walks = |runs: &[Run], fails: bool| -> Vec<Run> {
        let mut walks = runs.to_vec();
        for run in &mut walks {
            let more = Step { clients: 20, ..broken[0].steps[0].clone() };
            run.steps.extend(fails.then_some(more));
        }
        walks
    };
    let of_walks = compare(&walks(&fine, true), &walks(&broken, false));
    assert_eq!(ruling(&of_walks, "p95 slower by 5%"), [Ruling::CannotTell]);
    assert!(not_held(&of_walks, "A", " 20 clients"), "{:?}", of_walks.notes);
    let both = compare(&broken, &lossy(repeats(25.0, 4, 1)));
    assert_eq!(ruling(&both, "p95 faster"), [Ruling::Kept], "nor did A");
}

#[test]
fn runs_at_the_generators_limit_are_discarded() {
    let limited = |mut runs: Vec<Run>, times: usize, is_loop: bool| {
        for run in runs.iter_mut().take(times) {
            run.steps[0].bottleneck = Some(Cause::GeneratorCpu { cpu: Percent(99.0) }.into());
        }
        // A schedule that is kept is kept by whoever was late.
        for rates in runs.iter_mut().map(|run| &mut run.steps[0].rates).filter(|_| is_loop) {
            rates.asked_per_s = None;
        }
        runs
    };
    let of = |times, is_loop| {
        let of_a = limited(repeats(5.0, 4, 1), times, is_loop);
        compare(&of_a, &limited(repeats(25.0, 4, 51), 4, is_loop))
    };
    let both = of(4, true);
    assert_eq!(ruling(&both, "p95 faster"), [Ruling::CannotTell]);
    assert_eq!(ruling(&of(1, true), "p95 faster"), [Ruling::Kept]);
    assert_eq!(ruling(&of(4, false), "p95 faster"), [Ruling::Kept]);
    assert_eq!(ruling(&both, "missing worse"), [Ruling::Kept], "nothing is missing, whoever was at a limit");
}

#[test]
fn lower_bounds_of_recovery_are_not_compared() {
    let storm = |ms: f64, not_back, seed| {
        let mut run = echo(ms, 5, seed);
        run.scenario = Scenario::Storm;
        let step = &mut run.steps[0];
        step.figures.recovery = step.figures.rtt.clone();
        step.counts.not_back = not_back;
        run
    };
    let side = |ms, not_back, seed: u64| (0..4).map(|k| storm(ms, not_back, seed + k)).collect::<Vec<_>>();
    let comparison = compare(&side(5.0, 0, 1), &side(25.0, 100, 11));
    assert_eq!(found(&comparison, "recovery.p50").change, Change::Slower, "those are all back");
    let p99 = found(&comparison, "recovery.p99");
    assert_eq!((p99.change, p99.found, p99.at_least), (Change::CannotTell, None, [false, true]));
    let rule = Rule::parse("p99 slower by 5%", Scenario::Storm).unwrap();
    assert_eq!(rule.check(&comparison)[0].ruling, Ruling::CannotTell);
    assert_eq!(found(&comparison, "not_back").change, Change::Slower);
}

#[test]
fn series_hold_the_exchanged_messages() {
    let of = |scenario, is_broadcast, ms, seed| {
        let mut run = echo(ms, 60, seed);
        run.scenario = scenario;
        if is_broadcast {
            run.steps[0].figures.delivery = run.steps[0].figures.rtt.clone();
        }
        run
    };
    let changes = |scenario, is_broadcast| {
        let comparison =
            compare(&[of(scenario, is_broadcast, 5.0, 1)], &[of(scenario, is_broadcast, 15.0, 2)]);
        let change = |figure: &str| {
            let row = comparison.rows.iter().find(|row| row.figure == figure)?;
            row.found.map(|found| found.change())
        };
        (change("rtt.p95"), change("delivery.p95"))
    };
    assert_eq!(changes(Scenario::Saturate, false), (Some(Change::Slower), None));
    assert_eq!(changes(Scenario::Saturate, true), (None, Some(Change::Slower)));
    assert_eq!(changes(Scenario::Broadcast, true), (None, Some(Change::Slower)));
}

#[test]
fn later_seconds_are_not_compared() {
    let of = |ms, seed| {
        let mut run = echo(ms, 20, seed);
        run.steps[0].rates.received_per_s = Some(200.0);
        // In the last row the window ends, and in the next nothing comes any more.
        let series = &mut run.steps[0].series;
        let last = series.last_mut().unwrap();
        (last.t_ns, last.received) = (last.t_ns + 400_000_000, 280);
        let quiet = Second { t_ns: last.t_ns + 1_000_000_000, ..Second::default() };
        series.push(quiet);
        run
    };
    let comparison = compare(&[of(5.0, 1)], &[of(25.0, 2)]);
    assert_eq!(found(&comparison, "rtt.p95").change, Change::Slower);
    let rate = found(&comparison, "received_rate").found.expect("a series of its own");
    assert!(rate.percent().unwrap().high < 101.0, "200/s in each, and what runs vary by: {rate:?}");
}

#[test]
fn short_runs_need_repeats() {
    let comparison = compare(&[echo(5.0, 5, 1)], &[echo(50.0, 5, 2)]);
    let row = found(&comparison, "rtt.p95");
    let to_tell = row.runs_to_tell(0.05);
    assert_eq!((row.found, row.change, to_tell), (None, Change::CannotTell, ToTell::Repeats(3)));
    assert_eq!(comparison.notes, [Note::FewRuns { runs: 1, needed: 3 }]);

    let comparison = compare(&repeats(5.0, 5, 10), &repeats(10.0, 5, 20));
    assert_eq!(found(&comparison, "rtt.p95").change, Change::Slower);
    assert_eq!(found(&comparison, "rate").change, Change::NoDifference);
    assert!(comparison.notes.is_empty(), "{:?}", comparison.notes);
}

#[test]
fn only_the_same_level_is_compared() {
    let (a, mut b) = (echo(5.0, 5, 1), echo(5.0, 5, 2));
    b.steps[0].clients = 11;
    b.environment = Environment { cpu: Some("another".into()), ..Environment::default() };
    let comparison = compare(&[a], &[b]);
    assert_eq!(comparison.rows, []);
    assert_eq!(comparison.notes[0], Note::OneSide { levels: 2 });
    let mut more = echo(5.0, 5, 3);
    more.steps.extend(echo(5.0, 5, 4).steps);
    more.steps[1].clients = 11;
    let comparison = compare(&[echo(5.0, 5, 1)], &[more]);
    assert_eq!(comparison.notes[0], Note::OneSide { levels: 1 });
}

#[test]
fn interrupted_steps_are_left_out() {
    let with_errors = |seconds, errors: u64, seed| {
        let mut run = echo(5.0, seconds, seed);
        for at in 0..errors {
            run.steps[0].errors.add("reset", at, "connection reset");
        }
        run
    };
    let (whole, mut ended) = (with_errors(60, 100, 1), with_errors(3, 5, 2));
    ended.steps[0].interrupted = Some(Interrupted::Loading);
    for (a, b) in [(&whole, &ended), (&ended, &whole)] {
        let comparison = compare(from_ref(a), from_ref(b));
        assert_eq!(comparison.rows, []);
        assert!(comparison.notes.contains(&Note::OneSide { levels: 1 }), "{:?}", comparison.notes);
    }
    let mut goes_on = whole.clone();
    goes_on.steps.extend(ended.steps);
    assert_eq!(found(&compare(from_ref(&whole), &[goes_on]), "errors").b, 100.0, "the whole step before it");
}

fn searched(clients: u64, low: u64, high: u64, at_least: bool) -> Run {
    let mut run = echo(5.0, 5, 1);
    run.is_search = true;
    run.verdict.capacity =
        Some(Capacity { clients, low, high, confidence: 0.95, at_least, contradicted_by: None });
    run
}

#[test]
fn capacities_are_apart_when_their_intervals_are() {
    let a = || searched(1_000, 900, 1_100, false);
    let change = |b| found(&compare(&[a()], &[b]), "capacity").change;
    assert_eq!(change(searched(1_150, 1_050, 1_250, false)), Change::CannotTell);
    assert_eq!(change(searched(1_300, 1_200, 1_400, false)), Change::Faster);
    assert_eq!(change(searched(700, 650, 750, false)), Change::Slower);
    assert_eq!(change(searched(400, 35, 500, false)), Change::CannotTell, "that search did not tell");
    let worse = compare(&[a()], &[searched(700, 650, 750, false)]);
    assert_eq!(ruling(&worse, "capacity worse by 10%"), [Ruling::Broken]);
}

#[test]
fn lower_bounds_beat_smaller_capacities() {
    let change = |a, b| found(&compare(&[a], &[b]), "capacity").change;
    let (told, open) =
        (|| searched(1_000, 900, 1_100, false), |clients| searched(clients, clients, clients, true));
    assert_eq!(change(told(), open(2_000)), Change::Faster);
    assert_eq!(change(open(2_000), told()), Change::Slower);
    assert_eq!(change(told(), open(1_000)), Change::CannotTell);
    assert_eq!(change(open(2_000), open(2_000)), Change::CannotTell, "neither broke");
    assert_eq!(change(open(2_000), open(1_000)), Change::CannotTell);
}

#[test]
fn invalid_rules_are_said() {
    for text in ["", "p99", "p99 slower by", "p99 slower by 5", "p99 bluer by 5%", "p99 slower by 5% please"]
    {
        assert_eq!(Rule::parse(text, Scenario::Echo), Err(RuleError::Shape(text.into())), "{text}");
    }
    let unknown = Rule::parse("tea slower", Scenario::Idle).unwrap_err().to_string();
    assert!(
        unknown.contains("\"tea\"") && unknown.contains("handshake.p99") && !unknown.contains("rtt"),
        "{unknown}"
    );
}

/// Broadcasts of two kinds by the people of two roles, where only what speakers say, lines, takes `ms`;
/// everything else, 5 ms.
fn in_parts(ms: f64, seed: u64) -> Run {
    let timed = |ms: f64, of: u64| echo(ms, 5, 10 * seed + of).steps.remove(0).figures.rtt;
    let counts = Counts { sent: 1_000, expected: 1_000, received: 1_000, ..Counts::default() };
    let say = |name: &str, ms: f64, of| SayFigures {
        name: name.into(),
        counts,
        rtt: timed(ms, of),
        delivery: timed(ms, of + 1),
        ..SayFigures::default()
    };
    let role = |name: &str, ms: f64, of| RoleFigures {
        name: name.into(),
        people: 5,
        counts,
        handshake: timed(5.0, of),
        rtt: timed(ms, of + 1),
        delivery: timed(5.0, of + 2),
    };
    let mut run = echo(5.0, 5, seed);
    run.scenario = Scenario::Broadcast;
    run.steps[0].figures.delivery_2_10 = timed(ms, 9);
    run.steps[0].says = vec![say("line", ms, 0), say("note", 5.0, 2)];
    run.steps[0].roles = vec![role("listener", 5.0, 4), role("speaker", ms, 6)];
    run
}

#[test]
fn slower_parts_are_told_by_name() {
    let side = |ms: f64, seed: u64| (0..4).map(|k| in_parts(ms, seed + k)).collect::<Vec<_>>();
    let comparison = compare(&side(5.0, 1), &side(25.0, 11));
    for slower in ["say.line.rtt.p95", "say.line.delivery.p95", "role.speaker.rtt.p95", "delivery_2_10.p95"] {
        assert_eq!(found(&comparison, slower).change, Change::Slower, "{slower}");
    }
    for same in ["rtt.p95", "say.note.rtt.p95", "say.note.delivery.p95", "role.listener.rtt.p95"]
        .into_iter()
        .chain(["role.listener.delivery.p95", "role.speaker.delivery.p95", "role.speaker.handshake.p95"])
    {
        assert_ne!(found(&comparison, same).change, Change::Slower, "{same}");
    }
    assert!(found(&comparison, "say.line.missing").is_nothing());
    let ruling = |text: &str| {
        let rule = Rule::parse(text, Scenario::Broadcast).unwrap();
        rule.check(&comparison).iter().map(|ruled| ruled.ruling).collect::<Vec<_>>()
    };
    assert_eq!(ruling("say.line.delivery.p95 slower by 5%"), [Ruling::Broken]);
    assert_eq!(ruling("role.speaker.p95 slower by 5%"), [Ruling::Broken], "of round trips");
    assert_eq!(ruling("say.note.missing worse"), [Ruling::Kept]);
    assert_eq!(ruling("say.word.delivery.p95 slower by 5%"), [], "nobody says it");
}

#[test]
fn parts_are_compared_that_both_sides_have() {
    let (a, mut b) = (in_parts(5.0, 1), in_parts(5.0, 2));
    b.steps[0].says.remove(0);
    b.steps[0].roles[1].name = "teacher".into();
    let comparison = compare(&[a], &[b]);
    let has = |part: &str| comparison.rows.iter().any(|row| row.figure.starts_with(part));
    assert!(has("say.note.") && has("role.listener."));
    assert!(!has("say.line.") && !has("role.speaker.") && !has("role.teacher."), "{comparison:?}");
}

#[test]
fn rules_on_missing_parts_are_refused() {
    for text in [
        "say.line.handshake.p99 slower",
        "say.line.capacity worse",
        "role.speaker.server.cpu worse",
        "say.p99 worse",
    ] {
        let said = Rule::parse(text, Scenario::Broadcast).unwrap_err().to_string();
        assert!(said.contains("say.NAME.delivery.p99"), "{said}");
        assert!(matches!(Rule::parse(text, Scenario::Echo), Err(RuleError::Figure { .. })), "{text}");
    }
}
