//! Output for CI systems: JUnit's XML, and the summary and annotations of GitHub Actions.

use std::fs;
use std::path::Path;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value;

use crate::support::throng::{Server, finish, run, start_measuring, throng};

/// Files that show limits.
const DOCUMENTS: [&str; 2] = ["README.md", "docs/CI.md"];

const RUN_MAX: Duration = Duration::from_secs(30);
const FLAGS: [&str; 6] = ["--clients", "3", "--duration", "100ms", "--limit", "missing==0"];

#[test]
fn junit_has_a_case_for_each_limit() {
    let outcome = run(throng(["echo", "--format", "junit", "--limit", "p95<1ns"]).args(FLAGS), RUN_MAX);
    assert_eq!(outcome.code, Some(3), "{outcome}");
    assert!(outcome.stdout.starts_with("<?xml "), "{outcome}");
    assert!(outcome.stdout.contains("failures=\"1\" skipped=\"0\""), "{outcome}");
    assert_eq!(outcome.stdout.matches("<failure ").count(), 1, "{outcome}");
    assert!(outcome.stdout.trim_end().ends_with("</testsuites>"), "{outcome}");
}

#[test]
fn junit_fails_for_absent_servers() {
    for limits in [&[][..], &["--limit", "missing==0"]] {
        let mut command =
            throng(["echo", "ws://127.0.0.1:1/ws", "--format", "junit", "--clients", "3", "--no-preflight"]);
        let outcome = run(command.args(["--duration", "100ms"]).args(limits), RUN_MAX);
        assert_eq!(outcome.code, Some(1), "{outcome}");
        assert_eq!(outcome.stdout.matches("<error type=\"loss.clients\"").count(), 1, "{outcome}");
    }
}

#[test]
fn github_gets_summary_and_error() {
    let dir = tempfile::tempdir().unwrap();
    let summary = dir.path().join("summary.md");
    fs::write(&summary, "before\n").unwrap();
    let mut command = throng(["echo", "--github", "--format", "json", "--limit", "p95<1ns"]);
    let outcome = run(command.args(FLAGS).env("GITHUB_STEP_SUMMARY", &summary), RUN_MAX);
    assert_eq!(outcome.code, Some(3), "{outcome}");
    assert_eq!(outcome.json()["verdict"]["limits"].as_array().map(Vec::len), Some(2), "{outcome}");
    let errors: Vec<_> = outcome.stderr.lines().filter(|line| line.starts_with("::error ")).collect();
    assert_eq!(errors.len(), 1, "{outcome}");
    assert!(errors[0].contains("::at 3 clients: p95<1ns was "), "{outcome}");
    let summary = fs::read_to_string(&summary).unwrap();
    assert!(summary.starts_with("before\n## throng: echo, raw\n"), "it is added to, not replaced: {summary}");
    assert!(summary.contains("- **Limit** `p95<1ns`: **broken**"), "{summary}");
}

/// Whatever limits a build is told to have, they have to see a server that crashes half-way.
#[test]
fn documented_limits_break_when_servers_crash() {
    let sets: Vec<Vec<String>> = DOCUMENTS.iter().flat_map(|document| limits(document)).collect();
    assert!(sets.len() >= 4, "the documents have examples: {sets:?}");
    for set in sets {
        let server = Server::start(&[]);
        let mut command = throng(["echo", &server.url(), "--format", "json", "--drain-timeout", "1s"]);
        command.args(["--clients", "5", "--duration", "4s", "--connect-timeout", "10s"]);
        for limit in &set {
            command.args(["--limit", limit]);
        }
        let process = start_measuring(&mut command);
        server.process.signal(Signal::KILL);
        let outcome = finish(process, RUN_MAX);
        assert_eq!(outcome.code, Some(3), "{set:?}: {outcome}");
        let limits = &outcome.json()["steps"][0]["standing"];
        let is_broken = |limit: &Value| limit["limit"] == "disconnects==0" && limit["passed"] == false;
        assert!(limits.as_array().unwrap().iter().any(is_broken), "{set:?}: {limits:#}");
    }
}

/// The limits of each example of a document; examples may go over several lines.
fn limits(document: &str) -> Vec<Vec<String>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(document);
    let text = fs::read_to_string(path).unwrap().replace("\\\n", " ");
    let examples = text.lines().filter(|line| {
        ["throng echo ", "throng run "].iter().any(|verb| line.contains(verb)) && line.contains("--limit '")
    });
    let of = |line: &str| line.split("--limit '").skip(1).map(until_quote).collect();
    examples.filter(|line| !line.contains('`')).map(of).collect()
}

fn until_quote(text: &str) -> String {
    text.split('\'').next().unwrap().to_owned()
}

#[test]
fn outside_of_github_the_flag_is_refused() {
    let outcome = run(throng(["echo", "--github"]).env_remove("GITHUB_STEP_SUMMARY"), RUN_MAX);
    assert_eq!(outcome.code, Some(2), "{outcome}");
    assert!(outcome.stderr.contains("--github: GITHUB_STEP_SUMMARY is not set"), "{outcome}");
}
