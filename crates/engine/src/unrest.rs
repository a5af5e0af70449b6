//! What a step does to its clients' connections beside loading them.

use load::Pacer;

use crate::messages::Departure;

/// The churn of a step at one worker.
pub(crate) struct Churn {
    pub(crate) pacer: Pacer,
    pub(crate) start_ns: u64,
    /// Departures that were due until now.
    pub(crate) begun: u64,
    /// Who leaves next, if usable.
    pub(crate) next: u32,
    /// Who left which broadcasts behind.
    pub(crate) departures: Vec<Departure>,
}

impl Churn {
    /// When the next client leaves.
    pub(crate) fn poll_timeout(&self) -> u64 {
        self.start_ns.saturating_add(self.pacer.due_ns(self.begun))
    }
}

/// The storm of a step at one worker.
pub(crate) struct Weather {
    pub(crate) storm: load::Storm,
    /// When it begins or began.
    pub(crate) start_ns: u64,
    /// When it begins; `None` once it has.
    pub(crate) begins_ns: Option<u64>,
}
