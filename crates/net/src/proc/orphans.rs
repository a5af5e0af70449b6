//! All processes that descend from this one, even those that have tried to leave it, so that all can be
//! ended.

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, getpid, kill_process, set_child_subreaper, wait};

use super::processes;

/// The most rounds in which the descendants of a process are searched for and killed, and the time between
/// two rounds.
const KILL_ROUNDS_MAX: u32 = 1_000;
const KILL_INTERVAL: Duration = Duration::from_millis(1);

/// Makes orphans among this process's descendants its own children, instead of init's: a daemon that has left
/// its process group and session is still found by [`descendants`].
pub fn adopt_orphans() -> io::Result<()> {
    Ok(set_child_subreaper(Some(getpid()))?)
}

/// Waits for the end of the child `pid`; descendants that were adopted and end before it are waited for as
/// well, so that none stays a zombie. Nothing else in this process may be waiting for a child.
pub fn reap_until(pid: u32) -> io::Result<ExitStatus> {
    loop {
        match wait(WaitOptions::empty()) {
            Ok(Some((ended, status))) if ended.as_raw_pid() as u32 == pid => {
                return Ok(ExitStatus::from_raw(status.as_raw()));
            }
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Every live process that descends from this one. Reaps its children that have ended; nothing else in this
/// process may be waiting for a child.
pub fn descendants() -> io::Result<Vec<u32>> {
    // Fails when there is no child at all.
    while let Ok(Some(_)) = wait(WaitOptions::NOHANG) {}
    let own = std::process::id();
    Ok(processes::tree_of(own)?.into_iter().filter(|pid| *pid != own).collect())
}

/// Kills every descendant, and their children as they are adopted, until none is left. Gives up on processes
/// that the kernel does not end.
pub fn kill_descendants() -> io::Result<()> {
    for _ in 0..KILL_ROUNDS_MAX {
        let left = descendants()?;
        if left.is_empty() {
            break;
        }
        for pid in left.into_iter().filter_map(|pid| Pid::from_raw(pid as i32)) {
            // It may have ended by itself since.
            let _ = kill_process(pid, Signal::KILL);
        }
        // The killed have to end before their children come to this process, where the next round finds them.
        std::thread::sleep(KILL_INTERVAL);
    }
    Ok(())
}

/// Kills a child of this process with all its descendants, also the ones that come meanwhile: for a child
/// that keeps processes, and does not answer. Stopped processes end as well. Gives up on processes that the
/// kernel does not end.
pub fn kill_tree(root: u32) -> io::Result<()> {
    let kill = |pid: u32| {
        // It may have ended by itself since.
        Pid::from_raw(pid as i32).is_some_and(|pid| kill_process(pid, Signal::KILL).is_ok())
    };
    for _ in 0..KILL_ROUNDS_MAX {
        let below: Vec<u32> = processes::tree_of(root)?.into_iter().filter(|pid| *pid != root).collect();
        if below.is_empty() {
            break;
        }
        for pid in below {
            let _ = kill(pid);
        }
        std::thread::sleep(KILL_INTERVAL);
    }
    // Last: those below are found through it.
    kill(root);
    Ok(())
}
