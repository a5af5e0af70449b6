//! `--resume`: whatever ends a walk, the same command line goes on after its last whole step.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value;

use crate::support::process::Process;
use crate::support::throng::{ANY_PACE, Outcome, Server, caveat, finding, finish, run, throng};
use crate::support::{REACTS_WITHIN, START_MAX, wait_until};

const RUN_MAX: Duration = Duration::from_secs(60);
/// The file of a walk's live lines, beside its results.
const LINES: &str = "lines";

/// Four steps of a second each, of 10, 20, 30 and 40 clients.
fn walk(server: &Server, dir: &Path, more: &[&str]) -> Command {
    let mut command = throng(["echo", "--format", "json", "--step-size", "10", "--total-steps", "4"]);
    command.args(["--interval", "50ms", "--duration", "1s", "--limit-rtt", "20s", "--threads", "1"]);
    command.arg(server.url()).arg("--out").arg(dir).arg("--stream").arg(dir.join(LINES));
    command.args(ANY_PACE).args(more);
    command
}

/// The results files of a directory.
fn kept(dir: &Path) -> Vec<Value> {
    let files = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    let results = files.filter(|path| path.extension().is_some_and(|extension| extension == "json"));
    results.map(|path| serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()).collect()
}

/// The results of a walk that is under way; `None` while there are none, or they are being written.
fn growing(dir: &Path) -> Option<Value> {
    let mut files = fs::read_dir(dir).ok()?.map(|entry| entry.unwrap().path());
    let results = files.find(|path| path.extension().is_some_and(|extension| extension == "json"))?;
    serde_json::from_str(&fs::read_to_string(results).unwrap()).ok()
}

/// Starts a walk and ends it in its third step, or in the fourth where somebody was late; what it has left.
fn cut_short(server: &Server, dir: &Path, signal: Signal, more: &[&str]) -> Value {
    let mut process = Process::start(&mut walk(server, dir, more));
    let has_two = || growing(dir).is_some_and(|run| run["resume_after"].as_u64() >= Some(2));
    assert!(wait_until(START_MAX, has_two), "no second step");
    std::thread::sleep(Duration::from_millis(300));
    process.signal(signal);
    assert!(process.wait(REACTS_WITHIN).is_some(), "it goes on");
    let left = kept(dir).remove(0);
    assert!([2, 3].contains(&whole_steps(&left)), "{left}");
    left
}

fn whole_steps(left: &Value) -> usize {
    left["resume_after"].as_u64().unwrap_or_default() as usize
}

fn assert_whole(outcome: &Outcome, left: &Value) {
    outcome.assert_held();
    let run = outcome.json();
    assert_eq!(run["id"], left["id"], "{outcome}");
    assert!(run.get("resume_after").is_none(), "it has ended\n{outcome}");
    let steps = run["steps"].as_array().unwrap();
    let of = |name: &str| -> Vec<Value> { steps.iter().map(|step| step[name].clone()).collect() };
    assert_eq!(of("clients"), [10, 20, 30, 40], "{outcome}");
    let sent: Vec<&Value> = steps.iter().map(|step| &step["counts"]["sent"]).collect();
    assert_eq!(sent, [200, 400, 600, 800], "whole steps alone\n{outcome}");
    let is_marked = |step: &Value| finding(&step["caveats"], "caveat.resumed").is_some();
    let marked: Vec<usize> = (0..4).filter(|&index| is_marked(&steps[index])).collect();
    assert_eq!(marked, [whole_steps(left)], "the first step of the second part\n{outcome}");
    let starts: Vec<f64> = of("start_s").iter().map(|start| start.as_f64().unwrap()).collect();
    assert!(starts.is_sorted_by(|a, b| a + 1.0 <= *b), "one clock for both parts: {starts:?}");
    assert!(caveat(&run, "unended").is_none(), "{outcome}");
}

/// Checks the live lines of both parts.
fn assert_told_of(lines: &str, left: &Value) {
    let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(lines.iter().all(|line| line["run"] == left["id"]), "one run has one id: {lines:?}");
    assert_eq!(lines[0]["started"], left["started"]);
    let steps = lines.iter().filter(|line| line["event"] == "step");
    let mut numbers: Vec<usize> = steps.map(|step| step["number"].as_u64().unwrap() as usize).collect();
    // One that was cut short is told again when it is whole.
    numbers.dedup();
    assert_eq!(numbers, [1, 2, 3, 4]);
}

#[test]
fn a_walk_survives_whatever_ends_it() {
    let server = Server::start(&["--threads", "1"]);
    for signal in [Signal::KILL, Signal::TERM] {
        let dir = tempfile::tempdir().unwrap();
        let left = cut_short(&server, dir.path(), signal, &[]);
        let outcome = run(&mut walk(&server, dir.path(), &["--resume"]), RUN_MAX);
        let steps = whole_steps(&left);
        let said = format!("after {steps} whole step{}\n", if steps == 1 { "" } else { "s" });
        assert!(outcome.stderr.contains(&said), "{outcome}");
        assert_whole(&outcome, &left);
        assert_told_of(&fs::read_to_string(dir.path().join(LINES)).unwrap(), &left);
        assert_eq!(kept(dir.path()).len(), 1, "one run, one file");
    }
}

#[test]
fn walks_go_on_after_a_reboot() {
    let server = Server::start(&["--threads", "1"]);
    let dir = tempfile::tempdir().unwrap();
    let mut left = cut_short(&server, dir.path(), Signal::KILL, &[]);
    // The machine had been up for longer than now, and the run was as old.
    let uptime = fs::read_to_string("/proc/uptime").unwrap();
    let later_s = uptime.split(' ').next().unwrap().parse::<f64>().unwrap() + 86_400.0;
    for step in left["steps"].as_array_mut().unwrap() {
        step["start_s"] = (step["start_s"].as_f64().unwrap() + later_s).into();
    }
    fs::write(dir.path().join(format!("{}.json", left["id"].as_str().unwrap())), left.to_string()).unwrap();
    let outcome = run(&mut walk(&server, dir.path(), &["--resume"]), RUN_MAX);
    assert_whole(&outcome, &left);
    let (steps, last) = (outcome.json(), whole_steps(&left));
    let seconds = steps["steps"][last]["series"].as_array().unwrap().clone();
    let is_on_time = |second: &Value| second["t_s"].as_f64().is_some_and(|t_s| t_s > later_s);
    assert!(!seconds.is_empty() && seconds.iter().all(is_on_time), "{outcome}");
}

#[test]
fn parts_of_one_run_need_the_same_conditions() {
    let server = Server::start(&["--threads", "1"]);
    let dir = tempfile::tempdir().unwrap();
    let users = dir.path().join("users.csv");
    fs::write(&users, "name\nann\n").unwrap();
    let more = ["--users", users.to_str().unwrap()];
    let mut left = cut_short(&server, dir.path(), Signal::KILL, &more);
    let resume = [&more[..], &["--resume"]].concat();
    fs::write(&users, "name\nbob\n").unwrap();
    let changed = run(&mut walk(&server, dir.path(), &resume), RUN_MAX);
    changed.assert_failed(2, "usage.resume.changed_file", &["users.csv", "--out"]);
    fs::write(&users, "name\nann\n").unwrap();
    let cores = left["environment"]["cores"].take();
    left["environment"]["cores"] = (cores.as_u64().unwrap() + 1).into();
    fs::write(dir.path().join(format!("{}.json", left["id"].as_str().unwrap())), left.to_string()).unwrap();
    let elsewhere = run(&mut walk(&server, dir.path(), &resume), RUN_MAX);
    elsewhere.assert_failed(2, "usage.resume.other_machine", &["cores", "--out"]);
    left["environment"]["cores"] = cores;
    let version = left["throng"].take();
    left["throng"] = "0.0.1".into();
    fs::write(dir.path().join(format!("{}.json", left["id"].as_str().unwrap())), left.to_string()).unwrap();
    let newer = run(&mut walk(&server, dir.path(), &resume), RUN_MAX);
    newer.assert_failed(2, "usage.resume.other_version", &["0.0.1", "--out"]);
    left["throng"] = version;
    fs::write(dir.path().join(format!("{}.json", left["id"].as_str().unwrap())), left.to_string()).unwrap();
    assert_whole(&run(&mut walk(&server, dir.path(), &resume), RUN_MAX), &left);
}

#[test]
fn steps_are_stored_before_the_next() {
    let server = Server::start(&["--threads", "1"]);
    for has_out in [true, false] {
        let folder = tempfile::tempdir().unwrap();
        let (dir, store) = (folder.path().join("out"), folder.path().join("runs.db"));
        let mut command = throng(["echo", "--format", "json", "--step-size", "10", "--total-steps", "6"]);
        command.args(["--interval", "50ms", "--duration", "1s", "--limit-rtt", "20s", "--threads", "1"]);
        command.arg(server.url()).arg("--store").arg(&store);
        if has_out {
            command.arg("--out").arg(&dir);
        }
        let listed = || -> Vec<Value> {
            let list = ["runs", "list", "--format", "json", "--store"];
            serde_json::from_str(&run(throng(list).arg(&store), RUN_MAX).stdout).unwrap_or_default()
        };
        let mut process = Process::start(&mut command);
        let steps = || listed().first().and_then(|row| row["steps"].as_u64()).unwrap_or_default();
        assert!(wait_until(START_MAX, || steps() >= 2), "two steps, and no store has them");
        process.signal(Signal::KILL);
        assert!(process.wait(REACTS_WITHIN).is_some(), "it goes on");
        let row = listed().remove(0);
        assert!(row["steps"].as_u64().is_some_and(|steps| (2..6).contains(&steps)), "{row}");
        assert_eq!((&row["trusted"], &row["ended"]), (&false.into(), &false.into()), "{row}");
        let list = run(throng(["runs", "list", "--store"]).arg(&store), RUN_MAX);
        assert!(list.stdout.contains("unfinished"), "{list}");
        let show = run(throng(["runs", "show", "last", "-f", "json", "--store"]).arg(&store), RUN_MAX).json();
        let first = &show["verdict"]["caveats"][0];
        assert_eq!(first["key"], "caveat.unended", "{first}");
        assert_eq!(first["resume"].as_str().is_some_and(|say| say.contains("--resume")), has_out, "{first}");
        let junit = run(throng(["report", "last", "--junit", "--store"]).arg(&store), RUN_MAX);
        assert!(junit.stdout.contains("<error message=\""), "{junit}");
    }
}

#[test]
fn other_runs_are_left_alone() {
    let server = Server::start(&["--threads", "1"]);
    // Not there yet: it is the first run's to make, and to hold.
    let made = tempfile::tempdir().unwrap();
    let dir = &made.path().join("soak");
    // Nothing to go on with: it begins. It is under way: nobody else goes on with it.
    let first = Process::start(&mut walk(&server, dir, &["--resume"]));
    assert!(wait_until(START_MAX, || growing(dir).is_some()), "no first step");
    let second = run(&mut walk(&server, dir, &["--resume"]), RUN_MAX);
    assert!(second.code == Some(2) && second.stderr.contains("--resume: "), "{second}");
    // Nor does one begin that could be gone on with while it is under way.
    let beside = run(&mut walk(&server, dir, &[]), RUN_MAX);
    assert!(beside.code == Some(2) && beside.stderr.contains("--out: "), "{beside}");
    let first = finish(first, RUN_MAX);
    first.assert_held();
    assert!(first.json().get("resume_after").is_none(), "{first}");

    // One that has ended, and one of another command line, are not gone on with.
    let elsewhere = tempfile::tempdir().unwrap();
    let left = cut_short(&server, elsewhere.path(), Signal::KILL, &[]);
    fs::write(dir.join("other.json"), left.to_string()).unwrap();
    let whole = left.to_string();
    fs::write(dir.join("torn.json"), &whole[..whole.len() / 2]).unwrap();
    let parts =
        ["json", "html"].map(|kind| dir.join(format!("{}.{kind}.part", left["id"].as_str().unwrap())));
    for part in parts.iter().chain([&dir.join("begun.json.part")]) {
        fs::write(part, "{").unwrap();
    }
    let third = run(&mut walk(&server, dir, &["--resume"]), RUN_MAX);
    third.assert_held();
    assert!(["echo", "torn.json"].iter().all(|name| third.stderr.contains(name)), "{third}");
    assert!(!parts.iter().any(|part| part.exists()), "what a killed run was writing is left");
    assert!(dir.join("begun.json.part").exists(), "a file of somebody else is gone");
    let ids = [&first.json()["id"], &third.json()["id"], &left["id"]].map(ToString::to_string);
    assert!(ids[0] != ids[1] && ids[1] != ids[2], "{ids:?}");

    let events = run(&mut walk(&server, dir, &["--resume", "--events", "e.parquet"]), RUN_MAX);
    assert_eq!(events.code, Some(2), "the log of the first part would be gone\n{events}");
}
