//! The HTML report that a run leaves: beside its results file, or with the user's data.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use net::files::{self, Readers};
use results::Run;

use crate::archive;
use crate::args::RunArgs;
use crate::exit::Failure;
use crate::stderr;

/// Reports kept with the user's data: any can be made again with `throng report`.
const KEPT_MAX: usize = 100;

/// Where reports go.
pub(crate) struct Pages {
    place: Place,
}

enum Place {
    Nowhere,
    /// The user named it: that nothing can be written there is a failure.
    Out(PathBuf),
    /// The user's data, of which only the newest are left.
    Data(PathBuf),
}

impl Pages {
    /// As the flags say.
    pub(crate) fn new(args: &RunArgs) -> Self {
        let data = || Some(Place::Data(data_dir()?));
        let place = match &args.out {
            _ if args.no_report || args.quiet => Place::Nowhere,
            Some(directory) => Place::Out(directory.clone()),
            None => data().unwrap_or(Place::Nowhere),
        };
        Self { place }
    }

    /// Writes a run's report and says where. With the user's data only if the run itself is kept there.
    pub(crate) fn write(&self, run: &Run, is_kept: bool) -> Result<(), Failure> {
        match &self.place {
            Place::Out(directory) => {
                let path = page(directory, run);
                let written = to_file(&path, run);
                written.map_err(|error| {
                    Failure::could_not("write", format!("write {}", path.display()), error)
                })?;
                name(&path);
            }
            Place::Data(directory) if is_kept => {
                let path = page(directory, run);
                match net::private::make_dir(directory).and_then(|()| to_file(&path, run)) {
                    Ok(()) => name(&path),
                    Err(error) => {
                        stderr::line(format_args!("throng: no report: {}: {error}", path.display()))
                    }
                }
                forget_oldest(directory);
            }
            Place::Data(_) | Place::Nowhere => {}
        }
        Ok(())
    }
}

/// Writes the page about some runs, whole or not at all.
pub(crate) fn write(path: &Path, runs: &[Run], readers: Readers) -> io::Result<()> {
    files::replace(path, &report::html(&report::Page { runs, ..Default::default() }), readers)
}

/// Deletes the report of a run that is no longer kept. Fails if it is there and stays there.
pub(crate) fn forget(id: &str) -> io::Result<()> {
    let Some(directory) = data_dir().filter(|_| archive::is_file_name(id)) else { return Ok(()) };
    match fs::remove_file(directory.join(format!("{id}.html"))) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// With the user's data.
fn data_dir() -> Option<PathBuf> {
    Some(store::data_dir()?.join("reports"))
}

fn to_file(path: &Path, run: &Run) -> io::Result<()> {
    write(path, std::slice::from_ref(run), Readers::Owner)
}

fn page(directory: &Path, run: &Run) -> PathBuf {
    directory.join(format!("{}.html", run.id))
}

/// On standard error, for standard output belongs to --format.
fn name(path: &Path) {
    stderr::line(format_args!("throng: report {}", path.display()));
}

/// Ids begin with the time, so that the oldest sort first. What cannot be deleted does no harm.
fn forget_oldest(directory: &Path) {
    let Ok(entries) = fs::read_dir(directory) else { return };
    let is_page = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "html");
    let mut pages: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).filter(is_page).collect();
    pages.sort();
    let too_many = pages.len().saturating_sub(KEPT_MAX);
    for path in pages.iter().take(too_many) {
        let _ = fs::remove_file(path);
    }
}
