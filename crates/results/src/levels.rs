//! A sweep of rates at several numbers of clients, level by level (METHODOLOGY "Overload").

use std::collections::BTreeMap;

use stats::knee::{Knee, knee};

use crate::limit::LimitOutcome;
use crate::step::Step;

/// Mean latency from which a server is "jamming", by the Socket.IO test of 2011 and the SockJS test after it.
pub const FATAL_MEAN_NS: f64 = 200e6;

/// The load that one number of clients could carry.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Level {
    /// Clients of the level.
    pub clients: u64,
    /// The highest rate asked that kept all limits, at one try at least, with none broken below it; messages
    /// per second.
    pub safe_per_s: Option<f64>,
    /// Deliveries per second at that rate.
    pub received_per_s: Option<f64>,
    /// The lowest rate that broke a limit at each try.
    pub overload_per_s: Option<f64>,
    /// The lowest rate whose mean latency was [`FATAL_MEAN_NS`] or more.
    pub fatal_per_s: Option<f64>,
    /// The rate where mean latency begins to grow faster than the rate.
    pub knee: Option<Knee>,
}

/// The levels of a sweep, by clients. Steps without a rate belong to none, and neither do those that were not
/// what was meant: because agents were lost, or the user ended them.
pub fn levels(steps: &[Step]) -> Vec<Level> {
    let mut by_clients: BTreeMap<u64, Vec<RatedStep<'_>>> = BTreeMap::new();
    for step in steps.iter().filter(|step| !step.is_short() && !step.was_interrupted()) {
        if let Some(rate) = step.rates.asked_per_s {
            by_clients.entry(step.clients).or_default().push(RatedStep { rate, step });
        }
    }
    by_clients.into_iter().map(|(clients, steps)| level(clients, steps)).collect()
}

/// A step with the rate that it asked for.
struct RatedStep<'a> {
    rate: f64,
    step: &'a Step,
}

impl RatedStep<'_> {
    fn mean_ns(&self) -> f64 {
        self.step.main_figure().mean_ns()
    }
}

fn level(clients: u64, mut steps: Vec<RatedStep<'_>>) -> Level {
    let has_passed = |rated: &&RatedStep<'_>| rated.step.has_passed();
    // Of a rate that was asked twice, the try that broke what no chance brings about, or else the one that passed.
    let rank = |rated: &RatedStep<'_>| {
        let is_proven = rated.step.broken().any(LimitOutcome::is_proof);
        (!is_proven, !rated.step.has_passed())
    };
    steps.sort_by(|a, b| a.rate.total_cmp(&b.rate).then(rank(a).cmp(&rank(b))));
    steps.dedup_by_key(|rated| rated.rate);
    let overload = steps.iter().find(|rated| !has_passed(rated));
    // Up to the first that broke: a higher rate that passed all the same is no safe one.
    let safe = steps.iter().take_while(has_passed).last();
    let fatal = steps.iter().find(|rated| rated.mean_ns() >= FATAL_MEAN_NS);
    let curve: Vec<(f64, f64)> = steps.iter().map(|rated| (rated.rate, rated.mean_ns())).collect();
    Level {
        clients,
        safe_per_s: safe.map(|rated| rated.rate),
        received_per_s: safe.and_then(|rated| rated.step.rates.received_per_s),
        overload_per_s: overload.map(|rated| rated.rate),
        fatal_per_s: fatal.map(|rated| rated.rate),
        knee: knee(&curve),
    }
}

/// The level at which most was delivered safely.
pub fn best(levels: &[Level]) -> Option<&Level> {
    let deliveries = |level: &Level| level.received_per_s.unwrap_or_default();
    levels
        .iter()
        .filter(|level| level.safe_per_s.is_some())
        .max_by(|a, b| deliveries(a).total_cmp(&deliveries(b)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limit::{LimitOutcome, LimitStatus};
    use crate::rates::Rates;

    fn step(clients: u64, rate: f64, mean_ms: u64, passed: bool) -> Step {
        let stop =
            LimitOutcome { status: LimitStatus::of(passed), ..LimitOutcome::of_text("rtt.mean<=1.5s") };
        let rates = Rates {
            asked_per_s: Some(rate),
            received_per_s: Some(rate * clients as f64),
            ..Rates::default()
        };
        let mut step = Step { clients, rates, stop: Some(stop), ..Step::default() };
        step.figures.rtt.record_ns(mean_ms * 1_000_000);
        step
    }

    #[test]
    fn each_level_has_its_own_limit() {
        let steps = [
            step(50, 10.0, 1, true),
            step(50, 40.0, 2_000, false),
            step(50, 20.0, 250, true),
            step(25, 10.0, 1, true),
        ];
        let levels = levels(&steps);
        assert_eq!(levels.len(), 2);
        assert_eq!(
            (levels[0].clients, levels[0].safe_per_s, levels[0].overload_per_s),
            (25, Some(10.0), None)
        );
        assert_eq!((levels[1].safe_per_s, levels[1].overload_per_s), (Some(20.0), Some(40.0)));
        assert_eq!((levels[1].received_per_s, levels[1].fatal_per_s), (Some(1000.0), Some(20.0)));
    }

    #[test]
    fn rates_that_break_standing_limits_are_not_safe() {
        let mut slow = step(1, 20.0, 1, true);
        slow.standing =
            vec![LimitOutcome { status: LimitStatus::Broken, ..LimitOutcome::of_text("rate>=99%") }];
        let level = levels(&[step(1, 10.0, 1, true), slow])[0];
        assert_eq!((level.safe_per_s, level.overload_per_s), (Some(10.0), Some(20.0)));
    }

    #[test]
    fn rates_are_overloads_at_each_try() {
        let tries = |passed| [step(1, 10.0, 1, true), step(1, 20.0, 300, false), step(1, 20.0, 1, passed)];
        let level = |passed| levels(&tries(passed))[0];
        assert_eq!((level(true).safe_per_s, level(true).overload_per_s), (Some(20.0), None));
        assert_eq!(level(true).fatal_per_s, None, "the other try was disturbed");
        assert_eq!((level(false).safe_per_s, level(false).overload_per_s), (Some(10.0), Some(20.0)));
    }

    #[test]
    fn a_rate_above_an_overload_is_not_safe() {
        let steps = [step(1, 10.0, 1, true), step(1, 20.0, 1, false), step(1, 40.0, 1, true)];
        assert_eq!(levels(&steps)[0].safe_per_s, Some(10.0));
    }
}
