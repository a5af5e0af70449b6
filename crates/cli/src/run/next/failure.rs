//! The failure that a run is about.

use results::conclusion;
use results::finding::{Cause, Loss};
use results::{Run, Second, Step};

/// How many times as large the share of wrong answers is in the last half of a load that makes it grow.
const GROWTH_MIN: f64 = 1.5;

/// The step whose failure the run is about.
pub(super) fn failed(run: &Run) -> Option<&Step> {
    results::verdict::lightest_broken(&run.steps, &run.verdict)
}

pub(super) fn losses(run: &Run) -> Vec<Loss> {
    failed(run).map(|step| conclusion::failings(run.scenario, step)).unwrap_or_default()
}

pub(super) fn cause(run: &Run) -> Option<&Cause> {
    run.verdict.bottleneck.as_ref().map(|found| &found.cause)
}

/// CPU below which a server has hardly anything to do, in percent of one core: a single thread has no more.
const IDLE_PERCENT_MAX: f64 = 10.0;

/// Returns whether a server that was all but idle lost some of the messages of a step, and no other limit broke.
pub(super) fn loses_while_idle(run: &Run, step: &Step) -> bool {
    let losses = conclusion::failings(run.scenario, step);
    let has_lost = step.came() > 0
        && !losses.is_empty()
        && losses.iter().all(|loss| matches!(loss, Loss::Missing { unpublished: None, .. }));
    let used = step.server.as_ref().and_then(|server| server.cpu_percent_mean);
    has_lost && used.is_some_and(|percent| percent < IDLE_PERCENT_MAX)
}

/// Returns whether each message lacks its sender's copy, and no other.
pub(super) fn is_sender_left_out(run: &Run) -> bool {
    losses(run).iter().any(|loss| matches!(loss, Loss::MissingOne { .. }))
}

/// Returns whether the server's process ended.
pub(super) fn has_ended(run: &Run) -> bool {
    matches!(cause(run), Some(Cause::ServerEnded { .. } | Cause::ServerEndedConnecting))
}

/// Returns whether no client was let in and kept, no request answered, or every answer wrong.
pub(super) fn serves_none(run: &Run) -> bool {
    match cause(run) {
        Some(Cause::ServerTookNone { .. }) => true,
        Some(Cause::ServerWrong { wrong, of }) => wrong == of,
        // A message may be one that the server does not know; a request is one to any server of HTTP.
        Some(Cause::ServerAnsweredNone { .. }) => !run.scenario.facts().has_dialects,
        Some(Cause::ServerLostClients { lost, of, .. }) => {
            let has_messages = run.scenario.facts().has_messages;
            lost == of && has_messages && run.steps.iter().all(|step| step.came() == 0)
        }
        _ => false,
    }
}

/// Returns whether fewer clients, or a lower rate, would fare no better with the server as it is.
pub(super) fn is_hopeless(run: &Run) -> bool {
    has_ended(run) || serves_none(run) || is_misunderstood(run) || is_endless(run)
}

/// Returns whether no streamed answer ended while throng waited.
pub(super) fn is_endless(run: &Run) -> bool {
    matches!(cause(run), Some(Cause::ServerStreaming { .. }))
}

/// Returns whether clients were ready, and the server never answered a message of theirs, or in a way that the app's
/// file does not recognise.
pub(super) fn is_misunderstood(run: &Run) -> bool {
    let is_of_file = cause(run).is_some_and(Cause::is_of_file);
    let has_answered = run.steps.iter().any(|step| step.came() > 0);
    let is_silent = |step: &Step| step.is_unanswered() && step.unpublished().is_none();
    let is_silent = !has_answered && failed(run).is_some_and(is_silent);
    run.scenario.facts().has_dialects && (is_of_file || is_silent)
}

/// Returns whether as large a share of the answers was wrong in the first half of the load as in the last: then
/// the load did not make it grow.
pub(super) fn is_wrong_from_start(run: &Run) -> bool {
    let is_wrong = matches!(cause(run), Some(Cause::ServerWrong { .. }));
    let Some(step) = failed(run).filter(|_| is_wrong) else { return false };
    let rows: Vec<&Second> = step.window().map(|(row, _)| row).collect();
    let share = |rows: &[&Second]| {
        let errors: u64 = rows.iter().map(|row| row.errors).sum();
        let received: u64 = rows.iter().map(|row| row.received).sum();
        errors as f64 / received.max(1) as f64
    };
    let (first, last) = rows.split_at(rows.len() / 2);
    // Wrong messages that are no errors leave no trace in the rows.
    share(first) > 0.0 && share(last) <= GROWTH_MIN * share(first)
}
