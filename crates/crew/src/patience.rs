//! How far time has come, as workers tell it.
//!
//! What a worker has not reported yet may have happened: of the time since, nobody can say that it was quiet. So a drain goes
//! by the time until which all have reported, and by the coordinator's own clock only when a worker has said nothing
//! for [`SILENCE_NS_MAX`]. That counts what the coordinator has spent listening: a coordinator that had no CPU, or was
//! stopped, has not heard what waits for it.

/// A worker that says nothing for so long is stuck.
pub(crate) const SILENCE_NS_MAX: u64 = 10_000_000_000;
/// Of the time between two looks, so much was spent listening at the most.
const LISTENED_NS_MAX: u64 = 50_000_000;

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
}
