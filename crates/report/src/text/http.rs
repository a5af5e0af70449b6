//! The table after an HTTP run: what wrk and autocannon print, for every request.

use results::Step;
use results::format::{count, rate, statuses};
use stats::{Histogram, Timed};

use crate::reading;

/// The latency's quantiles, by the names that wrk gives them.
const COLUMNS: [(&str, f64); 5] =
    [("50%", 0.5), ("75%", 0.75), ("90%", 0.9), ("99%", 0.99), ("99.9%", 0.999)];

/// Latency and connecting, and how many requests were answered, how fast, and how.
pub(super) fn table(step: &Step) -> String {
    let names = COLUMNS.iter().map(|(name, _)| *name);
    let head = ["mean", "σ"].into_iter().chain(names).chain(["max"]);
    let mut table = format!("{:11}{}\n", "", head.map(|name| format!("{name:>9}")).collect::<String>());
    for (name, figure) in [("latency", Timed::Rtt), ("connecting", Timed::Handshake)] {
        if !step.figures.get(figure).is_empty() {
            table += &line(step, name, figure);
        }
    }
    let per_s = step.rates.achieved_per_s.map(|per_s| format!(", {}", rate(per_s, ""))).unwrap_or_default();
    let counts = &step.counts;
    let answered = format!("{} of {} answered{per_s}", count(counts.received), count(counts.sent));
    table + &format!("requests   {answered}; {} wrong\n", count(step.wrong())) + &answers(step)
}

/// How many answers had which status; nothing where none came.
fn answers(step: &Step) -> String {
    if step.statuses.is_empty() {
        String::new()
    } else {
        format!("statuses   {}\n", statuses(&step.statuses))
    }
}

fn line(step: &Step, name: &str, figure: Timed) -> String {
    let moments = [Histogram::mean_ns, Histogram::sd_ns].map(|of| reading::moment(step, figure, of));
    let quantiles = COLUMNS.iter().map(|(_, q)| *q).chain([1.0]).map(|q| reading::quantile(step, figure, q));
    let cells = moments.into_iter().chain(quantiles);
    format!("{name:11}{}\n", cells.map(|cell| format!("{cell:>9}")).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn a_table_for_those_who_know_wrk() {
        let mut step = sample::echo_step();
        for _ in 0..3 {
            step.errors.add("http_4xx", 0, "the server answered with HTTP 404");
        }
        step.errors.add("reset", 0, "connection reset");
        step.statuses = [(404, 3), (200, 299_997)].into();
        let table = table(&step);
        let lines: Vec<&str> = table.lines().collect();
        assert_eq!(
            lines[0],
            "                mean        σ      50%      75%      90%      99%    99.9%      max"
        );
        assert!(lines[1].starts_with("latency       1.20ms    664µs   1.20ms"), "{table}");
        assert!(lines[1].ends_with("   2.32ms   2.34ms   2.35ms"), "{table}");
        assert!(lines[2].starts_with("connecting    7.15ms   3.96ms   7.15ms"), "{table}");
        assert_eq!(lines[3], "requests   300,000 of 300,000 answered, 10,000/s; 3 wrong");
        assert_eq!(lines[4], "statuses   200: 299,997; 404: 3");
    }
}
