//! The agents of one machine: this process, or as many children as the limit on open files demands.

use std::io;
use std::process::Command as Process;
use std::sync::mpsc::Sender;

use engine::{Command, Report};
use load::{Plan, Segment};
use net::proc::ProcessTree;

use crate::child::Child;
use crate::threads::Threads;

/// Workers on this machine.
pub(crate) enum Local {
    /// On threads of this process.
    Here(Threads),
    /// In child processes.
    Children(Vec<Child>),
}

impl Local {
    /// Starts a worker for each segment, spread over so many `processes`; with `cpus`, pinned to these in turn.
    pub(crate) fn start(
        plan: &Plan,
        segments: &[Segment],
        processes: usize,
        cpus: &[usize],
        reports: &Sender<Report>,
        child: &dyn Fn() -> Process,
    ) -> io::Result<Self> {
        if processes == 1 {
            return Threads::start(plan, segments, cpus, reports).map(Self::Here);
        }
        let threads = segments.len().div_ceil(processes).max(1);
        let start = |(k, segments): (usize, &[Segment])| {
            let mut cpus = cpus.to_vec();
            let turn = (k * threads).checked_rem(cpus.len()).unwrap_or(0);
            cpus.rotate_left(turn);
            Child::start(child(), plan, segments, &cpus, reports)
        };
        segments.chunks(threads).enumerate().map(start).collect::<io::Result<_>>().map(Self::Children)
    }

    /// Tells every worker.
    pub(crate) fn send(&mut self, command: &Command) {
        match self {
            Self::Here(threads) => threads.send(command),
            Self::Children(children) => children.iter_mut().for_each(|child| child.send(command)),
        }
    }

    /// How many processes there are.
    pub(crate) fn processes(&self) -> u32 {
        match self {
            Self::Here(_) => 1,
            Self::Children(children) => children.len() as u32,
        }
    }

    /// Memory of the processes.
    pub(crate) fn rss_bytes(&self) -> u64 {
        let of = |child: &Child| ProcessTree::new(child.pid()).sample().map_or(0, |usage| usage.rss_bytes);
        match self {
            Self::Here(_) => net::proc::self_rss_bytes().unwrap_or(0),
            Self::Children(children) => children.iter().map(of).sum(),
        }
    }
}
