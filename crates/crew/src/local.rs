//! The workers of one machine: in this process, or in as many children as the limit on open files demands.

use std::io;
use std::process::Command as Process;
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

use engine::{Command, Report};
use load::{Plan, Segment};
use results::{MachineUse, Step};

use crate::agents::{Agents, LostAgent};
use crate::child::Child;
use crate::threads::{FILES_PER_WORKER, Threads};

/// Most reports of child processes that wait to be added up. Beyond it, the children's pipes fill, and the
/// children keep what they have (`engine`'s `reporter`).
const REPORTS_WAITING_MAX: usize = 64;
/// How long all children may take to be spawned and to start, for the sake of their memory before the first
/// client.
pub(crate) const START_WITHIN: Duration = Duration::from_secs(10);
/// How far ahead a common start has to be for each process, and at most: the command goes through a thread
/// and a pipe for each, and these share the CPUs.
const START_AHEAD_NS: u64 = 20_000_000;
const START_AHEAD_NS_MAX: u64 = 500_000_000;
/// Clients below which the kernel's memory says more about the rest of the machine than about them.
const CLIENTS_WEIGHED_MIN: u64 = 10_000;

/// The capacity of a process.
#[derive(Clone, Copy, Debug)]
pub struct ProcessCapacity {
    /// Files for workers and their clients.
    files: u64,
}

impl ProcessCapacity {
    /// The capacity for this many clients beside this many workers.
    pub fn of(clients: u32, workers: u16) -> Self {
        Self { files: u64::from(clients) + FILES_PER_WORKER * u64::from(workers) }
    }

    /// How many processes these workers need where each has `clients_of_each` clients: at most one for each
    /// worker.
    pub fn processes(self, workers: usize, clients_of_each: u64) -> usize {
        // Whole workers only: a worker's clients share its poller, and so its process.
        let together = self.files / (clients_of_each + FILES_PER_WORKER);
        workers.div_ceil(together.clamp(1, workers as u64) as usize)
    }

    /// The most clients that these workers may have together, in equal shares, spread over `processes`
    /// processes.
    pub fn clients_max(self, workers: usize, processes: usize) -> u64 {
        let files_each = self.files / together(workers, processes) as u64;
        files_each.saturating_sub(FILES_PER_WORKER) * workers as u64
    }
}

/// Workers in the largest of `processes` processes.
fn together(workers: usize, processes: usize) -> usize {
    workers.div_ceil(processes).max(1)
}

/// Workers on this machine.
pub enum LocalWorkers {
    /// On threads of this process.
    Here(Threads),
    /// In child processes.
    Children {
        /// The processes.
        all: Vec<Child>,
        /// Memory of all of them once their workers were started; `None` if one did not tell it in time.
        rss_before: Option<u64>,
    },
}

impl LocalWorkers {
    /// Starts a worker for each segment, spread over `processes`; with `cpus`, pinned to these in turn. The
    /// memory of children that take longer than `within` is not known. Also returns the receiver of their
    /// reports, which is to be dropped first, because a worker without a receiver does not wait.
    ///
    /// # Errors
    /// A worker or a process cannot be started.
    pub fn start(
        plan: &Plan,
        segments: &[Segment],
        processes: usize,
        cpus: &[usize],
        child: &dyn Fn() -> Process,
        within: Duration,
    ) -> io::Result<(Self, Receiver<Report>)> {
        if processes == 1 {
            // Workers bound what they have under way, and never wait.
            let (sender, reports) = mpsc::channel();
            let threads = Threads::start(plan, segments, cpus, &sender)?;
            return Ok((Self::Here(threads), reports));
        }
        let (sender, reports) = mpsc::sync_channel(REPORTS_WAITING_MAX);
        let threads = together(segments.len(), processes);
        let start = |(k, segments): (usize, &[Segment])| {
            let mut cpus = cpus.to_vec();
            let turn = (k * threads).checked_rem(cpus.len()).unwrap_or(0);
            // Where the process before has left off: each pins its own threads from the front of the list.
            cpus.rotate_left(turn);
            Child::start(child(), plan, segments, &cpus, &sender)
        };
        // An agent is silent while it spawns them, too.
        let deadline = Instant::now() + within;
        let mut children = Vec::new();
        for part in segments.chunks(threads).enumerate() {
            match start(part) {
                Ok(child) => children.push(child),
                Err(error) => {
                    // Those that are there end once they are rid of what they say, for which there is not
                    // always room.
                    drop(reports);
                    return Err(error);
                }
            }
        }
        let rss_before = children.iter().map(|child| child.wait_for_start(deadline)).sum();
        Ok((Self::Children { all: children, rss_before }, reports))
    }

    fn processes(&self) -> u32 {
        match self {
            Self::Here(_) => 1,
            Self::Children { all, .. } => all.len() as u32,
        }
    }
}

impl Agents for LocalWorkers {
    fn send(&mut self, command: &Command) {
        match self {
            Self::Here(threads) => threads.send(command),
            Self::Children { all, .. } => {
                for child in all {
                    child.send(command);
                }
            }
        }
    }

    fn are_elsewhere(&self) -> bool {
        false
    }

    fn start_ahead_ns(&self) -> u64 {
        (START_AHEAD_NS * u64::from(self.processes())).min(START_AHEAD_NS_MAX)
    }

    fn rss_before(&self) -> Option<u64> {
        match self {
            Self::Here(_) => self.rss_bytes(),
            Self::Children { rss_before, .. } => *rss_before,
        }
    }

    fn rss_bytes(&self) -> Option<u64> {
        // A child starts no others. To look for some would take as long as there are processes here.
        let of = |child: &Child| match net::proc::rss_bytes(child.pid()) {
            Ok(bytes) => Some(bytes),
            // One that has ended uses nothing; one that cannot be read makes the sum unknown.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Some(0),
            Err(_) => None,
        };
        match self {
            Self::Here(_) => net::proc::self_rss_bytes().ok(),
            Self::Children { all, .. } => all.iter().map(of).sum(),
        }
    }

    fn clients_max_of_fleet(&self) -> Option<u64> {
        None
    }

    fn lose(&mut self, _: u16, _: &str, _: u64) -> Option<LostAgent> {
        None
    }

    fn describe(&self, step: &mut Step, machine: MachineUse, kernel_grown: Option<u64>) {
        step.agents = self.processes();
        let connected = step.counts.connected;
        let weighed = kernel_grown.filter(|_| connected >= CLIENTS_WEIGHED_MIN);
        let kernel_bytes_per_client = weighed.map(|bytes| bytes as f64 / connected as f64);
        step.machine = Some(MachineUse { kernel_bytes_per_client, ..machine });
    }
}

impl Drop for LocalWorkers {
    /// Ends all children at the same time, so that children that hang take no longer together than one.
    fn drop(&mut self) {
        if let Self::Children { all, .. } = self {
            for child in all {
                child.close();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The number of processes for these workers, and the most clients in one of them.
    fn spread(workers: usize, clients: u64) -> (usize, u64) {
        let (capacity, clients_each) =
            (ProcessCapacity::of(960, workers as u16), clients.div_ceil(workers as u64));
        let processes = capacity.processes(workers, clients_each);
        assert_eq!(workers.div_ceil(together(workers, processes)), processes, "as many as are started");
        let clients_max = capacity.clients_max(workers, processes);
        assert!(clients_max >= clients || processes == workers, "{clients_max} of {clients}");
        (processes, together(workers, processes) as u64 * clients_each)
    }

    #[test]
    fn processes_have_files_for_their_clients() {
        assert_eq!(spread(4, 960), (1, 960));
        assert_eq!(spread(4, 1_000), (2, 500));
        assert_eq!(spread(4, 2_500), (4, 625), "two processes would have 1,250 each");
        assert_eq!(spread(8, 2_400), (3, 900));
        assert_eq!(spread(8, 7_000), (8, 875));
        assert_eq!(ProcessCapacity::of(960, 4).clients_max(4, 4), 4 * 966, "fewer workers leave more files");
        assert_eq!(
            ProcessCapacity::of(960, 4).clients_max(4, 3),
            4 * 482,
            "of three processes, two would have two workers"
        );
        // More than there is room for.
        assert_eq!(ProcessCapacity::of(960, 4).processes(4, 5_000), 4);
        assert_eq!(ProcessCapacity::of(1, 4).clients_max(4, 1), 0);
    }
}
