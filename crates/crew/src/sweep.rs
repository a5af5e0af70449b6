//! Clients × rates until overload: the walk of the SockJS and Socket.IO tests.
//!
//! Rules. At each level of clients the rate starts at `first_per_s` and doubles until a step fails. That rate
//! is asked once more: a moment that disturbed one step would otherwise bound the whole level. If it fails
//! again, the gap between the highest pass and the lowest failure is halved `refinements` times
//! (geometrically), and the next level begins. A level whose first rate fails has nothing to refine.

/// The state of a sweep.
#[derive(Clone, Debug, PartialEq)]
pub struct Sweep {
    levels: Vec<u32>,
    at: usize,
    first_per_s: f64,
    max_per_s: f64,
    refinements: u32,
    phase: Phase,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Phase {
    /// `good`: the rate before, which passed; `None` at the first. `has_failed`: the rate is asked once more.
    Doubling {
        good: Option<f64>,
        rate: f64,
        has_failed: bool,
    },
    Refining {
        good: f64,
        bad: f64,
        left: u32,
    },
}

impl Phase {
    fn doubling(good: Option<f64>, rate: f64) -> Phase {
        Phase::Doubling { good, rate, has_failed: false }
    }
}

impl Sweep {
    /// A sweep over `levels` of clients, from `first_per_s` messages per second, never above `max_per_s`.
    ///
    /// # Panics
    /// If the rates are not positive or out of order.
    pub fn new(levels: Vec<u32>, first_per_s: f64, max_per_s: f64, refinements: u32) -> Self {
        assert!(0.0 < first_per_s && first_per_s <= max_per_s, "0 < first rate <= highest rate");
        let phase = Phase::doubling(None, first_per_s);
        Self { levels, at: 0, first_per_s, max_per_s, refinements, phase }
    }

    /// Clients and rate of the next step.
    pub fn poll(&self) -> Option<(u32, f64)> {
        let clients = *self.levels.get(self.at)?;
        let rate = match self.phase {
            Phase::Doubling { rate, .. } => rate,
            // The middle on a scale of ratios, as the doubling before it.
            Phase::Refining { good, bad, .. } => (good * bad).sqrt(),
        };
        Some((clients, rate))
    }

    /// Takes the result of a step.
    pub fn handle(&mut self, passed: bool) {
        let Some((_, tried)) = self.poll() else { return };
        let next = match (self.phase, passed) {
            (Phase::Doubling { rate, .. }, true) if rate >= self.max_per_s => None,
            (Phase::Doubling { rate, .. }, true) => {
                Some(Phase::doubling(Some(rate), (2.0 * rate).min(self.max_per_s)))
            }
            (Phase::Doubling { good, rate, has_failed: false }, false) => {
                Some(Phase::Doubling { good, rate, has_failed: true })
            }
            (Phase::Doubling { good, rate, .. }, false) => {
                good.map(|good| Phase::Refining { good, bad: rate, left: self.refinements })
            }
            (Phase::Refining { bad, left, .. }, true) => {
                Some(Phase::Refining { good: tried, bad, left: left - 1 })
            }
            (Phase::Refining { good, left, .. }, false) => {
                Some(Phase::Refining { good, bad: tried, left: left - 1 })
            }
        };
        match next {
            // Also without refinements at all: the first failure then ends the level.
            Some(Phase::Refining { left: 0, .. }) | None => {
                self.at += 1;
                self.phase = Phase::doubling(None, self.first_per_s);
            }
            Some(phase) => self.phase = phase,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(mut sweep: Sweep, capacity: impl Fn(u32) -> f64) -> Vec<(u32, f64)> {
        let mut steps = Vec::new();
        while let Some((clients, rate)) = sweep.poll() {
            assert!(steps.len() < 100, "a sweep ends");
            steps.push((clients, rate.round()));
            sweep.handle(rate <= capacity(clients));
        }
        steps
    }

    #[test]
    fn doubles_then_refines_at_each_level() {
        let steps = run(Sweep::new(vec![25, 50], 100.0, 1e6, 2), |clients| 10_000.0 / f64::from(clients));
        let expected = [
            (25, 100.0),
            (25, 200.0),
            (25, 400.0),
            (25, 800.0),
            (25, 800.0),
            (25, 566.0),
            (25, 476.0),
            (50, 100.0),
            (50, 200.0),
            (50, 400.0),
            (50, 400.0),
            (50, 283.0),
            (50, 238.0),
        ];
        assert_eq!(steps, expected);
    }

    #[test]
    fn one_disturbed_step_bounds_no_level() {
        let mut sweep = Sweep::new(vec![1], 100.0, 400.0, 1);
        let mut rates = Vec::new();
        while let Some((_, rate)) = sweep.poll() {
            rates.push(rate);
            sweep.handle(rates.len() != 2);
        }
        assert_eq!(rates, [100.0, 200.0, 200.0, 400.0]);
    }

    #[test]
    fn a_level_beyond_the_server_is_one_rate() {
        let steps = run(Sweep::new(vec![9, 8], 100.0, 1e6, 3), |_| 1.0);
        assert_eq!(steps, [(9, 100.0), (9, 100.0), (8, 100.0), (8, 100.0)]);
    }

    #[test]
    fn the_highest_rate_ends_a_level() {
        assert_eq!(run(Sweep::new(vec![1], 100.0, 150.0, 3), |_| 1e9), [(1, 100.0), (1, 150.0)]);
    }

    #[test]
    fn gaps_begin_at_the_passed_rate() {
        let below = |first_per_s, max_per_s, capacity: f64| {
            let steps = run(Sweep::new(vec![1], first_per_s, max_per_s, 1), |_| capacity);
            steps.into_iter().map(|(_, rate)| rate).collect::<Vec<_>>()
        };
        assert_eq!(below(100.0, 1_000.0, 950.0), [100.0, 200.0, 400.0, 800.0, 1_000.0, 1_000.0, 894.0]);
        assert_eq!(below(100.0, 150.0, 100.0), [100.0, 150.0, 150.0, 122.0]);
    }

    #[test]
    fn no_refinement_is_none() {
        assert_eq!(run(Sweep::new(vec![1], 100.0, 1e6, 0), |_| 150.0), [(1, 100.0), (1, 200.0), (1, 200.0)]);
    }
}
