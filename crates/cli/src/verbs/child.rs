//! The hidden verb by which throng starts itself as a child-process agent.

use std::env;
use std::process::Command;

use crate::exit::{Exit, Failure};

/// The verb.
pub(crate) const NAME: &str = "child-agent";

/// The command that starts one.
pub(crate) fn command() -> Command {
    // The program may have been replaced or moved while it runs; this path still leads to it.
    let program = env::current_exe().unwrap_or_else(|_| "/proc/self/exe".into());
    let mut command = Command::new(program);
    command.arg(NAME);
    command
}

/// Works for the parent until it closes our input.
pub(crate) fn run() -> Result<Exit, Failure> {
    // Ctrl-C reaches the whole process group; the parent tells its children when to end.
    net::signals::Interrupts::install().map_err(|error| Failure::could_not("handle signals", error))?;
    crew::run_child().map_err(|error| Failure::could_not("work for the parent", error))?;
    Ok(Exit::Fine)
}
