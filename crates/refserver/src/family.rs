//! One server in several processes, which share its ports and its broadcasts.
//!
//! The parent keeps the ports, listens on unix sockets for all, connects every child with every other
//! ([`Mesh`](crate::mesh::Mesh)) and with itself, and starts them: children are this program again, told by
//! the environment what they are. A child says `ready`, serves, and at its end says what it did. For more
//! connections than one process may have descriptors.

mod sibling;

pub use sibling::Sibling;

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use net::clock::monotonic_ns;
use net::errors::listen_error;
use net::poll::{Event, Events, Interest, Poller, Waker};
use net::signals::{kill_with_parent, terminate};
use net::socket::{Addr, Listener, Reservation, Socket, listen, pair, reserve};

use crate::options::Options;
use crate::stats::Stats;
use crate::stop::StopFlag;

/// The time that the children may take to listen.
const READY_TIMEOUT_NS: u64 = 20_000_000_000;

/// The time for which stopping children are waited for beyond their own grace.
const KILL_AFTER_GRACE_NS: u64 = 2_000_000_000;

const TOKEN_WAKER: u64 = u64::MAX;
const TOKEN_INTERRUPTS: u64 = u64::MAX - 1;

/// The running processes of a server. Dropped, it kills them.
pub struct Family {
    local_addrs: Vec<Addr>,
    members: Vec<Member>,
    poller: Poller,
    grace_ns: u64,
    _reservations: Vec<Reservation>,
    /// The listeners on unix sockets, which processes can share only by having the same descriptor.
    unix: Vec<Arc<Listener>>,
}

struct Member {
    child: Child,
    /// The socket of the child's reports; `None` once all its reports have arrived.
    link: Option<Socket>,
    said: String,
}

impl Family {
    /// Starts `processes` children, each by a command of `command`'s, and waits until all listen on
    /// `options.listen`. The command must come to [`Server::join`](crate::Server::join) with the same
    /// options; what it prints to standard output is lost. To be called from a thread that lives as long as
    /// the family: the children end with it.
    pub fn start(
        options: &Options,
        processes: usize,
        mut command: impl FnMut() -> Command,
    ) -> io::Result<Family> {
        assert!(processes > 0, "a family needs a member");
        let reservations: Vec<_> = options.listen.iter().map(reserve_inet).collect::<io::Result<_>>()?;
        let local_addrs: Vec<Addr> = options
            .listen
            .iter()
            .zip(&reservations)
            .map(|(addr, kept)| kept.as_ref().map_or_else(|| Ok(addr.clone()), Reservation::local_addr))
            .collect::<io::Result<_>>()?;
        let mut family = Family {
            local_addrs,
            members: Vec::new(),
            poller: Poller::new()?,
            grace_ns: options.grace_ns,
            _reservations: reservations.into_iter().flatten().collect(),
            unix: listen_unix(options)?,
        };
        for (number, peers) in full_mesh(processes)?.into_iter().enumerate() {
            family.start_member(number, peers, command())?;
        }
        family.wait_until_ready()?;
        Ok(family)
    }

    /// The family's addresses, in the order of the options, with the ports that the kernel chose.
    pub fn local_addrs(&self) -> &[Addr] {
        &self.local_addrs
    }

    /// Waits until all processes have ended: because `stop` was raised, which is passed on, or because one
    /// failed, which stops the others and is an error.
    pub fn run(mut self, stop: &StopFlag) -> io::Result<Stats> {
        let waker = Arc::new(Waker::new()?);
        self.poller.add(&*waker, TOKEN_WAKER, Interest::ReadEdge)?;
        if let Some(interrupts) = stop.interrupts() {
            self.poller.add(interrupts, TOKEN_INTERRUPTS, Interest::ReadEdge)?;
        }
        stop.register(waker);
        let (mut stats, mut failure, mut told, mut kill_at_ns) = (Stats::default(), None, 0, None);
        while self.members.iter().any(|member| member.link.is_some()) {
            // A family with a member missing serves only some of its clients: the others are stopped as well.
            let asked = stop.level().max(u32::from(failure.is_some()));
            if asked > told {
                // Children that have ended by themselves are no news.
                for member in &self.members {
                    drop(terminate(&member.child));
                }
                told = asked;
                // From the first request to stop on: asking again gives no more time.
                kill_at_ns.get_or_insert(monotonic_ns() + self.grace_ns + KILL_AFTER_GRACE_NS);
            }
            if kill_at_ns.is_some_and(|at_ns| at_ns <= monotonic_ns()) {
                return Err(io::Error::other("a process did not stop and was killed"));
            }
            for number in self.read_links(kill_at_ns)? {
                match self.members[number].finish() {
                    Ok(more) => stats.add(&more),
                    Err(error) => failure = failure.or(Some(error)),
                }
                // It was not asked to end, so that even a good end is a failure.
                if told == 0 && failure.is_none() {
                    failure = Some(io::Error::other("a process ended by itself"));
                }
            }
        }
        failure.map_or(Ok(stats), Err)
    }

    fn start_member(&mut self, number: usize, peers: Vec<Socket>, mut command: Command) -> io::Result<()> {
        let (ours, theirs) = pair()?;
        let (addrs, unix) = (self.local_addrs.clone(), self.unix.clone());
        let role = Sibling { number, addrs, unix, parent: theirs, peers };
        role.pass_on(&mut command)?;
        // Not in the terminal's process group: Ctrl-C is for the parent, which passes it on.
        command.stdin(Stdio::null()).stdout(Stdio::null()).process_group(0);
        let child = kill_with_parent(&mut command).spawn()?;
        self.poller.add(&ours, number as u64, Interest::ReadEdge)?;
        self.members.push(Member { child, link: Some(ours), said: String::new() });
        Ok(())
    }

    fn wait_until_ready(&mut self) -> io::Result<()> {
        let deadline_ns = monotonic_ns() + READY_TIMEOUT_NS;
        while !self.members.iter().all(|member| member.said.starts_with(sibling::READY)) {
            // A child that has said its last before it is ready has failed.
            if let Some(&number) = self.read_links(Some(deadline_ns))?.first() {
                let cause = self.members[number].finish().err();
                return Err(cause.unwrap_or_else(|| io::Error::other("a process ended at once")));
            }
            if monotonic_ns() >= deadline_ns {
                return Err(io::Error::new(io::ErrorKind::TimedOut, "the processes did not come up"));
            }
        }
        Ok(())
    }

    /// Waits until a child has reported something or `until_ns` has come; gives the children whose last
    /// report has arrived.
    fn read_links(&mut self, until_ns: Option<u64>) -> io::Result<Vec<usize>> {
        let mut events = Events::with_capacity(64);
        self.poller.wait(&mut events, until_ns.map(|ns| ns.saturating_sub(monotonic_ns())))?;
        // The waker and the interrupts have only to end the waiting.
        let links = events.iter().filter(|event| event.token < TOKEN_INTERRUPTS);
        Ok(links
            .filter_map(|Event { token, .. }| self.members[token as usize].read().then_some(token as usize))
            .collect())
    }
}

impl Drop for Family {
    fn drop(&mut self) {
        for member in &mut self.members {
            let _ = member.child.kill();
            // Waited for, so that it does not stay as a zombie for as long as this process lives.
            let _ = member.child.wait();
        }
    }
}

impl Member {
    /// Reads the child's reports; true when the last one has arrived.
    fn read(&mut self) -> bool {
        let mut buffer = [0; 4096];
        loop {
            let Some(link) = &self.link else { return false };
            match link.recv(&mut buffer) {
                Ok(0) => break,
                Ok(count) => self.said.push_str(&String::from_utf8_lossy(&buffer[..count])),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return false,
                Err(_) => break,
            }
        }
        self.link = None;
        true
    }

    /// The child's statistics once it has ended, or an error if it ended badly.
    fn finish(&mut self) -> io::Result<Stats> {
        let status = self.child.wait()?;
        match sibling::last_words(&self.said) {
            Some(stats) if status.success() => Ok(stats),
            _ => Err(io::Error::other(format!("process {} failed: {status}", self.child.id()))),
        }
    }
}

/// Keeps a TCP port for the processes that will share it.
fn reserve_inet(addr: &Addr) -> io::Result<Option<Reservation>> {
    let Addr::Inet(inet) = addr else { return Ok(None) };
    reserve(inet).map(Some).map_err(|error| listen_error(addr, &error))
}

fn listen_unix(options: &Options) -> io::Result<Vec<Arc<Listener>>> {
    let listen = |addr: &Addr| {
        listen(addr, options.backlog, false).map(Arc::new).map_err(|error| listen_error(addr, &error))
    };
    options.listen.iter().filter(|addr| matches!(addr, Addr::Unix(_))).map(listen).collect()
}

/// Makes a pair of sockets between any two of the processes, and gives each process its ends.
fn full_mesh(processes: usize) -> io::Result<Vec<Vec<Socket>>> {
    let mut ends: Vec<Vec<Socket>> = (0..processes).map(|_| Vec::new()).collect();
    for one in 0..processes {
        for other in one + 1..processes {
            let (ours, theirs) = pair()?;
            ends[one].push(ours);
            ends[other].push(theirs);
        }
    }
    Ok(ends)
}
