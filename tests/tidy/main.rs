//! Rules that a compiler does not check: who may use whom, what pure code may not touch, how long a file may
//! be, and what must not be committed. The rules and their reasons are in CONTRIBUTING.

mod comments;
mod commits;
mod findings;
mod idioms;
mod modules;
mod names;
mod pages;
mod promises;
mod unused;
mod wordings;
mod words;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use modules::Modules;

/// Lines of a Rust file, its tests included.
const FILE_LINES_MAX: usize = 600;

/// Every crate, and which of ours it may use. Dependencies point downwards only; the binary may use everything.
const LAYERS: &[(&str, &[&str])] = &[
    ("secret", &[]),
    ("codec", &[]),
    ("app", &["codec", "secret"]),
    ("wire", &["app", "codec", "secret"]),
    ("stats", &[]),
    ("net", &["secret"]),
    ("load", &["app", "codec", "wire", "secret"]),
    ("har", &["app", "codec", "secret"]),
    ("proxy", &["codec", "har", "net"]),
    ("results", &["stats"]),
    ("report", &["results", "stats"]),
    ("engine", &["app", "codec", "wire", "load", "stats", "results", "net", "secret"]),
    ("crew", &["app", "engine", "wire", "load", "stats", "results", "net"]),
    ("fleet", &["app", "crew", "engine", "load", "stats", "results", "net", "secret"]),
    ("refserver", &["codec", "wire", "net"]),
    ("store", &["engine", "net", "results", "stats"]),
    ("suite", &["app", "codec", "wire", "stats", "net", "results", "secret"]),
    ("web", &["net", "report", "results", "store", "secret"]),
    (
        "cli",
        &[
            "secret",
            "codec",
            "app",
            "wire",
            "stats",
            "net",
            "load",
            "har",
            "proxy",
            "results",
            "report",
            "engine",
            "crew",
            "fleet",
            "refserver",
            "store",
            "suite",
            "web",
        ],
    ),
];

/// Crates that do no I/O and read no clock.
const PURE: &[&str] = &["secret", "codec", "app", "wire", "load", "har", "stats", "results", "report"];

/// Effects, as they appear in code. `std::net`'s address types are plain data, so only its sockets are here.
const EFFECTS: &[&str] = &[
    "fs::",
    "process::",
    "thread::",
    "env::",
    "stdin()",
    "stdout()",
    "stderr()",
    "print!",
    "println!",
    "eprint!",
    "eprintln!",
    "Instant",
    "SystemTime",
    "TcpStream",
    "TcpListener",
    "UdpSocket",
    "UnixStream",
    "UnixListener",
    "ToSocketAddrs",
];

/// `apt.txt` names packages of a distribution, which locks their versions; Maven and Leiningen resolve what a
/// `pom.xml` or `project.clj` names to the same files each time.
const LOCKFILES: &[&str] = &[
    "package-lock.json",
    "go.sum",
    "requirements.txt",
    "Cargo.lock",
    "pom.xml",
    "project.clj",
    "Gemfile.lock",
    "mix.lock",
    "apt.txt",
];

/// Addresses a lockfile may name, since they are names and no places to download from: the registries of Cargo and
/// Bundler, and Maven's format.
const NAMES: &[&str] = &[
    "https://github.com/rust-lang/crates.io-index",
    "https://rubygems.org/",
    "http://maven.apache.org/POM/4.0.0",
];

#[test]
fn dependencies_point_downwards() {
    let known: BTreeSet<&str> = LAYERS.iter().map(|(name, _)| *name).collect();
    let mut wrong = Vec::new();
    for name in crate_names() {
        let Some((_, allowed)) = LAYERS.iter().find(|(layer, _)| *layer == name) else {
            wrong.push(format!("crates/{name} is not in LAYERS"));
            continue;
        };
        let cargo = toml_file(&root().join(format!("crates/{name}/Cargo.toml")));
        for section in ["dependencies", "build-dependencies"] {
            let table = cargo.get(section).and_then(toml::Value::as_table);
            let used = table.into_iter().flat_map(|table| table.keys());
            for used in used.filter(|used| known.contains(used.as_str())) {
                if !allowed.contains(&used.as_str()) {
                    wrong.push(format!("{name} → {used}"));
                }
            }
        }
    }
    assert_none("crates that reach where they may not", wrong);
}

#[test]
fn modules_use_each_other_in_no_rings() {
    let rings = |name: String| modules(&name).rings().into_iter().map(move |ring| format!("{name}: {ring}"));
    assert_none("modules that use each other", crate_names().into_iter().flat_map(rings).collect());
}

/// A protocol is a folder and a line in the table of `protocols/mod.rs`.
#[test]
fn the_registry_alone_names_a_protocol_s_folder() {
    let found = modules("wire").reach_into("protocols", "registry");
    assert_none("protocols that are named outside the registry", found);
}

#[test]
fn methods_live_with_their_types() {
    let strays =
        |name: String| modules(&name).strays().into_iter().map(move |stray| format!("{name}: {stray}"));
    assert_none("types that are spread over folders", crate_names().into_iter().flat_map(strays).collect());
}

#[test]
fn pure_crates_have_no_effects() {
    let mut wrong = Vec::new();
    for file in rust_files().iter().filter(|file| PURE.iter().any(|name| in_source_of(file, name))) {
        for (number, line) in code_lines(file) {
            for effect in EFFECTS.iter().filter(|effect| mentions(&line, effect)) {
                wrong.push(format!("{file}:{number}: {effect}"));
            }
        }
    }
    assert_none("effects in pure code", wrong);
}

#[test]
fn unsafe_code_lives_in_net() {
    let mut wrong = Vec::new();
    for file in rust_files().iter().filter(|file| file.contains("/src/") && !in_source_of(file, "net")) {
        for (number, line) in code_lines(file) {
            if mentions(&line, "unsafe") || mentions(&line, "unsafe_code") {
                wrong.push(format!("{file}:{number}"));
            }
        }
    }
    assert_none("unsafe code outside crates/net", wrong);
}

#[test]
fn files_are_short() {
    let too_long = |file: &String| {
        let lines = read(file).lines().count();
        (lines > FILE_LINES_MAX).then(|| format!("{file}: {lines} lines, {FILE_LINES_MAX} allowed"))
    };
    assert_none("files that hold more than one idea", rust_files().iter().filter_map(too_long).collect());
}

#[test]
fn crates_say_what_they_are() {
    let mut wrong = Vec::new();
    for name in crate_names() {
        let roots = ["lib.rs", "main.rs"].map(|file| root().join(format!("crates/{name}/src/{file}")));
        for file in roots.iter().filter(|file| file.exists()) {
            let text = fs::read_to_string(file).unwrap();
            if !text.starts_with("//! ") {
                wrong.push(format!("{} does not open with //!", file.display()));
            }
        }
    }
    assert_none("crates without a word about themselves", wrong);
}

#[test]
fn targets_are_complete() {
    let mut wrong = Vec::new();
    let folders: BTreeSet<PathBuf> = tracked_files()
        .iter()
        .filter_map(|file| file.strip_prefix("targets/")?.split_once('/'))
        .map(|(folder, _)| root().join("targets").join(folder))
        .collect();
    assert!(!folders.is_empty(), "no target found: the test looks in the wrong place");
    for folder in folders {
        if !folder.join("README.md").exists() {
            wrong.push(format!("{}: no README.md", folder.display()));
        }
        // What throng itself is built from, Cargo.lock says.
        let is_throng = folder.ends_with(suite::manifest::REFERENCE_NAME);
        if !is_throng && !LOCKFILES.iter().any(|lockfile| folder.join(lockfile).exists()) {
            wrong.push(format!("{}: none of {LOCKFILES:?}", folder.display()));
        }
        if let Err(mistake) = suite::Target::of_folder(&folder, suite::Readers::INDIFFERENT) {
            wrong.push(format!("{}: {}", folder.display(), mistake.line()));
        }
    }
    assert_none("targets that lack something", wrong);
}

/// Parts of the program that people read are one file with their source, or the two come apart.
#[test]
fn carried_files_are_links() {
    let carried: Vec<PathBuf> = fs::read_dir(root().join("crates/suite/carried"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    assert!(!carried.is_empty(), "nothing is carried: the test looks in the wrong place");
    let copies = carried.iter().filter(|path| !path.is_symlink()).map(|path| path.display().to_string());
    assert_none("copies in place of links", copies.collect());
}

#[test]
fn lockfiles_pin_and_name_no_host() {
    let files = tracked_files();
    assert!(files.iter().any(|file| file == "Cargo.lock"), "Cargo.lock is not committed");
    let mut wrong = Vec::new();
    for file in files.iter().filter(|file| is_lockfile(file)) {
        for (number, line) in read(file).lines().enumerate() {
            let without_names = NAMES.iter().fold(line.to_owned(), |line, name| line.replace(name, ""));
            if without_names.contains("://") {
                wrong.push(format!("{file}:{}: {line}", number + 1));
            }
        }
    }
    assert_none("addresses in lockfiles", wrong);
}

#[test]
fn nothing_names_a_machine_or_a_registry_host() {
    let folders = ["work", "root", "home", "Users"].map(|folder| format!("/{folder}/"));
    let hosts = ["registry.npmjs", "index.crates", "static.crates", "proxy.golang", "files.pythonhosted"];
    let mut wrong = Vec::new();
    for file in tracked_files().iter().filter(|file| *file != "tests/tidy/main.rs") {
        let Ok(text) = fs::read_to_string(root().join(file)) else { continue }; // not text
        for (number, line) in text.lines().enumerate() {
            let folder = folders.iter().any(|folder| starts_a_path(line, folder));
            if folder || hosts.iter().any(|host| line.contains(host)) {
                wrong.push(format!("{file}:{}: {}", number + 1, line.trim()));
            }
        }
    }
    assert_none("paths of one machine and hosts of registries", wrong);
}

fn root() -> &'static Path {
    static ROOT: LazyLock<PathBuf> =
        LazyLock::new(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap());
    &ROOT
}

fn read(file: &str) -> String {
    fs::read_to_string(root().join(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
}

/// If a manifest names its programs of tests, Cargo runs them and nothing else, and the compiler takes what
/// they declare.
#[test]
fn every_file_of_tests_is_run() {
    let mut forgotten = Vec::new();
    for (manifest, from, folder) in [
        ("crates/cli/Cargo.toml", "../../", "tests/"),
        ("crates/net/Cargo.toml", "", "crates/net/tests/"),
        ("crates/refserver/Cargo.toml", "", "crates/refserver/tests/"),
        ("crates/wire/Cargo.toml", "", "crates/wire/tests/"),
    ] {
        let cargo = toml_file(&root().join(manifest));
        let mut run = BTreeSet::new();
        for test in cargo["test"].as_array().expect("tests") {
            let path =
                test["path"].as_str().expect("a path").replacen(from, "", 1).replacen("tests/", folder, 1);
            for (_, line) in code_lines(&path) {
                let module = line.strip_prefix("mod ").and_then(|rest| rest.strip_suffix(';'));
                run.extend(module.map(|module| format!("{folder}{module}.rs")));
            }
            run.insert(path);
        }
        let is_there = |file: &String| file.strip_prefix(folder).is_some_and(|name| !name.contains('/'));
        forgotten.extend(rust_files().into_iter().filter(|file| is_there(file) && !run.contains(file)));
    }
    assert_none("in no program of tests", forgotten);
}

fn toml_file(path: &Path) -> toml::Table {
    let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    text.parse().unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn crate_names() -> Vec<String> {
    let folders = fs::read_dir(root().join("crates")).unwrap().map(|entry| entry.unwrap().path());
    let crates = folders.filter(|folder| folder.join("Cargo.toml").exists());
    crates.map(|folder| folder.file_name().unwrap().to_str().unwrap().to_owned()).collect()
}

/// The modules of a crate: each is read once for all rules, which takes longer than they do.
fn modules(name: &str) -> &'static Modules {
    static CRATES: LazyLock<BTreeMap<String, Modules>> = LazyLock::new(|| {
        let crates = crate_names().into_iter().map(|name| (name.clone(), read_modules(&name)));
        crates.collect()
    });
    &CRATES[name]
}

fn read_modules(name: &str) -> Modules {
    let folder = format!("crates/{name}/src/");
    let files: Vec<String> = rust_files().into_iter().filter(|file| in_source_of(file, name)).collect();
    assert!(!files.is_empty(), "{folder} has no Rust file");
    Modules::read(files.iter().map(|file| (&file[folder.len()..], read(file))))
}

/// Files that git would ship, without those deleted, relative to the root.
fn tracked_files() -> Vec<String> {
    static FILES: LazyLock<Vec<String>> = LazyLock::new(|| {
        let files = git(&["ls-files", "-z"]);
        let files = files.split_terminator('\0').filter(|file| root().join(file).is_file());
        files.map(str::to_owned).collect()
    });
    FILES.clone()
}

/// The output of git about this repository.
fn git(arguments: &[&str]) -> String {
    // It refuses another user's repository, which a clone is to root in a container.
    let anyone = ["-c", "safe.directory=*"];
    let output = Command::new("git").args(anyone).args(arguments).current_dir(root()).output();
    let output = output.expect("git tells the files and commits that the rules are about");
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn rust_files() -> Vec<String> {
    let files: Vec<String> = tracked_files().into_iter().filter(|file| file.ends_with(".rs")).collect();
    assert!(!files.is_empty(), "no Rust file found: the test looks in the wrong place");
    files
}

fn in_source_of(file: &str, name: &str) -> bool {
    file.starts_with(&format!("crates/{name}/src/"))
}

fn is_lockfile(file: &str) -> bool {
    LOCKFILES.iter().any(|lockfile| file.ends_with(lockfile))
}

/// Numbered lines without their comments. A `//` in a string ends the line too, which hides at most what follows it.
fn code_lines(file: &str) -> Vec<(usize, String)> {
    let text = read(file);
    let lines = text.lines().map(|line| line.split("//").next().unwrap_or_default().to_owned());
    (1..).zip(lines).collect()
}

/// Returns whether the line holds the words as such, and not as the end or the beginning of a longer name.
fn mentions(line: &str, words: &str) -> bool {
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(words).any(|(at, _)| {
        let before = line[..at].chars().next_back().is_some_and(is_name);
        let after = words.ends_with(is_name) && line[at + words.len()..].chars().next().is_some_and(is_name);
        !before && !after
    })
}

/// Returns whether an absolute path opens with this folder: its name in a relative path or a URL is something else.
fn starts_a_path(line: &str, folder: &str) -> bool {
    let may_precede = |c: char| c.is_whitespace() || "\"'`(=:,<[".contains(c);
    line.match_indices(folder).any(|(at, _)| line[..at].chars().next_back().is_none_or(may_precede))
}

fn assert_none(what: &str, wrong: Vec<String>) {
    assert!(wrong.is_empty(), "{what}:\n  {}\n", wrong.join("\n  "));
}
