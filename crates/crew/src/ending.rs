//! How a step ends.

/// Endings of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Its load was sent, and its answers were waited for: what is not in yet is lost.
    Complete,
    /// It was interrupted, or its workers gave up: what is not in yet is under way.
    CutShort,
}
