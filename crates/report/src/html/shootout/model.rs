//! The model of the page.

use results::Unit;
use serde::Serialize;

use super::curve::Curve;

/// A finished shootout, as its page shows it.
#[derive(Clone, Debug, Default)]
pub struct Shootout {
    /// Its title, in a line.
    pub title: String,
    /// The winner, in a line.
    pub headline: String,
    /// Facts needed to judge it: where and how it was measured.
    pub facts: Vec<String>,
    /// The questions, in the order of the page.
    pub questions: Vec<Question>,
    /// The servers, by name.
    pub servers: Vec<Server>,
    /// The server that is a yardstick, and no choice.
    pub yardstick: String,
    /// Servers that were not measured, and why.
    pub left_out: Vec<(String, String)>,
    /// The command line that repeats it.
    pub command: String,
}

/// One question, and what came of it.
#[derive(Clone, Debug)]
pub struct Question {
    /// Its name, which is part of links.
    pub name: String,
    /// The question as a sentence; empty: only the name is known.
    pub asks: String,
    /// The figure that servers are ranked by, in words.
    pub figure: String,
    /// The unit of all figures of the question.
    pub unit: Unit,
    /// True if more of it is better.
    pub more_is_better: bool,
    /// The answer, in a word or a name.
    pub answer: String,
    /// Extent to which the question is answered.
    pub detail: String,
    /// The servers that may be first, the best mean first.
    pub leaders: Vec<String>,
    /// The command line that measured it.
    pub command: String,
    /// Notes on this question alone, a sentence each.
    pub notes: Vec<String>,
    /// Its published figures, if there are any.
    pub published: Option<Source>,
    /// The best first; those without a place come last.
    pub rows: Vec<Row>,
    /// All figures of all servers: the names of the columns, and the rows in the same order.
    pub columns: Vec<String>,
    /// The rows of that table, a cell for each of `columns`.
    pub table: Vec<Vec<String>>,
}

/// A source of published figures.
#[derive(Clone, Debug, Default)]
pub struct Source {
    /// The figure's name where it was published.
    pub column: String,
    /// Why ours differs; empty if that is not known.
    pub differs: String,
}

/// The result of one server.
#[derive(Clone, Debug, Default)]
pub struct Row {
    /// The name of the server.
    pub server: String,
    /// Its place, or its best and its worst; empty: it has none.
    pub place: String,
    /// The rows, by their position, that it is certainly ahead of.
    pub ahead_of: Vec<usize>,
    /// The mean of the figure over the rounds, in the question's unit; `None`: there is no figure.
    pub mean: Option<f64>,
    /// The lower and the upper bound of its 95% interval; `None` with fewer than two rounds.
    pub interval: Option<(f64, f64)>,
    /// The sign before the mean: `≥ ` or `≤ ` where it is a bound, because the server was not the limit.
    pub sign: &'static str,
    /// The reach of the figure: the interval, without an end where the server was not the limit.
    pub reach: Option<(f64, f64)>,
    /// The mean in words.
    pub shown: String,
    /// The mean and its interval in words.
    pub with_interval: String,
    /// The published figure, in the question's unit.
    pub then: Option<f64>,
    /// Caveats of the figure, or why there is none.
    pub remarks: String,
    /// The command line that measured it last.
    pub command: String,
    /// How it behaved under load.
    pub curve: Option<Curve>,
}

/// A server of the shootout: what it is made of, and how it was started.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Server {
    /// Its name.
    pub name: String,
    /// Its language.
    pub language: String,
    /// Its library.
    pub library: String,
    /// The protocols that it speaks, by name.
    pub protocols: Vec<String>,
    /// Its version, as it says itself.
    pub version: String,
    /// The command line that started it, with placeholders.
    pub start: String,
    /// The command line that repeats its rows.
    pub command: String,
}
