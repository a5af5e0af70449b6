//! A series of runs: how the p95 of the main figure went from run to run.

use results::conclusion::Status;
use serde::Serialize;
use store::Entry;
use url::form_urlencoded;

/// The drawing, in units of its own.
const WIDTH: f64 = 900.0;
const HEIGHT: f64 = 200.0;
/// The margin around it, for marks that lie on its edge.
const MARGIN: f64 = 10.0;
/// The room on the right for the values of the axis: beside the newest runs, which a phone shows first.
const VALUES_WIDTH: f64 = 60.0;
/// The room below, for the dates of the oldest and the newest run.
const DATES_HEIGHT: f64 = 20.0;
/// The most lines of the grid above the ground.
const GRID_MAX: u64 = 5;
/// Fewer runs are a comparison.
const RUNS_MIN: usize = 3;

/// Values over runs, from the oldest; all of one scenario and one figure, since others time something else.
#[derive(Debug, Serialize)]
pub(crate) struct Trend {
    width: f64,
    height: f64,
    /// The right end of the grid, and where its values begin.
    grid_end: f64,
    figure: &'static str,
    /// True if any run has an interval, which the caption then explains.
    has_intervals: bool,
    grid: Vec<GridLine>,
    runs: Vec<Mark>,
    /// The starts of the oldest and the newest run.
    dates: [String; 2],
}

#[derive(Debug, Serialize)]
struct GridLine {
    y: f64,
    value: String,
}

/// One run.
#[derive(Debug, Serialize)]
struct Mark {
    /// The last part of its page's address.
    path: String,
    /// The class of its mark, which has a form of its own as well.
    tone: &'static str,
    x: f64,
    y: f64,
    /// The ends of its interval, the upper first.
    interval: Option<[f64; 2]>,
    said: String,
}

impl Trend {
    /// The trend of those of these runs, the newest first, that time what the newest times; `None` if there
    /// are too few, or several scenarios.
    pub(crate) fn of(entries: &[Entry]) -> Option<Trend> {
        let scenario = &entries.first()?.scenario;
        let figure = entries.iter().find_map(|entry| entry.figure)?;
        let same = entries.iter().rev().filter(|entry| entry.figure == Some(figure));
        let timed: Vec<(&Entry, u64)> = same.filter_map(|entry| Some((entry, entry.p95_ns?))).collect();
        if timed.len() < RUNS_MIN || entries.iter().any(|entry| entry.scenario != *scenario) {
            return None;
        }
        let highest = |(entry, p95_ns): &(&Entry, u64)| {
            entry.p95_interval_ns.map_or(*p95_ns, |[_, high]| high.max(*p95_ns))
        };
        // Not 0, by which heights are divided.
        let most_ns = timed.iter().map(highest).max()?.max(1);
        let step_ns = round_step_ns(most_ns);
        let lines = most_ns.div_ceil(step_ns);
        let top_ns = step_ns as f64 * lines as f64;
        let y = |ns: u64| HEIGHT - MARGIN - (HEIGHT - 2.0 * MARGIN) * ns as f64 / top_ns;
        let step = (WIDTH - VALUES_WIDTH - 2.0 * MARGIN) / (timed.len() - 1) as f64;
        let mark = |(number, &(entry, p95_ns)): (usize, &(&Entry, u64))| Mark {
            path: path(&entry.id),
            tone: tone(entry.outcome),
            x: MARGIN + step * number as f64,
            y: y(p95_ns),
            interval: entry.p95_interval_ns.map(|[low, high]| [y(high), y(low)]),
            said: said(entry, p95_ns),
        };
        let line = |k: u64| {
            let ns = step_ns.saturating_mul(k);
            GridLine { y: y(ns), value: round_duration(ns) }
        };
        let date = |(entry, _): &(&Entry, u64)| results::file::started(entry.started_unix_ns);
        Some(Trend {
            width: WIDTH,
            height: HEIGHT + DATES_HEIGHT,
            grid_end: WIDTH - VALUES_WIDTH,
            figure: figure.words(),
            has_intervals: timed.iter().any(|(entry, _)| entry.p95_interval_ns.is_some()),
            grid: (0..=lines).map(line).collect(),
            runs: timed.iter().enumerate().map(mark).collect(),
            dates: [date(timed.first()?), date(timed.last()?)],
        })
    }
}

/// The smallest of 1, 2 and 5 times a power of ten of which at most `GRID_MAX` reach `most_ns`.
fn round_step_ns(most_ns: u64) -> u64 {
    // 5 * 10^18 ns still fit, and five of them are more than any number of nanoseconds.
    let powers = (0..19).map(|exponent| 10_u64.pow(exponent));
    let mut steps = powers.flat_map(|power| [power, 2 * power, 5 * power]);
    steps.find(|step| most_ns.div_ceil(*step) <= GRID_MAX).expect("a step for the longest time")
}

/// A round time without the zeros that tell how exact others are: 5ms rather than 5.00ms.
fn round_duration(ns: u64) -> String {
    let text = report::duration(ns);
    let Some((whole, rest)) = text.split_once('.') else { return text };
    let unit = rest.trim_start_matches(|c: char| c.is_ascii_digit());
    let decimals = rest[..rest.len() - unit.len()].trim_end_matches('0');
    let point = if decimals.is_empty() { "" } else { "." };
    format!("{whole}{point}{decimals}{unit}")
}

/// An id as a part of an address: those of imported runs are what their files say, be it a path to somewhere else.
pub(crate) fn path(id: &str) -> String {
    // A plus is a space in a query alone.
    form_urlencoded::byte_serialize(id.as_bytes()).collect::<String>().replace('+', "%20")
}

/// The class of a status: the words for it are the same on every page.
pub(crate) fn tone(outcome: Option<Status>) -> &'static str {
    match outcome {
        Some(Status::Passed) => "good",
        Some(Status::Failed) => "bad",
        Some(Status::Unclear) | None => "doubt",
    }
}

fn said(entry: &Entry, p95_ns: u64) -> String {
    let started = results::file::started(entry.started_unix_ns);
    let outcome = entry.outcome.map_or("", Status::word);
    let interval = entry.p95_interval_ns.map(|ends| ends.map(report::duration));
    let interval = interval.map(|[low, high]| format!(" ({low} to {high})")).unwrap_or_default();
    let note = entry.note.as_ref().map(|note| format!(", {note}")).unwrap_or_default();
    let p95 = report::latency(p95_ns, entry.at_least[1]);
    format!("{started}: {outcome} p95 {p95}{interval}{note}")
}

#[cfg(test)]
mod tests {
    use results::Scenario;

    use super::*;

    const MS: u64 = 1_000_000;

    fn entry(id: &str, p95_ms: u64) -> Entry {
        let figure = Some(Scenario::Echo.main_figure());
        Entry { id: id.into(), figure, p95_ns: Some(p95_ms * MS), ..Entry::default() }
    }

    #[test]
    fn runs_stand_from_the_oldest_to_the_newest() {
        let failed = Entry {
            outcome: Some(Status::Failed),
            p95_interval_ns: Some([5 * MS, 20 * MS]),
            ..entry("middle", 10)
        };
        let trend = Trend::of(&[entry("new", 15), failed, entry("old", 0)]).unwrap();
        let drawn = |mark: &Mark| (mark.path.clone(), mark.tone, mark.x, mark.y, mark.interval);
        let (left, right) = (MARGIN, WIDTH - VALUES_WIDTH - MARGIN);
        let expected = [
            ("old".to_owned(), "doubt", left, HEIGHT - MARGIN, None),
            ("middle".into(), "bad", (left + right) / 2.0, HEIGHT / 2.0, Some([MARGIN, 145.0])),
            ("new".into(), "doubt", right, 55.0, None),
        ];
        assert_eq!(trend.runs.iter().map(drawn).collect::<Vec<_>>(), expected);
        let values: Vec<&str> = trend.grid.iter().map(|line| line.value.as_str()).collect();
        assert_eq!(values, ["0µs", "5ms", "10ms", "15ms", "20ms"]);
        assert!(trend.has_intervals);
    }

    #[test]
    fn grids_have_few_round_lines() {
        let values = |most_ms: u64| -> Vec<String> {
            let trend = Trend::of(&[entry("a", most_ms), entry("b", 1), entry("c", 1)]).unwrap();
            assert!(!trend.has_intervals);
            trend.grid.into_iter().map(|line| line.value).collect()
        };
        assert_eq!(values(3), ["0µs", "1ms", "2ms", "3ms"]);
        assert_eq!(values(11), ["0µs", "5ms", "10ms", "15ms"]);
        assert_eq!(values(1_100), ["0µs", "500ms", "1s", "1.5s"]);
        assert_eq!([1, 6, u64::MAX].map(round_step_ns), [1, 2, 5_000_000_000_000_000_000]);
    }

    #[test]
    fn values_beyond_their_interval_are_drawn_inside() {
        let odd = Entry { p95_interval_ns: Some([MS, 5 * MS]), ..entry("odd", 10) };
        let trend = Trend::of(&[entry("a", 1), entry("b", 2), odd]).unwrap();
        assert_eq!(trend.runs[0].y, MARGIN);
    }

    #[test]
    fn single_values_have_no_trend() {
        assert!(Trend::of(&[]).is_none());
        assert!(Trend::of(&[entry("a", 1), entry("b", 1)]).is_none(), "a comparison");
        let idle = Entry { scenario: Scenario::Idle.to_string(), ..entry("c", 1) };
        assert!(Trend::of(&[entry("a", 1), entry("b", 1), idle]).is_none(), "something else is timed");
        let untimed = Entry { p95_ns: None, ..entry("c", 1) };
        assert!(Trend::of(&[entry("a", 1), entry("b", 1), untimed]).is_none());
        let unanswered = Entry { figure: Some(Scenario::Idle.main_figure()), ..entry("c", 1) };
        assert!(Trend::of(&[entry("a", 1), entry("b", 1), unanswered]).is_none());
    }
}
