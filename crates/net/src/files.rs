//! Files that are complete, or as they were before, whatever ends this process or the machine.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, IsTerminal, Read, Write};
use std::os::unix::fs::{FileExt, FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use crate::private;

/// Readers of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readers {
    /// The owner of the file only, for what a run leaves.
    Owner,
    /// As the user's other files, for files that the user named, to be shown to others.
    AsUsual,
}

/// Opens a file that the user has named, if it is a regular file. A pipe without a writer would be waited for
/// without end, and a device such as `/dev/zero` has no end.
pub fn open(path: &Path) -> io::Result<File> {
    // Before it is opened: that alone waits for a pipe, and starts some devices.
    match fs::metadata(path)?.is_file() {
        true => File::open(path),
        false => Err(irregular()),
    }
}

/// Reads a file that the user has named, if it is a regular file of at most `bytes_max` bytes.
pub fn read(path: &Path, bytes_max: u64) -> io::Result<Vec<u8>> {
    read_at_most(open(path)?, bytes_max)
}

/// Reads any file of at most `bytes_max` bytes, also a pipe that another program writes to (`/dev/stdin`), up
/// to its end. A device that is no terminal must be empty, as `/dev/null` is: others have no end.
pub fn read_any(path: &Path, bytes_max: u64) -> io::Result<Vec<u8>> {
    read_at_most(File::open(path)?, bytes_max)
}

fn read_at_most(file: File, bytes_max: u64) -> io::Result<Vec<u8>> {
    let too_large =
        || io::Error::new(io::ErrorKind::FileTooLarge, format!("it has more than {bytes_max} bytes"));
    let metadata = file.metadata()?;
    let kind = metadata.file_type();
    if metadata.is_file() && metadata.len() > bytes_max {
        return Err(too_large());
    }
    let is_device = kind.is_block_device() || kind.is_char_device() && !file.is_terminal();
    // A file that grows meanwhile, or has no size, as in /proc, is held to the limit, too.
    let readable = if is_device { 1 } else { bytes_max + 1 };
    let mut bytes = Vec::new();
    file.take(readable).read_to_end(&mut bytes)?;
    match bytes.len() as u64 {
        1.. if is_device => Err(io::Error::new(io::ErrorKind::InvalidInput, "it is a device")),
        length if length > bytes_max => Err(too_large()),
        _ => Ok(bytes),
    }
}

/// Reads a regular file of UTF-8 text of at most `bytes_max` bytes.
pub fn read_text(path: &Path, bytes_max: u64) -> io::Result<String> {
    String::from_utf8(read(path, bytes_max)?)
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8"))
}

/// Opens a regular file in a folder where another program writes: no link that has taken its place, which may
/// lead to a file that is none of that program's, and no pipe.
pub fn open_regular(path: &Path) -> io::Result<File> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let file = OpenOptions::new().read(true).custom_flags(flags.bits() as i32).open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(irregular()),
    }
}

fn irregular() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file")
}

/// Puts a file of these contents in the place of what is there. It is written beside that and renamed when it
/// is on the disk, and so is its name when this returns: a crash or a full disk leaves the old one whole
/// (rename(2), fsync(2)). What others may read can be wherever the user likes: behind a link the file is
/// replaced, and a pipe, a device or `/dev/stdout` is written to.
pub fn replace(path: &Path, contents: &(impl AsRef<[u8]> + ?Sized), readers: Readers) -> io::Result<()> {
    let contents = contents.as_ref();
    match (readers, fs::canonicalize(path)) {
        (Readers::Owner, _) => replace_name(path, contents, readers),
        _ if is_descriptor(path) => OpenOptions::new().append(true).open(path)?.write_all(contents),
        (Readers::AsUsual, Ok(real)) if real.is_file() => replace_name(&real, contents, readers),
        // Nothing has that name yet, or a link leads to nothing.
        (Readers::AsUsual, Err(_)) if !path.is_symlink() => replace_name(path, contents, readers),
        (Readers::AsUsual, _) => File::create(path)?.write_all(contents),
    }
}

/// Returns whether a path stands for a file that is open already, which cannot be replaced (proc_pid_fd(5)).
fn is_descriptor(path: &Path) -> bool {
    let is_of_process =
        || path.starts_with("/proc") && path.parent().is_some_and(|folder| folder.ends_with("fd"));
    ["/dev/stdout", "/dev/stderr"].map(Path::new).contains(&path)
        || path.starts_with("/dev/fd")
        || is_of_process()
}

/// Puts `contents` in the place of all that stands from `at` on in a file that is `length` bytes long, and on
/// the disk. Of one that cannot be written, the old end stays. Only a crash in the middle leaves it torn, and
/// only behind `at`.
///
/// # Errors
/// The file is of another length: another process has written to it.
pub fn replace_end(path: &Path, at: u64, length: u64, contents: &[u8]) -> io::Result<()> {
    let mut options = OpenOptions::new();
    // NOFOLLOW: a link that has taken the place of the file was not made here.
    let file = options.read(true).write(true).custom_flags(OFlags::NOFOLLOW.bits() as i32).open(path)?;
    if file.metadata()?.len() != length || at > length {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "it was changed by somebody else"));
    }
    let mut old = vec![0; (length - at) as usize];
    file.read_exact_at(&mut old, at)?;
    let end = |contents: &[u8]| {
        // One call, so that a concurrent reader has next to no chance of half of it.
        file.write_all_at(contents, at)?;
        file.set_len(at + contents.len() as u64)
    };
    end(contents).and_then(|()| file.sync_data()).inspect_err(|_| {
        // Why it could not be written is what matters.
        let _ = end(&old);
    })
}

fn replace_name(path: &Path, contents: &[u8], readers: Readers) -> io::Result<()> {
    let beside = beside(path);
    let written = write_through(&beside, contents, path, readers).and_then(|()| fs::rename(&beside, path));
    if written.is_err() {
        // Half a file is of no use; why it could not be written is what matters.
        let _ = fs::remove_file(&beside);
    }
    // A rename is on the disk only with its directory (fsync(2)).
    written.and_then(|()| sync_directory(path))
}

/// The path at which a file is written before it is renamed.
fn beside(path: &Path) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(".part");
    name.into()
}

/// Writes a file that is to take the place of `old`. Those that others may read keep the mode that the user
/// has given them.
fn write_through(path: &Path, contents: &[u8], old: &Path, readers: Readers) -> io::Result<()> {
    let mut file = match readers {
        Readers::Owner => private::create(path)?,
        Readers::AsUsual => File::create(path)?,
    };
    // Before anything is in it that others might not be meant to read.
    if let (Readers::AsUsual, Ok(old)) = (readers, fs::metadata(old)) {
        file.set_permissions(old.permissions())?;
    }
    file.write_all(contents)?;
    file.sync_all()
}

/// Writes the names of a directory to the disk. Some filesystems cannot do that.
fn sync_directory(path: &Path) -> io::Result<()> {
    let directory = path.parent().filter(|directory| !directory.as_os_str().is_empty());
    match File::open(directory.unwrap_or(Path::new(".")))?.sync_all() {
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(()),
        synced => synced,
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::thread;

    use rustix::fs::{CWD, Mode, mkfifoat};

    use super::*;

    #[test]
    fn only_bounded_regular_files_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let (file, pipe) = (folder.path().join("file"), folder.path().join("pipe"));
        fs::write(&file, b"\xffx").unwrap();
        mkfifoat(CWD, &pipe, Mode::RUSR | Mode::WUSR).unwrap();
        assert_eq!(read(&file, 2).unwrap(), b"\xffx");
        let kind = |path: &Path, bytes_max| read(path, bytes_max).unwrap_err().kind();
        assert_eq!(kind(&file, 1), io::ErrorKind::FileTooLarge);
        assert_eq!(read_text(&file, 2).unwrap_err().kind(), io::ErrorKind::InvalidData);
        for other in [&pipe, folder.path(), Path::new("/dev/zero")] {
            assert_eq!(kind(other, 1), io::ErrorKind::InvalidInput);
        }
        assert_eq!(kind(&folder.path().join("none"), 1), io::ErrorKind::NotFound);
    }

    #[test]
    fn links_and_pipes_of_others_lead_nowhere() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("private"), "kept").unwrap();
        symlink("private", at("link")).unwrap();
        symlink("none", at("dangling")).unwrap();
        mkfifoat(CWD, at("pipe"), Mode::RUSR | Mode::WUSR).unwrap();
        for name in ["link", "dangling", "pipe"] {
            open_regular(&at(name)).unwrap_err();
            private::create_anew(&at(name)).unwrap().write_all(b"new").unwrap();
            assert_eq!(io::read_to_string(open_regular(&at(name)).unwrap()).unwrap(), "new");
        }
        let first = private::create_anew(&at("none at first")).unwrap();
        assert_eq!(first.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        private::create_anew(folder.path()).unwrap_err();
        assert!(fs::read(at("private")).unwrap() == b"kept" && !at("none").exists());
    }

    #[test]
    fn endless_devices_are_refused_at_once() {
        assert_eq!(read_any(Path::new("/dev/null"), 0).unwrap(), b"");
        // Of the size that would be read first, no allocator has room.
        let refused = read_any(Path::new("/dev/zero"), u64::MAX - 1).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::InvalidInput);
        let sparse = tempfile::tempfile().unwrap();
        sparse.set_len(1 << 40).unwrap();
        let path = PathBuf::from(format!("/proc/self/fd/{}", sparse.as_raw_fd()));
        assert_eq!(read_any(&path, 1 << 39).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
    }

    #[test]
    fn files_are_replaced_whole_or_never() {
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

    #[test]
    fn a_replaced_file_keeps_its_mode() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("report.html");
        for mode in [0o600, 0o640] {
            replace(&path, "old", Readers::AsUsual).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            replace(&path, "new", Readers::AsUsual).unwrap();
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, mode);
        }
        replace(&path, "own", Readers::Owner).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn files_in_dev_shm_are_replaced() {
        let Ok(folder) = tempfile::tempdir_in("/dev/shm") else {
            return println!("skipped: no /dev/shm here");
        };
        let path = folder.path().join("report.html");
        for contents in ["a page", "page"] {
            replace(&path, contents, Readers::AsUsual).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), contents);
        }
        let open = File::create(&path).unwrap();
        for folder in ["/dev/fd", "/proc/self/fd"] {
            replace(&Path::new(folder).join(open.as_raw_fd().to_string()), "x", Readers::AsUsual).unwrap();
        }
        assert_eq!(fs::read_to_string(&path).unwrap(), "xx", "an open file is written to");
    }

    #[test]
    fn ends_are_replaced_by_longer_and_shorter() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.json");
        replace(&path, "[1]", Readers::Owner).unwrap();
        replace_end(&path, 2, 3, b", 2]").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"[1, 2]");
        replace_end(&path, 1, 6, b"]").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"[]");
        let kind = |at, length| replace_end(&path, at, length, b"x").unwrap_err().kind();
        assert_eq!([kind(1, 3), kind(3, 2)], [io::ErrorKind::InvalidData; 2], "somebody else's file");
        let link = folder.path().join("link");
        symlink(&path, &link).unwrap();
        replace_end(&link, 1, 2, b"x").unwrap_err();
        assert_eq!(fs::read(&path).unwrap(), b"[]");
    }

    #[test]
    fn a_link_stays_and_so_does_a_pipe() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for is_there in [false, true] {
            let (file, link) = (at(&format!("file-{is_there}")), at(&format!("link-{is_there}")));
            symlink(file.file_name().unwrap(), &link).unwrap();
            if is_there {
                fs::write(&file, "old").unwrap();
            }
            replace(&link, "new", Readers::AsUsual).unwrap();
            assert!(link.is_symlink() && fs::read(&file).unwrap() == b"new", "there before: {is_there}");
        }

        let pipe = at("pipe");
        mkfifoat(CWD, &pipe, Mode::RUSR | Mode::WUSR).unwrap();
        let reader = thread::spawn({
            let pipe = pipe.clone();
            move || fs::read(pipe).unwrap()
        });
        replace(&pipe, "page", Readers::AsUsual).unwrap();
        assert!(fs::metadata(&pipe).unwrap().file_type().is_fifo());
        assert_eq!(reader.join().unwrap(), b"page");
        replace(folder.path(), "page", Readers::AsUsual).unwrap_err();
    }
}
