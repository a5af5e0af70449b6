//! Plots made of characters: percentiles over time, and the distribution of a step's latency. What is drawn
//! is told apart by its characters, as there may be no colour.

use std::collections::BTreeMap;

use ratatui::style::Color;
use results::Second;
use stats::density;

/// One percentile over time.
pub(super) struct Percentile {
    pub(super) name: &'static str,
    pub(super) mark: char,
    pub(super) colour: Color,
    value: fn(&Second) -> Option<u64>,
}

/// The percentiles that are drawn; a later one covers those before.
pub(super) const PERCENTILES: [Percentile; 3] = [
    Percentile { name: "p50", mark: 'o', colour: Color::Green, value: |second| second.p50_ns },
    Percentile { name: "p95", mark: '+', colour: Color::Yellow, value: |second| second.p95_ns },
    Percentile { name: "p99", mark: 'x', colour: Color::Cyan, value: |second| second.p99_ns },
];

/// Percentiles on a logarithmic axis, a column for each second.
#[derive(Debug, PartialEq)]
pub(super) struct Plot {
    /// Rows from the top; each column has the place of its percentile in [`PERCENTILES`], if one is there.
    pub(super) rows: Vec<Vec<Option<usize>>>,
    /// The values of the lowest and the highest row.
    pub(super) ends_ns: [u64; 2],
}

/// A plot of the newest seconds, the newest at the right. `None` while nothing was timed.
pub(super) fn over_time<'a>(
    newest_first: impl Iterator<Item = &'a Second>,
    width: usize,
    height: usize,
) -> Option<Plot> {
    let seconds: Vec<&Second> = newest_first.take(width).collect();
    let known = || PERCENTILES.iter().flat_map(|of| seconds.iter().filter_map(|second| (of.value)(second)));
    let ends_ns = [known().min()?.max(1), known().max()?.max(1)];
    let [low, high] = ends_ns.map(|ns| (ns as f64).ln());
    let row = |ns: u64| {
        // A line that never moves lies on the ground.
        let up = if high > low { ((ns.max(1) as f64).ln() - low) / (high - low) } else { 0.0 };
        ((1.0 - up) * (height.saturating_sub(1)) as f64).round() as usize
    };
    let mut rows = vec![vec![None; width]; height];
    for (number, of) in PERCENTILES.iter().enumerate() {
        for (ago, second) in seconds.iter().enumerate() {
            if let Some(ns) = (of.value)(second)
                && let Some(cells) = rows.get_mut(row(ns))
            {
                cells[width - 1 - ago] = Some(number);
            }
        }
    }
    Some(Plot { rows, ends_ns })
}

/// A distribution in at most `rows` bars, from the shortest latency: the beginning of each in ns, and its
/// share of all samples. Neighbouring cells share a bar where there are more cells than rows.
pub(super) fn bars(cells: &BTreeMap<u8, u64>, rows: usize) -> Vec<(u64, f64)> {
    let (Some((&lowest, _)), Some((&highest, _))) = (cells.first_key_value(), cells.last_key_value()) else {
        return Vec::new();
    };
    if rows == 0 {
        return Vec::new();
    }
    let all: u64 = cells.values().sum();
    let per_bar = (usize::from(highest - lowest) + 1).div_ceil(rows);
    let bar = |from: u8| {
        let to = from.saturating_add(per_bar as u8);
        let samples: u64 = cells.range(from..to).map(|(_, samples)| samples).sum();
        (density::edge_ns(from), samples as f64 / all as f64)
    };
    (lowest..=highest).step_by(per_bar).map(bar).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn second(p50_ms: u64, p99_ms: u64) -> Second {
        Second { p50_ns: Some(p50_ms * MS), p99_ns: Some(p99_ms * MS), ..Second::default() }
    }

    fn drawn(plot: &Plot) -> Vec<String> {
        let mark = |cell: &Option<usize>| cell.map_or(' ', |number| PERCENTILES[number].mark);
        plot.rows.iter().map(|row| row.iter().map(mark).collect()).collect()
    }

    #[test]
    fn percentiles_lie_on_a_logarithmic_axis() {
        let seconds = [second(10, 100), second(1, 10), Second::default()];
        let plot = over_time(seconds.iter(), 4, 3).unwrap();
        assert_eq!(drawn(&plot), ["   x", "  xo", "  o "]);
        assert_eq!(plot.ends_ns, [MS, 100 * MS]);
        let level = over_time([second(5, 5)].iter(), 2, 2).unwrap();
        assert_eq!(drawn(&level), ["  ", " x"], "the higher percentile covers the lower");
        assert_eq!(over_time([Second::default()].iter(), 4, 3), None);
    }

    #[test]
    fn bars_hold_every_sample() {
        // From 1 ms to 10 ms: nine cells.
        let cells = BTreeMap::from([(24, 50), (25, 25), (32, 25)]);
        let shares = |rows| bars(&cells, rows).into_iter().map(|(_, share)| share).collect::<Vec<_>>();
        assert_eq!(shares(9), [0.5, 0.25, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.25]);
        assert_eq!(shares(3), [0.75, 0.0, 0.25]);
        assert_eq!(bars(&cells, 3)[0].0, MS);
        assert!(bars(&cells, 0).is_empty() && bars(&BTreeMap::new(), 3).is_empty());
    }
}
