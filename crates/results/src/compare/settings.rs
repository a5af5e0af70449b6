//! Settings that differ between the sides of a comparison, by their command lines: a level is but clients and a rate.

use std::collections::BTreeSet;

use crate::finding::Note;
use crate::run::Run;

/// Flags that change nothing of what is asked of a server.
pub const OWN_FLAGS: [&str; 31] = [
    "--allow-loss",
    "--cooldown",
    "--events",
    "--format",
    "--github",
    "--limit",
    "--metrics",
    "--name",
    "--no-preflight",
    "--no-report",
    "--no-store",
    "--note",
    "--otlp",
    "--out",
    "--pin",
    "--quiet",
    "--require",
    "--resume",
    "--scrape",
    "--scrape-only",
    "--seed",
    "--server-pid",
    "--store",
    "--stream",
    "--strict",
    "--tui",
    "--verbose",
    "--wait-for",
    "-f",
    "-q",
    "-v",
];
/// The text in place of a secret: two command lines may have been recorded with different keys.
const HIDDEN: &str = "***";

/// The note on settings that differ.
pub(super) fn differ(a: &[Run], b: &[Run]) -> Option<Note> {
    let (of_a, of_b) = (all_asked(a), all_asked(b));
    let only = |one: &BTreeSet<String>, other: &BTreeSet<String>| {
        let only: Vec<&str> = one.difference(other).map(String::as_str).collect();
        (!only.is_empty()).then(|| only.join(" "))
    };
    let (only_a, only_b) = (only(&of_a, &of_b), only(&of_b, &of_a));
    (only_a.is_some() || only_b.is_some()).then_some(Note::CommandLines { only_a, only_b })
}

fn all_asked(side: &[Run]) -> BTreeSet<String> {
    side.iter().flat_map(asked).collect()
}

/// Each flag with its values, without the program, the verb, the URL and the flags of throng's own.
fn asked(run: &Run) -> Vec<String> {
    let mut flags: Vec<String> = Vec::new();
    for word in run.command.iter().skip(1).filter(|word| !is_target(run, word)) {
        match flags.last_mut() {
            _ if word.starts_with('-') => flags.push(word.clone()),
            // Its values, as many as there are: which flags take any is not known here.
            Some(flag) => *flag = format!("{flag} {word}"),
            // The verb, and the command before it.
            None => {}
        }
    }
    let is_own = |flag: &String| {
        let name = flag.split([' ', '=']).next().unwrap_or_default();
        OWN_FLAGS.contains(&name) || flag.contains(HIDDEN)
    };
    flags.retain(|flag| !is_own(flag));
    flags
}

/// Returns whether a word names the server, with a scheme or without.
fn is_target(run: &Run, word: &str) -> bool {
    let bare = |url: &str| url.split_once("://").map_or(url, |(_, rest)| rest).to_owned();
    let url = bare(&run.target.url);
    let host = url.split(['/', ':']).next().unwrap_or_default();
    !host.is_empty() && bare(word).starts_with(host)
}

#[cfg(test)]
mod tests {
    use std::slice::from_ref;

    use super::*;

    fn run(line: &str) -> Run {
        let mut run = Run { command: line.split(' ').map(Into::into).collect(), ..Run::default() };
        run.target.url = "ws://localhost:8080/ws".into();
        run
    }

    #[test]
    fn settings_of_one_side_are_said() {
        let a =
            run("throng echo ws://localhost:8080/ws --clients 100 -c 1 --stream a --out=d --token ***12ab");
        let b = run(
            "/bin/throng echo localhost/ws --stream b --clients 100 -c 100 --origin http://b.example -q --token ***cd34",
        );
        let said = differ(from_ref(&a), from_ref(&b));
        let (only_a, only_b) = (Some("-c 1".into()), Some("--origin http://b.example -c 100".into()));
        assert_eq!(said, Some(Note::CommandLines { only_a, only_b }));
        assert_eq!(differ(&[a.clone(), b.clone()], &[b, a.clone()]), None, "both sides have both");
        assert_eq!(differ(from_ref(&a), from_ref(&a)), None);
    }
}
