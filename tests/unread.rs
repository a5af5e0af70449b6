//! Readers that stop reading, and a disk that does not answer: no run waits for them, and what was measured is kept.

use std::fs;
use std::io::{self, PipeReader, PipeWriter, Read};
use std::path::Path;
use std::process::{Command, ExitStatus};
use std::time::Duration;

use rustix::fs::Mode;
use rustix::process::Signal;
use serde_json::Value;

use crate::support::process::Process;
use crate::support::throng::{Server, finish, run, throng, under};
use crate::support::{REACTS_WITHIN, skip, wait_until};

/// Many short steps, and ten seconds of patience, on a busy machine.
const RUN_MAX: Duration = Duration::from_secs(60);
/// How long the first line may take.
const PHASE_WITHIN: Duration = Duration::from_secs(30);

const COULD_NOT_RUN: Option<i32> = Some(1);
const INTERRUPTED: Option<i32> = Some(130);

/// A pipe that is full with little, and of which nobody reads.
fn unread() -> (PipeReader, PipeWriter) {
    let (reader, writer) = io::pipe().unwrap();
    rustix::pipe::fcntl_setpipe_size(&writer, 4096).unwrap();
    (reader, writer)
}

/// A run of many short steps that goes into this store.
fn short_steps(server: &Server, store: &Path) -> Command {
    let mut command = throng(["echo", &server.url(), "--protocol", "json", "--no-report", "--threads", "1"]);
    command.args(["--step-size", "1", "--total-steps", "12", "--interval", "50ms", "--duration", "200ms"]);
    command.args(["--limit-rtt", "20s", "--limit", "rate>=1%", "--verbose", "--store"]).arg(store);
    command
}

/// Returns whether a run has come to its end, on whatever machine.
fn is_measured(status: ExitStatus) -> bool {
    status.code().is_some_and(|code| [0, 3].contains(&code))
}

/// How many steps the store's one run has, and whether it has come to its end.
fn kept(store: &Path) -> (u64, bool) {
    let list = run(throng(["runs", "list", "--format", "json", "--store"]).arg(store), RUN_MAX);
    let rows: Vec<Value> = serde_json::from_str(&list.stdout).unwrap_or_default();
    rows.first().map_or((0, false), |row| (row["steps"].as_u64().unwrap(), row["ended"] == true))
}

#[test]
fn stopped_stream_readers_delay_nobody() {
    let server = Server::start(&[]);
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("runs.db");
    let (_reader, writer) = unread();
    let mut run = Process::start_onto(short_steps(&server, &store).args(["--stream", "-"]), writer);
    let status = run.wait(RUN_MAX).expect("it waits for a reader");
    let (_, stderr) = run.into_output();
    assert!(is_measured(status), "{status}: {stderr}");
    assert!(stderr.contains("--stream ") && stderr.contains(" 10 s"), "{stderr}");
    assert_eq!(kept(&store), (12, true), "{stderr}");

    let pipe = folder.path().join("pipe");
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, Mode::RUSR | Mode::WUSR).unwrap();
    let outcome = finish(Process::start(short_steps(&server, &store).arg("--stream").arg(&pipe)), RUN_MAX);
    assert_eq!(outcome.code, COULD_NOT_RUN, "{outcome}");
    assert!(outcome.stderr.contains(pipe.to_str().unwrap()), "{outcome}");
}

#[test]
fn stopped_stdout_readers_delay_no_step() {
    let server = Server::start(&[]);
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("runs.db");
    let (mut reader, writer) = unread();
    let mut run = Process::start_onto(&mut short_steps(&server, &store), writer);
    assert!(wait_until(RUN_MAX, || kept(&store) == (12, true)), "it waits for a reader: {:?}", kept(&store));
    assert!(run.wait(Duration::from_secs(1)).is_none(), "what was asked for is not read yet");
    run.signal(Signal::INT);
    let status = run.wait(REACTS_WITHIN).expect("one interrupt is enough");
    assert_eq!(status.code(), INTERRUPTED);
    drop(run);
    // Who reads late has all of it.
    let mut text = String::new();
    reader.read_to_string(&mut text).unwrap();
    assert!(text.len() <= 4096 && text.contains("1 client\n"), "{text}");
    let (mut reader, writer) = unread();
    let mut run = Process::start_onto(&mut short_steps(&server, &store), writer);
    assert!(run.wait(Duration::from_secs(5)).is_none(), "it is longer than the pipe");
    let mut text = String::new();
    reader.read_to_string(&mut text).unwrap();
    assert!(run.wait(RUN_MAX).is_some_and(is_measured), "{text}");
    assert!(text.len() > 4096 && text.contains("12 clients\n") && text.contains("RESULT"), "{text}");
}

#[test]
fn hanging_disks_delay_no_output() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(&[]);
    let printed = folder.path().join("printed");
    let mut echo = throng(["echo", &server.url(), "--protocol", "json", "--clients", "2", "--no-report"]);
    echo.args(["--interval", "50ms", "--duration", "300ms", "--no-store", "--out"]).arg(folder.path());
    let delays = "inject=fsync,fdatasync:delay_enter=60000000";
    let mut command = under("strace", &["-f", "-qq", "-o", "/dev/null", "-e", delays], &echo);
    if Command::new("strace").arg("--version").output().is_err() {
        return skip("a disk that does not answer", "needs strace");
    }
    let mut run = Process::start_onto(&mut command, fs::File::create(&printed).unwrap());
    let is_printed = || fs::read_to_string(&printed).is_ok_and(|text| text.contains("2 clients"));
    assert!(wait_until(PHASE_WITHIN, is_printed), "nothing is printed");
    assert!(run.wait(Duration::from_millis(500)).is_none(), "the disk has answered");
}
