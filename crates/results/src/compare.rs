//! Two sides held against each other, figure by figure and level by level (METHODOLOGY "Comparison").
//!
//! A side is one run, or several as repeats. Levels are compared that both sides have: the same clients, and
//! the same asked rate; and of these the kinds of messages and the roles that both have. Several runs a side
//! give a value each; one run gives those of its series, where the figure has one.

use std::borrow::Cow;

use stats::Timed;
use stats::compare::{self, Better, Change, Kind, REPEATS_MIN, Single};

use crate::conclusion::{self, Status};
use crate::finding::Note;
use crate::judgement::Bottleneck;
use crate::limit::{Figure, Gauge, Part, Statistic};
use crate::rates::Rate;
use crate::run::Run;
use crate::second::Second;
use crate::step::Step;
use crate::unit::Unit;

mod capacity;
mod explaining_caveat;
mod row;
mod rule;
mod settings;

use explaining_caveat::{Side, explaining_caveat};
use row::figures;
pub use row::{Comparison, Row};
pub use rule::{Rule, RuleError, Ruled};
pub use settings::OWN_FLAGS;

/// Compares the runs of A with those of B, all of one scenario.
///
/// # Panics
/// If a side has no run.
pub fn compare(a: &[Run], b: &[Run]) -> Comparison {
    assert!(!a.is_empty() && !b.is_empty(), "two sides");
    let scenario = a[0].scenario;
    let mut comparison = Comparison { rows: capacity::row(a, b).into_iter().collect(), notes: notes(a, b) };
    let mut alone: u64 = 0;
    for level in levels(a) {
        let (whole_a, whole_b) = (at(a, level), at(b, level));
        let (of_a, of_b) = (&whole_a, &whole_b);
        if of_a.is_empty() || of_b.is_empty() {
            alone += 1;
            continue;
        }
        let are_limited = is_limited(of_a) && is_limited(of_b);
        // The other way round B has held more, and a latency that stayed as it was is no worse for that.
        let is_blind = are_limited || (is_broken(of_b) && !is_broken(of_a));
        for part in parts(of_a) {
            let (of_a, of_b) = (in_part(of_a, &part), in_part(of_b, &part));
            let figures = figures(&part, scenario).into_iter();
            let rows = figures.filter_map(|figure| {
                let row = row(&part, figure, level, &of_a, &of_b)?;
                // What is counted is seen whoever was at a limit.
                let is_timed = matches!(row.unit, Unit::Ms | Unit::PerSecond);
                let caveat = explaining_caveat(
                    figure,
                    Side { steps: &whole_a, value: row.a },
                    Side { steps: &whole_b, value: row.b },
                );
                Some(Row { is_blind: is_blind && is_timed, caveat, ..row })
            });
            // One kind of messages or one role may be slower while the whole is not.
            comparison.rows.extend(rows);
        }
    }
    // Levels of A are counted above, with those of them that A did not finish.
    alone += levels(b).into_iter().filter(|level| !levels(a).contains(level)).count() as u64;
    if alone > 0 {
        comparison.notes.push(Note::OneSide { levels: alone });
    }
    let runs = a.len().min(b.len()) as u64;
    let needed = u64::from(REPEATS_MIN);
    if runs < needed {
        comparison.notes.push(Note::FewRuns { runs, needed });
    }
    comparison
}

/// Returns whether in at least half of a side's steps at a level, of a loop that waits for answers, the
/// generator or the machine set the pace.
fn is_limited(side: &[&Step]) -> bool {
    let is_set_elsewhere = |step: &&&Step| {
        let who = step.bottleneck.as_ref().map(|finding| finding.bottleneck);
        let is_loop = step.rates.asked_per_s.is_none() && step.rates.achieved_per_s.is_some();
        is_loop && matches!(who, Some(Bottleneck::Generator | Bottleneck::Machine))
    };
    2 * side.iter().filter(is_set_elsewhere).count() >= side.len()
}

/// Returns whether at least half of a side's steps at a level did not hold it: what came says little of what did not.
fn is_broken(side: &[&Step]) -> bool {
    2 * side.iter().filter(|step| has_failed(step)).count() >= side.len()
}

/// Returns whether something that was due was lost, refused or wrong.
fn has_failed(step: &Step) -> bool {
    step.standing.iter().any(|limit| !limit.passed())
}

/// Clients, and the rate in thousandths, so that it can be compared.
type Level = (u64, Option<u64>);

fn level(step: &Step) -> Level {
    // Files have rates to three decimals: a run in memory is then of the same level.
    (step.clients, step.rates.asked_per_s.map(|rate| (rate * 1e3).round() as u64))
}

/// The levels of a side, each once.
fn levels(side: &[Run]) -> Vec<Level> {
    let mut levels = Vec::new();
    for found in side.iter().flat_map(|run| &run.steps).map(level) {
        if !levels.contains(&found) {
            levels.push(found);
        }
    }
    levels
}

/// The steps of a side at a level: of each run the last.
fn at(side: &[Run], wanted: Level) -> Vec<&Step> {
    // What a step had counted when the user ended it is of a shorter time than the other side's.
    let is_wanted = |step: &&Step| level(step) == wanted && !step.was_interrupted();
    // A search comes back to a level to be sure: its last look at it is the one that decided.
    side.iter().filter_map(|run| run.steps.iter().rev().find(is_wanted)).collect()
}

/// The parts of a side's steps, each once, the whole first.
fn parts(side: &[&Step]) -> Vec<Part> {
    let mut parts = Vec::new();
    for found in side.iter().flat_map(|step| step.parts()) {
        if !parts.contains(&found) {
            parts.push(found);
        }
    }
    parts
}

/// A part of each step that has it.
fn in_part<'a>(side: &[&'a Step], part: &Part) -> Vec<Cow<'a, Step>> {
    side.iter().filter_map(|step| step.part(part)).collect()
}

fn row(part: &Part, figure: Figure, level: Level, a: &[Cow<'_, Step>], b: &[Cow<'_, Step>]) -> Option<Row> {
    let values =
        |side: &[Cow<'_, Step>]| side.iter().filter_map(|step| step.value(figure, false)).collect::<Vec<_>>();
    let (of_a, of_b) = (values(a), values(b));
    if of_a.is_empty() || of_b.is_empty() {
        return None;
    }
    let better = if figure.more_is_better() { Better::Higher } else { Better::Lower };
    let unit = figure.unit(false);
    let kind = match unit {
        Unit::Count => Kind::Counted,
        // Histograms round up to whole microseconds.
        Unit::Ms => Kind::Measured { grain: 0.001 },
        _ => Kind::Measured { grain: 0.0 },
    };
    let at_least = [a, b].map(|side| side.iter().any(|step| step.is_lower_bound(figure)));
    let found = match (a, b) {
        // Of two lower bounds neither is known to be more.
        _ if at_least.contains(&true) => None,
        ([step_a], [step_b]) => one_run_each(figure, [step_a, step_b], [of_a[0], of_b[0]], better, kind),
        _ => compare::repeats(&of_a, &of_b, better, kind),
    };
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let (a, b) = (mean(&of_a), mean(&of_b));
    let nothing = if a == 0.0 && b == 0.0 { Change::NoDifference } else { Change::CannotTell };
    Some(Row {
        clients: Some(level.0),
        asked_per_s: level.1.map(|thousandths| thousandths as f64 / 1e3),
        figure: format!("{part}{}", figure.name()),
        unit,
        better,
        a,
        b,
        at_least,
        found,
        change: found.map_or(nothing, |found| found.change()),
        is_blind: false,
        caveat: None,
    })
}

fn one_run_each(
    figure: Figure,
    steps: [&Step; 2],
    [of_a, of_b]: [f64; 2],
    better: Better,
    kind: Kind,
) -> Option<compare::Comparison> {
    // What a series is of is not the scenario's to say: one verb may send echoes or broadcasts.
    let is_broadcast = steps.iter().any(|step| !step.figures.delivery.is_empty());
    let value = in_series(if is_broadcast { Timed::Delivery } else { Timed::Rtt }, figure)?;
    let series = |step: &Step| -> Option<Vec<f64>> {
        let mut values: Vec<Option<f64>> = step.window().map(|(row, ns)| value(row, ns)).collect();
        // What is seen of the server is of a second that has passed: the last has none.
        // Only the last may be missing; a gap elsewhere makes the series none.
        let _ = values.pop_if(|value| value.is_none());
        values.into_iter().collect()
    };
    let (a, b) = (series(steps[0])?, series(steps[1])?);
    let of = |value, series| Single { value, series };
    compare::single(of(of_a, &a), of(of_b, &b), better, kind)
}

/// How a figure is read from a row that took so many ns, in its unit, where the series has it. `timed`: what
/// its percentiles are of.
fn in_series(timed: Timed, figure: Figure) -> Option<fn(&Second, u64) -> Option<f64>> {
    fn ms(ns: Option<u64>) -> Option<f64> {
        ns.map(|ns| ns as f64 / 1e6)
    }
    let value: fn(&Second, u64) -> Option<f64> = match figure {
        Figure::Timed(of, Statistic::Quantile(0.5)) if of == timed => |row, _| ms(row.p50_ns),
        Figure::Timed(of, Statistic::Quantile(0.95)) if of == timed => |row, _| ms(row.p95_ns),
        Figure::Timed(of, Statistic::Quantile(0.99)) if of == timed => |row, _| ms(row.p99_ns),
        Figure::Rate(Rate::Received) => |row, ns| Some(row.received as f64 / (ns as f64 / 1e9)),
        Figure::Gauge(Gauge::ServerCpu) => |row, _| row.server_cpu_percent,
        _ => return None,
    };
    Some(value)
}

/// Caveats of comparing these runs.
fn notes(a: &[Run], b: &[Run]) -> Vec<Note> {
    let runs = || a.iter().chain(b);
    let differs = |what: &str, of: &dyn Fn(&Run) -> Option<String>| {
        let mut values: Vec<String> = runs().filter_map(of).collect();
        values.sort();
        values.dedup();
        (values.len() > 1).then(|| Note::Differs { what: what.to_owned(), values: values.join("; ") })
    };
    let differing = [
        differs("CPU", &|run| run.environment.cpu.clone()),
        differs("kernel", &|run| run.environment.kernel.clone()),
        differs("version of throng", &|run| Some(run.throng.clone())),
        differs("protocol", &|run| Some(run.dialect.clone())),
        settings::differ(a, b),
        not_held("A", a),
        not_held("B", b),
    ];
    let mut notes: Vec<Note> = differing.into_iter().flatten().collect();
    let with_caveats = runs().filter(|run| !run.verdict.caveats.is_empty()).count() as u64;
    if with_caveats > 0 {
        notes.push(Note::Caveats { runs: with_caveats, of: runs().count() as u64 });
    }
    notes
}

/// The note on a side with runs that did not hold their load.
fn not_held(name: &str, side: &[Run]) -> Option<Note> {
    // A search breaks limits on purpose.
    let is_broken = |run: &&Run| run.steps.iter().any(has_failed) && !conclusion::breaks_on_purpose(run);
    let conclusion = conclusion::conclude(side.iter().find(is_broken)?);
    // Of a walk that held its first steps, it is a later one.
    let failure = match conclusion.how_much.status {
        Status::Passed => conclusion.breaks,
        _ => conclusion.how_much,
    };
    Some(Note::LoadNotHeld {
        side: name.to_owned(),
        runs: side.iter().filter(is_broken).count() as u64,
        of: side.len() as u64,
        failure: failure.to_string(),
    })
}

#[cfg(test)]
mod tests;
