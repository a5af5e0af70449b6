//! Losses, errors and slow answers; each from the count that its limit is about.

use stats::{Count, CountOf, Counts, Whole, error_kind};

use crate::finding::quantity::{CutPercent, Kinds, Ns, Number, PerS};
use crate::finding::{Loss, Measured};
use crate::format::cut_percent;
use crate::limit::{Counted, Figure, LimitOutcome, Requirement};
use crate::rates::KEPT_PERCENT_MIN;
use crate::scenario::{Due, Scenario};
use crate::silence;
use crate::standing;
use crate::step::Step;
use crate::unit::Unit;

/// The share of the rate that is left without what was lost that is enough for it to be explained by that.
const EXPLAINED: f64 = 0.9;
/// Messages from which on as many missing copies are no coincidence.
const OWN_COPIES_MIN: u64 = 10;

/// Why a step does not pass: standing limits by what was lost, and the others as they were written.
pub fn failings(scenario: Scenario, step: &Step) -> Vec<Loss> {
    // Missing clients also miss the rate: one of the two is enough, unless much more is missing than they
    // would have sent.
    let is_explained = step.standing.iter().any(|limit| !limit.passed() && !limit.is_of_rate())
        && step.kept_percent().is_none_or(|kept| kept >= EXPLAINED * 100.0 * (1.0 - share_lost(step)));
    let standing = step.standing.iter().filter(|limit| !limit.passed());
    let standing = standing.filter(|limit| !is_explained || !limit.is_of_rate());
    let broken = standing.chain(step.limits.iter().chain(&step.stop).filter(|limit| !limit.passed()));
    broken.map(|limit| failing(scenario, step, limit)).collect()
}

/// A broken limit: what was lost, or the limit and what came.
pub fn failing(scenario: Scenario, step: &Step, limit: &LimitOutcome) -> Loss {
    let is_standing = || step.standing.iter().any(|standing| standing.of == limit.of);
    let found = match &limit.of {
        Requirement::Limit(of) if is_standing() => loss(scenario, step, of.figure()),
        Requirement::Limit(_) | Requirement::Unknown(_) => None,
        Requirement::Finished => Some(Loss::Unfinished),
        Requirement::Load => Some(Loss::NoLoad { duration: Ns(step.duration_ns) }),
        Requirement::Storm => Some(Loss::NoStorm { left: step.counts.disconnects, of: step.connections() }),
    };
    found.unwrap_or_else(|| match (limit.of.to_string(), measured(limit)) {
        (limit, Some(Measured { actual, unit, bound, at_least, without_lag })) => Loss::Limit {
            limit,
            actual: Number(actual),
            unit,
            bound: bound.map(Number),
            at_least,
            without_lag: without_lag.map(Number),
        },
        (limit, None) => Loss::Unmeasured { limit },
    })
}

/// The largest share of what there was that was lost: of clients, connections or messages.
fn share_lost(step: &Step) -> f64 {
    let counts = &step.counts;
    // Each of them is missing from the rate in about this proportion.
    let lost = [
        (step.unusable(), step.clients),
        (counts.disconnects, step.connections()),
        (counts.join_failures, step.joins()),
        (counts.missing, counts.due()),
    ];
    let shares = lost.into_iter().filter(|(part, _)| *part > 0).map(|(part, of)| part as f64 / of as f64);
    shares.fold(0.0, f64::max).min(1.0)
}

/// The loss of everything, in a step that tells nothing about the server: no client connected, or nothing that
/// was due came.
pub fn total(scenario: Scenario, step: &Step) -> Option<Loss> {
    let counts = &step.counts;
    // Clients of earlier steps are counted as connected there.
    let were_there = step.connections().max(step.reached.unwrap_or(0));
    if counts.connects > counts.connecting && were_there == 0 {
        return Some(Loss::Clients {
            missing: step.clients,
            of: step.clients,
            errors: why_not(scenario, step),
        });
    }
    let is_unanswered = counts.sent > 0 && counts.expected > 0 && step.came() == 0;
    let missing = Figure::Counted(Counted::Count(Count::Missing));
    loss(scenario, step, missing).filter(|_| is_unanswered && !step.was_interrupted())
}

/// Everything that was lost or wrong in a step that passed all the same, because it was allowed.
pub(super) fn all(scenario: Scenario, step: &Step) -> Vec<Loss> {
    standing::FIGURES
        .into_iter()
        .filter(|figure| *figure != standing::RATE && step.tells(*figure))
        .filter_map(|figure| loss(scenario, step, figure))
        .collect()
}

/// Copies due to clients while they were away that never came: no limit is about it, for few servers keep it.
pub(super) fn while_away(step: &Step) -> Option<Loss> {
    let (lost, of) = (step.counts.lost_offline, step.counts.offline_due);
    let is_told = step.tells(Figure::Counted(Counted::Count(Count::LostOffline)));
    (lost > 0 && is_told).then_some(Loss::WhileAway { lost, of })
}

/// The value of a limit's metric as sentences have it; `None` if it was not measured.
pub fn actual(limit: &LimitOutcome) -> Option<String> {
    measured(limit).map(|measured| measured.to_string())
}

fn measured(limit: &LimitOutcome) -> Option<Measured> {
    // Counts are whole, and never rounded to their bound.
    let bound = limit.bound().filter(|_| !limit.passed() && limit.unit != Unit::Count);
    let without_lag = limit.without_lag.filter(|_| limit.is_undecided());
    let (actual, unit, at_least) = (limit.actual?, limit.unit, limit.is_at_least());
    Some(Measured { actual, unit, bound, at_least, without_lag })
}

/// The loss by a standing limit's metric; `None` if it is zero.
fn loss(scenario: Scenario, step: &Step, figure: Figure) -> Option<Loss> {
    let counts = &step.counts;
    let what = due(scenario, step).to_owned();
    Some(match figure {
        Figure::Counted(Counted::Unusable) => not_connected(scenario, step)?,
        Figure::Counted(Counted::Count(Count::Disconnects)) => lost(scenario, step)?,
        Figure::Counted(Counted::Count(Count::JoinFailures)) => {
            Loss::Joins { failed: some(counts.join_failures)?, of: step.joins() }
        }
        Figure::Counted(Counted::Count(Count::Unseen)) => {
            Loss::Notices { missing: some(counts.unseen)?, of: counts.seen_due }
        }
        Figure::Counted(Counted::Count(Count::PushSkipped)) => {
            let skipped = some(counts.push_skipped)?;
            Loss::Pushes { missing: skipped, of: counts.pushed + skipped }
        }
        Figure::Counted(Counted::Count(Count::PushDiffering)) => {
            Loss::PushesDiffer { differing: some(counts.push_differing)?, of: counts.push_compared }
        }
        Figure::Counted(Counted::Count(Count::NotBack)) => {
            let of = step.figures.recovery.count().max(counts.cut + counts.disconnects);
            Loss::NotBack { missing: some(counts.not_back)?, of }
        }
        Figure::Counted(Counted::Count(Count::Missing)) => {
            let (missing, of) = (some(counts.missing)?, counts.due());
            let (broken_off, unended) = (counts.broken_off, counts.unended);
            match step.unpublished() {
                _ if broken_off + unended > 0 => Loss::Unended { missing, of, broken_off, unended },
                _ if step.is_cut_off() => Loss::StillToCome { missing, of, what },
                None if is_one_each(step) => Loss::MissingOne { missing, of, what },
                why => Loss::Missing { missing, of, what, unpublished: why.map(str::to_owned) },
            }
        }
        Figure::Counted(Counted::Count(Count::Unacknowledged)) => Loss::Unacknowledged {
            missing: some(counts.unacknowledged)?,
            // A request to publish may have failed before it was sent.
            of: counts.sent.max(counts.unacknowledged),
            unpublished: step.unpublished().filter(|_| counts.missing == 0).map(str::to_owned),
        },
        Figure::Counted(Counted::Count(count)) if count.facts().of == CountOf::Streams => {
            let facts = count.facts();
            let (of, what) = match facts.share_of {
                Some(Whole::Events) => (counts.events, "events"),
                _ => (counts.sent, "answers"),
            };
            let how = facts.words.unwrap_or_default().to_owned();
            Loss::Streams { faulty: some(*counts.get(count))?, of, what: what.to_owned(), how }
        }
        Figure::Counted(Counted::Wrong) => {
            let (wrong, of) = (some(step.wrong())?, step.came());
            match counts.leaked {
                0 => Loss::Wrong { wrong, of, what, example: wrong_answers(step) },
                leaked => Loss::Leaked { wrong, of, what, leaked },
            }
        }
        standing::RATE => missed(scenario, step, what)?,
        _ => return None,
    })
}

/// The value of a rate that was not kept.
fn missed(scenario: Scenario, step: &Step, what: String) -> Option<Loss> {
    let (asked, achieved) = (step.due_per_s()?, step.rates.achieved_per_s?);
    // What was too much is then told by what queued up, not by the rate.
    let is_answered = 100.0 * achieved >= asked * KEPT_PERCENT_MIN;
    let sends = scenario.facts().sends.to_owned();
    let late = step.counts.late;
    Some(match is_answered {
        true if late > 0 => Loss::Queued { late, of: step.counts.expected, what },
        // Messages are acknowledged whose copies do not come.
        true => {
            let kept = CutPercent(cut_percent(step.kept_percent()?));
            Loss::Kept { kept, what, asked: PerS(asked), sends }
        }
        false => Loss::Rate { achieved: PerS(achieved), asked: PerS(asked), sends },
    })
}

/// Clients that did not connect. Where clients come and go, one may fail and connect later, or another in its place.
fn not_connected(scenario: Scenario, step: &Step) -> Option<Loss> {
    let errors = why_not(scenario, step);
    Some(match step.failed_to_come() {
        0 => Loss::Clients { missing: some(step.unusable())?, of: step.clients, errors },
        failed => Loss::Attempts { failed, of: step.counts.connects, errors },
    })
}

/// Connections that ended under the load. Where clients come and go, a client had several.
fn lost(scenario: Scenario, step: &Step) -> Option<Loss> {
    let (lost, of, what) = step.disconnects();
    let lost = some(lost)?;
    Some(match silence::idle_timeout_ns(step) {
        Some(after_ns) => Loss::Idle { lost, of, what, after: Ns(after_ns) },
        None => Loss::Connections { lost, of, what, first: first_loss(scenario, step) },
    })
}

fn some(count: u64) -> Option<u64> {
    (count > 0).then_some(count)
}

/// Returns whether the copy of each message is missing that was due to its sender, and no other. A few messages
/// may lack it by chance.
fn is_one_each(step: &Step) -> bool {
    let Counts { sent, received, missing, missing_own, .. } = step.counts;
    missing == missing_own && missing == sent && sent >= OWN_COPIES_MIN && received > 0
}

/// Deliveries due for a message.
fn due(scenario: Scenario, step: &Step) -> &'static str {
    match scenario.facts().due {
        Due::Copies => "copies",
        Due::Either if step.counts.expected > step.counts.sent => "copies",
        Due::Either | Due::Answers => "answers",
    }
}

/// Errors that kept clients from connecting. An answer of HTTP that refused one is told by its status.
fn why_not(scenario: Scenario, step: &Step) -> Kinds {
    // Errors of connections that were lost later are of the same kinds, and would be named as the reason.
    if step.counts.disconnects > 0 {
        return Kinds::default();
    }
    let connecting = step.errors.iter().filter(|(kind, _)| is_of_clients(scenario, kind));
    let named = connecting.map(|(kind, error)| match error.example.split_once("HTTP ") {
        Some((_, status)) if kind == error_kind::HTTP_STATUS => (format!("HTTP {status}"), error.count),
        _ => (kind.to_owned(), error.count),
    });
    Kinds::sorted(named.collect())
}

/// When the first connection was lost, where nothing else went wrong with connections.
fn first_loss(scenario: Scenario, step: &Step) -> Option<Ns> {
    let counts = &step.counts;
    // An error's first time is that of its kind: of an attempt to connect, it would say nothing of
    // connections.
    let is_sure = counts.connect_failures + counts.connect_timeouts == 0;
    let first_ns =
        step.errors.iter().filter(|(kind, _)| is_of_clients(scenario, kind)).map(|(_, e)| e.first_ns).min();
    first_ns.filter(|_| is_sure).and_then(|first_ns| first_ns.checked_sub(step.start_ns)).map(Ns)
}

/// Returns whether an error is one of the connections of clients that count.
fn is_of_clients(scenario: Scenario, kind: &str) -> bool {
    // A stream is a request's, or a client's whole connection (RFC 8441).
    let is_of_requests = !scenario.facts().has_dialects
        && [error_kind::HTTP2_REFUSED, error_kind::HTTP2_RESET].contains(&kind);
    !is_of_requests && error_kind::is_of_connections(kind)
}

/// The most frequent of the HTTP answers that were not as expected.
fn wrong_answers(step: &Step) -> Option<String> {
    let answers = step.errors.iter().filter(|(kind, _)| error_kind::is_of_answers(kind));
    answers.max_by_key(|(_, error)| error.count).map(|(_, error)| error.example.clone())
}
