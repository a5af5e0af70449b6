//! How throng ends.

use std::env;
use std::fmt::{self, Display, Formatter};
use std::io::{self, IsTerminal};
use std::process::ExitCode;

use miette::{GraphicalReportHandler, GraphicalTheme};
use results::Run;
use results::conclusion::{self, Outcome};

use crate::stderr;

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
    /// What was asked cannot be told from what was measured.
    CannotTell = 5,
    /// The generator could not start, or not go on, which is no fault of the server's.
    GeneratorFailed = 6,
    /// Interrupted; what was measured has been written.
    Interrupted = 130,
}

impl Exit {
    /// How a run ends that was not interrupted: as its results say.
    pub(crate) fn of(run: &Run, is_strict: bool) -> Self {
        if is_strict && conclusion::is_untrusted(run) {
            return Exit::Untrusted;
        }
        match conclusion::conclude(run).outcome {
            Outcome::Broken => Exit::LimitBroken,
            Outcome::Held | Outcome::Nothing => Exit::Fine,
        }
    }
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

    /// The generator is at fault: its memory, its processes, its fleet.
    pub(crate) fn of_generator(what: impl Display, why: impl Display) -> Self {
        Self { exit: Exit::GeneratorFailed, ..Self::could_not(what, why) }
    }

    /// The user has had enough before there was anything to show.
    pub(crate) fn interrupted() -> Self {
        Self { exit: Exit::Interrupted, message: "interrupted before there was anything to show".to_owned() }
    }

    /// A file that somebody wrote is at fault.
    pub(crate) fn mistake(mistake: &suite::Mistake) -> Self {
        Self { exit: Exit::BadUsage, message: rendered(mistake) }
    }

    /// Whether trying again cannot help.
    pub(crate) fn is_usage(&self) -> bool {
        self.exit == Exit::BadUsage
    }

    /// Tells the user, on standard error.
    pub(crate) fn report(self) -> Exit {
        stderr::line(format_args!("throng: {}", self.message));
        self.exit
    }
}

impl Display for Failure {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// Whether the user has not had enough of colours (no-color.org).
pub(crate) fn allows_colour() -> bool {
    env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// The mistake with the line it is in, underlined; in colour where the terminal and the user like it.
pub(crate) fn rendered(mistake: &suite::Mistake) -> String {
    let wants_colour = io::stderr().is_terminal() && allows_colour();
    let theme = if wants_colour { GraphicalTheme::unicode() } else { GraphicalTheme::unicode_nocolor() };
    let mut text = String::new();
    let rendered = GraphicalReportHandler::new_themed(theme).render_report(&mut text, mistake);
    rendered.map_or_else(|_| mistake.line(), |()| text)
}
