//! What a server did wrong. TCP loses nothing, and no lack of CPU damages an answer or turns a client away: where that
//! broke a limit, it is the reason, whatever else the machine had to do meanwhile.

use stats::Count;

use super::signs::{generator_had_time, of_clients, overflowed};
use crate::format::count;
use crate::limit::{Counted, Figure};
use crate::step::Step;

/// How late the generator may have been at worst, if clients that gave up waiting were the server's to serve.
const LATE_NS_MAX: u64 = 100_000_000;

/// Clients, then messages; only what broke a limit, because the rest was allowed.
pub(super) fn failed(step: &Step) -> Option<String> {
    let counts = &step.counts;
    let broke =
        |counted| step.broken().any(|limit| Figure::of_limit(limit) == Some(Figure::Counted(counted)));
    if !generator_had_time(step) {
        return None;
    }
    let late_ns = step.generator.as_ref().map_or(0, |generator| generator.loop_lag.max_ns());
    if broke(Counted::Unusable) && counts.connect_failures > 0 {
        return Some(format!(
            "it turned away {}",
            of_clients(step, counts.connect_failures, counts.connects)
        ));
    }
    if broke(Counted::Unusable) && counts.connect_timeouts > 0 && late_ns < LATE_NS_MAX {
        let why = overflowed(step).map(|why| format!("; {why}")).unwrap_or_default();
        return Some(format!(
            "it left {} waiting until they gave up{why}",
            of_clients(step, counts.connect_timeouts, counts.connects)
        ));
    }
    if broke(Counted::Count(Count::Disconnects)) && counts.disconnects > 0 {
        return Some(format!("it lost {}", of_clients(step, counts.disconnects, step.connections())));
    }
    if broke(Counted::Count(Count::Missing)) && counts.missing > 0 {
        let did = if step.is_cut_off() { "it had not yet delivered" } else { "it left out" };
        return Some(format!("{did} {} of {} messages due", count(counts.missing), count(counts.expected)));
    }
    let wrong = step.wrong();
    (broke(Counted::Wrong) && wrong > 0)
        .then(|| format!("{} of its {} answers were wrong", count(wrong), count(step.came())))
}
