//! Rows of a step's series, a second each.

use std::collections::BTreeMap;

/// One second of a step; a row is longer where the window has ended in it, and the last may be shorter.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Second {
    /// End of the second, from the start of the run.
    pub t_ns: u64,
    /// Open, usable clients at its end.
    pub clients: u64,
    /// Messages sent in it.
    pub sent: u64,
    /// Deliveries received in it.
    pub received: u64,
    /// Errors of all kinds in it.
    pub errors: u64,
    /// Median of the step's main figure over it.
    pub p50_ns: Option<u64>,
    /// 95th percentile of that figure.
    pub p95_ns: Option<u64>,
    /// 99th percentile of that figure.
    pub p99_ns: Option<u64>,
    /// Maximum of that figure.
    pub max_ns: Option<u64>,
    /// The density of its samples: cells of [`stats::density`] and how many each holds.
    pub density: Vec<(u8, u64)>,
    /// The server's CPU, 100 for one full core.
    pub server_cpu_percent: Option<f64>,
    /// The server's resident memory at its end.
    pub server_rss_bytes: Option<u64>,
    /// The generator's CPU, 100 for one full core.
    pub generator_cpu_percent: Option<f64>,
    /// The latest values of the target's own metrics endpoint, by name.
    pub metrics: BTreeMap<String, f64>,
}

/// Rows that follow one another from `start_ns` on, and how long each took in ns, 1 at the least: some are
/// not of a second.
pub fn with_lengths(rows: &[Second], start_ns: u64) -> impl Iterator<Item = (&Second, u64)> {
    rows.iter().scan(start_ns, |from_ns, row| {
        let length_ns = row.t_ns.saturating_sub(*from_ns).max(1);
        *from_ns = row.t_ns;
        Some((row, length_ns))
    })
}
