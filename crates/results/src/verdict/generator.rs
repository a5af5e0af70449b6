//! What the generator itself can run out of.

use super::server;
use super::signs::{
    CEILING_PERCENT_MAX, IDLE_CPU_PERCENT_MAX, THROTTLED_PERCENT_MAX, WAITED_SHARE_MAX,
    WORKER_CPU_PERCENT_MAX, is_missed,
};
use crate::format::{count, rate};
use crate::step::Step;

/// Ports, files or memory of its own: errors that the server never saw.
pub(super) fn ran_out(step: &Step) -> Option<String> {
    let local = step.errors.iter().filter(|(_, error)| error.local);
    let (kind, error) = local.max_by_key(|(_, error)| error.count)?;
    let times = if error.count == 1 { "once".into() } else { format!("{} times", count(error.count)) };
    Some(format!("it ran out of what it needs, {kind} {times}: {}", error.example))
}

/// Agents, and the clients they had: `1 of 2 agents and its share of the load`.
pub fn lost_agents(step: &Step) -> Option<String> {
    let lost = step.fleet.iter().filter(|agent| agent.lost.is_some()).count();
    let whose = if lost == 1 { "its" } else { "their" };
    step.is_short().then(|| format!("{lost} of {} agents and {whose} share of the load", step.fleet.len()))
}

/// CPU: of a worker, of the quota of its control group, or all that `throng calibrate` found it to have.
pub(super) fn exhausted(step: &Step) -> Option<String> {
    let generator = step.generator.as_ref()?;
    if let Some(cpu) = generator.worker_cpu_percent_max.filter(|&cpu| cpu >= WORKER_CPU_PERCENT_MAX) {
        return Some(format!("a worker's CPU was at {cpu:.0}% of a core"));
    }
    if let Some(percent) = generator.throttled_percent.filter(|&percent| percent >= THROTTLED_PERCENT_MAX) {
        return Some(format!(
            "the CPU quota of its control group was used up in {percent:.0}% of the periods"
        ));
    }
    let percent = generator.ceiling_percent.filter(|&percent| percent >= CEILING_PERCENT_MAX)?;
    (generator.ceiling_at_least == Some(false))
        .then(|| format!("it did {percent:.0}% of what it can do here, by throng calibrate"))
}

/// An open loop whose messages had to wait because each connection had as many under way as it may.
pub(super) fn short_of_connections(step: &Step) -> Option<String> {
    let (waited, due) = (step.counts.waited, step.counts.expected);
    (waited as f64 > WAITED_SHARE_MAX * due as f64).then(|| {
        format!(
            "{} of {} messages waited because all of its {} connections were busy: use more, or --pipelining \
             (over HTTP/2 --streams, as far as the server allows)",
            count(waited),
            count(due),
            count(step.clients)
        )
    })
}

/// Messages that were not sent in time while the server was idle.
pub(super) fn behind(step: &Step) -> Option<String> {
    let (asked, sent) = (step.due_per_s()?, step.rates.sent_per_s?);
    let is_late = is_missed(sent, asked) && is_complete(step);
    let server_is_idle = server::cpu_share(step).is_none_or(|(share, _)| share < IDLE_CPU_PERCENT_MAX);
    (is_late && server_is_idle)
        .then(|| format!("it sent {} of {} with the server idle", rate(sent, "messages"), rate(asked, "")))
}

/// Whether every client was there to send: what a missing one would have sent is not the generator's to answer for.
fn is_complete(step: &Step) -> bool {
    let counts = &step.counts;
    let fewest = step.series.iter().map(|second| second.clients).min();
    counts.connected == counts.connects
        && counts.disconnects == 0
        && fewest.is_none_or(|clients| clients >= step.clients)
}
