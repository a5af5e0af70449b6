//! The event log: one Parquet file with a row for each event of a run (docs/EVENTS.md).
//!
//! An [`EventLog`] is a thread that takes [`Batch`](engine::events::Batch)es from a bounded queue and writes them. What
//! does not fit into the queue, and what comes after the disk is full, is counted as lost; nobody waits for the log.

mod columns;
mod log;
mod read;
mod write;

pub use log::{EventLog, Totals};
pub use read::{EventRow, read};
pub use write::Header;

use std::path::PathBuf;

use thiserror::Error;

/// Why an event log cannot be written or read.
#[derive(Debug, Error)]
pub enum EventsError {
    /// The system says so.
    #[error("{}: {error}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        error: std::io::Error,
    },
    /// Not Parquet, cut short, or damaged.
    #[error(
        "{} is no whole Parquet file ({why}): the run that wrote it was killed, or the file was cut short on its way",
        path.display()
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// Parquet, but no event log that this version knows.
    #[error("{} is no event log of this version of throng: {why}", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// What it lacks.
        why: String,
    },
}
