//! The README's commands: the first means this program, and those of the dialects run word for word but for the port,
//! against `throng serve`.

mod support;

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::Value;
use support::throng::{Server, run, sum_of, throng};

/// What makes them short: a step of few clients.
const SHORT: [&str; 6] = ["--initial-clients", "10", "--total-steps", "1", "--format", "json"];

/// `cargo run --release -- …` in the root asks which program is meant if there are several.
#[test]
fn cargo_run_means_throng() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut cargo = Command::new(env!("CARGO"));
    let metadata =
        cargo.args(["metadata", "--no-deps", "--offline", "--format-version", "1"]).current_dir(root);
    let metadata: Value = serde_json::from_slice(&metadata.output().unwrap().stdout).unwrap();
    let of = |value: &Value, key: &str| value[key].as_array().expect(key).clone();
    let run_by_default = of(&metadata, "workspace_default_members");
    let packages =
        of(&metadata, "packages").into_iter().filter(|package| run_by_default.contains(&package["id"]));
    let targets = packages.flat_map(|package| of(&package, "targets"));
    let programs = targets.filter(|target| of(target, "kind").contains(&"bin".into()));
    assert_eq!(programs.map(|program| program["name"].clone()).collect::<Vec<_>>(), ["throng"]);
}

#[test]
fn one_command_per_dialect_runs_as_printed() {
    let readme = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md")).unwrap();
    let server = Server::start(&[]);
    let mut dialects = Vec::new();
    for line in readme.lines().filter(|line| line.contains("//127.0.0.1:9000/") && !line.contains(".toml")) {
        let line = line.replace("127.0.0.1:9000", &server.address.to_string());
        let words: Vec<&str> = line.split_whitespace().collect();
        let ["$", "throng", flags @ ..] = &words[..] else { panic!("no command: {line}") };
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
    ];
    assert_eq!(dialects, expected);
}
