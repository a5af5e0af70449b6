//! The record of a shootout in its folder, brought up to date after every measurement.
//!
//! ```text
//! shootout.json              what was run where: suite, options, machine, the version of each target
//! cells.jsonl                a line for each measurement, in the order they were made
//! SCENARIO/TARGET-N.json     the results file of round N
//! SCENARIO/TARGET-N.log      what the server said
//! results.jsonl.gz           results files that were packed, in place of the files
//! report.md                  the tables
//! report.html                the page
//! ```

use std::fs::{self, DirEntry, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use net::files::Readers;
use results::Run;
use results::file::BYTES_MAX;
use thiserror::Error;

use crate::archive::Archive;
use crate::layout::{CELLS, HEAD, NOTES, PACKED, TABLES};
use crate::schedule::Cell;
use crate::stage::StageFailure;

mod head;
mod leftovers;
#[cfg(test)]
mod tests;

pub use head::{About, Entry, Generator, Head, LeftOut, PreparedTarget};

/// The version of the folder's form.
pub const SCHEMA: u32 = 1;

/// One measurement as it went, before it is kept.
#[derive(Debug)]
pub struct Outcome {
    /// The command line that measured.
    pub command: Vec<String>,
    /// Its results, or the stage at which it failed.
    pub result: Result<Run, StageFailure>,
    /// See [`Entry::took_s`].
    pub took_s: f64,
    /// See [`Entry::noise_percent`].
    pub noise_percent: Vec<f64>,
}

/// The folder of a shootout.
#[derive(Debug)]
pub struct Record {
    folder: PathBuf,
    packed: Archive,
    /// The head: what was run.
    pub head: Head,
    /// The measurements so far, in the order in which they were made.
    pub entries: Vec<Entry>,
    /// Held by whoever writes to it.
    lock: Option<File>,
}

/// Why a folder cannot be used.
#[derive(Debug, Error)]
pub enum RecordError {
    /// The system refuses.
    #[error("{path}: {error}")]
    Io {
        /// The file or folder.
        path: String,
        /// Its message.
        error: io::Error,
    },
    /// Not what this program writes.
    #[error("{path}: {error}: this is not a folder that throng shootout made")]
    Shape {
        /// The file.
        path: String,
        /// The fault.
        error: serde_json::Error,
    },
    /// Written by a newer throng.
    #[error("{path} has schema {found}; this throng reads {SCHEMA}: use the throng that wrote it, or newer")]
    Newer {
        /// The folder.
        path: String,
        /// The folder's schema.
        found: u32,
    },
    /// A shootout has been there already.
    #[error("{0} already holds a shootout: name another folder, or continue it with --resume")]
    Taken(String),
    /// A shootout is there now.
    #[error("a shootout is under way in {0}: wait for its end, or stop it")]
    Busy(String),
    /// A results file cannot be read.
    #[error("{path}: {error}")]
    Results {
        /// The file.
        path: String,
        /// The fault.
        error: results::file::FileError,
    },
}

/// A folder for a shootout that has not begun; held, so that no other begins there.
#[derive(Debug)]
pub struct Claim {
    folder: PathBuf,
    lock: Option<File>,
    /// True if it was there before. One that was made for nothing goes again.
    was_there: bool,
}

impl Claim {
    /// Makes the folder, which no shootout may have used.
    ///
    /// # Errors
    /// The folder cannot be made or written to, or is taken.
    pub fn make(folder: &Path) -> Result<Claim, RecordError> {
        let was_there = folder.exists();
        net::private::make_dir(folder).map_err(|error| io_error(folder, error))?;
        // Held before it is looked at: two that begin at once must not both find it free.
        let claim = Claim { folder: folder.to_owned(), lock: hold(folder)?, was_there };
        if Record::is_at(folder) {
            return Err(RecordError::Taken(folder.display().to_string()));
        }
        // Found out now: a shootout that cannot be kept would be noticed after its first hour.
        tempfile::tempfile_in(folder).map_err(|error| io_error(folder, error))?;
        Ok(claim)
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        if !self.was_there {
            // Not if there is something in it by now.
            let _ = fs::remove_dir(&self.folder);
        }
    }
}

impl Record {
    /// Begins in that folder.
    ///
    /// # Errors
    /// It cannot be written to.
    pub fn create(mut claim: Claim, head: Head) -> Result<Record, RecordError> {
        let (folder, lock) = (claim.folder.clone(), claim.lock.take());
        write_head(&folder, &head)?;
        net::private::create(&folder.join(CELLS)).map_err(|error| io_error(&folder, error))?;
        Ok(Record { folder, packed: Archive::default(), head, entries: Vec::new(), lock })
    }

    /// Returns whether a folder is one of a shootout.
    pub fn is_at(folder: &Path) -> bool {
        folder.join(HEAD).is_file()
    }

    /// Opens the folder of a shootout, finished or not. A line that was cut off by a crash is left out.
    ///
    /// # Errors
    /// It is no such folder, or a newer throng's.
    pub fn open(folder: &Path) -> Result<Record, RecordError> {
        let path = folder.join(HEAD);
        let head: Head = serde_json::from_str(&text_of(&path)?)
            .map_err(|error| RecordError::Shape { path: path.display().to_string(), error })?;
        if head.schema > SCHEMA {
            return Err(RecordError::Newer { path: folder.display().to_string(), found: head.schema });
        }
        // It is multiplied by: a record may come from anywhere.
        if !(head.scale > 0.0 && head.scale <= 1.0) {
            let error = serde::de::Error::custom("scale: expected above 0, and at most 1");
            return Err(RecordError::Shape { path: path.display().to_string(), error });
        }
        let path = folder.join(CELLS);
        let lines = bytes_of(&path)?;
        let lines = lines.split(|&byte| byte == b'\n');
        let entries = lines.filter_map(|line| serde_json::from_slice::<Entry>(line).ok());
        // A record may come from anywhere: packing removes the files that its lines name.
        let entries: Vec<Entry> = entries.filter(Entry::is_within).collect();
        let path = folder.join(PACKED);
        let packed = Archive::read(&path).map_err(|error| io_error(&path, error))?;
        Ok(Record { folder: folder.to_owned(), packed, head, entries, lock: None })
    }

    /// Opens it to go on. A measurement whose line or results file is damaged counts as not made, and so does
    /// one whose load was lost; why each is to be made again comes with it, in words. Nothing is
    /// [forgotten](Record::forget_lost) yet.
    ///
    /// # Errors
    /// As [`Record::open`]; it cannot be written to, or somebody else does.
    pub fn reopen(folder: &Path) -> Result<(Record, Vec<String>), RecordError> {
        let lock = hold(folder)?;
        net::private::tighten(folder);
        let mut record = Record { lock, ..Record::open(folder)? };
        // Where no lock is to be had, another may be writing them.
        if record.lock.is_some() {
            leftovers::clear(folder);
        }
        let path = folder.join(CELLS);
        let lines = bytes_of(&path)?;
        let lines = lines.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()).count();
        let mut again = Vec::new();
        if lines > record.entries.len() {
            again.push(format!(
                "it is damaged: {}: {} cut off",
                path.display(),
                lines - record.entries.len()
            ));
        }
        for entry in std::mem::take(&mut record.entries) {
            match (&entry.trouble, record.read(&entry)) {
                (None, Err(error)) => again.push(format!("it is damaged: {error}")),
                (Some(trouble), _) if !trouble.is_of_target() => again.push(format!(
                    "the server had no part in its failure: {}, {}, round {}: {trouble}",
                    entry.scenario, entry.target, entry.repeat
                )),
                _ => record.entries.push(entry),
            }
        }
        Ok((record, again))
    }

    /// Leaves out for good what counts as not made, so that the next line does not continue one that was cut off.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn forget_lost(&self) -> Result<(), RecordError> {
        replace(&self.folder.join(CELLS), &self.entries.iter().map(line).collect::<String>())
    }

    /// The folders of shootouts that this is or contains, in the order of their names; and what cannot be listed.
    pub fn find(folder: &Path) -> Vec<Result<PathBuf, RecordError>> {
        if Record::is_at(folder) {
            return vec![Ok(folder.to_owned())];
        }
        let entries = match fs::read_dir(folder) {
            Ok(entries) => entries,
            Err(error) => return vec![Err(io_error(folder, error))],
        };
        // Not those that links lead to: these may lead back.
        let is_folder = |entry: &DirEntry| entry.file_type().is_ok_and(|kind| kind.is_dir());
        let mut below: Vec<PathBuf> = entries.flatten().filter(is_folder).map(|entry| entry.path()).collect();
        below.sort();
        below.iter().flat_map(|path| Record::find(path)).collect()
    }

    /// Gives it another time to end in, from its beginning, which is kept.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn set_budget(&mut self, budget: Duration) -> Result<(), RecordError> {
        self.head.budget_s = Some(budget.as_secs_f64());
        write_head(&self.folder, &self.head)
    }

    /// The folder that holds its files.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Known faults of a published record, in Markdown: the `notes.md` beside it, if there is one.
    pub fn notes(&self) -> Option<String> {
        text_of(&self.folder.join(NOTES)).ok()
    }

    /// Returns whether the measurement has been made.
    pub fn has(&self, cell: &Cell) -> bool {
        let is_it = |entry: &Entry| {
            (&entry.scenario, &entry.target, entry.repeat) == (&cell.scenario, &cell.target, cell.repeat)
        };
        self.entries.iter().any(is_it)
    }

    /// The file for what the server says during a measurement; its folder is made.
    ///
    /// # Errors
    /// The folder cannot be made.
    pub fn log(&self, cell: &Cell) -> Result<PathBuf, RecordError> {
        let folder = self.folder.join(&cell.scenario);
        net::private::make_dir(&folder).map_err(|error| io_error(&folder, error))?;
        Ok(folder.join(format!("{}-{}.log", cell.target, cell.repeat)))
    }

    /// Keeps a measurement: its results file first, then its line.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn add(&mut self, cell: &Cell, outcome: Outcome) -> Result<(), RecordError> {
        let Outcome { command, result, took_s, noise_percent } = outcome;
        let trouble = match result {
            Ok(run) => {
                let name = results_file(&cell.scenario, &cell.target, cell.repeat);
                replace(&self.folder.join(name), &results::file::write_line(&run))?;
                None
            }
            Err(trouble) => Some(trouble),
        };
        let Cell { scenario, target, repeat, .. } = cell.clone();
        let entry = Entry { scenario, target, repeat, command, trouble, took_s, noise_percent };
        let path = self.folder.join(CELLS);
        let appended = OpenOptions::new()
            .append(true)
            .open(&path)
            .and_then(|mut file| file.write_all(line(&entry).as_bytes()).and_then(|()| file.sync_all()));
        appended.map_err(|error| io_error(&path, error))?;
        self.entries.push(entry);
        Ok(())
    }

    /// The measurements of a target in a scenario, by rounds.
    pub fn of(&self, scenario: &str, target: &str) -> impl Iterator<Item = &Entry> {
        let is_of = |entry: &&Entry| entry.scenario == scenario && entry.target == target;
        let mut entries: Vec<&Entry> = self.entries.iter().filter(is_of).collect();
        // A round that was lost is measured again after later ones.
        entries.sort_by_key(|entry| entry.repeat);
        entries.into_iter()
    }

    /// The results of a target in a scenario, by rounds.
    ///
    /// # Errors
    /// A file cannot be read.
    pub fn runs(&self, scenario: &str, target: &str) -> Result<Vec<Run>, RecordError> {
        let measured = self.of(scenario, target).filter(|entry| entry.trouble.is_none());
        measured.map(|entry| self.read(entry)).collect()
    }

    /// How many rounds there may be.
    pub fn repeats_max(&self) -> u32 {
        self.head.repeats_max.max(self.head.repeats)
    }

    /// The results of a measurement.
    fn read(&self, entry: &Entry) -> Result<Run, RecordError> {
        let name = results_file(&entry.scenario, &entry.target, entry.repeat);
        let path = self.folder.join(&name);
        let read = match self.packed.get(&name) {
            // A file beside the pack is newer: a round that was measured again.
            Some(packed) if !path.exists() => results::file::read(&packed),
            _ => results::file::read(&text_of(&path)?),
        };
        read.map_err(|error| RecordError::Results { path: path.display().to_string(), error })
    }

    /// Writes the tables beside the figures.
    ///
    /// # Errors
    /// They cannot be written.
    pub fn write_report(&self, markdown: &str) -> Result<PathBuf, RecordError> {
        let path = self.folder.join(TABLES);
        replace(&path, markdown)?;
        Ok(path)
    }

    /// Puts all results files into one compressed file, from which they are read from then on; their own are
    /// removed once that has been read again. How many there were.
    ///
    /// # Errors
    /// One cannot be read, or it cannot be written; the shootout is still under way.
    pub fn pack(mut self) -> Result<usize, RecordError> {
        self.lock = hold(&self.folder)?;
        let measured = self.entries.iter().filter(|entry| entry.trouble.is_none());
        let names: Vec<String> = measured
            .map(|entry| results_file(&entry.scenario, &entry.target, entry.repeat))
            .filter(|name| self.folder.join(name).exists())
            .collect();
        for name in &names {
            let path = self.folder.join(name);
            self.packed.add(name.clone(), &text_of(&path)?).map_err(|error| io_error(&path, error))?;
        }
        let path = self.folder.join(PACKED);
        let bytes = self.packed.bytes().map_err(|error| io_error(&path, error))?;
        // Nothing takes the place of what can be read that cannot, and nothing is removed for it.
        let again = Archive::unpack(&bytes[..]).map_err(|error| io_error(&path, error))?;
        replace(&path, &bytes)?;
        for name in names.iter().filter(|name| again.has(name)) {
            let path = self.folder.join(name);
            fs::remove_file(&path).map_err(|error| io_error(&path, error))?;
        }
        Ok(names.len())
    }
}

/// Holds the folder against all others who would write to it; nothing, where its filesystem has no locks.
fn hold(folder: &Path) -> Result<Option<File>, RecordError> {
    // A pipe in its place would be waited for, and no signal ends that: handlers restart the call.
    if fs::metadata(folder).is_ok_and(|found| !found.is_dir()) {
        return Err(io_error(folder, io::ErrorKind::NotADirectory.into()));
    }
    let Ok(directory) = File::open(folder) else { return Ok(None) };
    match directory.try_lock() {
        Err(TryLockError::WouldBlock) => Err(RecordError::Busy(folder.display().to_string())),
        _ => Ok(Some(directory)),
    }
}

/// The name of a results file, below the folder.
fn results_file(scenario: &str, target: &str, repeat: u32) -> String {
    format!("{scenario}/{target}-{repeat}.json")
}

fn write_head(folder: &Path, head: &Head) -> Result<(), RecordError> {
    let text = serde_json::to_string_pretty(head).expect("the head is plain data");
    replace(&folder.join(HEAD), &(text + "\n"))
}

fn line(entry: &Entry) -> String {
    serde_json::to_string(entry).expect("entries are plain data") + "\n"
}

/// Reads a file of a record, which may come from anywhere: a pipe in its place is not waited for.
fn text_of(path: &Path) -> Result<String, RecordError> {
    net::files::read_text(path, BYTES_MAX).map_err(|error| io_error(path, error))
}

/// Reads a file whose last line may be cut off within a character.
fn bytes_of(path: &Path) -> Result<Vec<u8>, RecordError> {
    net::files::read(path, BYTES_MAX).map_err(|error| io_error(path, error))
}

/// Writes a file, or leaves what is there.
fn replace(path: &Path, contents: &(impl AsRef<[u8]> + ?Sized)) -> Result<(), RecordError> {
    net::files::replace(path, contents, Readers::Owner).map_err(|error| io_error(path, error))
}

fn io_error(path: &Path, error: io::Error) -> RecordError {
    RecordError::Io { path: path.display().to_string(), error }
}
