//! Figures by kind of messages and by role: counts and latencies.

use results::format::count;
use results::{RoleFigures, SayFigures, Step};
use stats::{Count, CountOf, Counts, Histogram, Timed};

use crate::reading;

/// The quantiles of each figure.
const COLUMNS: [(&str, f64); 3] = [("p50", 0.5), ("p99", 0.99), ("max", 1.0)];

/// A label and a line for each of them; none where there is but one kind, and no role.
pub(super) fn lines(step: &Step) -> Vec<(String, String)> {
    let says = step.says.iter().map(|say| (format!("say {}", say.name), of_say(step, say)));
    let roles = step.roles.iter().map(|role| (format!("role {}", role.name), of_role(step, role)));
    says.chain(roles).collect()
}

fn of_say(step: &Step, say: &SayFigures) -> String {
    messages(&say.counts) + &figures(step, &say.rtt, &say.delivery)
}

fn of_role(step: &Step, role: &RoleFigures) -> String {
    let lost = Count::ALL.into_iter().filter(|count| {
        let facts = count.facts();
        facts.of == CountOf::Connections && facts.share_of.is_some()
    });
    let users = format!("{} users{}; ", count(role.people), words(&role.counts, lost));
    users + &messages(&role.counts) + &figures(step, &role.rtt, &role.delivery)
}

/// Messages sent, received, lost and wrong.
fn messages(counts: &Counts) -> String {
    let amounts = format!(
        "{} sent, {} of {} received",
        count(counts.sent),
        count(counts.received),
        count(counts.expected)
    );
    let troubles =
        Count::ALL.into_iter().filter(|count| count.facts().is_defect || *count == Count::InFlight);
    amounts + &words(counts, troubles)
}

/// Counts above 0 among these, in words.
fn words(counts: &Counts, of: impl Iterator<Item = Count>) -> String {
    let word = |of: Count| {
        let n = *counts.get(of);
        (n > 0).then(|| format!(", {} {}", count(n), of.facts().words.unwrap_or_default()))
    };
    of.filter_map(word).collect()
}

/// Quantiles of what was timed of a part of the step.
fn figures(step: &Step, rtt: &Histogram, delivery: &Histogram) -> String {
    let figures = [(Timed::Rtt, rtt), (Timed::Delivery, delivery)];
    let figures = figures.into_iter().filter(|(_, figure)| !figure.is_empty());
    figures
        .map(|(timed, figure)| format!("; {} {}", timed.words(), percentiles(step, timed, figure)))
        .collect()
}

fn percentiles(step: &Step, timed: Timed, figure: &Histogram) -> String {
    let cell =
        |(name, q): (&str, f64)| format!("{name} {}", reading::quantile_of_part(step, timed, figure, q));
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
        say group: 600 sent, 3,598 of 3,600 received, 2 missing; round trip p50 10.5ms p99 19.8ms max 20.0ms; delivery p50 31.0ms p99 59.5ms max 60.0ms
        say own: 400 sent, 400 of 400 received; round trip p50 10.5ms p99 19.8ms max 20.0ms; delivery p50 30.9ms p99 59.4ms max 60.0ms
        ");
        assert!(super::lines(&sample::broadcast_step()).is_empty());
    }

    #[test]
    fn each_role_has_a_line_of_its_own() {
        let lines: Vec<String> = lines(&sample::step_of_roles())
            .into_iter()
            .map(|(label, text)| format!("{label}: {text}"))
            .collect();
        assert_snapshot!(lines.join("\n"), @"
        role listener: 900 users, 2 timed out; 0 sent, 3,598 of 3,600 received, 2 missing; delivery p50 31.0ms p99 59.5ms max 60.0ms
        role speaker: 100 users; 600 sent, 400 of 400 received; round trip p50 10.5ms p99 19.8ms max 20.0ms; delivery p50 30.9ms p99 59.4ms max 60.0ms
        ");
    }
}
