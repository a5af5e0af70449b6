//! A tagged series: how the main figure went from run to run.

use serde::Serialize;
use store::Entry;

/// The drawing, in units of its own.
const WIDTH: f64 = 900.0;
const HEIGHT: f64 = 160.0;
/// The margin around it, for marks that lie on its edge.
const MARGIN: f64 = 8.0;
/// Fewer runs are a comparison.
const RUNS_MIN: usize = 3;

/// Two lines over runs, from the oldest; all of one scenario, since others time something else.
#[derive(Debug, Serialize)]
pub(crate) struct Trend {
    width: f64,
    height: f64,
    figure: &'static str,
    /// The value of the upper edge; the lower is 0.
    most: String,
    lines: [Line; 2],
}

#[derive(Debug, Serialize)]
struct Line {
    name: &'static str,
    marks: Vec<Mark>,
}

#[derive(Debug, Serialize)]
struct Mark {
    id: String,
    x: f64,
    y: f64,
    said: String,
}

impl Trend {
    /// The trend of these runs, the newest first; `None` if there are too few, or they are of several scenarios.
    pub(crate) fn of(entries: &[Entry]) -> Option<Trend> {
        let scenario = entries.first()?.scenario;
        let timed: Vec<(&Entry, u64, u64)> =
            entries.iter().rev().filter_map(|entry| Some((entry, entry.p50_ns?, entry.p99_ns?))).collect();
        if timed.len() < RUNS_MIN || entries.iter().any(|entry| entry.scenario != scenario) {
            return None;
        }
        // Not 0, by which heights are divided.
        let most_ns = timed.iter().map(|(_, _, p99_ns)| *p99_ns).max()?.max(1);
        let line = |name, of: fn(&(&Entry, u64, u64)) -> u64| {
            let marks = timed.iter().enumerate().map(|(number, run)| {
                let (value_ns, step) = (of(run), (WIDTH - 2.0 * MARGIN) / (timed.len() - 1) as f64);
                let height = (HEIGHT - 2.0 * MARGIN) * value_ns as f64 / most_ns as f64;
                let (id, started) = (run.0.id.clone(), results::file::started(run.0.started_unix_ns));
                let said = format!("{started}: {name} {}", report::duration(value_ns));
                Mark { id, x: MARGIN + step * number as f64, y: HEIGHT - MARGIN - height, said }
            });
            Line { name, marks: marks.collect() }
        };
        Some(Trend {
            width: WIDTH,
            height: HEIGHT,
            figure: scenario.main_figure().name(),
            most: report::duration(most_ns),
            lines: [line("p99", |run| run.2), line("p50", |run| run.1)],
        })
    }
}

#[cfg(test)]
mod tests {
    use results::Scenario;

    use super::*;

    fn entry(id: &str, p50_ms: u64, p99_ms: u64) -> Entry {
        let ns = |ms: u64| Some(ms * 1_000_000);
        Entry { id: id.into(), p50_ns: ns(p50_ms), p99_ns: ns(p99_ms), ..Entry::default() }
    }

    #[test]
    fn runs_stand_from_the_oldest_to_the_newest() {
        let entries = [entry("new", 5, 20), entry("middle", 5, 10), entry("old", 0, 15)];
        let trend = Trend::of(&entries).unwrap();
        let [p99, p50] = &trend.lines;
        let drawn = |line: &Line| -> Vec<(String, f64, f64)> {
            line.marks.iter().map(|mark| (mark.id.clone(), mark.x, mark.y)).collect()
        };
        let (left, right) = (MARGIN, WIDTH - MARGIN);
        let expected = [
            ("old".to_owned(), left, 44.0),
            ("middle".into(), WIDTH / 2.0, 80.0),
            ("new".into(), right, MARGIN),
        ];
        assert_eq!((drawn(p99), trend.most.as_str()), (expected.to_vec(), "20.0ms"));
        assert_eq!(drawn(p50)[0].2, HEIGHT - MARGIN, "nothing is at the bottom");
    }

    #[test]
    fn single_values_have_no_trend() {
        assert!(Trend::of(&[]).is_none());
        assert!(Trend::of(&[entry("a", 1, 2), entry("b", 1, 2)]).is_none(), "a comparison");
        let idle = Entry { scenario: Scenario::Idle, ..entry("c", 1, 2) };
        assert!(Trend::of(&[entry("a", 1, 2), entry("b", 1, 2), idle]).is_none(), "something else is timed");
        let untimed = Entry { p99_ns: None, ..entry("c", 1, 2) };
        assert!(Trend::of(&[entry("a", 1, 2), entry("b", 1, 2), untimed]).is_none());
    }
}
