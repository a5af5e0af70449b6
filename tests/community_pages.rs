//! docs/apps, a page for each community: one screen each, with files, commands and links that hold.

use std::fs;

use crate::support::cases::check_all;
use crate::support::page::{Page, elsewhere, folder, init_in, root, run_in};

/// A screen of a page.
const LINES_MAX: usize = 48;
const INDEX: &str = "README.md";

/// Every page of the folder, with its name.
fn pages() -> Vec<(String, Page)> {
    let entries = fs::read_dir(root().join("docs/apps")).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    assert!(names.len() > 10, "{names:?}");
    names.into_iter().map(|name| (name.clone(), Page::open(&format!("docs/apps/{name}")))).collect()
}

#[test]
fn each_page_is_a_screen() {
    for (name, page) in pages() {
        assert!(page.text.lines().count() <= LINES_MAX, "{name} has more than {LINES_MAX} lines");
    }
}

#[test]
fn their_files_are_files_of_apps() {
    let folder = folder();
    let counts = pages().into_iter().map(|(_, page)| page.assert_files_are_apps(folder.path(), |_| false));
    assert!(counts.sum::<usize>() > 10);
}

/// Each page's lines run one after the other, with the file as the page says to change it before a server is
/// named; that server is all that is lacking.
#[test]
fn their_commands_run_as_printed() {
    let pages: Vec<_> = pages().into_iter().filter(|(name, _)| name != INDEX).collect();
    let follow = |(name, page): &(String, Page)| {
        let folder = folder();
        let changed = page.blocks("toml").into_iter().next();
        let mut ran = 0;
        for line in page.lines() {
            let Some(arguments) = line.strip_prefix("throng ") else {
                assert!(line.starts_with("export "), "{name}: {line}");
                continue;
            };
            if arguments.starts_with("init ") {
                init_in(folder.path(), arguments);
                continue;
            }
            ran += 1;
            if !arguments.contains("://") {
                run_in(folder.path(), arguments, &[]).assert_held();
                continue;
            }
            if let Some(changed) = &changed {
                fs::write(folder.path().join("app.toml"), changed).unwrap();
            }
            let outcome = run_in(folder.path(), &elsewhere(arguments), &[]);
            assert_eq!(outcome.code, Some(1), "{name}: {line}: {outcome}");
        }
        assert!(ran >= 2, "{name} has runs");
    };
    check_all(&pages, |(name, _)| name.clone(), follow);
}

/// Without a number of clients, a closed model goes up in steps of thousands.
#[test]
fn their_closed_loads_name_their_clients() {
    for (name, page) in pages() {
        let spans = page.text.split('`').filter_map(|span| span.strip_prefix("throng "));
        for command in spans.map(str::to_owned).chain(page.commands()) {
            let is_closed = command.contains(" --concurrent ") || command.contains(" -c ");
            assert!(!is_closed || command.contains(" --clients "), "{name}: {command}");
        }
    }
}

#[test]
fn the_index_names_each_page() {
    let pages = pages();
    let (_, index) = pages.iter().find(|(name, _)| name == INDEX).unwrap();
    for (name, _) in pages.iter().filter(|(name, _)| name != INDEX) {
        assert!(index.text.contains(&format!("]({name})")), "{name}");
    }
}
