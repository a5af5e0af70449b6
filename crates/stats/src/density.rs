//! The density of a histogram's samples, coarsely: a column of a picture of latency over time.
//!
//! Cells are logarithmic, [`CELLS_PER_DECADE`] to a factor of ten, from 1 µs: cell k holds what lies between
//! 10^(k/8) µs and 10^((k+1)/8) µs; whatever is shorter is in cell 0.

use crate::Histogram;

/// The number of cells in a factor of ten: neighbours are a third apart, the least difference that an eye
/// sees in a picture.
pub const CELLS_PER_DECADE: f64 = 8.0;

/// The number of bars in a factor of ten in a picture of a distribution: neighbours are a tenth apart, and
/// each still holds tens of the histogram's buckets.
pub const BARS_PER_DECADE: f64 = 24.0;

/// The cell of a duration.
pub fn cell(value_ns: u64) -> u8 {
    place(value_ns, CELLS_PER_DECADE) as u8
}

/// The duration at which a cell begins.
pub fn edge_ns(cell: u8) -> u64 {
    (1e3 * 10f64.powf(f64::from(cell) / CELLS_PER_DECADE)).round() as u64
}

/// The cells that hold samples, from the shortest, with the number of samples in each.
pub fn cells(histogram: &Histogram) -> Vec<(u8, u64)> {
    grouped(histogram, cell)
}

/// The bars that hold samples, which are finer cells: [`BARS_PER_DECADE`].
pub fn bars(histogram: &Histogram) -> Vec<(u16, u64)> {
    grouped(histogram, |value_ns| place(value_ns, BARS_PER_DECADE) as u16)
}

fn place(value_ns: u64, per_decade: f64) -> f64 {
    let us = value_ns as f64 / 1e3;
    // A hair above, for log10 of a power of ten may come out below it.
    if us < 1.0 { 0.0 } else { us.log10() * per_decade + 1e-9 }
}

fn grouped<Cell: PartialEq>(histogram: &Histogram, cell: impl Fn(u64) -> Cell) -> Vec<(Cell, u64)> {
    let mut cells: Vec<(Cell, u64)> = Vec::new();
    for (value_ns, samples) in histogram.recorded() {
        let at = cell(value_ns);
        // Buckets ascend, so that those of one cell are neighbours.
        match cells.last_mut() {
            Some((last, n)) if *last == at => *n += samples,
            _ => cells.push((at, samples)),
        }
    }
    cells
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_decade_has_eight_cells() {
        for (ns, at) in [
            (0, 0),
            (999, 0),
            (1_000, 0),
            (10_000, 8),
            (1_000_000, 24),
            (1_400_000, 25),
            (600_000_000_000, 70),
        ] {
            assert_eq!(cell(ns), at, "{ns} ns");
            assert!(at == 0 || edge_ns(at) <= ns && ns < edge_ns(at + 1), "{ns} ns");
        }
    }

    #[test]
    fn every_sample_is_in_a_cell() {
        let mut histogram = Histogram::new();
        for i in 1..=1_000u64 {
            histogram.record_ns(i * 1_000_000);
        }
        let cells = cells(&histogram);
        assert_eq!(cells.iter().map(|(_, n)| n).sum::<u64>(), 1_000);
        // From 1 ms to 1 s; between 1 ms and 2 ms is one cell more.
        assert!(cells.is_sorted() && cells.len() == 24, "{cells:?}");
        assert!(super::cells(&Histogram::new()).is_empty());
        let bars = bars(&histogram);
        assert_eq!(bars.iter().map(|(_, n)| n).sum::<u64>(), 1_000);
        assert!(bars.is_sorted() && bars[0] == (72, 1), "1 ms is three decades of 24: {bars:?}");
    }
}
