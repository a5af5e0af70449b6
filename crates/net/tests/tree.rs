//! Process trees made of shells, read as servers under test are.

use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use net::proc::{BusiestThread, ProcessTree, Usage};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};

/// A shell script in a process group of its own, which ends with the test, also a failed one.
struct Script(Child);

impl Script {
    fn start(script: &str) -> Script {
        let mut command = Command::new("sh");
        command.args(["-c", script]).process_group(0).stdout(Stdio::null()).stderr(Stdio::null());
        Script(command.spawn().expect("sh"))
    }

    fn tree(&self) -> ProcessTree {
        ProcessTree::new(self.0.id())
    }
}

impl Drop for Script {
    fn drop(&mut self) {
        let _ = kill_process_group(Pid::from_child(&self.0), Signal::KILL);
        let _ = self.0.wait();
    }
}

/// Samples until the tree looks as expected, for at most twenty seconds.
fn sample_until(tree: &mut ProcessTree, what: &str, expected: impl Fn(&Usage) -> bool) -> Usage {
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        let usage = tree.sample().unwrap();
        if expected(&usage) {
            return usage;
        }
        assert!(Instant::now() < deadline, "never {what}: {usage:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn cpu_ns(usage: &Usage) -> u64 {
    usage.user_ns + usage.system_ns
}

/// More than 50 ms of CPU on any machine.
const SPIN: &str = "i=0; while [ $i -lt 500000 ]; do i=$((i+1)); done";

#[test]
fn children_count_and_orphans_stay_followed() {
    let script = Script::start("sh -c 'sleep 60 & sleep 60 & wait' & exec sleep 60");
    let mut tree = script.tree();
    let full = sample_until(&mut tree, "four processes", |usage| usage.processes == 4);
    assert!(full.threads >= full.processes && full.rss_bytes > 100_000 && full.fds.unwrap() >= 12);
    let past = tree.past().unwrap();
    assert!(past.rss_bytes_peak >= full.rss_bytes && past.fds_peak == 0, "{past:?}");
    assert!(tree.pss_bytes().unwrap() > 0 && tree.pss_bytes().unwrap() <= full.rss_bytes * 2);
    let root = script.0.id();
    let children = std::fs::read_to_string(format!("/proc/{root}/task/{root}/children")).unwrap();
    let child = children.trim().parse().ok().and_then(Pid::from_raw).expect("one child");
    kill_process(child, Signal::KILL).unwrap();
    sample_until(&mut tree, "two orphans", |usage| usage.processes == 3);
    assert_eq!(tree.sample().unwrap().processes, 3, "and they stay");
}

#[test]
fn new_children_are_told_from_other_processes() {
    let script = Script::start("trap 'sleep 60 & sleep 60 & wait' USR1; sleep 60 & wait");
    let mut tree = script.tree();
    sample_until(&mut tree, "two processes", |usage| usage.processes == 2);
    let other = Script::start("sleep 60 & wait");
    sample_until(&mut other.tree(), "two others", |usage| usage.processes == 2);
    assert_eq!(tree.sample().unwrap().processes, 2);
    kill_process(Pid::from_child(&script.0), Signal::USR1).unwrap();
    sample_until(&mut tree, "four processes", |usage| usage.processes == 4);
    assert_eq!(tree.sample().unwrap().processes, 4, "and they stay");
}

#[test]
fn cpu_of_ended_children_is_kept() {
    // One process is left, and not before both children have ended.
    let script = Script::start(&format!("({SPIN}) & ({SPIN}) & wait; exec sleep 60"));
    let mut tree = script.tree();
    let mut last = 0;
    let mut busiest = false;
    let ended =
        sample_until(&mut tree, "idle again", |usage| usage.processes == 1 && cpu_ns(usage) > 50_000_000);
    for _ in 0..5 {
        let usage = tree.sample().unwrap();
        assert!(cpu_ns(&usage) >= last.max(cpu_ns(&ended)));
        last = cpu_ns(&usage);
        busiest |= usage.busiest.is_some_and(|thread| thread.cpu_ns > 50_000_000);
    }
    assert!(!busiest, "nobody works any more");
    let late = cpu_ns(&script.tree().sample().unwrap());
    assert!(late.abs_diff(last) <= 60_000_000, "children never seen alive count as well: {late} {last}");
}

#[test]
fn the_busiest_thread_is_named() {
    let script = Script::start("while :; do :; done & exec sleep 60");
    let mut tree = script.tree();
    let usage = sample_until(&mut tree, "a busy thread", |usage| {
        let busy = |thread: &BusiestThread| thread.cpu_ns > 1_000_000 && thread.name == "sh";
        usage.busiest.as_ref().is_some_and(busy) && cpu_ns(usage) > 50_000_000
    });
    assert_eq!(tree.threads()[0].tid, usage.busiest.unwrap().tid);
    sample_until(&mut tree, "anything of the scheduler's", |usage| {
        usage.involuntary_switches + usage.voluntary_switches > 0
    });
    assert!(tree.threads().iter().any(|thread| thread.name == "sleep"));
}

#[test]
fn a_tree_that_ended_is_not_found() {
    let mut script = Script::start("exit 0");
    script.0.wait().unwrap();
    assert_eq!(script.tree().sample().unwrap_err().kind(), std::io::ErrorKind::NotFound);
}

#[test]
fn children_that_just_ended_leave_the_peaks() {
    let script = Script::start("sleep 60 & sleep 60 & wait");
    let mut tree = script.tree();
    sample_until(&mut tree, "three processes", |usage| usage.processes == 3);
    let child = tree.pids().into_iter().find(|pid| *pid != script.0.id()).expect("a child");
    kill_process(i32::try_from(child).ok().and_then(Pid::from_raw).expect("a pid"), Signal::KILL).unwrap();
    sample_until(&mut script.tree(), "two processes", |usage| usage.processes == 2);
    assert!(tree.past().is_some_and(|past| past.rss_bytes_peak > 0));
    assert!(tree.pss_bytes().is_some_and(|bytes| bytes > 0));
}
