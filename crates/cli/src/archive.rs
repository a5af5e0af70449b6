//! The store as the verbs use it: where it is, which runs are meant, and how a run that has ended gets there.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use results::Run;
use results::file::{BYTES_MAX, FileError};
use store::{Store, StoreError};

use crate::exit::{Failure, variant};
use crate::flags::args::RunArgs;
use crate::results_file::ResultsFile;
use crate::stderr;

/// The store to read.
#[derive(Args, Clone, Debug)]
pub(crate) struct StoreArg {
    /// The store [default: $XDG_DATA_HOME/throng/runs.db]
    #[arg(long, value_name = "FILE", global = true)]
    store: Option<PathBuf>,
}

impl StoreArg {
    /// Opens it for reading and changing what is there.
    pub(crate) fn open(&self) -> Result<Store, Failure> {
        Store::open_existing(&path(self.store.as_deref())?).map_err(failure)
    }

    /// Opens it, new if need be.
    pub(crate) fn open_or_make(&self) -> Result<Store, Failure> {
        Store::open(&path(self.store.as_deref())?).map_err(failure)
    }

    /// The run that is meant: a results file, or a run of the store by its id, the beginning of it, `@N` or
    /// `last`.
    pub(crate) fn run(&self, reference: &str) -> Result<Run, Failure> {
        let path = Path::new(reference);
        match fs::metadata(path).map(|found| found.file_type()) {
            Ok(kind) if kind.is_file() => return read_file(path),
            // A folder may have the name of a run; a pipe or a device was named, and is not waited for.
            Ok(kind) if !kind.is_dir() => {
                let problem = format!("{reference} is not a regular file");
                return Err(Failure::usage("RUN", problem).because("irregular_file"));
            }
            _ => {}
        }
        let store = self.open()?;
        store.find(reference).and_then(|id| store.load(&id)).map_err(failure)
    }

    /// The runs that are meant: all of a directory, or one as in [`run`](Self::run).
    pub(crate) fn runs(&self, reference: &str) -> Result<Vec<Run>, Failure> {
        match Path::new(reference) {
            directory if directory.is_dir() => read_directory(directory),
            _ => Ok(vec![self.run(reference)?]),
        }
    }
}

/// Returns whether a run's id can be the name of a file: an imported run may have any id, which must not lead
/// elsewhere.
pub(crate) fn is_file_name(id: &str) -> bool {
    Path::new(id).file_name().is_some_and(|name| name == id)
}

/// Reads a results file.
pub(crate) fn read_file(path: &Path) -> Result<Run, Failure> {
    read_by(path, results::file::read)
}

/// Reads a results file, whose last step may be torn.
pub(crate) fn salvage_file(path: &Path) -> Result<Run, Failure> {
    read_by(path, results::file::salvage::read)
}

fn read_by(path: &Path, read: impl Fn(&str) -> Result<Run, FileError>) -> Result<Run, Failure> {
    let cannot =
        |why: &dyn std::fmt::Display| Failure::could_not("read", format!("read {}", path.display()), why);
    let text = net::files::read_text(path, BYTES_MAX).map_err(|error| cannot(&error))?;
    read(&text).map_err(|error| cannot(&error))
}

/// All results files in a directory, by the time the runs started: their names begin with it.
fn read_directory(directory: &Path) -> Result<Vec<Run>, Failure> {
    let what = || format!("read the directory {}", directory.display());
    let entries = fs::read_dir(directory).map_err(|error| Failure::could_not("read", what(), error))?;
    // Not pipes and folders with such names; what cannot be looked at fails when it is read.
    let is_other = |path: &Path| fs::metadata(path).is_ok_and(|metadata| !metadata.is_file());
    let is_results = |path: &PathBuf| path.extension().is_some_and(|is| is == "json") && !is_other(path);
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).filter(is_results).collect();
    paths.sort();
    if paths.is_empty() {
        let none = "there is no results file (*.json) in it; --out writes one";
        return Err(Failure::could_not("read", what(), none));
    }
    paths.iter().map(|path| read_file(path)).collect()
}

/// Turns an error of the store into a failure. A run that is not there is the command line's fault.
pub(crate) fn failure(error: StoreError) -> Failure {
    let reason = variant(&error);
    let failure = match error {
        StoreError::NoRun { .. } | StoreError::Ambiguous { .. } => Failure::usage("RUN", error),
        _ => Failure::could_not("use_store", "use the store", error),
    };
    failure.because(reason)
}

fn path(given: Option<&Path>) -> Result<PathBuf, Failure> {
    let none = || Failure::usage("--store", "neither XDG_DATA_HOME nor HOME says where it is: pass a path");
    given.map(Path::to_path_buf).or_else(store::default_path).ok_or_else(none)
}

/// Keeps a run: after every step, and when it has ended.
pub(crate) struct RunArchive {
    path: Option<PathBuf>,
    /// The user named the store: that a run cannot be kept there is a failure, not a remark.
    is_named: bool,
    /// The store, open from the first step on: opening and closing it costs more than a step.
    store: Option<Store>,
    /// How many of the run's steps are in it.
    steps: usize,
    /// The file that holds the run meanwhile, since the store could not be opened.
    beside: Option<ResultsFile>,
}

impl RunArchive {
    /// Makes the archive that the flags demand. A store that was named is tried now, so that a bad store is
    /// known before anything is measured.
    pub(crate) fn new(args: &RunArgs) -> Result<Self, Failure> {
        let is_named = args.store.is_some();
        let path = args.store.clone().or_else(store::default_path).filter(|_| !args.no_store);
        if let Some(path) = path.as_ref().filter(|_| is_named) {
            Store::open(path).map_err(failure)?;
        }
        if path.is_none() && !args.no_store && args.out.is_none() {
            let why =
                "neither XDG_DATA_HOME nor HOME says where; name a --store or an --out, or say --no-store";
            stderr::line(format_args!("throng: nothing is kept of this run: {why}"));
        }
        Ok(Self { path, is_named, store: None, steps: 0, beside: None })
    }

    /// Returns whether runs are kept at all.
    pub(crate) fn has_place(&self) -> bool {
        self.path.is_some()
    }

    /// Keeps a run as far as it has come. A store that cannot be had, or that another process holds for too
    /// long, is not tried again before the run has ended: its place is taken by a results file beside it.
    pub(crate) fn keep_so_far(&mut self, run: &Run) {
        let Some(path) = self.path.clone() else { return };
        if self.beside.is_some() {
            self.put_beside(&path, run);
            return;
        }
        let steps = self.steps;
        // Steps that are in the store stay as they are: only those behind them are written.
        let Err(error) = self.open(&path).and_then(|store| store.save_so_far(run, steps)) else {
            self.steps = run.steps.len();
            return;
        };
        // Opened anew at the end: what is wrong with it may be over by then.
        self.store = None;
        if let Some(beside) = self.put_beside(&path, run) {
            stderr::line(format_args!("throng: kept in {} for now: {error}", beside.display()));
        }
    }

    /// Keeps a run that has ended; whether it is in the store. Unless a store was named, one that fails
    /// causes only a remark.
    pub(crate) fn keep(&mut self, run: &Run) -> Result<bool, Failure> {
        let Some(path) = self.path.clone() else { return Ok(false) };
        let steps = self.steps;
        let finished = self.open(&path).and_then(|store| store.finish(run, steps));
        self.store = None;
        let Err(error) = finished else {
            // It has done its service.
            self.beside.take().map_or(Ok(()), |beside| fs::remove_file(beside.path())).unwrap_or_default();
            return Ok(true);
        };
        if let Some(beside) = self.put_beside(&path, run) {
            let beside = beside.display().to_string();
            let command = self.command(["import", &beside]);
            stderr::line(format_args!("throng: the run is in {beside}; {command} keeps it"));
        }
        if self.is_named {
            return Err(failure(error));
        }
        stderr::line(format_args!("throng: the run is not in the store: {error} (--no-store keeps none)"));
        Ok(false)
    }

    /// The command of `throng runs` that does this in the run's store.
    pub(crate) fn command(&self, words: [&str; 2]) -> String {
        store::command(self.path.as_deref(), &words)
    }

    /// The store, opened anew if it is no longer where it was.
    fn open(&mut self, path: &Path) -> Result<&mut Store, StoreError> {
        let store = match self.store.take().filter(Store::is_in_place) {
            // It may have been moved or deleted: what is written to its file would then be lost.
            Some(store) => store,
            None => Store::open(path)?,
        };
        Ok(self.store.insert(store))
    }

    /// Puts a results file beside the store; where, unless that cannot be written to either.
    fn put_beside(&mut self, store: &Path, run: &Run) -> Option<&Path> {
        // Not as --out names it, which may be the same folder.
        let path = || store.with_file_name(format!("{}.unkept", run.id));
        let mut beside = self.beside.take().unwrap_or_else(|| ResultsFile::new(path()));
        beside.keep(run).ok()?;
        Some(self.beside.insert(beside).path())
    }
}
