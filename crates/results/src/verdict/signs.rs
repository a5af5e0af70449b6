//! Readings and bounds shared by several rules.

use stats::error_kind;

use crate::finding::Cause;
use crate::finding::quantity::{Kinds, Ns};
use crate::silence;
use crate::step::Step;

/// CPU of the server, or of one of its threads, that counts as all of it.
pub(super) const SERVER_CPU_PERCENT_MAX: f64 = 95.0;
/// CPU of a worker that counts as all of it.
pub const WORKER_CPU_PERCENT_MAX: f64 = 90.0;
/// Share of its periods in which a control group's quota was used up that counts as its end.
pub(super) const THROTTLED_PERCENT_MAX: f64 = 10.0;
/// Share of the generator's calibrated ceiling that counts as all of it.
pub(super) const CEILING_PERCENT_MAX: f64 = 90.0;
/// Share of an open loop's messages that had to wait for a connection, above which there are too few connections.
const WAITED_SHARE_MAX: f64 = 0.01;
/// Share of the slow messages' time, in percent, from which on its owner is what was measured.
pub(super) const OWNED_PERCENT_MIN: f64 = 60.0;
/// CPU below which the generator or the server is idle.
pub(super) const IDLE_CPU_PERCENT_MAX: f64 = 50.0;

/// Share of the deliveries due that may be missing before that is a sign by itself.
const MISSING_SHARE_MAX: f64 = 0.01;
/// Connections that found no room in a listener's queue, as a share of those begun, from which on that is
/// what they wait for.
const OVERFLOWS_SHARE_MIN: f64 = 0.01;

/// Kinds of errors of connections that no server brings about: the kernel of a stopped or dead one goes on
/// acknowledging, or refuses.
const OUT_OF_REACH: [&str; 2] = [error_kind::TIMED_OUT, error_kind::UNREACHABLE];

pub(super) fn worker_cpu(step: &Step) -> Option<f64> {
    step.generator.as_ref()?.worker_cpu_percent_max
}

/// Returns whether the generator had CPU to spare; not known counts as yes.
pub(super) fn generator_had_time(step: &Step) -> bool {
    worker_cpu(step).is_none_or(|cpu| cpu < WORKER_CPU_PERCENT_MAX)
}

/// How often the server's accept queue was full, where that was so for a good part of the connections begun.
pub(super) fn overflows(step: &Step) -> Option<u64> {
    // The counter is the machine's: a few may be another program's.
    let times = step.machine.as_ref()?.listen_overflows.filter(|&times| times > 0)?;
    (times as f64 >= OVERFLOWS_SHARE_MIN * step.counts.connects as f64).then_some(times)
}

/// Returns whether an open loop's messages waited for a connection that unanswered ones held: they were sent
/// late, but not because the generator was.
pub(super) fn waits_for_slots(step: &Step) -> bool {
    step.counts.waited as f64 > WAITED_SHARE_MAX * step.counts.sent as f64
}

/// How many there are of what may be lost: clients, or connections where a client had more than one.
pub(super) fn clients_or(step: &Step, connections: u64) -> (u64, String) {
    let (of, what) =
        if connections > step.clients { (connections, "connections") } else { (step.clients, "clients") };
    (of, what.to_owned())
}

/// Connections ended under the load: with the way to the server, by an idle timeout, or who knows why.
pub(super) fn lost_clients(step: &Step) -> Cause {
    if let Some(cause) = unreachable(step) {
        return cause;
    }
    let (lost, of, what) = step.disconnects();
    if let Some(after_ns) = silence::idle_timeout_ns(step) {
        return Cause::ServerIdleTimeout { lost, of, what, after: Ns(after_ns) };
    }
    let errors = ends(step);
    let most = errors.0.first().and_then(|(kind, _)| step.errors.get(kind));
    let example = most.map(|error| error.example.clone()).filter(|example| !example.is_empty());
    Cause::ServerLostClients { lost, of, what, errors, example }
}

/// Kinds of the ends of connections under the load, where each end is known. Attempts to connect fail by the same
/// kinds: with them, there are more errors than connections lost.
fn ends(step: &Step) -> Kinds {
    let ends = step.errors.iter().filter(|(kind, _)| error_kind::is_of_connections(kind));
    let kinds: Vec<(String, u64)> = ends.map(|(kind, error)| (kind.to_owned(), error.count)).collect();
    let all: u64 = kinds.iter().map(|(_, count)| count).sum();
    if all == step.counts.disconnects { Kinds::sorted(kinds) } else { Kinds::default() }
}

/// A way to the server that is cut, where that is most of why connections failed or ended. Between two ends
/// on one machine there is none to cut.
pub(super) fn unreachable(step: &Step) -> Option<Cause> {
    let is_here = step.machine.as_ref().is_some_and(|machine| machine.same_host == Some(true));
    let cut = OUT_OF_REACH.into_iter().filter(|_| !is_here).chain([error_kind::DENIED]);
    let lost: u64 = cut.filter_map(|kind| step.errors.get(kind)).map(|error| error.count).sum();
    let counts = &step.counts;
    let all = counts.disconnects + counts.connect_failures + counts.connect_timeouts;
    let (of, what) = clients_or(step, counts.connects.max(step.connections()));
    // A session over requests may have gone on over another connection: then more errors are counted than clients lost.
    (2 * lost > all).then_some(Cause::NetworkUnreachable { lost: lost.min(all), of, what })
}

/// Returns whether the server left out more than a hundredth of what was due.
pub(super) fn server_left_out(step: &Step) -> bool {
    step.counts.missing as f64 > MISSING_SHARE_MAX * step.counts.due() as f64
}

/// Returns whether a rate was missed by more than a hundredth. 1 − 0.99 is a hair above 0.01 in binary: the
/// tolerance lets 990 of 1,000 pass.
pub(super) fn is_missed(achieved: f64, asked: f64) -> bool {
    1.0 - achieved / asked > 0.01 + 1e-9
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_missed_beyond_a_hundredth() {
        for (asked, achieved, missed) in
            [(1_000.0, 990.0, false), (1_000.0, 989.9, true), (700.0, 693.0, false)]
        {
            assert_eq!(is_missed(achieved, asked), missed, "{achieved} of {asked}");
        }
    }
}
