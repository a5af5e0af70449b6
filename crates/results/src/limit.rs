//! Assertions on figures: `p95<250ms`, `errors<1%`, `missing==0`.

/// A limit held against one step or run.
#[derive(Clone, Debug, PartialEq)]
pub struct LimitOutcome {
    /// The limit as it was written.
    pub limit: String,
    /// Whether it held.
    pub passed: bool,
    /// The figure's value, in `unit`; `None` when it was not measured, which breaks the limit.
    pub actual: Option<f64>,
    /// The unit of `actual`: `ms`, `%`, `/s`, `bytes` or nothing for counts.
    pub unit: &'static str,
}
