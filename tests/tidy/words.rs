//! One word per thing in everything that users read: the sentences of findings, helps, pages and docs.

use std::process::Command;

use results::finding::{Cause, Caveat, Finding, Loss, Note};

use super::{assert_none, read};

/// A word that is not used, and the one in its place.
struct Refused {
    word: &'static str,
    use_instead: &'static str,
}

const fn refused(word: &'static str, use_instead: &'static str) -> Refused {
    Refused { word, use_instead }
}

const REFUSED: &[Refused] = &[
    refused("figure", "metric"),
    refused("figures", "metrics"),
    refused("level of load", "load level"),
    refused("levels of load", "load levels"),
    refused("usable", "connected, ready"),
    refused("trusted", "a caveat, or what limited it"),
    refused("person", "client, user"),
    refused("people", "clients, users"),
    refused("somebody", "a client, a user"),
    refused("nobody", "no client, no user"),
    refused("visitor", "client"),
    refused("visitors", "clients"),
    refused("dialect", "protocol"),
    refused("dialects", "protocols"),
    refused("came twice", "duplicated"),
    refused("came too often", "duplicated"),
];

/// A refused word that a text may have.
struct Allowed {
    text: &'static str,
    word: &'static str,
    /// The reason for it.
    #[expect(dead_code, reason = "for the reader of this list")]
    why: &'static str,
}

const ALLOWED: &[Allowed] = &[
    Allowed { text: "METHODOLOGY.md", word: "visitor", why: "the feature of visits has visitors" },
    Allowed { text: "METHODOLOGY.md", word: "visitors", why: "the feature of visits has visitors" },
    Allowed { text: "METHODOLOGY.md", word: "figures", why: "the heading to which pages link" },
    Allowed { text: "docs/APP.md", word: "visitor", why: "the feature of visits has visitors" },
    Allowed { text: "docs/LOAD-SHAPES.md", word: "visitor", why: "the feature of visits has visitors" },
];

/// Pages whose text is in them, and not in the code that fills them.
const PAGES: [&str; 8] = [
    "crates/report/src/html/frame.html",
    "crates/report/src/html/page.html",
    "crates/report/src/html/shootout/shootout.html",
    "crates/web/src/pages/history.html",
    "crates/web/src/pages/layout.html",
    "crates/web/src/pages/live.html",
    "crates/web/src/pages/message.html",
    "crates/web/src/pages/new.html",
];

/// The refused words of a text, each with what to write.
fn found(name: &str, text: &str) -> Vec<String> {
    let letters: String = text
        .chars()
        .map(|c| if c.is_alphanumeric() || "-_.".contains(c) { c.to_ascii_lowercase() } else { ' ' })
        .collect();
    // A sentence ends with a dot, and a name (`person.id`, `--dialect`) has one within, or dashes.
    let words: Vec<&str> = letters.split_whitespace().map(|word| word.trim_end_matches('.')).collect();
    let line = format!(" {} ", words.join(" "));
    let is_allowed = |word: &str| ALLOWED.iter().any(|allowed| allowed.text == name && allowed.word == word);
    let has = |word: &str| line.contains(&format!(" {word} "));
    REFUSED
        .iter()
        .filter(|refused| has(refused.word) && !is_allowed(refused.word))
        .map(|Refused { word, use_instead }| format!("{name}: {word:?}; use {use_instead}"))
        .collect()
}

/// Markdown without code, links' targets and tags.
fn prose(markdown: &str) -> String {
    let mut is_code = false;
    let lines = markdown.lines().filter(|line| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        !is_code && !is_fence && !line.starts_with("    ")
    });
    let text = lines.collect::<Vec<_>>().join("\n");
    // Every second part is between two backticks.
    text.split('`').step_by(2).map(|part| without(part, "](", ")")).collect::<Vec<_>>().join(" ")
}

/// The text without each part from `open` to `close`.
fn without(text: &str, open: &str, close: &str) -> String {
    let mut parts = text.split(open);
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |left, part| left + " " + part.split_once(close).map_or("", |(_, rest)| rest))
}

/// The text of a template that a reader sees.
fn shown(template: &str) -> String {
    ["{%", "{{", "<style", "<script", "<"]
        .iter()
        .zip(["%}", "}}", "</style>", "</script>", ">"])
        .fold(template.to_owned(), |text, (open, close)| without(&text, open, close))
}

fn output_of(words: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_throng")).args(words).output().expect("it starts");
    String::from_utf8(output.stdout).expect("text")
}

#[test]
fn findings_use_the_words_of_the_table() {
    fn sentences<F: Finding>(examples: &[F]) -> Vec<String> {
        examples.iter().flat_map(|finding| found(finding.key(), &finding.to_string())).collect()
    }
    let all = [
        sentences(&Cause::examples()),
        sentences(&Caveat::examples()),
        sentences(&Loss::examples()),
        sentences(&Note::examples()),
    ];
    assert_none("sentences with other words", all.concat());
}

#[test]
fn helps_use_the_words_of_the_table() {
    let overview = output_of(&["-h"]);
    let verbs: Vec<&str> = overview
        .lines()
        .filter_map(|line| line.strip_prefix("  ").filter(|line| !line.starts_with(' ')))
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    assert!(verbs.len() > 20 && verbs.contains(&"echo"), "{verbs:?}");
    let mut wrong = found("throng -h", &overview);
    for verb in verbs {
        for flag in ["-h", "--help"] {
            wrong.extend(found(&format!("throng {verb} {flag}"), &output_of(&[verb, flag])));
        }
    }
    assert_none("helps with other words", wrong);
}

#[test]
fn pages_use_the_words_of_the_table() {
    let of = |page: &&str| found(page, &shown(&read(page)));
    assert_none("pages with other words", PAGES.iter().flat_map(of).collect());
}

#[test]
fn docs_use_the_words_of_the_table() {
    let pages = super::tracked_files();
    let is_doc = |file: &&String| {
        let is_of_users = file.starts_with("docs/") && !file.starts_with("docs/logs/");
        file.ends_with(".md") && (is_of_users || ["README.md", "METHODOLOGY.md"].contains(&file.as_str()))
    };
    let docs: Vec<&String> = pages.iter().filter(is_doc).collect();
    assert!(docs.len() > 20, "{docs:?}");
    let of = |file: &&String| found(file, &prose(&read(file)));
    assert_none("docs with other words", docs.iter().flat_map(of).collect());
}

#[test]
fn refused_words_are_told_from_names() {
    for (text, is_refused) in [
        ("All figures below.", true),
        ("each level of load", true),
        ("{person.id} and --dialect", false),
        ("rooms and metrics", false),
    ] {
        assert_eq!(!found("a text", text).is_empty(), is_refused, "{text}");
    }
    assert_eq!(found("docs", &prose("a [page](figures.md) of `figures`\n```\npeople\n```\n")), [""; 0]);
    assert_eq!(found("page", &shown("<figure>{{ figure }}</figure>")), [""; 0]);
}
