//! The store: one SQLite file.

use std::env;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use net::private;
use results::Run;
use results::file::Frame;
use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension, Transaction, TransactionBehavior};

use crate::entry::{self, Entry, Query};
use crate::error::StoreError;
use crate::rows;
use crate::schema::{self, Found, MIGRATIONS};

/// How long another process may hold the store before we give up.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);
/// Ids named in an error message.
const IDS_NAMED_MAX: usize = 3;

/// Runs that are kept. See the crate's documentation.
#[derive(Debug)]
pub struct Store {
    path: PathBuf,
    /// Device and inode of the file that is open.
    file: Option<(u64, u64)>,
    connection: Connection,
}

/// throng's folder of the user's data: `$XDG_DATA_HOME/throng`, or in `~/.local/share` (XDG Base Directory
/// Specification, by which an empty variable or a relative path is as good as none). `None` when neither variable holds
/// an absolute path.
pub fn data_dir() -> Option<PathBuf> {
    let dir = |name: &str| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let data = dir("XDG_DATA_HOME").or_else(|| Some(dir("HOME")?.join(".local/share")))?;
    Some(data.join("throng"))
}

/// The default path of the store: `runs.db` in [`data_dir`].
pub fn default_path() -> Option<PathBuf> {
    Some(data_dir()?.join("runs.db"))
}

/// The command of `throng runs` that does this in the store at `path`; `None`: in the default one.
pub fn command(path: Option<&Path>, words: &[&str]) -> String {
    let mut command: Vec<String> =
        ["throng", "runs"].iter().chain(words).map(|&word| word.to_owned()).collect();
    if let Some(path) = path.filter(|&path| default_path().as_deref() != Some(path)) {
        command.extend(["--store".to_owned(), path.display().to_string()]);
    }
    results::command_line(&command)
}

/// Takes the store, what SQLite keeps beside it, and the folder where throng keeps it if nobody has named a place, from
/// all other users: a copy or a restored backup may be readable by all.
fn keep_to_the_user(path: &Path) {
    for beside in ["", "-wal", "-shm"] {
        let mut name = path.as_os_str().to_owned();
        name.push(beside);
        private::tighten(Path::new(&name));
    }
    if let Some(directory) = data_dir().filter(|directory| path.parent() == Some(directory)) {
        private::tighten(&directory);
    }
}

/// Opening a pipe would wait for somebody who writes to it, and a device keeps nothing.
fn check_kind(path: &Path) -> Result<(), StoreError> {
    match fs::metadata(path) {
        Ok(metadata) if !metadata.is_file() => {
            Err(StoreError::Damaged { path: path.into(), why: "it is not a regular file".into() })
        }
        _ => Ok(()),
    }
}

/// Returns whether a file has the newest schema.
///
/// # Errors
/// It is something else, of a newer schema, or from before the first release.
fn has_newest_schema(path: &Path, found: Found) -> Result<bool, StoreError> {
    let known = MIGRATIONS.len() as u32;
    match found {
        Found::Foreign => {
            Err(StoreError::Damaged { path: path.into(), why: "a database of another program".into() })
        }
        Found::Unreleased => Err(StoreError::Unreleased(path.into())),
        Found::Ours(found) if found > known => Err(StoreError::Newer { path: path.into(), found, known }),
        Found::Ours(found) => Ok(found == known),
        Found::Empty => Ok(false),
    }
}

fn identity(path: &Path) -> Option<(u64, u64)> {
    fs::metadata(path).ok().map(|metadata| (metadata.dev(), metadata.ino()))
}

impl Store {
    /// Opens the store at `path`, which is made, directory included, if it is not there.
    ///
    /// # Errors
    /// The directory or the file cannot be made or opened; the file is something else, damaged, of a newer schema, or
    /// from before the first release: it is left as it is.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        if let Some(directory) = path.parent().filter(|directory| !directory.as_os_str().is_empty()) {
            private::make_dir(directory)
                .map_err(|error| StoreError::Directory { path: directory.into(), error })?;
        }
        check_kind(path)?;
        // SQLite would make it readable by all users. If it cannot be made, SQLite explains that better.
        let _ = private::make_file(path);
        Self::open_with(path, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE)
    }

    /// Opens the store at `path` if it is there.
    ///
    /// # Errors
    /// As [`Store::open`], and [`StoreError::Absent`].
    pub fn open_existing(path: &Path) -> Result<Self, StoreError> {
        if !path.exists() {
            return Err(StoreError::Absent(path.into()));
        }
        check_kind(path)?;
        Self::open_with(path, OpenFlags::SQLITE_OPEN_READ_WRITE)
    }

    fn open_with(path: &Path, flags: OpenFlags) -> Result<Self, StoreError> {
        let wrong = |error| wrong(path, error);
        let mut connection =
            // A connection is used by one thread at a time, as its type already says.
            Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX).map_err(wrong)?;
        // Another throng may be about to write a run; SQLite would fail at once.
        connection.busy_timeout(BUSY_TIMEOUT).map_err(wrong)?;
        let is_current = has_newest_schema(path, schema::look(&connection).map_err(wrong)?)?;
        // Nothing is changed before it is known that the file is ours to change.
        keep_to_the_user(path);
        let set = |connection: &Connection| {
            connection.pragma_update(None, "journal_mode", "WAL")?;
            // With a write-ahead log, NORMAL may lose the last commits in a power cut; a run may have taken
            // hours.
            connection.pragma_update(None, "synchronous", "FULL")?;
            // What is deleted may be a secret that got into a note; SQLite would leave it in free pages.
            connection.pragma_update(None, "secure_delete", true)?;
            connection.pragma_update(None, "foreign_keys", true)
        };
        set(&connection).map_err(wrong)?;
        if !is_current {
            has_newest_schema(path, schema::migrate(&mut connection).map_err(wrong)?)?;
        }
        Ok(Self { path: path.into(), file: identity(path), connection })
    }

    /// Returns whether its path still leads to the file that is open: others may have moved or deleted it.
    pub fn is_in_place(&self) -> bool {
        self.file.is_some() && identity(&self.path) == self.file
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Keeps a run. One of the same id is replaced; its tags stay.
    ///
    /// # Errors
    /// SQLite could not.
    pub fn save(&mut self, run: &Run) -> Result<(), StoreError> {
        self.finish(run, 0)
    }

    /// Keeps a run that goes on. Its first `kept` steps are as they were when it was kept last, and not written again.
    ///
    /// # Errors
    /// SQLite could not.
    pub fn save_so_far(&mut self, run: &Run, kept: usize) -> Result<(), StoreError> {
        self.write(|transaction| {
            let kept = known_steps(transaction, run, kept)?;
            rows::put(transaction, run, kept, &Frame::of(run).around([""; 0]))?;
            rows::put_parts(transaction, run, kept)
        })
    }

    /// Keeps a run that has ended, after [`save_so_far`](Self::save_so_far) has kept the first `kept` of its steps.
    ///
    /// # Errors
    /// SQLite could not.
    pub fn finish(&mut self, run: &Run, kept: usize) -> Result<(), StoreError> {
        self.write(|transaction| {
            let kept = known_steps(transaction, run, kept)?;
            rows::put(transaction, run, kept, &results::file::write(run))?;
            transaction.execute("DELETE FROM parts WHERE run = ?", [&run.id]).map(drop)
        })
    }

    /// The runs that match, the newest first.
    ///
    /// # Errors
    /// SQLite could not.
    pub fn list(&self, query: &Query) -> Result<Vec<Entry>, StoreError> {
        self.ask(|connection| entry::list(connection, query))
    }

    /// The id of the run that is meant: by its id or the beginning of it, by `@N` for the N-th newest, or `last`;
    /// or by a name that no other run has.
    ///
    /// # Errors
    /// [`StoreError::NoRun`] with ids that look like it; [`StoreError::Ambiguous`].
    pub fn find(&self, reference: &str) -> Result<String, StoreError> {
        let position = if reference == "last" { Some("1") } else { reference.strip_prefix('@') };
        if let Some(position) = position {
            let found = position.parse::<u32>().ok().and_then(|n| n.checked_sub(1)).map(|skip| {
                let newest = "SELECT id FROM runs ORDER BY started_ns DESC, id DESC LIMIT 1 OFFSET ?";
                self.ask(|connection| connection.query_row(newest, [skip], |row| row.get(0)).optional())
            });
            return found.transpose()?.flatten().ok_or_else(|| self.no_run(reference, Vec::new()));
        }
        // Nothing is the beginning of everything.
        let mut ids = if reference.is_empty() { Vec::new() } else { self.ids_like(reference)? };
        if ids.is_empty() {
            ids = self.ids_named(reference)?;
        }
        match ids.as_slice() {
            [] => Err(self.no_run(reference, self.near(reference)?)),
            [_] => Ok(ids.remove(0)),
            // A whole id may be the beginning of another.
            _ if ids.iter().any(|id| id == reference) => Ok(reference.into()),
            _ => {
                ids.truncate(IDS_NAMED_MAX);
                Err(StoreError::Ambiguous { reference: reference.into(), ids })
            }
        }
    }

    /// The run with this id, as [`Store::find`] gives it.
    ///
    /// # Errors
    /// There is none; what was kept cannot be read.
    pub fn load(&self, id: &str) -> Result<Run, StoreError> {
        let text = self.results(id)?;
        results::file::read(&text).map_err(|error| StoreError::Results { id: id.into(), error })
    }

    /// The results file of the run with this id, as it was written.
    ///
    /// # Errors
    /// There is none.
    pub fn results(&self, id: &str) -> Result<String, StoreError> {
        let select = "SELECT results FROM runs WHERE id = ?";
        // One moment for both, since the run may be under way.
        let found = self.ask(|connection| {
            let transaction = connection.unchecked_transaction()?;
            let text: Option<String> = transaction.query_row(select, [id], |row| row.get(0)).optional()?;
            Ok((text, parts(&transaction, id)?))
        })?;
        match found {
            (None, _) => Err(self.no_run(id, Vec::new())),
            (Some(text), parts) => Ok(match Frame::parse(&text).filter(|_| !parts.is_empty()) {
                Some(frame) => frame.around(parts),
                None => text,
            }),
        }
    }

    /// The tags of the run with this id, sorted.
    ///
    /// # Errors
    /// SQLite could not.
    pub fn tags(&self, id: &str) -> Result<Vec<String>, StoreError> {
        self.ask(|connection| tags(connection, id))
    }

    /// Adds a tag to the run with this id; one that it has stays.
    ///
    /// # Errors
    /// There is no such run; SQLite could not.
    pub fn tag(&self, id: &str, tag: &str) -> Result<(), StoreError> {
        self.ask(|connection| add_tag(connection, id, tag))
    }

    /// Takes a tag from the run with this id. Returns whether it had it.
    ///
    /// # Errors
    /// SQLite could not.
    pub fn untag(&self, id: &str, tag: &str) -> Result<bool, StoreError> {
        let delete = "DELETE FROM tags WHERE run = ? AND tag = ?";
        self.ask(|connection| connection.execute(delete, [id, tag])).map(|rows| rows > 0)
    }

    /// Deletes the run with this id, with everything that was kept of it. Returns whether it was there.
    ///
    /// # Errors
    /// SQLite could not.
    pub fn delete(&self, id: &str) -> Result<bool, StoreError> {
        let rows = self.ask(|connection| connection.execute("DELETE FROM runs WHERE id = ?", [id]))?;
        // The run is gone: a full disk, or another process that reads, is no reason to say otherwise.
        let _ = self.ask(shrink);
        Ok(rows > 0)
    }

    fn no_run(&self, reference: &str, near: Vec<String>) -> StoreError {
        StoreError::NoRun { reference: reference.into(), near, list: command(Some(&self.path), &["list"]) }
    }

    fn ids_like(&self, prefix: &str) -> Result<Vec<String>, StoreError> {
        self.ids(
            "SELECT id FROM runs WHERE substr(id, 1, length(?1)) = ?1 ORDER BY started_ns DESC, id DESC",
            prefix,
        )
    }

    fn ids_named(&self, name: &str) -> Result<Vec<String>, StoreError> {
        self.ids("SELECT id FROM runs WHERE name = ?1 ORDER BY started_ns DESC, id DESC", name)
    }

    fn ids(&self, select: &str, of: &str) -> Result<Vec<String>, StoreError> {
        self.ask(|connection| {
            let mut statement = connection.prepare_cached(select)?;
            statement.query_map([of], |row| row.get(0))?.collect()
        })
    }

    /// Ids that share the most with what was asked for, the newest first: its beginning, or its random digits.
    fn near(&self, reference: &str) -> Result<Vec<String>, StoreError> {
        let ids = self.ids_like("")?;
        let score = |id: &String| {
            let shared = id.bytes().zip(reference.bytes()).take_while(|(a, b)| a == b).count();
            if !reference.is_empty() && id.contains(reference) { usize::MAX } else { shared }
        };
        // Half of a date is shared by chance.
        let best = ids.iter().map(score).max().filter(|&best| best >= "20261120".len()).unwrap_or(usize::MAX);
        Ok(ids.into_iter().filter(|id| score(id) >= best).take(IDS_NAMED_MAX).collect())
    }

    fn write(
        &mut self,
        write: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<()>,
    ) -> Result<(), StoreError> {
        let done = |connection: &mut Connection| {
            // Locks at once, and waits for that: one that begins by reading fails when it comes to write
            // after somebody else.
            let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            write(&transaction)?;
            transaction.commit()
        };
        done(&mut self.connection).map_err(|error| wrong(&self.path, error))
    }

    fn ask<T>(&self, ask: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T, StoreError> {
        ask(&self.connection).map_err(|error| wrong(&self.path, error))
    }
}

/// How many of the run's steps need not be written: `kept`, if these are all that is there, each with its
/// part, or else none, and there is none.
fn known_steps(transaction: &Transaction<'_>, run: &Run, kept: usize) -> rusqlite::Result<usize> {
    let select = "SELECT (SELECT coalesce(max(step), 0) FROM steps WHERE run = ?1),
         (SELECT count(*) FROM parts WHERE run = ?1)";
    let known: (i64, i64) = transaction.query_row(select, [&run.id], |row| Ok((row.get(0)?, row.get(1)?)))?;
    if known == (kept as i64, kept as i64) {
        return Ok(kept);
    }
    // Somebody else has written this run, or has deleted it: all is written anew.
    transaction.execute("DELETE FROM steps WHERE run = ?", [&run.id])?;
    transaction.execute("DELETE FROM parts WHERE run = ?", [&run.id])?;
    Ok(0)
}

/// Gives back the room of what was deleted: free pages, where they are more than half of the file, and the
/// write-ahead log, in which its text still is.
fn shrink(connection: &Connection) -> rusqlite::Result<()> {
    let is_sparse = 2 * pages(connection, "freelist_count")? > pages(connection, "page_count")?;
    let shrunk = if is_sparse { connection.execute_batch("VACUUM") } else { Ok(()) };
    // Also where there was no room for a smaller file: the log still has the text.
    connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
    shrunk
}

fn pages(connection: &Connection, count: &str) -> rusqlite::Result<i64> {
    connection.pragma_query_value(None, count, |row| row.get(0))
}

/// The text of the steps of a run that has not come to its end.
fn parts(connection: &Connection, id: &str) -> rusqlite::Result<Vec<String>> {
    let mut statement = connection.prepare_cached("SELECT results FROM parts WHERE run = ? ORDER BY step")?;
    statement.query_map([id], |row| row.get(0))?.collect()
}

fn tags(connection: &Connection, id: &str) -> rusqlite::Result<Vec<String>> {
    let mut statement = connection.prepare_cached("SELECT tag FROM tags WHERE run = ? ORDER BY tag")?;
    statement.query_map([id], |row| row.get(0))?.collect()
}

fn add_tag(connection: &Connection, id: &str, tag: &str) -> rusqlite::Result<()> {
    connection.execute("INSERT INTO tags VALUES (?, ?) ON CONFLICT DO NOTHING", [id, tag]).map(drop)
}

/// Wraps SQLite's error, as damage where it is that.
fn wrong(path: &Path, error: rusqlite::Error) -> StoreError {
    match error.sqlite_error_code() {
        Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => {
            StoreError::Damaged { path: path.into(), why: error.to_string() }
        }
        _ => StoreError::Sqlite { path: path.into(), error },
    }
}

#[cfg(test)]
mod tests;
