//! The search for a server's capacity: the number of clients at which the limits break.
//!
//! Rules (METHODOLOGY "Capacity"):
//! - Gallop: `start`, then increases that double from `step`, until a level fails or `max` passes. A failing
//!   start is bisected against 0.
//! - Bisect: halve the gap between the highest pass and the lowest fail until it is within `tolerance`, at
//!   multiples of `unit`.
//! - Repeat: measure both ends of the gap until each has `repeats` measurements. If most at the lower end
//!   fail, or most at the upper end pass, move that end outwards by the gap as it is by then, times 1, 2, 4
//!   …, at most [`MOVES_MAX`] times.
//! - Every measurement then counts in the estimate: the level at which half of the measurements pass.
//! - An interval that is too wide to be an answer, or that measurements outside it contradict, decides
//!   nothing.

mod estimate;

pub use estimate::{Capacity, Inconclusive, WIDTH_MAX};

use estimate::Level;

/// The number of times that the ends of the gap may be moved outwards.
pub const MOVES_MAX: u32 = 4;

/// The configuration of a search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SearchConfig {
    /// The first level, at least 1.
    pub start: u64,
    /// The first increase; it doubles for as long as levels pass.
    pub step: u64,
    /// The highest level to try.
    pub max: u64,
    /// The number of clients that levels are halved to multiples of, at least 1: those of a room, which would
    /// not be full otherwise.
    pub unit: u64,
    /// The largest gap between a passing and a failing level that ends the search, as a share of the failing
    /// level: 0.05.
    pub tolerance: f64,
    /// The number of measurements of the levels nearest to the limit: 1 trusts single measurements.
    pub repeats: u32,
}

/// The search's next request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Ask {
    /// The caller measures this many clients, and answers whether all limits held.
    Measure(u64),
    /// The search is over.
    Done(Capacity),
}

#[derive(Clone, Copy, Debug)]
enum Phase {
    Gallop { below: u64, level: u64, increase: u64 },
    Bisect { below: u64, above: u64 },
    Repeat { below: u64, above: u64, moves: u32 },
    Done(Capacity),
}

/// A search: the caller asks for the next level and answers with its outcome, in turn.
#[derive(Clone, Debug)]
pub struct Search {
    config: SearchConfig,
    phase: Phase,
    levels: Vec<Level>,
}

impl Search {
    /// Begins a search.
    ///
    /// # Panics
    /// If `start` is 0 or above `max`, `step` or `unit` is 0, or `tolerance` is not between 0 and 1.
    pub fn new(config: SearchConfig) -> Self {
        assert!(1 <= config.start && config.start <= config.max, "start must lie between 1 and max");
        assert!(config.step >= 1, "a step of 0 would not gallop");
        assert!(config.unit >= 1, "there are no multiples of 0");
        assert!((0.0..1.0).contains(&config.tolerance), "the tolerance is a share");
        let phase = Phase::Gallop { below: 0, level: config.start, increase: config.step };
        Search { config, phase, levels: Vec::new() }
    }

    /// The level to measure next, or the result.
    pub fn next(&self) -> Ask {
        match self.phase {
            Phase::Gallop { level, .. } => Ask::Measure(level),
            Phase::Bisect { below, above } => {
                Ask::Measure(self.between(below, above).expect("a gap without a level is not bisected"))
            }
            Phase::Repeat { below, above, .. } => Ask::Measure(self.lacking(below, above).unwrap_or(above)),
            Phase::Done(capacity) => Ask::Done(capacity),
        }
    }

    /// Takes the answer to the last [`Ask::Measure`].
    ///
    /// # Panics
    /// If that level was not asked for.
    pub fn handle(&mut self, clients: u64, passed: bool) {
        assert_eq!(self.next(), Ask::Measure(clients), "only the level asked for can be answered");
        self.count(clients, passed);
        self.phase = match (self.phase, passed) {
            (Phase::Gallop { level, .. }, true) if level == self.config.max => {
                Phase::Done(self.at_least_max())
            }
            (Phase::Gallop { level, increase, .. }, true) => Phase::Gallop {
                below: level,
                level: level.saturating_add(increase).min(self.config.max),
                increase: increase.saturating_mul(2),
            },
            (Phase::Gallop { below, level, .. }, false) => self.narrow(below, level),
            (Phase::Bisect { above, .. }, true) => self.narrow(clients, above),
            (Phase::Bisect { below, .. }, false) => self.narrow(below, clients),
            (Phase::Repeat { below, above, moves }, _) => self.repeat(below, above, moves),
            (Phase::Done(_), _) => unreachable!("a finished search asks for no level"),
        };
    }

    fn count(&mut self, clients: u64, passed: bool) {
        let at = match self.levels.binary_search_by_key(&clients, |level| level.clients) {
            Ok(at) => at,
            Err(at) => {
                self.levels.insert(at, Level { clients, passed: 0, failed: 0 });
                at
            }
        };
        let level = &mut self.levels[at];
        *if passed { &mut level.passed } else { &mut level.failed } += 1;
    }

    fn level(&self, clients: u64) -> Option<&Level> {
        self.levels.iter().find(|level| level.clients == clients)
    }

    fn narrow(&self, below: u64, above: u64) -> Phase {
        let is_wide = (above - below) as f64 > self.config.tolerance * above as f64;
        // A gap of one client or one room cannot be halved, whatever share of a small number it is.
        if is_wide && self.between(below, above).is_some() {
            Phase::Bisect { below, above }
        } else {
            self.repeat(below, above, 0)
        }
    }

    /// The multiple of the unit nearest to the middle of a gap, from below where there is one; `None` if the gap
    /// has none.
    fn between(&self, below: u64, above: u64) -> Option<u64> {
        let unit = self.config.unit;
        let lower = self.full(below + (above - below) / 2);
        let level = if lower > below { lower } else { lower + unit };
        (level < above).then_some(level)
    }

    /// The highest multiple of the unit up to there.
    fn full(&self, clients: u64) -> u64 {
        clients - clients % self.config.unit
    }

    /// Repeats until both ends have enough measurements and point the right way.
    fn repeat(&self, below: u64, above: u64, moves: u32) -> Phase {
        if self.lacking(below, above).is_some() {
            return Phase::Repeat { below, above, moves };
        }
        // The gap grows with each move, and is doubled besides: an end that is wrong by far is left in a few
        // steps.
        let gap = (above - below) << moves;
        let most = |clients, pass: fn(&Level) -> bool| self.level(clients).is_some_and(pass);
        let may_move = moves < MOVES_MAX;
        if most(above, |level| level.passed > level.failed) {
            if above == self.config.max {
                return Phase::Done(self.at_least_max());
            }
            if may_move {
                let above = above.saturating_add(gap).min(self.config.max);
                return self.repeat(below, above, moves + 1);
            }
        }
        if may_move && most(below, |level| level.failed > level.passed) {
            return self.repeat(self.full(below.saturating_sub(gap)), above, moves + 1);
        }
        Phase::Done(estimate::capacity(&self.levels, below, above, self.config.max))
    }

    /// The end with the fewest measurements, if it has too few. Nothing needs measuring at 0 clients.
    fn lacking(&self, below: u64, above: u64) -> Option<u64> {
        let measured = |clients| self.level(clients).map_or(0, |level| level.passed + level.failed);
        let least = if below == 0 || measured(above) <= measured(below) { above } else { below };
        (measured(least) < self.config.repeats.max(1)).then_some(least)
    }

    fn at_least_max(&self) -> Capacity {
        let max = self.config.max;
        Capacity {
            clients: max,
            low: max,
            high: max,
            confidence: crate::interval::CONFIDENCE,
            at_least: true,
            contradicted_by: None,
        }
        .contradicted(&self.levels)
    }
}

#[cfg(test)]
mod tests;
