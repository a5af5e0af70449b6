//! The two clocks of a run: one that only moves forward, and the wall clock.
//!
//! The first need not be this machine's: an agent of a fleet works on its coordinator's, by an offset that is
//! added at every reading. So does a run that goes on after its machine was started again. One process works
//! for one run at a time, so the offset is the process's.

use std::sync::atomic::{AtomicI64, Ordering};

use rustix::time::{ClockId, clock_gettime};

/// The run's clock minus this machine's.
static OFFSET_NS: AtomicI64 = AtomicI64::new(0);

/// Nanoseconds of the run's clock since an arbitrary point (boot). It steps back only when the offset is set
/// anew. Every duration is measured with this clock.
pub fn monotonic_ns() -> u64 {
    own_monotonic_ns().wrapping_add_signed(OFFSET_NS.load(Ordering::Relaxed))
}

/// The run's clock as of the last tick of the kernel's timer, a few ms ago at most: it costs a third of
/// [`monotonic_ns`].
pub fn monotonic_coarse_ns() -> u64 {
    read(ClockId::MonotonicCoarse).wrapping_add_signed(OFFSET_NS.load(Ordering::Relaxed))
}

/// This machine's own monotonic clock, whatever the run's.
pub fn own_monotonic_ns() -> u64 {
    read(ClockId::Monotonic)
}

/// Sets the run's clock to this machine's plus `offset_ns`.
pub fn set_offset_ns(offset_ns: i64) {
    OFFSET_NS.store(offset_ns, Ordering::Relaxed);
}

/// Advances the run's clock to at least `at_ns`: it goes on where it stood before this machine was started.
pub fn advance_to(at_ns: u64) {
    if let Ok(behind_ns @ 1..) = i64::try_from(at_ns.saturating_sub(monotonic_ns())) {
        set_offset_ns(offset_ns() + behind_ns);
    }
}

/// The run's clock minus this machine's.
pub fn offset_ns() -> i64 {
    OFFSET_NS.load(Ordering::Relaxed)
}

/// Nanoseconds since the Unix epoch. May step in either direction; for timestamps that leave the process
/// only.
pub fn realtime_ns() -> u64 {
    read(ClockId::Realtime)
}

/// CPU time, user and system, that the calling thread has used so far, in nanoseconds.
pub fn thread_cpu_ns() -> u64 {
    read(ClockId::ThreadCPUTime)
}

fn read(clock: ClockId) -> u64 {
    let now = clock_gettime(clock);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

    #[test]
    fn monotonic_counts_nanoseconds() {
        let around = Instant::now();
        let start_ns = monotonic_ns();
        std::thread::sleep(Duration::from_millis(5));
        let elapsed_ns = u128::from(monotonic_ns() - start_ns);
        assert!((5_000_000..=around.elapsed().as_nanos()).contains(&elapsed_ns), "{elapsed_ns}");
    }

    #[test]
    fn realtime_agrees_with_the_standard_library() {
        let std_ns = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as u64;
        assert!(realtime_ns().abs_diff(std_ns) < 1_000_000_000);
    }

    #[test]
    fn thread_cpu_counts_work_and_not_sleep() {
        let start_ns = thread_cpu_ns();
        std::thread::sleep(Duration::from_millis(20));
        assert!(thread_cpu_ns() - start_ns < 15_000_000);
        let busy_ns = thread_cpu_ns();
        while thread_cpu_ns() - busy_ns < 1_000_000 {}
    }
}
