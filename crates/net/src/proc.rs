//! What processes cost, from `/proc`: the server under test by its whole process tree, this program by thread.

mod listening;
mod own;
mod read;
mod tree;

pub use listening::{head_of, pid_listening_on};
pub use own::{MachineCpu, ThreadUsage, machine_cpu, self_rss_bytes, thread_usage};
pub use tree::{BusiestThread, ProcessTree, ThreadTotals, Usage};

use std::fs;
use std::io;

/// Every process of the machine.
fn pids() -> io::Result<Vec<u32>> {
    ids("/proc")
}

/// The numeric names in a directory of `/proc`.
fn ids(dir: &str) -> io::Result<Vec<u32>> {
    Ok(fs::read_dir(dir)?.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect())
}
