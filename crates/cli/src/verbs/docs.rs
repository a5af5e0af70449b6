//! `throng docs`: the pages of docs/, which a package brings in the program.

mod markdown;
mod roff;

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

use crate::exit::{Exit, Failure};
use crate::output;
use crate::terminal;

/// The most columns that are easy to read.
const COLUMNS_MAX: usize = 100;

/// Columns between a topic and its sentence.
const GAP: usize = 2;

/// Every page, in the order of the topics.
const TOPICS: &[Topic] = include!(concat!(env!("OUT_DIR"), "/topics.rs"));

/// Print a page of the documentation, or list the pages
#[derive(Args)]
#[command(after_help = "\
Examples:
  throng docs                  the topics
  throng docs app | less       every key of an app file
  throng docs rails            your app in Rails, step by step")]
pub(crate) struct Docs {
    /// The topic [default: list all]
    #[arg(hide_possible_values = true, value_parser = parser())]
    topic: Option<&'static Topic>,
}

/// A page.
#[derive(Debug)]
struct Topic {
    name: &'static str,
    /// The file in the repository, by which texts and links name it.
    page: &'static str,
    text: &'static str,
}

impl Docs {
    /// Runs it.
    pub(crate) fn run(self) -> Result<Exit, Failure> {
        let style = terminal::style();
        let columns = terminal::columns().min(COLUMNS_MAX);
        let text = match self.topic {
            Some(topic) => markdown::render(topic.text, columns, &style),
            None => list(columns),
        };
        output::print(&style.in_letters(text))
    }
}

/// The pages as those of the manual's section 7: the name of each file, and its text.
pub(crate) fn manual() -> impl Iterator<Item = (String, String)> {
    TOPICS.iter().map(|topic| (format!("throng-{}.7", topic.name), roff::render(topic.name, topic.text)))
}

fn parser() -> impl TypedValueParser<Value = &'static Topic> {
    let value = |topic: &Topic| PossibleValue::new(topic.name).alias(topic.page);
    PossibleValuesParser::new(TOPICS.iter().map(value)).map(|named| {
        let found = TOPICS.iter().find(|topic| [topic.name, topic.page].contains(&named.as_str()));
        found.expect("a value that was offered")
    })
}

/// A line for each topic: its name, and the first sentence of its page as far as the line goes.
fn list(columns: usize) -> String {
    let width = TOPICS.iter().map(|topic| topic.name.len()).max().unwrap_or_default();
    let line = |topic: &Topic| {
        let about = markdown::subject(topic.text);
        let lines = textwrap::wrap(&about, columns.saturating_sub(width + GAP + 1));
        let more = if lines.len() > 1 { "…" } else { "" };
        format!("{:width$}{:GAP$}{}{more}\n", topic.name, "", lines[0])
    };
    TOPICS.iter().map(line).collect()
}
