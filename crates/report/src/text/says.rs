//! What each kind of messages came to: what was due and what came of it, and how long that took.

use results::format::{count, duration, printable};
use results::{SayFigures, Step};
use stats::{Count, Histogram, Timed};

/// The quantiles of each figure.
const COLUMNS: [(&str, f64); 3] = [("p50", 0.5), ("p99", 0.99), ("max", 1.0)];

/// A label and a line for each of them; none where there is but one kind.
pub(super) fn lines(step: &Step) -> Vec<(String, String)> {
    let open = step.open_samples(Timed::Rtt);
    step.says.iter().map(|say| (format!("say {}", printable(&say.name)), line(say, open))).collect()
}

/// `open`: how many samples of the step's round trips stand for what never came.
fn line(say: &SayFigures, open: u64) -> String {
    let counts = &say.counts;
    let amounts = format!(
        "{} sent, {} of {} received",
        count(counts.sent),
        count(counts.received),
        count(counts.expected)
    );
    let troubles =
        Count::ALL.into_iter().filter(|count| count.facts().is_trouble || *count == Count::InFlight);
    let troubles = troubles.filter_map(|trouble| {
        let n = *counts.get(trouble);
        (n > 0).then(|| format!(", {} {}", count(n), trouble.facts().words.unwrap_or_default()))
    });
    let troubles: String = troubles.collect();
    let figures = [("rtt", &say.rtt, open), ("delivery", &say.delivery, 0)];
    let figures = figures.into_iter().filter(|(_, figure, _)| !figure.is_empty());
    let figures: String =
        figures.map(|(name, figure, open)| format!("; {name} {}", percentiles(figure, open))).collect();
    amounts + &troubles + &figures
}

/// Whose the open samples are is not known: each kind's may be among its longest.
fn percentiles(figure: &Histogram, open: u64) -> String {
    let certain = figure.count().saturating_sub(open);
    let cell = |(name, q): (&str, f64)| {
        let bound = if stats::rank(figure.count(), q) > certain { "≥ " } else { "" };
        format!("{name} {bound}{}", duration(figure.quantile_ns(q)))
    };
    COLUMNS.map(cell).join(" ")
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;
    use crate::sample;

    #[test]
    fn each_kind_has_a_line_of_its_own() {
        let lines: Vec<String> = lines(&sample::step_of_kinds())
            .into_iter()
            .map(|(label, text)| format!("{label}: {text}"))
            .collect();
        assert_snapshot!(lines.join("\n"), @"
        say group: 600 sent, 3,598 of 3,600 received, 2 missing; rtt p50 10.5ms p99 19.8ms max 20.0ms; delivery p50 31.0ms p99 59.5ms max 60.0ms
        say own: 400 sent, 400 of 400 received; rtt p50 10.5ms p99 19.8ms max 20.0ms; delivery p50 30.9ms p99 59.4ms max 60.0ms
        ");
        assert!(super::lines(&sample::broadcast_step()).is_empty());
    }
}
