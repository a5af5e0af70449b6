//! The commands of README.md and docs/PROTOCOLS.md run word for word, but for port and duration, against
//! `throng serve`.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::support::page::{Page, folder, init_in, root, run_in};
use crate::support::throng::{Server, run, sum_of, throng};

/// Flags that make them short: a step of few clients.
const SHORT: [&str; 6] = ["--initial-clients", "10", "--total-steps", "1", "--format", "json"];

/// `cargo run --release -- …` in the root asks which program is meant if there are several.
#[test]
fn cargo_run_means_throng() {
    let mut cargo = Command::new(env!("CARGO"));
    let metadata =
        cargo.args(["metadata", "--no-deps", "--offline", "--format-version", "1"]).current_dir(root());
    let metadata: Value = serde_json::from_slice(&metadata.output().unwrap().stdout).unwrap();
    let of = |value: &Value, key: &str| value[key].as_array().expect(key).clone();
    let run_by_default = of(&metadata, "workspace_default_members");
    let packages =
        of(&metadata, "packages").into_iter().filter(|package| run_by_default.contains(&package["id"]));
    let targets = packages.flat_map(|package| of(&package, "targets"));
    let programs = targets.filter(|target| of(target, "kind").contains(&"bin".into()));
    assert_eq!(programs.map(|program| program["name"].clone()).collect::<Vec<_>>(), ["throng"]);
}

/// Lines that a terminal or a browser shows first.
const FIRST_LINES: usize = 27;

/// A probe is bounded by 15 seconds.
const WITHIN: Duration = Duration::from_secs(30);

/// A load that ends soon.
const SHORT_LOAD: [&str; 2] = ["--duration", "1s"];

/// A search that ends soon.
const SHORT_SEARCH: [&str; 6] = ["--step-size", "20", "--max-clients", "40", "--duration", "1s"];

#[test]
fn first_screen_has_installation_command_and_report() {
    let readme = Page::open("README.md").text;
    let first: Vec<&str> = readme.lines().take(FIRST_LINES).collect();
    let at = |wanted: &str| {
        let found = first.iter().position(|line| line.starts_with(wanted));
        found.unwrap_or_else(|| panic!("no {wanted:?} in the first {FIRST_LINES} lines"))
    };
    let first_commands = [at("$ throng record "), at("$ throng run app.toml "), at("$ throng echo")];
    let order = [&[at("!["), at("sudo dpkg -i "), at("cargo install ")], &first_commands[..]].concat();
    assert!(order.is_sorted(), "{order:?}");
}

/// Asserts that a recording begins; it ends with a person's Ctrl-C.
fn assert_records(line: &str) {
    let mut command = throng([]);
    let mut recorder = command.args(line.split(' ')).stdout(Stdio::piped()).spawn().unwrap();
    let mut said = String::new();
    BufReader::new(recorder.stdout.take().unwrap()).read_line(&mut said).unwrap();
    recorder.kill().unwrap();
    recorder.wait().unwrap();
    assert!(said.starts_with("throng record: http://"), "{said}");
}

#[test]
fn commands_run_as_printed() {
    let (page, folder, server) = (Page::open("README.md"), folder(), Server::start(&[]));
    let mut ran = 0;
    for line in page.commands() {
        if line.starts_with("init ") {
            fs::remove_file(folder.path().join("app.toml")).unwrap();
            init_in(folder.path(), &line);
            continue;
        }
        if line.starts_with("record ") {
            assert_records(&line.replace("127.0.0.1:9000", &server.address.to_string()));
            // In the place of what a person would have recorded.
            init_in(folder.path(), "init --from plain");
            continue;
        }
        let more = if line.contains("--search") { &SHORT_SEARCH[..] } else { &SHORT_LOAD };
        let line = line.replace("127.0.0.1:9000", &server.address.to_string());
        if line == server.address.to_string() {
            let found = run(&mut throng([&line]), WITHIN);
            assert!(found.code == Some(0) && found.stdout.contains("throng echo ws://"), "{found}");
            continue;
        }
        let outcome = run_in(folder.path(), &line, more);
        // A busy machine may break a limit on time, or limit the result.
        assert!(matches!(outcome.code, Some(0 | 3 | 4)), "{line}: {outcome}");
        let results = outcome.json();
        assert!(sum_of(&results, "connected") > 0, "{line}: {outcome}");
        assert_eq!(sum_of(&results, "expected"), sum_of(&results, "received"), "{line}: {outcome}");
        ran += 1;
    }
    assert!(ran >= 5, "{ran} were run");
}

#[test]
fn every_example_is_a_recipe() {
    let readme = Page::open("README.md").text;
    let examples = fs::read_dir(root().join("examples")).unwrap().map(|entry| entry.unwrap().path());
    for example in examples.filter(|path| path.join("README.md").exists()) {
        let link = format!("(examples/{})", example.file_name().unwrap().to_str().unwrap());
        assert!(readme.contains(&link), "README does not lead to {link}");
    }
}

#[test]
fn one_command_per_dialect_runs_as_printed() {
    let server = Server::start(&[]);
    let mut dialects = Vec::new();
    for line in Page::open("docs/PROTOCOLS.md").commands() {
        let line = line.replace("127.0.0.1:9000", &server.address.to_string());
        let flags = line.split_whitespace();
        let outcome = run(throng([]).args(flags).args(SHORT), Duration::from_secs(30));
        assert_eq!(outcome.code, Some(0), "{line}: {outcome}");
        let results = outcome.json();
        let (sent, received) = (sum_of(&results, "sent"), sum_of(&results, "received"));
        assert!(sent > 0 && received == sent * 10, "{line}: {outcome}");
        dialects.push(results["dialect"].as_str().expect("a name").to_owned());
    }
    let expected = [
        "json",
        "binary",
        "actioncable",
        "phoenix",
        "sockjs",
        "sockjs/xhr-polling",
        "socketio",
        "socketio/upgrade",
        "graphql",
        "sse",
    ];
    assert_eq!(dialects, expected);
}
