//! A table for people: aligned columns, or Markdown.

use std::ops::Range;

/// Rows under a head, every row as long as the head.
#[derive(Clone, Debug, Default)]
pub struct Table {
    head: Vec<String>,
    rows: Vec<Vec<String>>,
    /// The columns of figures, which are set flush right; the others are text.
    figures: Range<usize>,
}

impl Table {
    /// A table with these columns, of which `figures` are set flush right.
    pub fn new(head: &[&str], figures: Range<usize>) -> Table {
        Table { head: head.iter().map(|name| (*name).to_owned()).collect(), rows: Vec::new(), figures }
    }

    /// Adds a row.
    ///
    /// # Panics
    /// If it is not as long as the head.
    pub fn row(&mut self, cells: Vec<String>) {
        assert_eq!(cells.len(), self.head.len(), "a row of another table");
        self.rows.push(cells);
    }

    /// Aligned columns, two spaces apart.
    pub fn text(&self) -> String {
        let width = |column: usize| self.lines().map(|line| line[column].chars().count()).max().unwrap_or(0);
        let widths: Vec<usize> = (0..self.head.len()).map(width).collect();
        let mut text = String::new();
        for line in self.lines() {
            let cells = line.iter().zip(&widths).enumerate().map(|(column, (cell, width))| {
                if self.figures.contains(&column) {
                    format!("{cell:>width$}")
                } else {
                    format!("{cell:<width$}")
                }
            });
            let joined = cells.collect::<Vec<_>>().join("  ");
            text.push_str(joined.trim_end());
            text.push('\n');
        }
        text
    }

    /// A table of GitHub's Markdown.
    pub fn markdown(&self) -> String {
        let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
        let escaped = |cells: &Vec<String>| -> Vec<String> {
            cells.iter().map(|cell| cell.replace('|', "\\|").replace('<', "&lt;")).collect()
        };
        let rules: Vec<String> = (0..self.head.len())
            .map(|column| if self.figures.contains(&column) { "---:" } else { "---" }.to_owned())
            .collect();
        let rows: String = self.rows.iter().map(|row| line(&escaped(row))).collect();
        format!("{}{}{rows}", line(&self.head), line(&rules))
    }

    fn lines(&self) -> impl Iterator<Item = &Vec<String>> {
        [&self.head].into_iter().chain(&self.rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_flush_right_and_markup_is_escaped() {
        let mut table = Table::new(&["target", "p95"], 1..2);
        table.row(vec!["a|b".into(), "9".into()]);
        table.row(vec!["c".into(), "10".into()]);
        assert_eq!(table.text(), "target  p95\na|b       9\nc        10\n");
        assert_eq!(table.markdown(), "| target | p95 |\n| --- | ---: |\n| a\\|b | 9 |\n| c | 10 |\n");
    }
}
