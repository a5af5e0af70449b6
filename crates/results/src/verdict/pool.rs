//! The connections that messages of an open loop share.

use super::signs::waits_for_slots;
use crate::finding::Cause;
use crate::finding::quantity::Ns;
use crate::step::Step;

/// An open loop whose messages had to wait because each connection had as many under way as it may, where the
/// pool is to blame and not the time for which the server holds it. By Little's law the rate needs rate ×
/// service of them; with the shortest service, which no queue has made longer, that is what it needs of any
/// server this fast. A pool that has as many is full because answers take longer than that.
pub(super) fn short_of_connections(step: &Step) -> Option<Cause> {
    if !waits_for_slots(step) || step.figures.service.is_empty() {
        return None;
    }
    let (asked, achieved) = (step.rates.asked_per_s?, step.rates.achieved_per_s?);
    let (service, shortest_ns) = (&step.figures.service, step.figures.service.min_ns());
    // Little's law again: how many were under way on average, since the pool was full.
    let slots = (achieved * service.mean_ns() / 1e9).round().max(1.0);
    let needed = (asked * shortest_ns as f64 / 1e9).ceil();
    (needed > slots).then_some(Cause::GeneratorPool {
        waited: step.counts.waited,
        of: step.counts.sent.max(step.counts.waited),
        slots: slots as u64,
        needed: needed as u64,
        service: Ns(shortest_ns),
    })
}

/// Returns whether the connections are too few even for a server without a queue.
pub(super) fn needs_connections(step: &Step) -> bool {
    short_of_connections(step).is_some()
}
