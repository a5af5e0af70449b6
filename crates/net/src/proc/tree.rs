//! The CPU, memory, threads and waits of a process and all that descend from it.

use std::io;

/// What a process tree has used. Times and switches are totals that never go backwards, even as processes and
/// threads come and go; memory, threads and descriptors are as of now.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Usage {
    /// CPU time in user mode, nanoseconds (clock-tick resolution).
    pub user_ns: u64,
    /// CPU time in the kernel, nanoseconds (clock-tick resolution).
    pub system_ns: u64,
    /// Time that threads were ready to run but waited for a CPU, nanoseconds.
    pub run_queue_wait_ns: u64,
    /// Times threads went to sleep by themselves.
    pub voluntary_switches: u64,
    /// Times threads were put aside for others.
    pub involuntary_switches: u64,
    /// Resident memory, bytes; pages shared between the processes count in each.
    pub rss_bytes: u64,
    /// Live processes.
    pub processes: u32,
    /// Live threads.
    pub threads: u32,
    /// Open descriptors, where they may be counted.
    pub fds: Option<u32>,
    /// The thread that used most CPU since the sample before. Absent in the first sample.
    pub busiest: Option<BusiestThread>,
}

/// A thread and its share since the sample before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BusiestThread {
    /// Thread id.
    pub tid: u32,
    /// The thread's name, at most 15 bytes.
    pub name: String,
    /// CPU time since the sample before, nanoseconds.
    pub cpu_ns: u64,
}

/// Follows a process and its descendants from sample to sample.
pub struct ProcessTree {
    root: u32,
}

impl ProcessTree {
    /// Follows `pid`. Whether it exists shows at the first sample.
    pub fn new(pid: u32) -> ProcessTree {
        ProcessTree { root: pid }
    }

    /// Reads the tree now. Cheap enough for a few times a second. `NotFound` when the root has ended.
    pub fn sample(&mut self) -> io::Result<Usage> {
        let _ = self.root;
        unimplemented!()
    }

    /// Proportional memory of the tree as of the last sample, bytes: shared pages count once. Costly (the kernel
    /// walks every mapping): at the ends of a step, not between. `None` where it may not be read.
    pub fn pss_bytes(&self) -> Option<u64> {
        unimplemented!()
    }
}
