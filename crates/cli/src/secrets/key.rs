//! The key of the digits by which a user's secrets are told apart: made once, and kept with the user's data.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use secret::KEY_BYTES;

/// The key's file, beside the store.
const FILE_NAME: &str = "mask.key";

/// The key. Without a place to keep it, or one that can be read, each process has its own: its digits tell
/// secrets of one run apart, and nothing more.
pub(crate) fn of_user() -> [u8; KEY_BYTES] {
    let kept = store::data_dir().and_then(|dir| read_or_make(&dir).ok());
    kept.unwrap_or_else(random)
}

fn read_or_make(dir: &Path) -> io::Result<[u8; KEY_BYTES]> {
    let path = dir.join(FILE_NAME);
    match fs::read(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        read => return read?.try_into().map_err(|_| io::Error::other("not a key")),
    }
    net::private::make_dir(dir)?;
    // Written beside it, and linked: of two processes that make a key at the same moment, both get the first
    // one's.
    let (key, beside) = (random(), dir.join(format!("{FILE_NAME}.{}", std::process::id())));
    let written = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&beside);
    let linked =
        written.and_then(|mut file| file.write_all(&key)).and_then(|()| fs::hard_link(&beside, &path));
    let _ = fs::remove_file(&beside);
    match linked {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => fs::read(&path)?.try_into().map_err(|_| io::Error::other("not a key")),
    }
}

fn random() -> [u8; KEY_BYTES] {
    net::private::random_bytes()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use super::*;

    #[test]
    fn keys_are_made_once_and_private() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path().join("throng");
        let key = read_or_make(&dir).unwrap();
        assert_eq!(read_or_make(&dir).unwrap(), key);
        assert_ne!(key, random());
        assert_eq!(fs::metadata(dir.join(FILE_NAME)).unwrap().mode() & 0o777, 0o600);
        assert_eq!(fs::metadata(&dir).unwrap().mode() & 0o777, 0o700);
        assert_eq!(fs::read_dir(&dir).unwrap().count(), 1);
    }
}
