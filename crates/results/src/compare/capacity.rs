//! The capacities that both sides were searched for.

use stats::compare::{self, Better, Change, Kind, PointEstimate};
use stats::{Capacity, Interval};

use super::row::Row;
use crate::run::Run;
use crate::unit::Unit;

/// The figure's name.
pub(super) const NAME: &str = "capacity";

/// Their row: by repeats where both sides have them, or else by the interval that each search gave. One that
/// did not tell the capacity is not held against anything.
pub(super) fn row(a: &[Run], b: &[Run]) -> Option<Row> {
    let of = |side: &[Run]| -> Vec<Capacity> { side.iter().filter_map(|run| run.verdict.capacity).collect() };
    let (of_a, of_b) = (of(a), of(b));
    if of_a.is_empty() || of_b.is_empty() {
        return None;
    }
    let at_least = [&of_a, &of_b].map(|side| side.iter().any(|found| found.at_least));
    let found = repeats(&of_a, &of_b)
        .or_else(|| Some(compare::intervals(searched(&of_a)?, searched(&of_b)?, Better::Higher)));
    Some(Row {
        clients: None,
        asked_per_s: None,
        figure: NAME.into(),
        unit: Unit::Count,
        better: Better::Higher,
        a: mean(&of_a),
        b: mean(&of_b),
        at_least,
        found,
        change: found.map_or(Change::CannotTell, |found| found.change()),
        is_blind: false,
        caveat: None,
    })
}

fn repeats(a: &[Capacity], b: &[Capacity]) -> Option<compare::Comparison> {
    let told = |side: &[Capacity]| -> Option<Vec<f64>> {
        side.iter()
            .map(|found| (found.is_decided() && !found.at_least).then_some(found.clients as f64))
            .collect()
    };
    compare::repeats(&told(a)?, &told(b)?, Better::Higher, Kind::Measured { grain: 1.0 })
}

fn mean(side: &[Capacity]) -> f64 {
    side.iter().map(|found| found.clients as f64).sum::<f64>() / side.len() as f64
}

/// The capacity that a side's searches found; `None` if one of them did not tell.
fn searched(side: &[Capacity]) -> Option<PointEstimate> {
    Some(PointEstimate { value: mean(side), interval: range(side)? })
}

/// The range that a side's searches leave open; `None` if one of them did not tell.
fn range(side: &[Capacity]) -> Option<Interval> {
    // Nothing was found that it does not hold, so its interval has no upper end.
    let high = |found: &Capacity| if found.at_least { f64::INFINITY } else { found.high as f64 };
    side.iter().all(Capacity::is_decided).then(|| Interval {
        low: side.iter().map(|found| found.low as f64).fold(f64::INFINITY, f64::min),
        high: side.iter().map(high).fold(0.0, f64::max),
    })
}
