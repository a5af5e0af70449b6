//! What processes cost, from `/proc`: the server under test by its whole process tree, this program by thread.

mod listening;
mod own;
mod tree;

pub use listening::pid_listening_on;
pub use own::{MachineCpu, ThreadUsage, machine_cpu, self_rss_bytes, thread_usage};
pub use tree::{BusiestThread, ProcessTree, Usage};
