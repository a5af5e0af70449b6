//! Live output for other programs: JSON lines, a page for Prometheus, and pushes to a collector.

use std::sync::Arc;

use crew::{Progress, StepPhase};
use results::{Run, Step};

use crate::exit::Failure;
use crate::flags::args::RunArgs;

mod measures;
mod metrics;
mod otlp;
mod prometheus;
mod push;
mod stream;

use measures::Measures;
use metrics::Metrics;
use push::Push;
use stream::Stream;
pub(crate) use stream::is_stdout;

/// All exports of a run.
#[derive(Default)]
pub(crate) struct Exports {
    measures: Measures,
    stream: Option<Stream>,
    metrics: Option<Metrics>,
    push: Option<Push>,
    /// The end of the last second that was told.
    told_ns: Option<u64>,
}

impl Exports {
    /// Opens the exports that the flags ask for, so that one that cannot be opened is known before anything
    /// is measured.
    pub(crate) fn new(args: &RunArgs, run: &Run, goes_on: bool) -> Result<Self, Failure> {
        Ok(Self {
            measures: Measures::new(run),
            stream: args.stream.as_deref().map(|path| Stream::open(path, run, goes_on)).transpose()?,
            metrics: args.metrics.map(Metrics::listen).transpose()?,
            push: args.otlp.as_deref().map(Push::start).transpose()?,
            told_ns: None,
        })
    }

    /// The run begins.
    pub(crate) fn begin(&mut self, run: &Run) {
        if let Some(stream) = &mut self.stream {
            stream.begin(run);
        }
    }

    /// Some time has passed.
    pub(crate) fn handle_progress(&mut self, progress: &Progress) {
        if !progress.is_warmup {
            self.measures.handle_progress(progress);
        }
        if let Some(metrics) = &self.metrics {
            metrics.show(&self.measures);
        }
        // Progress is told several times a second, and a second once.
        let Some(second) = progress.second.as_ref().filter(|second| self.told_ns != Some(second.t_ns)) else {
            return;
        };
        self.told_ns = Some(second.t_ns);
        if let Some(stream) = &mut self.stream {
            stream.second(progress, second);
        }
        if let Some(push) = &self.push {
            push.push(&self.measures);
        }
    }

    /// A step was measured: seconds that have not been sent are sent now. No worker reports after the last
    /// one.
    pub(crate) fn handle_measured(&mut self, step: &Step, is_warmup: bool) {
        let figures = Some(Arc::new(step.figures.explicit_buckets()));
        for second in &step.series {
            if self.told_ns.is_some_and(|told_ns| second.t_ns <= told_ns) {
                continue;
            }
            // By its beginning: a second in which the load ended was one of the load.
            let began_ns = second.t_ns.saturating_sub(1_000_000_000);
            let is_loading = began_ns < step.start_ns + step.duration_ns;
            let phase = if is_loading { StepPhase::Loading } else { StepPhase::Draining };
            self.handle_progress(&Progress {
                phase,
                is_warmup,
                done: 1.0,
                clients: step.clients as u32,
                usable: second.clients,
                sent: step.counts.sent,
                received: step.counts.received,
                errors: step.errors.total(),
                second: Some(second.clone()),
                figures: figures.clone(),
            });
        }
        if !is_warmup {
            self.measures.handle_measured(step);
        }
        if let Some(metrics) = &self.metrics {
            metrics.show(&self.measures);
        }
    }

    /// A step has ended: the last of the run's steps so far.
    pub(crate) fn handle_step(&mut self, run: &Run) {
        if let Some(stream) = &mut self.stream {
            stream.step(run);
        }
    }

    /// Ends the exports after the run, and waits until what was pushed is delivered, or `is_over`. Returns
    /// whether every line of the stream, if there is one, has been read.
    pub(crate) fn finish(self, run: &Run, is_over: &dyn Fn() -> bool) -> bool {
        let is_read = self.stream.is_none_or(|stream| stream.finish(run));
        if let Some(push) = self.push {
            push.finish(&self.measures, is_over);
        }
        is_read
    }
}
