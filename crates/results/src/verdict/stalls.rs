//! A server that stands still now and then: for garbage, a lock, a checkpoint, or because somebody stopped it.
//!
//! A stall is not a queue. Most messages are answered as fast as ever, and those of some seconds wait for as
//! long as it lasts. No CPU is missing meanwhile: neither the generator was late by half of that, nor did a
//! thread of the server wait for a CPU for so long.

use crate::finding::Cause;
use crate::finding::quantity::Ns;
use crate::step::{Second, Step};

/// A wait that people notice, in any application: half a second.
const STALL_NS_MIN: u64 = 500_000_000;
/// How many times the median a stall lasts: a slow server is slow for all.
const TIMES_THE_MEDIAN_MIN: u64 = 20;

/// The stalls of a step.
pub(crate) struct Stalls {
    pub(crate) times: u64,
    pub(crate) longest_ns: u64,
    /// All of them together.
    lasted_ns: u64,
    /// The beginning of the first one, since the load began.
    first_ns: u64,
}

/// Returns the stalls whose cause is the server: neither it nor the generator lacked a CPU meanwhile.
pub(super) fn stalled(step: &Step) -> Option<Cause> {
    let Stalls { times, longest_ns, lasted_ns, first_ns } = stalls(step)?;
    // The server's threads say only how long they waited over the whole step.
    (!lacks_cpu(step, lasted_ns)).then_some(Cause::ServerStalled {
        longest: Ns(longest_ns),
        times,
        first: Ns(first_ns),
    })
}

/// Returns the stalls of a step that are not the generator's own, whatever their cause; `None` without any.
pub(crate) fn stalls(step: &Step) -> Option<Stalls> {
    // A streamed answer takes as long as it has to say something: its stalls are gaps between its events.
    if step.counts.events > 0 {
        return None;
    }
    // The rows are of deliveries where there are any, whatever the step is judged by.
    let median_ns = step.main_of_series().quantile_ns(0.5);
    let least_ns = STALL_NS_MIN.max(TIMES_THE_MEDIAN_MIN * median_ns);
    let waited_ns = |row: &Second| row.max_ns.filter(|&ns| ns >= least_ns);
    // What was sent in one stall is answered in the second in which it ends.
    let stalls: Vec<(&Second, u64)> =
        step.series.iter().filter_map(|row| Some((row, waited_ns(row)?))).collect();
    let longest_ns = stalls.iter().map(|(_, ns)| *ns).max()?;
    let (first, first_ns) = *stalls.first()?;
    is_on_time(step, longest_ns).then(|| Stalls {
        times: stalls.len() as u64,
        longest_ns,
        lasted_ns: stalls.iter().map(|(_, ns)| ns).sum(),
        first_ns: first.t_ns.saturating_sub(step.start_ns).saturating_sub(first_ns),
    })
}

/// Returns whether the generator handled and sent everything in less than half of that time.
fn is_on_time(step: &Step, longest_ns: u64) -> bool {
    let loop_lag_ns = step.generator.as_ref().map_or(0, |generator| generator.loop_lag.max_ns());
    loop_lag_ns.max(step.figures.send_lag.max_ns()) < longest_ns / 2
}

/// Returns whether a thread of the server waited for a CPU for half of that time.
fn lacks_cpu(step: &Step, lasted_ns: u64) -> bool {
    let threads = step.server.iter().flat_map(|server| &server.thread_use);
    let waited_percent = threads.map(|thread| thread.waiting_percent).fold(0.0, f64::max);
    waited_percent / 100.0 * step.duration_ns as f64 > lasted_ns as f64 / 2.0
}
