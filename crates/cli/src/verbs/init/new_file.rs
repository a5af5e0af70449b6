//! Files that `init` writes: existing ones are not written over.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use crate::exit::Failure;

/// Passwords stand in such a file.
const PRIVATE_MODE: u32 = 0o600;

/// A file that is new.
pub(in crate::verbs) struct NewFile<'a> {
    path: &'a Path,
    file: File,
}

/// Creates a file, and never writes over one that exists.
pub(in crate::verbs) fn create(path: &Path) -> Result<NewFile<'_>, Failure> {
    open_new(path, OpenOptions::new().write(true).create_new(true))
}

/// Creates a file that only its owner may read.
pub(in crate::verbs) fn create_private(path: &Path) -> Result<NewFile<'_>, Failure> {
    open_new(path, OpenOptions::new().write(true).create_new(true).mode(PRIVATE_MODE))
}

fn open_new<'a>(path: &'a Path, options: &OpenOptions) -> Result<NewFile<'a>, Failure> {
    match options.open(path) {
        Ok(file) => Ok(NewFile { path, file }),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            let problem = format!(
                "{} exists already, and stays as it is: remove it, or name a file in another folder",
                path.display()
            );
            Err(Failure::usage("FILE", problem))
        }
        Err(error) => Err(could_not_write(path, error)),
    }
}

fn could_not_write(path: &Path, error: io::Error) -> Failure {
    Failure::could_not("write", format_args!("write {}", path.display()), error)
}

impl NewFile<'_> {
    /// Writes all of it, or leaves no file.
    pub(in crate::verbs) fn write(mut self, text: impl AsRef<[u8]>) -> Result<(), Failure> {
        self.file.write_all(text.as_ref()).map_err(|error| {
            // The next attempt would be refused for a file that no user has written.
            let _ = fs::remove_file(self.path);
            could_not_write(self.path, error)
        })
    }
}
