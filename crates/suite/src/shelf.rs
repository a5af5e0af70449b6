//! The folder with all targets.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::manifest::{self, REFERENCE_NAME, Readers, Target};
use crate::mistake::Mistake;

/// Every target of a folder, the reference server first.
pub struct Shelf {
    /// Those that can be read, in the order of their names.
    pub targets: Vec<Target>,
    /// The folders whose manifest has a mistake.
    pub mistakes: Vec<(String, Mistake)>,
}

impl Shelf {
    /// Reads every folder in it that has a manifest.
    ///
    /// # Errors
    /// The folder cannot be listed.
    pub fn read(folder: &Path, readers: Readers<'_>) -> io::Result<Shelf> {
        // Commands run in these folders, and name programs relative to them.
        let folder = folder.canonicalize()?;
        let mut folders: Vec<PathBuf> = fs::read_dir(folder)?.flatten().map(|entry| entry.path()).collect();
        folders.retain(|folder| folder.join(manifest::FILE_NAME).is_file());
        folders.sort();
        let mut shelf = Shelf { targets: vec![Target::reference()], mistakes: Vec::new() };
        for folder in folders {
            let name = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            if name == REFERENCE_NAME {
                continue; // part of this program
            }
            match Target::of_folder(&folder, readers) {
                Ok(targets) => shelf.targets.extend(targets),
                Err(mistake) => shelf.mistakes.push((name, mistake)),
            }
        }
        Ok(shelf)
    }

    /// The target of that name; or, given a folder's name, all its variants.
    pub fn find(&self, name: &str) -> Vec<&Target> {
        let named: Vec<&Target> = self.targets.iter().filter(|target| target.name == name).collect();
        if !named.is_empty() {
            return named;
        }
        self.targets
            .iter()
            .filter(|target| target.folder.file_name().is_some_and(|folder| folder == name))
            .collect()
    }
}

/// Where the suites are that go by their names.
pub const SUITES_FOLDER: &str = "suites";

/// The folder of that name (`targets`, `suites`) in the working directory or the nearest above it.
pub fn find_folder(name: &str, from: &Path) -> Option<PathBuf> {
    from.ancestors().map(|above| above.join(name)).find(|folder| folder.is_dir())
}
