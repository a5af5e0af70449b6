//! The observer of a step: what it is told, and how it ends the step.

use std::fmt;
use std::sync::Arc;

use net::clock;
use stats::Figures;
use stats::explicit_buckets::ExplicitBuckets;

use crate::merge::Merge;

/// The phases of a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StepPhase {
    /// Clients connect.
    #[default]
    Connecting,
    /// They send.
    Loading,
    /// Answers and copies under way are waited for.
    Draining,
    /// They leave.
    Closing,
}

impl StepPhase {
    /// The name in output and streams.
    pub fn name(self) -> &'static str {
        match self {
            StepPhase::Connecting => "connecting",
            StepPhase::Loading => "loading",
            StepPhase::Draining => "draining",
            StepPhase::Closing => "closing",
        }
    }
}

impl fmt::Display for StepPhase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Progress of a step under way.
#[derive(Clone, Debug, Default)]
pub struct Progress {
    /// The phase.
    pub phase: StepPhase,
    /// True if the step is the warm-up, which counts in no metric.
    pub is_warmup: bool,
    /// How far the phase has come, from 0 to 1.
    pub done: f64,
    /// Clients asked for.
    pub clients: u32,
    /// Clients usable.
    pub usable: u64,
    /// Messages sent so far in the step.
    pub sent: u64,
    /// Deliveries received so far.
    pub received: u64,
    /// Errors so far.
    pub errors: u64,
    /// The last second: sent, received, median, 95th and 99th percentile of the main figure (ns).
    pub second: Option<results::Second>,
    /// Latencies of the step so far, once with each new second.
    pub figures: Option<Arc<Figures<ExplicitBuckets>>>,
}

impl Progress {
    /// The progress of the step.
    pub(crate) fn of(merge: &Merge, phase: StepPhase, second: Option<results::Second>) -> Self {
        let totals = merge.totals();
        Self {
            phase,
            is_warmup: merge.is_warmup(),
            done: merge.done(clock::monotonic_ns()),
            clients: merge.clients(),
            usable: merge.usable(),
            sent: totals.counts.sent,
            received: totals.counts.received,
            errors: totals.errors.total(),
            second: second.filter(|_| merge.is_loading()),
            figures: None,
        }
    }

    /// The progress when a second has passed, with the figures so far.
    pub(crate) fn of_second(merge: &Merge, phase: StepPhase, second: results::Second) -> Self {
        let figures = Some(Arc::new(merge.totals().figures.explicit_buckets()));
        Self { figures, ..Self::of(merge, phase, Some(second)) }
    }
}

/// An observer, which gets the progress of a step and may end it.
pub trait Observer {
    /// Notes that the load of a step begins at this moment of the run's clock.
    fn handle_start(&mut self, _go_ns: u64) {}
    /// Takes the progress, several times a second.
    fn handle_progress(&mut self, progress: &Progress);
    /// Returns whether to stop: finish what is under way and report.
    fn is_interrupted(&self) -> bool;
    /// Returns whether to stop at once, with what there is.
    fn is_hurried(&self) -> bool {
        false
    }
}
