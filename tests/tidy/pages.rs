//! Pages in Markdown: their links and the files that they name exist, the map in docs/README.md has each, and
//! they stay short.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

use super::{assert_none, mentions, read, root, rust_files, tracked_files};

/// The map of docs/.
const MAP: &str = "docs/README.md";

/// Pages of what was measured or tested.
const LOGS: &str = "docs/logs/";

/// The map leads to these by the page of their folder.
const INDEXED: &str = "docs/apps/";

/// Folders of the paths that pages name.
const FOLDERS: [&str; 4] = ["crates/", "tests/", "deploy/", "fuzz/"];

/// The most words of pages that everybody reads.
const WORDS_MAX: &[(&str, usize)] =
    &[("README.md", 1_500), ("METHODOLOGY.md", 7_000), ("ARCHITECTURE.md", 3_500), ("docs/APP.md", 5_200)];

/// The list of all sentences, which is made from the code and grows with it.
const FINDINGS: &str = "docs/FINDINGS.md";

/// The most words of all pages but the logs, that list, and the pages of targets and examples.
const WORDS_TOGETHER_MAX: usize = 50_550;

/// The most columns of prose. Tables and code cannot be wrapped, nor can a line that is one span of code or one link.
const COLUMNS_MAX: usize = 100;

#[test]
fn links_lead_somewhere() {
    let mut wrong = Vec::new();
    for page in pages() {
        for link in links(&read(&page)) {
            let (path, anchor) = link.split_once('#').unwrap_or((&link, ""));
            let target = if path.is_empty() { page.clone() } else { resolve(&page, path) };
            let is_there = root().join(&target).exists()
                && (anchor.is_empty() || anchors(&read(&target)).contains(anchor));
            if !is_there {
                wrong.push(format!("{page}: {link}"));
            }
        }
    }
    assert_none("links that lead nowhere", wrong);
}

#[test]
fn pages_named_in_text_exist() {
    let mut wrong = Vec::new();
    for file in tracked_files().iter().filter(|file| !super::is_lockfile(file)) {
        let Ok(text) = std::fs::read_to_string(root().join(file)) else { continue }; // not text
        for named in named_pages(&text) {
            if !root().join(named).exists() {
                wrong.push(format!("{file}: {named}"));
            }
        }
    }
    assert_none("pages that do not exist", wrong);
}

/// In code spans, such as `crates/net/src/poll.rs`, or with a test of the file: `tests/stuck.rs::name`.
#[test]
fn files_and_tests_named_in_pages_exist() {
    let files = tracked_files();
    let is_path = |span: &str| {
        FOLDERS.iter().any(|folder| span.starts_with(folder))
            && !span.contains(['*', '<', ' '])
            && !span.contains("NAME")
    };
    let is_there = |span: &str| match span.split_once("::") {
        Some((path, name)) => root().join(path).is_file() && read(path).contains(&format!("fn {name}(")),
        None => files
            .iter()
            .any(|file| file == span || file.starts_with(&format!("{}/", span.trim_end_matches('/')))),
    };
    let mut wrong = Vec::new();
    for page in pages() {
        let text = read(&page);
        let gone = code_spans(&text).filter(|span| is_path(span) && !is_there(span));
        wrong.extend(gone.map(|span| format!("{page}: {span}")));
    }
    assert_none("files and tests that do not exist", wrong);
}

#[test]
fn names_in_the_architecture_exist() {
    let code: String = rust_files().iter().map(|file| read(file)).collect();
    let text = read("ARCHITECTURE.md");
    let is_name = |span: &&str| span.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | ':'));
    let names = code_spans(&text).filter(is_name).flat_map(|span| span.split("::"));
    let gone: BTreeSet<&str> = names.filter(|name| !mentions(&code, name)).collect();
    assert_none("names that the code does not have", gone.into_iter().map(str::to_owned).collect());
}

#[test]
fn map_has_each_page() {
    let text = read(MAP);
    let linked: BTreeSet<String> = links(&text).iter().map(|link| resolve(MAP, link)).collect();
    let is_own = |page: &String| page.starts_with("docs/") && page != MAP;
    let pages = pages().into_iter().filter(is_own);
    let missing: Vec<String> = pages
        .filter(|page| !linked.contains(page))
        .filter(|page| !page.starts_with(INDEXED) || page.ends_with("/README.md"))
        .collect();
    assert_none("pages that docs/README.md does not name", missing);
    let (others, logs) = text.split_once("## Logs").expect("logs come last");
    let is_log = |link: &String| resolve(MAP, link).starts_with(LOGS);
    assert!(!links(others).iter().any(is_log) && links(logs).iter().all(is_log), "logs are in {LOGS}");
}

#[test]
fn main_pages_are_short() {
    let count = |page: &str| read(page).split_whitespace().count();
    let long = WORDS_MAX.iter().map(|(page, max)| (page, count(page), max));
    let long = long.filter(|(_, words, max)| words > *max);
    assert_none("too many words", long.map(|(page, words, max)| format!("{page}: {words}, {max}")).collect());
    let together: usize =
        pages().iter().filter(|page| is_main(page) && *page != FINDINGS).map(|page| count(page)).sum();
    assert!(together <= WORDS_TOGETHER_MAX, "{together} words together, {WORDS_TOGETHER_MAX} at most");
}

#[test]
fn prose_is_wrapped() {
    let mut wrong = Vec::new();
    for page in pages().into_iter().filter(|page| is_main(page)) {
        let text = read(&page);
        let is_long = |line: &&str| {
            line.chars().count() > COLUMNS_MAX && !line.starts_with(['|', '!']) && !line.starts_with("    ")
        };
        let is_one_span = |line: &&str| line.trim_start().starts_with(['`', '[', '(']);
        let lines = prose(&text).filter(|line| is_long(line) && !is_one_span(line));
        wrong.extend(lines.map(|line| format!("{page}: {line}")));
    }
    assert_none("lines to wrap", wrong);
}

#[test]
fn anchors_are_those_of_github() {
    let page = "# A `b_c`: d, e-f?\n```sh\n# none\n```\n## Twice\n## Twice\n";
    let expected = ["a-b_c-d-e-f", "twice", "twice-1"].map(str::to_owned);
    assert_eq!(anchors(page), BTreeSet::from(expected));
    assert_eq!(links("[a](b.md#c) `[d](e)` [f](https://g)\n```\n[h](i)\n```"), ["b.md#c"]);
}

/// Every page that people wrote or read; records keep the pages of their day.
fn pages() -> Vec<String> {
    let pages = tracked_files().into_iter().filter(|file| file.ends_with(".md"));
    pages.filter(|file| !file.starts_with("records/")).collect()
}

/// Returns whether it is a page of docs/ but no log, or stands beside README.md.
fn is_main(page: &str) -> bool {
    page.starts_with("docs/") && !page.starts_with(LOGS) || !page.contains('/')
}

/// The text without its blocks of code.
fn prose(text: &str) -> impl Iterator<Item = &str> {
    let mut is_code = false;
    text.lines().filter(move |line| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        !is_code && !is_fence
    })
}

fn code_spans(text: &str) -> impl Iterator<Item = &str> {
    prose(text).flat_map(|line| line.split('`').skip(1).step_by(2))
}

/// The targets of links, but for those to other sites.
fn links(text: &str) -> Vec<String> {
    let mut links = Vec::new();
    for line in prose(text) {
        // A span of code has no links, but is the text of many.
        let bare: String = line.split('`').step_by(2).collect();
        links.extend(bare.split("](").skip(1).filter_map(|rest| Some(rest.split_once(')')?.0.to_owned())));
    }
    links.retain(|link| !link.contains("://"));
    links
}

fn anchors(text: &str) -> BTreeSet<String> {
    let mut seen = BTreeMap::<String, usize>::new();
    let headings = prose(text).filter(|line| line.starts_with('#'));
    let anchors = headings.map(|line| {
        let heading = line.trim_start_matches('#').trim().to_lowercase();
        let is_kept = |c: &char| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_');
        let anchor = heading.chars().filter(is_kept).collect::<String>().replace(' ', "-");
        let before = seen.entry(anchor.clone()).or_default();
        *before += 1;
        if *before == 1 { anchor } else { format!("{anchor}-{}", *before - 1) }
    });
    anchors.collect()
}

/// The path of a link of `page`, from the root.
fn resolve(page: &str, link: &str) -> String {
    let folder = Path::new(page).parent().expect("a folder");
    let mut path = PathBuf::new();
    for component in folder.join(link.split('#').next().unwrap_or_default()).components() {
        match component {
            Component::ParentDir => assert!(path.pop(), "{page}: {link}"),
            other => path.push(other),
        }
    }
    path.to_str().expect("UTF-8").to_owned()
}

/// Pages of docs/ as comments and messages name them: by their path from the root.
fn named_pages(text: &str) -> Vec<&str> {
    let is_of_path = |c: char| c.is_ascii_alphanumeric() || "/_-.".contains(c);
    let named = text.match_indices("docs/").filter_map(|(at, _)| {
        let is_whole = !text[..at].ends_with(is_of_path);
        let end = text[at..].find(|c| !is_of_path(c)).map_or(text.len(), |end| at + end);
        let path = text[at..end].trim_end_matches('.');
        (is_whole && path.ends_with(".md")).then_some(path)
    });
    named.collect()
}
