//! The HTML report that a run leaves: beside its results file, or with the user's data.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use net::files::{self, Readers};
use results::Run;

use crate::archive;
use crate::exit::Failure;
use crate::flags::args::RunArgs;
use crate::stderr;

/// Reports kept with the user's data: any can be made again with `throng report`.
const KEPT_MAX: usize = 100;
/// A page that has been half written for so long is one of a run that was killed.
const LEFT_AFTER: Duration = Duration::from_secs(60);

/// The folder of reports.
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
    /// Makes the pages that the flags ask for.
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

/// The folder of reports among the user's data.
fn data_dir() -> Option<PathBuf> {
    Some(store::data_dir()?.join("reports"))
}

fn to_file(path: &Path, run: &Run) -> io::Result<()> {
    write(path, std::slice::from_ref(run), Readers::Owner)
}

fn page(directory: &Path, run: &Run) -> PathBuf {
    directory.join(format!("{}.html", run.id))
}

/// Prints a page's path on standard error, because standard output belongs to --format.
fn name(path: &Path) {
    stderr::line(format_args!("throng: report {}", path.display()));
}

/// Ids begin with the time, so that the oldest sort first. What a killed run has left half written goes, too.
/// Failures are passed over: a page that stays does no harm.
fn forget_oldest(directory: &Path) {
    let Ok(entries) = fs::read_dir(directory) else { return };
    let (mut pages, mut halves) = (Vec::new(), Vec::new());
    for path in entries.flatten().map(|entry| entry.path()) {
        match path.extension().and_then(OsStr::to_str) {
            Some("html") => pages.push(path),
            Some("part") if is_left(&path) => halves.push(path),
            _ => {}
        }
    }
    // By name, since a file has the time of its last copy.
    pages.sort();
    let too_many = pages.len().saturating_sub(KEPT_MAX);
    for path in pages.iter().take(too_many).chain(&halves) {
        let _ = fs::remove_file(path);
    }
}

/// Returns whether a file is no longer being written: a page takes less than a second.
fn is_left(path: &Path) -> bool {
    let age =
        fs::metadata(path).and_then(|metadata| metadata.modified()).ok().and_then(|at| at.elapsed().ok());
    age.is_some_and(|age| age > LEFT_AFTER)
}

#[cfg(test)]
mod tests {
    use std::fs::{File, FileTimes};
    use std::time::SystemTime;

    use super::*;

    #[test]
    fn half_written_pages_of_killed_runs_are_forgotten() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for name in ["a.html", "left.html.part", "written.html.part"] {
            File::create(at(name)).unwrap();
        }
        let before = FileTimes::new().set_modified(SystemTime::now() - LEFT_AFTER * 2);
        File::options().write(true).open(at("left.html.part")).unwrap().set_times(before).unwrap();
        forget_oldest(folder.path());
        let there = ["a.html", "left.html.part", "written.html.part"].map(|name| at(name).exists());
        assert_eq!(there, [true, false, true]);
    }
}
