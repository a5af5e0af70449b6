//! Files that are whole, or as they were before, whatever ends this process or the machine.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::private;

/// Who may read a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readers {
    /// Its owner: what a run leaves.
    Owner,
    /// As the user's other files: what was asked for by its name, to be shown to others.
    AsUsual,
}

/// Puts a file of these contents in the place of what is there. It is written beside that and renamed when it is on the disk,
/// and so is its name when this returns: a crash or a full disk leaves the old one whole (rename(2), fsync(2)).
pub fn replace(path: &Path, contents: &(impl AsRef<[u8]> + ?Sized), readers: Readers) -> io::Result<()> {
    let beside = beside(path);
    let written = write_through(&beside, contents.as_ref(), readers).and_then(|()| fs::rename(&beside, path));
    if written.is_err() {
        // Half a file is of no use to anybody; why it could not be written is what matters.
        let _ = fs::remove_file(&beside);
    }
    written.and_then(|()| sync_directory(path))
}

/// Where a file is written before it is renamed.
fn beside(path: &Path) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(".part");
    name.into()
}

fn write_through(path: &Path, contents: &[u8], readers: Readers) -> io::Result<()> {
    let mut file = match readers {
        Readers::Owner => private::create(path)?,
        Readers::AsUsual => File::create(path)?,
    };
    file.write_all(contents)?;
    file.sync_all()
}

/// Has the disk know of a name. There are filesystems that know no such thing.
fn sync_directory(path: &Path) -> io::Result<()> {
    let directory = path.parent().filter(|directory| !directory.as_os_str().is_empty());
    match File::open(directory.unwrap_or(Path::new(".")))?.sync_all() {
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(()),
        synced => synced,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_whole_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.json");
        replace(&path, "one", Readers::Owner).unwrap();
        replace(&path, "two", Readers::AsUsual).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        // What cannot be written leaves what was there, and nothing else.
        fs::create_dir(beside(&path)).unwrap();
        replace(&path, "three", Readers::Owner).unwrap_err();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        let occupied = folder.path().join("folder");
        fs::create_dir_all(occupied.join("full")).unwrap();
        replace(&occupied, "four", Readers::Owner).unwrap_err();
        assert!(!beside(&occupied).exists(), "half a file is left");
    }
}
