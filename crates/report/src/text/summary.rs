//! The block that ends a run: how much, where does it break, can it be believed.

use results::levels;
use results::{Bottleneck, Level, LimitOutcome, Rates, Run, Step, Unit, Verdict};
use stats::{Capacity, Histogram, Summary};

use results::format::{bytes, clients, count, duration, rate};

/// Doubts in the summary: a sweep has dozens of steps, each with its own.
const TRUST_LINES_MAX: usize = 6;

/// The block that ends a run, each line ending in a newline; without colour, for it is what gets quoted.
pub fn summary(run: &Run) -> String {
    let mut lines = Vec::new();
    match run.scenario.as_str() {
        "echo" => lines.extend(run.steps.last().map(wsdemo_table)),
        "http" => lines.extend(run.steps.last().map(super::http::table)),
        _ => {}
    }
    if run.scenario == "broadcast" {
        lines.extend(missing_line(run));
    }
    let verdict = &run.verdict;
    lines.extend(level_table(&verdict.levels));
    lines.push(row("how much", &how_much(run)));
    lines.extend(verdict.knee.map(|knee| {
        let text = format!(
            "latency outgrows load above {} ({})",
            rate(knee.load, "messages"),
            duration(knee.latency as u64)
        );
        row("knee", &text)
    }));
    lines.extend(verdict.memory_per_client.map(|line| {
        let of_server =
            format!("{} per client ± {} (95% CI)", bytes(line.slope), bytes(line.slope_half_width()));
        row("memory", &(of_server + &beside_the_server(run)))
    }));
    lines.extend(ceiling(run).map(|text| row("ceiling", &text)));
    lines.push(row("breaks", &breaks(run)));
    lines.extend(trust(verdict));
    lines.join("\n") + "\n"
}

/// Why the figures may not be believed; each step has said its part already.
fn trust(verdict: &Verdict) -> Vec<String> {
    let mut notes: Vec<String> =
        verdict.trust.iter().take(TRUST_LINES_MAX).map(|note| note.0.clone()).collect();
    if notes.is_empty() {
        notes.push("nothing speaks against these figures".into());
    }
    if let Some(more) = verdict.trust.len().checked_sub(TRUST_LINES_MAX).filter(|&more| more > 0) {
        notes.push(format!("and {more} more, as marked at the steps"));
    }
    let label = |i| if i == 0 { "trust" } else { "" };
    notes.iter().enumerate().map(|(i, note)| row(label(i), note)).collect()
}

/// How much of the generator's own ceiling the busiest step took.
pub(crate) fn ceiling(run: &Run) -> Option<String> {
    let shares = run.steps.iter().filter_map(|step| Some((step, step.generator.as_ref()?.ceiling_percent?)));
    let (step, percent) = shares.max_by(|a, b| a.1.total_cmp(&b.1))?;
    let generator = step.generator.as_ref()?;
    let what = match (step.figures.rtt.is_empty(), step.figures.delivery.is_empty()) {
        _ if run.scenario == "http" => "requests",
        (true, true) => "connects",
        (false, true) => "echoes",
        (_, false) => "copies",
    };
    let ceiling = rate(generator.ceiling_per_s?, what);
    let share = if percent < 1.0 { "less than 1%".into() } else { format!("{percent:.0}%") };
    Some(match generator.ceiling_at_least {
        Some(true) if percent >= 1.0 => {
            format!("at most {share} of the generator's ceiling here (at least {ceiling})")
        }
        Some(true) => format!("{share} of the generator's ceiling here (at least {ceiling})"),
        _ => format!("{share} of the generator's ceiling here ({ceiling})"),
    })
}

/// What each number of clients could carry, a line a level.
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

fn row(label: &str, text: &str) -> String {
    format!("{label:9} {text}")
}

/// A broken limit: what it was, and what came.
pub(crate) fn broken(limit: &LimitOutcome) -> String {
    match actual(limit) {
        Some(actual) => format!("{} was {actual}", limit.limit),
        None => format!("{} was not measured", limit.limit),
    }
}

/// What a limit's figure came to: `6.40s`, or `at least 9.00s` where not all were back.
pub(crate) fn actual(limit: &LimitOutcome) -> Option<String> {
    let text = value(limit.actual?, limit.unit);
    Some(if limit.at_least { format!("at least {text}") } else { text })
}

/// A limit's figure in its unit.
fn value(actual: f64, unit: Unit) -> String {
    match unit {
        Unit::Ms => duration((actual * 1e6).round() as u64),
        Unit::Percent => format!("{actual:.2}%"),
        Unit::PerSecond => rate(actual, ""),
        Unit::Bytes => bytes(actual),
        Unit::Count => count(actual.round() as u64),
    }
}

/// The capacity if it was searched for, or else the heaviest step that kept all limits.
pub(crate) fn how_much(run: &Run) -> String {
    let (amount, detail) = amount(run);
    if detail.is_empty() { amount } else { format!("{amount}, {detail}") }
}

/// The same in two parts: so many clients, and what is to be said about them; the latter may be empty.
pub(crate) fn amount(run: &Run) -> (String, String) {
    if let Some(capacity) = run.verdict.capacity {
        return capacity_text(capacity);
    }
    let Some(step) = heaviest_kept(run) else {
        let nothing = if run.steps.is_empty() { "nothing was measured" } else { "no step kept its limits" };
        return (nothing.into(), String::new());
    };
    if let Some(level) = levels::best(&run.verdict.levels) {
        return level_text(level, &run.verdict.levels);
    }
    let usable = step.usable.unwrap_or(step.clients);
    let of = if usable < step.clients { format!("{} of ", count(usable)) } else { String::new() };
    (of + &clients(step.clients.max(usable)), work(run, step))
}

/// What a step's clients did, and how fast.
fn work(run: &Run, step: &Step) -> String {
    let &Rates { achieved_per_s: achieved, received_per_s: received, .. } = &step.rates;
    let (sent, received) = match run.scenario.as_str() {
        "http" => (achieved.map(|per_s| rate(per_s, "requests")), None),
        "broadcast" => {
            (achieved.map(|per_s| rate(per_s, "messages")), received.map(|per_s| rate(per_s, "deliveries")))
        }
        _ => (achieved.map(|per_s| rate(per_s, "messages")), None),
    };
    [returns(step), sent, received].into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// How long it took until everybody was back from a storm, or how many were not.
fn returns(step: &Step) -> Option<String> {
    let recovery = &step.figures.recovery;
    let (lost, back) = (recovery.count(), step.back());
    let watched = duration(recovery.max_ns());
    match back {
        _ if lost == 0 => None,
        0 => Some(format!("none of {} back after {watched}", count(lost))),
        _ if back == lost => Some(format!("all back within {watched}")),
        // Those who were not are the longest samples.
        _ => {
            let last_ns = recovery.quantile_ns(back as f64 / lost as f64);
            let (of, rest) = (format!("{} of {}", count(back), count(lost)), count(lost - back));
            Some(format!("{of} back within {}; {rest} not back after {watched}", duration(last_ns)))
        }
    }
}

/// The step that stands for the run: of those that kept all limits, the one with the most clients, if all of them were
/// there; of a sweep of rates, the one that is the answer.
pub(crate) fn heaviest_kept(run: &Run) -> Option<&Step> {
    let mut kept = run.steps.iter().filter(|step| step.broken().next().is_none());
    match levels::best(&run.verdict.levels) {
        Some(level) => {
            kept.find(|step| step.clients == level.clients && step.rates.asked_per_s == level.safe_per_s)
        }
        None => kept.max_by_key(|step| (step.has_passed(), step.clients)),
    }
}

/// The deliveries of the best level, and the safe rate of each.
fn level_text(best: &Level, levels: &[Level]) -> (String, String) {
    let safe = levels
        .iter()
        .filter_map(|level| Some(format!("{} to {}", rate(level.safe_per_s?, ""), count(level.clients))));
    let amount = rate(best.received_per_s.unwrap_or_default(), "deliveries");
    (amount, format!("safe: {} clients", safe.collect::<Vec<_>>().join(", ")))
}

fn capacity_text(capacity: Capacity) -> (String, String) {
    let Capacity { clients, low, high, confidence, at_least } = capacity;
    if at_least {
        return (format!("at least {}", self::clients(clients)), "nothing broke".into());
    }
    let percent = confidence * 100.0;
    (self::clients(clients), format!("{percent:.0}% CI {} to {}", count(low), count(high)))
}

/// What a client costs elsewhere, where that is known.
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

/// The step with the least load that did not pass.
pub(crate) fn lightest_broken(run: &Run) -> Option<&Step> {
    results::verdict::lightest_broken(&run.steps, &run.verdict.levels)
}

/// A step by what was asked of it.
pub(crate) fn place(run: &Run, step: &Step) -> String {
    let rate = step.rates.asked_per_s.filter(|_| !run.verdict.levels.is_empty());
    match rate {
        Some(per_s) => format!("at {} to {}", self::rate(per_s, "messages"), clients(step.clients)),
        None => format!("at {}", clients(step.clients)),
    }
}

/// Why a step does not pass.
pub(crate) fn failings(step: &Step) -> String {
    let absent = Some(step.absent()).filter(|&absent| absent > 0);
    let absent = absent.map(|absent| format!("{} did not become usable", count(absent)));
    absent.into_iter().chain(step.broken().map(broken)).collect::<Vec<_>>().join(", ")
}

/// What broke a limit first, and what held the run back.
pub(crate) fn breaks(run: &Run) -> String {
    let limits = match lightest_broken(run) {
        Some(step) => {
            format!("{}: {}", place(run, step), failings(step))
        }
        None if run.steps.iter().all(|step| step.limits.is_empty() && step.stop.is_none()) => {
            "no limit was set".into()
        }
        None => "no limit was broken".into(),
    };
    match &run.verdict.bottleneck {
        None => limits,
        Some(finding) if finding.bottleneck == Bottleneck::None => format!("{limits}; {}", finding.reason),
        Some(finding) => format!("{limits}; bottleneck {}: {}", finding.bottleneck, finding.reason),
    }
}

/// wsdemo's table, turned on its side: one run has two rows.
fn wsdemo_table(step: &Step) -> String {
    let mut table =
        format!("{:15}{:>9}{:>9}{:>9}{:>9}{:>9}{:>9}\n", "", "mean", "σ", "median", "95%", "99%", "99.9%");
    let rows: [(&str, &Histogram); 2] =
        [("handshake time", &step.figures.handshake), ("latency", &step.figures.rtt)];
    for (name, histogram) in rows {
        let Some(summary) = histogram.summary() else { continue };
        let cells = wsdemo_cells(&summary).map(|ns| format!("{:>9}", duration(ns)));
        table += &format!("{name:15}{}\n", cells.concat());
    }
    table + &format!("connection timeouts {}\n", count(step.counts.connect_timeouts))
}

/// Mean, σ, median, 95%, 99% and 99.9%, in ns: wsdemo's columns.
pub(crate) fn wsdemo_cells(summary: &Summary) -> [u64; 6] {
    let &Summary { mean_ns, sd_ns, p50_ns, p95_ns, p99_ns, p999_ns, .. } = summary;
    [mean_ns.round() as u64, sd_ns.round() as u64, p50_ns, p95_ns, p99_ns, p999_ns]
}

/// websocket-bench's last line, where broadcasts are missing; here they are lost, not late.
fn missing_line(run: &Run) -> Option<String> {
    let (expected, received) = run.steps.iter().fold((0, 0), |(expected, received), step| {
        (expected + step.counts.expected, received + step.counts.received)
    });
    (received < expected)
        .then(|| format!("Missing received broadcasts: expected {expected}, got {received}\n"))
}

#[cfg(test)]
mod tests;
