//! How throng ends.

use std::env;
use std::fmt::{self, Display, Formatter};
use std::io::{self, IsTerminal};
use std::process::ExitCode;

use clap::error::ContextKind;
use miette::{GraphicalReportHandler, GraphicalTheme};
use results::Run;
use results::conclusion::{self, Outcome};
use results::format::{printable, printable_lines};

use crate::{locale, mistyped, stand_in, stderr};

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
    /// The measurements cannot answer the question.
    CannotTell = 5,
    /// The generator could not start, or not go on, which is no fault of the server's.
    GeneratorFailed = 6,
    /// Interrupted; what was measured has been written.
    Interrupted = 130,
}

impl Exit {
    /// How a run ends that was not interrupted: as its results say.
    pub(crate) fn of(run: &Run, is_strict: bool) -> Self {
        // Before the limits: one that was broken, or kept, by the generator's doing is no verdict on the
        // server.
        if is_strict && conclusion::is_untrusted(run) {
            return Exit::Untrusted;
        }
        match conclusion::conclude(run).outcome {
            Outcome::Broken => Exit::LimitBroken,
            Outcome::Held | Outcome::Nothing => Exit::Fine,
        }
    }

    /// Says on standard error why a run fails that has passed: its results do not know of `--strict`.
    pub(crate) fn tell(self) {
        if self == Exit::Untrusted {
            stderr::line(format_args!(
                "throng: exit code {}, by --strict: the generator or the machine, not the server, may have decided the \
                 result",
                self as u8
            ));
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(exit as u8)
    }
}

/// The failure of a command: a key and a flag for programs, a text for users.
#[derive(Debug)]
pub(crate) struct Failure {
    exit: Exit,
    key: String,
    flag: Option<String>,
    text: String,
}

impl Failure {
    /// The command line is at fault: `flag` names which part of it, and the key after it.
    pub(crate) fn usage(flag: &str, problem: impl Display) -> Self {
        // A word of the command line, a file's name or a line of it may come from anybody, and must not steer
        // the terminal.
        let flag = printable(flag);
        Self {
            exit: Exit::BadUsage,
            key: format!("usage.{}", slug(&flag)),
            text: printable_lines(&format!("{flag}: {problem}")),
            flag: Some(flag),
        }
    }

    /// Makes a failure caused by something outside throng; `key` names the attempted action.
    pub(crate) fn could_not(key: &str, what: impl Display, why: impl Display) -> Self {
        Self {
            exit: Exit::CouldNotRun,
            key: format!("could_not.{key}"),
            flag: None,
            text: printable_lines(&format!("could not {what}: {why}")),
        }
    }

    /// Signals cannot be handled: for that, a thread has to be started.
    pub(crate) fn without_signals(error: &io::Error) -> Self {
        Self::could_not("handle_signals", "handle signals", net::errors::told(error))
    }

    /// The generator is at fault: its memory, its processes, its fleet.
    pub(crate) fn of_generator(key: &str, what: impl Display, why: impl Display) -> Self {
        let failure = Self::could_not(key, what, why);
        Self { exit: Exit::GeneratorFailed, key: format!("generator.{key}"), ..failure }
    }

    /// The user has had enough before there was anything to show.
    pub(crate) fn interrupted() -> Self {
        Self {
            exit: Exit::Interrupted,
            key: "interrupted".to_owned(),
            flag: None,
            text: "interrupted before there was anything to show".to_owned(),
        }
    }

    /// Makes this a failure of a file that a user wrote: its name and line stand in the place of a flag.
    pub(crate) fn in_file(self) -> Self {
        Self { key: "usage.file".to_owned(), ..self }
    }

    /// A failure for a mistake in a file that a user wrote.
    pub(crate) fn mistake(mistake: &suite::Mistake) -> Self {
        let failure = Self::usage(&mistake.place(), "").in_file();
        Self { text: rendered(mistake), ..failure }
    }

    /// Makes a failure of an error of clap in the command line `words`.
    pub(crate) fn of_clap(error: &clap::Error, command: &clap::Command, words: &[String]) -> Self {
        let context = |kind| error.get(kind).map(ToString::to_string);
        let argument = context(ContextKind::InvalidArg).or_else(|| context(ContextKind::InvalidSubcommand));
        // With the name of its value: `--clients <N>`.
        let flag = argument.and_then(|argument| argument.split([' ', '=']).next().map(str::to_owned));
        let failure = Self::usage(flag.as_deref().unwrap_or("command"), "");
        let text = printable_lines(&mistyped::told(error, command, words));
        Self { flag: flag.as_deref().map(printable), text, ..failure }.because(variant(&error.kind()))
    }

    /// Adds to the key why, where there are several reasons.
    pub(crate) fn because(self, reason: impl Display) -> Self {
        Self { key: format!("{}.{reason}", self.key), ..self }
    }

    /// Returns whether trying again cannot help.
    pub(crate) fn is_usage(&self) -> bool {
        self.exit == Exit::BadUsage
    }

    /// Tells the user, on standard error, and a program that has asked for JSON.
    pub(crate) fn report(self) -> Exit {
        stderr::note(&self.text);
        self.tell_program();
        self.exit
    }

    /// Prints the error in place of the JSON that was asked for, unless there is some already.
    pub(crate) fn tell_program(&self) {
        let Failure { key, flag, text, .. } = self;
        let error = serde_json::json!({ "error": { "key": key, "flag": flag, "text": text.trim_end() } });
        stand_in::print(&format!("{error}\n"));
    }

    /// The key, for programs and tests.
    #[cfg(test)]
    pub(crate) fn key(&self) -> &str {
        &self.key
    }

    /// The part of the command line, or the place in a file.
    #[cfg(test)]
    pub(crate) fn flag(&self) -> Option<&str> {
        self.flag.as_deref()
    }
}

impl Display for Failure {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// The first word of a flag as part of a key: `connect_rate` of `--connect-rate 0`.
fn slug(flag: &str) -> String {
    let word = flag.split_whitespace().next().unwrap_or_default();
    word.trim_matches(['-', '<', '>', '[', ']']).replace('-', "_").to_lowercase()
}

/// The variant of an error as part of a key: `no_run` of `StoreError::NoRun { .. }`.
pub(crate) fn variant(error: &impl fmt::Debug) -> String {
    let text = format!("{error:?}");
    // Derived, so that no table of names has to be kept beside the errors.
    let name = text.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
    let mut key = String::new();
    for c in name.chars() {
        if c.is_uppercase() && !key.is_empty() {
            key.push('_');
        }
        key.extend(c.to_lowercase());
    }
    key
}

/// Returns whether neither the user (no-color.org) nor the terminal has had enough of colours.
pub(crate) fn allows_colour() -> bool {
    env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()) && !stderr::is_dumb()
}

/// The mistake with the line it is in, underlined; in colour and Unicode where the terminal and the user like them.
pub(crate) fn rendered(mistake: &suite::Mistake) -> String {
    let wants_colour = io::stderr().is_terminal() && allows_colour();
    let theme = match (wants_colour, locale::is_ascii()) {
        (true, true) => GraphicalTheme::ascii(),
        (true, false) => GraphicalTheme::unicode(),
        (false, true) => GraphicalTheme::none(),
        (false, false) => GraphicalTheme::unicode_nocolor(),
    };
    let mut text = String::new();
    let rendered = GraphicalReportHandler::new_themed(theme).render_report(&mut text, mistake);
    rendered.map_or_else(|_| mistake.line(), |()| text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_name_the_flag_or_the_attempt() {
        let of = |failure: &Failure| (failure.key().to_owned(), failure.exit, failure.flag.clone());
        let usage = Failure::usage("--connect-rate 0", "no").because("too_low");
        let flag = Some("--connect-rate 0".to_owned());
        assert_eq!(of(&usage), ("usage.connect_rate.too_low".to_owned(), Exit::BadUsage, flag));
        let could_not = Failure::could_not("write", "write a.json", "no room");
        assert_eq!(of(&could_not), ("could_not.write".to_owned(), Exit::CouldNotRun, None));
        let of_generator = Failure::of_generator("go_on", "go on", "no memory");
        assert_eq!(of(&of_generator), ("generator.go_on".to_owned(), Exit::GeneratorFailed, None));
        assert_eq!(of(&Failure::interrupted()), ("interrupted".to_owned(), Exit::Interrupted, None));
        let in_file = Failure::usage("a.toml:2:7", "no").in_file();
        assert_eq!(of(&in_file), ("usage.file".to_owned(), Exit::BadUsage, Some("a.toml:2:7".to_owned())));
    }

    #[test]
    fn variants_are_parts_of_keys() {
        assert_eq!(variant(&clap::error::ErrorKind::ArgumentConflict), "argument_conflict");
        assert_eq!(variant(&Some(1)), "some");
    }
}
