//! A statistic of a timed figure as text: none where there was no answer, and a bound where some never came.

use results::Step;
use results::format::duration;
use stats::{Histogram, Timed};

/// A latency, or the lower bound of one: `1.20ms`, `≥ 3.01s`.
pub fn latency(ns: u64, is_bound: bool) -> String {
    format!("{}{}", if is_bound { "≥ " } else { "" }, duration(ns))
}

/// A quantile: `1.20ms`; `≥ 3.01s` where messages without an answer, or clients that were not back, decide
/// it; `–` where nothing was answered at all; nothing where there is no such figure.
pub(crate) fn quantile(step: &Step, timed: Timed, q: f64) -> String {
    read(step, timed, step.is_open(timed, q), |histogram| histogram.quantile_ns(q))
}

/// The same, with `?` after it where it rests on too few samples.
pub(crate) fn marked_quantile(step: &Step, timed: Timed, q: f64) -> String {
    let text = quantile(step, timed, q);
    let is_read = !text.is_empty() && text != NOTHING;
    // The longest is a fact, however few samples there are.
    if is_read && q < 1.0 && step.figures.get(timed).is_marked(q) { text + "?" } else { text }
}

/// A quantile of what was timed of a part of a step, a kind of messages or a role.
pub(crate) fn quantile_of_part(step: &Step, timed: Timed, histogram: &Histogram, q: f64) -> String {
    match histogram.is_empty() {
        true => String::new(),
        false if !step.is_latency(timed) => NOTHING.into(),
        false => latency(histogram.quantile_ns(q), is_open_of_part(step, timed, histogram, q)),
    }
}

/// Returns whether what never came may decide that quantile of a part.
pub(crate) fn is_open_of_part(step: &Step, timed: Timed, histogram: &Histogram, q: f64) -> bool {
    let count = histogram.count();
    // Which part's messages had no answer is not known: each part's may be among its longest.
    count > 0 && stats::rank(count, q) > count.saturating_sub(step.open_samples(timed))
}

/// A mean or a standard deviation, which one open sample decides.
pub(crate) fn moment(step: &Step, timed: Timed, of: fn(&Histogram) -> f64) -> String {
    read(step, timed, step.has_open(timed), |histogram| of(histogram).round() as u64)
}

const NOTHING: &str = "–";

fn read(step: &Step, timed: Timed, is_open: bool, ns: impl Fn(&Histogram) -> u64) -> String {
    let histogram = step.figures.get(timed);
    match histogram.count() {
        0 => String::new(),
        // Where nothing was answered, the time it was waited for says nothing of a latency.
        all if timed == Timed::Rtt && all == step.open_samples(timed) => NOTHING.into(),
        _ => latency(ns(histogram), is_open),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn unanswered_messages_are_no_latency() {
        let mut step = Step::default();
        assert_eq!(quantile(&step, Timed::Rtt, 0.5), "");
        step.figures.rtt.record_n_ns(3_000 * MS, 40);
        assert_eq!(
            (quantile(&step, Timed::Rtt, 0.5), marked_quantile(&step, Timed::Rtt, 0.99)),
            ("–".into(), "–".into())
        );
        step.figures.rtt.record_n_ns(2 * MS, 60);
        step.figures.service.record_n_ns(2 * MS, 60);
        assert_eq!(quantile(&step, Timed::Rtt, 0.6), "2.00ms");
        assert_eq!(quantile(&step, Timed::Rtt, 0.61), "≥ 3.00s");
        assert_eq!(marked_quantile(&step, Timed::Rtt, 0.99), "≥ 3.00s?");
        assert_eq!(moment(&step, Timed::Rtt, Histogram::mean_ns), "≥ 1.20s");
        assert_eq!(moment(&step, Timed::Service, Histogram::mean_ns), "2.00ms");
    }

    #[test]
    fn unanswered_parts_have_no_latency() {
        let (mut step, mut part) = (Step::default(), Histogram::new());
        let median = |step: &Step, part: &Histogram| quantile_of_part(step, Timed::Rtt, part, 0.5);
        assert_eq!(median(&step, &part), "");
        step.figures.rtt.record_n_ns(3_000 * MS, 40);
        part.record_n_ns(3_000 * MS, 20);
        assert_eq!(median(&step, &part), "–");
        step.figures.rtt.record_n_ns(2 * MS, 60);
        step.figures.service.record_n_ns(2 * MS, 60);
        assert_eq!(median(&step, &part), "≥ 3.00s");
    }
}
