//! Why nothing was heard of an agent: it may be silent, but so is everybody while NATS is away, and to a coordinator that
//! itself stood still.

/// A tick that is so late had a machine that slept, or a process that was stopped; and NATS may be away for so long.
const LONG_NS: u64 = 1_500_000_000;
/// For so long, what is silent may be so because of it: two leases of 3 s.
const BLAMED_NS: u64 = 6_000_000_000;

/// What kept the coordinator from hearing anything, lately.
#[derive(Debug)]
pub(super) struct Stillness {
    ticked_ns: u64,
    /// When NATS was first seen to be away, if it is.
    away_ns: Option<u64>,
    /// The latest that was over, when that was, and how long it took.
    past: Option<(&'static str, u64, u64)>,
}

impl Stillness {
    pub(super) fn new(now_ns: u64) -> Self {
        Self { ticked_ns: now_ns, away_ns: None, past: None }
    }

    /// The coordinator looks around; `is_connected`: to NATS.
    pub(super) fn handle_tick(&mut self, is_connected: bool, now_ns: u64) {
        let apart_ns = now_ns.saturating_sub(self.ticked_ns);
        if apart_ns >= LONG_NS {
            self.past = Some(("the coordinator stood still", now_ns, apart_ns));
        }
        if !is_connected {
            self.away_ns.get_or_insert(self.ticked_ns);
        } else if let Some(away_ns) = self.away_ns.take() {
            self.past = Some(("NATS was out of reach", now_ns, now_ns.saturating_sub(away_ns)));
        }
        self.ticked_ns = now_ns;
    }

    /// Why an agent has not been heard, where that is not its own doing. `others`: how many other agents there are, and how many of
    /// them are as silent.
    pub(super) fn excuse(&self, others: (usize, usize), now_ns: u64) -> Option<String> {
        if let Some(away_ns) = self.away_ns {
            return Some(told("NATS is out of reach", now_ns.saturating_sub(away_ns)));
        }
        let is_to_blame = |&(_, over_ns, took_ns): &(_, u64, u64)| {
            took_ns >= LONG_NS && now_ns.saturating_sub(over_ns) <= BLAMED_NS
        };
        if let Some((what, _, took_ns)) = self.past.filter(is_to_blame) {
            return Some(told(what, took_ns));
        }
        (others.0 > 0 && others.0 == others.1)
            .then(|| "nothing came over NATS for 3 s, from any agent".into())
    }
}

fn told(what: &str, ns: u64) -> String {
    format!("{what} for {:.1} s", ns as f64 / 1e9)
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;

    fn ticking(until_ns: u64, is_connected: impl Fn(u64) -> bool) -> Stillness {
        let mut stillness = Stillness::new(0);
        for at_ns in (0..=until_ns).step_by(20_000_000) {
            stillness.handle_tick(is_connected(at_ns), at_ns);
        }
        stillness
    }

    #[test]
    fn a_silent_agent_has_no_excuse() {
        assert_eq!(ticking(9 * S, |_| true).excuse((2, 0), 9 * S), None);
        assert_eq!(ticking(9 * S, |_| true).excuse((0, 0), 9 * S), None, "nobody to compare it with");
        assert_eq!(
            ticking(9 * S, |at_ns| !(S..2 * S).contains(&at_ns)).excuse((2, 1), 9 * S),
            None,
            "NATS was back soon"
        );
    }

    #[test]
    fn nats_that_was_away_excuses_everybody() {
        let away = |at_ns: u64| !(2 * S..8 * S).contains(&at_ns);
        let during = ticking(6 * S, away).excuse((1, 1), 6 * S);
        assert_eq!(during.as_deref(), Some("NATS is out of reach for 4.0 s"));
        let after = ticking(9 * S, away).excuse((1, 0), 9 * S);
        assert_eq!(after.as_deref(), Some("NATS was out of reach for 6.0 s"));
        assert_eq!(ticking(20 * S, away).excuse((1, 0), 20 * S), None, "long ago");
        let stuck = ticking(9 * S, |_| true).excuse((2, 2), 9 * S);
        assert_eq!(stuck.as_deref(), Some("nothing came over NATS for 3 s, from any agent"));
    }

    #[test]
    fn a_coordinator_that_stood_still_blames_nobody() {
        let mut stopped = ticking(2 * S, |_| true);
        stopped.handle_tick(true, 12 * S);
        assert_eq!(stopped.excuse((1, 0), 13 * S).as_deref(), Some("the coordinator stood still for 10.0 s"));
    }
}
