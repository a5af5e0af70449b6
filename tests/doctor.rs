//! `throng doctor` on the machine that runs the tests: what it measures is plausible, and what it says fits the limits.

use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use crate::support::throng::{Outcome, Server, run, throng};
use crate::support::{free_address, retry};

const RUN_MAX: Duration = Duration::from_secs(30);

/// Runs the doctor with so many files allowed.
fn doctor_with_files(files: u64, flags: &str) -> Outcome {
    let program = env!("CARGO_BIN_EXE_throng");
    let script = format!("ulimit -n {files} && exec \"$0\" doctor {flags}");
    run(Command::new("sh").args(["-c", &script, program]), RUN_MAX)
}

fn check<'a>(results: &'a Value, name: &str) -> &'a Value {
    let checks = results["checks"].as_array().expect("checks");
    checks.iter().find(|check| check["check"] == name).unwrap_or_else(|| panic!("no {name} in {results:#}"))
}

/// How often a connection is weighed while others take and free the kernel's memory.
const WEIGHED_MAX: usize = 5;

#[test]
fn hundred_clients_fit() {
    for attempt in 1.. {
        let outcome = run(&mut throng(["doctor", "--clients", "100", "--format", "json"]), RUN_MAX);
        assert_eq!(outcome.code, Some(0), "{outcome}");
        let results = outcome.json();
        assert_eq!(results["processes"], 1, "{outcome}");
        let cost = &results["per_connection"];
        let generator_bytes = cost["generator_bytes"].as_f64().unwrap();
        assert!((1.0..10_000.0).contains(&generator_bytes), "{outcome}");
        let kernel_bytes = cost["kernel_bytes"].as_f64().unwrap();
        if (1_000.0..60_000.0).contains(&kernel_bytes) {
            return;
        }
        assert!(attempt < WEIGHED_MAX, "{outcome}");
        retry("a connection's weight", &format!("{kernel_bytes} bytes of the kernel"));
    }
}

#[test]
fn many_clients_are_spread_over_processes() {
    // A thousand clients in each process, beside its threads' files and others.
    let cpus = net::affinity::available_cpus().unwrap().len() as u64;
    let outcome = doctor_with_files(1_000 + 64 + 2 * cpus, "--clients 100000 --format json");
    let results = outcome.json();
    assert_eq!(results["processes"], 100, "{outcome}");
    assert_eq!(results["source_addresses"], 10, "{outcome}");
    let server = check(&results, "open files: server");
    assert_eq!((&server["verdict"], &server["needed"]), (&"ok".into(), &"110 processes".into()), "{outcome}");
}

#[test]
fn few_files_have_a_remedy() {
    let outcome = doctor_with_files(32, "--clients 100000 --format json");
    assert_eq!(outcome.code, Some(1), "{outcome}");
    let results = outcome.json();
    let command = &check(&results, "open files: throng")["command"];
    assert!(command.as_str().is_some_and(|command| command.starts_with("ulimit -Hn ")), "{outcome}");
}

#[test]
fn a_server_here_is_found_by_its_address() {
    let server = Server::start(&[]);
    let outcome = run(&mut throng(["doctor", &server.url(), "--clients", "10", "-f", "json"]), RUN_MAX);
    assert_eq!(outcome.code, Some(0), "{outcome}");
    assert_eq!(check(&outcome.json(), "open files: server")["verdict"], "ok", "{outcome}");
}

#[test]
fn a_server_that_is_not_there_is_missed() {
    let url = format!("ws://{}/", free_address());
    let outcome = run(&mut throng(["doctor", &url, "--clients", "10", "-f", "json"]), RUN_MAX);
    assert_eq!(outcome.code, Some(0), "{outcome}");
    assert_eq!(check(&outcome.json(), "open files: server")["verdict"], "unknown", "{outcome}");
}

#[test]
fn text_ends_with_what_it_comes_to() {
    let outcome = run(&mut throng(["doctor", "--clients", "10"]), RUN_MAX);
    assert_eq!(outcome.code, Some(0), "{outcome}");
    assert!(outcome.stdout.contains("\n10 clients, throng's own server\nneed 1 process, 1 source address, "));
    assert!(outcome.stdout.ends_with("\nnothing stands in the way\n"), "{outcome}");
}

#[test]
fn no_clients_are_no_question() {
    let outcome = run(&mut throng(["doctor", "--clients", "0"]), RUN_MAX);
    assert_eq!(outcome.code, Some(2), "{outcome}");
    assert!(outcome.stderr.contains("--clients"), "{outcome}");
}
