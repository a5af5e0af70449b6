//! A shootout as one page: each target with all its repeats, and what was published of them.

use std::io;
use std::path::PathBuf;

use net::files::{self, Readers};
use report::{Page, Published};
use results::Run;
use suite::record::{Record, RecordError};
use suite::section::Section;

/// Why there is no page.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PageError {
    /// A run cannot be read.
    #[error(transparent)]
    Read(#[from] RecordError),
    /// The page cannot be written.
    #[error(transparent)]
    Write(#[from] io::Error),
}

/// Writes it into the shootout's folder. `None`: nothing was measured.
pub(crate) fn write(record: &Record, sections: &[Section]) -> Result<Option<PathBuf>, PageError> {
    let (mut runs, mut repeats): (Vec<Run>, Vec<Vec<Run>>) = Default::default();
    for section in sections {
        for standing in &section.standings {
            if let Some((run, others)) = report::middle_repeat(record.runs(&section.name, &standing.target)?)
            {
                runs.push(run);
                repeats.push(others);
            }
        }
    }
    if runs.is_empty() {
        return Ok(None);
    }
    let published: Vec<Published> = sections.iter().flat_map(published).collect();
    let path = record.folder().join("report.html");
    files::replace(
        &path,
        &report::html(&Page { runs: &runs, repeats: &repeats, published: &published, home: None }),
        Readers::Owner,
    )?;
    Ok(Some(path))
}

fn published(section: &Section) -> impl Iterator<Item = Published> + '_ {
    section.standings.iter().filter_map(|standing| {
        Some(Published {
            scenario: section.name.clone(),
            target: standing.target.clone(),
            figure: section.figure.name.clone(),
            unit: section.figure.unit(),
            then: *section.then.get(&standing.target)?,
            now: standing.mean,
        })
    })
}
