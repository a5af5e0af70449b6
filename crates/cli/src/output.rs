//! Where every verb's words and files go.

use std::io::{self, Write};

use crate::exit::{Exit, Failure};
use crate::stand_in;

/// Prints what a verb was asked for. A reader that has seen enough (`| head`) is not a failure.
pub(crate) fn print(text: &str) -> Result<Exit, Failure> {
    stand_in::note_printed();
    match io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::could_not("write_stdout", "write to standard output", error))
        }
        _ => Ok(Exit::Fine),
    }
}
