//! The wording of every finding, once: docs/FINDINGS.md is the only place beside their tables that holds the sentences.

use std::fs;

use results::conclusion::Claim;
use results::finding::{Cause, Caveat, Finding, Loss, Note};

use crate::root;

/// The page that names every finding; `make findings` writes it.
const PAGE: &str = "docs/FINDINGS.md";

const HEAD: &str = "\
# Findings

A *finding* is a conclusion about a step or a run. It has a key that stays the same, numbers, and a
sentence. Results files carry all three (`docs/results.schema.json`): the cause of a bottleneck,
the caveats of a step and of a run, and what was lost; `throng compare --format json` has notes.
A *claim* is what the result says of the load, made of findings, and has a key (`verdict.claims`).
Programs compare keys and numbers, since sentences may be reworded. The numbers below are examples;
`make findings` writes this page.
";

fn table<F: Finding>(title: &str, examples: &[F]) -> String {
    let row = |finding: &F| {
        let numbers = finding.numbers();
        let names: Vec<String> = numbers.keys().map(|name| format!("`{name}`")).collect();
        let sentence = finding.to_string().replace('|', "\\|");
        format!("| `{}` | {} | {sentence} |\n", finding.key(), names.join(", "))
    };
    let rows: String = examples.iter().map(row).collect();
    format!("\n## {title}\n\n| key | numbers | sentence |\n|---|---|---|\n{rows}")
}

/// The table of claims, which are no findings, and have no numbers.
fn claims() -> String {
    let rows = Claim::KEYS.iter().map(|(key, meaning)| format!("| `{key}` | {meaning} |\n"));
    let head = "\n## Claims: what the result says of the load\n\n| key | meaning |\n|---|---|\n";
    head.to_owned() + &rows.collect::<String>()
}

fn page() -> String {
    let tables = [
        table("What held a step back", &Cause::examples()),
        table("Caveats: what weakens the numbers", &Caveat::examples()),
        table("Losses: what was lost, wrong or late", &Loss::examples()),
        table("Notes: what to know of a comparison", &Note::examples()),
        claims(),
    ];
    HEAD.to_owned() + &tables.concat()
}

#[test]
fn page_has_each_sentence_as_it_reads() {
    let written = fs::read_to_string(root().join(PAGE)).unwrap_or_default();
    for (line, (is, was)) in page().lines().zip(written.lines()).enumerate() {
        assert_eq!(is, was, "line {}: make findings", line + 1);
    }
    assert_eq!(page().lines().count(), written.lines().count(), "make findings");
}

#[test]
#[ignore = "writes docs/FINDINGS.md: make findings"]
fn page_is_written() {
    fs::write(root().join(PAGE), page()).unwrap();
}
