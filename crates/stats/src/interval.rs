//! 95% confidence intervals.

/// A closed interval, in the unit of the figure it belongs to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// Lower bound.
    pub low: f64,
    /// Upper bound.
    pub high: f64,
}
