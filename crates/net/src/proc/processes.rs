//! Which processes there are, and which descend from which.

use std::collections::HashMap;
use std::fs;
use std::io;

use super::read;

/// Every process of the machine.
pub(super) fn pids() -> io::Result<Vec<u32>> {
    ids("/proc")
}

/// A process and all that descend from it now, those that have ended left out.
pub(super) fn tree_of(root: u32) -> io::Result<Vec<u32>> {
    let mut reader = read::Reader::new();
    let parents: HashMap<u32, u32> =
        pids()?.into_iter().filter_map(|pid| Some((pid, reader.stat(pid)?.parent))).collect();
    let is_member = |pid: &u32| {
        let mut above = Some(*pid);
        // The chain is as long as there are processes at most, even if ids were reused while they were read.
        for _ in 0..=parents.len() {
            match above {
                Some(pid) if pid == root => return true,
                Some(pid) => above = parents.get(&pid).copied(),
                None => return false,
            }
        }
        false
    };
    Ok(parents.keys().copied().filter(is_member).collect())
}

/// Whether a process is there, and has not ended without anybody having waited for it.
pub fn is_running(pid: u32) -> bool {
    read::Reader::new().stat(pid).is_some()
}

/// What tells that a process's first thread has run since: how often it has given up a CPU. `None`: it has ended.
pub fn turns(pid: u32) -> Option<u64> {
    let (voluntary, involuntary) = read::Reader::new().switches(pid, pid)?;
    Some(voluntary + involuntary)
}

/// The numeric names in a directory of `/proc`.
pub(super) fn ids(dir: &str) -> io::Result<Vec<u32>> {
    Ok(fs::read_dir(dir)?.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect())
}
