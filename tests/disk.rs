//! The store on a disk that is full or broken, and under a process that is killed: what was kept before is still there,
//! and what was measured now is printed, whatever became of it on the disk.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use crate::support::skip;
use crate::support::throng::{Outcome, Server, echo, run, throng, under};

const RUN_MAX: Duration = Duration::from_secs(30);
/// The store's system calls, but for looks and locks, which change nothing.
const CALLS: [&str; 7] = ["openat", "pwrite64", "write", "fsync", "fdatasync", "ftruncate", "unlink"];
/// SQLite's suffixes of its file's name.
const BESIDE: [&str; 4] = ["", "-wal", "-shm", "-journal"];

/// Returns whether a run went to its end; on a busy machine an answer may be late for its limits.
fn is_done(outcome: &Outcome) -> bool {
    [Some(0), Some(3)].contains(&outcome.code)
}

/// A store with one run in it, and a server for more.
struct Disk {
    folder: tempfile::TempDir,
    server: Server,
}

impl Disk {
    /// `None`, said: the kernel cannot be made to fail here.
    fn new() -> Option<Self> {
        let tried = Command::new("strace").args(["-qq", "-o", "/dev/null", "true"]).output();
        if !tried.is_ok_and(|tried| tried.status.success()) {
            skip("a disk that fails", "strace is missing or not allowed");
            return None;
        }
        let disk = Self { folder: tempfile::tempdir().unwrap(), server: Server::start(&[]) };
        let first = run(&mut disk.load(), RUN_MAX);
        assert!(is_done(&first) && disk.runs() == 1, "{first}");
        Some(disk)
    }

    fn store(&self) -> PathBuf {
        self.folder.path().join("throng/runs.db")
    }

    /// Nobody names the store: one that cannot be had is then a remark, and no reason to measure nothing.
    fn load(&self) -> Command {
        let mut command = echo(&self.server.url(), 2, "200ms");
        command.args(["--no-report", "--quiet"]).env("XDG_DATA_HOME", self.folder.path());
        command
    }

    /// A run under `strace` with this done to what it asks about the store's files; `log`: into this file.
    fn traced(&self, injected: &[String], log: &Path) -> Outcome {
        let mut flags: Vec<String> = ["-f", "-qq", "-o"].map(str::to_owned).into();
        flags.push(log.display().to_string());
        for beside in BESIDE {
            flags.extend(["-P".to_owned(), format!("{}{beside}", self.store().display())]);
        }
        let folder = self.store().parent().unwrap().display().to_string();
        flags.extend(["-P".to_owned(), folder]);
        flags.extend(["-e".to_owned(), format!("trace={}", CALLS.join(","))]);
        for what in injected {
            flags.extend(["-e".to_owned(), format!("inject={what}")]);
        }
        let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
        let mut command = under("strace", &flags, &self.load());
        run(command.env("XDG_DATA_HOME", self.folder.path()), RUN_MAX)
    }

    fn runs(&self) -> usize {
        let mut command = throng(["runs", "list", "--format", "json", "-n", "0", "--store"]);
        let listed = run(command.arg(self.store()), RUN_MAX);
        assert_eq!(listed.code, Some(0), "{listed}");
        serde_json::from_str::<Vec<Value>>(&listed.stdout).unwrap().len()
    }

    /// How often each call is made in a run, by the thread that makes it most: so does `strace` count them.
    fn calls(&self) -> BTreeMap<String, usize> {
        let log = self.folder.path().join("log");
        let whole = self.traced(&[], &log);
        assert!(is_done(&whole), "{whole}");
        let mut by_thread = BTreeMap::<(String, String), usize>::new();
        for line in fs::read_to_string(log).unwrap().lines() {
            let Some((thread, rest)) = line.split_once(' ') else { continue };
            let Some((call, _)) = rest.trim_start().split_once('(') else { continue };
            *by_thread.entry((call.to_owned(), thread.to_owned())).or_default() += 1;
        }
        let mut calls = BTreeMap::<String, usize>::new();
        for ((call, _), times) in by_thread {
            calls.entry(call).and_modify(|most| *most = times.max(*most)).or_insert(times);
        }
        calls.retain(|call, _| CALLS.contains(&call.as_str()));
        calls
    }

    /// Checks that a disk that fails at `what` does not end the run without its figures, hang, or take
    /// earlier runs with it. Returns whether it failed at all, and whether the store has the run.
    fn assert_survives(&self, what: &str) -> (bool, bool) {
        let (before, log) = (self.runs(), self.folder.path().join("log"));
        let outcome = self.traced(&[what.to_owned()], &log);
        assert!(is_done(&outcome), "{what}: {outcome}");
        assert!(outcome.stdout.contains(r#""received""#), "{what}: what was measured is printed\n{outcome}");
        let is_kept = self.runs() > before;
        let is_said = outcome.stderr.contains("kept");
        assert!(is_kept || is_said, "{what}: where it is, or that it is nowhere\n{outcome}");
        (fs::read_to_string(log).unwrap().contains("(INJECTED)"), is_kept)
    }
}

#[test]
fn full_disks_cost_no_result() {
    let Some(disk) = Disk::new() else { return };
    for call in ["pwrite64", "ftruncate"] {
        assert_eq!(disk.assert_survives(&format!("{call}:error=ENOSPC:when=1+")), (true, false), "{call}");
    }
    assert_eq!(disk.runs(), 1);
}

#[test]
#[ignore = "five minutes: make torture"]
fn torture_every_call_of_the_store_fails_once() {
    let Some(disk) = Disk::new() else { return };
    for (call, times) in disk.calls() {
        for errno in ["ENOSPC", "EIO"] {
            let mut failed = 0;
            for k in 1..=times {
                failed += usize::from(disk.assert_survives(&format!("{call}:error={errno}:when={k}")).0);
            }
            // The last calls of one run may not be made in another.
            assert!(failed > 0, "{call} never fails with {errno}");
        }
        println!("{call}: {times} times");
    }
}

#[test]
#[ignore = "three minutes: make torture"]
fn torture_kills_lose_no_earlier_run() {
    let Some(disk) = Disk::new() else { return };
    for (call, times) in disk.calls() {
        for k in 1..=times {
            let before = disk.runs();
            disk.traced(&[format!("{call}:signal=KILL:when={k}")], Path::new("/dev/null"));
            assert!(disk.runs() >= before, "{call} {k}");
        }
        println!("{call}: {times} times");
    }
    let before = disk.runs();
    let after = run(&mut disk.load(), RUN_MAX);
    assert!(is_done(&after) && disk.runs() == before + 1, "{after}");
}

#[test]
fn a_full_disk_leaves_no_half_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("app.toml");
    let init = |limit: &str| {
        let mut command = throng(["init", "--from", "plain"]);
        run(&mut under("prlimit", &[limit, "--"], command.arg(&file)), RUN_MAX)
    };
    let full = init("--fsize=64");
    assert!(full.code == Some(1) && !file.exists(), "{full}");
    let again = init("--fsize=1000000");
    assert!(again.code == Some(0) && file.exists(), "{again}");
}
