//! What a CI system gets from a run: JUnit's XML, and the summary and annotations of GitHub Actions.

mod support;

use std::fs;
use std::time::Duration;

use support::throng::{run, throng};

const RUN_MAX: Duration = Duration::from_secs(30);
const FLAGS: [&str; 6] = ["--clients", "3", "--duration", "100ms", "--limit", "missing==0"];

#[test]
fn junit_has_a_case_for_each_limit() {
    let outcome = run(throng(["echo", "--format", "junit", "--limit", "p95<1ns"]).args(FLAGS), RUN_MAX);
    assert_eq!(outcome.code, Some(3), "{outcome}");
    assert!(outcome.stdout.starts_with("<?xml "), "{outcome}");
    assert!(outcome.stdout.contains("tests=\"2\" failures=\"1\" skipped=\"0\""), "{outcome}");
    assert_eq!(outcome.stdout.matches("<failure ").count(), 1, "{outcome}");
    assert!(outcome.stdout.trim_end().ends_with("</testsuites>"), "{outcome}");
}

#[test]
fn junit_does_not_pass_for_a_server_that_is_not_there() {
    for limits in [&[][..], &["--limit", "missing==0"]] {
        let mut command = throng(["echo", "ws://127.0.0.1:1/ws", "--format", "junit", "--clients", "3"]);
        let outcome = run(command.args(["--duration", "100ms"]).args(limits), RUN_MAX);
        assert_eq!(outcome.code, Some(1), "{outcome}");
        assert_eq!(
            outcome.stdout.matches("<error message=\"no client became usable").count(),
            1,
            "{outcome}"
        );
    }
}

#[test]
fn github_gets_a_summary_and_an_error_for_a_broken_limit() {
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

#[test]
fn outside_of_github_the_flag_is_refused() {
    let outcome = run(throng(["echo", "--github"]).env_remove("GITHUB_STEP_SUMMARY"), RUN_MAX);
    assert_eq!(outcome.code, Some(2), "{outcome}");
    assert!(outcome.stderr.contains("--github: GITHUB_STEP_SUMMARY is not set"), "{outcome}");
}
