//! The CPU, memory, threads and waits of a process and all that descend from it.
//!
//! Totals are sums of differences from sample to sample, so they never go backwards. The CPU of processes
//! that ended since the last sample, or came and went between two, is in their parent's `cutime`; what a
//! parent does not wait for is known as of the sample before.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io;
use std::time::{Duration, Instant};

use super::own::TICK_NS;
use super::processes;
use super::read::{Reader, Stat};

/// Usage of a process tree. Times and switches are totals that never go backwards, even as processes and
/// threads come and go; memory, threads and descriptors are those of the moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Usage {
    /// CPU time in user mode, nanoseconds (clock-tick resolution).
    pub user_ns: u64,
    /// CPU time in the kernel, nanoseconds (clock-tick resolution).
    pub system_ns: u64,
    /// Time that threads were ready to run but waited for a CPU, nanoseconds.
    pub run_queue_wait_ns: u64,
    /// The number of times threads went to sleep by themselves.
    pub voluntary_switches: u64,
    /// The number of times threads were put aside for others.
    pub involuntary_switches: u64,
    /// Resident memory, bytes; pages shared between the processes count in each.
    pub rss_bytes: u64,
    /// The resident memory that is backed by files, or shared: the program itself, whose unused pages the
    /// kernel takes back.
    pub file_bytes: u64,
    /// Live processes.
    pub processes: u32,
    /// Live threads.
    pub threads: u32,
    /// The number of open descriptors, where they may be counted.
    pub fds: Option<u32>,
    /// The thread that used most CPU since the sample before. Absent in the first sample.
    pub busiest: Option<BusiestThread>,
}

/// A thread's CPU time since the sample before; greater with more of it.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
struct ThreadUse {
    cpu_ns: u64,
    pid: u32,
    tid: u32,
}

/// The past of a process tree, as far as the kernel remembers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Past {
    /// The sum of each process's largest resident memory, bytes.
    pub rss_bytes_peak: u64,
    /// A bound on the descriptors that were ever open at once: at least about half of it were; 0 if there
    /// were only a few.
    pub fds_peak: u64,
}

/// The size of a table of descriptors that shells give every process: a table of this size shows nothing.
const FD_TABLE_INITIAL: u64 = 256;

/// The time within which a number is the same process's in two listings: numbers come around after 32,768
/// processes at the least (`pid_max`, proc_sys_kernel(5)).
const SAME_NUMBER_FOR: Duration = Duration::from_secs(1);

/// A thread and its share since the sample before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BusiestThread {
    /// Thread id.
    pub tid: u32,
    /// The thread's name, at most 15 bytes.
    pub name: String,
    /// CPU time since the sample before, nanoseconds.
    pub cpu_ns: u64,
}

/// One live thread's totals since it started, except the time asleep.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadTotals {
    /// The thread's process.
    pub pid: u32,
    /// Thread id.
    pub tid: u32,
    /// The thread's name, at most 15 bytes.
    pub name: String,
    /// CPU time in user mode, nanoseconds (clock-tick resolution).
    pub user_ns: u64,
    /// CPU time in the kernel, nanoseconds (clock-tick resolution).
    pub system_ns: u64,
    /// The time for which the thread was ready to run but waited for a CPU, nanoseconds.
    pub run_queue_wait_ns: u64,
}

/// Follows a process and its descendants from sample to sample. A descendant stays followed when its parent
/// ends.
pub struct ProcessTree {
    roots: Vec<u32>,
    processes: HashMap<u32, Process>,
    /// Processes of the last listing that are outside the tree, and when they were listed.
    outside: HashSet<u32>,
    listed: Option<Instant>,
    totals: Usage,
    sampled: bool,
    reader: Reader,
}

/// A process as of the last sample.
struct Process {
    stat: Stat,
    threads: HashMap<u32, Thread>,
    /// The time of ended children that the process has not waited for yet.
    owed_user_ticks: u64,
    owed_system_ticks: u64,
}

impl Process {
    /// The time of the process and its children that was counted.
    fn all_user_ticks(&self) -> u64 {
        self.stat.user_ticks + self.stat.children_user_ticks + self.owed_user_ticks
    }

    fn all_system_ticks(&self) -> u64 {
        self.stat.system_ticks + self.stat.children_system_ticks + self.owed_system_ticks
    }
}

/// A thread as of the last sample.
#[derive(Clone, Copy, Default)]
struct Thread {
    run_ns: u64,
    wait_ns: u64,
    voluntary: u64,
    involuntary: u64,
}

impl Thread {
    /// Reads a thread; `None`: it has ended. A thread that has not run since the `last` sample costs one
    /// small read: servers with a thread per client have thousands of those.
    fn read(reader: &mut Reader, pid: u32, tid: u32, last: Thread) -> io::Result<Option<Self>> {
        let Some((run_ns, wait_ns)) = reader.schedstat(pid, tid)? else { return Ok(None) };
        // 0 is also what kernels without schedstats say of every thread.
        if run_ns == last.run_ns && run_ns > 0 {
            return Ok(Some(last));
        }
        let switches = reader.switches(pid, tid)?;
        Ok(switches.map(|(voluntary, involuntary)| Self { run_ns, wait_ns, voluntary, involuntary }))
    }
}

/// A reading of a process for one sample.
struct Reading {
    stat: Stat,
    resident_pages: u64,
    file_pages: u64,
    fds: Option<u32>,
    tids: u32,
    threads: HashMap<u32, Thread>,
}

impl Reading {
    /// Reads a process that the `last` sample may have known.
    fn of(reader: &mut Reader, pid: u32, stat: Stat, last: Option<&Process>) -> io::Result<Self> {
        let last = last.filter(|last| last.stat.start_ticks == stat.start_ticks).map(|last| &last.threads);
        let (resident_pages, file_pages) = reader.resident_pages(pid)?.unwrap_or_default();
        let tids = processes::tids(pid)?;
        let mut threads = HashMap::with_capacity(tids.len());
        for &tid in &tids {
            let last = last.and_then(|threads| threads.get(&tid)).copied().unwrap_or_default();
            if let Some(thread) = Thread::read(reader, pid, tid, last)? {
                threads.insert(tid, thread);
            }
        }
        let (fds, tids) = (reader.fds(pid), tids.len() as u32);
        Ok(Self { stat, resident_pages, file_pages, fds, tids, threads })
    }
}

impl ProcessTree {
    /// Follows the process `pid` and its descendants. The first sample shows whether it exists.
    pub fn new(pid: u32) -> ProcessTree {
        ProcessTree::of(&[pid])
    }

    /// Follows these processes, and what descends from any of them, as one.
    pub fn of(pids: &[u32]) -> ProcessTree {
        ProcessTree {
            roots: pids.to_vec(),
            processes: HashMap::new(),
            outside: HashSet::new(),
            listed: None,
            totals: Usage::default(),
            sampled: false,
            reader: Reader::new(),
        }
    }

    /// Reads the tree now. Cheap enough for a few times a second. Nothing is counted unless all of it could
    /// be read.
    ///
    /// # Errors
    /// [`io::ErrorKind::NotFound`] when every process of it has ended; any other when they cannot be looked
    /// at now.
    pub fn sample(&mut self) -> io::Result<Usage> {
        let readings = self.read()?;
        if readings.is_empty() {
            return Err(io::Error::new(
                io::ErrorKind::NotFound,
                format!("all of {:?} has ended", self.roots),
            ));
        }
        // Before the live ones are counted: it compares their `cutime` with the sample before.
        self.count_ended(&readings);
        let totals = std::mem::take(&mut self.totals);
        self.totals = Usage {
            fds: Some(0),
            rss_bytes: 0,
            file_bytes: 0,
            processes: 0,
            threads: 0,
            busiest: None,
            ..totals
        };
        let mut busiest = ThreadUse::default();
        for (pid, reading) in readings {
            self.count_process(pid, reading, &mut busiest);
        }
        let ThreadUse { cpu_ns, pid, tid } = busiest;
        if self.sampled && cpu_ns > 0 {
            let name = self.reader.name(pid, tid).unwrap_or_default();
            self.totals.busiest = Some(BusiestThread { tid, name, cpu_ns });
        }
        self.sampled = true;
        Ok(self.totals.clone())
    }

    /// Reads every process of the tree for a sample.
    fn read(&mut self) -> io::Result<HashMap<u32, Reading>> {
        let members = self.members()?;
        let mut read =
            |(pid, stat)| Ok((pid, Reading::of(&mut self.reader, pid, stat, self.processes.get(&pid))?));
        members.into_iter().map(&mut read).collect()
    }

    /// The processes of the tree that live now: the roots, the processes followed already (if their pid has
    /// not been given to another process since), and children of any of these.
    ///
    /// Processes outside the tree are not read again: they stay outside, and a machine has hundreds of them.
    fn members(&mut self) -> io::Result<HashMap<u32, Stat>> {
        let now = Instant::now();
        if self.listed.is_none_or(|listed| now.duration_since(listed) > SAME_NUMBER_FOR) {
            self.outside.clear();
        }
        let mut others = HashMap::new();
        let mut members = HashMap::new();
        let mut outside = HashSet::new();
        for pid in processes::pids()? {
            if self.outside.contains(&pid) {
                outside.insert(pid);
                continue;
            }
            let Some(stat) = self.reader.stat(pid)? else { continue };
            let followed = match self.processes.get(&pid) {
                Some(known) => known.stat.start_ticks == stat.start_ticks,
                // Only in the first sample: later, a root's number may be another process's.
                None => self.roots.contains(&pid) && !self.sampled,
            };
            if followed {
                members.insert(pid, stat)
            } else {
                others.insert(pid, stat)
            };
        }
        loop {
            let children: Vec<u32> = others
                .iter()
                .filter(|(_, stat)| members.contains_key(&stat.parent))
                .map(|(&pid, _)| pid)
                .collect();
            if children.is_empty() {
                break;
            }
            members.extend(children.into_iter().filter_map(|pid| Some((pid, others.remove(&pid)?))));
        }
        // One whose parent ended while others were read may have been given to a reaper in the tree.
        let has_parent = |stat: &Stat| {
            stat.parent == 0 || others.contains_key(&stat.parent) || outside.contains(&stat.parent)
        };
        let new: Vec<u32> = others.iter().filter(|(_, stat)| has_parent(stat)).map(|(&pid, _)| pid).collect();
        outside.extend(new);
        (self.outside, self.listed) = (outside, Some(now));
        Ok(members)
    }

    /// Removes processes that ended, and adds the time that children used after they were last sampled: it is
    /// in their parent's `cutime`, but only once the parent has waited for them, perhaps many samples later.
    /// Until then the parent owes the time that was sampled.
    fn count_ended(&mut self, now: &HashMap<u32, Reading>) {
        let is_alive = |pid: u32, process: &Process| {
            now.get(&pid).is_some_and(|reading| reading.stat.start_ticks == process.stat.start_ticks)
        };
        let (mut alive, ended): (HashMap<u32, Process>, HashMap<u32, Process>) =
            self.processes.drain().partition(|(pid, process)| is_alive(*pid, process));
        for process in ended.values() {
            let mut parent = process.stat.parent;
            while let Some(ended) = ended.get(&parent) {
                // A whole branch may have ended between two samples: its time goes to the first ancestor that
                // lives.
                parent = ended.stat.parent;
            }
            if let Some(parent) = alive.get_mut(&parent) {
                parent.owed_user_ticks += process.all_user_ticks();
                parent.owed_system_ticks += process.all_system_ticks();
            }
        }
        for (pid, process) in &mut alive {
            let (stat, last) = (&now[pid].stat, &process.stat);
            let user =
                repay(&mut process.owed_user_ticks, stat.children_user_ticks - last.children_user_ticks);
            let system = repay(
                &mut process.owed_system_ticks,
                stat.children_system_ticks - last.children_system_ticks,
            );
            self.totals.user_ns += user * TICK_NS;
            self.totals.system_ns += system * TICK_NS;
        }
        self.processes = alive;
    }

    /// Adds the time that a live process used since the last sample, or, if it is new, since it started.
    fn count_process(&mut self, pid: u32, reading: Reading, busiest: &mut ThreadUse) {
        let Reading { stat, resident_pages, file_pages, fds, tids, threads } = reading;
        let process = self.processes.remove(&pid);
        let (user, system) = match &process {
            // The kernel splits the exact total by a sampled ratio, so that one of the two may lag for a
            // tick.
            Some(Process { stat: last, .. }) => (
                stat.user_ticks.saturating_sub(last.user_ticks),
                stat.system_ticks.saturating_sub(last.system_ticks),
            ),
            // The children that it has waited for are included: nothing has counted them yet.
            None => {
                (stat.user_ticks + stat.children_user_ticks, stat.system_ticks + stat.children_system_ticks)
            }
        };
        self.totals.user_ns += user * TICK_NS;
        self.totals.system_ns += system * TICK_NS;
        let page_bytes = rustix::param::page_size() as u64;
        self.totals.rss_bytes += resident_pages * page_bytes;
        self.totals.file_bytes += file_pages * page_bytes;
        // Of one process that may not be looked into, the sum is not known.
        self.totals.fds = self.totals.fds.zip(fds).map(|(sum, fds)| sum + fds);
        self.totals.processes += 1;
        self.totals.threads += tids;
        let (last, owed_user_ticks, owed_system_ticks) = process
            .map(|process| (process.threads, process.owed_user_ticks, process.owed_system_ticks))
            .unwrap_or_default();
        for (&tid, now) in &threads {
            let last = last.get(&tid).copied().unwrap_or_default();
            let cpu_ns = now.run_ns.saturating_sub(last.run_ns);
            *busiest = (*busiest).max(ThreadUse { cpu_ns, pid, tid });
            self.totals.run_queue_wait_ns += now.wait_ns.saturating_sub(last.wait_ns);
            self.totals.voluntary_switches += now.voluntary.saturating_sub(last.voluntary);
            self.totals.involuntary_switches += now.involuntary.saturating_sub(last.involuntary);
        }
        self.processes.insert(pid, Process { stat, threads, owed_user_ticks, owed_system_ticks });
    }

    /// The past of the last sample's processes since they started, without those that have ended. `None`
    /// where one may not be read, or none is left.
    pub fn past(&mut self) -> Option<Past> {
        let pasts = self.read_living(Reader::past)?;
        let grown = pasts.iter().map(|&(_, fds)| fds).filter(|&fds| fds > FD_TABLE_INITIAL);
        Some(Past {
            rss_bytes_peak: pasts.iter().map(|&(rss_bytes, _)| rss_bytes).sum(),
            fds_peak: grown.sum(),
        })
    }

    /// Proportional memory of the tree as of the last sample, bytes: shared pages count once. Costly (the
    /// kernel walks every mapping): at the ends of a step, not between. `None` where it may not be read.
    pub fn pss_bytes(&mut self) -> Option<u64> {
        Some(self.read_living(|_, pid| pss_bytes(pid))?.into_iter().sum())
    }

    /// Reads each process of the last sample that has not ended since. `None` where one may not be read, or
    /// none is left.
    fn read_living<T>(&mut self, read: impl Fn(&mut Reader, u32) -> Option<T>) -> Option<Vec<T>> {
        let mut all = Vec::new();
        for &pid in self.processes.keys() {
            match read(&mut self.reader, pid) {
                Some(reading) => all.push(reading),
                // Servers that fork have children that end at any time.
                None if matches!(self.reader.stat(pid), Ok(None)) => {}
                None => return None,
            }
        }
        (!all.is_empty()).then_some(all)
    }

    /// The processes of the tree as of the last sample.
    pub fn pids(&self) -> Vec<u32> {
        self.processes.keys().copied().collect()
    }

    /// Every live thread of the tree as of the last sample, the one with most CPU first.
    pub fn threads(&mut self) -> Vec<ThreadTotals> {
        let mut threads = Vec::new();
        for (&pid, process) in &self.processes {
            for (&tid, thread) in &process.threads {
                let Some(stat) = self.reader.thread_stat(pid, tid) else { continue };
                threads.push(ThreadTotals {
                    pid,
                    tid,
                    name: self.reader.name(pid, tid).unwrap_or_default(),
                    user_ns: stat.user_ticks * TICK_NS,
                    system_ns: stat.system_ticks * TICK_NS,
                    run_queue_wait_ns: thread.wait_ns,
                });
            }
        }
        threads.sort_by_key(|thread| (std::cmp::Reverse(thread.user_ns + thread.system_ns), thread.tid));
        threads
    }
}

/// Pays `ticks` towards a debt, and returns the ticks that are left over.
fn repay(owed: &mut u64, ticks: u64) -> u64 {
    let paid = ticks.min(*owed);
    *owed -= paid;
    ticks - paid
}

fn pss_bytes(pid: u32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("Pss:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? * 1024)
}
