//! Why the store could not do something, in words for the user.

use std::io;
use std::path::PathBuf;

use results::file::FileError;
use thiserror::Error;

/// Why the store could not do something.
#[derive(Debug, Error)]
pub enum StoreError {
    /// Its directory cannot be made.
    #[error("could not make the directory {}: {error}", path.display())]
    Directory {
        /// The directory.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
    /// The file is something else, or broken. It is left as it is.
    #[error(
        "{} is no store of throng, or damaged ({why}); it is left as it is: move it away, or pass --store with another path",
        path.display()
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
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
    /// There is no such store to read.
    #[error("there is no store at {}; runs are kept there when one has ended", .0.display())]
    Absent(PathBuf),
    /// No run is meant.
    #[error("there is no run {reference:?}{}", suggestion(near))]
    NoRun {
        /// What was asked for.
        reference: String,
        /// Ids that look like it, the newest first.
        near: Vec<String>,
    },
    /// Several runs are meant.
    #[error("{reference:?} is the beginning of several runs: {}; give more of the one you mean", ids.join(", "))]
    Ambiguous {
        /// What was asked for.
        reference: String,
        /// Some of those it could be.
        ids: Vec<String>,
    },
    /// A kept results file does not read.
    #[error("run {id}: {error}")]
    Results {
        /// The run.
        id: String,
        /// What is wrong with it.
        error: FileError,
    },
    /// SQLite could not: a full disk, no permission, another process that holds it for too long.
    #[error("{}: {error}", path.display())]
    Sqlite {
        /// The file.
        path: PathBuf,
        /// What SQLite said.
        error: rusqlite::Error,
    },
}

fn suggestion(ids: &[String]) -> String {
    match ids {
        [] => "; throng runs list shows those there are".into(),
        ids => format!("; did you mean {}?", ids.join(" or ")),
    }
}
