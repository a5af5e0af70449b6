//! Rows of a data sheet: what was looked for and how, what was found, what it cost, and what it means for a load test.

use std::time::Duration;

use results::format::{self, printable};
use serde_json::{Map, Value, json};
use textwrap::{Options, WordSplitter};

/// A question that a row answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Topic {
    /// The row's key, by which programs find it.
    pub(super) key: &'static str,
    /// The row's name in the text.
    pub(super) name: &'static str,
    /// The way to an answer.
    pub(super) how: &'static str,
}

/// An answer.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Finding {
    /// The answer in words.
    pub(super) text: String,
    /// The same in keys, numbers and names.
    pub(super) data: Value,
    /// The consequence for a load test, with the flag to type.
    pub(super) meaning: Option<Meaning>,
}

/// A consequence for a load test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    /// A limit that a run meets.
    Limits(String),
    /// Room that a run has.
    Allows(String),
}

impl Meaning {
    fn text(&self) -> &str {
        let (Meaning::Limits(text) | Meaning::Allows(text)) = self;
        text
    }
}

impl Finding {
    /// An answer without a consequence.
    pub(super) fn new(text: impl Into<String>, data: Value) -> Finding {
        Finding { text: text.into(), data, meaning: None }
    }

    /// The same with a limit that a run meets.
    pub(super) fn limits(self, meaning: impl Into<String>) -> Finding {
        Finding { meaning: Some(Meaning::Limits(meaning.into())), ..self }
    }

    /// The same with room that a run has.
    pub(super) fn allows(self, meaning: impl Into<String>) -> Finding {
        Finding { meaning: Some(Meaning::Allows(meaning.into())), ..self }
    }
}

/// The reason why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NotTried(pub(super) String);

/// An answer, or the reason for its absence.
pub(super) type Outcome = Result<Finding, NotTried>;

/// The load that a probe put on the server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Cost {
    pub(super) connections: u64,
    /// Bytes in both directions.
    pub(super) bytes: u64,
    pub(super) time: Duration,
}

impl Cost {
    fn text(&self) -> String {
        let connections = format::counted(self.connections, "connection");
        format!("; {connections}, {}, {}", format::bytes(self.bytes as f64), seconds(self.time))
    }

    fn json(&self) -> Value {
        let seconds = (self.time.as_secs_f64() * 1e3).round() / 1e3;
        json!({ "connections": self.connections, "bytes": self.bytes, "seconds": seconds })
    }
}

/// A row.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) topic: &'static Topic,
    pub(super) outcome: Outcome,
    /// The cost of its probe, at the first of the probe's rows.
    pub(super) cost: Option<Cost>,
}

/// Columns of a line.
const COLUMNS: usize = 80;
/// Columns before what was found.
const INDENT: usize = 20;

/// All rows as lines, each with how it was found; then what was not tried, by the reason.
pub(super) fn text(rows: &[Row]) -> String {
    let mut text = String::new();
    let mut not_tried: Vec<(&str, Vec<&str>)> = Vec::new();
    for Row { topic, outcome, cost } in rows {
        match outcome {
            Ok(finding) => {
                let spent = cost.as_ref().map(Cost::text).unwrap_or_default();
                text += &wrapped(topic.name, &finding.text);
                text += &wrapped("", &format!("({}{spent})", topic.how));
            }
            Err(NotTried(why)) => match not_tried.iter_mut().find(|(other, _)| other == why) {
                Some((_, names)) => names.push(topic.name),
                None => not_tried.push((why, vec![topic.name])),
            },
        }
    }
    for (place, (why, names)) in not_tried.iter().enumerate() {
        let name = if place == 0 { "not tried" } else { "" };
        text += &wrapped(name, &format!("{}: {why}", names.join(", ")));
    }
    text
}

/// A duration with the decimals that matter to a person who waits.
pub(super) fn seconds(time: Duration) -> String {
    format!("{:.*} s", if time < Duration::from_secs(10) { 2 } else { 1 }, time.as_secs_f64())
}

/// The text behind its name, broken between words. Parts of it are a server's own.
fn wrapped(name: &str, text: &str) -> String {
    let (name, indent) = (format!("{name:INDENT$}"), " ".repeat(INDENT));
    let options = Options::new(COLUMNS).initial_indent(&name).subsequent_indent(&indent).break_words(false);
    let text = bound(&printable(text));
    let filled = textwrap::fill(&text, options.word_splitter(WordSplitter::NoHyphenation));
    format!("{}\n", filled.replace(NO_BREAK, " "))
}

/// A space that lines are not broken at.
const NO_BREAK: char = '\u{a0}';

/// The text with each number bound to its unit, or to the thing that it counts.
fn bound(text: &str) -> String {
    let mut bound = String::with_capacity(text.len());
    for c in text.chars() {
        let is_bound = c == ' ' && bound.ends_with(|last: char| last.is_ascii_digit());
        bound.push(if is_bound { NO_BREAK } else { c });
    }
    bound
}

/// All rows as an object by their keys.
pub(super) fn json(rows: &[Row]) -> Value {
    let entries = rows.iter().map(|Row { topic, outcome, cost }| {
        let mut row = match outcome {
            Ok(finding) => json!({ "found": finding.data, "text": finding.text, "means": finding.meaning.as_ref().map(Meaning::text) }),
            Err(NotTried(why)) => json!({ "not_tried": why }),
        };
        row["how"] = topic.how.into();
        row["cost"] = cost.as_ref().map(Cost::json).into();
        (topic.key.to_owned(), row)
    });
    Value::Object(Map::from_iter(entries))
}

/// Consequences at most.
const MEANINGS_MAX: usize = 5;

/// The consequences for a load test, those of limits first; `keys`: rows by what stops a run soonest.
pub(super) fn meanings<'a>(rows: &'a [Row], keys: &[&str]) -> Vec<&'a str> {
    let of = |key: &&str| {
        let row = rows.iter().find(|row| row.topic.key == *key)?;
        row.outcome.as_ref().ok()?.meaning.as_ref()
    };
    let mut meanings: Vec<&Meaning> = keys.iter().filter_map(of).collect();
    // Stable: among limits, the order of the keys stays.
    meanings.sort_by_key(|meaning| matches!(meaning, Meaning::Allows(_)));
    meanings.into_iter().map(Meaning::text).take(MEANINGS_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    static TOPIC: Topic = Topic { key: "idle", name: "idle timeout", how: "sent nothing" };

    #[test]
    fn lines_break_between_words() {
        let row = |outcome| Row { topic: &TOPIC, outcome, cost: None };
        let long = "word ".repeat(40);
        let numbers = "1 s ".repeat(40);
        let rows = [
            row(Ok(Finding::new(long, Value::Null))),
            row(Err(NotTried("x".repeat(100)))),
            row(Err(NotTried(numbers))),
        ];
        let text = text(&rows);
        let is_wide = |line: &&str| line.chars().count() > COLUMNS;
        assert_eq!(text.lines().filter(is_wide).count(), 1, "a word alone is not broken: {text}");
        assert_eq!(text.matches("word").count(), 40);
        assert_eq!(text.matches("1 s").count(), 40, "a number stays with its unit: {text}");
    }

    #[test]
    fn meanings_follow_the_order_given() {
        static OTHER: Topic = Topic { key: "order", ..TOPIC };
        let row = |topic, finding| Row { topic, outcome: Ok(finding), cost: None };
        let finding = || Finding::new("", Value::Null);
        let mut rows = [row(&TOPIC, finding().limits("1")), row(&OTHER, finding().limits("2"))];
        assert_eq!(meanings(&rows, &["order", "rate", "idle"]), ["2", "1"]);
        rows[1] = row(&OTHER, finding().allows("2"));
        assert_eq!(meanings(&rows, &["order", "rate", "idle"]), ["1", "2"], "limits come first");
    }
}
