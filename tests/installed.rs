//! Pages, suites and targets that come with the program, without a clone.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::support::arena::{Arena, SERVE, tiny_suite};
use crate::support::page::root;
use crate::support::skip;
use crate::support::throng::{Outcome, program, run, throng};

/// Text that is compiled in.
const PRINT_MAX: Duration = Duration::from_secs(30);
/// A server that is checked, and a measurement of a second.
const SHOOTOUT_MAX: Duration = Duration::from_secs(90);
const COLUMNS_MAX: usize = 80;

/// Every page, with its topic.
fn pages() -> Vec<(String, PathBuf)> {
    let beside = ["CHANGELOG", "METHODOLOGY", "SECURITY"];
    let beside = beside.map(|page| (page.to_lowercase(), root().join(format!("{page}.md"))));
    let mut pages: Vec<(String, PathBuf)> = beside.into();
    for (folder, index) in [("docs", "docs"), ("docs/apps", "apps")] {
        let files = fs::read_dir(root().join(folder)).unwrap().map(|entry| entry.unwrap().path());
        let files = files.filter(|file| file.extension().is_some_and(|ending| ending == "md"));
        pages.extend(files.map(|file| {
            let stem = file.file_stem().unwrap().to_str().unwrap().to_lowercase();
            (if stem == "readme" { index.to_owned() } else { stem }, file)
        }));
    }
    pages.sort();
    pages
}

fn docs(topic: &str) -> Outcome {
    run(throng(["docs"]).args((!topic.is_empty()).then_some(topic)), PRINT_MAX)
}

#[test]
fn each_page_is_a_topic() {
    let list = docs("").stdout;
    let listed: Vec<&str> = list.lines().map(|line| line.split(' ').next().unwrap()).collect();
    let pages = pages();
    assert!(pages.len() > 30, "{pages:?}");
    assert_eq!(listed, pages.iter().map(|(topic, _)| topic.as_str()).collect::<Vec<_>>());
    let mut wide: Vec<&str> = list.lines().filter(|line| line.chars().count() > COLUMNS_MAX).collect();
    let texts: Vec<String> = pages
        .iter()
        .map(|(topic, page)| {
            let printed = docs(topic);
            let title = fs::read_to_string(page).unwrap().lines().next().unwrap().to_owned();
            assert!(printed.code == Some(0) && printed.stdout.starts_with(&title), "{printed}");
            printed.stdout
        })
        .collect();
    // Code is not folded, nor a link of one word.
    let is_wide = |line: &&str| {
        !line.starts_with("    ") && line.chars().count() > COLUMNS_MAX && line.trim().contains(' ')
    };
    wide.extend(texts.iter().flat_map(|text| text.lines().filter(is_wide)));
    assert!(wide.is_empty(), "{}", wide.join("\n"));
}

/// As long as groff takes a page without a warning.
#[test]
fn each_page_is_in_the_manual() {
    let folder = tempfile::tempdir().unwrap();
    let written = run(throng(["man", "--all"]).arg(folder.path()), PRINT_MAX);
    assert_eq!(written.code, Some(0), "{written}");
    let manual = folder.path().join("man7");
    let files: BTreeSet<PathBuf> =
        fs::read_dir(&manual).unwrap().map(|entry| entry.unwrap().path()).collect();
    let expected = pages().into_iter().map(|(topic, _)| manual.join(format!("throng-{topic}.7")));
    assert_eq!(files, expected.collect());
    let groff =
        Command::new("groff").args(["-K", "utf8", "-T", "utf8", "-man", "-ww", "-z"]).args(&files).output();
    match groff {
        Err(error) => skip("the manual (apt install groff-base)", &error.to_string()),
        Ok(output) => assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr)),
    }
}

#[test]
fn topics_go_by_their_files_too() {
    assert_eq!(docs("docs/LOAD-SHAPES.md").stdout, docs("load-shapes").stdout);
}

#[test]
fn unknown_topic_names_the_nearest() {
    let outcome = docs("proctocols");
    assert_eq!(outcome.code, Some(2), "{outcome}");
    for name in ["did you mean protocols?", "target-manifest"] {
        assert!(outcome.stderr.contains(name), "no {name}: {outcome}");
    }
}

/// The program with a suite and a target where a package puts them, seen from a folder without any.
struct Installed {
    arena: Arena,
}

impl Installed {
    fn new(suite: &str) -> Installed {
        let arena = Arena::new(suite, SERVE);
        let [bin, share] = ["usr/bin", "usr/share/throng"].map(|folder| arena.path(folder));
        for folder in [&bin, &share, &arena.path("empty")] {
            fs::create_dir_all(folder).unwrap();
        }
        for brought in ["suites", "targets"] {
            fs::rename(arena.path(brought), share.join(brought)).unwrap();
        }
        fs::copy(program(), bin.join("throng")).unwrap();
        Installed { arena }
    }

    fn run(&self, arguments: &[&str]) -> Outcome {
        let mut command = Command::new(self.arena.path("usr/bin/throng"));
        command.args(arguments).current_dir(self.arena.path("empty"));
        run(command.env("XDG_DATA_HOME", self.arena.path("data")), SHOOTOUT_MAX)
    }

    /// The user's copy of the target.
    fn copy(&self) -> PathBuf {
        let folder = format!("data/throng/targets-{}/sh-copy", env!("CARGO_PKG_VERSION"));
        self.arena.path(&folder)
    }
}

#[test]
fn installed_suite_runs_without_a_clone() {
    let flags = r#"clients = 4, duration = "1s", drain-timeout = "1s""#;
    let installed = Installed::new(&tiny_suite(1, flags, &["rtt.p50"]));
    let outcome = installed.run(&["shootout", "tiny", "--format", "json", "--out", "kept"]);
    assert_eq!(outcome.code, Some(0), "{outcome}");
    let cells = outcome.json()["cells"].as_array().unwrap().clone();
    let measured = |name: &str| cells.iter().any(|cell| cell["target"] == name && cell["trouble"].is_null());
    assert!(measured("sh-copy"), "{outcome}");
}

#[test]
fn installed_targets_are_copied_for_the_user() {
    let installed = Installed::new(&tiny_suite(1, "clients = 4", &["rtt.p50"]));
    let list = || installed.run(&["targets", "list", "--format", "json"]);
    let has_it =
        |outcome: &Outcome| outcome.json().as_array().unwrap().iter().any(|row| row["name"] == "sh-copy");
    let [first, second] = [list(), list()];
    assert!(has_it(&first) && has_it(&second), "{first}\n{second}");
    let said =
        |outcome: &Outcome| outcome.stderr.contains(installed.copy().parent().unwrap().to_str().unwrap());
    assert!(said(&first) && !said(&second), "{first}\n{second}");
    // What a target is asked for leaves files (its home) in the copy alone.
    let files = |folder: &Path| {
        let names =
            fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.collect::<BTreeSet<String>>()
    };
    let package = files(&installed.arena.path("usr/share/throng/targets/sh-copy"));
    assert_eq!(package, ["serve.sh", "target.toml", "version"].map(str::to_owned).into());
    assert!(files(&installed.copy()).is_superset(&package));
}
