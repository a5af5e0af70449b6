//! A step's rows of a second each, as columns, and no more rows than a page has room for.

use std::collections::BTreeMap;

use results::{Second, with_lengths};
use serde::Serialize;

use super::curve::{digits, ms};

/// Rows on a whole page: with all columns and a density some 250 bytes each.
pub(super) const ROWS_PER_PAGE_MAX: usize = 3_000;
/// However many steps there are, each keeps its course.
const ROWS_PER_STEP_MIN: usize = 6;

/// Columns of the rows; a column that was not measured is empty.
#[derive(Default, Serialize)]
pub(super) struct SeriesData {
    /// Seconds in a row; above 1 where rows were put together.
    per_row: usize,
    /// Seconds from the start of the run.
    t: Vec<f64>,
    clients: Vec<u64>,
    /// Per second.
    sent: Vec<f64>,
    received: Vec<f64>,
    errors: Vec<f64>,
    /// Milliseconds. Of rows put together, the highest.
    p50: Vec<Option<f64>>,
    p95: Vec<Option<f64>>,
    p99: Vec<Option<f64>>,
    max: Vec<Option<f64>>,
    /// Cell and samples, in turn: see [`stats::density`].
    #[serde(skip_serializing_if = "Vec::is_empty")]
    density: Vec<Vec<u64>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    server_cpu: Vec<Option<f64>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    server_rss: Vec<Option<u64>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    generator_cpu: Vec<Option<f64>>,
}

/// How many rows each step may have, given the number of steps.
pub(super) fn rows_per_step(steps: usize) -> usize {
    (ROWS_PER_PAGE_MAX / steps.max(1)).max(ROWS_PER_STEP_MIN)
}

impl SeriesData {
    /// At most `rows_max` rows, of those that follow one another from `start_ns` on.
    pub(super) fn of(rows: &[Second], start_ns: u64, rows_max: usize) -> Self {
        let per_row = rows.len().div_ceil(rows_max).max(1);
        let mut data = SeriesData { per_row, ..SeriesData::default() };
        let mut from_ns = start_ns;
        for rows in rows.chunks(per_row) {
            data.add(rows, with_lengths(rows, from_ns).map(|(_, ns)| ns).sum());
            // The next row begins where this one ends, whatever lengths the seconds had.
            from_ns = rows.last().map_or(from_ns, |row| row.t_ns);
        }
        let nothing = |column: &[Option<f64>]| column.iter().all(Option::is_none);
        // Columns that were not measured are left out, which readers of the data take as none.
        if data.density.iter().all(Vec::is_empty) {
            data.density.clear();
        }
        if nothing(&data.server_cpu) {
            data.server_cpu.clear();
        }
        if nothing(&data.generator_cpu) {
            data.generator_cpu.clear();
        }
        if data.server_rss.iter().all(Option::is_none) {
            data.server_rss.clear();
        }
        data
    }

    /// Without times: nothing was answered.
    pub(super) fn without_latency(mut self) -> Self {
        for column in [&mut self.p50, &mut self.p95, &mut self.p99, &mut self.max] {
            column.fill(None);
        }
        self.density.clear();
        self
    }

    /// Some rows as one, which took so long: counts per second, times at their worst, CPU on average.
    fn add(&mut self, rows: &[Second], length_ns: u64) {
        let last = rows.last().expect("a chunk has a row");
        let seconds = length_ns as f64 / 1e9;
        let per_s = |of: fn(&Second) -> u64| digits(rows.iter().map(of).sum::<u64>() as f64 / seconds);
        // The worst, since percentiles of seconds have no mean that is a percentile.
        let worst = |of: fn(&Second) -> Option<u64>| rows.iter().filter_map(of).max().map(|ns| ms(ns as f64));
        let mean = |of: fn(&Second) -> Option<f64>| {
            let known: Vec<f64> = rows.iter().filter_map(of).collect();
            (!known.is_empty()).then(|| digits(known.iter().sum::<f64>() / known.len() as f64))
        };
        self.t.push((last.t_ns as f64 / 1e7).round() / 1e2);
        self.clients.push(last.clients);
        self.sent.push(per_s(|row| row.sent));
        self.received.push(per_s(|row| row.received));
        self.errors.push(per_s(|row| row.errors));
        self.p50.push(worst(|row| row.p50_ns));
        self.p95.push(worst(|row| row.p95_ns));
        self.p99.push(worst(|row| row.p99_ns));
        self.max.push(worst(|row| row.max_ns));
        self.density.push(density(rows));
        self.server_cpu.push(mean(|row| row.server_cpu_percent));
        // What is held, and not what passes: the last reading is the state at the end of the row.
        self.server_rss.push(last.server_rss_bytes);
        self.generator_cpu.push(mean(|row| row.generator_cpu_percent));
    }
}

/// All samples of some rows by cell, flat.
fn density(rows: &[Second]) -> Vec<u64> {
    let mut cells = BTreeMap::new();
    for (cell, samples) in rows.iter().flat_map(|row| &row.density) {
        *cells.entry(u64::from(*cell)).or_insert(0) += samples;
    }
    cells.into_iter().flat_map(|(cell, samples)| [cell, samples]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(n: u64) -> Vec<Second> {
        let row =
            |k| Second { t_ns: k * 1_000_000_000, sent: k, p99_ns: Some(k * 1_000_000), ..Second::default() };
        (1..=n).map(row).collect()
    }

    #[test]
    fn long_series_keep_their_peaks() {
        let data = SeriesData::of(&rows(100), 0, 30);
        assert_eq!((data.per_row, data.t.len()), (4, 25));
        assert_eq!((data.t[0], data.sent[0], data.p99[0]), (4.0, 2.5, Some(4.0)));
        assert_eq!(data.p99[24], Some(100.0));
    }

    #[test]
    fn unmeasured_seconds_are_left_out() {
        let data = SeriesData::of(&rows(3), 0, 30);
        assert_eq!((data.per_row, data.t.len(), data.server_cpu.len()), (1, 3, 0));
        assert_eq!(data.p50, [None, None, None]);
    }
    #[test]
    fn counts_of_any_row_are_per_second() {
        let row = |ms: u64, sent| Second { t_ns: ms * 1_000_000, sent, ..Second::default() };
        let rows = [row(3_000, 200), row(4_500, 300), row(5_000, 10)];
        assert_eq!(SeriesData::of(&rows, 2_000_000_000, 30).sent, [200.0, 200.0, 20.0]);
        assert_eq!(SeriesData::of(&rows, 2_000_000_000, 2).sent, [200.0, 20.0]);
    }
}
