//! A table of anything, as text, Markdown, CSV and JSON: what people read beside what programs read.

use serde_json::{Map, Value, json};

use results::columns;
use results::format::printable;

use crate::csv;

/// How people see that nothing applies.
const ABSENT: &str = "–";

/// A table: a title and a key for each column, and the rows.
#[derive(Clone, Debug)]
pub struct Table {
    columns: &'static [Column],
    rows: Vec<Vec<Cell>>,
}

/// A column: its title for people, its name for programs, and the side at which its cells end.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// Its title for people; empty: it is for programs alone, and people read it in another.
    pub title: &'static str,
    /// Its name for programs: the header in CSV, the key in JSON. Ends in the unit; empty: it is drawn for
    /// people alone.
    pub key: &'static str,
    /// True if numbers stand in it, which end at the right.
    pub is_right: bool,
}

/// A cell: what programs read and, where that differs, what people do.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// Nothing applies.
    Absent,
    /// Words.
    Text(String),
    /// A word for programs, which may be empty, and what people are told.
    Said(&'static str, String),
    /// A number, and how it is printed.
    Number(f64, String),
    /// Yes or no, and how that is printed.
    Flag(bool, &'static str),
    /// Several words.
    Words(Vec<String>),
}

/// Formats of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableFormat {
    /// Columns apart by spaces.
    Text,
    /// A Markdown table.
    Markdown,
    /// RFC 4180.
    Csv,
    /// An array of objects; what does not apply is left out.
    Json,
}

impl Column {
    /// A column of words, which begin at the left.
    pub const fn left(title: &'static str, key: &'static str) -> Self {
        Column { title, key, is_right: false }
    }

    /// A column of numbers, which end at the right.
    pub const fn right(title: &'static str, key: &'static str) -> Self {
        Column { title, key, is_right: true }
    }

    /// A column for programs alone.
    pub const fn unseen(key: &'static str) -> Self {
        Column { title: "", key, is_right: false }
    }

    /// A column that is drawn of others, for people alone.
    pub const fn drawn(title: &'static str) -> Self {
        Column { title, key: "", is_right: false }
    }

    fn is_read(&self) -> bool {
        !self.key.is_empty()
    }

    fn is_seen(&self) -> bool {
        !self.title.is_empty()
    }
}

impl Cell {
    /// A number as it is printed by `show`, if it is known.
    pub fn number<T: Copy>(value: Option<T>, raw: impl Fn(T) -> f64, show: impl Fn(T) -> String) -> Self {
        value.map_or(Cell::Absent, |value| Cell::Number(raw(value), show(value)))
    }

    /// Words, if there are any.
    pub fn text(text: Option<impl Into<String>>) -> Self {
        text.map_or(Cell::Absent, |text| Cell::Text(text.into()))
    }

    fn shown(&self) -> String {
        match self {
            Cell::Absent => ABSENT.into(),
            Cell::Text(text) => printable(text),
            Cell::Number(_, shown) | Cell::Said(_, shown) => shown.clone(),
            Cell::Flag(_, shown) => (*shown).into(),
            Cell::Words(words) => printable(&words.join(" ")),
        }
    }

    fn raw(&self) -> String {
        match self {
            Cell::Absent => String::new(),
            Cell::Text(text) => text.clone(),
            Cell::Said(word, _) => (*word).into(),
            Cell::Number(value, _) => value.to_string(),
            Cell::Flag(value, _) => value.to_string(),
            Cell::Words(words) => words.join(" "),
        }
    }

    fn json(&self) -> Option<Value> {
        match self {
            Cell::Absent => None,
            Cell::Text(text) => Some(json!(text)),
            Cell::Said(word, _) => (!word.is_empty()).then(|| json!(word)),
            // Whole numbers without .0, as far as an f64 has each of them.
            Cell::Number(value, _) if value.fract() == 0.0 && value.abs() < 2f64.powi(53) => {
                Some(json!(*value as i64))
            }
            Cell::Number(value, _) => Some(json!(value)),
            Cell::Flag(value, _) => Some(json!(value)),
            Cell::Words(words) => Some(json!(words)),
        }
    }
}

impl Table {
    /// A table of these columns, without a row.
    pub fn new(columns: &'static [Column]) -> Self {
        Table { columns, rows: Vec::new() }
    }

    /// Adds a row.
    ///
    /// # Panics
    /// If it has not one cell for each column.
    pub fn add(&mut self, row: Vec<Cell>) {
        assert_eq!(row.len(), self.columns.len(), "a cell for each column");
        self.rows.push(row);
    }

    /// The table in one format, ending in a newline; as text, nothing for a table without rows.
    pub fn render(&self, format: TableFormat) -> String {
        match format {
            TableFormat::Text => self.text(),
            TableFormat::Markdown => self.markdown(),
            TableFormat::Csv => self.csv(),
            TableFormat::Json => {
                format!("{:#}\n", self.objects())
            }
        }
    }

    /// An object for each row, as JSON has it.
    pub(crate) fn objects(&self) -> Value {
        Value::Array(self.rows.iter().map(|row| self.object(row)).collect())
    }

    /// The columns and cells of a row for programs.
    fn read<'a>(&'a self, row: &'a [Cell]) -> impl Iterator<Item = (&'a Column, &'a Cell)> {
        self.columns.iter().zip(row).filter(|(column, _)| column.is_read())
    }

    /// A row as JSON has it.
    fn object(&self, row: &[Cell]) -> Value {
        let fields = self.read(row).filter_map(|(column, cell)| Some((column.key.into(), cell.json()?)));
        Value::Object(fields.collect::<Map<_, _>>())
    }

    /// The table as text of at most `width` columns: if it is wider, without the columns that say nothing,
    /// and of those with these titles with as many as fit, the first first.
    pub fn text_within(&self, width: usize, optional: &[&str]) -> String {
        let fits = |text: &str| text.lines().all(|line| line.chars().count() <= width);
        let whole = self.text();
        if fits(&whole) {
            return whole;
        }
        let titles: Vec<&str> = self.titles().collect();
        let says = |column: &usize| self.shown().any(|row| !matches!(&*row[*column], "" | ABSENT));
        let (mut chosen, others): (Vec<usize>, Vec<usize>) =
            (0..titles.len()).filter(says).partition(|&column| !optional.contains(&titles[column]));
        for title in optional {
            let Some(&column) = others.iter().find(|&&column| titles[column] == *title) else { continue };
            // In their place: what fits is chosen by importance, and shown in the order of the table.
            let at = chosen.partition_point(|&other| other < column);
            chosen.insert(at, column);
            if !fits(&self.text_of(&chosen)) {
                chosen.remove(at);
            }
        }
        self.text_of(&chosen)
    }

    fn text(&self) -> String {
        self.text_of(&(0..self.titles().count()).collect::<Vec<_>>())
    }

    /// The text of these of the columns for people.
    fn text_of(&self, chosen: &[usize]) -> String {
        if self.rows.is_empty() {
            return String::new();
        }
        let of = |line: &Vec<String>| chosen.iter().map(|&column| line[column].clone()).collect();
        let lines: Vec<Vec<String>> = self.lines().iter().map(of).collect();
        let is_right = self.is_right();
        columns::aligned(&lines, |column| is_right(chosen[column]))
    }

    /// Returns whether what people read in a column ends at the right.
    fn is_right(&self) -> impl Fn(usize) -> bool {
        let seen: Vec<Column> = self.columns.iter().copied().filter(Column::is_seen).collect();
        move |column| seen[column].is_right
    }

    /// The lines for people, the titles first.
    fn lines(&self) -> Vec<Vec<String>> {
        let titles = self.titles().map(str::to_owned).collect();
        [titles].into_iter().chain(self.shown()).collect()
    }

    /// The titles of the columns, for people.
    pub(crate) fn titles(&self) -> impl Iterator<Item = &'static str> {
        self.columns.iter().filter(|column| column.is_seen()).map(|column| column.title)
    }

    /// The cells of each row, for people.
    pub(crate) fn shown(&self) -> impl Iterator<Item = Vec<String>> + '_ {
        let shown = |row: &Vec<Cell>| {
            let seen = self.columns.iter().zip(row).filter(|(column, _)| column.is_seen());
            seen.map(|(_, cell)| cell.shown()).collect()
        };
        self.rows.iter().map(shown)
    }

    fn markdown(&self) -> String {
        columns::markdown(&self.lines(), self.is_right())
    }

    fn csv(&self) -> String {
        let header: Vec<String> =
            self.columns.iter().filter(|column| column.is_read()).map(|column| column.key.into()).collect();
        let rows = self.rows.iter().map(|row| self.read(row).map(|(_, cell)| cell.raw()).collect::<Vec<_>>());
        csv::text([header].into_iter().chain(rows))
    }
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;

    fn table() -> Table {
        const COLUMNS: &[Column] = &[
            Column::left("target", "target"),
            Column::right("p99", "p99_ms"),
            Column::left("trusted", "trusted"),
            Column::unseen("is_last"),
            Column::drawn("bar"),
            Column::left("tags", "tags"),
        ];
        let mut table = Table::new(COLUMNS);
        table.add(vec![
            Cell::Text("a | b, \"c\"\u{1b}[31m".into()),
            Cell::Number(1.5, "1.50ms".into()),
            Cell::Flag(false, "no"),
            Cell::Flag(false, ""),
            Cell::Text("--".into()),
            Cell::Words(vec!["x".into(), "y".into()]),
        ]);
        table.add(vec![
            Cell::Text("plain".into()),
            Cell::Absent,
            Cell::Flag(true, "yes"),
            Cell::Flag(true, ""),
            Cell::Text(String::new()),
            Cell::Words(Vec::new()),
        ]);
        table
    }

    #[test]
    fn people_read_columns() {
        assert_snapshot!(table().render(TableFormat::Text), @r#"
        target              p99  trusted  bar  tags
        a | b, "c"·[31m  1.50ms  no       --   x y
        plain                 –  yes
        "#);
        assert_snapshot!(table().render(TableFormat::Markdown), @r#"
        | target | p99 | trusted | bar | tags |
        |---|---:|---|---|---|
        | a \| b, "c"·[31m | 1.50ms | no | -- | x y |
        | plain | – | yes |  |  |
        "#);
    }

    #[test]
    fn wide_text_has_the_columns_that_fit() {
        let head = |width| {
            let text = table().text_within(width, &["bar", "p99"]);
            text.lines().next().unwrap().split_whitespace().map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(head(43), ["target", "p99", "trusted", "bar", "tags"]);
        assert_eq!(head(42), ["target", "trusted", "bar", "tags"]);
        assert_eq!(head(30), ["target", "trusted", "tags"]);
        assert_eq!(head(1), ["target", "trusted", "tags"]);
        const COLUMNS: &[Column] = &[Column::left("a", "a"), Column::left("empty", "empty")];
        let mut table = Table::new(COLUMNS);
        table.add(vec![Cell::Text("b".into()), Cell::Absent]);
        assert_eq!(table.text_within(2, &[]), "a\nb\n");
    }

    #[test]
    fn programs_read_values() {
        assert_snapshot!(table().render(TableFormat::Csv), @r#"
        target,p99_ms,trusted,is_last,tags
        "a | b, ""c""[31m",1.5,false,false,x y
        plain,,true,true,
        "#);
        assert_snapshot!(table().render(TableFormat::Json), @r#"
        [
          {
            "is_last": false,
            "p99_ms": 1.5,
            "tags": [
              "x",
              "y"
            ],
            "target": "a | b, \"c\"\u001b[31m",
            "trusted": false
          },
          {
            "is_last": true,
            "tags": [],
            "target": "plain",
            "trusted": true
          }
        ]
        "#);
    }

    #[test]
    fn a_table_without_rows_keeps_its_shape() {
        const COLUMNS: &[Column] = &[Column::left("target", "target")];
        let empty = Table::new(COLUMNS);
        assert_eq!(empty.render(TableFormat::Text), "");
        assert_eq!(empty.render(TableFormat::Csv), "target\r\n");
        assert_eq!(empty.render(TableFormat::Json), "[]\n");
    }
}
