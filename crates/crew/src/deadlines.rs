//! How far time has come, as workers tell it.
//!
//! An event that a worker has not reported yet may have happened: it is not known whether the time since then
//! was quiet. So a drain goes by the time until which all have reported, and by the coordinator's own clock
//! only when a worker has said nothing for [`SILENCE_NS_MAX`], or is so far behind. That counts what the
//! coordinator has spent listening: a coordinator that had no CPU, or was stopped, has not heard what waits
//! for it.
//!
//! A worker that reports no progress and does not finish a phase is no better than a silent one: a
//! [`PhaseDeadline`] says for how long it may.

use std::collections::HashMap;

use load::{Connecting, Draining, Load};

/// The silence after which a worker is stuck.
pub(crate) const SILENCE_NS_MAX: u64 = 10_000_000_000;
/// The time after which a worker that reports no progress is stuck: longer, so that silence is noticed first.
const IDLENESS_NS_MAX: u64 = 15_000_000_000;
/// How often a client without an answer tries (`engine`'s `TRIES_MAX`) without reporting it, and one more for
/// the wait for its turn.
const TRIES_MAX: u64 = 6;
/// A closed loop whose clients have all lost their connection waits for them: the longest back-off is Action
/// Cable's.
const ABSENCE_NS_MAX: u64 = 60_000_000_000;
const NS_PER_S: f64 = 1e9;
/// The most of the time between two checks that counts as listening.
const LISTENED_NS_MAX: u64 = 50_000_000;
/// How often workers are checked for being stuck.
const CHECK_INTERVAL_NS: u64 = 500_000_000;

/// The clock of a drain.
#[derive(Debug)]
pub(crate) struct DrainClock {
    looked_ns: u64,
    /// The coordinator's clock, which stands still while it does not listen.
    listened_ns: u64,
    heard_ns: Option<u64>,
    silent_ns: u64,
}

impl DrainClock {
    /// Begins to listen now.
    pub(crate) fn new(now_ns: u64) -> Self {
        Self { looked_ns: now_ns, listened_ns: now_ns, heard_ns: None, silent_ns: 0 }
    }

    /// The drain's time where all workers have reported until `heard_ns`.
    pub(crate) fn time_ns(&mut self, heard_ns: Option<u64>, now_ns: u64) -> u64 {
        // A longer time between two checks was spent without a CPU, or stopped, and no worker was heard in
        // it.
        let listened_ns = now_ns.saturating_sub(self.looked_ns).min(LISTENED_NS_MAX);
        self.silent_ns += listened_ns;
        self.listened_ns += listened_ns;
        self.looked_ns = now_ns;
        // Any progress of the slowest worker ends the silence.
        if heard_ns != self.heard_ns {
            (self.heard_ns, self.silent_ns) = (heard_ns, 0);
        }
        match heard_ns {
            // Never ahead of what all have reported, nor further behind the time spent listening than a
            // worker may be silent.
            Some(heard_ns) if self.silent_ns < SILENCE_NS_MAX => {
                heard_ns.max(self.listened_ns.saturating_sub(SILENCE_NS_MAX)).min(now_ns)
            }
            _ => now_ns,
        }
    }
}

/// How long a phase may go on at a worker that reports no progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PhaseDeadline {
    /// The moment before which there may be nothing to do.
    pub(crate) from_ns: u64,
    /// The time of listening after it within which something happens, or the phase is over.
    pub(crate) idle_ns_max: u64,
}

impl PhaseDeadline {
    /// The deadline of a phase that is done at once.
    pub(crate) fn at_once() -> Self {
        Self { from_ns: 0, idle_ns_max: IDLENESS_NS_MAX }
    }

    /// The deadline of growing: `workers` workers connect their clients, at the pace asked for, and each
    /// client may take its time.
    pub(crate) fn growing(connecting: &Connecting, workers: usize) -> Self {
        // With workers in turn, one of them may connect the next client only after all others have connected
        // theirs.
        let turn_ns = connecting.rate_per_s.map_or(0.0, |rate| NS_PER_S * workers as f64 / rate) as u64;
        let attempt_ns = connecting.timeout_ns.saturating_mul(TRIES_MAX);
        let idle_ns_max = IDLENESS_NS_MAX.saturating_add(turn_ns).saturating_add(attempt_ns);
        Self { from_ns: 0, idle_ns_max }
    }

    /// The deadline of loading: workers send from `go_ns` on, until a known moment, or until all is answered
    /// or given up.
    pub(crate) fn loading(load: &Load, draining: Draining, go_ns: u64) -> Self {
        match load.duration_ns() {
            Some(duration_ns) => Self { from_ns: go_ns.saturating_add(duration_ns), ..Self::at_once() },
            None => {
                let answer_ns = draining.timeout_ns.saturating_add(ABSENCE_NS_MAX);
                Self { from_ns: go_ns, idle_ns_max: IDLENESS_NS_MAX.saturating_add(answer_ns) }
            }
        }
    }
}

/// Detects stuck workers: workers that are to report and have not for some time of listening. Workers report
/// every second, whatever they do.
#[derive(Debug, Default)]
pub(crate) struct StuckWorkers {
    looked_ns: u64,
    listened_ns: u64,
    /// When all workers were last checked, in time listened.
    checked_ns: u64,
    /// When each worker was heard last, in time listened.
    heard_ns: HashMap<u16, u64>,
}

impl StuckWorkers {
    /// Begins to listen now.
    pub(crate) fn new(now_ns: u64) -> Self {
        Self { looked_ns: now_ns, ..Self::default() }
    }

    /// Notes that a worker has reported.
    pub(crate) fn handle_report(&mut self, worker: u16) {
        self.heard_ns.insert(worker, self.listened_ns);
    }

    /// One of these workers that has been stuck for longer than the limit.
    pub(crate) fn poll_stuck(
        &mut self,
        workers: impl IntoIterator<Item = u16>,
        silence_ns_max: u64,
        now_ns: u64,
    ) -> Option<u16> {
        self.listened_ns += now_ns.saturating_sub(self.looked_ns).min(LISTENED_NS_MAX);
        self.looked_ns = now_ns;
        if self.listened_ns < self.checked_ns + CHECK_INTERVAL_NS {
            return None;
        }
        self.checked_ns = self.listened_ns;
        let heard_ns = |worker: &u16| self.heard_ns.get(worker).copied().unwrap_or(0);
        workers.into_iter().find(|worker| self.listened_ns - heard_ns(worker) >= silence_ns_max)
    }
}

#[cfg(test)]
mod tests {
    use load::Until;

    use super::*;

    const S: u64 = 1_000_000_000;

    #[test]
    fn time_is_what_all_have_told() {
        let mut clock = DrainClock::new(0);
        assert_eq!(clock.time_ns(Some(S), S + 5), S);
        assert_eq!(clock.time_ns(Some(3 * S), 2 * S), 2 * S, "a clock ahead");
    }

    #[test]
    fn suspended_coordinators_have_heard_no_silence() {
        let mut clock = DrainClock::new(0);
        assert_eq!(clock.time_ns(Some(S), S), S);
        assert_eq!(clock.time_ns(Some(S), 100 * S), S, "stopped for 99 s");
    }

    #[test]
    fn nobody_waits_for_a_worker_that_says_nothing() {
        let mut clock = DrainClock::new(0);
        let looks = (0..).map(|k| k * LISTENED_NS_MAX);
        let own_ns = looks.take(1_000).find(|&now_ns| clock.time_ns(Some(1), now_ns) > 1);
        assert_eq!(own_ns, Some(SILENCE_NS_MAX));
    }

    #[test]
    fn the_one_that_says_nothing_is_stuck() {
        let mut stuck = StuckWorkers::new(0);
        let looks = (0..).map(|k| k * LISTENED_NS_MAX);
        let stuck = looks.take(1_000).find_map(|now_ns| {
            stuck.handle_report(0);
            stuck.handle_report(2);
            stuck.poll_stuck(0..3, SILENCE_NS_MAX, now_ns).map(|worker| (worker, now_ns))
        });
        assert_eq!(stuck, Some((1, SILENCE_NS_MAX)));
    }

    #[test]
    fn suspended_coordinators_find_nobody_stuck() {
        let mut stuck = StuckWorkers::new(0);
        assert_eq!(stuck.poll_stuck([0], SILENCE_NS_MAX, 100 * S), None, "stopped for 100 s");
    }

    #[test]
    fn workers_far_behind_are_not_awaited() {
        let mut clock = DrainClock::new(100 * S);
        let looks = (1..2_000).map(|k| (k, 100 * S + k * LISTENED_NS_MAX));
        // Each report is a nanosecond later than the one before.
        let seen_ns = looks.map(|(k, now_ns)| (now_ns, clock.time_ns(Some(50 * S + k), now_ns)));
        let (now_ns, seen_ns) = seen_ns.last().unwrap();
        assert_eq!(seen_ns, now_ns - SILENCE_NS_MAX);
    }

    #[test]
    fn phases_end_when_nothing_can_come() {
        let draining = Draining { quiet_ns: None, timeout_ns: 30 * S };
        let closed = |until| Load::Closed { concurrency: 1, per_client: 1, until };
        let deadline = |load: Load| {
            let PhaseDeadline { from_ns, idle_ns_max } = PhaseDeadline::loading(&load, draining, 7 * S);
            (from_ns / S, idle_ns_max / S)
        };
        assert_eq!(deadline(Load::Hold { duration_ns: 5 * S }), (12, 15));
        assert_eq!(deadline(closed(Until::Elapsed { duration_ns: 5 * S })), (12, 15));
        assert_eq!(deadline(closed(Until::Samples(9))), (7, 105));
        let connecting = Connecting {
            timeout_ns: 2 * S,
            rate_per_s: Some(0.5),
            parallel: 1,
            local_addrs: Vec::new(),
            streams: 1,
        };
        assert_eq!(PhaseDeadline::growing(&connecting, 3).idle_ns_max / S, 15 + 6 + 12);
    }
}
