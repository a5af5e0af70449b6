//! The cost of this program, and the machine's idle CPU.

use std::fs;
use std::io;

use crate::sys;

/// Nanoseconds per clock tick: `/proc` counts in hundredths of a second on every Linux that matters
/// (USER_HZ).
pub(super) const TICK_NS: u64 = 10_000_000;

/// Usage of the calling thread since it started.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ThreadUsage {
    /// CPU time in user mode, nanoseconds (microsecond resolution).
    pub user_ns: u64,
    /// CPU time in the kernel, nanoseconds (microsecond resolution).
    pub system_ns: u64,
    /// The number of times the thread went to sleep by itself.
    pub voluntary_switches: u64,
    /// The number of times the thread was put aside for another thread.
    pub involuntary_switches: u64,
    /// The time for which the thread was ready to run but waited for a CPU, nanoseconds.
    pub run_queue_wait_ns: u64,
}

/// Reads the calling thread's usage. The run-queue wait is 0 on kernels without schedstats.
pub fn thread_usage() -> ThreadUsage {
    let usage = sys::thread_rusage();
    let ns = |time: libc::timeval| time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1_000;
    ThreadUsage {
        user_ns: ns(usage.ru_utime),
        system_ns: ns(usage.ru_stime),
        voluntary_switches: usage.ru_nvcsw as u64,
        involuntary_switches: usage.ru_nivcsw as u64,
        run_queue_wait_ns: run_queue_wait_ns().unwrap_or(0),
    }
}

/// The time on the run queue: the second field of `schedstat`.
fn run_queue_wait_ns() -> Option<u64> {
    let text = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_ascii_whitespace().nth(1)?.parse().ok()
}

/// The resident memory of this process, in bytes.
pub fn self_rss_bytes() -> io::Result<u64> {
    resident_bytes("/proc/self/statm")
}

/// The resident memory of one process, without its descendants, in bytes.
///
/// # Errors
/// It has ended, or cannot be read.
pub fn rss_bytes(pid: u32) -> io::Result<u64> {
    resident_bytes(&format!("/proc/{pid}/statm"))
}

fn resident_bytes(path: &str) -> io::Result<u64> {
    let text = fs::read_to_string(path)?;
    let pages = text.split_ascii_whitespace().nth(1).and_then(|field| field.parse::<u64>().ok());
    let pages = pages.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, path))?;
    Ok(pages * rustix::param::page_size() as u64)
}

/// CPU time of the whole machine since boot, all CPUs added up, in nanoseconds (clock-tick resolution).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MachineCpu {
    /// Time with nothing to do, waiting for a disk included.
    pub idle_ns: u64,
    /// Time that the hypervisor gave to other machines, while something on this one was ready to run.
    pub steal_ns: u64,
    /// All time: busy, idle, and stolen by the hypervisor.
    pub total_ns: u64,
}

/// Reads the first line of `/proc/stat`.
pub fn machine_cpu() -> io::Result<MachineCpu> {
    let text = fs::read_to_string("/proc/stat")?;
    parse_machine_cpu(&text).ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "/proc/stat"))
}

/// `cpu user nice system idle iowait irq softirq steal guest guest_nice`; guest time is in user time already.
fn parse_machine_cpu(text: &str) -> Option<MachineCpu> {
    let line = text.lines().next()?.strip_prefix("cpu ")?;
    let ticks: Vec<u64> =
        line.split_ascii_whitespace().take(8).map_while(|field| field.parse().ok()).collect();
    let idle = ticks.get(3)? + ticks.get(4).unwrap_or(&0);
    let steal = *ticks.get(7).unwrap_or(&0);
    let total = ticks.iter().sum::<u64>();
    Some(MachineCpu { idle_ns: idle * TICK_NS, steal_ns: steal * TICK_NS, total_ns: total * TICK_NS })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::{monotonic_ns, thread_cpu_ns};

    #[test]
    fn a_busy_thread_shows_in_its_usage() {
        let before = thread_usage();
        let start_ns = thread_cpu_ns();
        while thread_cpu_ns() - start_ns < 30_000_000 {
            std::hint::spin_loop();
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
        let after = thread_usage();
        let cpu_ns = after.user_ns + after.system_ns - before.user_ns - before.system_ns;
        assert!((25_000_000..60_000_000).contains(&cpu_ns), "{cpu_ns}");
        assert!(after.voluntary_switches > before.voluntary_switches);
        assert!(after.run_queue_wait_ns >= before.run_queue_wait_ns);
    }

    #[test]
    fn resident_memory_grows_with_what_is_touched() {
        let before = self_rss_bytes().unwrap();
        let block = std::hint::black_box(vec![1u8; 16 << 20]);
        let grown = self_rss_bytes().unwrap() - before;
        assert!(grown > 12 << 20, "{grown} for {}", block.len());
    }

    #[test]
    fn the_machine_has_cpus_that_count_time() {
        let before = machine_cpu().unwrap();
        let start_ns = monotonic_ns();
        std::thread::sleep(std::time::Duration::from_millis(100));
        let after = machine_cpu().unwrap();
        let cpus = crate::machine::Machine::read().cores as u64;
        let possible_ns = cpus * (monotonic_ns() - start_ns) + cpus * 5 * TICK_NS;
        let total_ns = after.total_ns - before.total_ns;
        assert!(total_ns > 0 && total_ns < possible_ns, "{total_ns} of {possible_ns}");
        assert!(after.idle_ns >= before.idle_ns);
    }

    #[test]
    fn guest_time_is_not_counted_twice() {
        let cpu = parse_machine_cpu("cpu  10 1 2 100 5 0 1 3 7 7\ncpu0 1\n").unwrap();
        assert_eq!(
            cpu,
            MachineCpu { idle_ns: 105 * TICK_NS, steal_ns: 3 * TICK_NS, total_ns: 122 * TICK_NS }
        );
        assert_eq!(parse_machine_cpu("garbage"), None);
    }
}
