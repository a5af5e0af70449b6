//! The page's text, laid out for its template.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use results::Unit;
use results::format::{bytes, count, counted, duration};
use serde::Serialize;

use super::axis::{Axis, tick};
use super::curve::{Curve, Drawing};
use super::model::{Question, Row, Server, Shootout};

/// Rows of all rankings that are shown at once; of more, each ranking opens by itself.
const OPEN_ROWS_MAX: usize = 24;

#[derive(Serialize)]
pub(super) struct View<'a> {
    title: &'a str,
    headline: &'a str,
    lead: String,
    languages: BTreeSet<&'a str>,
    protocols: BTreeSet<&'a str>,
    questions: Vec<QuestionView<'a>>,
    /// True if the rankings are open from the beginning.
    is_open: bool,
    matrix: Vec<MatrixRow<'a>>,
    then: Vec<Then<'a>>,
    servers: Vec<ServerView<'a>>,
    facts: &'a [String],
    left_out: &'a [(String, String)],
    command: &'a str,
}

#[derive(Serialize)]
struct QuestionView<'a> {
    name: &'a str,
    /// The name as words, for a column.
    short: String,
    asks: &'a str,
    answer: &'a str,
    detail: &'a str,
    /// The figure of the best, with its interval; empty: there is none.
    best: String,
    /// The chart's text.
    says: String,
    is_log: bool,
    ticks: Vec<(f64, String)>,
    rows: Vec<RowView<'a>>,
    notes: &'a [String],
    command: &'a str,
    columns: &'a [String],
    table: Vec<(Option<&'a Server>, &'a [String])>,
}

#[derive(Serialize)]
struct RowView<'a> {
    server: &'a str,
    of: Option<&'a Server>,
    place: &'a str,
    leads: bool,
    is_yardstick: bool,
    ahead_of: &'a [usize],
    mark: Option<Mark>,
    shown: &'a str,
    with_interval: &'a str,
    remarks: &'a str,
}

/// A figure in a chart, in percent of its width.
#[derive(Serialize)]
struct Mark {
    /// The mean.
    at: f64,
    interval: Option<Whisker>,
}

/// An interval in a chart. An end beyond the chart is an arrow.
#[derive(Serialize)]
struct Whisker {
    low: f64,
    high: f64,
    is_lower: bool,
    is_higher: bool,
}

/// A server's places in all questions.
#[derive(Serialize)]
struct MatrixRow<'a> {
    server: String,
    is_yardstick: bool,
    cells: Vec<Option<Cell<'a>>>,
}

#[derive(Serialize)]
struct Cell<'a> {
    place: &'a str,
    leads: bool,
}

/// A figure that was published, and ours.
#[derive(Serialize)]
struct Then<'a> {
    question: String,
    server: &'a str,
    figure: &'a str,
    column: &'a str,
    then: String,
    now: &'a str,
    quotient: String,
    differs: &'a str,
}

#[derive(Serialize)]
struct ServerView<'a> {
    #[serde(flatten)]
    server: &'a Server,
    answers: Vec<Answer<'a>>,
}

#[derive(Serialize)]
struct Answer<'a> {
    question: String,
    figure: &'a str,
    place: &'a str,
    shown: &'a str,
    remarks: &'a str,
    command: &'a str,
    curve: Option<Drawing>,
}

/// The view of a shootout.
pub(super) fn view(shootout: &Shootout) -> View<'_> {
    let Shootout { servers, questions, .. } = shootout;
    let known = |text: &'_ &str| !text.is_empty();
    View {
        title: &shootout.title,
        headline: &shootout.headline,
        lead: lead(shootout),
        languages: servers.iter().map(|server| server.language.as_str()).filter(known).collect(),
        protocols: servers.iter().flat_map(|server| &server.protocols).map(String::as_str).collect(),
        questions: questions.iter().map(|question| question_view(question, shootout)).collect(),
        is_open: questions.iter().map(|question| question.rows.len()).sum::<usize>() <= OPEN_ROWS_MAX,
        matrix: matrix(shootout),
        then: questions.iter().flat_map(then).collect(),
        servers: servers.iter().map(|server| server_view(server, questions)).collect(),
        facts: &shootout.facts,
        left_out: &shootout.left_out,
        command: &shootout.command,
    }
}

/// How many servers there are to choose from, and how many questions.
fn lead(shootout: &Shootout) -> String {
    let (yardsticks, others): (Vec<_>, Vec<_>) =
        shootout.servers.iter().partition(|server| server.name == shootout.yardstick);
    let (servers, questions) = (others.len() as u64, shootout.questions.len() as u64);
    let yardstick = if yardsticks.is_empty() { "" } else { " and throng's own" };
    format!("{}{yardstick} measured, {} asked", counted(servers, "server"), counted(questions, "question"))
}

/// A row for each server: those first that may be first in most questions, the yardstick last.
fn matrix(shootout: &Shootout) -> Vec<MatrixRow<'_>> {
    let row = |server: &'_ Server| MatrixRow {
        is_yardstick: server.name == shootout.yardstick,
        cells: shootout.questions.iter().map(|question| Cell::of(question, &server.name)).collect(),
        server: server.name.clone(),
    };
    let mut rows: Vec<MatrixRow> = shootout.servers.iter().map(row).collect();
    let led = |row: &MatrixRow| row.cells.iter().flatten().filter(|cell| cell.leads).count();
    // Stable: servers that lead as often stay in the order of their names.
    rows.sort_by_key(|row| (row.is_yardstick, Reverse(led(row))));
    rows
}

impl<'a> Cell<'a> {
    /// `None`: the server was not asked.
    fn of(question: &'a Question, server: &str) -> Option<Self> {
        let row = question.rows.iter().find(|row| row.server == server)?;
        Some(Self { place: &row.place, leads: question.leaders.contains(&row.server) })
    }
}

fn asks(question: &Question) -> &str {
    if question.asks.is_empty() { &question.name } else { &question.asks }
}

/// A question's name in words, for tables: `clients-per-gib` is `clients per GiB`.
pub(super) fn label(name: &str) -> String {
    let spelled = |word: &str| match word {
        "gib" => "GiB".to_owned(),
        "tls" => "TLS".to_owned(),
        _ => word.parse().map_or_else(|_| word.to_owned(), count),
    };
    name.split('-').map(spelled).collect::<Vec<_>>().join(" ")
}

fn question_view<'a>(question: &'a Question, shootout: &'a Shootout) -> QuestionView<'a> {
    let find = |name: &str| shootout.servers.iter().find(|server| server.name == name);
    let means: Vec<f64> = question.rows.iter().filter_map(|row| row.mean).collect();
    let axis = Axis::of_bars(&means);
    let better = if question.more_is_better { "more is better" } else { "less is better" };
    let unit = match question.unit.name() {
        "" => String::new(),
        unit => format!(" in {unit}"),
    };
    let kind = if axis.is_log { "Points on a logarithmic axis" } else { "Bars" };
    let row = |row: &'a Row| RowView {
        server: &row.server,
        of: find(&row.server),
        place: &row.place,
        leads: question.leaders.contains(&row.server),
        is_yardstick: row.server == shootout.yardstick,
        ahead_of: &row.ahead_of,
        mark: row.mean.map(|mean| Mark { at: axis.at(mean), interval: whisker(row, &axis) }),
        shown: &row.shown,
        with_interval: &row.with_interval,
        remarks: &row.remarks,
    };
    let best = question.leaders.first();
    let best = best.and_then(|best| question.rows.iter().find(|row| row.server == *best));
    QuestionView {
        name: &question.name,
        short: label(&question.name),
        asks: asks(question),
        answer: &question.answer,
        detail: &question.detail,
        best: best.map_or(String::new(), |row| format!("{} {}", question.figure, row.with_interval)),
        says: format!(
            "{kind} are means of {}{unit}, whiskers 95% intervals, arrows intervals that go on; {better}.",
            question.figure
        ),
        is_log: axis.is_log,
        ticks: axis.ticks().iter().map(|value| (axis.at(*value), tick(*value, question.unit))).collect(),
        rows: question.rows.iter().map(row).collect(),
        notes: &question.notes,
        command: &question.command,
        columns: &question.columns,
        table: question
            .table
            .iter()
            .zip(&question.rows)
            .map(|(cells, row)| (find(&row.server), cells.as_slice()))
            .collect(),
    }
}

/// Below nothing, there is nothing.
fn whisker(row: &Row, axis: &Axis) -> Option<Whisker> {
    let (low, high) = row.interval?;
    let (reach_low, reach_high) = row.reach.unwrap_or((low, high));
    Some(Whisker {
        low: axis.at(low),
        high: axis.at(high),
        is_lower: !axis.holds(reach_low.min(low).max(0.0)),
        is_higher: !axis.holds(reach_high.max(high)),
    })
}

fn then(question: &Question) -> impl Iterator<Item = Then<'_>> {
    question.rows.iter().filter_map(move |row| {
        let source = question.published.as_ref()?;
        let then = row.then?;
        // Of nothing there are no multiples.
        let quotient = row.mean.filter(|_| then > 0.0).map(|now| now / then);
        Some(Then {
            question: label(&question.name),
            server: &row.server,
            figure: &question.figure,
            column: &source.column,
            then: quantity(then, question.unit),
            now: if row.with_interval.is_empty() { "not measured" } else { &row.with_interval },
            quotient: quotient.map_or(String::new(), |quotient| format!("{}{quotient:.2}", row.sign)),
            differs: &source.differs,
        })
    })
}

fn quantity(value: f64, unit: Unit) -> String {
    match unit {
        Unit::Ms => duration((value * 1e6).round() as u64),
        Unit::Bytes => bytes(value),
        Unit::Percent => format!("{value}%"),
        Unit::PerSecond => format!("{}/s", count(value.round() as u64)),
        Unit::Count => count(value.round() as u64),
    }
}

fn server_view<'a>(server: &'a Server, questions: &'a [Question]) -> ServerView<'a> {
    let answer = |question: &'a Question| {
        let row = question.rows.iter().find(|row| row.server == server.name)?;
        Some(Answer {
            question: label(&question.name),
            figure: &question.figure,
            place: &row.place,
            shown: &row.with_interval,
            remarks: &row.remarks,
            command: &row.command,
            curve: row.curve.as_ref().map(Curve::drawing),
        })
    };
    ServerView { server, answers: questions.iter().filter_map(answer).collect() }
}
