//! The processes of a server of which only the addresses are known.
//!
//! A server may be several: workers that share a port, a listener beside what does its work (AnyCable: a
//! gateway in Go, and Rails behind it). They are
//!
//! 1. all that listen there: the same socket, or another of the same port (`SO_REUSEPORT`);
//! 2. above each, as long as it is the same program: a head that need not listen itself (node's cluster,
//!    nginx, gunicorn);
//! 3. the other processes of their process groups, which is what a shell or a supervisor started as one job;
//!    but not what is above a listener (`foreman`, `npm`, a script), which only started it. A group with this
//!    program in it, or with one that this descends from, does not belong to a server: it runs the
//!    measurement;
//! 4. whatever descends from these.

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

    fn group(&self, pid: u32) -> Option<u32> {
        self.stats.get(&pid).map(|stat| stat.group)
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
    // Above the heads, not above the listeners: a head is part of the server, what started it is not.
    let starters: BTreeSet<u32> = heads.iter().flat_map(|head| all.above(*head)).collect();
    let not_ours: BTreeSet<u32> = ours.iter().filter_map(|pid| all.group(*pid)).collect();
    let groups: BTreeSet<u32> = listening.iter().filter_map(|pid| all.group(*pid)).collect();
    let is_kin = |pid: u32, stat: &Stat| {
        stat.group > 0
            && groups.contains(&stat.group)
            && !not_ours.contains(&stat.group)
            && !starters.contains(&pid)
    };
    let kin = all.stats.iter().filter(|(pid, stat)| is_kin(**pid, stat)).map(|(pid, _)| *pid);
    let mut others: BTreeSet<u32> = heads.iter().copied().chain(kin).collect();
    others.remove(&heads[0]);
    Service { head: heads[0], others }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The pid of this program, which is in a group of its own; its shell is 80.
    const OWN: u32 = 90;

    /// The service among processes given by pid, parent, group and program, of which those of `listening`
    /// listen.
    fn service(processes: &[(u32, u32, u32, &'static str)], listening: &[u32]) -> Vec<u32> {
        let shell = [(1, 0, 1, "init"), (80, 1, 80, "bash"), (OWN, 80, OWN, "throng")];
        let all: Vec<_> = shell.iter().chain(processes).copied().collect();
        let stat = |&(pid, parent, group, _): &_| (pid, Stat { parent, group, ..Stat::default() });
        let program = |pid| all.iter().find(|known| known.0 == pid).map(|known| known.3);
        found(&Processes { stats: all.iter().map(stat).collect(), own: OWN }, listening, program).pids()
    }

    #[test]
    fn one_process_is_itself() {
        assert_eq!(service(&[(10, 80, 10, "node"), (11, 80, 11, "vim")], &[10]), [10]);
    }

    #[test]
    fn workers_have_a_head() {
        let nginx = [(10, 1, 10, "nginx"), (11, 10, 10, "nginx"), (12, 10, 10, "nginx")];
        assert_eq!(service(&nginx, &[11, 12]), [10, 11, 12]);
        let without_group = [(10, 1, 10, "node"), (11, 10, 11, "node"), (12, 10, 12, "node")];
        assert_eq!(service(&without_group, &[11, 12]), [10, 11, 12]);
    }

    #[test]
    fn services_include_siblings_and_no_parent() {
        let anycable = [
            (10, 80, 10, "foreman"),
            (11, 10, 10, "anycable-go"),
            (12, 10, 10, "ruby"),
            (13, 12, 12, "ruby"),
        ];
        assert_eq!(service(&anycable, &[11]), [11, 12]);
        assert_eq!(service(&[(10, 80, 10, "npm"), (11, 10, 10, "sh"), (12, 11, 10, "node")], &[12]), [12]);
    }

    #[test]
    fn sockets_of_one_port_are_one_server() {
        assert_eq!(service(&[(10, 1, 10, "a"), (20, 1, 20, "a")], &[10, 20]), [10, 20]);
    }

    #[test]
    fn the_group_of_whoever_measures_is_no_servers() {
        // A script that starts a server, something else, and then throng, which `timeout` puts into a group
        // of its own.
        let script = [(10, 80, 80, "server"), (11, 80, 80, "database")];
        assert_eq!(service(&script, &[10]), [10]);
        let beside_throng = [(10, 80, OWN, "server")];
        assert_eq!(service(&beside_throng, &[10]), [10]);
    }

    #[test]
    fn a_head_is_not_this_program() {
        assert_eq!(service(&[(10, OWN, OWN, "throng"), (11, 10, OWN, "throng")], &[11]), [10]);
    }
}
