//! A row: a label, and fields that go over as many lines as they need, none of them broken where it need not be.

use results::format::printable;

use crate::style::{Colour, Style};

/// No terminal is narrower: below that, lines are as long as they are.
const COLUMNS_MIN: usize = 40;

/// The layout shared by all rows of a block.
pub(super) struct Rows<'a> {
    pub(super) style: &'a Style,
    /// The column where labels begin.
    pub(super) indent: usize,
    /// The column where values begin, behind the labels' first column.
    pub(super) label: usize,
}

impl Rows<'_> {
    /// A label and its value, folded to the terminal's columns.
    pub(super) fn row(&self, label: &str, text: &str) -> String {
        self.painted(label, text, None)
    }

    /// The same with the value in a colour. Either may be a server's words, or those of a file.
    pub(super) fn painted(&self, label: &str, text: &str, colour: Option<Colour>) -> String {
        let Rows { style, indent, label: width } = self;
        let (label, text) = (printable(label), &printable(text));
        let begin = indent + width;
        let folded = match style.columns.map(|columns| columns.max(COLUMNS_MIN)) {
            Some(columns) => fold(text, columns - begin),
            None => vec![text.to_owned()],
        };
        // Painted once it is padded: the signs of a colour have no width.
        let label = style.paint(Colour::Dim, &format!("{:width$}", format!("{label} ")));
        let mut row = format!("{:indent$}{label}", "");
        for (number, line) in folded.iter().enumerate() {
            if number > 0 {
                row = format!("{}\n{:begin$}", row.trim_end(), "");
            }
            row += &colour.map_or_else(|| line.clone(), |colour| style.paint(colour, line));
        }
        row.trim_end().into()
    }
}

/// Lines of at most so many columns: broken between fields, and within a field only where it is longer than a line.
fn fold(text: &str, columns: usize) -> Vec<String> {
    let width = |text: &str| text.chars().count();
    let mut lines = vec![String::new()];
    let mut put = |piece: &str| {
        let last = lines.last_mut().expect("one at the least");
        if width(last) + width(piece.trim_end()) <= columns {
            last.push_str(piece);
        } else {
            lines.push(piece.trim_start().to_owned());
        }
    };
    for field in fields(text) {
        if width(field.trim()) <= columns {
            put(field);
        } else {
            for word in field.split_inclusive(' ') {
                put(word);
            }
        }
    }
    lines
}

/// A field ends with a comma, a semicolon or a sentence, or before two spaces.
fn fields(text: &str) -> Vec<&str> {
    let (mut fields, mut from) = (Vec::new(), 0);
    for (at, _) in text.match_indices(' ') {
        let before = text[..at].chars().next_back();
        let is_end = before.is_some_and(|before| ",;.".contains(before));
        let opens_gap = before != Some(' ') && text[at..].starts_with("  ");
        if is_end || opens_gap {
            fields.push(&text[from..at]);
            from = at;
        }
    }
    fields.push(&text[from..]);
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(columns: usize, text: &str) -> String {
        let style = Style { columns: Some(columns), ..Style::PLAIN };
        Rows { style: &style, indent: 2, label: 6 }.row("mark", text)
    }

    #[test]
    fn a_row_is_broken_between_its_fields() {
        let text = "server: cpu 99% of 1 core, others 12%; rtt  p99 12ms";
        assert_eq!(row(80, text), format!("  mark  {text}"));
        let folded = "  mark  server: cpu 99% of 1 core,
        others 12%; rtt  p99 12ms";
        assert_eq!(row(40, text), folded);
        assert_eq!(row(1, text), folded, "no terminal is narrower");
        let sentences = "  mark  passed, 9 messages/s.
        Capacity: 9 clients (the most)";
        assert_eq!(row(40, "passed, 9 messages/s. Capacity: 9 clients (the most)"), sentences);
    }

    #[test]
    fn a_long_word_is_left_whole() {
        let url = "ws://chat.example.com/a/path/that/is/longer/than/a/line";
        assert_eq!(row(40, &format!("from {url} to")), format!("  mark  from\n        {url}\n        to"));
        assert_eq!(row(40, ""), "  mark");
    }
    #[test]
    fn a_row_ends_where_it_should() {
        let row = Rows { style: &Style::PLAIN, indent: 2, label: 6 }.row("a\nb", "one\n  mark  two\u{1b}[2J");
        assert_eq!(row, "  a·b   one·  mark  two·[2J");
    }
}
