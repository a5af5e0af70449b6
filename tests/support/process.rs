//! A child process in a group of its own, which ends with the value that holds it, however the test ends.

use std::io::Read;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use super::wait_until;

/// A running child and its group. Dropping it kills the group.
pub struct Process {
    child: Child,
    stdout: Option<Collected>,
    stderr: Option<Collected>,
}

type Collected = JoinHandle<String>;

impl Process {
    /// Starts the command with both outputs collected.
    pub fn start(command: &mut Command) -> Process {
        Process::start_onto(command, Stdio::piped())
    }

    /// Starts the command with stdout going there; collected if that is a pipe of our own.
    pub fn start_onto(command: &mut Command, stdout: impl Into<Stdio>) -> Process {
        let child =
            command.stdin(Stdio::null()).stdout(stdout).stderr(Stdio::piped()).process_group(0).spawn();
        let mut child = child.unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let stdout = child.stdout.take().map(collect);
        let stderr = child.stderr.take().map(collect);
        Process { child, stdout, stderr }
    }

    pub fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    /// Sends the signal to the process alone; whether it still was there.
    pub fn signal(&self, signal: Signal) -> bool {
        kill_process(self.pid(), signal).is_ok()
    }

    /// The status once the process has ended, or `None` if it runs on after this time.
    pub fn wait(&mut self, within: Duration) -> Option<ExitStatus> {
        let mut status = None;
        wait_until(within, || {
            status = self.child.try_wait().unwrap();
            status.is_some()
        });
        status
    }

    /// What was written to stdout and stderr; ends the group, so that nobody holds the pipes open.
    pub fn into_output(mut self) -> (String, String) {
        self.kill_group();
        let text =
            |collected: Option<Collected>| collected.map(|thread| thread.join().unwrap()).unwrap_or_default();
        (text(self.stdout.take()), text(self.stderr.take()))
    }

    fn kill_group(&mut self) {
        // Fails if the whole group has ended, which is what is wanted.
        let _ = kill_process_group(self.pid(), Signal::KILL);
        let _ = self.child.wait();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill_group();
    }
}

fn collect(mut pipe: impl Read + Send + 'static) -> Collected {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        // A broken pipe ends the output; what came before it counts.
        let _ = pipe.read_to_end(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    })
}
