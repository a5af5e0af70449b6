//! Finished shootouts, printed again in short.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::path::Path;

use results::format::printable_lines;
use suite::recap::{self, Finished};
use suite::{Record, section};

use super::kept::{as_json, could_not_read, kept_suite};
use crate::exit::Failure;
use crate::stderr;
use crate::terminal;
use crate::verbs::targets::rows::Format;

/// The newest shootout of each suite in a folder, in the order of the suites' names.
pub(super) fn tables(folder: &Path, format: Format) -> Result<String, Failure> {
    let mut newest: BTreeMap<String, Record> = BTreeMap::new();
    for found in Record::find(folder) {
        let Some(record) = readable(found.and_then(|found| Record::open(&found))) else { continue };
        let suite = record.head.suite.clone();
        if newest.get(&suite).is_none_or(|known| known.head.started < record.head.started) {
            newest.insert(suite, record);
        }
    }
    let finished: Vec<_> = newest.into_values().filter_map(|record| readable(finished(record))).collect();
    if finished.is_empty() {
        return Err(refused_empty(folder));
    }
    Ok(match format {
        Format::Text => terminal::in_letters(recap::text(&finished)),
        Format::Md => {
            let folder = folder.display().to_string();
            let words = ["throng", "shootout", "--recap", &folder, "--format", "md"].map(str::to_owned);
            printable_lines(&recap::markdown(&finished, &results::command_line(&words)))
        }
        Format::Json => {
            let all: Vec<_> = finished.iter().map(|one| as_json(&one.record, &one.sections)).collect();
            serde_json::to_string_pretty(&all).expect("plain data") + "\n"
        }
    })
}

/// Keeps what can be read and reports the rest, so that one error does not hide the others.
fn readable<T>(read: Result<T, impl Display>) -> Option<T> {
    read.inspect_err(|error| stderr::line(format_args!("throng: left out: {error}"))).ok()
}

/// Summarises a shootout.
pub(super) fn finished(record: Record) -> Result<Finished, Failure> {
    let head = &record.head;
    let suite = kept_suite(head)?;
    let sections = section::sections(&suite, &record).map_err(could_not_read)?;
    Ok(Finished { suite, record, sections })
}

fn refused_empty(folder: &Path) -> Failure {
    let problem =
        format!("there is no shootout in {}: throng shootout --out makes such folders", folder.display());
    Failure::usage("--recap", problem)
}
