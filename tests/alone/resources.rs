//! Results on the server, the generator and their machine, against servers that end, quotas that bind, and
//! programs that have nothing to do with the run.

use std::os::unix::fs::symlink;
use std::process::Command;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value;

use crate::support::alone;
use crate::support::process::Process;
use crate::support::quota::Quota;
use crate::support::throng::{Outcome, Server, echo, finish, run, start_measuring, throng, under};

/// A run of a few seconds, on a busy machine.
const RUN_MAX: Duration = Duration::from_secs(40);
/// A quota, in percent of one core.
const QUOTA: u32 = 10;

fn step(outcome: &Outcome) -> Value {
    outcome.json()["steps"][0].clone()
}

/// A closed loop that leaves no CPU idle.
fn saturate(url: &str) -> Command {
    let flags = ["--clients", "50", "--duration", "2s", "--threads", "1", "--connect-timeout", "30s"];
    let mut command = throng(["echo", url, "-c", "50", "--format", "json", "--no-store"]);
    command.args(flags);
    command
}

#[test]
fn readings_of_a_dead_server_stay() {
    let _alone = alone();
    let server = Server::start(&[]);
    // So many that its CPU time shows within a second.
    let process = start_measuring(&mut echo(&server.url(), 300, "4s"));
    assert!(server.process.signal(Signal::KILL));
    let outcome = finish(process, RUN_MAX);
    let step = step(&outcome);
    let number = |of: &str, name: &str| step[of][name].as_f64();
    let start_s = step["start_s"].as_f64().unwrap();
    assert!(number("server", "ended_s").is_some_and(|ended_s| ended_s > start_s + 0.5), "{outcome}");
    for name in ["cpu_percent_mean", "rss_bytes_mean", "rss_bytes_peak", "threads", "processes", "cores"] {
        assert!(number("server", name).is_some_and(|value| value > 0.0), "{name}\n{outcome}");
    }
    assert!(number("machine", "steal_percent").is_some(), "{outcome}");
    assert!(number("generator", "worker_waiting_percent_max") >= number("generator", "waiting_percent"));
}

#[test]
fn a_server_that_lives_has_not_ended() {
    let _alone = alone();
    let server = Server::start(&[]);
    let outcome = run(&mut echo(&server.url(), 2, "1s"), RUN_MAX);
    assert_eq!(step(&outcome)["server"]["ended_s"], Value::Null, "{outcome}");
}

#[test]
fn servers_are_those_that_listen() {
    let _alone = alone();
    // As two services of one script: the other's CPU and memory are not the server's.
    let script = r#"sleep 60 & "$0" "$@" & wait"#;
    let server = Server::start_as(&[], |serve| under("sh", &["-c", script], &serve));
    let outcome = run(&mut echo(&server.url(), 2, "1s"), RUN_MAX);
    assert_eq!(step(&outcome)["server"]["processes"], 1, "{outcome}");
}

#[test]
fn server_quotas_are_size_and_bottleneck() {
    let _alone = alone();
    let Some(quota) = Quota::new(QUOTA) else { return };
    let server = Server::start_as(&["--threads", "1"], |serve| quota.over(&serve));
    let outcome = run(&mut saturate(&server.url()), RUN_MAX);
    let server = &step(&outcome)["server"];
    assert_eq!(server["cores"], f64::from(QUOTA) / 100.0, "{outcome}");
    assert!(server["throttled_percent"].as_f64().is_some_and(|share| share > 50.0), "{outcome}");
    assert_eq!(step(&outcome)["generator"]["throttled_percent"], Value::Null, "it has no quota\n{outcome}");
}

#[test]
fn the_generators_own_quota_shows_too() {
    let _alone = alone();
    let (Some(quota), server) = (Quota::new(QUOTA), Server::start(&[])) else { return };
    let outcome = run(&mut quota.over(&saturate(&server.url())), RUN_MAX);
    let step = step(&outcome);
    assert!(step["generator"]["throttled_percent"].as_f64().is_some_and(|share| share > 50.0), "{outcome}");
    assert_eq!(step["server"]["throttled_percent"], Value::Null, "it has no quota\n{outcome}");
}

#[test]
fn programs_that_have_the_cpu_are_named() {
    let _alone = alone();
    let server = Server::start(&["--threads", "1"]);
    let folder = tempfile::tempdir().unwrap();
    let spinner = folder.path().join("spinner");
    symlink("/bin/sh", &spinner).unwrap();
    let _spinner = Process::start(Command::new(spinner).args(["-c", "while :; do :; done"]));
    let outcome = run(&mut saturate(&server.url()), RUN_MAX);
    let step = step(&outcome);
    let others = step["machine"]["others"].as_array().unwrap_or_else(|| panic!("nobody\n{outcome}"));
    let named: Vec<&str> = others.iter().filter_map(|other| other["name"].as_str()).collect();
    assert!(named.contains(&"spinner"), "{outcome}");
    assert!(others.iter().all(|other| other["cpu_percent"].as_f64() >= Some(5.0)), "{outcome}");
}
