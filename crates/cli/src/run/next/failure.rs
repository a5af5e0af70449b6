//! The failure that a run is about.

use results::conclusion;
use results::finding::{Cause, Loss};
use results::{Run, Step};

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

/// Returns whether each message lacks one copy, which may be its sender's.
pub(super) fn is_sender_left_out(run: &Run) -> bool {
    losses(run).iter().any(|loss| matches!(loss, Loss::MissingOne { .. }))
}
