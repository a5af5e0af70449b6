//! The cost of a connection on this machine, measured: some thousand are opened, and the growth of memory is
//! fitted.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::thread;
use std::time::Duration;

use load::{Load, Schedule, Workload};
use net::limits;
use net::memory::Memory;
use net::poll::{Interest, Poller};
use net::proc::ProcessTree;
use net::socket::{self, Addr, Listener, Socket};

use crate::builtin::BuiltIn;
use crate::exit::Failure;
use crate::flags::compression::Compression;
use crate::processes::OTHER_FILES;
use crate::trial::{Trial, measure};

/// Enough for a growth of tens of MB, which the noise of a busy machine does not hide.
const CONNECTIONS_MAX: u64 = 4_000;
/// Readings of the kernel's memory.
const READINGS: usize = 16;
/// The first readings, which are left out: connections that were closed before leave room, which is filled up
/// first.
const WARMUP_READINGS: usize = READINGS / 4;
/// An ordinary small message; a connection that has carried one is larger than one that never did.
const MESSAGE: [u8; 128] = [b'x'; 128];
/// The two ends are on one machine, so waiting is a matter of microseconds.
const RETRIES_MAX: u32 = 1_000;
const RETRY_PAUSE: Duration = Duration::from_millis(1);
/// How long the clients of throng's part are held: one reading is enough.
const HOLD_NS: u64 = 1_000_000;
/// Clients that keep windows for their compression take so much that fewer are enough, and may be all that
/// fit.
const WINDOWS_MAX: u32 = 400;
/// How long it takes each of them to say one thing.
const SAY_NS: u64 = 1_000_000_000;

/// The cost of one open connection, both of its ends on this machine.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Cost {
    /// Connections that were opened to find out.
    pub(crate) connections: u64,
    /// Kernel memory of both ends.
    pub(crate) kernel_bytes: f64,
    /// Half of the 95% confidence interval of that.
    pub(crate) kernel_bytes_half_width: f64,
    /// TCP's buffers, which have a limit of their own.
    pub(crate) tcp_bytes: f64,
    /// Entries in the table of tracked connections.
    pub(crate) conntrack_entries: f64,
    /// Memory of a process of throng without clients.
    pub(crate) process_bytes: u64,
    /// Memory of throng for its client.
    pub(crate) generator_bytes: f64,
    /// Memory of throng's own server for its end.
    pub(crate) server_bytes: f64,
}

impl Cost {
    /// Measures it, in about a second. The limit on open files must have been raised.
    pub(crate) fn measure(files: u64, compression: Compression) -> Result<Self, Failure> {
        let cannot =
            |why: io::Error| Failure::could_not("measure_cost", "measure what a connection costs", why);
        let process_bytes = net::proc::self_rss_bytes().map_err(cannot)?;
        let connections = (files.saturating_sub(OTHER_FILES) / 2).min(CONNECTIONS_MAX);
        let pairs = Pairs::open(connections as usize).map_err(cannot)?;
        let memory = stats::fit::line(&pairs.slab).ok_or_else(|| {
            Failure::could_not(
                "measure_cost",
                "measure what a connection costs",
                "too few open files are allowed",
            )
        })?;
        let tcp = stats::fit::line(&pairs.tcp).map_or(0.0, |line| line.slope);
        let conntrack_entries = pairs.conntrack_entries;
        drop(pairs);
        let (generator_bytes, server_bytes) = of_programs(connections as u32, compression)?;
        Ok(Cost {
            connections,
            kernel_bytes: (memory.slope + tcp).max(0.0),
            kernel_bytes_half_width: memory.slope_half_width(),
            tcp_bytes: tcp.max(0.0),
            conntrack_entries,
            process_bytes,
            generator_bytes,
            server_bytes,
        })
    }
}

/// Connections with both ends in this process.
struct Pairs {
    ends: Vec<(Socket, Socket)>,
    /// Both ends wait for readiness, as they would in any server.
    poller: Poller,
    /// Connections and the kernel's memory.
    slab: Vec<(f64, f64)>,
    /// Connections and TCP's buffers.
    tcp: Vec<(f64, f64)>,
    /// The number of conntrack entries of a connection.
    conntrack_entries: f64,
}

impl Pairs {
    fn open(connections: usize) -> io::Result<Self> {
        let any = Addr::Inet(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)));
        let listener = socket::listen(&any, 128, false)?;
        let addr = listener.local_addr()?;
        let tracked = || limits::conntrack().map_or(0, |table| table.count);
        let tracked_before = tracked();
        let mut pairs = Pairs {
            ends: Vec::with_capacity(connections),
            poller: Poller::new()?,
            slab: Vec::with_capacity(READINGS),
            tcp: Vec::with_capacity(READINGS),
            conntrack_entries: 0.0,
        };
        for reading in 1..=READINGS {
            while pairs.ends.len() < connections * reading / READINGS {
                pairs.add(&listener, &addr)?;
            }
            if reading > WARMUP_READINGS {
                let (open, memory) = (pairs.ends.len() as f64, Memory::read()?);
                pairs.slab.push((open, memory.slab_bytes as f64));
                pairs.tcp.push((open, memory.tcp_bytes as f64));
            }
        }
        let entries = tracked().saturating_sub(tracked_before);
        pairs.conntrack_entries = entries as f64 / connections.max(1) as f64;
        Ok(pairs)
    }

    /// Opens one that has carried a message each way.
    fn add(&mut self, listener: &Listener, addr: &Addr) -> io::Result<()> {
        let client = socket::connect(addr, None)?;
        let server = patiently(|| listener.accept())?;
        for (token, end) in [&client, &server].into_iter().enumerate() {
            self.poller.add(end, token as u64, Interest::ReadEdge)?;
        }
        carry(&client, &server)?;
        carry(&server, &client)?;
        self.ends.push((client, server));
        Ok(())
    }
}

impl Drop for Pairs {
    /// Closes the connections with resets, which leave no port waiting: the run that follows needs them.
    fn drop(&mut self) {
        for (client, _) in self.ends.drain(..) {
            client.abort();
        }
    }
}

fn carry(from: &Socket, to: &Socket) -> io::Result<()> {
    patiently(|| from.send(&MESSAGE))?;
    let mut buffer = [0; MESSAGE.len()];
    patiently(|| to.recv(&mut buffer)).map(drop)
}

/// Tries again while the kernel is not so far.
fn patiently<T>(mut attempt: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    for _ in 0..RETRIES_MAX {
        match attempt() {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => thread::sleep(RETRY_PAUSE),
            outcome => return outcome,
        }
    }
    attempt()
}

/// Memory of throng's client and of its server for one connection. A window is there once it was needed: then
/// each client has said something.
fn of_programs(connections: u32, compression: Compression) -> Result<(f64, f64), Failure> {
    let says_something = compression.keeps_windows();
    let clients = if says_something { connections.min(WINDOWS_MAX) } else { connections };
    let server = BuiltIn::start(&compression.flags().collect::<Vec<_>>())?;
    let mut tree = ProcessTree::new(server.pid());
    let mut bytes = || {
        let of_server = tree.sample().map_or(0, |usage| usage.rss_bytes);
        (net::proc::self_rss_bytes().unwrap_or(0), of_server)
    };
    let before = bytes();
    let mut after = before;
    let each_once = Load::Open { schedule: Schedule::constant(f64::from(clients)), duration_ns: SAY_NS };
    let trial = Trial {
        server: &server,
        compression,
        dialect: "raw",
        workload: Workload::Echo,
        clients,
        load: if says_something { each_once } else { Load::Hold { duration_ns: HOLD_NS } },
        threads: 1,
        cpus: Vec::new(),
    };
    let step = measure(&trial, || after = bytes())?;
    let each = |before: u64, after: u64| after.saturating_sub(before) as f64 / f64::from(clients.max(1));
    let generator = match says_something {
        true => each(before.0, after.0),
        false => step.generator.and_then(|generator| generator.bytes_per_client).unwrap_or(0.0),
    };
    Ok((generator, each(before.1, after.1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Everything on the machine takes and frees memory of the kernel meanwhile: a measurement that this
    /// disturbs is repeated.
    const ATTEMPTS_MAX: usize = 5;

    #[test]
    fn a_connection_costs_kilobytes_of_the_kernel() {
        let measured: Vec<_> = (0..ATTEMPTS_MAX)
            .map(|_| {
                let pairs = Pairs::open(1_600).unwrap();
                assert_eq!(pairs.ends.len(), 1_600);
                stats::fit::line(&pairs.slab).unwrap()
            })
            // Two TCP sockets of more than 2 KiB each, their inodes and files; 1.6 pages of noise for each
            // are far off.
            .take_while(|line| !(1_000.0..60_000.0).contains(&line.slope))
            .collect();
        assert!(measured.len() < ATTEMPTS_MAX, "{measured:?}");
    }
}
