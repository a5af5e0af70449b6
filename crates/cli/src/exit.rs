//! How throng ends.

use std::fmt::Display;
use std::process::ExitCode;

/// The exit codes; scripts and CI rely on them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Everything asked for was done.
    Fine = 0,
    /// Could not run.
    CouldNotRun = 1,
    /// The command line makes no sense.
    BadUsage = 2,
    /// A limit was broken.
    LimitBroken = 3,
    /// The result is not trustworthy, and `--strict` was given.
    Untrusted = 4,
    /// Interrupted; what was measured has been written.
    Interrupted = 130,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(exit as u8)
    }
}

/// Why nothing came of it, in words for the user.
#[derive(Debug)]
pub(crate) struct Failure {
    exit: Exit,
    message: String,
}

impl Failure {
    /// The command line is at fault: `flag` names which part of it.
    pub(crate) fn usage(flag: &str, problem: impl Display) -> Self {
        Self { exit: Exit::BadUsage, message: format!("{flag}: {problem}") }
    }

    /// Something outside is.
    pub(crate) fn could_not(what: impl Display, why: impl Display) -> Self {
        Self { exit: Exit::CouldNotRun, message: format!("could not {what}: {why}") }
    }

    /// Tells the user, on standard error.
    pub(crate) fn report(self) -> Exit {
        eprintln!("throng: {}", self.message);
        self.exit
    }
}
