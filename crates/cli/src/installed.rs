//! The suites and targets that a package brings beside the program.

use std::env;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::exit::Failure;
use crate::stderr;

/// The folder of targets.
const TARGETS: &str = "targets";
/// The places of installed files, relative to the program's folder: for a package (`/usr/bin`, Homebrew's
/// `bin`), and for the tarball.
const PLACES: [&str; 2] = ["../share/throng", "share"];

/// The folder of that name (`targets`, `suites`) in the working directory or the nearest above it, else the
/// installed one.
pub(crate) fn find_folder(name: &str, here: &Path) -> Option<PathBuf> {
    suite::find_folder(name, here).or_else(|| beside_program(name))
}

/// The nearest folder of targets, or the user's copy of the installed one: servers are installed in their
/// target's folder, and a package's belongs to root.
pub(crate) fn find_targets(here: &Path) -> Result<Option<PathBuf>, Failure> {
    if let Some(found) = suite::find_folder(TARGETS, here) {
        return Ok(Some(found));
    }
    let Some(installed) = beside_program(TARGETS) else { return Ok(None) };
    let Some(data) = store::data_dir() else { return Ok(Some(installed)) };
    // A copy for each version: manifests change.
    let own = data.join(format!("{TARGETS}-{}", env!("CARGO_PKG_VERSION")));
    if !own.is_dir() {
        let what = || format!("copy {} to {}", installed.display(), own.display());
        copy_whole(&installed, &data, &own).map_err(|error| Failure::could_not("copy", what(), error))?;
        let copied = format!("targets were copied to {}, where servers are installed", own.display());
        stderr::note(&copied);
    }
    Ok(Some(own))
}

fn beside_program(name: &str) -> Option<PathBuf> {
    let program = env::current_exe().ok()?;
    let folder = program.parent()?;
    PLACES.iter().map(|place| folder.join(place).join(name)).find(|place| place.is_dir())
}

/// Copies a folder whole or not at all: an interrupted copy leaves a folder of another name.
fn copy_whole(from: &Path, data: &Path, to: &Path) -> io::Result<()> {
    net::private::make_dir(data)?;
    let part = tempfile::tempdir_in(data)?;
    copy(from, &part.path().join("part"))?;
    fs::rename(part.path().join("part"), to).or_else(|error| {
        // Another throng may have been first.
        if to.is_dir() { Ok(()) } else { Err(error) }
    })
}

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let to = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &to)?;
        } else {
            fs::copy(entry.path(), to)?;
        }
    }
    Ok(())
}
