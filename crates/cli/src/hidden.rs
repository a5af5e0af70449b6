//! The hidden verbs by which throng starts itself: as a child process that works for a run, as the guard of a
//! server ([`suite::guard`]), and with a command line that no other user may read.

use std::env;
use std::ffi::OsString;
use std::io;
use std::process::Command;

use crate::exit::{Exit, Failure};

/// A child process that works for its parent.
pub(crate) const CHILD: &str = "child-agent";
/// The guard of a server that throng has started.
pub(crate) const GUARD: &str = "guard";
/// The argument that makes a process read its command line from standard input, so that lists of processes
/// show no secrets.
pub(crate) const WORDS: &str = "from-stdin";

/// The command that starts a child process.
pub(crate) fn child() -> Command {
    // The program may have been replaced or moved while it runs; this path still leads to it.
    let program = env::current_exe().unwrap_or_else(|_| "/proc/self/exe".into());
    let mut command = Command::new(program);
    command.arg(CHILD);
    command
}

/// Works for the parent until it closes our input.
pub(crate) fn run_child() -> Result<Exit, Failure> {
    // Ctrl-C reaches the whole process group; the parent tells its children when to end.
    net::signals::Interrupts::install().map_err(|error| Failure::without_signals(&error))?;
    crew::run_child().map_err(|error| Failure::could_not("work", "work for the parent", error))?;
    Ok(Exit::Fine)
}

/// Runs the program that throng's brief names, and ends it when throng says so or is gone.
pub(crate) fn run_guard() -> Result<Exit, Failure> {
    suite::guard::run().map_err(|error| Failure::could_not("guard", "guard the program", error))?;
    Ok(Exit::Fine)
}

/// The words, the program's name first: a line of JSON, as [`suite::measure`] and the pages of `throng ui`
/// write it.
pub(crate) fn read_words() -> Result<Vec<OsString>, Failure> {
    let mut line = String::new();
    let read = io::stdin().read_line(&mut line).map_err(io::Error::other);
    let words = read.and_then(|_| serde_json::from_str::<Vec<String>>(&line).map_err(io::Error::other));
    let words =
        words.map_err(|error| Failure::could_not("read_command_line", "read the command line", error))?;
    Ok(["throng".to_owned()].into_iter().chain(words).map(Into::into).collect())
}
