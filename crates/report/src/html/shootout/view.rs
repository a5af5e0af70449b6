//! The page's text, laid out for its template.

use std::collections::BTreeSet;

use results::Unit;
use results::format::{bytes, count, counted, duration};
use serde::Serialize;

use super::axis::{Axis, tick};
use super::curve::{Curve, Drawing};
use super::model::{Question, Row, Server, Shootout};

/// The yardstick of every shootout, which is not among those to choose from.
const YARDSTICK: &str = "throng";

#[derive(Serialize)]
pub(super) struct View<'a> {
    title: &'a str,
    lead: String,
    cards: Vec<Card<'a>>,
    languages: BTreeSet<&'a str>,
    protocols: BTreeSet<&'a str>,
    questions: Vec<QuestionView<'a>>,
    then: Vec<Then<'a>>,
    servers: Vec<ServerView<'a>>,
    facts: &'a [String],
    left_out: &'a [(String, String)],
    command: &'a str,
}

/// The answer to a question in short: who is ahead of those that can be chosen.
#[derive(Serialize)]
struct Card<'a> {
    question: &'a str,
    asks: &'a str,
    answer: &'a str,
    detail: String,
}

#[derive(Serialize)]
struct QuestionView<'a> {
    name: &'a str,
    asks: &'a str,
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
    place: String,
    /// True if nobody is certainly ahead of it.
    leads: bool,
    is_yardstick: bool,
    is_ranked: bool,
    /// Percent of the chart's width: the mean, and the interval's ends.
    at: Option<f64>,
    low: Option<f64>,
    high: Option<f64>,
    shown: &'a str,
    share: &'a str,
    remarks: &'a str,
}

/// A figure that was published, and ours.
#[derive(Serialize)]
struct Then<'a> {
    question: &'a str,
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
    question: &'a str,
    figure: &'a str,
    place: String,
    shown: &'a str,
    remarks: &'a str,
    command: &'a str,
    curve: Option<Drawing>,
}

/// The view of a shootout.
pub(super) fn view(shootout: &Shootout) -> View<'_> {
    let servers = &shootout.servers;
    let find = |name: &str| servers.iter().find(|server| server.name == name);
    let known = |text: &'_ &str| !text.is_empty();
    View {
        title: &shootout.title,
        lead: lead(shootout),
        cards: shootout.questions.iter().filter_map(card).collect(),
        languages: servers.iter().map(|server| server.language.as_str()).filter(known).collect(),
        protocols: servers.iter().flat_map(|server| &server.protocols).map(String::as_str).collect(),
        questions: shootout.questions.iter().map(|question| question_view(question, &find)).collect(),
        then: shootout.questions.iter().flat_map(then).collect(),
        servers: servers.iter().map(|server| server_view(server, &shootout.questions)).collect(),
        facts: &shootout.facts,
        left_out: &shootout.left_out,
        command: &shootout.command,
    }
}

/// How many servers there are to choose from, and how many questions.
fn lead(shootout: &Shootout) -> String {
    let (yardsticks, others): (Vec<_>, Vec<_>) =
        shootout.servers.iter().partition(|server| server.name == YARDSTICK);
    let (servers, questions) = (others.len() as u64, shootout.questions.len() as u64);
    let yardstick = if yardsticks.is_empty() { "" } else { " and throng's own" };
    format!("{}{yardstick} measured, {} asked", counted(servers, "server"), counted(questions, "question"))
}

/// `None` if nobody has a rank but the yardstick.
fn card(question: &Question) -> Option<Card<'_>> {
    // The yardstick is no server that anybody would choose.
    let mut ranked = question.rows.iter().filter(|row| row.place.is_some() && row.server != YARDSTICK);
    let best = ranked.next()?;
    let ties: Vec<&str> = ranked.filter(|row| !are_apart(best, row)).map(|row| &*row.server).collect();
    let others = match ties.len() {
        0 => "nobody ties with it".to_owned(),
        1..=3 => format!("it cannot be told from {}", ties.join(", ")),
        n => format!("it cannot be told from {} and {} more", ties[..2].join(", "), n - 2),
    };
    let beyond = match question.at_file_limit {
        0 => String::new(),
        1 => "; one that reached the limit of open files first may hold more".to_owned(),
        n => format!("; {n} that reached the limit of open files first may hold more"),
    };
    Some(Card {
        question: &question.name,
        asks: asks(question),
        answer: &best.server,
        detail: format!("{} {}; {others}{beyond}", question.figure, best.shown),
    })
}

/// Returns whether one of two is certainly ahead: what their figures may be has no value in common.
fn are_apart(a: &Row, b: &Row) -> bool {
    let apart = |((a_low, a_high), (b_low, b_high))| a_low > b_high || b_low > a_high;
    a.reach.zip(b.reach).is_some_and(apart)
}

fn asks(question: &Question) -> &str {
    if question.asks.is_empty() { &question.name } else { &question.asks }
}

fn question_view<'a>(question: &'a Question, find: &impl Fn(&str) -> Option<&'a Server>) -> QuestionView<'a> {
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
        place: place(row),
        leads: row.place.is_some_and(|(best, _)| best == 1),
        is_yardstick: row.server == YARDSTICK,
        is_ranked: row.place.is_some(),
        at: row.mean.map(|mean| axis.at(mean)),
        low: row.interval.map(|(low, _)| axis.at(low)),
        high: row.interval.map(|(_, high)| axis.at(high)),
        shown: &row.shown,
        share: &row.share,
        remarks: &row.remarks,
    };
    QuestionView {
        name: &question.name,
        asks: asks(question),
        says: format!("{kind} are means of {}{unit}, whiskers 95% intervals; {better}.", question.figure),
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

fn place(row: &Row) -> String {
    match row.place {
        None => "–".to_owned(),
        Some((best, worst)) if best == worst => best.to_string(),
        Some((best, worst)) => format!("{best}–{worst}"),
    }
}

fn then(question: &Question) -> impl Iterator<Item = Then<'_>> {
    question.rows.iter().filter_map(move |row| {
        let source = question.published.as_ref()?;
        let then = row.then?;
        // Of nothing there are no multiples.
        let quotient = row.mean.filter(|_| then > 0.0).map(|now| now / then);
        Some(Then {
            question: &question.name,
            server: &row.server,
            figure: &question.figure,
            column: &source.column,
            then: quantity(then, question.unit),
            now: if row.shown.is_empty() { "not measured" } else { &row.shown },
            quotient: quotient.map_or(String::new(), |quotient| format!("{quotient:.2}")),
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
            question: &question.name,
            figure: &question.figure,
            place: place(row),
            shown: &row.shown,
            remarks: &row.remarks,
            command: &row.command,
            curve: row.curve.as_ref().map(Curve::drawing),
        })
    };
    ServerView { server, answers: questions.iter().filter_map(answer).collect() }
}
