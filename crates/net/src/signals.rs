//! Signals that ask a process to stop.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::process::{Child, Command, ExitStatus};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{
    Pid, Signal, getpid, getppid, kill_process, kill_process_group, set_parent_process_death_signal, setsid,
};

use crate::clock::own_monotonic_ns;
use crate::poll::Waker;
use crate::sys;

static COUNT: AtomicU32 = AtomicU32::new(0);
/// The time of the last signal.
static LAST_NS: AtomicU64 = AtomicU64::new(0);
static WAKER: OnceLock<Waker> = OnceLock::new();

/// The time between two checks for a second signal.
const SECOND_POLL: Duration = Duration::from_millis(20);

/// Signals as close to one another are one request: timeout(1) and package managers pass on what the terminal
/// has sent to the whole group. Nobody types as fast.
const REQUEST_NS: u64 = 100_000_000;

/// Counts SIGINT, SIGTERM and SIGHUP instead of dying of them: the first means "finish and report", the
/// second "stop now".
///
/// Signal handlers, not a signalfd: a blocked mask would be inherited by the servers that this process
/// starts, and they could then not be stopped.
#[derive(Debug, Clone, Copy)]
pub struct Interrupts(());

impl Interrupts {
    /// Installs the handlers for the whole process. Calling it again is harmless.
    pub fn install() -> io::Result<Interrupts> {
        if WAKER.get().is_none() {
            // Losing the race to another thread's install only drops this waker.
            let _ = WAKER.set(Waker::new()?);
        }
        sys::install_handler(libc::SIGINT, on_signal)?;
        sys::install_handler(libc::SIGTERM, on_signal)?;
        // A terminal that is gone asks for the end as well, unless the program was started to ignore that:
        // nohup(1).
        if !sys::is_ignored(libc::SIGHUP)? {
            sys::install_handler(libc::SIGHUP, on_signal)?;
        }
        Ok(Interrupts(()))
    }

    /// Waits until a second signal has come, without end if none does: for a thread of its own.
    pub fn wait_for_second(self) {
        // The waker is readable from the first signal on. A wait that fails is tried again, a little later.
        while self.count() < 1 {
            let _ = poll(&mut [PollFd::new(&self, PollFlags::IN)], None);
        }
        while self.count() < 2 {
            thread::sleep(SECOND_POLL);
        }
    }

    /// Waits for input or a signal. True: there is something to read from `input`, or it has ended. False: a
    /// signal has come.
    ///
    /// A read that has begun goes on after a signal: the handlers restart it.
    pub fn wait_for_input(self, input: impl AsFd) -> io::Result<bool> {
        while self.count() < 1 {
            let mut fds = [PollFd::new(&self, PollFlags::IN), PollFd::new(&input, PollFlags::IN)];
            match poll(&mut fds, None) {
                Ok(_) if fds[1].revents().is_empty() => {}
                Err(error) if error == rustix::io::Errno::INTR => {}
                waited => return Ok(waited.map(|_| self.count() < 1)?),
            }
        }
        Ok(false)
    }

    /// The number of requests to stop so far.
    pub fn count(self) -> u32 {
        COUNT.load(Ordering::Relaxed)
    }
}

impl AsFd for Interrupts {
    /// Gives a descriptor that stays readable from the first signal on: add it edge-triggered, or stop
    /// watching it after the first event.
    fn as_fd(&self) -> BorrowedFd<'_> {
        WAKER.get().expect("made by install").as_fd()
    }
}

/// Runs in the handler: `clock_gettime`, atomics and a `write`, all async-signal-safe.
extern "C" fn on_signal(_: libc::c_int) {
    let now_ns = own_monotonic_ns();
    if now_ns.saturating_sub(LAST_NS.swap(now_ns, Ordering::Relaxed)) < REQUEST_NS {
        return;
    }
    COUNT.fetch_add(1, Ordering::Relaxed);
    if let Some(waker) = WAKER.get() {
        waker.wake();
    }
}

/// Makes the process that `command` will start get SIGTERM when the *thread* that spawns it ends, so that no
/// server outlives the run that started it. Spawn from a thread that lives as long as the server should.
pub fn end_with_parent(command: &mut Command) -> &mut Command {
    signal_with_parent(command, Signal::TERM)
}

/// Makes the process that `command` will start get SIGKILL when the thread that spawns it ends: for processes
/// that have nothing to finish without their parent. However busy they are, and whatever they do about
/// signals, they do not outlive it, even where it is killed.
pub fn kill_with_parent(command: &mut Command) -> &mut Command {
    signal_with_parent(command, Signal::KILL)
}

fn signal_with_parent(command: &mut Command, signal: Signal) -> &mut Command {
    // Read before the fork: the child of a parent that has ended meanwhile would take another process for it.
    let parent = getpid();
    sys::before_exec(command, move || die_with_parent(signal, Some(parent)))
}

/// Has the process that `command` will start lead a session, and in it a process group. A session has a
/// terminal only if its leader opens one that is nobody's: the user's, in which `/dev/tty` and TIOCSTI would
/// type, stays out of reach (setsid(2), ioctl_tty(2)).
pub fn lead_session(command: &mut Command) -> &mut Command {
    sys::before_exec(command, || Ok(setsid().map(drop)?))
}

/// Asks the kernel for this signal when the thread that started this process ends. To be called first thing.
/// The parent is `None` if it is of another PID namespace, which shows no number of it.
pub(crate) fn die_with_parent(signal: Signal, parent: Option<Pid>) -> io::Result<()> {
    set_parent_process_death_signal(Some(signal))?;
    // The parent may have ended before that, and then no signal would ever come.
    if getppid() == parent { Ok(()) } else { Err(io::Error::other("the parent process has ended")) }
}

/// Lets a write beyond the limit on file sizes (`ulimit -f`) fail, with an error that can be told, where
/// SIGXFSZ would end the process. A handler that does nothing, because programs that this one starts do not
/// inherit it.
pub fn survive_file_size_limit() -> io::Result<()> {
    sys::install_handler(libc::SIGXFSZ, ignore)
}

extern "C" fn ignore(_: libc::c_int) {}

/// Sends a child SIGTERM: the request to end in order that [`Child::kill`] is not.
pub fn terminate(child: &Child) -> io::Result<()> {
    Ok(kill_process(Pid::from_child(child), Signal::TERM)?)
}

/// The time between two checks whether a process has ended.
const REAP_POLL: Duration = Duration::from_millis(2);

/// Waits for a child's end for at most this long, and then kills it: that also ends one that is stopped.
pub fn reap(child: &mut Child, within: Duration) -> io::Result<ExitStatus> {
    let start = Instant::now();
    loop {
        match child.try_wait()? {
            Some(status) => return Ok(status),
            None if start.elapsed() >= within => break,
            None => thread::sleep(REAP_POLL),
        }
    }
    child.kill()?;
    child.wait()
}

/// The signals that servers take for a request to end in order, and the one that they cannot refuse.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopSignal {
    /// SIGTERM.
    Term,
    /// SIGINT.
    Int,
    /// SIGQUIT.
    Quit,
    /// SIGKILL.
    Kill,
}

impl StopSignal {
    /// All signals to stop a server.
    pub const ALL: [StopSignal; 4] = [StopSignal::Term, StopSignal::Int, StopSignal::Quit, StopSignal::Kill];

    /// The signal's name, without the `SIG`.
    pub fn name(self) -> &'static str {
        match self {
            StopSignal::Term => "TERM",
            StopSignal::Int => "INT",
            StopSignal::Quit => "QUIT",
            StopSignal::Kill => "KILL",
        }
    }

    /// The signal of that name.
    pub fn from_name(name: &str) -> Option<StopSignal> {
        Self::ALL.into_iter().find(|signal| signal.name() == name)
    }

    fn number(self) -> Signal {
        match self {
            StopSignal::Term => Signal::TERM,
            StopSignal::Int => Signal::INT,
            StopSignal::Quit => Signal::QUIT,
            StopSignal::Kill => Signal::KILL,
        }
    }
}

/// Sends a signal to the child `pid`, which has not been waited for.
pub fn send(pid: u32, signal: StopSignal) -> io::Result<()> {
    Ok(kill_process(child(pid)?, signal.number())?)
}

/// Kills the process group that the child `pid` leads.
pub fn kill_group(pid: u32) -> io::Result<()> {
    Ok(kill_process_group(child(pid)?, Signal::KILL)?)
}

fn child(pid: u32) -> io::Result<Pid> {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    pid.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "no process id"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn children_of_an_ended_parent_do_not_start() {
        let start = |parent| {
            let mut command = Command::new("true");
            sys::before_exec(&mut command, move || die_with_parent(Signal::TERM, parent)).status()
        };
        assert!(start(Some(getpid())).unwrap().success());
        // Orphans are taken in by another process than this one.
        start(getppid()).unwrap_err();
    }
}
