//! The load that the machine is to hold, and how many processes that takes.

use crate::doctor::facts::Facts;
use crate::plan;
use crate::processes;

/// The load that the machine is to hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RequiredLoad {
    /// Clients at once.
    pub(crate) clients: u64,
    /// The place of their server.
    pub(crate) server: Place,
    /// Addresses that clients can connect from.
    pub(crate) sources: Sources,
    /// Handshakes under way at once.
    pub(crate) parallel: u64,
    /// Over TLS.
    pub(crate) is_secured: bool,
    /// True if each client keeps windows for its compression.
    pub(crate) keeps_windows: bool,
}

/// The place of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// The server is throng's own, started for the run.
    BuiltIn,
    /// The server is on this machine.
    Here,
    /// The server will be on this machine, once it is started.
    HereNotYet,
    /// The server is on another machine.
    Elsewhere,
}

/// Source addresses that clients have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sources {
    /// Any address of 127.0.0.0/8: throng takes as many as it needs.
    Loopback,
    /// A fixed number of source addresses, given ones or the one that the system chooses; `endpoints`: the
    /// number of the server's addresses.
    Fixed { addresses: u64, endpoints: u64 },
}

impl RequiredLoad {
    /// Ends of each connection that are on this machine.
    pub(super) fn ends(&self) -> u64 {
        if self.server == Place::Elsewhere { 1 } else { 2 }
    }

    /// Addresses that the clients will connect from.
    pub(crate) fn addresses(&self) -> u64 {
        match self.sources {
            Sources::Loopback => self.clients.div_ceil(plan::CLIENTS_PER_ADDR).max(1),
            Sources::Fixed { addresses, .. } => addresses,
        }
    }
}

/// Processes that throng will use.
pub(crate) fn processes(facts: &Facts, required: &RequiredLoad) -> u64 {
    required.clients.div_ceil(clients_per_process(facts)).max(1)
}

/// The number of clients of a process that has all CPUs for itself.
fn clients_per_process(facts: &Facts) -> u64 {
    processes::clients_with_files(facts.nofile_hard, facts.cpus)
}

/// Processes of throng's own server, if it is that one.
pub(super) fn server_processes(facts: &Facts, required: &RequiredLoad) -> u64 {
    match required.server {
        Place::BuiltIn => processes::server_processes(required.clients, clients_per_process(facts)),
        Place::Here | Place::HereNotYet | Place::Elsewhere => 0,
    }
}
