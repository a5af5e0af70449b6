//! Treatment of message `k`: pure functions of the faults and the number.

use fastrand::Rng;

use super::spec::{CloseMethod, Faults, MessageSelector, Selector, Time, Wave};

/// The factor that spreads neighbouring numbers over the seeds (2^64 divided by the golden ratio).
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// The bit that separates the random choices for clients from those for messages, so that client 7 and
/// message 7 are independent.
const SALT_CLIENTS: u64 = 1 << 62;
const SALT_ARRIVALS: u64 = 1 << 63;
const SALT_REPLAYS: u64 = 3 << 62;
const SALT_DEPARTURES: u64 = 1 << 61;

/// The outcome of one message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct MessageOutcome {
    pub(super) drop: bool,
    pub(super) duplicate: bool,
    pub(super) reorder: bool,
    pub(super) corrupt: bool,
    pub(super) stray: bool,
    pub(super) leak: bool,
    pub(super) delay_ns: u64,
}

impl Faults {
    /// The outcome of message `k` of all, which is number `own` of its client.
    pub(super) fn outcome(&self, k: u64, own: u64) -> MessageOutcome {
        // Its own generator for each message, so that it does not matter which thread sends it.
        let mut rng = self.rng(k);
        let holds = |which: Option<MessageSelector>, rng: &mut Rng| {
            which.is_some_and(|which| which.selector.holds(if which.of_each_client { own } else { k }, rng))
        };
        MessageOutcome {
            drop: holds(self.drop, &mut rng),
            duplicate: holds(self.duplicate, &mut rng),
            reorder: holds(self.reorder, &mut rng),
            corrupt: holds(self.corrupt, &mut rng),
            stray: holds(self.stray, &mut rng),
            leak: holds(self.leak, &mut rng),
            delay_ns: self
                .delays
                .iter()
                .map(|delay| if holds(Some(delay.which), &mut rng) { delay.time.draw(&mut rng) } else { 0 })
                .sum(),
        }
    }

    /// The way in which the connection of `client` ends in place of its message number `own`, if it ends
    /// there.
    pub(super) fn ending(&self, client: u64, own: u64) -> Option<CloseMethod> {
        let mut rng = self.rng(SALT_CLIENTS ^ client);
        // Every ending draws, so that one does not change the others.
        let ends =
            self.endings.iter().filter(|ending| ending.who.holds(client, &mut rng) && ending.at == own);
        ends.last().map(|ending| ending.how)
    }

    /// The outcome of message `k` among the messages that are sent again to clients that come back.
    pub fn replay_fault(&self, k: u64) -> wire::ReplayFault {
        let mut rng = self.rng(SALT_REPLAYS ^ k);
        let mut holds = |which: Option<Selector>| which.is_some_and(|which| which.holds(k, &mut rng));
        wire::ReplayFault { forget: holds(self.forget), again: holds(self.again), swap: holds(self.swap) }
    }

    /// Returns whether any fault applies to messages that are sent again.
    pub fn are_of_replays(&self) -> bool {
        self.forget.or(self.again).or(self.swap).is_some()
    }

    /// Returns whether departure `k` from a room is confirmed, but not carried out.
    pub(super) fn lingers(&self, k: u64) -> bool {
        self.linger.is_some_and(|which| which.holds(k, &mut self.rng(SALT_DEPARTURES ^ k)))
    }

    /// Returns whether the connection accepted as number `arrival` is reset at once.
    pub(super) fn refuses(&self, arrival: u64) -> bool {
        self.refuse.is_some_and(|who| who.holds(arrival, &mut self.rng(SALT_ARRIVALS ^ arrival)))
    }

    /// How long the connection accepted as number `arrival` waits.
    pub(super) fn accept_delay_ns(&self, arrival: u64) -> u64 {
        let slow = |rng: &mut Rng| self.accept.filter(|slow| slow.who.holds(arrival, rng));
        // Other bits than for refusing, or the same connections would be chosen for both.
        slow(&mut self.rng(!(SALT_ARRIVALS ^ arrival))).map_or(0, |slow| slow.delay_ns)
    }

    fn rng(&self, number: u64) -> Rng {
        Rng::with_seed(self.seed.wrapping_add(number).wrapping_mul(SPREAD))
    }
}

impl Selector {
    fn holds(self, number: u64, rng: &mut Rng) -> bool {
        match self {
            Selector::All => true,
            Selector::One(one) => number == one,
            Selector::Residue { residue, modulus } => number % modulus == residue,
            Selector::Share(share) => rng.f64() < share,
        }
    }
}

impl Time {
    fn draw(self, rng: &mut Rng) -> u64 {
        match self {
            Time::Fixed(ns) => ns,
            Time::Uniform(from_ns, to_ns) => rng.u64(from_ns..=to_ns),
            // A draw may be 0, but never 1: so there is no logarithm of 0.
            Time::Exponential(mean_ns) => (-(1.0 - rng.f64()).ln() * mean_ns as f64) as u64,
        }
    }
}

impl Wave {
    /// The time when the state that holds at `elapsed_ns` ends; `None` if it does not hold then.
    pub(super) fn end_ns(self, elapsed_ns: u64) -> Option<u64> {
        let into_ns = elapsed_ns % self.period_ns;
        (into_ns >= self.period_ns - self.length_ns).then_some(elapsed_ns - into_ns + self.period_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::faults::{Delay, Ending};

    fn all(selector: Selector) -> Option<MessageSelector> {
        Some(MessageSelector { selector, of_each_client: false })
    }

    fn count(of: u64, holds: impl Fn(u64) -> bool) -> usize {
        (0..of).filter(|&k| holds(k)).count()
    }

    #[test]
    fn residues_are_exact_and_shares_repeatable() {
        let residue = Selector::Residue { residue: 99, modulus: 100 };
        let faults = Faults { drop: all(residue), corrupt: all(Selector::Share(0.01)), ..Faults::default() };
        assert_eq!(count(20_000, |k| faults.outcome(k, 0).drop), 200);
        let corrupt = |faults: &Faults| count(100_000, |k| faults.outcome(k, 0).corrupt);
        assert!((900..1_100).contains(&corrupt(&faults)), "{}", corrupt(&faults));
        let other = Faults { seed: 1, ..faults.clone() };
        let differ = count(100_000, |k| faults.outcome(k, 0).corrupt != other.outcome(k, 0).corrupt);
        assert!(differ > 1_000, "another seed, another choice: {differ}");
        assert_eq!(faults.outcome(5, 0), faults.clone().outcome(5, 0));
    }

    #[test]
    fn numbers_count_all_or_each_clients_messages() {
        let selector = Selector::One(3);
        let faults = Faults { drop: all(selector), ..Faults::default() };
        assert!(faults.outcome(3, 0).drop && !faults.outcome(0, 3).drop);
        let faults =
            Faults { drop: Some(MessageSelector { selector, of_each_client: true }), ..Faults::default() };
        assert!(faults.outcome(0, 3).drop && !faults.outcome(3, 0).drop);
    }

    #[test]
    fn delays_add_up_and_follow_their_distributions() {
        let which = MessageSelector { selector: Selector::All, of_each_client: false };
        let delay = |time| Delay { time, which };
        let of = |delays: Vec<Delay>| Faults { delays, ..Faults::default() };
        let sum = of(vec![delay(Time::Fixed(5)), delay(Time::Uniform(10, 20))]);
        assert!((0..1_000).all(|k| (15..=25).contains(&sum.outcome(k, 0).delay_ns)));
        let exponential = of(vec![delay(Time::Exponential(1_000))]);
        let mean = (0..100_000).map(|k| exponential.outcome(k, 0).delay_ns).sum::<u64>() / 100_000;
        assert!((980..1_020).contains(&mean), "{mean}");
    }

    #[test]
    fn a_connection_ends_at_its_own_message() {
        let ending = Ending { how: CloseMethod::Reset, who: Selector::One(7), at: 500 };
        let faults = Faults { endings: vec![ending], ..Faults::default() };
        assert_eq!(faults.ending(7, 500), Some(CloseMethod::Reset));
        assert_eq!(faults.ending(7, 499), None);
        assert_eq!(faults.ending(6, 500), None);
    }

    #[test]
    fn waves_hold_at_the_end_of_periods() {
        let wave = Wave { length_ns: 1, period_ns: 10 };
        for (at_ns, end_ns) in [(0, None), (8, None), (9, Some(10)), (10, None), (29, Some(30))] {
            assert_eq!(wave.end_ns(at_ns), end_ns, "at {at_ns}");
        }
    }
}
