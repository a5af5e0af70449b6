//! The page of a run's only step: checks, latencies, resources.

use results::conclusion;
use results::format::{bytes, clients, count, duration, rate, share, statuses};
use results::standing::{self, Check};
use results::{Rates, Scenario, Step, Unit};
use stats::{Count, CountOf, Timed};

use crate::reading;
use crate::style::{Colour, Style};
use crate::text::row::Rows;
use crate::text::told::{self, others};
use crate::text::{absences, says};

/// The column where the values of checks and resources begin.
const LABEL_WIDTH: usize = 11;
/// The column where latencies begin: `last receiver` has 13 letters.
const METRIC_WIDTH: usize = 14;
/// The width of a latency: `≥ 6.93s?` and what keeps it apart.
const CELL_WIDTH: usize = 9;
/// The width of a number of samples: `1,000,000`.
const COUNT_WIDTH: usize = 11;

/// The words of a step in which none of these was counted.
const CLEAN: &str = ", nothing lost, duplicated, out of order or corrupt";

const COLUMNS: [(&str, f64); 5] =
    [("p50", 0.5), ("p95", 0.95), ("p99", 0.99), ("p99.9", 0.999), ("max", 1.0)];

/// All lines of the step, each ending in a newline.
pub(super) fn lines(scenario: Scenario, step: &Step, style: &Style) -> String {
    let parts = [
        vec![told::load(scenario, step)],
        checks(scenario, step, style),
        latencies(step, style),
        rest(step, style),
    ];
    let parts = parts.into_iter().filter(|part| !part.is_empty()).map(|part| part.join("\n"));
    parts.collect::<Vec<_>>().join("\n\n") + "\n"
}

/// A line for each thing that was to happen: ✓ or ✗ where a limit is on it, and what did happen.
fn checks(scenario: Scenario, step: &Step, style: &Style) -> Vec<String> {
    let rows = Rows { style, indent: 0, label: LABEL_WIDTH + 2 };
    let line = |check: Option<Check>, label: &str, text: &str| {
        let passes = check.map(|check| standing::passes(step, check));
        mark(&rows, passes, label, text)
    };
    let mut lines = vec![line(Some(Check::Connected), "connected", &connected(step))];
    lines.extend(answered(scenario, step).map(|(label, text)| line(Some(Check::Delivered), label, &text)));
    lines.extend(told::pushes(step).map(|text| line(Some(Check::Pushed), "pushes", &text)));
    // An answer that was cut short is missing, and nothing else is wrong with its events.
    let is_whole = step.counts.broken_off + step.counts.unended == 0;
    let events = if is_whole { Check::Streamed } else { Check::Delivered };
    lines.extend(told::events(step).map(|text| line(Some(events), "events", &text)));
    lines.extend(rates(scenario, step).map(|(check, text)| line(check, "rate", &text)));
    lines.extend(step.limits.iter().chain(&step.stop).map(|limit| {
        let was = conclusion::actual(limit).unwrap_or_else(|| "not measured".into());
        mark(&rows, Some(limit.passed()), "limit", &format!("{}  was {was}", limit.of))
    }));
    lines
}

fn mark(rows: &Rows<'_>, passes: Option<bool>, label: &str, text: &str) -> String {
    let (sign, colour) = match passes {
        None => (" ", None),
        Some(true) => ("✓", None),
        Some(false) => ("✗", Some(Colour::Red)),
    };
    rows.painted(&format!("{sign} {label}"), text, colour)
}

/// The number of clients that connected, how fast, and what became of connections.
fn connected(step: &Step) -> String {
    let (connected, all) = told::connected(step);
    let rate = step.rates.connects_per_s.map(|per_s| format!(", {}", rate(per_s, ""))).unwrap_or_default();
    format!("{} of {}{rate}{}", count(connected), count(all), told::connections(step))
}

/// Messages due and received, and everything that came otherwise.
fn answered(scenario: Scenario, step: &Step) -> Option<(&'static str, String)> {
    let counts = &step.counts;
    if !counts.has_messages() {
        return None;
    }
    // What absent clients never got is in a line of its own, and what was not acknowledged may be lost.
    let is_trouble =
        |count: Count| count.facts().is_defect || matches!(count, Count::LostOffline | Count::Unacknowledged);
    let has_trouble = Count::ALL.into_iter().any(|count| is_trouble(count) && *counts.get(count) > 0);
    let is_copies = counts.expected > counts.sent || !step.figures.delivery.is_empty();
    let label = if is_copies { "delivered" } else { "answered" };
    let (received, expected) = (count(counts.received), count(counts.expected));
    let clean = match has_trouble {
        // Of requests the statuses say as much; of streams, the line of their events.
        false if scenario.facts().has_dialects => CLEAN,
        _ => "",
    };
    let statuses = (!step.statuses.is_empty()).then(|| format!(", status {}", statuses(&step.statuses)));
    let (statuses, others) = (statuses.unwrap_or_default(), others(counts, CountOf::Messages));
    Some((label, format!("{received} of {expected}{clean}{statuses}{others}")))
}

/// Messages completed per second; in an open model, of the rate that was asked.
fn rates(scenario: Scenario, step: &Step) -> Option<(Option<Check>, String)> {
    let sends = scenario.facts().sends;
    let completed = step.rates.achieved_per_s?;
    // Beside the rate, as wrk, hey and oha have it: a link is full long before a server of large answers is.
    let link = |per_s: Option<f64>, way: &str| {
        per_s
            .filter(|per_s| *per_s > 0.0)
            .map_or(String::new(), |per_s| format!(", {}/s {way}", bytes(per_s)))
    };
    let Rates { sent_bytes_per_s, received_bytes_per_s, received_per_s, .. } = step.rates;
    // What was sent and what came have a time each, where answers outlast the schedule.
    let drained_ns = told::answered_in_ns(step);
    let over = |ns: u64| drained_ns.map_or(String::new(), |_| format!(" in {}", duration(ns)));
    let (sent_in, answered_in) = (over(step.duration_ns), over(drained_ns.unwrap_or_default()));
    let bytes_per_s = link(sent_bytes_per_s, &format!("sent{sent_in}"))
        + &link(received_bytes_per_s, &format!("received{answered_in}"));
    let Some(asked) = step.rates.asked_per_s else {
        return (completed > 0.0).then(|| (None, rate(completed, sends) + &bytes_per_s));
    };
    let broken = standing::broken_rate(step).and_then(|limit| limit.bound().zip(Some(limit.unit)));
    let missed = step.kept_percent().zip(broken).map(|(kept, (bound, unit))| match unit {
        Unit::Percent => format!(", {} completed in time ({bound}% required)", share(kept)),
        _ => format!(" ({} required)", rate(bound, "")),
    });
    let is_until_last = received_per_s.is_some_and(|per_s| per_s == completed);
    let completed_in = if is_until_last { answered_in } else { String::new() };
    // A schedule is of all clients: the ones that are there send for those that are not.
    let usable = step.usable.filter(|&usable| usable < step.clients);
    let from = usable.map(|usable| format!(" from {}", clients(usable))).unwrap_or_default();
    let completed = rate(completed, "");
    let rates = format!("{} of {}{from}{completed_in}", completed.trim_end_matches("/s"), rate(asked, sends));
    Some((Some(Check::Rate), rates + &missed.unwrap_or_default() + &bytes_per_s))
}

/// A table of what was timed, and what its rows mean.
fn latencies(step: &Step, style: &Style) -> Vec<String> {
    let metrics: Vec<Timed> = told::timed(step).collect();
    if metrics.is_empty() {
        return Vec::new();
    }
    let cells = |cells: [String; 5]| cells.map(|cell| format!("{cell:>CELL_WIDTH$}")).concat();
    let names = cells(COLUMNS.map(|(name, _)| name.to_owned()));
    let mut lines = vec![format!("{:METRIC_WIDTH$}{names}{:>COUNT_WIDTH$}", "latency", "samples")];
    lines.extend(metrics.iter().map(|&timed| {
        let values = cells(COLUMNS.map(|(_, q)| reading::marked_quantile(step, timed, q)));
        let samples = count(step.figures.get(timed).count());
        format!("{:METRIC_WIDTH$}{values}{samples:>COUNT_WIDTH$}", timed.words())
    }));
    let is_uncertain = lines.iter().any(|line| line.contains('?'));
    let spans = metrics.iter().map(|timed| format!("{}: {}", timed.words(), timed.facts().span));
    let uncertain = is_uncertain.then(|| "?: too few samples above it".to_owned());
    let legend = spans.chain(uncertain).collect::<Vec<_>>().join("; ");
    lines.push(Rows { style, indent: 1, label: 1 }.painted("", &legend, Some(Colour::Dim)));
    lines
}

/// Kinds of messages, roles, absences, errors, resources, and where the time of slow messages went.
fn rest(step: &Step, style: &Style) -> Vec<String> {
    let rows = Rows { style, indent: 0, label: LABEL_WIDTH };
    let mut lines: Vec<String> =
        says::lines(step).iter().map(|(label, text)| rows.row(label, text)).collect();
    lines.extend(absences::lines(step).iter().map(|text| rows.row("away", text)));
    lines.extend(told::errors(step).iter().map(|text| rows.painted("error", text, Some(Colour::Yellow))));
    lines.extend(told::usage_rows(step, &rows));
    lines
}

#[cfg(test)]
mod tests;
