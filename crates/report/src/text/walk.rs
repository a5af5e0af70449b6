//! The table of a run of several steps: a row for each as it ends.

use results::conclusion::{self, shown};
use results::format::{count, rate, share};
use results::{Requirement, Run, Scenario, ServerUse, Step};
use stats::{Counts, Timed};

use crate::reading;
use crate::style::{Colour, Style};
use crate::text::row::Rows;
use crate::text::told;

const COLUMNS: [(&str, f64); 4] = [("p50", 0.5), ("p95", 0.95), ("p99", 0.99), ("max", 1.0)];
/// The column where a row's reasons begin, below its clients.
const REASON_INDENT: usize = 3;

/// The metric of the rows: that of whatever came to others, else the one by which steps are judged.
pub(super) fn metric(step: &Step) -> Timed {
    let first =
        [Timed::Recovery, Timed::Delivery].into_iter().find(|timed| !step.figures.get(*timed).is_empty());
    first.unwrap_or_else(|| step.main_timed())
}

/// The names of the columns, given the first step.
pub(super) fn names(step: &Step, timed: Timed, style: &Style) -> String {
    let title = format!("{}: {}", timed.words(), timed.facts().span);
    let names = COLUMNS.map(|(name, _)| name.to_owned());
    // A rate that was asked for need not have been reached.
    let rate = if step.rates.asked_per_s.is_some() { "asked" } else { "rate" };
    let columns = cells(" ", "clients", rate, names, "came", "server CPU");
    format!("\n{}\n{columns}\n", style.paint(Colour::Dim, &title))
}

/// A step, with ✓ or ✗, and below it why it did not pass, or why nothing is known of it.
pub(super) fn row(scenario: Scenario, step: &Step, timed: Timed, style: &Style) -> String {
    let untold = conclusion::untold(step).filter(|_| step.has_passed());
    let sign = match (&untold, step.has_passed()) {
        (Some(_), _) => " ",
        (None, true) => "✓",
        (None, false) => "✗",
    };
    // Beside the rates of messages, one of connections would be taken for one of these.
    let is_of_connects = !step.counts.has_messages() && !step.was_never_loaded();
    let connects = step.rates.connects_per_s.filter(|_| is_of_connects);
    let per_s = step.rates.asked_per_s.or(step.rates.achieved_per_s).or(connects);
    let values = COLUMNS.map(|(_, q)| reading::marked_quantile(step, timed, q));
    let (clients, per_s) = (count(step.clients), per_s.map(|per_s| rate(per_s, "")).unwrap_or_default());
    let mut text = cells(sign, &clients, &per_s, values, &came(step), &cpu(step)) + "\n";
    let failings = conclusion::failings(scenario, step);
    let colour = if failings.is_empty() { Colour::Yellow } else { Colour::Red };
    let reasons = failings.iter().map(ToString::to_string).chain(untold).collect::<Vec<_>>();
    if !reasons.is_empty() {
        let rows = Rows { style, indent: REASON_INDENT, label: 1 };
        text += &rows.painted("", &reasons.join(", "), Some(colour));
        text += "\n";
    }
    text
}

/// A row of 78 columns.
fn cells(sign: &str, clients: &str, rate: &str, values: [String; 4], came: &str, cpu: &str) -> String {
    let values = values.map(|value| format!("{value:>9}")).concat();
    format!("{sign}{clients:>10}{rate:>11}{values}{came:>8}{cpu:>12}").trim_end().to_owned()
}

/// The share of messages due that came; below 100% where one is missing.
fn came(step: &Step) -> String {
    let Counts { received, expected, in_flight, .. } = step.counts;
    // What was on its way to clients that left was due to nobody any more. In a step that was cut short, it was
    // on its way to all.
    let is_cut = step.was_interrupted() || step.broken().any(|limit| limit.of == Requirement::Finished);
    match expected.saturating_sub(if is_cut { 0 } else { in_flight }) {
        0 => String::new(),
        due if received >= due => "100%".into(),
        due => share(100.0 * received as f64 / due as f64),
    }
}

fn cpu(step: &Step) -> String {
    let percent = step.server.as_ref().and_then(ServerUse::cpu_percent_of_cores);
    percent.map(|percent| format!("{percent:.0}%")).unwrap_or_default()
}

/// Errors of the first step that failed; resources and slow time of the one that stands for the run.
pub(super) fn beside(run: &Run, style: &Style) -> String {
    let Some(step) = run.steps.get(shown(run)) else { return String::new() };
    let rows = Rows { style, indent: 0, label: 11 };
    let is_refuted = |step: &Step| results::verdict::is_refuted(&run.steps, &run.verdict, step);
    let failed = run.steps.iter().find(|step| !step.has_passed() && !is_refuted(step));
    let errors = failed.into_iter().flat_map(|failed| {
        let asked = conclusion::asked(run.scenario, failed);
        told::errors(failed).into_iter().map(move |text| format!("at {asked}: {text}"))
    });
    let errors = errors.map(|text| rows.painted("error", &text, Some(Colour::Yellow)));
    let lines: Vec<String> = errors.chain(told::usage_rows(step, &rows)).collect();
    if lines.is_empty() { String::new() } else { format!("\n{}\n", lines.join("\n")) }
}

#[cfg(test)]
mod tests;
