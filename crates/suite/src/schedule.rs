//! The order of measurements: every target once in each round, in an order drawn anew each time, so that what drifts
//! on the machine favours no target.

use fastrand::Rng;
use wire::DialectId;

use crate::manifest::Target;
use crate::suite::Suite;

/// One measurement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cell {
    /// The scenario's name.
    pub scenario: String,
    /// The target's name.
    pub target: String,
    /// The dialect spoken, where there is one to choose.
    pub dialect: Option<DialectId>,
    /// The round, from 1.
    pub repeat: u32,
}

/// All measurements of a round in their order. `seed` makes it repeatable.
pub fn round(suite: &Suite, targets: &[&Target], repeat: u32, seed: u64) -> Vec<Cell> {
    // Each round from its number alone: one that goes on after an interruption has the order it would have
    // had.
    let mut random = Rng::with_seed(seed ^ u64::from(repeat) << 32);
    let mut cells = Vec::new();
    for scenario in &suite.scenarios {
        let able = targets.iter().filter_map(|target| {
            let dialect = scenario.dialect_for(target)?;
            Some(Cell { scenario: scenario.name.clone(), target: target.name.clone(), dialect, repeat })
        });
        let mut of_scenario: Vec<Cell> = able.collect();
        random.shuffle(&mut of_scenario);
        cells.extend(of_scenario);
    }
    cells
}
