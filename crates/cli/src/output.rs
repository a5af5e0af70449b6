//! Output of every verb.

use std::fmt::Display;
use std::io::{self, Write};

use net::pipe;

use crate::exit::{Exit, Failure};
use crate::stand_in;

/// Prints what a verb was asked for. A reader that has seen enough (`| head`) is not a failure.
pub(crate) fn print(text: &str) -> Result<Exit, Failure> {
    // The kernel would give its number to the next file that is opened, and the text would go there.
    check_open()?;
    stand_in::note_printed();
    finish(io::stdout().write_all(text.as_bytes()))
}

/// A word of a command as a shell takes it.
pub(crate) fn quoted(word: &str) -> String {
    results::command_line(&[word.to_owned()])
}

/// The outcome of writing all that a verb was asked for. A reader that is gone wanted no more.
pub(crate) fn finish(written: io::Result<()>) -> Result<Exit, Failure> {
    match written {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(not_written(error)),
        _ => Ok(Exit::Fine),
    }
}

/// Refuses a standard output that is closed (`>&-`): what is written there would be lost.
pub(crate) fn check_open() -> Result<(), Failure> {
    if pipe::stdout_was_closed() { Err(not_written("it is closed")) } else { Ok(()) }
}

/// Makes the failure of writing to standard output.
pub(crate) fn not_written(why: impl Display) -> Failure {
    Failure::could_not("write_stdout", "write to standard output", why)
}
