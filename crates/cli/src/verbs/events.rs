//! `throng events`: an event log as CSV or JSON lines.

use std::io::{self, BufWriter, Write};
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use engine::events::Kind;
use serde_json::{Map, Value};
use store::events::{EventRow, EventsError};

use crate::exit::{Exit, Failure};
use crate::output;

/// Print an event log (--events) as CSV or JSON lines
///
/// `throng docs events` explains the columns, and how to read the file directly in DuckDB, pandas and R.
#[derive(Args)]
pub(crate) struct Events {
    /// The log, a Parquet file
    file: PathBuf,
    /// Format of the output
    #[arg(long, value_enum, default_value_t = To::Csv)]
    to: To,
    /// Only events of these kinds, e.g. send,receive
    #[arg(long, value_name = "KINDS", value_delimiter = ',', value_parser = kind)]
    kind: Vec<Kind>,
    /// Only events of these clients, numbered from 0
    #[arg(long, value_name = "N", value_delimiter = ',')]
    client: Vec<i32>,
    /// Only events of this step, numbered from 1
    #[arg(long, value_name = "N")]
    step: Option<i32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum To {
    /// Comma-separated values, with a header
    Csv,
    /// One object per line; what does not apply is left out
    Json,
}

const COLUMNS: [&str; 9] =
    ["time_ns", "kind", "step", "client", "sender", "message", "latency_ns", "bytes", "detail"];

impl Events {
    /// Runs it.
    pub(crate) fn run(self) -> Result<Exit, Failure> {
        output::check_open()?;
        let mut out = BufWriter::with_capacity(1 << 16, io::stdout().lock());
        // The header waits until there is a log: what cannot be read has no columns.
        let mut head = Some(COLUMNS.join(",") + "\n").filter(|_| self.to == To::Csv);
        let mut outcome = Ok(());
        let read = store::events::read(&self.file, |row| {
            outcome = out.write_all(head.take().unwrap_or_default().as_bytes());
            if outcome.is_ok() && self.is_wanted(&row) {
                outcome = self.print(&mut out, &row);
            }
            // The reader is gone: so the rest of the log is not read either.
            outcome.is_ok()
        });
        read.map_err(|error| match error {
            EventsError::Io { .. } => Failure::could_not("read_events", "read the event log", error),
            EventsError::Damaged { .. } | EventsError::Foreign { .. } => Failure::usage("FILE", error),
        })?;
        let outcome = outcome.and_then(|()| out.write_all(head.unwrap_or_default().as_bytes()));
        output::finish(outcome.and_then(|()| out.flush()))
    }

    fn is_wanted(&self, row: &EventRow) -> bool {
        let kinds = &self.kind;
        (kinds.is_empty() || kinds.iter().any(|kind| kind.name() == row.kind))
            && (self.client.is_empty() || self.client.contains(&row.client))
            && self.step.is_none_or(|step| row.step == Some(step))
    }

    fn print(&self, out: &mut impl Write, row: &EventRow) -> io::Result<()> {
        let cells = cells(row);
        match self.to {
            To::Csv => {
                let text = |cell: Value| match cell {
                    Value::Null => String::new(),
                    // RFC 4180, section 2: the text of an error may be anything.
                    Value::String(text) if text.contains([',', '"', '\n', '\r']) => {
                        format!("\"{}\"", text.replace('"', "\"\""))
                    }
                    Value::String(text) => text,
                    other => other.to_string(),
                };
                writeln!(out, "{}", cells.map(text).join(","))
            }
            To::Json => {
                let known = COLUMNS.iter().zip(cells).filter(|(_, cell)| !cell.is_null());
                let object: Map<String, Value> =
                    known.map(|(name, cell)| ((*name).to_owned(), cell)).collect();
                writeln!(out, "{}", Value::Object(object))
            }
        }
    }
}

fn cells(row: &EventRow) -> [Value; 9] {
    [
        row.time_ns.into(),
        row.kind.as_str().into(),
        row.step.into(),
        row.client.into(),
        row.sender.into(),
        row.message.into(),
        row.latency_ns.into(),
        row.bytes.into(),
        row.detail.as_deref().into(),
    ]
}

fn kind(text: &str) -> Result<Kind, String> {
    let known = Kind::ALL.map(Kind::name).join(", ");
    Kind::ALL.into_iter().find(|kind| kind.name() == text).ok_or(format!("expected one of {known}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_breaks_stay_in_their_cell() {
        let (kind, client) = (Vec::new(), Vec::new());
        let events = Events { file: PathBuf::new(), to: To::Csv, kind, client, step: None };
        let row = EventRow {
            time_ns: 1,
            kind: "a,b".into(),
            step: None,
            client: 2,
            sender: None,
            message: None,
            latency_ns: None,
            bytes: None,
            detail: Some("\"c\"\r\nd".into()),
        };
        let mut out = Vec::new();
        events.print(&mut out, &row).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "1,\"a,b\",,2,,,,,\"\"\"c\"\"\r\nd\"\n");
    }
}
