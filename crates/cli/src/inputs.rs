//! The files that a run reads its messages and its users from, each with a digest: a run that goes on later
//! must read the same.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::Mutex;

use net::files;
use sha2::{Digest, Sha256};

/// Digests by path, of this process, which makes one run.
static READ: Mutex<BTreeMap<String, String>> = Mutex::new(BTreeMap::new());

/// Reads a file of at most `bytes_max`.
pub(crate) fn read(path: &Path, bytes_max: u64) -> io::Result<Vec<u8>> {
    let bytes = files::read(path, bytes_max)?;
    note(path, &bytes);
    Ok(bytes)
}

/// Reads a file or a pipe of at most `bytes_max`.
pub(crate) fn read_any(path: &Path, bytes_max: u64) -> io::Result<Vec<u8>> {
    let bytes = files::read_any(path, bytes_max)?;
    note(path, &bytes);
    Ok(bytes)
}

/// Reads a text of at most `bytes_max`.
pub(crate) fn read_text(path: &Path, bytes_max: u64) -> io::Result<String> {
    let text = files::read_text(path, bytes_max)?;
    note(path, text.as_bytes());
    Ok(text)
}

fn note(path: &Path, bytes: &[u8]) {
    let digest = Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    READ.lock().expect("nothing panics while it is held").insert(path.display().to_string(), digest);
}

/// The SHA-256 of each file that was read so far, by its path.
pub(crate) fn digests() -> BTreeMap<String, String> {
    READ.lock().expect("nothing panics while it is held").clone()
}
