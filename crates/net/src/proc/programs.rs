//! Other programs on the CPUs of this machine: every process at two moments, and what it used in between.
//!
//! A process that ended since is in its parent's `cutime`, less what was seen of it before: `cargo` answers
//! for its compilers. Kernel threads are not among them: what they do for the network, they do for the
//! programs that use it.

use std::collections::{HashMap, HashSet};

use super::own::TICK_NS;
use super::processes;
use super::read::{Reader, Stat};

/// The most processes that are read: each takes some microseconds. If there are more, the youngest are left
/// out.
const PROCESSES_MAX: usize = 4_096;

/// The CPU time of all processes up to a moment.
#[derive(Debug, Clone, Default)]
pub struct Programs {
    processes: HashMap<u32, Process>,
}

/// Usage of the processes of one name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProgramCpu {
    /// The program's name as the kernel has it, at most 15 bytes.
    pub name: String,
    /// CPU time, nanoseconds (clock-tick resolution).
    pub cpu_ns: u64,
}

#[derive(Debug, Clone)]
struct Process {
    name: String,
    stat: Stat,
}

impl Process {
    fn own_ticks(&self) -> u64 {
        self.stat.user_ticks + self.stat.system_ticks
    }

    fn children_ticks(&self) -> u64 {
        self.stat.children_user_ticks + self.stat.children_system_ticks
    }
}

impl Programs {
    /// Reads the CPU time of all processes now.
    pub fn read() -> Programs {
        let mut pids = processes::pids().unwrap_or_default();
        pids.sort_unstable();
        let mut reader = Reader::new();
        let process = |pid| match reader.program(pid)? {
            (_, true, _) => None,
            (name, false, stat) => Some((pid, Process { name, stat })),
        };
        Programs { processes: pids.into_iter().take(PROCESSES_MAX).filter_map(process).collect() }
    }

    /// Usage of each program since `before`, the busiest first; programs that used nothing, and the trees of
    /// `not`, are left out.
    pub fn since(&self, before: &Programs, not: &[u32]) -> Vec<ProgramCpu> {
        let left_out: HashSet<u32> = self.trees(not).union(&before.trees(not)).copied().collect();
        let known = |pid: &u32, process: &Process| {
            // The start time tells a process from another that has been given its number since.
            before.processes.get(pid).filter(|was| was.stat.start_ticks == process.stat.start_ticks)
        };
        let mut owed: HashMap<u32, u64> = HashMap::new();
        for (pid, was) in &before.processes {
            if self.processes.get(pid).is_none_or(|is| is.stat.start_ticks != was.stat.start_ticks) {
                // The time of a process that is not counted is not counted at its parent either.
                let ticks =
                    if left_out.contains(pid) { u64::MAX } else { was.own_ticks() + was.children_ticks() };
                // Its time comes up again in the `cutime` of the process that waits for it, of which only
                // what is new counts.
                let debt = owed.entry(self.reaper_of(was, before)).or_default();
                *debt = debt.saturating_add(ticks);
            }
        }
        let mut ticks_of: HashMap<&str, u64> = HashMap::new();
        for (pid, process) in self.processes.iter().filter(|(pid, _)| !left_out.contains(pid)) {
            let (own, children) =
                known(pid, process).map_or((0, 0), |was| (was.own_ticks(), was.children_ticks()));
            let children_ticks = process.children_ticks().saturating_sub(children);
            *ticks_of.entry(&process.name).or_default() += process.own_ticks().saturating_sub(own)
                + children_ticks.saturating_sub(owed.get(pid).copied().unwrap_or(0));
        }
        let used = ticks_of.into_iter().filter(|(_, ticks)| *ticks > 0);
        let mut programs: Vec<ProgramCpu> =
            used.map(|(name, ticks)| ProgramCpu { name: plain(name), cpu_ns: ticks * TICK_NS }).collect();
        programs.sort_by(|a, b| b.cpu_ns.cmp(&a.cpu_ns).then_with(|| a.name.cmp(&b.name)));
        programs
    }

    /// The process that waits for an ended one: its parent, or the next ancestor that is still there.
    fn reaper_of(&self, ended: &Process, before: &Programs) -> u32 {
        let mut parent = ended.stat.parent;
        for _ in 0..=before.processes.len() {
            match before.processes.get(&parent) {
                Some(above) if !self.processes.contains_key(&parent) => parent = above.stat.parent,
                _ => break,
            }
        }
        parent
    }

    /// These processes and all that descend from them.
    fn trees(&self, roots: &[u32]) -> HashSet<u32> {
        let mut members: HashSet<u32> = roots.iter().copied().collect();
        loop {
            let is_new = |(pid, process): &(&u32, &Process)| {
                members.contains(&process.stat.parent) && !members.contains(pid)
            };
            let children: Vec<u32> = self.processes.iter().filter(is_new).map(|(pid, _)| *pid).collect();
            if children.is_empty() {
                return members;
            }
            members.extend(children);
        }
    }
}

/// Makes a program's name safe to print: a program may call itself anything, and reports are read on
/// terminals.
fn plain(name: &str) -> String {
    name.chars().map(|c| if c.is_control() { '?' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Makes programs from each process's pid, parent, name, own ticks and children's ticks.
    fn programs(processes: &[(u32, u32, &str, u64, u64)]) -> Programs {
        let process = |&(pid, parent, name, own, children): &(u32, u32, &str, u64, u64)| {
            let stat = Stat {
                parent,
                user_ticks: own,
                children_system_ticks: children,
                start_ticks: u64::from(pid),
                ..Stat::default()
            };
            (pid, Process { name: name.into(), stat })
        };
        Programs { processes: processes.iter().map(process).collect() }
    }

    fn since(after: &Programs, before: &Programs, not: &[u32]) -> Vec<(String, u64)> {
        let used = after.since(before, not).into_iter();
        used.map(|program| (program.name, program.cpu_ns / TICK_NS)).collect()
    }

    #[test]
    fn processes_of_one_name_are_one_program() {
        let before = programs(&[(10, 1, "ruby", 100, 0), (11, 1, "ruby", 50, 0), (12, 1, "idle", 7, 0)]);
        let after = programs(&[
            (10, 1, "ruby", 130, 0),
            (11, 1, "ruby", 60, 0),
            (12, 1, "idle", 7, 0),
            (13, 1, "new\u{1b}", 50, 4),
        ]);
        assert_eq!(since(&after, &before, &[]), [("new?".to_owned(), 54), ("ruby".to_owned(), 40)]);
    }

    #[test]
    fn ended_processes_count_with_their_parent() {
        let before = programs(&[(20, 1, "cargo", 10, 5), (21, 20, "rustc", 300, 0), (22, 21, "ld", 7, 0)]);
        let after = programs(&[(20, 1, "cargo", 11, 362)]);
        assert_eq!(since(&after, &before, &[]), [("cargo".to_owned(), 1 + 50)]);
    }

    #[test]
    fn trees_that_are_left_out_leave_nothing_behind() {
        let before = programs(&[(30, 1, "sh", 1, 0), (31, 30, "server", 400, 0), (32, 31, "worker", 90, 0)]);
        let alive = programs(&[(30, 1, "sh", 2, 0), (31, 30, "server", 900, 0), (32, 31, "worker", 99, 0)]);
        assert_eq!(since(&alive, &before, &[31]), [("sh".to_owned(), 1)]);
        let ended = programs(&[(30, 1, "sh", 2, 2_000)]);
        assert_eq!(since(&ended, &before, &[31]), [("sh".to_owned(), 1)]);
    }

    #[test]
    fn a_busy_child_is_seen_by_its_name() {
        let dir = tempfile::tempdir().unwrap();
        let name = format!("busy-{}", std::process::id());
        std::os::unix::fs::symlink("/bin/sh", dir.path().join(&name)).unwrap();
        let mut busy = std::process::Command::new(dir.path().join(&name));
        let mut busy = busy.args(["-c", "while :; do :; done"]).spawn().unwrap();
        let before = Programs::read();
        let is_seen = |not: &[u32]| {
            Programs::read()
                .since(&before, not)
                .iter()
                .any(|program| program.name == name && program.cpu_ns > 0)
        };
        let is_ever_seen = (0..1_000).any(|_| {
            std::thread::sleep(std::time::Duration::from_millis(10));
            is_seen(&[])
        });
        let is_left_out = !is_seen(&[busy.id()]) && !is_seen(&[std::process::id()]);
        busy.kill().unwrap();
        busy.wait().unwrap();
        assert!(is_ever_seen && is_left_out);
    }
}
