//! Markdown for a terminal: prose and tables folded to its columns, code and links as they stand.

use std::borrow::Cow;
use std::iter;

use report::{Colour, Style};
use results::columns;
use textwrap::{Options, WordSeparator, WordSplitter};

/// Columns before code.
const CODE: &str = "    ";
const FENCE: &str = "```";
/// Columns between the cells of a table.
const GAP: usize = 2;

/// A part of a page, up to the next blank line or the next part.
#[derive(Debug, PartialEq)]
pub(super) enum Block<'a> {
    Blank,
    Heading(&'a str),
    Code(Vec<&'a str>),
    /// The cells of each row, the rule below the head among them.
    Table(Vec<Vec<String>>),
    /// Prose in one line, and the columns before its text if it is an item of a list.
    Prose(String, Option<usize>),
}

/// The page as a terminal of `columns` shows it.
pub(super) fn render(page: &str, columns: usize, style: &Style) -> String {
    let mut text = String::new();
    for block in blocks(page) {
        text += &match block {
            Block::Blank => "\n".to_owned(),
            Block::Heading(line) => format!("{}\n", style.paint(Colour::Bold, line)),
            Block::Code(lines) => {
                lines.iter().map(|line| format!("{CODE}{line}").trim_end().to_owned() + "\n").collect()
            }
            Block::Table(rows) => table(rows, columns),
            Block::Prose(prose, marker) => {
                let hang = " ".repeat(marker.unwrap_or_default());
                let options = options(columns).subsequent_indent(&hang).break_words(false);
                format!("{}\n", textwrap::fill(&prose, options))
            }
        };
    }
    text
}

/// The subject of a page: the first sentence of the prose below its title, else the title.
pub(super) fn subject(page: &str) -> String {
    let mut blocks = blocks(page).into_iter().filter(|block| *block != Block::Blank);
    let title = match blocks.next() {
        Some(Block::Heading(title)) => title.trim_start_matches('#').trim(),
        _ => "",
    };
    match blocks.next() {
        Some(Block::Prose(prose, None)) => without_links(prose.split(". ").next().unwrap_or_default()),
        _ => title.to_owned(),
    }
}

/// The parts of a page, in their order.
pub(super) fn blocks(page: &str) -> Vec<Block<'_>> {
    let mut lines = page.lines().peekable();
    let mut blocks = Vec::new();
    while let Some(line) = lines.next() {
        blocks.push(if line.starts_with(FENCE) {
            Block::Code(lines.by_ref().take_while(|line| !line.starts_with(FENCE)).collect())
        } else if let Some(code) = line.strip_prefix(CODE) {
            Block::Code(vec![code])
        } else if line.starts_with('|') {
            let rows = iter::once(line).chain(iter::from_fn(|| lines.next_if(|line| line.starts_with('|'))));
            Block::Table(rows.map(cells).collect())
        } else if line.starts_with('#') {
            Block::Heading(line)
        } else if line.is_empty() {
            Block::Blank
        } else {
            let more = iter::from_fn(|| lines.next_if(|line| continues(line)).map(str::trim_start));
            Block::Prose(iter::once(line).chain(more).collect::<Vec<_>>().join(" "), marker(line))
        });
    }
    blocks
}

/// Returns whether a line goes on with the prose above it.
fn continues(line: &str) -> bool {
    let opens_block = [FENCE, "|", "#"].iter().any(|opening| line.starts_with(opening));
    !line.is_empty() && !opens_block && marker(line).is_none()
}

/// Text with `[words](target)` as its words.
fn without_links(text: &str) -> String {
    let mut parts = text.split("](");
    let first = parts.next().unwrap_or_default().to_owned();
    let rest = parts.map(|part| part.split_once(')').map_or(part, |(_, rest)| rest));
    rest.fold(first, |text, rest| text + rest).replace('[', "").trim_end_matches(['.', ':']).to_owned()
}

/// Columns before the text of a list's item: `- ` or `12. `, with the indentation.
fn marker(line: &str) -> Option<usize> {
    let item = line.trim_start();
    let bare = item.trim_start_matches(|c: char| c.is_ascii_digit());
    let is_item = if bare.len() == item.len() { item.starts_with("- ") } else { bare.starts_with(". ") };
    let mark = item.find(' ').filter(|_| is_item)?;
    Some(line.len() - item.len() + mark + 1)
}

/// The cells of a row of a table; `\|` is a bar within one.
fn cells(row: &str) -> Vec<String> {
    const BAR: &str = "\u{1}";
    let row = row.trim().trim_matches('|').replace("\\|", BAR);
    row.split('|').map(|cell| cell.trim().replace(BAR, "|")).collect()
}

/// A table whose cells are folded, so that all of it fits.
pub(super) fn table(mut rows: Vec<Vec<String>>, columns: usize) -> String {
    // A line that only begins as a table does has no rule below it.
    let rule = if rows.len() > 1 { rows.remove(1) } else { Vec::new() };
    let widths = widths(&rows, columns);
    if !rule.is_empty() {
        rows.insert(1, widths.iter().map(|&width| "-".repeat(width)).collect());
    }
    let mut lines = Vec::new();
    for row in rows {
        let folded: Vec<_> =
            row.iter().zip(&widths).map(|(cell, &width)| textwrap::wrap(cell, options(width))).collect();
        let height = folded.iter().map(Vec::len).max().unwrap_or_default();
        for n in 0..height {
            let part = |cell: &Vec<Cow<str>>| cell.get(n).map(ToString::to_string).unwrap_or_default();
            lines.push(folded.iter().map(part).collect::<Vec<_>>());
        }
    }
    columns::aligned(&lines, |column| rule.get(column).is_some_and(|cell| cell.ends_with(':')))
}

/// Widths that share the columns: a cell that needs less than its part leaves the rest to the others.
fn widths(rows: &[Vec<String>], columns: usize) -> Vec<usize> {
    let count = rows[0].len();
    let widest = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or_default();
    let mut wanted: Vec<(usize, usize)> = (0..count).map(|column| (widest(column), column)).collect();
    wanted.sort_unstable();
    let mut widths = vec![0; count];
    let mut left = columns.saturating_sub(GAP * (count - 1));
    for (place, (width, column)) in wanted.into_iter().enumerate() {
        widths[column] = width.min(left / (count - place)).max(1);
        left = left.saturating_sub(widths[column]);
    }
    widths
}

/// Breaks at spaces alone: a flag's hyphens belong to it.
fn options<'a>(columns: usize) -> Options<'a> {
    Options::new(columns).word_separator(WordSeparator::AsciiSpace).word_splitter(WordSplitter::NoHyphenation)
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;

    const PAGE: &str = "\
# A page

It says a|b to
clients. And more.

- one item of 2 lines (or of 3, or of 4),
  with `--max-message 1MiB`
12. another

| key | what it is | n |
|---|---|---:|
| `a\\|b` | a meaning of 2 lines (or of 3, or of 4) | 5 |
| c | – | 10 |

```sh
throng echo --clients 1000 --duration 10s
```
";

    #[test]
    fn pages_are_folded_to_columns() {
        assert_snapshot!(render(PAGE, 40, &Style::PLAIN), @"
        # A page

        It says a|b to clients. And more.

        - one item of 2 lines (or of 3, or of
          4), with `--max-message 1MiB`
        12. another

        key    what it is                      n
        -----  -----------------------------  --
        `a|b`  a meaning of 2 lines (or of     5
               3, or of 4)
        c      –                              10

            throng echo --clients 1000 --duration 10s
        ");
        let bold = Style { ansi: true, ..Style::PLAIN };
        assert!(render(PAGE, 40, &bold).starts_with("\u{1b}[1m# A page\u{1b}[0m\n\nIt says"));
    }

    #[test]
    fn table_of_one_line_has_no_rule() {
        assert_eq!(render("| a | b |\n", 40, &Style::PLAIN).trim_end(), "a  b");
    }

    #[test]
    fn subjects_are_first_sentences_or_titles() {
        assert_eq!(subject(PAGE), "It says a|b to clients");
        assert_eq!(subject("# T\n\nSee [the map](docs/README.md) of `x`: all.\n"), "See the map of `x`: all");
        assert_eq!(subject("# Rails: Turbo\n\n```\ncode\n```\n\nProse.\n"), "Rails: Turbo");
    }
}
