//! The page's text: the same sentences as every other format, laid out to be understood at a glance.

use std::slice;

use results::conclusion::shown;
use results::finding::{Caveat, Finding, Place};
use results::{Run, RunLimit, Step};
use results::{conclusion, verdict};
use serde::Serialize;
use stats::Histogram;

use super::answers::{self, Answer};
use super::page::{Page, main_timed};
use super::repeats::Repeats;
use crate::names::unique;
use crate::reading;
use crate::step_table::{
    STATISTICS, StepSheet, StepTable, role_table, room_table, say_table, server_cpu, step_sheet,
};
use crate::text::{LEVEL_NAMES, ceiling, level_cells, share_of_ceiling};
use results::format::{bytes, clients, count, duration, rate};

/// Everything the template asks for.
#[derive(Serialize)]
pub(super) struct View {
    title: String,
    lead: String,
    /// More than one run.
    compares: bool,
    comparison: Option<ComparisonView>,
    runs: Vec<RunView>,
}

/// A comparison of two runs: whether the second is really different.
#[derive(Serialize)]
struct ComparisonView {
    headline: String,
    /// Reason why rows are unclear.
    unclear: Option<String>,
    columns: Vec<&'static str>,
    rows: Vec<Vec<String>>,
    notes: Vec<String>,
}

#[derive(Serialize)]
struct PartsView {
    title: &'static str,
    columns: Vec<String>,
    rows: Vec<Vec<String>>,
}

#[derive(Serialize)]
struct RunView {
    name: String,
    id: String,
    lead: String,
    answers: Vec<Answer>,
    facts: Vec<Fact>,
    latency: Latency,
    caveats: Vec<String>,
    /// The capacity of each number of clients in a sweep.
    level_columns: [&'static str; LEVEL_NAMES.len()],
    levels: Vec<[String; LEVEL_NAMES.len()]>,
    limits: Vec<LimitView>,
    load_columns: Vec<String>,
    latency_columns: Vec<&'static str>,
    outcome_columns: Vec<String>,
    rows: Vec<RowView>,
    /// Figures of the run's parts: kinds of messages, roles, sizes of rooms.
    parts: Vec<PartsView>,
    health_columns: Vec<String>,
    health: Vec<Vec<String>>,
    environment: Vec<(&'static str, String)>,
    command: String,
}

#[derive(Serialize)]
struct Fact {
    label: String,
    value: String,
    note: String,
}

/// A latency for a comparison: which figure it is, and its median and tail.
#[derive(Default, Serialize)]
struct Latency {
    figure: &'static str,
    p50: String,
    p99: String,
    /// Over the repeats; empty if there was one.
    p50_range: String,
    p99_range: String,
}

#[derive(Serialize)]
struct LimitView {
    limit: String,
    tone: &'static str,
    outcome: String,
    actual: String,
}

#[derive(Serialize)]
struct RowView {
    load: Vec<String>,
    latencies: Vec<[String; 1 + STATISTICS.len()]>,
    outcome: Vec<String>,
    /// The limits that it broke, with what came.
    broken: Vec<String>,
    reason: String,
    caveats: Vec<String>,
}

/// The view of some runs.
pub(super) fn view(page: &Page<'_>) -> View {
    let runs = page.runs;
    let names = names(runs);
    let compares = runs.len() > 1;
    let title = if compares { format!("{} runs compared", runs.len()) } else { names[0].clone() };
    View {
        lead: if compares { names.join(" · ") } else { lead(&runs[0], &names[0]) },
        title,
        compares,
        comparison: comparison(page),
        runs: page
            .with_repeats()
            .zip(names)
            .map(|((run, others), name)| run_view(run, others, name, runs))
            .collect(),
    }
}

/// The comparison of two runs of one scenario, as `throng compare` has it.
fn comparison(page: &Page<'_>) -> Option<ComparisonView> {
    let [a, b] = page.runs else { return None };
    // Other scenarios time something else.
    if a.scenario != b.scenario {
        return None;
    }
    let sides: Vec<Vec<Run>> = page
        .with_repeats()
        .map(|(run, others)| slice::from_ref(run).iter().chain(others).cloned().collect())
        .collect();
    let found = results::compare::compare(&sides[0], &sides[1]);
    let table = crate::comparison::table(&found);
    Some(ComparisonView {
        headline: crate::comparison::headline(&found),
        unclear: crate::comparison::unclear(&found),
        columns: table.titles().collect(),
        rows: table.shown().collect(),
        notes: found.notes.iter().map(ToString::to_string).collect(),
    })
}

/// A name for each run that no other has.
pub(super) fn names(runs: &[Run]) -> Vec<String> {
    let target = |run: &Run| {
        let own = run.name.as_ref().or(run.target.name.as_ref());
        own.unwrap_or(&run.target.url).clone()
    };
    let same = |of: fn(&Run) -> &str| runs.iter().all(|run| of(run) == of(&runs[0]));
    let (one_scenario, one_dialect) = (same(|run| run.scenario.name()), same(|run| &run.dialect));
    let named = runs.iter().map(|run| {
        let mut name = target(run);
        if !one_scenario {
            name += &format!(" {}", run.scenario);
        }
        if !one_dialect {
            name += &format!(" {}", run.dialect);
        }
        name
    });
    let named: Vec<String> = named.collect();
    // Equal names are told apart by what the user noted, or by when the runs started.
    let noted = named.iter().zip(runs).map(|(name, run)| {
        if named.iter().filter(|other| *other == name).count() == 1 {
            return name.clone();
        }
        let note = run.note.clone().unwrap_or_else(|| results::file::started(run.started_unix_ns));
        format!("{name} ({note})")
    });
    unique(noted)
}

fn run_view(run: &Run, others: &[Run], name: String, runs: &[Run]) -> RunView {
    let (StepSheet { load, latencies, outcome }, health) = (step_sheet(run), health(run));
    let parts = [
        ("Each kind of messages", say_table(run)),
        ("Each role", role_table(run)),
        ("Delivery by the size of the room", room_table(run)),
    ];
    let part = |(title, table): (&'static str, Option<StepTable>)| {
        table.map(|StepTable { names, rows }| PartsView { title, columns: names, rows })
    };
    // What is said once of all steps is not said again at each.
    let is_of_all = |caveat: &Caveat| {
        run.verdict
            .caveats
            .iter()
            .any(|said| !matches!(said.place, Place::Some { .. }) && said.low.is_alike(caveat))
    };
    let row = |(step, load, latencies, outcome): (&Step, _, _, _)| RowView {
        load,
        latencies,
        outcome,
        broken: conclusion::failings(run.scenario, step).iter().map(ToString::to_string).collect(),
        reason: step.bottleneck.as_ref().map(|found| found.cause.to_string()).unwrap_or_default(),
        caveats: step.caveats.iter().filter(|caveat| !is_of_all(caveat)).map(ToString::to_string).collect(),
    };
    let rows = run.steps.iter().zip(load.rows).zip(latencies).zip(outcome.rows);
    let rows = rows.map(|(((step, load), latencies), outcome)| row((step, load, latencies, outcome)));
    RunView {
        lead: lead(run, &name),
        name,
        id: run.id.clone(),
        answers: answers::all(run, runs),
        facts: facts(run),
        latency: latency(run, Repeats::of(run, others).as_ref()),
        caveats: conclusion::conclude(run).caveats(run),
        level_columns: LEVEL_NAMES,
        levels: run.verdict.levels.iter().map(level_cells).collect(),
        limits: limits(run),
        load_columns: load.names,
        latency_columns: STATISTICS.map(|(name, _)| name).to_vec(),
        outcome_columns: outcome.names,
        rows: rows.collect(),
        parts: parts.into_iter().filter_map(part).collect(),
        health_columns: health.names,
        health: health.rows,
        environment: environment(run),
        command: results::command_line(&run.command),
    }
}

/// The target, load and start of a run, below its name: a run without one is called by its target's URL.
fn lead(run: &Run, name: &str) -> String {
    let url = Some(run.target.url.as_str()).filter(|url| *url != name);
    let target: Vec<&str> = [url, run.target.version.as_deref()].into_iter().flatten().collect();
    let load = format!("{} over {}", run.scenario, run.dialect);
    let parts = [target.join(" "), load, started(run), run.note.clone().unwrap_or_default()];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" · ")
}

/// When it started, to the second.
fn started(run: &Run) -> String {
    results::file::started(run.started_unix_ns) + " UTC"
}

/// The figures that readers look for first, of the step that stands for the run.
fn facts(run: &Run) -> Vec<Fact> {
    let Some(step) = run.steps.get(shown(run)) else { return Vec::new() };
    let at = match step.rates.asked_per_s.filter(|_| !run.verdict.levels.is_empty()) {
        Some(per_s) => format!("{} to {}", rate(per_s, ""), clients(step.clients)),
        None if run.steps.len() > 1 => format!("at {}", clients(step.clients)),
        None => String::new(),
    };
    let fact =
        |label: &str, value: String, note: &str| Fact { label: label.into(), value, note: note.into() };
    let figure = main_timed(step);
    let name = figure.words();
    let mut facts: Vec<Fact> = [("median", 0.5), ("p95", 0.95), ("p99", 0.99), ("max", 1.0)]
        .iter()
        .filter(|_| !step.figures.get(figure).is_empty())
        .map(|(label, q)| fact(&format!("{name} {label}"), reading::marked_quantile(step, figure, *q), &at))
        .collect();
    let counts = &step.counts;
    if counts.expected > 0 {
        let due = format!("of {} due", count(counts.due()));
        facts.push(fact("messages missing", count(counts.missing), &due));
    }
    let reached = step.reached.or(step.usable).unwrap_or(step.clients);
    let lost = reached - step.usable.unwrap_or(reached).min(reached);
    let lost = if lost > 0 { format!(", {} lost before the load", count(lost)) } else { String::new() };
    facts.push(fact("clients connected", count(reached), &format!("of {}{lost}", count(step.clients))));
    let server = step.server.as_ref();
    facts.extend(server.and_then(server_cpu).map(|cpu| {
        let (percent, of_cores) = cpu.split_once(' ').unwrap_or((cpu.as_str(), ""));
        fact("server CPU", percent.into(), of_cores)
    }));
    if let Some(rss) = server.and_then(|server| server.rss_bytes_peak) {
        facts.push(fact("server memory", bytes(rss as f64), "resident, at its peak"));
    }
    facts
}

fn latency(run: &Run, repeats: Option<&Repeats<'_>>) -> Latency {
    let Some(step) = run.steps.get(shown(run)) else { return Latency::default() };
    let figure = main_timed(step);
    let range = |q| repeats.map(|repeats| repeats.range(q)).unwrap_or_default();
    Latency {
        figure: figure.words(),
        p50: reading::marked_quantile(step, figure, 0.5),
        p99: reading::marked_quantile(step, figure, 0.99),
        p50_range: range(0.5),
        p99_range: range(0.99),
    }
}

fn limits(run: &Run) -> Vec<LimitView> {
    let view = |limit: RunLimit| LimitView {
        limit: limit.outcome.of.to_string(),
        tone: match (limit.outcome.passed(), limit.is_failure) {
            (true, _) => "good",
            (false, true) => "bad",
            (false, false) => "plain",
        },
        outcome: limit.outcome_text(),
        actual: conclusion::actual(limit.outcome).unwrap_or_else(|| "not measured".into()),
    };
    RunLimit::all(run).into_iter().map(view).collect()
}

/// The generator's work and health, step by step.
fn health(run: &Run) -> StepTable {
    let names = [
        "clients",
        "asked",
        "achieved",
        "CPU",
        "busiest worker",
        "waiting for a CPU",
        "loop lag p99",
        "send lag p99",
        "of its ceiling",
        "memory per client",
        "time of slow messages",
    ];
    StepTable::new(names.map(String::from).to_vec(), run.steps.iter().filter_map(health_cells).collect())
}

fn health_cells(step: &Step) -> Option<Vec<String>> {
    let generator = step.generator.as_ref()?;
    let percent = |value: Option<f64>| value.map(|value| format!("{value:.0}%")).unwrap_or_default();
    let per_s = |value: Option<f64>| value.map(|value| rate(value, "")).unwrap_or_default();
    Some(vec![
        count(step.clients),
        per_s(step.rates.asked_per_s),
        per_s(step.rates.achieved_per_s),
        percent(generator.cpu_percent_mean),
        percent(generator.worker_cpu_percent_max),
        percent(generator.waiting_percent),
        lag(&generator.loop_lag),
        lag(&step.figures.send_lag),
        share_of_ceiling(generator).unwrap_or_default(),
        generator.bytes_per_client.map(bytes).unwrap_or_default(),
        verdict::slow_time(step).map(|(_, owners)| owners.told(step)).unwrap_or_default(),
    ])
}

fn lag(histogram: &Histogram) -> String {
    if histogram.is_empty() { String::new() } else { duration(histogram.quantile_ns(0.99)) }
}

fn environment(run: &Run) -> Vec<(&'static str, String)> {
    let environment = &run.environment;
    let same_host = |same: bool| if same { "the same machine" } else { "another machine" }.to_owned();
    let facts = [
        ("Name", run.name.clone()),
        ("Note", run.note.clone()),
        ("Target", Some(run.target.url.clone())),
        ("Version", run.target.version.clone()),
        ("Server on", environment.same_host.map(same_host)),
        ("CPU", environment.cpu.clone()),
        ("Cores", environment.cores.map(|cores| cores.to_string())),
        ("Memory", environment.memory_bytes.map(|memory| bytes(memory as f64))),
        ("Kernel", environment.kernel.clone()),
        ("System", environment.os.clone()),
        ("Open files", environment.fd_limit.map(count)),
        ("Generator pinned to", environment.generator_cpus.clone()),
        ("Server pinned to", environment.server_cpus.clone()),
        ("Generator's ceiling", ceiling(run)),
        ("Measured for", Some(duration(run.steps.iter().map(|step| step.duration_ns).sum()))),
        ("Started", Some(started(run))),
        ("Seed", run.seed.map(|seed| seed.to_string())),
        ("throng", Some(run.throng.clone())),
        ("Run", Some(run.id.clone())),
    ];
    facts.into_iter().filter_map(|(label, value)| Some((label, value?))).collect()
}
