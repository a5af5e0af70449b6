//! One look at a server's process tree, on this machine or on another.

use std::io;

use net::affinity;
use net::cgroup::quota::{CpuQuota, Throttling};
use net::clock;
use net::limits;
use net::proc::{self, ProcessTree, Service, ThreadTotals, Usage};
use serde::{Deserialize, Serialize};

/// A server's usage so far and now. Times are totals that never go backwards.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ServerReading {
    /// The time on the clock of the server's machine.
    pub at_ns: u64,
    /// Cores that the server may use.
    pub cores: f64,
    /// True if all of the server has ended: these are the last values.
    pub has_ended: bool,
    /// CPU time.
    pub cpu_ns: u64,
    /// Context switches.
    pub switches: u64,
    /// Resident memory.
    pub rss_bytes: u64,
    /// The part of the memory that is backed by files, or shared.
    pub file_bytes: u64,
    /// Processes.
    pub processes: u32,
    /// Threads of all of them.
    pub threads: u32,
    /// Open descriptors, if they can be read.
    pub fds: Option<u32>,
    /// The server's head: the process that listens, or one above it.
    pub pid: u32,
    /// The program of its head.
    pub name: Option<String>,
    /// Open files that its head may have.
    pub fds_max: Option<u64>,
    /// Periods of its CPU quota, and how many of them ended with none left.
    pub quota_periods: Option<(u64, u64)>,
    /// Readings that only a whole look has, which costs more.
    pub whole: Option<WindowReading>,
}

/// Readings taken only at the ends of a window.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WindowReading {
    /// The most proportional memory there has been.
    pub pss_bytes: Option<u64>,
    /// The most resident memory there has been.
    pub rss_bytes_peak: Option<u64>,
    /// How many descriptors may have been open at once, long ago; 0: only a few.
    pub fds_peak: Option<u64>,
    /// Live threads.
    pub threads: Vec<ThreadReading>,
}

/// A live thread's totals.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ThreadReading {
    /// Its process.
    pub pid: u32,
    /// Its number.
    pub tid: u32,
    /// Its name.
    pub name: String,
    /// CPU time in user mode.
    pub user_ns: u64,
    /// CPU time in the kernel.
    pub system_ns: u64,
    /// The time that it was ready to run, and waited for a CPU.
    pub run_queue_wait_ns: u64,
}

/// Reads the usage of a server, on this machine or on another.
pub trait ServerReader {
    /// Reads the usage; a `whole` look costs more. `None` if nothing can be told of it.
    fn look(&mut self, whole: bool) -> Option<ServerReading>;

    /// The server's processes on this machine, as of the last reading.
    fn pids(&self) -> Vec<u32>;
}

/// Reads the usage of a server on this machine.
pub struct LocalServerReader {
    tree: ProcessTree,
    pid: u32,
    name: Option<String>,
    fds_max: Option<u64>,
    quota: Option<CpuQuota>,
    cores: f64,
    latest: Option<ServerReading>,
}

impl LocalServerReader {
    /// A reader of the server's processes and their descendants. The limits of the server are its head's.
    pub fn on(server: &Service) -> Self {
        let quota = CpuQuota::of(server.head());
        let cores = affinity::cpus_of(server.head()).max(1) as f64;
        // Whichever is less: a quota may allow more cores than the process may run on.
        let cores = quota.as_ref().map_or(cores, |quota| quota.cores.min(cores));
        Self {
            tree: ProcessTree::of(&server.pids()),
            pid: server.head(),
            name: proc::program_of(server.head()),
            fds_max: limits::nofile_of(server.head()).ok().map(|(soft, _)| soft),
            quota,
            cores,
            latest: None,
        }
    }

    fn handle_sampled(&mut self, sampled: io::Result<Usage>, whole: bool) -> Option<ServerReading> {
        let latest = match sampled {
            Ok(usage) => self.look_of(&usage, whole),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let latest = self
                    .latest
                    .take()
                    .unwrap_or(ServerReading { cores: self.cores, ..ServerReading::default() });
                ServerReading { has_ended: true, whole: None, ..latest }
            }
            // That we have no files left, say, is no end of the server's.
            Err(_) => ServerReading { whole: None, ..self.latest.take()? },
        };
        self.latest = Some(latest);
        self.latest.clone()
    }

    fn look_of(&mut self, usage: &Usage, whole: bool) -> ServerReading {
        // Proportional memory is added up page by page in the kernel: once a second, that would disturb the
        // server.
        let past = if whole { self.tree.past() } else { None };
        let quota = self.quota.as_ref().and_then(CpuQuota::throttling);
        ServerReading {
            // The clock of this machine, uncorrected: CPU time is divided by the time between two readings
            // of the same clock.
            at_ns: clock::own_monotonic_ns(),
            cores: self.cores,
            has_ended: false,
            cpu_ns: usage.user_ns + usage.system_ns,
            switches: usage.voluntary_switches + usage.involuntary_switches,
            rss_bytes: usage.rss_bytes,
            file_bytes: usage.file_bytes,
            processes: usage.processes,
            threads: usage.threads,
            fds: usage.fds,
            pid: self.pid,
            name: self.name.clone(),
            fds_max: self.fds_max,
            quota_periods: quota.map(|seen| (seen.periods, seen.throttled)),
            whole: whole.then(|| WindowReading {
                pss_bytes: self.tree.pss_bytes(),
                rss_bytes_peak: past.map(|past| past.rss_bytes_peak),
                fds_peak: past.map(|past| past.fds_peak),
                threads: self.tree.threads().into_iter().map(ThreadReading::from).collect(),
            }),
        }
    }
}

impl ServerReader for LocalServerReader {
    /// Reads the usage. A server that has ended, or cannot be read now, keeps the last values; `None` if
    /// there are none.
    fn look(&mut self, whole: bool) -> Option<ServerReading> {
        let sampled = self.tree.sample();
        self.handle_sampled(sampled, whole)
    }

    fn pids(&self) -> Vec<u32> {
        self.tree.pids()
    }
}

impl ServerReading {
    /// Memory of the server's own: what connections need is part of it, and the kernel cannot take it back.
    pub(crate) fn own_bytes(&self) -> u64 {
        self.rss_bytes.saturating_sub(self.file_bytes)
    }

    /// How often the server ran into its CPU quota, if it has one.
    pub(crate) fn throttling(&self) -> Option<Throttling> {
        self.quota_periods.map(|(periods, throttled)| Throttling { periods, throttled })
    }
}

impl From<ThreadTotals> for ThreadReading {
    fn from(totals: ThreadTotals) -> Self {
        let ThreadTotals { pid, tid, name, user_ns, system_ns, run_queue_wait_ns } = totals;
        Self { pid, tid, name, user_ns, system_ns, run_queue_wait_ns }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unreadable_servers_have_not_ended() {
        let mut reader = LocalServerReader::on(&Service::of(std::process::id()));
        let no_files = || io::Error::other("too many open files");
        assert_eq!(reader.handle_sampled(Err(no_files()), true), None, "nothing was seen yet");
        let seen = reader.look(true).unwrap();
        assert!(seen.rss_bytes > 0 && seen.whole.is_some());
        let last = ServerReading { whole: None, ..seen };
        assert_eq!(reader.handle_sampled(Err(no_files()), true), Some(last.clone()));
        let ended = reader.handle_sampled(Err(io::ErrorKind::NotFound.into()), true);
        assert_eq!(ended, Some(ServerReading { has_ended: true, ..last }));
    }
}
