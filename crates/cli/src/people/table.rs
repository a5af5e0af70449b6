//! The rows that clients take in turn: a CSV file (RFC 4180) with the columns' names in its first line.

use std::collections::HashSet;
use std::path::Path;

use app::template::Table;
use results::format::counted;

use crate::exit::Failure;
use crate::inputs;

/// A data file above this is refused: every process of a run holds it.
const FILE_BYTES_MAX: u64 = 256 << 20;

/// The columns' names, and the rows.
#[derive(Debug)]
pub(crate) struct Columns {
    pub(crate) columns: Vec<String>,
    pub(crate) rows: Table,
}

/// Reads the file that a flag names.
pub(crate) fn read(flag: &str, path: &Path) -> Result<Columns, Failure> {
    let wrong = |problem: String| Failure::usage(flag, format!("{}: {problem}", path.display()));
    let bytes =
        inputs::read(path, FILE_BYTES_MAX).map_err(|error| wrong(format!("cannot be read: {error}")))?;
    parse(&bytes).map_err(wrong)
}

fn parse(bytes: &[u8]) -> Result<Columns, String> {
    // Spreadsheets write the byte order mark, which would be a part of the first column's name.
    let bytes = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes);
    let mut reader = csv::Reader::from_reader(bytes);
    let header = reader.headers().map_err(|error| problem(&error))?.clone();
    let columns: Vec<String> = header.iter().map(str::to_owned).collect();
    if columns.is_empty() {
        return Err("is empty: the first line has the names of the columns".to_owned());
    }
    let width = u16::try_from(columns.len()).map_err(|_| "line 1: more than 65,535 columns".to_owned())?;
    let mut known = HashSet::new();
    for name in &columns {
        if name.is_empty() || name.contains(['{', '}', '"']) {
            return Err(format!("line 1: {name:?} is no name for a column"));
        }
        if !known.insert(name) {
            return Err(format!("line 1: the column {name:?} is there twice"));
        }
    }
    let mut rows = Table::new(width);
    for record in reader.records() {
        let record = record.map_err(|error| problem(&error))?;
        let cells: Vec<&str> = record.iter().collect();
        if !rows.push(cells.into_iter()) {
            return Err("more than 4 GiB of cells".to_owned());
        }
    }
    if rows.rows() == 0 {
        return Err("has no rows below its first line".to_owned());
    }
    Ok(Columns { columns, rows })
}

fn problem(error: &csv::Error) -> String {
    let line = error.position().map_or(1, csv::Position::line);
    match error.kind() {
        csv::ErrorKind::UnequalLengths { expected_len, len, .. } => {
            format!("line {line}: {}, and the first line has {expected_len}", counted(*len, "cell"))
        }
        csv::ErrorKind::Utf8 { .. } => format!("line {line}: not UTF-8"),
        _ => format!("line {line}: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bad(bytes: &[u8]) -> String {
        parse(bytes).expect_err("an error")
    }

    #[test]
    fn quotes_and_line_breaks_are_understood() {
        let data = parse("\u{feff}user,pass\r\nann,\"a\"\"b\nc\"\r\n".as_bytes()).unwrap();
        assert_eq!(data.columns, ["user", "pass"]);
        let mut expected = Table::new(2);
        assert!(expected.push(["ann", "a\"b\nc"].into_iter()));
        assert!(data.rows == expected);
    }

    #[test]
    fn mistakes_are_named_with_their_line() {
        for (bytes, place, named) in [
            (&b""[..], "", "empty"),
            (b"user\n", "", ""),
            (b"a,b\n1,2\n3\n", "line 3: 1 ", " 2"),
            (b"a,b\n1,\xff\n", "line 2: ", "UTF-8"),
            (b"a,a\n1,2\n", "line 1: ", "\"a\""),
            (b"a,\n1,2\n", "line 1: ", "\"\""),
        ] {
            let problem = bad(bytes);
            assert!(problem.starts_with(place) && problem.contains(named), "{bytes:?}: {problem}");
        }
    }

    #[test]
    fn columns_have_numbers_of_16_bits() {
        let of = |columns: usize| {
            let header: Vec<String> = (0..columns).map(|column| column.to_string()).collect();
            format!("{0}\n{0}\n", header.join(","))
        };
        let problem = bad(of(200_000).as_bytes());
        assert!(problem.starts_with("line 1: ") && problem.contains("65,535"), "{problem}");
        assert_eq!(parse(of(65_535).as_bytes()).unwrap().columns.len(), 65_535);
    }
}
