//! Runs of many steps: what a step costs does not depend on how many there are.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use crate::support::process::Process;
use crate::support::skip;
use crate::support::throng::{Server, echo, finish, run, throng, under};
use crate::support::{START_MAX, wait_until};

const RUN_MAX: Duration = Duration::from_secs(120);
const STEPS: usize = 1_000;
/// The peak of a process that reads that many, in place of 2.8 GB: the program's own 20 MB, and 100 kB for each step.
const PEAK_KIB_MAX: u64 = 120_000;
/// The same of a recap of all records.
const RECAP_KIB_MAX: u64 = 195_000;
const RECORDS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../records");
/// Prints the most memory that a command ever held, in KiB.
const PEAK: &str = "import os, sys
pid = os.posix_spawnp(sys.argv[1], sys.argv[1:], os.environ, file_actions=[(os.POSIX_SPAWN_OPEN, 1, '/dev/null', os.O_WRONLY, 0)])
_, status, usage = os.wait4(pid, 0)
print(usage.ru_maxrss)
sys.exit(os.waitstatus_to_exitcode(status))";

/// A results file of many steps, which repeat those of a short run.
fn many_steps(server: &Server, folder: &Path) -> std::path::PathBuf {
    let short = run(&mut echo(&server.url(), 5, "1s"), RUN_MAX);
    let mut results: Value = short.json();
    let step = results["steps"][0].take();
    results["steps"] = vec![step; STEPS].into();
    let path = folder.join("many.json");
    fs::write(&path, serde_json::to_string_pretty(&results).unwrap()).unwrap();
    path
}

#[test]
fn a_thousand_steps_are_read_in_little_memory() {
    if !Command::new("python3").arg("--version").output().is_ok_and(|output| output.status.success()) {
        return skip("memory of many steps", "needs python3");
    }
    let server = Server::start(&["--threads", "1"]);
    let folder = tempfile::tempdir().unwrap();
    let many = many_steps(&server, folder.path());
    let [store, page] = ["runs.db", "many.html"].map(|name| folder.path().join(name));
    let [many, store, page] = [&many, &store, &page].map(|path| path.to_str().unwrap());
    let readers: [(&[&str], u64); 5] = [
        (&["runs", "show", many, "--format", "json"], PEAK_KIB_MAX),
        (&["runs", "show", many], PEAK_KIB_MAX),
        (&["runs", "import", many, "--store", store], PEAK_KIB_MAX),
        (&["report", many, "--html", page], PEAK_KIB_MAX),
        (&["shootout", "--recap", RECORDS], RECAP_KIB_MAX),
    ];
    for (words, peak_kib_max) in readers {
        let measured = run(&mut under("python3", &["-c", PEAK], throng([]).args(words)), RUN_MAX);
        assert_eq!(measured.code, Some(0), "{words:?}: {measured}");
        let peak_kib: u64 = measured.stdout.trim().parse().unwrap();
        assert!(peak_kib < peak_kib_max, "{words:?}: {peak_kib} KiB");
    }
}

#[test]
fn steps_are_appended_to_existing_files() {
    let server = Server::start(&["--threads", "1"]);
    let folder = tempfile::tempdir().unwrap();
    let mut walk = throng(["echo", "--format", "json", "--step-size", "5", "--total-steps", "4"]);
    walk.args(["--duration", "500ms", "--limit-rtt", "20s", "--threads", "1", "--no-store"]);
    walk.arg(server.url()).arg("--out").arg(folder.path());
    let process = Process::start(&mut walk);
    let results = || {
        let files = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path());
        files.into_iter().find(|path| path.extension().is_some_and(|extension| extension == "json"))
    };
    assert!(wait_until(START_MAX, || results().is_some()), "no first step");
    let path = results().unwrap();
    let first = fs::metadata(&path).unwrap().ino();
    let outcome = finish(process, RUN_MAX);
    assert_eq!(fs::metadata(&path).unwrap().ino(), first, "it was written anew");
    let kept: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    assert_eq!(kept, outcome.json(), "as it is printed");
    assert_eq!(kept["steps"].as_array().map(Vec::len), Some(4));
}
