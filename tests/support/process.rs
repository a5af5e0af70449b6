//! A child process in a group of its own, which ends with the value that holds it, however the test ends.

use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::net::SocketAddr;
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use net::proc::ports_of_tree;
use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use super::{START_MAX, is_listening, wait_until};

/// Kills the groups that are left at the end of its input: a line for each that begins, and that ends.
const WATCH: &str = r#"
groups=
while read -r event group; do
    rest=
    for other in $groups; do [ "$other" = "$group" ] || rest="$rest $other"; done
    [ "$event" = begun ] && rest="$rest $group"
    groups=$rest
done
for group in $groups; do kill -9 "-$group"; done
"#;

/// The watcher of this program's groups. No other process has the other end of its input, and the kernel closes
/// it when this program is killed, which drops no value.
static WATCHER: LazyLock<Mutex<ChildStdin>> = LazyLock::new(|| {
    let mut command = Command::new("sh");
    command.args(["-c", WATCH]).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    // A group of its own: it outlives a terminal's Ctrl-C.
    let stdin = command.process_group(0).spawn().expect("there is a shell").stdin;
    Mutex::new(stdin.expect("it is a pipe"))
});

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
        tell_watcher("begun", &child);
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

    /// The size in a field of `/proc/PID/status`, such as `VmRSS:`; `None` once the process has ended.
    pub fn status_bytes(&self, field: &str) -> Option<u64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.pid().as_raw_nonzero())).ok()?;
        let size = status.lines().find_map(|line| line.strip_prefix(field))?;
        size.trim().strip_suffix(" kB")?.parse::<u64>().ok().map(|kib| 1024 * kib)
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
        tell_watcher("ended", &self.child);
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

fn tell_watcher(event: &str, child: &Child) {
    let mut watcher = WATCHER.lock().unwrap_or_else(PoisonError::into_inner);
    // Without a watcher, the test is what it was.
    let _ = watcher.write_all(format!("{event} {}\n", child.id()).as_bytes());
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

#[cfg(test)]
mod tests {
    use std::env;

    use super::*;
    use crate::support::REACTS_WITHIN;

    /// Set where the test is the one to be killed.
    const HOLDS: &str = "TEST_HOLDS_A_CHILD";

    #[test]
    fn killed_tests_leave_no_children() {
        if env::var_os(HOLDS).is_some() {
            let child = Process::start(Command::new("sleep").arg("600"));
            println!("holds {} .", child.pid().as_raw_nonzero());
            return thread::sleep(START_MAX);
        }
        let name = concat!(module_path!(), "::killed_tests_leave_no_children");
        let (_, name) = name.split_once("::").unwrap();
        let mut command = Command::new(env::current_exe().unwrap());
        let test = Process::start(command.args([name, "--exact", "--nocapture"]).env(HOLDS, "1"));
        // The kernel says Z of a process that has ended, and that nobody has waited for.
        let is_running = |pid: u32| {
            let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            stat.rsplit_once(") ").is_some_and(|(_, state)| !state.starts_with('Z'))
        };
        let child = || -> Option<u32> {
            let said = test.said();
            let (_, pid) = said.split_once("holds ")?;
            pid.split_once(" .")?.0.parse().ok()
        };
        assert!(wait_until(START_MAX, || child().is_some_and(is_running)), "{}", test.said());
        let child = child().unwrap();
        assert!(test.signal(Signal::KILL));
        assert!(wait_until(REACTS_WITHIN, || !is_running(child)), "{child} has outlived its test");
    }
}
