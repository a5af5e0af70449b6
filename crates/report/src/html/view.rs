//! What the page says in words: the same sentences as every other format, laid out to be understood at a glance.

use std::slice;

use results::{Bottleneck, LimitOutcome, Run, Step};
use serde::Serialize;
use stats::Histogram;

use crate::format::{bytes, count, duration, rate};
use crate::step_table::{quantile, step_table};
use crate::text::{amount, breaks, broken, ceiling, heaviest_kept, limit_value};

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

/// Whether the second of two runs is really different.
#[derive(Serialize)]
struct ComparisonView {
    columns: Vec<&'static str>,
    rows: Vec<Vec<String>>,
    notes: Vec<String>,
}

#[derive(Serialize)]
struct RunView {
    name: String,
    id: String,
    lead: String,
    answers: [Answer; 3],
    facts: Vec<Fact>,
    latency: Latency,
    doubts: Vec<String>,
    limits: Vec<LimitView>,
    columns: Vec<String>,
    rows: Vec<RowView>,
    health: Vec<HealthView>,
    environment: Vec<(&'static str, String)>,
    command: String,
}

/// One of the three questions, answered.
#[derive(Serialize)]
struct Answer {
    question: &'static str,
    answer: String,
    detail: String,
    /// `good`, `bad`, `doubt` or `plain`; said in words as well.
    tone: &'static str,
}

#[derive(Serialize)]
struct Fact {
    label: String,
    value: String,
    note: String,
}

/// What a comparison needs: which figure it is, and its median and tail.
#[derive(Default, Serialize)]
struct Latency {
    figure: &'static str,
    p50: String,
    p99: String,
}

#[derive(Serialize)]
struct LimitView {
    limit: String,
    passed: bool,
    actual: String,
}

#[derive(Serialize)]
struct RowView {
    cells: Vec<String>,
    kept: bool,
    reason: String,
    marks: Vec<String>,
}

/// One step of the generator's health.
#[derive(Serialize)]
struct HealthView {
    clients: String,
    cells: Vec<String>,
}

/// The view of some runs.
pub(super) fn view(runs: &[Run]) -> View {
    let names = names(runs);
    let compares = runs.len() > 1;
    let title = if compares { format!("{} runs compared", runs.len()) } else { names[0].clone() };
    View {
        lead: if compares { names.join(" · ") } else { lead(&runs[0]) },
        title,
        compares,
        comparison: comparison(runs),
        runs: runs.iter().zip(names).map(|(run, name)| run_view(run, name)).collect(),
    }
}

/// Of two runs of one scenario, as `throng compare` has it.
fn comparison(runs: &[Run]) -> Option<ComparisonView> {
    let [a, b] = runs else { return None };
    if a.scenario != b.scenario {
        return None;
    }
    let found = results::compare::compare(slice::from_ref(a), slice::from_ref(b));
    let table = crate::comparison::table(&found);
    let (columns, rows) = (table.titles().collect(), table.shown().collect());
    Some(ComparisonView { columns, rows, notes: found.notes })
}

/// A name for each run that no other has.
pub(super) fn names(runs: &[Run]) -> Vec<String> {
    let target = |run: &Run| run.target.name.clone().unwrap_or_else(|| run.target.url.clone());
    let same = |of: fn(&Run) -> &str| runs.iter().all(|run| of(run) == of(&runs[0]));
    let (one_scenario, one_dialect) = (same(|run| &run.scenario), same(|run| &run.dialect));
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
    let is_taken = |name: &String| named.iter().filter(|other| *other == name).count() > 1;
    let nth = |at: usize| named[..at].iter().filter(|other| **other == named[at]).count() + 1;
    let unique = |(at, name): (usize, &String)| {
        if is_taken(name) { format!("{name} ({})", nth(at)) } else { name.clone() }
    };
    named.iter().enumerate().map(unique).collect()
}

/// The step that stands for the run: the heaviest that kept its limits, or the last.
pub(super) fn shown(run: &Run) -> usize {
    let kept = heaviest_kept(run).and_then(|kept| run.steps.iter().position(|step| std::ptr::eq(step, kept)));
    kept.unwrap_or(run.steps.len().saturating_sub(1))
}

fn run_view(run: &Run, name: String) -> RunView {
    let steps = step_table(run);
    let row = |(cells, step): (Vec<String>, &Step)| RowView {
        cells,
        kept: step.broken().next().is_none(),
        reason: step.bottleneck.as_ref().map(|finding| finding.reason.clone()).unwrap_or_default(),
        marks: step.marks.clone(),
    };
    RunView {
        name,
        id: run.id.clone(),
        lead: lead(run),
        answers: [how_much(run), where_it_breaks(run), believable(run)],
        facts: facts(run),
        latency: latency(run),
        doubts: run.verdict.trust.iter().map(|note| note.0.clone()).collect(),
        limits: limits(run),
        columns: steps.names,
        rows: steps.rows.into_iter().zip(&run.steps).map(row).collect(),
        health: run.steps.iter().filter_map(health).collect(),
        environment: environment(run),
        command: run.command.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" "),
    }
}

fn lead(run: &Run) -> String {
    let version = run.target.version.as_ref().map(|version| format!(" {version}")).unwrap_or_default();
    format!("{}{version} · {} over {} · {}", run.target.url, run.scenario, run.dialect, started(run))
}

/// When it started, to the second.
fn started(run: &Run) -> String {
    results::file::started(run.started_unix_ns) + " UTC"
}

fn how_much(run: &Run) -> Answer {
    let (answer, mut detail) = amount(run);
    if let Some(line) = run.verdict.memory_per_client.filter(|_| run.verdict.capacity.is_none()) {
        detail = format!("{} of the server's memory for each client", bytes(line.slope));
    }
    let tone = if heaviest_kept(run).is_some() { "plain" } else { "bad" };
    Answer { question: "How much does it hold?", answer, detail, tone }
}

fn where_it_breaks(run: &Run) -> Answer {
    let question = "Where does it break?";
    let first = run.steps.iter().find(|step| step.broken().next().is_some());
    let reason = run.verdict.bottleneck.as_ref();
    let because = reason.map(|finding| match finding.bottleneck {
        Bottleneck::None => finding.reason.clone(),
        who => format!("bottleneck {who}: {}", finding.reason),
    });
    let (answer, detail, tone) = match first {
        Some(step) => {
            let texts: Vec<_> = step.broken().map(broken).collect();
            let held = because.map(|because| format!("; {because}")).unwrap_or_default();
            (format!("at {} clients", count(step.clients)), texts.join(", ") + &held, "bad")
        }
        None if run.steps.is_empty() => ("nothing was measured".into(), String::new(), "doubt"),
        None => {
            let (answer, tone) = match reason.map(|finding| finding.bottleneck) {
                None | Some(Bottleneck::None) => ("it did not break", "good"),
                Some(Bottleneck::Server) => ("it was at its limit", "doubt"),
                Some(Bottleneck::Generator) => ("unknown: the generator gave out first", "bad"),
                Some(Bottleneck::Machine) => ("unknown: the machine was full", "doubt"),
                Some(Bottleneck::Network) => ("unknown: the network was full", "doubt"),
            };
            (answer.into(), breaks(run), tone)
        }
    };
    Answer { question, answer, detail, tone }
}

fn believable(run: &Run) -> Answer {
    let question = "Can I believe it?";
    let trust = &run.verdict.trust;
    let limited = results::verdict::limited_by_generator(&run.steps);
    let (answer, tone) = match trust.len() {
        _ if limited => ("not as the server's limit".into(), "bad"),
        0 => ("yes".into(), "good"),
        1 => ("with one reservation".into(), "doubt"),
        n => (format!("with {n} reservations"), "doubt"),
    };
    let detail = match trust.first() {
        None => "nothing speaks against these figures".into(),
        Some(note) if trust.len() == 1 => note.0.clone(),
        Some(note) => format!("{}; and {} more below", note.0, trust.len() - 1),
    };
    Answer { question, answer, detail, tone }
}

/// The figures that everybody asks for, of the step that stands for the run.
fn facts(run: &Run) -> Vec<Fact> {
    let Some(step) = run.steps.get(shown(run)) else { return Vec::new() };
    let at = if run.steps.len() > 1 { format!("at {} clients", count(step.clients)) } else { String::new() };
    let fact =
        |label: &str, value: String, note: &str| Fact { label: label.into(), value, note: note.into() };
    let (name, histogram) = main_figure(step);
    let mut facts: Vec<Fact> = [("median", 0.5), ("p95", 0.95), ("p99", 0.99), ("max", 1.0)]
        .iter()
        .filter(|_| !histogram.is_empty())
        .map(|(label, q)| fact(&format!("{name} {label}"), quantile(histogram, *q), &at))
        .collect();
    let counts = &step.counts;
    if counts.expected > 0 {
        let due = format!("of {} due", count(counts.expected));
        facts.push(fact("messages missing", count(counts.missing), &due));
    }
    let usable = step.usable.unwrap_or(step.clients);
    facts.push(fact("clients usable", count(usable), &format!("of {}", count(step.clients))));
    let server = step.server.as_ref();
    if let Some(cpu) = server.and_then(|server| server.cpu_percent_mean) {
        let cores = server.and_then(|server| server.cores).map(|cores| format!("of {:.0}%", cores * 100.0));
        facts.push(fact("server CPU", format!("{cpu:.0}%"), &cores.unwrap_or_default()));
    }
    if let Some(rss) = server.and_then(|server| server.rss_bytes_peak) {
        facts.push(fact("server memory", bytes(rss as f64), "resident, at its peak"));
    }
    facts
}

fn latency(run: &Run) -> Latency {
    let Some(step) = run.steps.get(shown(run)) else { return Latency::default() };
    let (figure, histogram) = main_figure(step);
    Latency { figure, p50: quantile(histogram, 0.5), p99: quantile(histogram, 0.99) }
}

/// What a reader means by latency, where the run has it.
fn main_figure(step: &Step) -> (&'static str, &Histogram) {
    let figures = &step.figures;
    let candidates = [("rtt", &figures.rtt), ("recovery", &figures.recovery)];
    candidates.into_iter().find(|(_, figure)| !figure.is_empty()).unwrap_or(("handshake", &figures.handshake))
}

fn limits(run: &Run) -> Vec<LimitView> {
    let mut stops = run.steps.iter().filter_map(|step| step.stop.as_ref());
    let stop = stops.clone().find(|stop| !stop.passed).or(stops.next_back());
    let view = |limit: &LimitOutcome| LimitView {
        limit: limit.limit.clone(),
        passed: limit.passed,
        actual: limit.actual.map_or("not measured".into(), |actual| limit_value(actual, limit.unit)),
    };
    run.verdict.limits.iter().chain(stop).map(view).collect()
}

/// CPU of all workers and of the busiest, loop lag, send lag, share of the ceiling, memory for each client.
fn health(step: &Step) -> Option<HealthView> {
    let generator = step.generator.as_ref()?;
    let percent = |value: Option<f64>| value.map(|value| format!("{value:.0}%")).unwrap_or_default();
    Some(HealthView {
        clients: count(step.clients),
        cells: vec![
            percent(generator.cpu_percent_mean),
            percent(generator.worker_cpu_percent_max),
            percent(generator.waiting_percent),
            quantile(&generator.loop_lag, 0.99),
            quantile(&step.figures.send_lag, 0.99),
            step.rates.asked_per_s.map(|asked| rate(asked, "")).unwrap_or_default(),
            step.rates.achieved_per_s.map(|achieved| rate(achieved, "")).unwrap_or_default(),
            percent(generator.ceiling_percent),
            generator.bytes_per_client.map(bytes).unwrap_or_default(),
        ],
    })
}

fn environment(run: &Run) -> Vec<(&'static str, String)> {
    let environment = &run.environment;
    let same_host = |same: bool| if same { "the same machine" } else { "another machine" }.to_owned();
    let facts = [
        ("Target", Some(run.target.url.clone())),
        ("Version", run.target.version.clone()),
        ("Server on", environment.same_host.map(same_host)),
        ("CPU", environment.cpu.clone()),
        ("Cores", environment.cores.map(|cores| cores.to_string())),
        ("Memory", environment.memory_bytes.map(|memory| bytes(memory as f64))),
        ("Kernel", environment.kernel.clone()),
        ("System", environment.os.clone()),
        ("Host", environment.host.clone()),
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

/// A word as a shell reads it again.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:@=,+%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}
