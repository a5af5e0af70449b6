//! Everything that descends from this process, also what has tried to leave: to end it all.

use std::io;

use rustix::process::{Pid, Signal, WaitOptions, getpid, kill_process, set_child_subreaper, wait};

/// Makes orphans among this process's descendants its own children, instead of init's: a daemon that has left its
/// process group and session is still found by [`descendants`].
pub fn adopt_orphans() -> io::Result<()> {
    Ok(set_child_subreaper(Some(getpid()))?)
}

/// Every live process that descends from this one. Waits for those of its children that have ended; nobody else in
/// this process may be waiting for a child.
pub fn descendants() -> io::Result<Vec<u32>> {
    // Fails when there is no child at all.
    while let Ok(Some(_)) = wait(WaitOptions::NOHANG) {}
    let own = std::process::id();
    Ok(super::tree_of(own)?.into_iter().filter(|pid| *pid != own).collect())
}

/// Kills every descendant, and their children as they are adopted, until none is left.
pub fn kill_descendants() -> io::Result<()> {
    loop {
        let left = descendants()?;
        if left.is_empty() {
            return Ok(());
        }
        for pid in left.into_iter().filter_map(|pid| Pid::from_raw(pid as i32)) {
            // It may have ended by itself since.
            let _ = kill_process(pid, Signal::KILL);
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
}
