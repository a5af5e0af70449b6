//! A child process in a group of its own, which ends with the value that holds it, however the test ends.

use std::io::{ErrorKind, Read};
use std::net::SocketAddr;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use net::proc::ports_of_tree;
use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use super::{START_MAX, is_listening, wait_until};

/// A running child and its group. Dropping it kills the group.
pub struct Process {
    child: Child,
    stdout: Option<Collected>,
    stderr: Option<Collected>,
}

/// An output so far; it is whole once the thread has ended.
struct Collected {
    bytes: Arc<Mutex<Vec<u8>>>,
    thread: JoinHandle<()>,
}

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

    /// Waits until it listens at the address, itself or by a process that it has started: a port that was free
    /// may be another server's by now, which would answer in its place. Panics if it ends, or takes longer than
    /// a start may.
    pub fn listening_at(mut self, address: SocketAddr) -> Process {
        let pid = self.child.id();
        let is_its_own = || {
            ports_of_tree(pid).is_ok_and(|listeners| listeners.iter().any(|one| one.port() == address.port()))
        };
        let mut status = None;
        let is_decided = wait_until(START_MAX, || {
            status = self.child.try_wait().unwrap();
            status.is_some() || is_listening(address) && is_its_own()
        });
        assert!(is_decided && status.is_none(), "process {pid} does not listen at {address}: {status:?}");
        self
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

    /// The text written to stdout so far; empty if that is not collected.
    pub fn said(&self) -> String {
        self.stdout.as_ref().map(Collected::text).unwrap_or_default()
    }

    /// The text written to stdout and stderr; ends the group, so that nobody holds the pipes open.
    pub fn into_output(mut self) -> (String, String) {
        self.kill_group();
        self.output()
    }

    /// The text written by a group that was killed.
    fn output(&mut self) -> (String, String) {
        let whole = |collected: Option<Collected>| collected.map(Collected::whole).unwrap_or_default();
        (whole(self.stdout.take()), whole(self.stderr.take()))
    }

    fn kill_group(&mut self) {
        // Fails if the whole group has ended, which is what is wanted.
        let _ = kill_process_group(self.pid(), Signal::KILL);
        let _ = self.child.wait();
    }
}

impl Drop for Process {
    /// Prints the process's output if the test failed, since it may say why.
    fn drop(&mut self) {
        self.kill_group();
        if thread::panicking() {
            let (stdout, stderr) = self.output();
            if !(stdout.is_empty() && stderr.is_empty()) {
                eprintln!("--- stdout of process {}\n{stdout}\n--- its stderr\n{stderr}", self.child.id());
            }
        }
    }
}

fn collect(mut pipe: impl Read + Send + 'static) -> Collected {
    let bytes = Arc::new(Mutex::new(Vec::new()));
    let so_far = Arc::clone(&bytes);
    let thread = thread::spawn(move || {
        let mut piece = vec![0; 64 * 1024];
        // A broken pipe ends the output; what came before it counts.
        loop {
            match pipe.read(&mut piece) {
                Ok(count @ 1..) => so_far.lock().unwrap().extend_from_slice(&piece[..count]),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Ok(_) | Err(_) => break,
            }
        }
    });
    Collected { bytes, thread }
}

impl Collected {
    fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes.lock().unwrap()).into_owned()
    }

    fn whole(self) -> String {
        let Collected { bytes, thread } = self;
        thread.join().unwrap();
        String::from_utf8_lossy(&bytes.lock().unwrap()).into_owned()
    }
}
