//! Bounds: the memory of a coordinator that gets little CPU, and how long its processes outlive it.

use std::collections::HashSet;
use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::support::client::TestClient;
use crate::support::process::Process;
use crate::support::throng::{Server, finish, throng};
use crate::support::wait_until;

/// Processes of the load.
const CHILDREN: u64 = 50;
/// A coordinator of so many takes no more at its peak: in a build without optimisation it is 40 MiB.
const COORDINATOR_BYTES_MAX: u64 = 64 << 20;
/// Processes are gone so long after who started them.
const GONE_WITHIN: Duration = Duration::from_secs(5);
/// A run of a few seconds, on a busy machine.
const RUN_MAX: Duration = Duration::from_secs(120);

/// A process, by its number and when it started: the number may be another's later.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Name {
    pid: u32,
    start_ticks: u64,
}

/// A living process and its parent.
fn living(pid: u32) -> Option<(Name, u32)> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let fields: Vec<&str> = stat.get(stat.rfind(')')? + 2..)?.split(' ').collect();
    let is_alive = !matches!(fields[0], "Z" | "X");
    is_alive.then_some((Name { pid, start_ticks: fields[19].parse().ok()? }, fields[1].parse().ok()?))
}

/// All that descend from this process.
fn descendants(root: u32) -> HashSet<Name> {
    let pids = fs::read_dir("/proc").unwrap().flatten();
    let pids = pids.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let all: Vec<(Name, u32)> = pids.filter_map(living).collect();
    let mut found = HashSet::from([root]);
    let mut names = HashSet::new();
    loop {
        let children = all.iter().filter(|(name, parent)| found.contains(parent) && !names.contains(name));
        let children: Vec<Name> = children.map(|(name, _)| name.clone()).collect();
        if children.is_empty() {
            return names;
        }
        found.extend(children.iter().map(|name| name.pid));
        names.extend(children);
    }
}

fn id(process: &Process) -> u32 {
    process.pid().as_raw_nonzero().get().unsigned_abs()
}

/// The most memory that the process has had, in bytes.
fn peak_bytes(pid: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().strip_suffix(" kB")?.parse::<u64>().ok()? << 10)
}

/// Lets the process run a fifth of the time, until `done`. Its peak of memory by then.
fn throttle(pid: Pid, done: &AtomicBool) -> u64 {
    let mut peak = 0;
    while !done.load(Ordering::Relaxed) && kill_process(pid, Signal::STOP).is_ok() {
        thread::sleep(Duration::from_millis(120));
        peak = peak_bytes(pid.as_raw_nonzero().get().unsigned_abs()).unwrap_or(0).max(peak);
        let _ = kill_process(pid, Signal::CONT);
        thread::sleep(Duration::from_millis(30));
    }
    peak
}

#[test]
fn starved_coordinators_stay_small_and_right() {
    let server = Server::start(&[]);
    let processes = CHILDREN.to_string();
    let flags = ["--clients", "500", "--rate", "1000", "--duration", "8s", "--processes", &processes];
    let mut command = throng(["echo", &server.url(), "--threads", "1", "--format", "json"]);
    let process = Process::start(command.args(flags).args(["--drain-timeout", "60s"]));
    let (pid, done) = (process.pid(), AtomicBool::new(false));
    let (outcome, peak) = thread::scope(|scope| {
        let throttled = scope.spawn(|| throttle(pid, &done));
        let outcome = finish(process, RUN_MAX);
        done.store(true, Ordering::Relaxed);
        (outcome, throttled.join().unwrap())
    });
    let results = outcome.json();
    let step = &results["steps"][0];
    let counts = &step["counts"];
    assert_eq!((step["usable"].as_u64(), counts["connected"].as_u64()), (Some(500), Some(500)), "{outcome}");
    for count in ["sent", "received", "expected"] {
        assert_eq!(counts[count], 8_000, "{count}\n{outcome}");
    }
    assert_eq!((&counts["missing"], &step["rtt"]["count"]), (&0.into(), &8_000.into()), "{outcome}");
    assert!(peak > 0 && peak < COORDINATOR_BYTES_MAX, "{} MiB", peak >> 20);

    // A coordinator that hears of many seconds at once still tells them apart.
    let rows = step["series"].as_array().expect("a row for each second");
    let sent: Vec<u64> = rows.iter().filter_map(|row| row["sent"].as_u64()).collect();
    assert_eq!(sent.iter().sum::<u64>(), 8_000, "{sent:?}");
    let times: Vec<f64> = rows.iter().filter_map(|row| row["t_s"].as_f64()).collect();
    assert!(times.len() >= 8 && times.is_sorted(), "{times:?}");
}

#[test]
fn nothing_outlives_a_coordinator_that_is_killed() {
    // With its own server. Everybody connects for half a minute yet.
    let flags = ["--clients", "9000", "--connect-rate", "300", "--processes", "6", "--duration", "60s"];
    let process = Process::start(throng(["idle", "--threads", "1"]).args(flags));
    assert_killed_with_all(&process, 7);
    // The processes of a server, whose clients do not let it go.
    let server = Server::start(&["--processes", "4", "--threads", "1"]);
    let _clients: Vec<TestClient> = (0..40).map(|_| TestClient::upgrade(server.address)).collect();
    assert_killed_with_all(&server.process, 4);
}

/// Stops half of what descends from the process, once that are so many, as if they had no CPU, and kills it.
fn assert_killed_with_all(process: &Process, number: usize) {
    let there = || descendants(id(process));
    assert!(wait_until(RUN_MAX, || there().len() >= number), "{:?}", there());
    thread::sleep(Duration::from_secs(1)); // in the middle of what they do
    let all = there();
    for name in all.iter().take(number / 2) {
        kill_process(Pid::from_raw(name.pid as i32).unwrap(), Signal::STOP).unwrap();
    }
    assert!(process.signal(Signal::KILL));
    let left = || all.iter().filter(|name| living(name.pid).is_some_and(|(now, _)| now == **name));
    assert!(wait_until(GONE_WITHIN, || left().next().is_none()), "{:?}", left().collect::<Vec<_>>());
}
