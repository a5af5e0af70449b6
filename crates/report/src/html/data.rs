//! Data for the page's script: `crates/report/page/src/data.ts` describes the same to TypeScript. Times are
//! milliseconds, rates per second, CPU 100 for one full core.

use std::collections::BTreeMap;

use results::conclusion;
use results::verdict::{Owner, is_refuted, slow_time};
use results::{Run, Step};
use serde::Serialize;
use stats::Timed;
use stats::fit::Line;

use super::absences::{AbsencesData, AgesData, absences, ages};
use super::curve::{FigureData, digits, ms};
use super::page::{Page, Published};
use super::repeats::{Repeats, RepeatsData};
use super::series::{SeriesData, rows_per_step};
use super::{page, view};
use crate::step_table::sizes_of_rooms;

/// Steps of one run that are drawn as curves.
const CURVES_MAX: usize = 6;

#[derive(Serialize)]
struct PageData {
    runs: Vec<RunData>,
    /// Names of the owners of time, in the order of [`SlowData::shares`].
    owners: [String; Owner::ALL.len()],
    published: Vec<PublishedData>,
}

#[derive(Serialize)]
struct RunData {
    name: String,
    /// The step that stands for the run: the heaviest that kept its limits.
    shown: usize,
    steps: Vec<StepData>,
    #[serde(skip_serializing_if = "Option::is_none")]
    memory: Option<MemoryData>,
    levels: Vec<LevelData>,
    #[serde(skip_serializing_if = "Option::is_none")]
    repeats: Option<RepeatsData>,
}

#[derive(Serialize)]
struct MemoryData {
    slope: f64,
    intercept: f64,
    half_width: f64,
}

#[derive(Serialize)]
struct LevelData {
    clients: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    safe: Option<f64>,
}

#[derive(Serialize)]
struct StepData {
    clients: u64,
    start: f64,
    /// All limits were kept; absent where the user ended the step before anything was known of its load, and where
    /// others refuted it.
    #[serde(skip_serializing_if = "Option::is_none")]
    kept: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    asked: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sent: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    received: Option<f64>,
    /// The key in `figures` of the one that a reader means by latency.
    main: &'static str,
    figures: BTreeMap<&'static str, FigureData>,
    /// Failures by kind, and what is missing.
    errors: BTreeMap<String, u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    server: Option<ServerData>,
    #[serde(skip_serializing_if = "Option::is_none")]
    slow: Option<SlowData>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    absences: Vec<AbsencesData>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    ages: Vec<AgesData>,
    connecting: SeriesData,
    series: SeriesData,
}

#[derive(Serialize)]
struct ServerData {
    #[serde(skip_serializing_if = "Option::is_none")]
    cpu: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rss: Option<u64>,
    threads: Vec<(String, f64, f64, f64, f64)>,
}

/// The slow messages of a step.
#[derive(Serialize)]
struct SlowData {
    /// The latency from which they count as slow.
    from: f64,
    /// Each owner's part of their time, in percent.
    shares: [f64; Owner::ALL.len()],
}

#[derive(Serialize)]
struct PublishedData {
    scenario: String,
    target: String,
    figure: String,
    unit: &'static str,
    then: f64,
    now: Option<f64>,
    sign: &'static str,
}

/// The page's data as JSON.
pub(super) fn json(page: &Page<'_>) -> String {
    let &Page { runs, published, .. } = page;
    // A step has two series: while clients connect, and under load.
    let rows_max = rows_per_step(2 * runs.iter().map(|run| run.steps.len()).sum::<usize>());
    let names = view::names(runs);
    let run = |((run, others), name)| RunData {
        repeats: Repeats::of(run, others).and_then(|repeats| repeats.data()),
        ..run_data(run, name, rows_max, runs.len() > 1)
    };
    let page = PageData {
        runs: page.with_repeats().zip(names).map(run).collect(),
        owners: Owner::ALL.map(|owner| owner.to_string()),
        published: published.iter().map(published_data).collect(),
    };
    serde_json::to_string(&page).expect("the page's types are plain data")
}

/// The data of one run; among several, its curves are those of the step that stands for it.
fn run_data(run: &Run, name: String, rows_max: usize, is_one_of_several: bool) -> RunData {
    let verdict = &run.verdict;
    let shown = conclusion::shown(run);
    // The curves are most of a page: of several runs only one each is drawn.
    let drawn = if is_one_of_several { vec![shown] } else { steps_with_curves(run) };
    let step = |(number, step)| {
        let curves = match drawn.contains(&number) {
            true if run.steps.len() == 1 => Curves::All,
            true => Curves::Main,
            false => Curves::None,
        };
        let data = step_data(step, rows_max, curves);
        let is_refuted = is_refuted(&run.steps, verdict, step);
        StepData { kept: data.kept.filter(|_| !is_refuted), ..data }
    };
    let memory = |line: Line| MemoryData {
        slope: digits(line.slope),
        intercept: digits(line.intercept),
        half_width: digits(line.slope_half_width()),
    };
    RunData {
        name,
        shown,
        steps: run.steps.iter().enumerate().map(step).collect(),
        memory: verdict.memory_per_client.map(memory),
        levels: verdict
            .levels
            .iter()
            .map(|level| LevelData { clients: level.clients, safe: level.safe_per_s })
            .collect(),
        repeats: None,
    }
}

/// The figures of a step that are drawn as curves.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Curves {
    None,
    /// The latency that stands for the step.
    Main,
    All,
}

/// The steps that are drawn as curves: evenly spread and as many as can be told apart, the last among them. Of a sweep,
/// the highest rate that each number of clients kept up with, and the lowest that was too much.
fn steps_with_curves(run: &Run) -> Vec<usize> {
    let numbered = || run.steps.iter().enumerate();
    if run.verdict.levels.is_empty() {
        let (stride, last) = (run.steps.len().div_ceil(CURVES_MAX).max(1), run.steps.len().saturating_sub(1));
        return (0..run.steps.len()).filter(|number| (last - number) % stride == 0).collect();
    }
    let asked = |(_, step): &(usize, &Step)| step.rates.asked_per_s.unwrap_or_default();
    let edges = run.verdict.levels.iter().flat_map(|level| {
        let steps = || numbered().filter(move |(_, step)| step.clients == level.clients);
        let by_rate = |a: &(usize, &Step), b: &(usize, &Step)| asked(a).total_cmp(&asked(b));
        let is_kept = |(_, step): &(usize, &Step)| step.has_passed() && !step.tells_nothing();
        let highest_kept = steps().filter(is_kept).max_by(by_rate);
        let is_broken =
            |(_, step): &(usize, &Step)| !step.has_passed() && !is_refuted(&run.steps, &run.verdict, step);
        let lowest_broken = steps().filter(is_broken).min_by(by_rate);
        [highest_kept, lowest_broken]
    });
    edges.flatten().map(|(number, _)| number).collect()
}

fn step_data(step: &Step, rows_max: usize, curves: Curves) -> StepData {
    // Of rooms of one size, the figure is that of all.
    let tells_rooms_apart = sizes_of_rooms(step).count() > 1;
    let figures = step.figures.iter().filter(|(timed, _)| tells_rooms_apart || timed.facts().rooms.is_none());
    let figures = figures.filter(|(timed, _)| step.is_latency(*timed));
    let main = page::main_timed(step);
    let has_curve = |timed: Timed| curves == Curves::All || curves == Curves::Main && timed == main;
    let is_of_latency = !step.figures.delivery.is_empty() || step.is_latency(Timed::Rtt);
    StepData {
        clients: step.clients,
        start: ms(step.start_ns as f64) / 1e3,
        kept: match step.has_passed() {
            true if step.tells_nothing() => None,
            has_passed => Some(has_passed),
        },
        asked: step.rates.asked_per_s.map(digits),
        sent: step.rates.sent_per_s.map(digits),
        received: step.rates.received_per_s.map(digits),
        main: main.name(),
        figures: figures
            .filter_map(|(timed, figure)| {
                let is_open = |q| step.is_open(timed, q);
                Some((timed.name(), FigureData::of(figure, has_curve(timed), is_open)?))
            })
            .collect(),
        errors: errors(step),
        server: step.server.as_ref().map(|server| ServerData {
            cpu: server.cpu_percent_mean.map(digits),
            rss: server.rss_bytes_peak,
            threads: server
                .thread_use
                .iter()
                .map(|thread| {
                    let [user, system, waiting, asleep] = [
                        thread.user_percent,
                        thread.system_percent,
                        thread.waiting_percent,
                        thread.asleep_percent,
                    ]
                    .map(digits);
                    (thread.name.clone(), user, system, waiting, asleep)
                })
                .collect(),
        }),
        slow: slow_time(step).map(|(from_ns, owners)| SlowData {
            from: ms(from_ns as f64),
            shares: Owner::ALL.map(|owner| digits(owners.percent(owner))),
        }),
        absences: absences(step),
        ages: ages(step),
        connecting: SeriesData::of(&step.connecting, began_to_connect_ns(step), rows_max),
        series: match SeriesData::of(&step.series, step.start_ns, rows_max) {
            series if is_of_latency => series,
            series => series.without_latency(),
        },
    }
}

/// When the first of a step's clients connected, about, for a file does not say: a second before the first
/// row, at the earliest.
fn began_to_connect_ns(step: &Step) -> u64 {
    step.connecting.first().map_or(0, |first| first.t_ns.saturating_sub(1_000_000_000))
}

/// Errors by kind: failures as they were counted, and the messages that did not come or came wrong.
fn errors(step: &Step) -> BTreeMap<String, u64> {
    let kinds = step.errors.iter().map(|(kind, error)| (kind.to_owned(), error.count));
    let messages = step.counts.iter().filter(|(count, n)| **n > 0 && count.facts().is_defect);
    let messages = messages.map(|(count, &n)| (count.name().to_owned(), n));
    kinds.chain(messages).collect()
}

fn published_data(published: &Published) -> PublishedData {
    let Published { scenario, target, figure, unit, then, now, sign } = published.clone();
    let (then, now) = (digits(then), now.map(digits));
    PublishedData { scenario, target, figure, unit: unit.name(), then, now, sign }
}
