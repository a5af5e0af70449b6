//! The processes of the machine, and which descend from which.

use std::collections::HashMap;
use std::fs;
use std::io;

use super::read::{Reader, Stat, is_of_process};

/// Every process of the machine.
pub(super) fn pids() -> io::Result<Vec<u32>> {
    ids("/proc")
}

/// Every process that lives, and its fields in `/proc`.
pub(super) fn stats(reader: &mut Reader) -> io::Result<HashMap<u32, Stat>> {
    let mut stats = HashMap::new();
    for pid in pids()? {
        if let Some(stat) = reader.stat(pid)? {
            stats.insert(pid, stat);
        }
    }
    Ok(stats)
}

/// A process and its descendants that live now.
pub(super) fn tree_of(root: u32) -> io::Result<Vec<u32>> {
    let stats = stats(&mut Reader::new())?;
    let is_member = |pid: &u32| {
        let mut above = Some(*pid);
        // The chain is as long as there are processes at most, even if ids were reused while they were read.
        for _ in 0..=stats.len() {
            match above {
                Some(pid) if pid == root => return true,
                Some(pid) => above = stats.get(&pid).map(|stat| stat.parent),
                None => return false,
            }
        }
        false
    };
    Ok(stats.keys().copied().filter(is_member).collect())
}

/// The file name of a process's program; if the program may not be seen, the process's own name for itself.
pub fn program_of(pid: u32) -> Option<String> {
    let program = fs::read_link(format!("/proc/{pid}/exe")).ok();
    let program = program.and_then(|path| Some(path.file_name()?.to_string_lossy().into_owned()));
    program.or_else(|| Reader::new().name(pid, pid))
}

/// Returns whether a process exists, and is not a zombie. A process that cannot be read counts as existing.
pub fn is_running(pid: u32) -> bool {
    !matches!(Reader::new().stat(pid), Ok(None))
}

/// How often a process's first thread has given up a CPU, which shows whether it has run since an earlier
/// call. `None` if the process has ended.
pub fn turns(pid: u32) -> Option<u64> {
    let (voluntary, involuntary) = Reader::new().switches(pid, pid).ok()??;
    Some(voluntary + involuntary)
}

/// The threads of a process; none if it has ended.
pub(super) fn tids(pid: u32) -> io::Result<Vec<u32>> {
    ids(&format!("/proc/{pid}/task")).or_else(|error| match is_of_process(&error) {
        true => Ok(Vec::new()),
        false => Err(error),
    })
}

/// The numeric names in a directory of `/proc`.
fn ids(dir: &str) -> io::Result<Vec<u32>> {
    Ok(fs::read_dir(dir)?.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect())
}
