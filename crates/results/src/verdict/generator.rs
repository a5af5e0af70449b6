//! What the generator itself can run out of.

use super::server;
use super::signs::{
    CEILING_PERCENT_MAX, IDLE_CPU_PERCENT_MAX, THROTTLED_PERCENT_MAX, WORKER_CPU_PERCENT_MAX, is_missed,
    waits_for_slots,
};
use crate::finding::Cause;
use crate::finding::quantity::{Ns, PerS, Percent};
use crate::step::Step;

/// Ports, files or memory of its own: errors that the server never saw.
pub(super) fn ran_out(step: &Step) -> Option<Cause> {
    let local = step.errors.iter().filter(|(_, error)| error.local);
    let (kind, error) = local.max_by_key(|(_, error)| error.count)?;
    Some(Cause::GeneratorRanOut {
        error: kind.to_owned(),
        times: error.count,
        example: error.example.clone(),
    })
}

/// A fleet that went on without some of its agents.
pub(super) fn without_agents(step: &Step) -> Option<Cause> {
    lost_agents(step).map(|(lost, of)| Cause::GeneratorLostAgents { lost, of })
}

/// How many agents of how many were lost.
pub fn lost_agents(step: &Step) -> Option<(u64, u64)> {
    let lost = step.fleet.iter().filter(|agent| agent.lost.is_some()).count();
    step.is_short().then_some((lost as u64, step.fleet.len() as u64))
}

/// CPU: of a worker, of the quota of its control group, or all that `throng calibrate` found it to have.
pub(super) fn exhausted(step: &Step) -> Option<Cause> {
    let generator = step.generator.as_ref()?;
    if let Some(cpu) = generator.worker_cpu_percent_max.filter(|&cpu| cpu >= WORKER_CPU_PERCENT_MAX) {
        return Some(Cause::GeneratorCpu { cpu: Percent(cpu) });
    }
    if let Some(percent) = generator.throttled_percent.filter(|&percent| percent >= THROTTLED_PERCENT_MAX) {
        return Some(Cause::GeneratorQuota { throttled: Percent(percent) });
    }
    let percent = generator.ceiling_percent.filter(|&percent| percent >= CEILING_PERCENT_MAX)?;
    (generator.ceiling_at_least == Some(false)).then_some(Cause::GeneratorCeiling { used: Percent(percent) })
}

/// An open loop whose messages had to wait because each connection had as many under way as it may, where the pool is to
/// blame and not the time for which the server holds it. By Little's law the rate needs rate × service of them; with the
/// shortest service, which no queue has made longer, that is what it needs of any server this fast. A pool that has as many
/// is full because answers take longer than that.
pub(super) fn short_of_connections(step: &Step) -> Option<Cause> {
    if !waits_for_slots(step) || step.figures.service.is_empty() {
        return None;
    }
    let (asked, achieved) = (step.rates.asked_per_s?, step.rates.achieved_per_s?);
    let (service, shortest_ns) = (&step.figures.service, step.figures.service.min_ns());
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

/// Messages that were not sent in time while the server was idle.
pub(super) fn behind(step: &Step) -> Option<Cause> {
    let (asked, sent) = (step.due_per_s()?, step.rates.sent_per_s?);
    let is_late = is_missed(sent, asked) && is_complete(step) && !waits_for_slots(step);
    let server_is_idle = server::cpu_share(step).is_none_or(|(share, _)| share < IDLE_CPU_PERCENT_MAX);
    (is_late && server_is_idle).then_some(Cause::GeneratorBehind { sent: PerS(sent), asked: PerS(asked) })
}

/// Whether every client was there to send: what a missing one would have sent is not the generator's to answer for.
fn is_complete(step: &Step) -> bool {
    let counts = &step.counts;
    let fewest = step.series.iter().map(|second| second.clients).min();
    counts.connected == counts.connects
        && counts.disconnects == 0
        && fewest.is_none_or(|clients| clients >= step.clients)
}
