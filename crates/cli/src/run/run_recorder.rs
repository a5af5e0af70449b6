//! Records a run and shows it as it grows.

use std::time::Duration;

use crew::Crew;
use report::{Detail, Style};
use results::finding::Caveat;
use results::{Run, Step, verdict};
use store::events::LogFile;

use super::event_log::{self, EventLog};
use super::resume;
use super::sink::Sink;
use crate::exit::{Failure, allows_colour};
use crate::exports::Exports;
use crate::flags::args::RunArgs;
use crate::progress::Live;
use crate::request::Request;
use crate::screen::Screen;
use crate::terminal;

/// A run on its way from step to step, and all that are told about it.
pub(crate) struct RunRecorder<'a> {
    args: &'a RunArgs,
    sink: Sink,
    /// Until the log begins.
    log_file: Option<LogFile>,
    events: Option<EventLog>,
    pub(crate) live: Live,
    pub(crate) run: Run,
    /// The caveat of the next step, if steps before it are of an earlier part.
    resumed: Option<Caveat>,
}

impl<'a> RunRecorder<'a> {
    /// A recorder of what was requested, or for the second part of an `earlier` run.
    pub(crate) fn new(request: &Request<'a>, earlier: Option<Run>) -> Result<Self, Failure> {
        let args = request.args;
        let (goes_on, resumed) = (earlier.is_some(), earlier.as_ref().and_then(resume::caveat));
        // All are told of one run, whichever part of it this is.
        let run = match earlier {
            Some(earlier) => Run { verdict: verdict::conclude(earlier.scenario, &earlier.steps), ..earlier },
            None => request.blank_run(),
        };
        let steps = request.course.left().map(|left| run.steps.len() as u32 + left);
        let screen = args.tui.then(|| Screen::new(&run, steps, allows_colour())).transpose()?;
        let mut recorder = Self {
            args,
            sink: Sink::new(args, &run, steps != Some(1), style(request))?,
            // Opened now, so that a path that cannot be written to is known before the run.
            log_file: args.events.as_deref().map(event_log::open).transpose()?,
            events: None,
            live: Live::new(args.quiet, Exports::new(args, &run, goes_on)?, screen)?,
            run,
            resumed,
        };
        recorder.sink.begin(&recorder.run);
        Ok(recorder)
    }

    /// Begins the run, once its workers stand: files of an earlier run are overwritten only now.
    pub(crate) fn begin(&mut self, crew: &mut Crew) -> Result<(), Failure> {
        if let Some(file) = self.log_file.take() {
            let events = EventLog::begin(file, &self.run)?;
            events.connect(crew);
            self.events = Some(events);
        }
        self.live.begin(&self.run);
        Ok(())
    }

    /// A step was measured.
    pub(crate) fn handle_measured(&mut self, step: &Step, is_warmup: bool) {
        self.live.clear();
        self.live.handle_measured(step, is_warmup);
    }

    /// Keeps a whole step.
    ///
    /// # Errors
    /// It is the first, and not one client could connect: there is nothing to report but why.
    pub(crate) fn keep(&mut self, step: Step) -> Result<(), Failure> {
        // A server that was there before may have been brought down by the load: that is a result.
        let was_reached = step.connections() > 0 || !self.run.steps.is_empty();
        let was_interrupted = step.was_interrupted();
        // A step that the user has cut short is done again by --resume.
        if was_reached && !was_interrupted {
            self.run.resume_after = Some(self.run.steps.len() as u32 + 1);
        }
        self.keep_cut_short(step);
        if was_reached || was_interrupted { Ok(()) } else { Err(unreachable(&self.run)) }
    }

    /// Keeps a step that is not whole: a resumed run does it again.
    pub(crate) fn keep_cut_short(&mut self, mut step: Step) {
        step.caveats.extend(self.resumed.take());
        step.caveats.extend(self.live.finish_restarts());
        step.caveats.extend(self.events.as_mut().and_then(EventLog::end_step));
        self.run.steps.push(step);
        self.run.verdict = verdict::conclude(self.run.scenario, &self.run.steps);
        self.live.handle_step(&self.run);
        self.sink.step(&mut self.run);
        if self.sink.is_closed() {
            self.live.stop();
        }
    }

    /// There are no more steps: nothing is left to resume.
    pub(crate) fn handle_over(&mut self, note: Option<Caveat>) {
        self.run.resume_after = None;
        self.run.verdict.caveats.extend(note.map(Into::into));
    }

    /// Finishes the run, whose verdict is known. Returns whether the user has asked for the end by now.
    pub(crate) fn finish(mut self) -> Result<bool, Failure> {
        if let Some(events) = self.events.take() {
            events.finish(self.args.quiet);
        }
        self.sink.handle_end(&self.run);
        // They may be slow, or not there: the results are printed and kept by now.
        let is_read = self.live.finish_exports(&self.run);
        self.sink.handle_streamed(is_read);
        self.sink.finish()?;
        // While a reader was waited for, maybe.
        let was_interrupted = self.live.was_interrupted();
        self.live.rest(Duration::from_nanos(self.args.cooldown.unwrap_or(0)));
        Ok(was_interrupted)
    }
}

/// How text looks on what standard output is.
fn style(request: &Request<'_>) -> Style {
    let words = request.args.format.words(request.percentile).unwrap_or(request.words);
    let detail = match (request.args.quiet, request.args.verbose) {
        (true, _) => Detail::Result,
        (false, true) => Detail::Full,
        (false, false) => Detail::Usual,
    };
    Style { detail, words, ..terminal::style() }
}

/// Makes the failure of a run in which no client could connect: only the cause is reported.
fn unreachable(run: &Run) -> Failure {
    let errors = &run.steps[0].errors;
    let main = errors.iter().max_by_key(|(_, error)| error.count);
    let clients = run.steps[0].clients;
    let (kind, why) = match main {
        Some((kind, error)) => {
            (kind, format!("{kind}: {} ({} of {clients} clients)", error.example, error.count))
        }
        None => ("nobody", "no client connected".to_owned()),
    };
    let what = format!("reach {}", run.target.url);
    let failure = match main.is_some_and(|(_, error)| error.local) {
        true => Failure::of_generator("reach", what, why),
        false => Failure::could_not("reach", what, why),
    };
    failure.because(kind)
}
