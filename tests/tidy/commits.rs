//! Subjects of commits, which a log shows in one line each.

use super::comments::CLAUSES;
use super::{assert_none, git};

/// The newest commits: those before them were written under other rules.
const COMMITS: &str = "-100";

const SUBJECT_CHARS_MAX: usize = 72;

#[test]
fn subjects_are_short_sentences() {
    let subjects = git(&["log", "--no-merges", COMMITS, "--format=%s"]);
    assert_none(
        "subjects that are long, or begin with no verb",
        subjects.lines().filter(|subject| !is_subject(subject)).map(str::to_owned).collect(),
    );
}

#[test]
fn subjects_are_told_from_others() {
    let long = format!("Count {}", "o".repeat(SUBJECT_CHARS_MAX));
    for (subject, expected) in [
        ("Count a duplicate once", true),
        ("count a duplicate once", false),
        ("Count a duplicate once.", false),
        ("What is counted once", false),
        (long.as_str(), false),
    ] {
        assert_eq!(is_subject(subject), expected, "{subject}");
    }
}

/// Returns whether a subject is short, begins with a capital and no clause, and has no full stop.
fn is_subject(subject: &str) -> bool {
    let first = subject.split(' ').next().unwrap_or_default();
    subject.chars().count() <= SUBJECT_CHARS_MAX
        && first.starts_with(char::is_uppercase)
        && !CLAUSES.contains(&first)
        && !subject.ends_with('.')
}
