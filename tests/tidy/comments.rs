//! How comments speak: docs begin with what a thing is or does, and comments beside code say why.

use super::{assert_none, read, rust_files};

/// Words that open a clause in the place of the noun or the verb that a reader looks for.
pub(super) const CLAUSES: [&str; 14] = [
    "Of", "To", "From", "With", "What", "Who", "Whom", "Whose", "Which", "Whether", "Where", "That", "Those",
    "So",
];

/// The most columns of a comment: code has 110, and a last word may stand out.
const COLUMNS_MAX: usize = 120;

/// Lines of comments beside the code, in percent of its lines: what has been reached, so that it does not fall.
const WHY_PERCENT_MIN: f64 = 2.5;

#[test]
fn docs_begin_with_a_noun_or_a_verb() {
    let clauses = |file: &String| {
        let found = paragraphs(&read(file)).into_iter().filter(|(_, text)| opens_clause(text));
        let found = found.filter(|(_, text)| !is_help(file, text));
        found.map(|(number, text)| format!("{file}:{number}: {text}")).collect::<Vec<_>>()
    };
    assert_none("docs that begin with a clause", rust_files().iter().flat_map(clauses).collect());
}

#[test]
fn comments_fit_a_screen() {
    let wide = |file: &String| {
        let text = read(file);
        let wide: Vec<String> =
            wide_comments(&text).iter().map(|number| format!("{file}:{number}")).collect();
        wide
    };
    assert_none("comments that are too wide", rust_files().iter().flat_map(wide).collect());
}

#[test]
fn documented_bools_are_returned() {
    let wrong = |file: &String| {
        let text = read(file);
        let wrong: Vec<String> =
            false_whethers(&text).into_iter().map(|name| format!("{file}: {name}")).collect();
        wrong
    };
    assert_none(
        "functions that return no bool, and are said to",
        rust_files().iter().flat_map(wrong).collect(),
    );
}

#[test]
fn documented_bools_are_found() {
    let doc = "/// Returns whether it is so.\n#[must_use]\n";
    for (code, expected) in [
        ("fn is_so(&self) -> bool {\n", None),
        ("fn is_so(\n    &self,\n) -> io::Result<bool> {\n", None),
        ("fn check(&self) -> Result<(), Failure> {\n", Some("check")),
        ("pub(crate) fn check(&self);\nfn is_other() -> bool {\n", Some("check")),
        ("is_so: bool,\n", None),
    ] {
        assert_eq!(false_whethers(&format!("{doc}{code}")).first().map(String::as_str), expected, "{code}");
    }
}

#[test]
fn clauses_are_told_from_nouns() {
    for (code, expected) in [
        ("/// What a step does.\nfn step() {}", true),
        ("//! Whose turn it is,\n//! and when.", true),
        ("/// A step.\n///\n/// So it ends.\nfn step() {}", true),
        ("/// The work of a step,\n/// Where there is any.\nfn step() {}", false),
        ("/// Sorts steps.\nfn step() {}", false),
        ("// What it does.", false),
    ] {
        assert_eq!(paragraphs(code).iter().any(|(_, text)| opens_clause(text)), expected, "{code}");
    }
}

#[test]
fn comments_say_why() {
    let sources =
        rust_files().into_iter().filter(|file| file.starts_with("crates/") && file.contains("/src/"));
    let sources = sources.filter(|file| !file.contains("/tests") && !file.ends_with("tests.rs"));
    let counts = sources.map(|file| count(&read(&file)));
    let (code, whys) = counts.fold((0, 0), |(code, whys), of| (code + of.0, whys + of.1));
    let percent = 100.0 * whys as f64 / code as f64;
    println!("{whys} lines of comments beside {code} lines of code: {percent:.2}%");
    assert!(percent >= WHY_PERCENT_MIN, "{percent:.2}% of the lines of code say why, {WHY_PERCENT_MIN}% did");
}

#[test]
fn docs_and_tests_do_not_count() {
    let code = "//! Docs.\n\n/// Docs.\nfn f() {\n    // Why.\n    g(); // why\n}\n\n\
                #[cfg(test)]\nmod tests {\n    // Why.\n    fn t() {}\n}\n\n#[cfg(test)]\nmod more;\nstruct S;\n";
    assert_eq!(count(code), (4, 2));
}

/// The numbers of lines with a comment alone that are too wide; diagrams and tables cannot be wrapped.
fn wide_comments(text: &str) -> Vec<usize> {
    let mut is_diagram = false;
    let mut wide = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let Some(comment) = line.trim_start().strip_prefix("//") else { continue };
        let comment = comment.trim_start_matches(['/', '!', ' ']);
        is_diagram ^= comment.starts_with("```");
        if line.chars().count() > COLUMNS_MAX && !is_diagram && !comment.starts_with('|') {
            wide.push(number);
        }
    }
    wide
}

/// The functions that are documented to return whether something is so, and return no `bool`.
fn false_whethers(text: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    for (_, rest) in text.match_indices("/// Returns whether ").map(|(at, _)| text.split_at(at)) {
        let code = rest
            .lines()
            .map(str::trim_start)
            .skip_while(|line| line.starts_with("///") || line.starts_with('#'));
        let code = code.collect::<Vec<_>>().join(" ");
        let signature = code.split(['{', ';']).next().unwrap_or_default();
        let Some((_, of_function)) = signature.split_once("fn ") else { continue };
        let returned = signature.split("->").last().unwrap_or_default();
        if !returned.contains("bool") || !signature.contains("->") {
            wrong.push(of_function.split(['(', '<']).next().unwrap_or_default().to_owned());
        }
    }
    wrong
}

/// The paragraphs of documentation, each with the number of its first line.
fn paragraphs(text: &str) -> Vec<(usize, String)> {
    let mut paragraphs: Vec<(usize, String)> = Vec::new();
    let mut is_open = false;
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.trim_start();
        let doc = line.strip_prefix("/// ").or_else(|| line.strip_prefix("//! "));
        match (doc, paragraphs.last_mut().filter(|_| is_open)) {
            (Some(doc), Some((_, paragraph))) => paragraph.extend([" ", doc]),
            (Some(doc), None) => paragraphs.push((number, doc.to_owned())),
            (None, _) => {}
        }
        is_open = doc.is_some();
    }
    paragraphs
}

fn opens_clause(paragraph: &str) -> bool {
    paragraph.split([' ', ',']).next().is_some_and(|first| CLAUSES.contains(&first))
}

/// Returns whether a paragraph is the help of a flag, which has no full stop: the reader has the flag's name
/// before it.
fn is_help(file: &str, paragraph: &str) -> bool {
    file.starts_with("crates/cli/") && !paragraph.ends_with('.')
}

/// Lines of code, and lines of comments beside it, documentation and tests apart.
fn count(text: &str) -> (usize, usize) {
    let (mut code, mut whys, mut is_test) = (0, 0, false);
    for line in text.lines() {
        is_test |= line == "#[cfg(test)]";
        if is_test {
            // The item below the attribute ends where a line without indent does.
            is_test = line != "}" && (line.starts_with(' ') || !line.ends_with(';'));
            continue;
        }
        match line.trim_start() {
            "" => {}
            line if line.starts_with("///") || line.starts_with("//!") => {}
            line if line.starts_with("//") => whys += 1,
            line => {
                code += 1;
                whys += usize::from(line.contains("; // ") || line.contains(", // "));
            }
        }
    }
    (code, whys)
}
