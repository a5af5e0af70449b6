//! Commands that restart servers in the midst of a run, one after another.

use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use net::clock;
use results::finding::Caveat;

/// How often a command is looked after.
const LOOK_INTERVAL: Duration = Duration::from_millis(10);

/// Shell commands, and when they begin; none by default.
#[derive(Default)]
pub(crate) struct Restarts {
    commands: Vec<String>,
    lead_ns: u64,
    running: Option<Running>,
}

struct Running {
    is_over: Arc<AtomicBool>,
    thread: JoinHandle<Vec<Caveat>>,
}

impl Restarts {
    /// Makes restarts that begin `lead_ns` after the load does.
    pub(crate) fn new(commands: Vec<String>, lead_ns: u64) -> Self {
        Self { commands, lead_ns, running: None }
    }

    /// The load begins at this moment of the monotonic clock.
    pub(crate) fn begin(&mut self, go_ns: u64) {
        if self.commands.is_empty() {
            return;
        }
        let is_over = Arc::new(AtomicBool::new(false));
        let (commands, begin_ns, seen) = (self.commands.clone(), go_ns + self.lead_ns, Arc::clone(&is_over));
        // Beside the run, which goes on measuring while servers are away.
        let thread = thread::spawn(move || {
            while clock::monotonic_ns() < begin_ns {
                if seen.load(Ordering::Relaxed) {
                    return vec![Caveat::NotRestarted];
                }
                thread::sleep(LOOK_INTERVAL);
            }
            // One after another, as a rolling restart is: servers that are up take the others' clients.
            commands.iter().filter_map(|command| run(command, &seen).err()).collect()
        });
        self.running = Some(Running { is_over, thread });
    }

    /// Ends the step. Returns what went wrong with the commands.
    pub(crate) fn finish(&mut self) -> Vec<Caveat> {
        let Some(running) = self.running.take() else { return Vec::new() };
        running.is_over.store(true, Ordering::Relaxed);
        running.thread.join().expect("it does not panic")
    }
}

/// Runs a command to its end. Processes that it leaves in the background live on. Its standard output is
/// discarded, to keep throng's clean.
fn run(command: &str, is_over: &AtomicBool) -> Result<(), Caveat> {
    let command_text = || command.to_owned();
    let mut shell = Command::new("sh");
    // Ctrl-C between a stop and a start would leave the user's server stopped. The process group stays: out
    // of it, a command could not ask for a password, and a signal to the group would miss what it has
    // started.
    shell.args(["-c", &format!("trap '' INT\n{command}")]).stdin(Stdio::null()).stdout(Stdio::null());
    let mut child = shell
        .spawn()
        .map_err(|error| Caveat::RestartUnstarted { command: command_text(), error: error.to_string() })?;
    loop {
        match ended(&mut child) {
            Some(0) => return Ok(()),
            Some(code) => return Err(Caveat::RestartFailed { command: command_text(), code }),
            // It goes on by itself: what it restarts may still come up.
            None if is_over.load(Ordering::Relaxed) => {
                return Err(Caveat::RestartUnended { command: command_text() });
            }
            None => thread::sleep(LOOK_INTERVAL),
        }
    }
}

/// The exit code, 128 and more for a signal's end as in shells.
fn ended(child: &mut Child) -> Option<u64> {
    let status = child.try_wait().ok()??;
    Some(status.code().unwrap_or(128) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs them until the last has begun, and is still running; the problems, and what they wrote to `$LOG`.
    fn run_up_to_the_last(commands: &[&str]) -> (Vec<Caveat>, String) {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("log");
        let whole = [commands, &["echo last >>$LOG; sleep 20"]].concat();
        let whole = whole.iter().map(|command| command.replace("$LOG", log.to_str().unwrap())).collect();
        let mut restarts = Restarts::new(whole, 0);
        restarts.begin(clock::monotonic_ns());
        let written = || std::fs::read_to_string(&log).unwrap_or_default();
        for _ in 0..2_000 {
            if written().ends_with("last\n") {
                break;
            }
            thread::sleep(Duration::from_millis(10));
        }
        (restarts.finish(), written())
    }

    #[test]
    fn one_after_another() {
        let (problems, written) = run_up_to_the_last(&["sleep 0.1; echo first >>$LOG", "echo second >>$LOG"]);
        assert_eq!(written, "first\nsecond\nlast\n");
        assert!(matches!(&problems[..], [Caveat::RestartUnended { .. }]), "{problems:?}");
    }

    #[test]
    fn failures_are_said() {
        let (problems, _) = run_up_to_the_last(&["exit 3"]);
        let failed = Caveat::RestartFailed { command: "exit 3".into(), code: 3 };
        assert_eq!((problems.len(), &problems[0]), (2, &failed));
    }
}
