//! The block that ends a run: what it comes to, why, what weakens it, and what to do next.

use std::iter;

use results::conclusion::{self, Status};
use results::format::{bytes, count, rate};
use results::{Delivery, GeneratorUse, Level, Run, Scenario, Step};
use stats::{Histogram, Timed};

use crate::reading;
use crate::style::{Colour, Detail, Style, Words};
use crate::text::row::Rows;

/// The column where the values begin.
const LABEL_WIDTH: usize = 10;
/// Caveats in the block: a sweep has dozens of steps, each with its own.
const CAVEATS_MAX: usize = 6;

/// The block, each line ending in a newline.
pub(super) fn lines(run: &Run, style: &Style) -> String {
    let rows = Rows { style, indent: 0, label: LABEL_WIDTH };
    let row = |label: &str, text: &str| rows.row(label, text);
    let mut lines = Vec::new();
    match (run.scenario, style.words) {
        (Scenario::Echo, Words::Wsdemo) => lines.extend(run.steps.last().map(wsdemo_table)),
        (Scenario::Http, words) if style.detail == Detail::Full || words != Words::Own => {
            lines.extend(run.steps.last().map(super::http::table))
        }
        (Scenario::Broadcast, Words::WebsocketBench(_)) => lines.extend(missing_line(run)),
        _ => {}
    }
    let verdict = &run.verdict;
    lines.extend(level_table(&verdict.levels));
    lines.extend(Delivery::of(&run.steps).map(|delivery| row("guarantee", &delivery.to_string())));
    lines.extend(verdict.memory_per_client.map(|line| {
        let of_server =
            format!("{} per client ± {} (95% CI)", bytes(line.slope), bytes(line.slope_half_width()));
        let later = verdict.memory_later.map(|later| format!(", {} at the end of the load", bytes(later)));
        row("memory", &(of_server + &later.unwrap_or_default() + &beside_the_server(run)))
    }));
    lines.extend(ceiling(run).map(|text| row("ceiling", &text)));
    if !lines.is_empty() {
        lines.push(String::new());
    }
    lines.push(result(run, style).trim_end().to_owned());
    lines.extend(conclusion::conclude(run).why().map(|why| row("WHY", &why)));
    lines.extend(caveats(run, style.detail).iter().map(|(label, caveat)| row(label, caveat)));
    lines.join("\n") + "\n"
}

/// A step to take next, and the command for it.
pub struct Suggestion {
    /// Its purpose: `find the limit`.
    pub what: String,
    /// The line to type, where one does it.
    pub command: Option<String>,
}

/// Suggestions with their commands, which are never folded: they are copied as they stand.
pub(super) fn next(next: &[Suggestion], style: &Style) -> String {
    let rows = Rows { style, indent: 0, label: LABEL_WIDTH };
    // A line break in the midst of a command would end it, where it is pasted.
    let unfolded = Style { columns: None, ..*style };
    let commands = Rows { style: &unfolded, ..rows };
    let labels = ["NEXT"].into_iter().chain(iter::repeat(""));
    let lines = labels.zip(next).flat_map(|(label, Suggestion { what, command })| {
        let command = command.as_ref().map(|command| commands.row("", command));
        [Some(rows.row(label, what)), command].into_iter().flatten()
    });
    lines.map(|line| line + "\n").collect()
}

/// The one line that is forwarded, ending in a newline.
pub(super) fn result(run: &Run, style: &Style) -> String {
    let conclusion = conclusion::conclude(run);
    let colour = match conclusion.status() {
        Status::Passed => Colour::Green,
        Status::Failed => Colour::Red,
        Status::Unclear => Colour::Yellow,
    };
    let rows = Rows { style, indent: 0, label: LABEL_WIDTH };
    rows.painted("RESULT", &conclusion.result(), Some(colour)) + "\n"
}

/// Caveats, each once.
fn caveats(run: &Run, detail: Detail) -> Vec<(&'static str, String)> {
    let mut told = conclusion::conclude(run).caveats(run);
    if told.is_empty() {
        told.push("none".into());
    }
    let more = told.len().saturating_sub(CAVEATS_MAX);
    if more > 0 && detail != Detail::Full {
        told.truncate(CAVEATS_MAX);
        told.push(format!("and {more} more: -v prints all"));
    }
    let labels = ["CAVEATS"].into_iter().chain(iter::repeat(""));
    labels.zip(told).collect()
}

/// How much of the generator's own ceiling the busiest step took.
pub(crate) fn ceiling(run: &Run) -> Option<String> {
    let shares = run.steps.iter().filter_map(|step| {
        let generator = step.generator.as_ref()?;
        Some((step, generator, generator.ceiling_percent?))
    });
    let (step, generator, _) = shares.max_by(|a, b| a.2.total_cmp(&b.2))?;
    let what = match (step.figures.rtt.is_empty(), step.figures.delivery.is_empty()) {
        _ if !run.scenario.facts().has_dialects => run.scenario.facts().sends,
        (true, true) => "connects",
        (false, true) => "echoes",
        (_, false) => "copies",
    };
    let ceiling = rate(generator.ceiling_per_s?, what);
    let bound = if generator.ceiling_at_least == Some(true) { "at least " } else { "" };
    let share = share_of_ceiling(generator)?;
    Some(format!("{share} of the generator's ceiling here ({bound}{ceiling})"))
}

/// The share of the generator's own ceiling that a step took: `42%`, `at most 42%`, `less than 1%`.
pub(crate) fn share_of_ceiling(generator: &GeneratorUse) -> Option<String> {
    let percent = generator.ceiling_percent?;
    Some(match generator.ceiling_at_least {
        // 0% would say that nothing was done.
        _ if percent < 1.0 => "less than 1%".into(),
        Some(true) => format!("at most {percent:.0}%"),
        _ => format!("{percent:.0}%"),
    })
}

/// The capacity of each number of clients, a line a level.
fn level_table(levels: &[Level]) -> Option<String> {
    if levels.is_empty() {
        return None;
    }
    let line = |[clients, safe, deliveries, knee, fatal, overload]: [&str; 6]| {
        format!("{clients:>8} {safe:>12} {deliveries:>14} {knee:>12} {fatal:>14} {overload:>12}\n")
    };
    let cells = levels.iter().map(level_cells);
    let lines =
        cells.map(|cells| line(cells.each_ref().map(|cell| if cell.is_empty() { "-" } else { cell })));
    Some(line(LEVEL_NAMES) + &lines.collect::<String>())
}

/// The columns of [`level_cells`].
pub(crate) const LEVEL_NAMES: [&str; 6] =
    ["clients", "safe rate", "deliveries", "knee", "mean ≥ 200ms", "overload"];

/// A level as cells; what was not reached is empty.
pub(crate) fn level_cells(level: &Level) -> [String; 6] {
    let per_s = |value: Option<f64>| value.map(|value| rate(value, "")).unwrap_or_default();
    [
        count(level.clients),
        per_s(level.safe_per_s),
        per_s(level.received_per_s),
        per_s(level.knee.map(|knee| knee.load)),
        per_s(level.fatal_per_s),
        per_s(level.overload_per_s),
    ]
}

/// The cost of a client elsewhere, where that is known.
fn beside_the_server(run: &Run) -> String {
    let Some(step) = run.steps.last() else { return String::new() };
    let kernel = step.machine.as_ref().and_then(|machine| machine.kernel_bytes_per_client);
    let generator = step.generator.as_ref().and_then(|generator| generator.bytes_per_client);
    match kernel.zip(generator) {
        Some((kernel, generator)) => {
            format!(" in the server, {} in the generator, {} in the kernel", bytes(generator), bytes(kernel))
        }
        None => String::new(),
    }
}

/// wsdemo's table, turned on its side: one run has two rows.
fn wsdemo_table(step: &Step) -> String {
    let mut table =
        format!("{:15}{:>9}{:>9}{:>9}{:>9}{:>9}{:>9}\n", "", "mean", "σ", "median", "95%", "99%", "99.9%");
    for (name, figure) in [("handshake time", Timed::Handshake), ("latency", Timed::Rtt)] {
        let cells = wsdemo_cells(step, figure);
        if cells.iter().any(|cell| !cell.is_empty()) {
            table += &format!("{name:15}{}\n", cells.map(|cell| format!("{cell:>9}")).concat());
        }
    }
    table + &format!("connection timeouts {}\n", count(step.counts.connect_timeouts))
}

/// Mean, σ, median, 95%, 99% and 99.9%: wsdemo's columns.
fn wsdemo_cells(step: &Step, figure: Timed) -> [String; 6] {
    let moments = [Histogram::mean_ns, Histogram::sd_ns].map(|of| reading::moment(step, figure, of));
    let [p50, p95, p99, p999] = [0.5, 0.95, 0.99, 0.999].map(|q| reading::quantile(step, figure, q));
    let [mean, sd] = moments;
    [mean, sd, p50, p95, p99, p999]
}

/// websocket-bench's last line, where broadcasts are missing; here they are lost, not late.
fn missing_line(run: &Run) -> Option<String> {
    let (expected, received) = run.steps.iter().fold((0, 0), |(expected, received), step| {
        // What was in flight to clients that left, or when the user ended the run, was not waited for.
        (expected + step.counts.received + step.counts.missing, received + step.counts.received)
    });
    (received < expected)
        .then(|| format!("Missing received broadcasts: expected {expected}, got {received}\n"))
}

#[cfg(test)]
mod tests;
