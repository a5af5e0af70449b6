//! Files and folders that only the user may read: measurements contain the servers' addresses, and the
//! clients' credentials.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

/// The mode of files: the owner reads and writes.
const FILE_MODE: u32 = 0o600;
/// The mode of folders: the owner has all rights.
const DIR_MODE: u32 = 0o700;
/// The permissions of all others.
const OTHERS: u32 = 0o077;

/// The user that this process acts for.
pub fn user() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Makes a folder, and the missing ones above it, for the user alone. One that exists stays as it is: its
/// maker has decided which users may look into it.
///
/// # Errors
/// It cannot be made, or something else has its name.
pub fn make_dir(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(DIR_MODE).create(path)
}

/// Opens a file to write it anew, for the user alone.
///
/// # Errors
/// It cannot be opened.
pub fn create(path: &Path) -> io::Result<File> {
    let file = open(path)?;
    empty(&file)?;
    Ok(file)
}

/// Creates a file for the user alone, in the place of whatever has its name in a folder where another program
/// writes: a link put there leads nowhere, and a pipe is not waited for.
///
/// # Errors
/// It cannot be created, or a folder has its name.
pub fn create_anew(path: &Path) -> io::Result<File> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        // It fails if a link has been put there again meanwhile (O_EXCL, open(2)).
        _ => OpenOptions::new().write(true).create_new(true).mode(FILE_MODE).open(path),
    }
}

/// Opens a file to write it anew once it is [`empty`], for the user alone. Until then it holds what it has
/// held.
///
/// # Errors
/// It cannot be opened.
pub fn open(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().write(true).create(true).truncate(false).mode(FILE_MODE).open(path)?;
    // One that was there keeps its mode when it is opened.
    let _ = close_to_others(&file.metadata()?, |mode| file.set_permissions(mode));
    Ok(file)
}

/// Removes the contents of a file. A pipe or a device has none.
///
/// # Errors
/// It cannot be written to.
pub fn empty(file: &File) -> io::Result<()> {
    if file.metadata()?.is_file() { file.set_len(0) } else { Ok(()) }
}

/// Makes an empty file for the user alone, if there is none: for code that opens it by its path.
///
/// # Errors
/// It cannot be made.
pub fn make_file(path: &Path) -> io::Result<()> {
    OpenOptions::new().append(true).create(true).mode(FILE_MODE).open(path).map(drop)
}

/// Takes all rights on a file or folder of this user from other users: a copy or a wide umask may have given
/// them some. Files of another user stay as they are, and so do files that cannot be changed.
pub fn tighten(path: &Path) {
    if let Ok(metadata) = fs::metadata(path) {
        let _ = close_to_others(&metadata, |mode| fs::set_permissions(path, mode));
    }
}

fn close_to_others(
    metadata: &fs::Metadata,
    set: impl FnOnce(Permissions) -> io::Result<()>,
) -> io::Result<()> {
    let is_ours = metadata.uid() == user() && (metadata.is_file() || metadata.is_dir());
    match metadata.mode() & OTHERS {
        others if is_ours && others != 0 => set(Permissions::from_mode(metadata.mode() & 0o7777 & !OTHERS)),
        _ => Ok(()),
    }
}

/// Gives unguessable bytes.
///
/// # Panics
/// If the kernel has no random numbers, which it has since it started.
pub fn random_bytes<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    let filled = rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty());
    assert_eq!(filled, Ok(N), "getrandom(2) gives up to 256 bytes in one piece");
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().mode() & 0o777
    }

    #[test]
    fn private_files_are_the_users_alone() {
        let dir = tempfile::tempdir().unwrap();
        let (inner, file) = (dir.path().join("a/b"), dir.path().join("a/b/file"));
        make_dir(&inner).unwrap();
        assert_eq!((mode(&inner), mode(&dir.path().join("a"))), (0o700, 0o700));
        make_file(&file).unwrap();
        assert_eq!(mode(&file), 0o600);
        fs::set_permissions(&file, Permissions::from_mode(0o644)).unwrap();
        drop(create(&file).unwrap());
        assert_eq!(mode(&file), 0o600);
        fs::write(&file, "old").unwrap();
        let opened = open(&file).unwrap();
        assert_eq!(fs::read(&file).unwrap(), b"old");
        empty(&opened).unwrap();
        assert_eq!(fs::read(&file).unwrap(), b"");
        fs::set_permissions(&inner, Permissions::from_mode(0o755)).unwrap();
        make_dir(&inner).unwrap();
        assert_eq!(mode(&inner), 0o755);
        tighten(&inner);
        assert_eq!(mode(&inner), 0o700);
        // A device belongs to no user, and a name without a file is no reason to stop.
        create(Path::new("/dev/null")).unwrap();
        tighten(&dir.path().join("absent"));
    }

    #[test]
    fn random_bytes_differ() {
        assert_ne!(random_bytes::<16>(), random_bytes::<16>());
    }
}
