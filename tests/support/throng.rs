//! The `throng` binary under test, its outcome, and the reference server on a free port.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::process::Process;
use super::{START_MAX, free_address, is_listening, wait_until};

/// Flags of a run that may be slow: a machine that others use keeps no rate, and loses nothing for that.
pub const ANY_PACE: [&str; 2] = ["--limit", "rate>=1%"];

/// How a run ended, and what it said.
pub struct Outcome {
    /// `None` if a signal ended it.
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
    pub elapsed: Duration,
}

/// Why a run could not be made.
#[derive(Debug)]
pub struct Failed {
    pub key: String,
    /// The part of the command line, or the place in a file.
    pub flag: Option<String>,
    pub text: String,
}

/// The program under test: the build's own, or the one that `THRONG` names, as a release build where figures count.
pub fn program() -> OsString {
    std::env::var_os("THRONG").unwrap_or_else(|| env!("CARGO_BIN_EXE_throng").into())
}

/// The command, ready for more settings. What it keeps, it keeps among the build's own files.
pub fn throng<const N: usize>(arguments: [&str; N]) -> Command {
    let mut command = Command::new(program());
    command.args(arguments).env("XDG_DATA_HOME", env!("CARGO_TARGET_TMPDIR"));
    command
}

/// Every client sends ten JSON messages a second; five seconds to connect, and two to drain. Compression is offered, so
/// that a server may accept it. The server sees these clients and no other: none tries first.
pub fn echo(url: &str, clients: u64, duration: &str) -> Command {
    let mut command = throng(["echo", url, "--protocol", "json", "--format", "json", "--compress"]);
    command.args(["--clients", &clients.to_string(), "--interval", "100ms", "--duration", duration]);
    command.args(["--connect-timeout", "5s", "--drain-timeout", "2s", "--no-preflight"]);
    command
}

/// The same command, run by another program.
pub fn under(program: &str, arguments: &[&str], command: &Command) -> Command {
    let mut outer = Command::new(program);
    outer.args(arguments).arg(command.get_program()).args(command.get_args());
    outer
}

/// Starts the command, and waits until it has measured for a second, however long it took to get there.
pub fn start_measuring(command: &mut Command) -> Process {
    let folder = tempfile::tempdir().unwrap();
    let lines = folder.path().join("lines.json");
    let mut process = Process::start(command.arg("--stream").arg(&lines));
    let has_second =
        || std::fs::read_to_string(&lines).is_ok_and(|text| text.contains(r#""event":"second""#));
    let has_ended = |process: &mut Process| process.wait(Duration::ZERO).is_some();
    if !wait_until(START_MAX, || has_second() || has_ended(&mut process)) || has_ended(&mut process) {
        let (stdout, stderr) = process.into_output();
        panic!("{command:?} does not measure\n--- stdout\n{stdout}\n--- stderr\n{stderr}");
    }
    process
}

/// Runs the command to its end. Panics if it takes longer than that, or panics itself.
pub fn run(command: &mut Command, within: Duration) -> Outcome {
    finish(Process::start(command), within)
}

/// Waits for the end of a command that was started with [`Process::start`]. Panics as [`run`] does.
pub fn finish(mut process: Process, within: Duration) -> Outcome {
    let start = Instant::now();
    let status = process.wait(within);
    let elapsed = start.elapsed();
    let (stdout, stderr) = process.into_output();
    let said = format!("--- stdout\n{stdout}\n--- stderr\n{stderr}");
    let status = status.unwrap_or_else(|| panic!("still running after {within:?}\n{said}"));
    assert!(!stderr.contains("panicked at") && !stderr.contains("RUST_BACKTRACE"), "throng panicked\n{said}");
    Outcome { code: status.code(), stdout, stderr, elapsed }
}

impl Outcome {
    /// Stdout as the results of one run.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}\n{self}"))
    }

    /// The error in place of the results of a run that could not be made (`--format json`).
    pub fn error(&self) -> Failed {
        let error = &self.json()["error"];
        let text = |key: &str| error[key].as_str().map(str::to_owned);
        let (Some(key), Some(text), flag) = (text("key"), text("text"), text("flag")) else {
            panic!("no error: {self}")
        };
        Failed { key, flag, text }
    }

    /// Panics unless no run could be made, with this exit code, for this key, and the text holds these names
    /// and numbers.
    pub fn assert_failed(&self, code: i32, key: &str, names: &[&str]) {
        let error = self.error();
        assert_eq!((self.code, &*error.key), (Some(code), key), "{self}");
        for name in names {
            assert!(error.text.contains(name), "no {name:?}: {self}");
        }
    }

    /// Panics unless the run held. A busy machine may be slower than the rate that was asked for; then
    /// nothing else has broken.
    pub fn assert_held(&self) {
        if self.code == Some(0) {
            return;
        }
        assert_eq!(self.code, Some(3), "{self}");
        let results = self.json();
        let steps = results["steps"].as_array().unwrap_or_else(|| panic!("no steps: {self}"));
        let limits = |name| steps.iter().filter_map(move |step: &Value| step[name].as_array()).flatten();
        let broken = |name| limits(name).filter(|limit| limit["passed"] == false);
        assert_eq!(broken("limits").count(), 0, "{self}");
        for limit in broken("standing") {
            let (name, percent) = (limit["limit"].as_str(), limit["actual"].as_f64());
            assert!(name == Some("rate>=99%") && percent > Some(25.0), "{limit}: {self}");
        }
    }

    /// Panics unless the run could not connect one of its clients, says that this error was why, and gives a
    /// result that a script can read all the same.
    pub fn assert_no_server(&self, error: &str, clients: u64) {
        assert_eq!(self.code, Some(1), "{self}");
        let results = self.json();
        assert_eq!(
            (results["steps"][0]["usable"].as_u64(), sum_of(&results, "connected")),
            (Some(0), 0),
            "{self}"
        );
        let errors = &results["steps"][0]["counts"]["errors"];
        assert_eq!(errors[error]["count"], clients, "{self}");
        assert!(self.stderr.contains(error), "stderr does not name {error}\n{self}");
    }
}

impl std::fmt::Display for Outcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "exit code {:?}\n--- stdout\n{}\n--- stderr\n{}", self.code, self.stdout, self.stderr)
    }
}

/// The results of the one run that was kept there (`--out`).
pub fn results_in(folder: &Path) -> Option<Value> {
    let file = std::fs::read_dir(folder).ok()?.next()?.ok()?;
    serde_json::from_slice(&std::fs::read(file.path()).ok()?).ok()
}

/// The finding of that key among the caveats of a run or a step, or among a step's losses (docs/FINDINGS.md).
pub fn finding<'a>(findings: &'a Value, key: &str) -> Option<&'a Value> {
    findings.as_array()?.iter().find(|finding| finding["key"] == key)
}

/// The caveat of a run.
pub fn caveat<'a>(results: &'a Value, key: &str) -> Option<&'a Value> {
    finding(&results["verdict"]["caveats"], &format!("caveat.{key}"))
}

/// The loss of a run's first step, by its key. Panics if it was not.
pub fn loss<'a>(results: &'a Value, key: &str) -> &'a Value {
    let losses = &results["steps"][0]["losses"];
    finding(losses, &format!("loss.{key}")).unwrap_or_else(|| panic!("no {key} in {losses}"))
}

/// How often the error happened in all steps of a run's results.
pub fn errors_of(results: &Value, kind: &str) -> u64 {
    sum(results, |counts| counts["errors"][kind].get("count"))
}

/// A count, added up over all steps of a run's results.
pub fn sum_of(results: &Value, count: &str) -> u64 {
    sum(results, |counts| counts.get(count))
}

fn sum(results: &Value, count: impl Fn(&Value) -> Option<&Value>) -> u64 {
    let steps = results["steps"].as_array().expect("results have steps");
    steps.iter().filter_map(|step| count(&step["counts"])?.as_u64()).sum()
}

/// How many ports are tried for a server.
const PORTS_TRIED_MAX: u32 = 5;

/// The reference server.
pub struct Server {
    pub process: Process,
    pub address: SocketAddr,
}

impl Server {
    /// Starts `throng serve` on a free port with these further arguments, and waits until it says that it
    /// listens. A port that was free may be somebody's a moment later (a shootout's server, which would
    /// answer in its place for as long as it runs): then another is tried.
    pub fn start(arguments: &[&str]) -> Server {
        Server::start_as(arguments, |serve| serve)
    }

    /// The same with the command changed.
    pub fn start_as(arguments: &[&str], change: impl Fn(Command) -> Command) -> Server {
        for _ in 0..PORTS_TRIED_MAX {
            let address = free_address();
            let mut serve = throng(["serve", "--listen", &address.to_string()]);
            serve.args(arguments);
            let mut process = Process::start(&mut change(serve));
            let has_started = |process: &Process| process.said().starts_with("throng serves on ");
            let mut has_ended = false;
            let is_decided = wait_until(START_MAX, || {
                has_ended = process.wait(Duration::ZERO).is_some();
                has_ended || has_started(&process) && is_listening(address)
            });
            assert!(is_decided, "throng serve does not start");
            if !has_ended {
                return Server { process, address };
            }
        }
        panic!("throng serve does not listen");
    }

    pub fn url(&self) -> String {
        format!("ws://{}/", self.address)
    }

    /// Memory of the server in RAM.
    pub fn resident_bytes(&self) -> u64 {
        self.process.status_bytes("VmRSS:").expect("the server runs")
    }

    /// The most there has been of it.
    pub fn resident_peak_bytes(&self) -> u64 {
        self.process.status_bytes("VmHWM:").expect("the server runs")
    }
}
