//! `throng runs trend`: how one metric went over the runs of one name.

use clap::Args;
use report::{Cell, Column, Table};
use results::Scenario;
use results::conclusion::Status;
use results::format::{counted, printable};
use stats::Timed;
use store::{Entry, Query, Store};

use crate::archive;
use crate::exit::{Exit, Failure};
use crate::flags::args::TableFormat;
use crate::locale;
use crate::output;

/// Columns of the chart: with the others, a terminal of 80 has room for it.
const CHART_WIDTH: usize = 32;

#[derive(Args)]
pub(super) struct Trend {
    /// The name, as --name gave it
    name: String,
    /// The most runs to show, the newest; 0 shows all
    #[arg(short = 'n', long, default_value_t = 20)]
    limit: u64,
    /// Format of the output
    #[arg(short, long, value_enum, default_value_t = TableFormat::Text)]
    format: TableFormat,
}

impl Trend {
    pub(super) fn run(self, store: &Store) -> Result<Exit, Failure> {
        let limit = (self.limit > 0).then_some(self.limit);
        let query = Query { name: Some(self.name.clone()), limit, ..Query::default() };
        let entries = store.list(&query).map_err(archive::failure)?;
        let Some(newest) = entries.first() else {
            let problem = format!("no run has the name {:?}; give runs one with --name", self.name);
            return Err(Failure::usage("NAME", problem));
        };
        let scenario = newest.scenario.parse::<Scenario>().map_err(|error| {
            let problem = format!("{} cannot be read: {error}; use the throng that kept it", newest.id);
            Failure::usage("NAME", problem)
        })?;
        let all = entries.len();
        let (figure, mut entries) = trend_of(scenario, entries);
        entries.reverse();
        let most_ns = most_ns(&entries);
        if self.format == TableFormat::Text {
            let metric = figure.words();
            let head = format!("{}: p95 of the {metric}, the oldest run first", self.name);
            let others = match all - entries.len() {
                0 => String::new(),
                n => format!("\n{} left out: another verb, or another metric", counted(n as u64, "run")),
            };
            let scale = format!("chart: 0 to {}; the line is the 95% interval", report::duration(most_ns));
            let head = format!("{}\n{scale}{others}\n\n", printable(&head));
            output::print(&self.format.in_letters(head))?;
        }
        let marks = if locale::is_ascii() { &ASCII } else { &UNICODE };
        let mut table = Table::new(COLUMNS);
        for entry in entries {
            table.add(row(entry, most_ns, marks));
        }
        output::print(&self.format.in_letters(table.render(self.format.into())))
    }
}

/// The metric of a scenario's newest run that has one, and the runs that have it or none.
fn trend_of(scenario: Scenario, mut entries: Vec<Entry>) -> (Timed, Vec<Entry>) {
    entries.retain(|entry| entry.scenario == scenario.name());
    let figure = entries.iter().find_map(|entry| entry.figure).unwrap_or(scenario.main_figure());
    entries.retain(|entry| entry.figure.is_none_or(|of| of == figure));
    (figure, entries)
}

/// The highest value of the chart; not 0, by which places are divided.
fn most_ns(entries: &[Entry]) -> u64 {
    let highest = |entry: &Entry| entry.p95_interval_ns.map(|[_, high]| high).max(entry.p95_ns);
    entries.iter().filter_map(highest).max().unwrap_or(0).max(1)
}

const COLUMNS: &[Column] = &[
    Column::unseen("id"),
    Column::left("started (UTC)", "started"),
    Column::left("result", "result"),
    Column::right("clients", "clients"),
    Column::right("p95", "p95_ms"),
    Column::unseen("p95_low_ms"),
    Column::unseen("p95_high_ms"),
    Column::unseen("p95_at_least"),
    Column::drawn("chart"),
    Column::unseen("note"),
];

fn row(entry: Entry, most_ns: u64, marks: &Marks) -> Vec<Cell> {
    let p95 = |ns: Option<u64>, is_bound: bool| {
        Cell::number(ns, |ns| ns as f64 / 1e6, |ns| report::latency(ns, is_bound))
    };
    let [_, is_bound, _] = entry.at_least;
    let interval = entry.p95_interval_ns;
    let chart = chart(&entry, most_ns, marks);
    vec![
        Cell::Text(entry.id),
        Cell::Text(results::file::started(entry.started_unix_ns)),
        Cell::text(entry.outcome.map(Status::word)),
        Cell::Number(entry.clients as f64, report::count(entry.clients)),
        p95(entry.p95_ns, is_bound),
        p95(interval.map(|[low, _]| low), false),
        p95(interval.map(|[_, high]| high), false),
        Cell::Flag(is_bound, ""),
        Cell::Text(chart),
        Cell::text(entry.note),
    ]
}

/// Characters of a chart.
struct Marks {
    passed: char,
    failed: char,
    unclear: char,
    line: char,
    ends: [char; 2],
}

const UNICODE: Marks =
    Marks { passed: '●', failed: '✗', unclear: '?', line: '─', ends: ['├', '┤'] };
const ASCII: Marks = Marks { passed: 'o', failed: 'x', unclear: '?', line: '-', ends: ['|', '|'] };

/// A run's value at its place between 0 and the highest, on the line of its interval.
fn chart(entry: &Entry, most_ns: u64, marks: &Marks) -> String {
    let place = |ns: u64| (ns as f64 / most_ns as f64 * (CHART_WIDTH - 1) as f64).round() as usize;
    let mut drawn = vec![' '; CHART_WIDTH];
    // A store that something else has written may have them the wrong way round.
    let interval = entry.p95_interval_ns.map(|ends| ends.map(place)).filter(|[low, high]| low <= high);
    if let Some([low, high]) = interval {
        drawn[low..=high].fill(marks.line);
        [drawn[low], drawn[high]] = marks.ends;
    }
    if let Some(at) = entry.p95_ns.map(place) {
        drawn[at] = match entry.outcome {
            Some(Status::Failed) => marks.failed,
            Some(Status::Unclear) => marks.unclear,
            Some(Status::Passed) | None => marks.passed,
        };
    }
    drawn.into_iter().collect::<String>().trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn entry(p95_ms: u64, interval_ms: Option<[u64; 2]>, outcome: Status) -> Entry {
        Entry {
            p95_ns: Some(p95_ms * MS),
            p95_interval_ns: interval_ms.map(|ends| ends.map(|ms| ms * MS)),
            outcome: Some(outcome),
            ..Entry::default()
        }
    }

    #[test]
    fn other_scenarios_choose_no_metric() {
        let of = |scenario: Scenario, figure| Entry {
            scenario: scenario.name().to_owned(),
            figure,
            ..Entry::default()
        };
        let main = |scenario: Scenario| Some(scenario.main_figure());
        let entries = vec![
            of(Scenario::Echo, None),
            of(Scenario::Storm, main(Scenario::Storm)),
            of(Scenario::Echo, main(Scenario::Echo)),
        ];
        let (figure, entries) = trend_of(Scenario::Echo, entries);
        assert_eq!((Some(figure), entries.len()), (main(Scenario::Echo), 2));
    }

    #[test]
    fn runs_lie_between_0_and_the_highest() {
        let entries = [
            entry(0, None, Status::Passed),
            entry(10, Some([5, 20]), Status::Failed),
            entry(31, Some([30, 31]), Status::Unclear),
        ];
        assert_eq!(most_ns(&entries), 31 * MS);
        let drawn: Vec<String> = entries.iter().map(|entry| chart(entry, 31 * MS, &ASCII)).collect();
        let expected = ["o", "     |----x---------|", &(" ".repeat(30) + "|?")];
        assert_eq!(drawn, expected);
        assert_eq!(chart(&Entry::default(), most_ns(&[]), &UNICODE), "");
    }

    #[test]
    fn lower_bounds_are_marked() {
        let bound = Entry { at_least: [false, true, true], ..entry(10_000, None, Status::Failed) };
        let cells = row(bound, 10_000 * MS, &ASCII);
        assert_eq!(cells[4], Cell::Number(10_000.0, "≥ 10.0s".into()));
        assert_eq!(cells[7], Cell::Flag(true, ""));
    }

    #[test]
    fn reversed_intervals_are_not_drawn() {
        let entry = entry(10, Some([20, 5]), Status::Passed);
        assert_eq!(chart(&entry, 31 * MS, &ASCII), " ".repeat(10) + "o");
    }
}
