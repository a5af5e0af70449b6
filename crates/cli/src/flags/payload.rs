//! Payloads, as users say it: a size, sizes from one to another, or the rows of a CSV file.

use std::path::Path;

use results::units;

use crate::exit::Failure;
use crate::inputs;

/// Every worker of a run holds the rows.
const DATA_BYTES_MAX: u64 = 16 << 20;

/// A size, or sizes up to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sizes {
    pub(crate) min: u32,
    pub(crate) max: Option<u32>,
}

/// `SIZE` or `SIZE..SIZE`.
pub(crate) fn sizes(text: &str) -> Result<Sizes, String> {
    let size = |text: &str| {
        let bytes =
            units::bytes(text).map_err(|error| format!("{error}, or a range of them such as 100..4KiB"))?;
        u32::try_from(bytes).map_err(|_| "at most 4 GiB".to_owned())
    };
    let Some((min, max)) = text.split_once("..") else {
        return Ok(Sizes { min: size(text)?, max: None });
    };
    let (min, max) = (size(min)?, size(max)?);
    if min > max {
        return Err(format!("from {min} to {max} bytes is not a range: write the smaller size first"));
    }
    Ok(Sizes { min, max: Some(max) })
}

/// The rows of a CSV file (RFC 4180) with the columns' names in its first line: a JSON object each.
pub(crate) fn rows(path: &Path) -> Result<Vec<String>, Failure> {
    let wrong = |problem: String| Failure::usage("--payload-rows", format!("{}: {problem}", path.display()));
    let bytes =
        inputs::read(path, DATA_BYTES_MAX).map_err(|error| wrong(format!("cannot be read: {error}")))?;
    objects(&bytes).map_err(wrong)
}

fn objects(bytes: &[u8]) -> Result<Vec<String>, String> {
    let mut reader = csv::Reader::from_reader(bytes);
    let names = reader.headers().map_err(|error| error.to_string())?.clone();
    // All cells are strings: a spreadsheet does not say which numbers are numbers.
    let quoted = |text: &str| serde_json::to_string(text).expect("a string is JSON");
    let object = |record: csv::StringRecord| {
        let fields =
            names.iter().zip(&record).map(|(name, cell)| format!("{}:{}", quoted(name), quoted(cell)));
        format!("{{{}}}", fields.collect::<Vec<_>>().join(","))
    };
    let rows: Vec<String> = reader
        .records()
        .map(|record| record.map(object).map_err(|error| error.to_string()))
        .collect::<Result<_, _>>()?;
    if rows.is_empty() {
        return Err("has no rows below its first line, which has the names of the columns".into());
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_ranges() {
        assert_eq!(sizes("200"), Ok(Sizes { min: 200, max: None }));
        assert_eq!(sizes("100..4KiB"), Ok(Sizes { min: 100, max: Some(4096) }));
        for (text, named) in
            [("4KiB..100", "smaller size first"), ("big", "100..4KiB"), ("5GiB", "at most 4 GiB")]
        {
            let problem = sizes(text).unwrap_err();
            assert!(problem.contains(named), "{text}: {problem}");
        }
    }

    #[test]
    fn rows_are_objects() {
        let rows = objects(b"user,text\nann,hello\nbob,\"say \"\"hi\"\", all\"\n").unwrap();
        assert_eq!(rows, [r#"{"user":"ann","text":"hello"}"#, r#"{"user":"bob","text":"say \"hi\", all"}"#]);
        assert!(objects(b"user,text\n").unwrap_err().contains("no rows"));
        assert!(objects(b"user,text\nann\n").unwrap_err().contains("line: 2"));
    }
}
