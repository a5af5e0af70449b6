//! Servers that work, end, and hand over.

use super::*;
use std::cell::Cell;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

/// More than one interval between two samples.
const AWHILE: Duration = Duration::from_nanos(SAMPLE_INTERVAL_NS + 1_000_000);

fn watch_of(pid: u32) -> ServerWatch {
    ServerWatch::new(Some(&Service::of(pid)), true)
}

/// A shell with a job that uses CPU; it prints a line when it runs.
fn shell(script: &str) -> Child {
    Command::new("sh").args(["-c", script]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap()
}

fn read_line(child: &mut Child) -> String {
    let mut line = String::new();
    let stdout = child.stdout.as_mut().expect("piped");
    BufReader::new(stdout).read_line(&mut line).unwrap();
    line
}

/// Looks until the server used some CPU.
fn watch_until_busy(watch: &mut ServerWatch) {
    let is_busy = (0..100).any(|_| {
        thread::sleep(AWHILE);
        watch.poll(None);
        watch.now().0.is_some_and(|cpu| cpu > 0.0)
    });
    assert!(is_busy);
}

#[test]
fn later_readings_are_not_in_the_window() {
    let mut watch = watch_of(std::process::id());
    watch.start();
    thread::sleep(Duration::from_millis(20));
    watch.close();
    let closed = watch.closed.clone().expect("closed");
    thread::sleep(AWHILE);
    watch.poll(None);
    assert!(watch.now().1.is_some(), "it is still looked at");
    let seen = watch.finish(0);
    let cpu = |server: Option<ServerUse>| server.and_then(|server| server.cpu_percent_mean);
    assert_eq!((cpu(seen.server.clone()), seen.machine), (cpu(closed.server), closed.machine));
    assert_eq!(seen.server.expect("seen").ended_ns, None);
}

#[test]
fn readings_of_an_ended_server_stay() {
    let mut server = shell("while :; do :; done");
    let mut watch = watch_of(server.id());
    watch.start();
    let epoch_ns = clock::monotonic_ns();
    watch_until_busy(&mut watch);
    let before_ns = clock::monotonic_ns() - epoch_ns;
    server.kill().unwrap();
    server.wait().unwrap();
    for _ in 0..2 {
        thread::sleep(AWHILE);
        watch.poll(None);
        assert_eq!(watch.now(), (None, None), "there is nothing to see now");
    }
    let after_ns = clock::monotonic_ns() - epoch_ns;
    let used = watch.finish(epoch_ns).server.expect("it was seen");
    assert!(used.ended_ns.is_some_and(|at_ns| (before_ns..after_ns).contains(&at_ns)), "{used:?}");
    assert!(used.cpu_percent_mean.is_some_and(|cpu| cpu > 0.0), "{used:?}");
    assert!(used.rss_bytes_mean.is_some_and(|bytes| bytes > 0), "{used:?}");
    assert!(used.rss_bytes_peak >= used.rss_bytes_mean && used.processes == Some(1), "{used:?}");

    watch.start();
    assert_eq!(watch.finish(epoch_ns).server, None, "it is not there a step later");
}

#[test]
fn restarted_servers_are_seen_in_the_next_step() {
    let mut first = shell("exec sleep 60");
    let mut second = shell("exec sleep 60");
    let (mut watch, pid) = (watch_of(first.id()), second.id());
    let looks = Cell::new(0);
    watch.look_again(move || {
        // It takes its time.
        looks.set(looks.get() + 1);
        (looks.get() > 1).then(|| Service::of(pid))
    });
    watch.start();
    first.kill().unwrap();
    first.wait().unwrap();
    assert!(watch.finish(0).server.expect("it was seen").ended_ns.is_some());
    watch.start();
    assert_eq!(watch.finish(0).server, None, "it is not there yet");
    watch.start();
    let then = watch.finish(0).server.expect("the other is seen");
    second.kill().unwrap();
    second.wait().unwrap();
    assert_eq!((then.ended_ns, then.processes), (None, Some(1)), "{then:?}");
}

#[test]
fn an_end_in_the_drain_is_seen() {
    let mut server = shell("exec sleep 60");
    let mut watch = watch_of(server.id());
    watch.start();
    watch.close();
    server.kill().unwrap();
    server.wait().unwrap();
    assert!(watch.finish(0).server.expect("it was seen").ended_ns.is_some());
}

#[test]
fn servers_go_on_in_their_other_processes() {
    let mut server = shell("timeout 60 sh -c 'while :; do :; done' & echo; read line; exit");
    assert_eq!(read_line(&mut server), "\n");
    let mut watch = watch_of(server.id());
    watch.start();
    watch_until_busy(&mut watch);
    server.stdin.as_mut().expect("piped").write_all(b"go\n").unwrap();
    assert!(server.wait().unwrap().success());
    watch_until_busy(&mut watch);
    let left = watch.server.as_ref().expect("it is here").pids();
    let used = watch.finish(0).server.expect("it was seen");
    for pid in left {
        Command::new("kill").args(["-9", &pid.to_string()]).status().unwrap();
    }
    assert_eq!(used.ended_ns, None, "{used:?}");
}

#[test]
fn others_on_the_machine_have_names() {
    let dir = tempfile::tempdir().unwrap();
    let name = format!("others-{}", std::process::id());
    std::os::unix::fs::symlink("/bin/sh", dir.path().join(&name)).unwrap();
    // Not a child of this process: those are the generator's.
    let program = dir.path().join(&name);
    // As many, and as urgent if that is allowed, as have most of the CPU on a busy machine, too.
    let spins = "while :; do :; done & ".repeat(4);
    let script =
        format!("nice -n -10 timeout 60 {} -c '{spins} wait' >/dev/null & echo $!", program.display());
    let mut parent = shell(&script);
    let pid = read_line(&mut parent);
    parent.wait().unwrap();
    let is_named = (0..20).any(|_| {
        let mut watch = ServerWatch::new(None, false);
        let mut watch_of_hidden = ServerWatch::new(None, true);
        watch.start();
        watch_of_hidden.start();
        thread::sleep(Duration::from_secs(1));
        let machine = watch.finish(0).machine;
        assert!(watch_of_hidden.finish(0).machine.others.is_empty(), "one of them may be the server");
        let others = &machine.others;
        assert!(others.len() <= 3 && others.iter().all(|other| other.cpu_percent >= 5.0), "{others:?}");
        assert!(others.is_sorted_by(|a, b| a.cpu_percent >= b.cpu_percent), "{others:?}");
        assert!(machine.steal_percent.is_some_and(|share| (0.0..=100.0).contains(&share)));
        others.iter().any(|other| other.name == name)
    });
    Command::new("kill").arg(pid.trim()).status().unwrap();
    assert!(is_named);
}

#[test]
fn a_window_may_close_once_more() {
    let mut watch = ServerWatch::new(None, false);
    watch.start();
    watch.close();
    watch.close();
    assert!(watch.finish(0).machine.cores.is_some());
}
