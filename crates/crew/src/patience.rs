//! How far time has come, as workers tell it.
//!
//! What a worker has not reported yet may have happened: of the time since, nobody can say that it was quiet. So a drain goes
//! by the time until which all have reported, and by the coordinator's own clock only when a worker has said nothing
//! for [`SILENCE_NS_MAX`]. That counts what the coordinator has spent listening: a coordinator that had no CPU, or was
//! stopped, has not heard what waits for it.

use std::collections::{BTreeSet, HashMap};

/// A worker that says nothing for so long is stuck.
pub(crate) const SILENCE_NS_MAX: u64 = 10_000_000_000;
/// Of the time between two looks, so much was spent listening at the most.
const LISTENED_NS_MAX: u64 = 50_000_000;
/// How often it is looked whether anybody is stuck.
const CHECK_INTERVAL_NS: u64 = 500_000_000;

/// The clock of a drain.
#[derive(Debug)]
pub(crate) struct Patience {
    looked_ns: u64,
    heard_ns: Option<u64>,
    silent_ns: u64,
}

impl Patience {
    /// Listening begins now.
    pub(crate) fn new(now_ns: u64) -> Self {
        Self { looked_ns: now_ns, heard_ns: None, silent_ns: 0 }
    }

    /// What time it is where all workers have reported until `heard_ns`.
    pub(crate) fn time_ns(&mut self, heard_ns: Option<u64>, now_ns: u64) -> u64 {
        self.silent_ns += now_ns.saturating_sub(self.looked_ns).min(LISTENED_NS_MAX);
        self.looked_ns = now_ns;
        if heard_ns != self.heard_ns {
            (self.heard_ns, self.silent_ns) = (heard_ns, 0);
        }
        match heard_ns {
            Some(heard_ns) if self.silent_ns < SILENCE_NS_MAX => heard_ns.min(now_ns),
            _ => now_ns,
        }
    }
}

/// Who is stuck: a worker that is to report and has not for [`SILENCE_NS_MAX`] of listening. Workers that stand say
/// something every second, whatever they are at.
#[derive(Debug, Default)]
pub(crate) struct Silence {
    looked_ns: u64,
    listened_ns: u64,
    /// Of the time listened, when everybody was looked at last.
    checked_ns: u64,
    /// The same, when each was heard last.
    heard_ns: HashMap<u16, u64>,
}

impl Silence {
    /// Listening begins now.
    pub(crate) fn new(now_ns: u64) -> Self {
        Self { looked_ns: now_ns, ..Self::default() }
    }

    /// This one has said something.
    pub(crate) fn handle_report(&mut self, worker: u16) {
        self.heard_ns.insert(worker, self.listened_ns);
    }

    /// One of these that is stuck.
    pub(crate) fn poll_stuck(&mut self, workers: &BTreeSet<u16>, now_ns: u64) -> Option<u16> {
        self.listened_ns += now_ns.saturating_sub(self.looked_ns).min(LISTENED_NS_MAX);
        self.looked_ns = now_ns;
        if self.listened_ns < self.checked_ns + CHECK_INTERVAL_NS {
            return None;
        }
        self.checked_ns = self.listened_ns;
        let heard_ns = |worker: &u16| self.heard_ns.get(worker).copied().unwrap_or(0);
        workers.iter().copied().find(|worker| self.listened_ns >= heard_ns(worker) + SILENCE_NS_MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;

    #[test]
    fn time_is_what_all_have_told() {
        let mut patience = Patience::new(0);
        assert_eq!(patience.time_ns(Some(S), S + 5), S);
        assert_eq!(patience.time_ns(Some(3 * S), 2 * S), 2 * S, "a clock ahead");
    }

    #[test]
    fn a_coordinator_that_was_stopped_has_not_heard_silence() {
        let mut patience = Patience::new(0);
        assert_eq!(patience.time_ns(Some(S), S), S);
        assert_eq!(patience.time_ns(Some(S), 100 * S), S, "stopped for 99 s");
    }

    #[test]
    fn nobody_waits_for_a_worker_that_says_nothing() {
        let mut patience = Patience::new(0);
        let looks = (0..).map(|k| k * LISTENED_NS_MAX);
        let own_ns = looks.take(1_000).find(|&now_ns| patience.time_ns(Some(1), now_ns) > 1);
        assert_eq!(own_ns, Some(SILENCE_NS_MAX));
    }

    #[test]
    fn the_one_that_says_nothing_is_stuck() {
        let workers = BTreeSet::from([0, 1, 2]);
        let mut silence = Silence::new(0);
        let looks = (0..).map(|k| k * LISTENED_NS_MAX);
        let stuck = looks.take(1_000).find_map(|now_ns| {
            silence.handle_report(0);
            silence.handle_report(2);
            silence.poll_stuck(&workers, now_ns).map(|worker| (worker, now_ns))
        });
        assert_eq!(stuck, Some((1, SILENCE_NS_MAX)));
    }

    #[test]
    fn nobody_is_stuck_while_the_coordinator_does_not_listen() {
        let mut silence = Silence::new(0);
        assert_eq!(silence.poll_stuck(&BTreeSet::from([0]), 100 * S), None, "stopped for 100 s");
    }
}
