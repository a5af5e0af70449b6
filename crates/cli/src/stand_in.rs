//! JSON on standard output in place of what was asked for: programs that read it are told of an error there,
//! too.

use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::secrets;

/// Short flags without a value, which may stand before another in one word.
const SWITCHES: [char; 3] = ['q', 'v', 'y'];
/// Set while standard output is to be JSON (`--format json`, `report --json`), and nothing is on it yet.
static LACKS_JSON: AtomicBool = AtomicBool::new(false);

/// Reads from a command line, be it one that clap refuses, whether it asks for JSON.
pub(crate) fn begin<'a>(words: impl IntoIterator<Item = &'a str> + Clone) {
    LACKS_JSON.store(asks_for_json(words), Ordering::Relaxed);
}

/// Returns whether a command line has a format that is JSON, or the flag that `report` has in its place.
fn asks_for_json<'a>(words: impl IntoIterator<Item = &'a str> + Clone) -> bool {
    let has_flag = words.clone().into_iter().take_while(|word| *word != "--").any(|word| word == "--json");
    has_flag || formats(words).contains(&"json")
}

/// The formats that a command line asks for, in every spelling that clap takes.
pub(crate) fn formats<'a>(words: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    // Behind it are no flags.
    let mut words = words.into_iter().take_while(|word| *word != "--");
    let mut found = Vec::new();
    while let Some(word) = words.next() {
        let value = match word.strip_prefix("--format") {
            Some(value) if value.is_empty() || value.starts_with('=') => Some(value),
            Some(_) => None,
            None => format_cluster(word),
        };
        found.extend(value.map(|value| match value {
            "" => words.next().unwrap_or_default(),
            value => value.strip_prefix('=').unwrap_or(value),
        }));
    }
    found
}

/// The text after the `f` of `-f` or `-qf`.
fn format_cluster(word: &str) -> Option<&str> {
    let (before, text) = word.strip_prefix('-')?.split_once('f')?;
    before.chars().all(|letter| SWITCHES.contains(&letter)).then_some(text)
}

/// Standard output has what was asked for, or a part of it.
pub(crate) fn note_printed() {
    LACKS_JSON.store(false, Ordering::Relaxed);
}

/// Prints JSON that stands in for what was asked for, if that is JSON and nothing was printed.
pub(crate) fn print(json: &str) {
    if LACKS_JSON.swap(false, Ordering::Relaxed) {
        // The failure that it tells of is on standard error as well.
        let _ = io::stdout().write_all(secrets::scrub(json).as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_of_json_is_json() {
        for words in [
            "--format json",
            "--format=json",
            "-f json",
            "-fjson",
            "-f=json",
            "-qf json",
            "-qfjson",
            "-qvf=json",
        ] {
            assert_eq!(formats(words.split(' ')), ["json"], "{words}");
        }
        for words in ["--form json", "--formats=json", "-- -fjson", "-bfjson", "--fleet json", "-h"] {
            assert!(formats(words.split(' ')).is_empty(), "{words}");
        }
        assert_eq!(formats(["-f"]), [""]);
        for (words, is_json) in [("report last --json", true), ("x -f json", true), ("x -- --json", false)] {
            assert_eq!(asks_for_json(words.split(' ')), is_json, "{words}");
        }
    }
}
