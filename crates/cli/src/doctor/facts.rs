//! Facts of the machine, all read in one place; those that cannot be read are absent.

use std::hint::black_box;

use net::cgroup::Cgroup;
use net::limits::{self, Conntrack};
use net::machine::Machine;
use net::memory::Memory;
use net::proc::ProcessTree;
use net::{affinity, clock};

use super::cost::Cost;

/// Readings of the clock that its cost is measured over.
const CLOCK_READINGS: u64 = 20_000;

/// The machine, as far as it decides how many clients it holds.
#[derive(Clone, Debug)]
pub(crate) struct Facts {
    /// CPUs that throng may use.
    pub(crate) cpus: u64,
    /// Open files that each process of throng may have.
    pub(crate) nofile_hard: u64,
    /// The highest such limit that can be set.
    pub(crate) nr_open: Option<u64>,
    /// Open files of the machine: the most, and now.
    pub(crate) file_max: Option<u64>,
    pub(crate) files_open: Option<u64>,
    /// First and last port of outgoing connections.
    pub(crate) ports: Option<(u16, u16)>,
    /// Handshakes that wait for the server, finished and unfinished.
    pub(crate) somaxconn: Option<u64>,
    pub(crate) syn_backlog: Option<u64>,
    /// The firewall's table.
    pub(crate) conntrack: Option<Conntrack>,
    pub(crate) memory: Option<Memory>,
    /// TCP's limits in bytes: low, pressure, high.
    pub(crate) tcp_mem: Option<[u64; 3]>,
    pub(crate) page_bytes: u64,
    /// True if the kernel can encrypt.
    pub(crate) kernel_tls: Option<bool>,
    /// The limits of control groups.
    pub(crate) cgroup: Cgroup,
    /// Threads of the machine: the most, the ids, and now.
    pub(crate) threads_max: Option<u64>,
    pub(crate) pid_max: Option<u64>,
    pub(crate) threads: Option<u64>,
    pub(crate) governor: Option<String>,
    pub(crate) clocksource: Option<String>,
    pub(crate) clocksources: Vec<String>,
    /// The cost of one reading of the clock.
    pub(crate) clock_ns: f64,
    /// The server's process, if it is here and can be seen.
    pub(crate) server: Option<ServerFacts>,
    /// The cost of a connection, if it could be measured.
    pub(crate) cost: Option<Cost>,
}

/// A server on this machine.
#[derive(Clone, Debug)]
pub(crate) struct ServerFacts {
    pub(crate) pid: u32,
    /// Open files that each of its processes may have.
    pub(crate) nofile: u64,
    pub(crate) processes: u64,
}

impl Facts {
    /// Reads them; what a connection costs is measured apart.
    pub(crate) fn read(server: Option<u32>, cost: Option<Cost>) -> Facts {
        let machine = Machine::read();
        Facts {
            cpus: affinity::available_cpus().map_or(1, |cpus| cpus.len() as u64),
            nofile_hard: machine.fd_limit_hard,
            nr_open: limits::nr_open().ok(),
            file_max: limits::file_max().ok(),
            files_open: limits::files_open().ok(),
            ports: limits::port_range().ok(),
            somaxconn: limits::somaxconn().ok(),
            syn_backlog: limits::tcp_max_syn_backlog().ok(),
            conntrack: limits::conntrack(),
            memory: Memory::read().ok(),
            tcp_mem: limits::tcp_mem_bytes().ok(),
            page_bytes: limits::page_bytes(),
            kernel_tls: limits::has_kernel_tls().ok(),
            cgroup: Cgroup::read(),
            threads_max: limits::threads_max().ok(),
            pid_max: limits::pid_max().ok(),
            threads: limits::threads().ok(),
            governor: machine.governor,
            clocksource: machine.clocksource,
            clocksources: machine.clocksources,
            clock_ns: clock_ns(),
            server: server.and_then(ServerFacts::read),
            cost,
        }
    }
}

impl ServerFacts {
    fn read(pid: u32) -> Option<Self> {
        let (soft, _) = limits::nofile_of(pid).ok()?;
        let processes = ProcessTree::new(pid).sample().ok()?.processes;
        Some(Self { pid, nofile: soft, processes: u64::from(processes).max(1) })
    }
}

fn clock_ns() -> f64 {
    let start_ns = clock::monotonic_ns();
    for _ in 0..CLOCK_READINGS {
        black_box(clock::monotonic_ns());
    }
    (clock::monotonic_ns() - start_ns) as f64 / CLOCK_READINGS as f64
}
