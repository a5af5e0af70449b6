//! Where every verb's words and files go.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use crate::exit::{Exit, Failure};

/// Prints what a verb was asked for. A reader who has seen enough (`| head`) is no failure.
pub(crate) fn print(text: &str) -> Result<Exit, Failure> {
    match io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::could_not("write to standard output", error))
        }
        _ => Ok(Exit::Fine),
    }
}

/// Writes beside the file, then renames: a crash or a full disk leaves the old one whole.
pub(crate) fn replace(path: &Path, text: &str) -> io::Result<()> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(".part");
    let written = fs::write(&beside, text).and_then(|()| fs::rename(&beside, path));
    if written.is_err() {
        // Half a file is of no use to anybody; why it could not be written is what matters.
        let _ = fs::remove_file(&beside);
    }
    written
}
