//! A server that stands still now and then: for garbage, a lock, a checkpoint, or because somebody stopped it.
//!
//! A stall is not a queue. Most messages are answered as fast as ever, and those of some seconds wait for as
//! long as it lasts. No CPU is missing meanwhile: neither the generator was late by half of that, nor did a
//! thread of the server wait for a CPU for so long. On a busy machine it waits for as long over a whole step: of
//! repeated silences to all clients, its waits must be as long as all of them. Stalls of streamed answers are
//! counted one by one, each with its owner.

use stats::{Count, Timed, density};

use super::owners::{Owner, Owners};
use crate::finding::Cause;
use crate::finding::quantity::Ns;
use crate::limit::{Counted, Figure, LimitOutcome, Statistic};
use crate::second::Second;
use crate::step::Step;

/// A wait that people notice, in any application: half a second.
const STALL_NS_MIN: u64 = 500_000_000;
/// How many times the median a stall lasts: a slow server is slow for all.
const TIMES_THE_MEDIAN_MIN: u64 = 20;
/// The least number of silences to all clients that is no accident of the machine.
const SILENCES_MIN: u64 = 3;
/// The most messages of a row for each that took half of the longest wait or more, where all clients waited. What is
/// sent in a silence waits for any part of it, and up to a second of usual messages shares the row.
const ONE_IN_MAX: u64 = 8;

/// The stalls of a step.
pub(crate) struct Stalls {
    pub(crate) times: u64,
    /// Stalls in which all clients waited.
    silences: u64,
    pub(crate) longest_ns: u64,
    /// All of them together.
    lasted_ns: u64,
    /// The beginning of the first one, since the load began.
    first_ns: u64,
}

/// Returns the stalls whose cause is the server: neither it nor the generator lacked a CPU meanwhile. Stalls
/// of streamed answers have other owners as well, and count where they broke a limit.
pub(super) fn stalled(step: &Step) -> Option<Cause> {
    if step.counts.events > 0 {
        return of_answers(step);
    }
    let Stalls { times, silences, longest_ns, lasted_ns, first_ns } = stalls(step)?;
    // The server's threads say only how long they waited over the whole step.
    let waited_ns = if silences >= SILENCES_MIN { lasted_ns } else { lasted_ns / 2 };
    (!lacks_cpu(step, waited_ns)).then_some(Cause::ServerStalled {
        longest: Ns(longest_ns),
        times,
        first: Ns(first_ns),
    })
}

/// Stalls of streamed answers that broke a limit: of the server if those that were read in time would have
/// broken it alone, or else of the owner of most.
fn of_answers(step: &Step) -> Option<Cause> {
    let broken = step.broken().find(|limit| is_of_stalls(step, limit))?;
    let all = Owners::of_stalls(step)?;
    let (own, contended) = (all.percent(Owner::Generator), all.percent(Owner::Contention));
    let of_server = all.of_server() + all.percent(Owner::Server);
    let (times, longest, owners) = (step.counts.stalls, Ns(step.figures.gap.max_ns()), all.told(step));
    let is_servers = match breaks_in_time(step, broken) {
        // Of the server's part, not what its threads waited for a CPU.
        Some(breaks) => {
            breaks && of_server >= contended - percent_of_stalls(step, step.counts.stalls_starved)
        }
        None => of_server >= own.max(contended),
    };
    Some(if is_servers {
        Cause::ServerPaused { times, longest, owners }
    } else if own >= contended {
        Cause::GeneratorPaused { times, longest, owners }
    } else {
        Cause::MachinePaused { times, longest, owners }
    })
}

/// Returns whether the stalls that were read in time break a limit on stalls; `None`: it is on gaps.
fn breaks_in_time(step: &Step, limit: &LimitOutcome) -> Option<bool> {
    let stalls = step.counts.stalls;
    let Some(Figure::Counted(_)) = limit.of.figure() else { return None };
    let share = percent_of_stalls(step, stalls.saturating_sub(step.counts.stalls_here)) / 100.0;
    let in_time = limit.actual.unwrap_or(stalls as f64) * share;
    Some(limit.of.limit().is_some_and(|limit| !limit.is_kept_by(in_time)))
}

fn percent_of_stalls(step: &Step, part: u64) -> f64 {
    100.0 * part as f64 / step.counts.stalls.max(1) as f64
}

/// Returns whether a limit is on stalls, or on gaps that keep it but for the stalls.
fn is_of_stalls(step: &Step, limit: &LimitOutcome) -> bool {
    let reached = match limit.of.figure() {
        Some(Figure::Counted(Counted::Count(Count::Stalls))) => return true,
        Some(Figure::Timed(Timed::Gap, Statistic::Max)) => 1.0,
        Some(Figure::Timed(Timed::Gap, Statistic::Quantile(quantile))) => quantile,
        _ => return false,
    };
    let gaps = &step.figures.gap;
    let other = 1.0 - step.counts.stalls as f64 / gaps.count().max(1) as f64;
    let others_ms = gaps.quantile_ns(other) as f64 / 1e6;
    reached >= other && limit.of.limit().is_some_and(|limit| limit.is_kept_by(others_ms))
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
        silences: stalls.iter().filter(|(row, ns)| is_of_all(row, *ns)).count() as u64,
        longest_ns,
        lasted_ns: stalls.iter().map(|(_, ns)| ns).sum(),
        first_ns: first.t_ns.saturating_sub(step.start_ns).saturating_sub(first_ns),
    })
}

/// Returns whether all clients waited in a row, by the share of its messages that did; `waited_ns`: the longest wait.
fn is_of_all(row: &Second, waited_ns: u64) -> bool {
    let all: u64 = row.density.iter().map(|(_, samples)| samples).sum();
    let is_long = |cell: u8| density::edge_ns(cell) >= waited_ns / 2;
    let long = row.density.iter().filter(|(cell, _)| is_long(*cell));
    let long: u64 = long.map(|(_, samples)| samples).sum();
    long > 0 && ONE_IN_MAX * long >= all
}

/// Returns whether the generator handled and sent everything in less than half of that time.
fn is_on_time(step: &Step, longest_ns: u64) -> bool {
    let loop_lag_ns = step.generator.as_ref().map_or(0, |generator| generator.loop_lag.max_ns());
    loop_lag_ns.max(step.figures.send_lag.max_ns()) < longest_ns / 2
}

/// Returns whether a thread of the server waited for a CPU for longer than that.
fn lacks_cpu(step: &Step, ns: u64) -> bool {
    let threads = step.server.iter().flat_map(|server| &server.thread_use);
    let waited_percent = threads.map(|thread| thread.waiting_percent).fold(0.0, f64::max);
    waited_percent / 100.0 * step.duration_ns as f64 > ns as f64
}
