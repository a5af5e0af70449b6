//! Reasons for the end of a run that are not the server's: generator, machine, limit of open files.

use results::{Bottleneck, Run, Step};
use stats::error_kind;

/// The share of its open files used by a server that can open no more: it leaves some for itself.
const FILES_SHARE_MIN: f64 = 0.97;

/// Returns whether `by` held the run back.
pub(crate) fn is_limited_by(run: &Run, by: Bottleneck) -> bool {
    run.verdict.bottleneck.as_ref().is_some_and(|found| found.bottleneck == by)
}

/// Returns whether what ended the run is that a process may open no more files: the generator's, which says
/// so, or the server's, of which one may be there to start the others.
pub(crate) fn is_at_file_limit(run: &Run) -> bool {
    let Some(step) = first_full(run) else { return false };
    let of_generator =
        step.errors.iter().any(|(kind, error)| error.local && kind == error_kind::TOO_MANY_FILES);
    let of_server = || {
        let server = step.server.as_ref()?;
        let environment = &run.environment;
        let limit = server.fds_max.or_else(|| {
            // Each process has a limit of its own; the first may be there to start the others, and hold
            // nothing.
            let workers = server.processes?.saturating_sub(1).max(1);
            // It inherited the generator's, unless it was started on another machine.
            let inherited = environment.fd_limit.filter(|_| environment.same_host == Some(true))?;
            Some(inherited * workers)
        });
        Some(server.fds? as f64 >= FILES_SHARE_MIN * limit? as f64)
    };
    of_generator || of_server().unwrap_or_default()
}

/// The step that ended the run because clients were not let in.
pub(crate) fn first_full(run: &Run) -> Option<&Step> {
    let is_refuted = |step: &Step| results::verdict::is_refuted(&run.steps, &run.verdict, step);
    let failed = run.steps.iter().find(|step| !step.has_passed() && !is_refuted(step));
    failed.filter(|step| step.unusable() > 0)
}
