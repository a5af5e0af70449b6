//! How many rounds are enough (METHODOLOGY "Ranking").

use stats::interval;

use crate::manifest::Target;
use crate::record::{Record, RecordError};
use crate::schedule::{Cell, round};
use crate::section;
use crate::stage::StageFailure;
use crate::suite::{Scenario, Suite};

/// A figure is known well enough if its 95% interval reaches no further than this share of it to either side.
pub const PRECISION: f64 = 0.10;

/// The cells of a round still to be measured. Every target has the rounds that were asked for; those beyond
/// them are for targets whose figure is not yet known well, and that have no failed measurement: these are
/// not ranked. `None`: no figure needs this round or a later one.
///
/// # Errors
/// A results file cannot be read.
pub fn due(
    suite: &Suite,
    targets: &[&Target],
    record: &Record,
    repeat: u32,
) -> Result<Option<Vec<Cell>>, RecordError> {
    let mut cells = round(suite, targets, repeat, record.head.seed);
    // Those of a shootout that was interrupted are there already.
    cells.retain(|cell| !record.has(cell));
    if repeat <= record.head.repeats {
        return Ok(Some(cells));
    }
    let mut due = Vec::new();
    for cell in cells {
        let scenario = suite.scenario(&cell.scenario).expect("of this suite");
        if is_vague(scenario, &cell.target, record)? {
            due.push(cell);
        }
    }
    // Where nothing is due because all of this round is in the record, a later one may still lack some.
    let is_over = due.is_empty() && record.entries.iter().all(|entry| entry.repeat < repeat);
    Ok((!is_over).then_some(due))
}

/// Returns whether a target's figure needs another round.
fn is_vague(scenario: &Scenario, target: &str, record: &Record) -> Result<bool, RecordError> {
    if record
        .of(&scenario.name, target)
        .filter_map(|entry| entry.trouble.as_ref())
        .any(StageFailure::is_of_target)
    {
        // It has no place, whatever further rounds would say.
        return Ok(false);
    }
    let values = section::each_round(&scenario.figures[0], &record.runs(&scenario.name, target)?);
    Ok(!is_known(&values))
}

/// Returns whether the mean of these rounds is known to within [`PRECISION`].
fn is_known(values: &[f64]) -> bool {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    interval::of_repeats(values)
        .is_some_and(|interval| (interval.high - interval.low) / 2.0 <= PRECISION * mean.abs())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Claim, Entry, Head};

    #[test]
    fn known_figures_end_the_rounds() {
        let suite = Suite::blank();
        let folder = tempfile::tempdir().unwrap();
        let mut record = Record::create(Claim::make(folder.path()).unwrap(), Head::blank()).unwrap();
        let is_over = |record: &Record, repeat| due(&suite, &[], record, repeat).unwrap().is_none();
        assert_eq!([3, 4].map(|repeat| is_over(&record, repeat)), [false, true]);
        record.entries.push(Entry { repeat: 5, ..Entry::default() });
        assert_eq!([4, 5, 6].map(|repeat| is_over(&record, repeat)), [false, false, true]);
    }

    #[test]
    fn figures_are_known_within_a_tenth() {
        assert!(!is_known(&[]) && !is_known(&[100.0]), "one round says nothing of others");
        assert!(is_known(&[100.0, 101.0]), "± 6.35");
        assert!(!is_known(&[100.0, 102.0]), "± 12.7");
        assert!(is_known(&[100.0, 103.0, 98.0, 101.0]) && !is_known(&[100.0, 120.0, 90.0, 110.0]));
    }
}
