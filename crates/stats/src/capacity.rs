//! The capacity search: how many clients until the limits break.
//!
//! Ask [`Search::next`], measure, answer with [`Search::handle`], until it is done.

/// How many clients a server holds within its limits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Capacity {
    /// The level at which half of the measurements pass.
    pub clients: u64,
    /// Lower bound of the interval.
    pub low: u64,
    /// Upper bound of the interval.
    pub high: u64,
    /// The probability that the interval was built for: 0.95.
    pub confidence: f64,
    /// No level up to the maximum failed: the capacity is at least `clients`, and `high` is not a bound.
    pub at_least: bool,
}

/// What to search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SearchConfig {
    /// The first level, at least 1.
    pub start: u64,
    /// The first increase; it doubles for as long as levels pass.
    pub step: u64,
    /// The highest level to try.
    pub max: u64,
    /// How close a passing and a failing level must come, as a share of the passing one: 0.05.
    pub tolerance: f64,
    /// How often the levels nearest to the limit are measured: 1 trusts single measurements.
    pub repeats: u32,
}

/// What the search wants next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Ask {
    /// Measure this many clients and say whether all limits held.
    Measure(u64),
    /// The search is over.
    Done(Capacity),
}
