//! Rows of text as columns: aligned for a terminal, or a table of Markdown. The first row is the head.

/// Columns two spaces apart, each as wide as its widest cell; those that `is_right` names are flush right.
pub fn aligned(rows: &[Vec<String>], is_right: impl Fn(usize) -> bool) -> String {
    let columns = rows.first().map_or(0, Vec::len);
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let cell = |(column, (cell, &width)): (usize, (&String, &usize))| {
        if is_right(column) { format!("{cell:>width$}") } else { format!("{cell:<width$}") }
    };
    let mut text = String::new();
    for row in rows {
        let cells: Vec<String> = row.iter().zip(&widths).enumerate().map(cell).collect();
        // Blanks at the end of a line would wrap in a terminal that is just as wide.
        text.push_str(cells.join("  ").trim_end());
        text.push('\n');
    }
    text
}

/// A table of GitHub's Markdown; the columns that `is_right` names are flush right.
pub fn markdown(rows: &[Vec<String>], is_right: impl Fn(usize) -> bool) -> String {
    let line = |row: &Vec<String>| {
        let cells: Vec<String> = row.iter().map(|cell| escape(cell)).collect();
        format!("| {} |\n", cells.join(" | "))
    };
    let Some((head, rows)) = rows.split_first() else { return String::new() };
    let rule = |column| if is_right(column) { "---:|" } else { "---|" };
    let rules: String = (0..head.len()).map(rule).collect();
    format!("{}|{rules}\n{}", line(head), rows.iter().map(line).collect::<String>())
}

/// Text from outside, for Markdown: it must not end a cell, start a tag or break the line.
pub fn escape(text: &str) -> String {
    text.replace('|', "\\|").replace('<', "&lt;").replace(['\n', '\r'], " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows() -> Vec<Vec<String>> {
        [["target", "p95"], ["a|b", "9"], ["c", "10"]].map(|row| row.map(String::from).to_vec()).to_vec()
    }

    #[test]
    fn figures_are_flush_right_and_markup_is_escaped() {
        assert_eq!(aligned(&rows(), |column| column == 1), "target  p95\na|b       9\nc        10\n");
        let markdown = markdown(&rows(), |column| column == 1);
        assert_eq!(markdown, "| target | p95 |\n|---|---:|\n| a\\|b | 9 |\n| c | 10 |\n");
        assert_eq!(escape("a|b<script>\nc"), "a\\|b&lt;script> c");
    }

    #[test]
    fn nothing_is_no_table() {
        assert_eq!((aligned(&[], |_| true), markdown(&[], |_| true)), (String::new(), String::new()));
    }
}
