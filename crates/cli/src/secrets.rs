//! Credentials stay private: results, reports and logs are shared. This is what the process knows of its own
//! secrets: how they are shown, and which they are, so that nothing it says on standard error has one in it.

pub(crate) mod given;
mod key;

use std::borrow::Cow;
use std::ffi::OsString;
use std::sync::{Mutex, OnceLock, PoisonError};

use secret::{Flags, Mask, Secret};

use crate::protocol_flags;

static WORDS: OnceLock<Vec<OsString>> = OnceLock::new();
static FLAGS: OnceLock<Flags> = OnceLock::new();
static MASK: OnceLock<Mask> = OnceLock::new();
static KNOWN: Mutex<Vec<Secret>> = Mutex::new(Vec::new());

/// The process does what these words ask for, the program's name first: its own arguments, or what came over
/// a pipe.
pub(crate) fn begin(words: Vec<OsString>) {
    WORDS.set(words).expect("a process has one command line");
}

/// The command line of this process, fit to be recorded.
pub(crate) fn own_command() -> Vec<String> {
    command(own_words().map(|word| word.to_string_lossy().into_owned()))
}

/// The command line of this process for another one, whose arguments all users may read: a path is no text,
/// and stays the same bytes.
pub(crate) fn own_command_to_run() -> Vec<OsString> {
    let shown = |(word, shown): (&OsString, String)| {
        if *word.to_string_lossy() == *shown { word.clone() } else { shown.into() }
    };
    own_words().zip(own_command()).map(shown).collect()
}

fn own_words() -> impl Iterator<Item = &'static OsString> {
    WORDS.get().into_iter().flatten()
}

/// A command line to be recorded, without its secrets.
pub(crate) fn command(words: impl IntoIterator<Item = String>) -> Vec<String> {
    mask().command(words)
}

/// A URL without user and password, and without the values of the query that are secrets.
pub(crate) fn url(text: &str) -> String {
    mask().url(text)
}

/// A path with its query, without the values that are secrets.
pub(crate) fn place(text: &str) -> String {
    mask().place(text)
}

/// How this user's secrets are shown.
pub(crate) fn mask() -> &'static Mask {
    MASK.get_or_init(|| Mask::new(key::of_user(), flags().clone()))
}

/// The secrets that stand on a command line.
pub(crate) fn in_command(words: impl IntoIterator<Item = String>) -> Vec<Secret> {
    flags().in_command(words)
}

fn flags() -> &'static Flags {
    FLAGS.get_or_init(protocol_flags::of_secrets)
}

/// Registers secrets, which no output shows from then on.
pub(crate) fn know(secrets: impl IntoIterator<Item = Secret>) {
    // Else the word of the template would be hidden wherever it stands.
    let secrets = secrets.into_iter().filter(|secret| !is_placeholder(secret.reveal()));
    // A thread that has panicked must not make the others show what is secret.
    KNOWN.lock().unwrap_or_else(PoisonError::into_inner).extend(secrets);
}

/// Returns whether this stands for each client's own, and is no secret itself.
fn is_placeholder(text: &str) -> bool {
    let name = text.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')).unwrap_or_default();
    let is_known = name == "token" || name.starts_with("person.") || name.starts_with("data.");
    is_known && !name.contains(['{', '}'])
}

/// The text without secrets that others have quoted in it.
pub(crate) fn scrub(text: &str) -> Cow<'_, str> {
    secret::scrub(text, &KNOWN.lock().unwrap_or_else(PoisonError::into_inner))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_of_secrets_are_no_secrets() {
        const BETWEEN: &str = "{person.user}:s3cret:{person.n}";
        know(["{token}", "{person.token}", "{data.key}", r#"{"key":"s3cret"}"#, BETWEEN].map(Secret::from));
        let said = r#"{person.token}: no such placeholder here; {token} {data.key} {"key":"s3cret"}"#;
        assert_eq!(scrub(said), "{person.token}: no such placeholder here; {token} {data.key} ***");
        assert_eq!(scrub(BETWEEN), "***");
    }
}
