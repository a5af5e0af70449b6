//! Resources that the generator can run out of.

use super::owners::Owners;
use super::server;
use super::signs::{
    CEILING_PERCENT_MAX, IDLE_CPU_PERCENT_MAX, OWNED_PERCENT_MIN, THROTTLED_PERCENT_MAX,
    WORKER_CPU_PERCENT_MAX, is_missed, waits_for_slots,
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
pub(crate) fn without_agents(step: &Step) -> Option<Cause> {
    lost_agents(step).map(|(lost, of)| Cause::GeneratorLostAgents { lost, of })
}

/// How many agents of how many were lost.
pub fn lost_agents(step: &Step) -> Option<(u64, u64)> {
    let lost = step.fleet.iter().filter(|agent| agent.lost.is_some()).count();
    step.is_short().then_some((lost as u64, step.fleet.len() as u64))
}

/// Not a single message, of clients that the server had taken in.
pub(super) fn sent_nothing(step: &Step) -> Option<Cause> {
    step.sent_nothing().then_some(Cause::GeneratorSentNothing { duration: Ns(step.duration_ns) })
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
    // Where the calibration's server was the limit, the generator can do more than that.
    (generator.ceiling_at_least == Some(false)).then_some(Cause::GeneratorCeiling { used: Percent(percent) })
}

/// Messages that were not sent in time while the server was idle.
pub(super) fn behind(step: &Step) -> Option<Cause> {
    let (asked, sent) = (step.due_per_s()?, step.rates.sent_per_s?);
    let is_late = is_missed(sent, asked) && is_complete(step) && !waits_for_slots(step);
    let server_is_idle = server::cpu_share(step).is_none_or(|(share, _)| share < IDLE_CPU_PERCENT_MAX);
    // Who holds the messages that are under way holds back a loop that waits for them.
    let is_servers = Owners::of_tail(step).is_some_and(|owners| owners.of_server() >= OWNED_PERCENT_MIN);
    (is_late && server_is_idle && !is_servers)
        .then_some(Cause::GeneratorBehind { sent: PerS(sent), asked: PerS(asked) })
}

/// Returns whether every client was there to send: what a missing one would have sent is not the generator's
/// to answer for.
fn is_complete(step: &Step) -> bool {
    let counts = &step.counts;
    let fewest = step.series.iter().map(|second| second.clients).min();
    counts.connected == counts.connects
        && counts.disconnects == 0
        && fewest.is_none_or(|clients| clients >= step.clients)
}
