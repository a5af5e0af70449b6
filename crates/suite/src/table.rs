//! A table for people: aligned columns, or Markdown.

use std::ops::Range;

use results::columns;

/// Rows under a head, every row as long as the head.
#[derive(Clone, Debug)]
pub struct Table {
    /// The head, and what is below it.
    rows: Vec<Vec<String>>,
    /// The columns of figures, which are set flush right; the others are text.
    figures: Range<usize>,
}

impl Table {
    /// A table with these columns, of which `figures` are set flush right.
    pub fn new(head: &[&str], figures: Range<usize>) -> Table {
        Table { rows: vec![head.iter().map(|name| (*name).to_owned()).collect()], figures }
    }

    /// Adds a row.
    ///
    /// # Panics
    /// If it is not as long as the head.
    pub fn row(&mut self, cells: Vec<String>) {
        assert_eq!(cells.len(), self.rows[0].len(), "a row of another table");
        self.rows.push(cells);
    }

    /// The names of the columns.
    pub fn head(&self) -> &[String] {
        &self.rows[0]
    }

    /// The rows below the head.
    pub fn body(&self) -> &[Vec<String>] {
        &self.rows[1..]
    }

    /// Aligned columns, two spaces apart.
    pub fn text(&self) -> String {
        columns::aligned(&self.rows, |column| self.figures.contains(&column))
    }

    /// A table of GitHub's Markdown.
    pub fn markdown(&self) -> String {
        columns::markdown(&self.rows, |column| self.figures.contains(&column))
    }
}
