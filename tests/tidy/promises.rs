//! Pages of promises: each row of their tables names the tests that hold it, and these exist.

use super::wordings::tests_of;
use super::{assert_none, read, root};

/// Pages with a table of promises.
const PAGES: [&str; 2] = ["SECURITY.md", "docs/RELIABILITY.md"];

/// The head of such a table.
const HEAD: &str = "| promise | shown by |";

/// The start of a proof that repeats the row above.
const SAME: &str = "the same";

#[test]
fn promises_name_tests_that_exist() {
    let mut unproven = Vec::new();
    for page in PAGES {
        let (text, mut file) = (read(page), String::new());
        let proofs: Vec<&str> = proofs(&text).collect();
        assert!(!proofs.is_empty(), "{page}: no table of promises");
        for proof in proofs {
            unproven.extend(gone(proof, &mut file).into_iter().map(|name| format!("{page}: {name}")));
        }
    }
    assert_none("promises without their tests", unproven);
}

#[test]
fn names_of_tests_are_told_from_words() {
    let mut file = String::new();
    for (proof, expected) in [
        ("`make test`", &["`make test`"][..]),
        ("the same", &[]),
        ("::promises_name_tests_that_exist", &["::promises_name_tests_that_exist"]),
        ("tests/tidy/promises.rs::promises_name_tests_that_exist", &[]),
        ("the same, ::promises_name_nothing", &["tests/tidy/promises.rs::promises_name_nothing"]),
        ("`…_that_exist`, `…_from_words`", &[]),
        ("`…_that_vanish` (shown)", &["tests/tidy/promises.rs::…_that_vanish"]),
        // A function, but no test.
        ("`has_test`", &["tests/tidy/promises.rs::has_test"]),
        ("tests/tidy/nowhere.rs", &["tests/tidy/nowhere.rs::"]),
        ("`tests/tidy`; `tests/tidy/pages.rs`", &[]),
    ] {
        assert_eq!(gone(proof, &mut file), expected, "{proof}");
    }
    let page =
        "| a | b |\n\n| promise | shown by |\n|---|---|\n| one \\| two | `three` |\n\n| four | five |\n";
    assert_eq!(proofs(page).collect::<Vec<_>>(), ["`three`"]);
}

/// The second cell of each row of the table of promises.
fn proofs(page: &str) -> impl Iterator<Item = &str> {
    let below = page.lines().skip_while(|line| *line != HEAD).skip(2);
    below.take_while(|row| row.starts_with('|')).map(|row| {
        let (_, proof) = row.trim_end_matches([' ', '|']).rsplit_once(" | ").expect("two cells");
        proof
    })
}

/// Names in a proof that lead to no test, or the whole of a proof that has no name. A name without a file is of
/// the file that was named last.
fn gone(proof: &str, file: &mut String) -> Vec<String> {
    let is_of_name = |c: char| c.is_alphanumeric() || "/_.:…".contains(c);
    let mut is_named = proof.starts_with(SAME);
    let mut gone = Vec::new();
    for word in proof.split(|c: char| !is_of_name(c)) {
        let (path, test) = match word.split_once("::") {
            Some(parts) => parts,
            None if word.contains('/') => (word, ""),
            None if word.contains('_') => ("", word),
            None => continue,
        };
        if !path.is_empty() {
            path.clone_into(file);
        }
        is_named = true;
        if !has_test(file, test) {
            gone.push(format!("{file}::{test}"));
        }
    }
    if !is_named {
        gone.push(proof.to_owned());
    }
    gone
}

/// Returns whether the file has a test of that name, or any if there is none; a folder's tests have no names.
fn has_test(file: &str, name: &str) -> bool {
    let path = root().join(file);
    let is_meant = |test: &str| match name.strip_prefix('…') {
        Some(end) => test.ends_with(end),
        None => name.is_empty() || test == name,
    };
    if path.is_dir() {
        return name.is_empty();
    }
    path.is_file() && tests_of(&read(file)).iter().any(|test| is_meant(&test.name))
}
