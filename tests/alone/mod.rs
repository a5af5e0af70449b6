//! Tests that hold times and verdicts against the truth: one at a time ([`alone`](crate::support::alone)),
//! and in `make test` with nothing beside them.

mod first_events;
mod owners;
mod painting;
mod proposals;
mod resources;
mod sentences;
mod truth;

use std::process::Command;

use serde_json::Value;

use crate::support::process::Process;

/// The percentage from which a run's times are true of the machine and not of the server: half a core.
const OTHERS_PERCENT_MAX: f64 = 50.0;

/// Starts this many busy loops, which end with the value.
fn crowd(n: usize) -> Vec<Process> {
    let busy = || Process::start(Command::new("sh").args(["-c", "while :; do :; done"]));
    (0..n).map(|_| busy()).collect()
}

/// CPU that other programs had, percent of a core, on average over a run's last step. Further runs and busy
/// loops are a test's own.
fn others_percent(results: &Value) -> f64 {
    let last = results["steps"].as_array().and_then(|steps| steps.last());
    let others = last.and_then(|step| step["machine"]["others"].as_array()).into_iter().flatten();
    let is_own = |name: &str| name == "throng" || name.starts_with("end_to_end");
    let foreign = others.filter(|other| !other["name"].as_str().is_some_and(is_own));
    foreign.filter_map(|other| other["cpu_percent"].as_f64()).sum()
}
