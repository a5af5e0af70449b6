//! Stalls of streamed answers, and their owners: a server that plants them, or a generator that is stopped
//! or throttled.

use std::thread;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value;

use super::{counts, ms, stream};
use crate::support::quota::Quota;
use crate::support::requests::RUN_MAX;
use crate::support::throng::{Server, finish, run, start_measuring, sum_of, throng};
use crate::support::{in_time, timed};

#[test]
fn stalls_are_found_where_planted() {
    let server = Server::start(&[]);
    let url = format!("http://{}/stream?events=50&gap=20ms&stall=1s@25:4%10", server.address);
    // A machine that is busy for as long makes more of them, or reads both sides of one at once.
    timed(|| {
        let results = stream(&url, "-c 20 -n 20").json();
        let [received, stalls, here] = counts(&results, ["received", "stalls", "stalls_here"]);
        assert_eq!(received, 20, "{results:#}");
        let max_ms = ms(&results, "gap", "max_ms");
        in_time(stalls - here == 2 && max_ms > 999.0, || format!("{stalls} - {here}, {max_ms}"))?;
        // Those that this machine makes have owners, too.
        let planted_percent = 100.0 * 2.0 / stalls as f64;
        let own = owned(&results, &["server_asleep", "server_cpu", "cpu_contention"]);
        in_time(own >= planted_percent - 1.0, || format!("{results:#}"))
    });
}

/// The share of stalls that these owners have together, in percent.
fn owned(results: &Value, owners: &[&str]) -> f64 {
    let shares = &results["steps"][0]["stall_owners_percent"];
    owners.iter().filter_map(|owner| shares[owner].as_f64()).sum()
}

#[test]
fn a_stopped_generator_owns_its_stalls() {
    let server = Server::start(&[]);
    let url = format!("http://{}/stream?events=100&gap=20ms", server.address);
    timed(|| {
        let mut command = throng(["stream", &url, "--format", "json", "--no-preflight", "--no-store"]);
        command.args("-c 20 -n 40".split(' '));
        let generator = start_measuring(&mut command);
        assert!(generator.signal(Signal::STOP));
        thread::sleep(Duration::from_secs(1));
        assert!(generator.signal(Signal::CONT));
        let results = finish(generator, RUN_MAX).json();
        let [received, stalls, here] = counts(&results, ["received", "stalls", "stalls_here"]);
        assert_eq!(received, 40, "{results:#}");
        in_time(stalls >= 20 && stalls == here, || format!("{results:#}"))?;
        in_time(owned(&results, &["generator"]) > 80.0, || format!("{results:#}"))
    });
}

#[test]
fn a_throttled_generator_owns_its_stalls() {
    let Some(quota) = Quota::new(10) else { return };
    let server = Server::start(&[]);
    let url = format!("http://{}/stream?events=250&gap=8ms", server.address);
    let mut command = throng(["stream", &url, "--format", "json", "--no-preflight", "--no-store"]);
    // The server waits less than the shortest stall, and less often than events are read together.
    command.args("-c 60 -n 60 --stall 2 --connect-timeout 20s".split(' '));
    let results = run(&mut quota.over(&command), 2 * RUN_MAX).json();
    assert!(results["steps"][0]["generator"]["throttled_percent"].as_f64() > Some(10.0), "{results:#}");
    // Beside other programs, it also waits for a CPU.
    let own = owned(&results, &["generator", "cpu_contention"]);
    assert!(sum_of(&results, "stalls") > 0 && own > 60.0, "{results:#}");
}
