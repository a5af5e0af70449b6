//! Causes of an agent's silence: it may be the agent's own, but all agents are silent while NATS is away, and
//! to a coordinator that itself stood still.

use std::fmt;

/// Half of the lease: a tick that comes this late, or NATS away for this long, leaves agents too little of it
/// to be heard in.
const LONG_NS: u64 = 1_500_000_000;
/// Two leases of 3 s: an agent that fell silent because of it has been given up by then.
const BLAMED_NS: u64 = 6_000_000_000;

/// Causes of an agent's silence that are not its own doing, with the nanoseconds, where they are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StallCause {
    NatsIsAway(u64),
    NatsWasAway(u64),
    StoodStill(u64),
    NobodyIsHeard,
}

impl fmt::Display for StallCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (what, ns) = match self {
            StallCause::NatsIsAway(ns) => ("NATS is out of reach", ns),
            StallCause::NatsWasAway(ns) => ("NATS was out of reach", ns),
            StallCause::StoodStill(ns) => ("the coordinator stood still", ns),
            StallCause::NobodyIsHeard => {
                return f.write_str("nothing came over NATS for 3 s, from any agent");
            }
        };
        write!(f, "{what} for {:.1} s", *ns as f64 / 1e9)
    }
}

/// Watches for what keeps the coordinator from hearing anything.
#[derive(Debug)]
pub(crate) struct StallDetector {
    ticked_ns: u64,
    /// When NATS was first seen to be away, if it is.
    away_ns: Option<u64>,
    /// The latest cause that is over, and since when.
    past: Option<(StallCause, u64)>,
}

/// The agents beside the one that is silent.
#[derive(Clone, Copy)]
pub(crate) struct OtherAgents {
    pub(crate) agents: usize,
    /// How many of them are as silent.
    pub(crate) silent: usize,
}

impl StallDetector {
    pub(crate) fn new(now_ns: u64) -> Self {
        Self { ticked_ns: now_ns, away_ns: None, past: None }
    }

    /// Notes that the coordinator is running; `is_connected` to NATS.
    pub(crate) fn handle_tick(&mut self, is_connected: bool, now_ns: u64) {
        let apart_ns = now_ns.saturating_sub(self.ticked_ns);
        if apart_ns >= LONG_NS {
            self.past = Some((StallCause::StoodStill(apart_ns), now_ns));
        }
        if !is_connected {
            // From the tick before: it went away at some moment since.
            self.away_ns.get_or_insert(self.ticked_ns);
        } else if let Some(took_ns) = self.away_ns.take().map(|away_ns| now_ns.saturating_sub(away_ns))
            && took_ns >= LONG_NS
        {
            self.past = Some((StallCause::NatsWasAway(took_ns), now_ns));
        }
        self.ticked_ns = now_ns;
    }

    /// Cause of an agent's silence, where that is not its own doing.
    pub(crate) fn excuse(&self, others: OtherAgents, now_ns: u64) -> Option<StallCause> {
        let is = self.away_ns.map(|away_ns| StallCause::NatsIsAway(now_ns.saturating_sub(away_ns)));
        let was = self.past.filter(|(_, over_ns)| now_ns.saturating_sub(*over_ns) <= BLAMED_NS);
        let nobody = others.agents > 0 && others.agents == others.silent;
        is.or(was.map(|(excuse, _)| excuse)).or(nobody.then_some(StallCause::NobodyIsHeard))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;
    const TICK_NS: u64 = 20_000_000;

    fn others(agents: usize, silent: usize) -> OtherAgents {
        OtherAgents { agents, silent }
    }

    fn ticking(until_ns: u64, is_connected: impl Fn(u64) -> bool) -> StallDetector {
        let mut stall = StallDetector::new(0);
        for at_ns in (0..=until_ns).step_by(TICK_NS as usize) {
            stall.handle_tick(is_connected(at_ns), at_ns);
        }
        stall
    }

    #[test]
    fn a_silent_agent_has_no_excuse() {
        assert_eq!(ticking(9 * S, |_| true).excuse(others(2, 0), 9 * S), None);
        assert_eq!(ticking(9 * S, |_| true).excuse(others(0, 0), 9 * S), None, "nobody to compare it with");
        assert_eq!(
            ticking(9 * S, |at_ns| !(S..2 * S).contains(&at_ns)).excuse(others(2, 1), 9 * S),
            None,
            "NATS was back soon"
        );
    }

    #[test]
    fn nats_that_was_away_excuses_everybody() {
        let away = |at_ns: u64| !(2 * S..8 * S).contains(&at_ns);
        let during = ticking(6 * S, away).excuse(others(1, 1), 6 * S);
        assert_eq!(during, Some(StallCause::NatsIsAway(4 * S + TICK_NS)));
        let after = ticking(9 * S, away).excuse(others(1, 0), 9 * S);
        assert_eq!(after, Some(StallCause::NatsWasAway(6 * S + TICK_NS)));
        assert_eq!(ticking(20 * S, away).excuse(others(1, 0), 20 * S), None, "long ago");
        let stuck = ticking(9 * S, |_| true).excuse(others(2, 2), 9 * S);
        assert_eq!(stuck, Some(StallCause::NobodyIsHeard));
    }

    #[test]
    fn a_coordinator_that_stood_still_blames_nobody() {
        let mut stopped = ticking(2 * S, |_| true);
        stopped.handle_tick(true, 12 * S);
        assert_eq!(stopped.excuse(others(1, 0), 13 * S), Some(StallCause::StoodStill(10 * S)));
    }
}
