//! The processes of a server of which only the addresses are known.
//!
//! A server may be several, as workers that share a port. They are
//!
//! 1. all that listen there: the same socket, or another of the same port (`SO_REUSEPORT`);
//! 2. above each, as long as it is the same program: a head that need not listen itself (node's cluster,
//!    nginx, gunicorn);
//! 3. whatever descends from these.
//!
//! Others that the same script or supervisor started are not among them: their CPU and memory may be anything
//! (AnyCable's gateway has Rails behind it, a development script a bundler beside it). The user who wants the
//! sum names the process that started both.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::io;

use super::listening::pids_listening_on;
use super::processes;
use super::read::{Reader, Stat};
use crate::socket::Addr;

/// The processes of a server; their descendants are part of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Service {
    head: u32,
    others: BTreeSet<u32>,
}

impl Service {
    /// A service of one process and its descendants.
    pub fn of(pid: u32) -> Service {
        Service { head: pid, others: BTreeSet::new() }
    }

    /// The server that listens at all these addresses; `None` if no server does, or if it belongs to another
    /// user.
    pub fn listening_on(addrs: impl Iterator<Item = Addr>) -> io::Result<Option<Service>> {
        let mut listening = Vec::new();
        for addr in addrs {
            listening.extend(pids_listening_on(&addr)?);
        }
        if listening.is_empty() {
            return Ok(None);
        }
        let stats = processes::stats(&mut Reader::new())?;
        Ok(Some(found(&Processes { stats, own: std::process::id() }, &listening, program)))
    }

    /// The first process that listens, or the head above it.
    pub fn head(&self) -> u32 {
        self.head
    }

    /// All processes of the service, the head first.
    pub fn pids(&self) -> Vec<u32> {
        [self.head].into_iter().chain(self.others.iter().copied()).collect()
    }
}

struct Processes {
    stats: HashMap<u32, Stat>,
    own: u32,
}

impl Processes {
    /// A process's parent, its parent, and so on.
    fn above(&self, pid: u32) -> Vec<u32> {
        let mut above = Vec::new();
        let mut pid = pid;
        // Not more than there are, even if ids were reused while they were read.
        while let Some(stat) = self.stats.get(&pid)
            && stat.parent > 0
            && above.len() < self.stats.len()
        {
            pid = stat.parent;
            above.push(pid);
        }
        above
    }
}

fn program(pid: u32) -> Option<std::path::PathBuf> {
    fs::read_link(format!("/proc/{pid}/exe")).ok()
}

/// Finds a service; `program` gives the program that a process runs.
fn found<P: PartialEq>(all: &Processes, listening: &[u32], program: impl Fn(u32) -> Option<P>) -> Service {
    let ours: BTreeSet<u32> = all.above(all.own).into_iter().chain([all.own]).collect();
    let head_of = |pid: u32| {
        let own = program(pid);
        let is_of_server =
            |above: &u32| *above > 1 && !ours.contains(above) && own.is_some() && program(*above) == own;
        all.above(pid).into_iter().take_while(is_of_server).last().unwrap_or(pid)
    };
    let heads: Vec<u32> = listening.iter().map(|pid| head_of(*pid)).collect();
    let mut others: BTreeSet<u32> = heads.iter().copied().collect();
    others.remove(&heads[0]);
    Service { head: heads[0], others }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The pid of this program; its shell is 80.
    const OWN: u32 = 90;

    /// The service among processes given by pid, parent and program, of which those of `listening` listen.
    fn service(processes: &[(u32, u32, &'static str)], listening: &[u32]) -> Vec<u32> {
        let shell = [(1, 0, "init"), (80, 1, "bash"), (OWN, 80, "throng")];
        let all: Vec<_> = shell.iter().chain(processes).copied().collect();
        let stat = |&(pid, parent, _): &_| (pid, Stat { parent, ..Stat::default() });
        let program = |pid| all.iter().find(|known| known.0 == pid).map(|known| known.2);
        found(&Processes { stats: all.iter().map(stat).collect(), own: OWN }, listening, program).pids()
    }

    #[test]
    fn one_process_is_itself() {
        assert_eq!(service(&[(10, 80, "node"), (11, 80, "vim")], &[10]), [10]);
    }

    #[test]
    fn workers_have_a_head() {
        let node = [(10, 1, "node"), (11, 10, "node"), (12, 10, "node")];
        assert_eq!(service(&node, &[11, 12]), [10], "with what descends from it");
    }

    #[test]
    fn services_include_no_siblings_and_no_starter() {
        let anycable = [(10, 80, "foreman"), (11, 10, "anycable-go"), (12, 10, "ruby"), (13, 12, "ruby")];
        assert_eq!(service(&anycable, &[11]), [11]);
        assert_eq!(service(&[(10, 80, "npm"), (11, 10, "sh"), (12, 11, "node")], &[12]), [12]);
    }

    #[test]
    fn sockets_of_one_port_are_one_server() {
        assert_eq!(service(&[(10, 1, "a"), (20, 1, "a")], &[10, 20]), [10, 20]);
    }

    #[test]
    fn a_head_is_not_this_program() {
        assert_eq!(service(&[(10, OWN, "throng"), (11, 10, "throng")], &[11]), [10]);
    }
}
