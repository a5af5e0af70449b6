//! Which measurement comes when: every target once in each round, in an order drawn anew each time, so that what drifts
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

/// All measurements in their order. `seed` makes it repeatable.
pub fn cells(suite: &Suite, targets: &[&Target], repeats: u32, seed: u64) -> Vec<Cell> {
    let mut random = Rng::with_seed(seed);
    let mut cells = Vec::new();
    for repeat in 1..=repeats {
        for scenario in &suite.scenarios {
            let able = targets.iter().filter_map(|target| {
                let dialect = scenario.dialect_for(target)?;
                Some(Cell { scenario: scenario.name.clone(), target: target.name.clone(), dialect, repeat })
            });
            let mut round: Vec<Cell> = able.collect();
            random.shuffle(&mut round);
            cells.extend(round);
        }
    }
    cells
}
