//! Runs in which every client must connect and every message arrive once, in order, without an error.

use std::time::Duration;

use serde_json::{Value, json};

use super::throng::{run, sum_of, throng};

pub const CLIENTS: u64 = 100;
pub const BROADCASTS: u64 = 20;

/// Counts that must be zero.
const TROUBLE: [&str; 6] = ["missing", "duplicate", "corrupt", "unexpected", "reordered", "disconnects"];
const WITHIN: Duration = Duration::from_secs(60);

/// Every client sends twice, and has each back.
pub fn echo(url: &str, flags: &[&str]) -> Value {
    let mut command = throng(["echo", url, "--format", "json", "--connect-timeout", "20s"]);
    command.args(["--clients", &CLIENTS.to_string(), "--interval", "200ms", "--duration", "400ms"]);
    let results = run(command.args(flags), WITHIN).json();
    assert_exact(&results, flags);
    assert_eq!(sum_of(&results, "received"), sum_of(&results, "sent"), "{flags:?}");
    results
}

/// Everybody has every broadcast, and each is acknowledged.
pub fn broadcast(url: &str, flags: &[&str]) {
    let mut command =
        throng(["broadcast", url, "--format", "json", "--connect-timeout", "20s", "--limit-rtt", "10s"]);
    command.args(["--concurrent", "2", "--sample-size", &BROADCASTS.to_string()]);
    command.args(["--initial-clients", &CLIENTS.to_string(), "--step-size", "1", "--total-steps", "1"]);
    let results = run(command.args(flags), WITHIN).json();
    assert_exact(&results, flags);
    assert_eq!(sum_of(&results, "sent"), BROADCASTS, "{flags:?}");
    assert_eq!(sum_of(&results, "received"), BROADCASTS * CLIENTS, "{flags:?}");
    assert_eq!(results["steps"][0]["rtt"]["count"], BROADCASTS, "{flags:?}: all acknowledged");
}

fn assert_exact(results: &Value, flags: &[&str]) {
    assert_eq!(sum_of(results, "connected"), CLIENTS, "{flags:?}: {results:#}");
    for trouble in TROUBLE {
        assert_eq!(sum_of(results, trouble), 0, "{flags:?}: {trouble}: {results:#}");
    }
    for step in results["steps"].as_array().expect("steps") {
        assert_eq!(step["counts"]["errors"], json!({}), "{flags:?}: {results:#}");
    }
}
