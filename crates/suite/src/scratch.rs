//! Folders for what lives as long as a server does: its unix socket, and its log if it is not kept.
//!
//! Rules. A folder holds a file that its owner keeps locked as long as it lives: the kernel takes the lock
//! back however the owner ends. Before it makes a folder, throng removes those of the same user whose file is
//! not locked: runs that were killed have left them. The file gets its name when it is locked, so that a
//! folder that is just being made is not taken for one that was left.

use std::env;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use tempfile::TempDir;

/// How their names begin: briefly, because the path of a unix socket may have 107 bytes.
const PREFIX: &str = "throng-";
/// The file that is locked, and its name before it is.
const OWNER: &str = "owner";
const OWNER_UNLOCKED: &str = "owner.new";

/// A folder of its own, which is gone with this value.
pub(crate) struct Scratch {
    folder: TempDir,
    /// Gone after the folder.
    _lock: File,
}

impl Scratch {
    /// Makes one among the user's temporary files, once what was left of others is gone.
    pub(crate) fn new() -> io::Result<Scratch> {
        let root = env::temp_dir();
        clear(&root);
        Scratch::within(&root).map_err(|error| {
            // It is passed on beside the name of a program, which is not at fault.
            let said = format!("no temporary files in {}: {error}; set TMPDIR", root.display());
            io::Error::new(error.kind(), said)
        })
    }

    fn within(root: &Path) -> io::Result<Scratch> {
        let folder = tempfile::Builder::new().prefix(PREFIX).tempdir_in(root)?;
        // Between making and locking it, somebody else could take it for one that was left.
        let unlocked = folder.path().join(OWNER_UNLOCKED);
        let lock = File::create(&unlocked)?;
        // Where a filesystem has no locks, nothing is cleared either.
        if lock.try_lock().is_ok() {
            fs::rename(unlocked, folder.path().join(OWNER))?;
        }
        Ok(Scratch { folder, _lock: lock })
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }
}

/// Removes what killed runs of this user have left. What cannot be removed stays: it does no harm.
fn clear(root: &Path) {
    let (Ok(entries), Ok(own)) = (fs::read_dir(root), fs::metadata("/proc/self")) else { return };
    let ours = entries.flatten().filter(|entry| {
        let is_named = entry.file_name().to_str().is_some_and(|name| name.starts_with(PREFIX));
        // Of the entry itself, where it is a link.
        is_named && entry.metadata().is_ok_and(|found| found.is_dir() && found.uid() == own.uid())
    });
    for folder in ours.map(|entry| entry.path()) {
        if File::open(folder.join(OWNER)).is_ok_and(|owner| owner.try_lock().is_ok()) {
            let _ = fs::remove_dir_all(&folder);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_leftovers_are_cleared() {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        let lives = Scratch::within(root.path()).unwrap();
        for name in ["throng-left", "throng-begun", "throng-of-somebody", "other"] {
            fs::create_dir(at(name)).unwrap();
        }
        fs::write(at("throng-left").join(OWNER), "").unwrap();
        fs::write(at("throng-left").join("server.sock"), "").unwrap();
        fs::write(at("throng-begun").join(OWNER_UNLOCKED), "").unwrap();
        fs::write(at("other").join(OWNER), "").unwrap();
        std::os::unix::fs::symlink(at("other"), at("throng-link")).unwrap();
        clear(root.path());
        assert!(!at("throng-left").exists());
        assert!(lives.path().exists() && at("throng-begun").exists() && at("throng-of-somebody").exists());
        assert!(at("throng-link").exists() && at("other").join(OWNER).exists(), "not through a link");
        let path = lives.path().to_owned();
        drop(lives);
        assert!(!path.exists());
    }
}
