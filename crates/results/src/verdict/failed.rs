//! Faults of a server. TCP loses nothing, and no lack of CPU damages an answer or turns a client away: where that
//! broke a limit, it is the reason, whatever else the machine had to do meanwhile.

use stats::Count;

use super::machine;
use super::signs::{clients_or, generator_had_time, lost_clients, overflows, unreachable};
use crate::finding::Cause;
use crate::limit::{Counted, Figure};
use crate::standing;
use crate::step::Step;

const NOT_BACK: Counted = Counted::Count(Count::NotBack);

/// How late the generator may have been at worst, if clients that gave up waiting were the server's to serve.
const LATE_NS_MAX: u64 = 100_000_000;

/// How few files below its limit a server is that has none for a connection: it may keep some for itself.
const FILES_LEFT_MAX: u64 = 2;

/// A server without a file for another connection: it refuses clients, or leaves them in its listen queue.
fn out_of_files(step: &Step) -> Option<Cause> {
    let server = step.server.as_ref()?;
    let (open, most) = server.fds.zip(server.fds_max)?;
    let (of, what) = clients_or(step, step.counts.connects);
    let refused = step.counts.connect_failures + step.counts.connect_timeouts;
    (refused > 0 && open + FILES_LEFT_MAX >= most).then_some(Cause::ServerFiles {
        open,
        most,
        refused,
        of,
        what,
    })
}

/// Clients, then messages; only what broke a limit, because the rest was allowed.
pub(super) fn failed(step: &Step) -> Option<Cause> {
    if !generator_had_time(step) {
        return None;
    }
    let counts = &step.counts;
    // Whoever restarts a server by its parts has clients refused on purpose: attempts that fail are its fault only if
    // clients were not back though there was time.
    if (broke(step, Counted::Unusable) || broke(step, NOT_BACK) && could_connect(step))
        && let Some(cause) = not_connected(step)
    {
        return Some(cause);
    }
    if broke(step, Counted::Count(Count::Disconnects)) && counts.disconnects > 0 {
        return Some(lost_clients(step));
    }
    let wrong = step.wrong();
    let is_wrong = broke(step, Counted::Wrong) && wrong > 0;
    // A damaged message cannot be told from another, and the one that it was is missing.
    let is_damage = is_wrong && 2 * counts.corrupt >= counts.missing;
    if broke(step, Counted::Count(Count::Missing)) && counts.missing > 0 && !is_damage {
        let (missing, due) = (counts.missing, counts.due());
        return Some(match step.is_cut_off() {
            // Parts of these came.
            _ if counts.broken_off + counts.unended > 0 => {
                Cause::ServerFaulty { faulty: missing, of: due, what: "did not come whole".to_owned() }
            }
            true => Cause::ServerUndelivered { missing, due },
            false => Cause::ServerLeftOut { missing, due },
        });
    }
    if broke(step, Counted::Count(Count::LostOffline)) && counts.lost_offline > 0 {
        return Some(Cause::ServerForgot { lost: counts.lost_offline, due: counts.offline_due });
    }
    if broke(step, Counted::Count(Count::PushSkipped)) && counts.push_skipped > 0 {
        let (missing, due) = (counts.push_skipped, counts.pushed + counts.push_skipped);
        return Some(Cause::ServerLeftOut { missing, due });
    }
    if broke(step, Counted::Count(Count::PushDiffering)) && counts.push_differing > 0 {
        return Some(Cause::ServerDiffers { differing: counts.push_differing, of: counts.push_compared });
    }
    if is_wrong {
        return Some(Cause::ServerWrong { wrong, of: step.came() });
    }
    standing::FIGURES.into_iter().find_map(|figure| faulty(step, figure)).or_else(|| errors(step))
}

/// Errors that no lack of CPU makes, where a limit on errors is broken by them alone.
fn errors(step: &Step) -> Option<Cause> {
    let faulty = step.errors_of_no_time();
    let (all, of) = step.counted(Counted::Errors);
    let what = Figure::Counted(Counted::Errors).words();
    (broke(step, Counted::Errors) && faulty > 0 && faulty == all).then_some(Cause::ServerFaulty {
        faulty,
        of,
        what,
    })
}

fn broke(step: &Step, counted: Counted) -> bool {
    step.broken().any(|limit| limit.of.figure() == Some(Figure::Counted(counted)))
}

/// Clients that it turned away or left waiting, if the way to it was there.
fn not_connected(step: &Step) -> Option<Cause> {
    let counts = &step.counts;
    let (of, what) = clients_or(step, counts.connects);
    if let Some(cause) = out_of_files(step) {
        return Some(cause);
    }
    let (refused, waited, overflows) = (counts.connect_failures, counts.connect_timeouts, overflows(step));
    if refused + waited > 0
        && let Some(cause) = unreachable(step)
    {
        return Some(cause);
    }
    // What happened to most: a single refusal does not explain a full queue. A tenth of them is the server's,
    // whatever the others waited for.
    if refused > 0 && (refused >= waited || 10 * refused >= waited && !could_connect(step)) {
        return Some(Cause::ServerTurnedAway { refused, of, what });
    }
    (waited > 0 && could_connect(step)).then_some(Cause::ServerKeptWaiting { waited, of, what, overflows })
}

/// Returns whether those who waited in vain were the server's to serve.
fn could_connect(step: &Step) -> bool {
    let late_ns = step.generator.as_ref().map_or(0, |generator| generator.loop_lag.max_ns());
    // Clients time out by the generator's clock: one that is late gives them up early.
    late_ns < LATE_NS_MAX
        // With no CPU left for it, a server that would accept cannot.
        && !machine::is_filled_by_others(step)
        // A lost SYN comes again a second later, and after two, and four.
        && machine::network(step).is_none()
}

/// A broken standing limit that has no words of its own. Clients that were not back without a failed attempt
/// waited for their protocol's time, and not for the server.
fn faulty(step: &Step, figure: Figure) -> Option<Cause> {
    let Figure::Counted(counted @ Counted::Count(count)) = figure else { return None };
    let (faulty, of) = step.counted(counted);
    let is_wait = matches!(count, Count::JoinFailures | Count::Unacknowledged | Count::Unseen);
    let is_its = faulty > 0 && counted != NOT_BACK && broke(step, counted);
    (is_its && (!is_wait || could_connect(step))).then(|| Cause::ServerFaulty {
        faulty,
        of,
        what: figure.words(),
    })
}
