//! The lateness of a worker's turns: the longest time for which what it reads may have been there before.
//!
//! The kernel stamps the last packet of a read alone. If a stream goes on while the worker is stopped, these
//! stamps would tell of a server that stood still. So a wait for events is short (`WAIT_NS_MAX`), and a turn
//! that begins later than its wait was to end is late by that: the worker was stopped, or had no CPU. A wait
//! that ends at once has found what came since the last wait: the turn between may have been stopped, too, and
//! the end of that wait, as the kernel collects what is ready before it lets the worker go on.

/// The longest wait for events: half of the shortest gap that may be a stall.
const WAIT_NS_MAX: u64 = 5_000_000;
/// A turn that is less late is on time.
const LATE_NS_MIN: u64 = 1_000_000;
/// The age at which the run queue is read anew. What gathers there in a longer time on a busy machine would
/// pass for the reason of the next late turn.
const READING_NS_MAX: u64 = 100_000_000;

/// Detects pauses of a worker by its turns, as HdrHistogram's pause detectors do by their timers.
#[derive(Debug, Default)]
pub(crate) struct PauseDetector {
    is_on: bool,
    /// The beginning of the last turn, that of the wait behind it, and the wait's end at the latest.
    turn_ns: u64,
    began_ns: u64,
    due_ns: u64,
    /// The last reading of the run queue: its time, and how long the worker had waited there in all.
    read_ns: u64,
    queued_ns: u64,
    /// The pause at the end of the last wait that was late, and the part without a CPU.
    pause_ns: (u64, u64),
    /// The lateness of the turn, and the part of it in which the worker was ready to run and had no CPU.
    pub(crate) late_ns: u64,
    pub(crate) starved_ns: u64,
}

impl PauseDetector {
    /// A detector, which is on if the run is of streams.
    pub(crate) fn new(is_on: bool) -> PauseDetector {
        PauseDetector { is_on, ..PauseDetector::default() }
    }

    /// Begins a wait of at most `wait_ns`. Returns how long to wait.
    pub(crate) fn begin_wait(&mut self, now_ns: u64, wait_ns: Option<u64>) -> Option<u64> {
        if !self.is_on {
            return wait_ns;
        }
        let wait_ns = wait_ns.unwrap_or(WAIT_NS_MAX).min(WAIT_NS_MAX);
        (self.began_ns, self.due_ns) = (now_ns, now_ns + wait_ns);
        // The first wait is behind no turn.
        if self.turn_ns == 0 {
            self.turn_ns = now_ns;
        }
        Some(wait_ns)
    }

    /// Begins a turn; `has_more` if the last one left something unread, which waited as long as what it read.
    /// `queued_ns` reads how long the worker has waited for a CPU in all.
    pub(crate) fn begin_turn(&mut self, now_ns: u64, has_more: bool, queued_ns: impl Fn() -> u64) {
        if !self.is_on {
            return;
        }
        let last_ns = std::mem::replace(&mut self.turn_ns, now_ns);
        if has_more {
            // There was something to find at once: the whole wait was a pause.
            self.add(self.began_ns, now_ns, &queued_ns);
            return;
        }
        let has_found = now_ns.saturating_sub(self.began_ns) < LATE_NS_MIN;
        let pause_ns = std::mem::take(&mut self.pause_ns);
        (self.late_ns, self.starved_ns) = if has_found { pause_ns } else { (0, 0) };
        if has_found || now_ns >= self.due_ns + LATE_NS_MIN {
            // A late end hides whether it had found something at once. What was waited is nobody's lateness.
            let waited_ns = if has_found { 0 } else { self.due_ns.saturating_sub(self.began_ns) };
            self.add(last_ns + waited_ns, now_ns, &queued_ns);
        }
        if !has_found {
            let paused_ns = now_ns.saturating_sub(self.due_ns).min(self.late_ns);
            self.pause_ns = (paused_ns, self.starved_ns.min(paused_ns));
        }
        if now_ns.saturating_sub(self.read_ns) > READING_NS_MAX {
            (self.read_ns, self.queued_ns) = (now_ns, queued_ns());
        }
    }

    /// Adds the time since `since_ns`, in which the worker read nothing.
    pub(crate) fn add(&mut self, since_ns: u64, now_ns: u64, queued_ns: impl Fn() -> u64) {
        let late_ns = now_ns.saturating_sub(since_ns);
        if !self.is_on || late_ns < LATE_NS_MIN {
            return;
        }
        let queued_ns = queued_ns();
        self.late_ns += late_ns;
        self.starved_ns += queued_ns.saturating_sub(self.queued_ns).min(late_ns);
        (self.read_ns, self.queued_ns) = (now_ns, queued_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn turns_are_late_by_their_wait() {
        let mut pauses = PauseDetector::new(true);
        let mut turn = |began: u64, wait: Option<u64>, woken: u64, queued: u64| {
            let wait_ns = pauses.begin_wait(began * MS, wait.map(|ms| ms * MS));
            pauses.begin_turn(woken * MS, false, || queued * MS);
            (wait_ns, pauses.late_ns / MS, pauses.starved_ns / MS)
        };
        assert_eq!(turn(100, None, 103, 40), (Some(5 * MS), 0, 0));
        assert_eq!(turn(103, Some(2 * MS), 105, 40), (Some(5 * MS), 0, 0));
        assert_eq!(turn(105, Some(2), 507, 40), (Some(2 * MS), 400, 0), "stopped");
        assert_eq!(turn(507, None, 912, 430), (Some(5 * MS), 400, 390), "without a CPU");
        assert_eq!(turn(940, None, 940, 430), (Some(5 * MS), 428, 390), "and busy since");
        assert_eq!(turn(968, None, 970, 430), (Some(5 * MS), 0, 0), "what came since then");
    }

    #[test]
    fn unread_events_are_as_late() {
        let mut pauses = PauseDetector::new(true);
        let mut turn = |began: u64, woken: u64, has_more| {
            pauses.begin_wait(began * MS, Some(2 * MS));
            pauses.begin_turn(woken * MS, has_more, || 0);
            pauses.late_ns / MS
        };
        assert_eq!([turn(100, 502, false), turn(510, 510, true), turn(520, 521, false)], [400, 400, 0]);
        assert_eq!([turn(530, 530, true), turn(540, 630, true)], [0, 90], "paused as it looked for others");
    }

    #[test]
    fn absences_in_a_turn_add_up() {
        let mut pauses = PauseDetector::new(true);
        pauses.begin_wait(100 * MS, None);
        pauses.begin_turn(110 * MS, false, || 0);
        pauses.add(110 * MS, 113 * MS, || 2 * MS);
        pauses.add(113 * MS, 113 * MS + 1, || panic!("that is on time"));
        assert_eq!((pauses.late_ns, pauses.starved_ns), (8 * MS, 2 * MS));
        let mut idle = PauseDetector::new(false);
        assert_eq!(idle.begin_wait(0, None), None);
        idle.begin_turn(500 * MS, false, || panic!("nothing is watched"));
        assert_eq!(idle.late_ns, 0);
    }
}
