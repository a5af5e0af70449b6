//! Why the store could not do something, in words for the user.

use std::io;
use std::path::PathBuf;

use results::file::FileError;
use rusqlite::ErrorCode;
use thiserror::Error;

/// Why the store could not do something.
#[derive(Debug, Error)]
pub enum StoreError {
    /// Its directory cannot be made.
    #[error("could not make the directory {}: {error}", path.display())]
    Directory {
        /// The directory.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
    /// The file is something else, or broken. It is left as it is.
    #[error(
        "{} is not a store of throng, or is damaged ({why}); throng leaves it unchanged: move it away, or pass --store with another path",
        path.display()
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The fault.
        why: String,
    },
    /// Written by a newer throng. It is left as it is.
    #[error(
        "{} has schema {found}; this throng knows up to {known}: use a newer throng, or pass --store with another path",
        path.display()
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its schema.
        found: u32,
        /// The newest schema that this version reads.
        known: u32,
    },
    /// Kept by a throng from before the first release. It is left as it is.
    #[error(
        "{} was kept by a throng from before 0.1.0, which this one does not read: move it away, or pass --store with another path",
        .0.display()
    )]
    Unreleased(PathBuf),
    /// There is no such store to read.
    #[error("there is no store at {} yet; the first run that is kept makes it", .0.display())]
    Absent(PathBuf),
    /// No run is meant.
    #[error("there is no run {reference:?}{}", suggestion(near, list))]
    NoRun {
        /// The text that was to name a run.
        reference: String,
        /// Ids that look like it, the newest first.
        near: Vec<String>,
        /// The command that lists the runs there are.
        list: String,
    },
    /// Several runs are meant.
    #[error("{reference:?} means several runs: {}; give the id of one", ids.join(", "))]
    Ambiguous {
        /// The text that was to name a run.
        reference: String,
        /// Some of those it could be.
        ids: Vec<String>,
    },
    /// A kept results file does not read.
    #[error("run {id}: {error}")]
    Results {
        /// The run.
        id: String,
        /// The fault.
        error: FileError,
    },
    /// SQLite could not: a full disk, no permission, another process that holds it for too long.
    #[error("{}: {error}{}", path.display(), advice(error))]
    Sqlite {
        /// The file.
        path: PathBuf,
        /// SQLite's error.
        error: rusqlite::Error,
    },
}

fn suggestion(ids: &[String], list: &str) -> String {
    match ids {
        [] => format!("; {list} shows those there are"),
        ids => format!("; did you mean {}?", ids.join(" or ")),
    }
}

/// Remedy of an error of SQLite, if one is known.
fn advice(error: &rusqlite::Error) -> &'static str {
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy) => "; another process holds it: try again when that has ended",
        _ => "",
    }
}

/// Why an event log cannot be written or read.
#[derive(Debug, Error)]
pub enum EventsError {
    /// The system says so.
    #[error("{}: {error}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's error.
        error: std::io::Error,
    },
    /// Parquet without its end, or damaged.
    #[error(
        "{} is not a complete Parquet file ({why}): its run is still under way or was killed, or the file was cut short later",
        path.display()
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The fault.
        why: String,
    },
    /// No Parquet, or no event log that this version knows.
    #[error("{} is not an event log that this version of throng can read: {why}", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// The part it lacks.
        why: String,
    },
}
