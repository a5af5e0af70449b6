//! The agents of one machine: this process, or as many children as the limit on open files demands.

use std::io;
use std::process::Command as Process;
use std::sync::mpsc::{self, Receiver};

use engine::{Command, Report};
use load::{Plan, Segment};
use net::proc::ProcessTree;

use crate::child::Child;
use crate::threads::Threads;

/// Reports of child processes that wait to be added up. When this many do, the children's pipes fill, and the
/// children put by what they have (`engine`'s `reporter`).
const REPORTS_WAITING_MAX: usize = 64;

/// Workers on this machine.
pub(crate) enum Local {
    /// On threads of this process.
    Here(Threads),
    /// In child processes.
    Children(Vec<Child>),
}

impl Local {
    /// Starts a worker for each segment, spread over `processes`; with `cpus`, pinned to these in turn. Gives also
    /// what they report: to be dropped first, because a worker that reports to nobody does not wait.
    pub(crate) fn start(
        plan: &Plan,
        segments: &[Segment],
        processes: usize,
        cpus: &[usize],
        child: &dyn Fn() -> Process,
    ) -> io::Result<(Self, Receiver<Report>)> {
        if processes == 1 {
            // Workers bound what they have under way, and never wait.
            let (sender, reports) = mpsc::channel();
            let threads = Threads::start(plan, segments, cpus, &sender)?;
            return Ok((Self::Here(threads), reports));
        }
        let (sender, reports) = mpsc::sync_channel(REPORTS_WAITING_MAX);
        let threads = segments.len().div_ceil(processes).max(1);
        let start = |(k, segments): (usize, &[Segment])| {
            let mut cpus = cpus.to_vec();
            let turn = (k * threads).checked_rem(cpus.len()).unwrap_or(0);
            cpus.rotate_left(turn);
            Child::start(child(), plan, segments, &cpus, &sender)
        };
        let mut children = Vec::new();
        for part in segments.chunks(threads).enumerate() {
            match start(part) {
                Ok(child) => children.push(child),
                Err(error) => {
                    // Those that are there end once they are rid of what they say, for which there is not always room.
                    drop(reports);
                    return Err(error);
                }
            }
        }
        Ok((Self::Children(children), reports))
    }

    /// Tells every worker.
    pub(crate) fn send(&mut self, command: &Command) {
        match self {
            Self::Here(threads) => threads.send(command),
            Self::Children(children) => {
                for child in children {
                    child.send(command);
                }
            }
        }
    }

    /// How many processes there are.
    pub(crate) fn processes(&self) -> u32 {
        match self {
            Self::Here(_) => 1,
            Self::Children(children) => children.len() as u32,
        }
    }

    /// Memory of the processes; `None`: it cannot be read.
    pub(crate) fn rss_bytes(&self) -> Option<u64> {
        let of = |child: &Child| match ProcessTree::new(child.pid()).sample() {
            Ok(usage) => Some(usage.rss_bytes),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Some(0),
            Err(_) => None,
        };
        match self {
            Self::Here(_) => net::proc::self_rss_bytes().ok(),
            Self::Children(children) => children.iter().map(of).sum(),
        }
    }
}

impl Drop for Local {
    /// All children end at the same time, so that those that do not take no longer than one.
    fn drop(&mut self) {
        if let Self::Children(children) = self {
            for child in children {
                child.close();
            }
        }
    }
}
