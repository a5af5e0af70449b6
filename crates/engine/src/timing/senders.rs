//! Clients of one worker that send a share of a step's load.

use load::Segment;

/// Clients that send a share of the load.
#[derive(Clone, Debug)]
pub(crate) struct LocalSenders {
    /// The share of the load, and this worker's part of it.
    pub(crate) share: f64,
    pub(crate) part: Segment,
    /// The clients, ascending, all of them usable and not slow.
    pub(crate) clients: Vec<u32>,
}
