//! Slowness that anybody would notice in a load that passed, without having set a limit on it.

use stats::Timed;

use crate::finding::Cause;
use crate::format::{counted, duration};
use crate::step::Step;
use crate::verdict::{self, Owners, Stalls};

/// A second: a page that answers later has lost its reader's train of thought (Nielsen, "Response Times", 1993).
const SLOW_NS: u64 = 1_000_000_000;
/// Half of that, for what a third of all messages take.
const SLOW_FOR_A_THIRD_NS: u64 = 500_000_000;

/// A server that stood still, answers that stalled, a p99 over a second, or a third of the messages half a second late.
pub(super) fn of(step: &Step) -> Option<String> {
    if let Some(Cause::ServerStalled { longest, .. }) = step.bottleneck.as_ref().map(|found| &found.cause) {
        return Some(format!("the server stood still for {}", duration(longest.0)));
    }
    // A closed loop whose machine is full has another cause, and its clients waited as long.
    if let Some(Stalls { times, longest_ns, .. }) = verdict::stalls(step) {
        let what = if step.figures.delivery.is_empty() { "answers" } else { "deliveries" };
        return Some(format!(
            "{what} stalled {}, for up to {}",
            counted(times, "time"),
            duration(longest_ns)
        ));
    }
    let paused_ns = step.figures.gap.max_ns();
    if step.counts.stalls > step.counts.stalls_here && paused_ns > SLOW_FOR_A_THIRD_NS {
        // Of all, as the shares of their owners are.
        let stalled = format!("answers stalled {}", counted(step.counts.stalls, "time"));
        // The longest gap may be one of the generator's.
        let stalled = match step.counts.stalls_here {
            0 => format!("{stalled}, for up to {}", duration(paused_ns)),
            _ => stalled,
        };
        let owners = Owners::of_stalls(step).map(|owners| format!(" ({})", owners.told(step)));
        return Some(stalled + &owners.unwrap_or_default());
    }
    // The round trip of an answer that comes in pieces is as long as it is: its reader waits for the first.
    let told = [Timed::First, Timed::Rtt, Timed::Delivery];
    let timed = told.into_iter().find(|timed| !step.figures.get(*timed).is_empty())?;
    let (name, samples) = (timed.words(), step.figures.get(timed));
    // A third is above this quantile.
    let [third, p99] = [2.0 / 3.0, 0.99].map(|q| samples.quantile_ns(q));
    match (third > SLOW_FOR_A_THIRD_NS, p99 > SLOW_NS) {
        (true, _) => Some(format!("the {name} of one message in three took over {}", duration(third))),
        (false, true) => {
            // Some of these never came.
            let bound = if step.is_open(timed, 0.99) { "at least " } else { "" };
            Some(format!("the {name} p99 was {bound}{}", duration(p99)))
        }
        (false, false) => None,
    }
}
