//! The cost of processes, from `/proc`: the server under test by its whole process tree, this program by
//! thread.

mod listening;
mod orphans;
mod own;
mod processes;
mod programs;
mod read;
mod service;
mod tree;

pub use listening::{pids_listening_on, ports_of_tree};
pub use orphans::{adopt_orphans, descendants, kill_descendants, kill_tree, reap_until};
pub use own::{MachineCpu, ThreadUsage, machine_cpu, rss_bytes, self_rss_bytes, thread_usage};
pub use processes::{is_running, program_of, turns};
pub use programs::{ProgramCpu, Programs};
pub use service::Service;
pub use tree::{BusiestThread, Past, ProcessTree, ThreadTotals, Usage};
