//! Where steps are judged, printed and kept.

use std::env;
use std::io::{self, IsTerminal};
use std::time::Duration;

use crew::{Course, Observer};
use load::StepOrder;
use report::Style;
use results::conclusion::{self, Outcome};
use results::limit::Limit;
use results::{Bottleneck, Finding, Run, Step, TrustNote, Warmup, standing, verdict};

use crate::args::RunArgs;
use crate::calibration::{Calibration, Work};
use crate::event_log::EventLog;
use crate::exit::{Exit, Failure};
use crate::exports::Exports;
use crate::processes;
use crate::progress::Live;
use crate::request::Request;
use crate::resume;
use crate::screen::Screen;
use crate::sink::Sink;

/// A run on its way from step to step.
pub(crate) struct Desk<'a> {
    args: &'a RunArgs,
    limits: Vec<Limit>,
    /// They hold without being asked for.
    standing: Vec<Limit>,
    /// They end the course, but are no failure.
    stop: Vec<Limit>,
    quantile: f64,
    /// The most clients that the processes may have open.
    pub(crate) clients_max: u64,
    warmup: Option<Warmup>,
    work: Work,
    calibration: Option<Calibration>,
    sink: Sink,
    pub(crate) events: Option<EventLog>,
    pub(crate) live: Live,
    pub(crate) run: Run,
    /// What the next step is marked with, if steps before it are of an earlier part.
    resumed: Option<String>,
    /// The generator had no port, file or memory for its clients: more of them would tell nothing of the server.
    gave_out: bool,
}

impl<'a> Desk<'a> {
    pub(crate) fn new(request: &Request<'a>) -> Result<Self, Failure> {
        let Request { args, scenario, .. } = *request;
        let limit =
            |flag, text: &str| Limit::parse(text, scenario).map_err(|error| Failure::usage(flag, error));
        let limits: Vec<Limit> =
            args.limits.iter().map(|text| limit("--limit", text)).collect::<Result<_, _>>()?;
        let allowed_percent = 100.0 * args.allow_loss.unwrap_or(0.0);
        let run = request.blank_run();
        let style = Style { percentile: request.percentile, ansi: wants_colour() };
        let screen = args.tui.then(|| Screen::new(&run, allows_colour())).transpose()?;
        Ok(Self {
            args,
            standing: standing::limits(scenario, &limits, allowed_percent),
            limits,
            stop: request.stop.iter().map(|text| limit("--limit-rtt", text)).collect::<Result<_, _>>()?,
            quantile: request.percentile / 100.0,
            clients_max: processes::clients_per_process()? * u64::from(request.shape.processes),
            warmup: None,
            work: Work::of(&request.plan),
            calibration: Calibration::load(),
            sink: Sink::new(args, style)?,
            events: args.events.as_ref().map(|path| EventLog::create(path, &run)).transpose()?,
            live: Live::new(args.quiet, Exports::new(args, &run)?, screen)?,
            run,
            resumed: None,
            gave_out: false,
        })
    }

    /// The run is an earlier one's second part.
    pub(crate) fn go_on(&mut self, earlier: Option<Run>) {
        let Some(earlier) = earlier else { return };
        self.resumed = resume::mark(&earlier);
        self.sink.print_steps(&earlier.scenario, &earlier.steps);
        self.run = Run { verdict: verdict::conclude(&earlier.steps), ..earlier };
    }

    /// The next step, unless something speaks against it.
    pub(crate) fn poll(&mut self, course: &mut Course) -> Option<StepOrder> {
        let Some(order) = course.poll() else {
            self.run.resume_after = None;
            return None;
        };
        if self.live.is_interrupted() {
            return None;
        }
        if self.gave_out {
            self.run.resume_after = None;
            self.run
                .verdict
                .trust
                .push(TrustNote("ended by what the generator ran out of, not by the server".into()));
            return None;
        }
        if u64::from(order.clients) <= self.clients_max {
            return Some(order);
        }
        self.run.resume_after = None;
        self.run.verdict.trust.push(TrustNote(format!(
            "ended by the generator's limit of open files ({} clients), not by the server: pass {}",
            self.clients_max,
            if self.args.fleet.fleet.is_some() { "more --agents" } else { "--processes" }
        )));
        None
    }

    /// A step has been measured.
    pub(crate) fn handle(
        &mut self,
        course: &mut Course,
        order: &StepOrder,
        step: Step,
    ) -> Result<(), Failure> {
        self.live.clear();
        self.live.handle_measured(&step);
        if order.warmup {
            self.warmup = Some(as_warmup(&step));
            course.handle(order, true);
            return Ok(());
        }
        let step = self.judged(order, step);
        course.handle(order, step.has_passed());
        self.gave_out = !step.has_passed() && step.errors.iter().any(|(_, error)| error.local);
        let reached = step.counts.connected > 0 || !self.run.steps.is_empty();
        if reached && !self.live.was_interrupted() {
            self.run.resume_after = Some(self.run.steps.len() as u32 + 1);
        }
        self.keep(step);
        if reached || self.live.was_interrupted() { Ok(()) } else { Err(unreachable(&self.run)) }
    }

    /// The generator broke in the midst of a step: what was measured until then is kept, and marked.
    pub(crate) fn handle_broken(
        &mut self,
        order: &StepOrder,
        step: Step,
        error: &crew::Error,
    ) -> Result<(), Failure> {
        self.live.clear();
        self.live.handle_measured(&step);
        let mut step = self.judged(order, step);
        let lost =
            "the load was not whole after it, and what a lost worker measured in its last second is lost";
        step.marks.insert(0, format!("cut short: {error}; {lost}"));
        step.standing.push(standing::unfinished());
        step.bottleneck = Some(Finding { bottleneck: Bottleneck::Generator, reason: error.to_string() });
        self.keep(step);
        Err(Failure::could_not("go on", error))
    }

    fn keep(&mut self, step: Step) {
        self.run.steps.push(step);
        self.run.verdict = verdict::conclude(&self.run.steps);
        self.live.handle_step(&self.run);
        self.sink.step(&mut self.run);
        if self.sink.is_closed() {
            self.live.stop();
        }
    }

    /// The step with limits, bottleneck and marks.
    fn judged(&mut self, order: &StepOrder, mut step: Step) -> Step {
        step.warmup = self.warmup.take();
        if let Some(calibration) = &self.calibration {
            calibration.note(self.work.under(order.load), &mut step);
        }
        step.limits = self.limits.iter().map(|limit| limit.check(&step)).collect();
        step.standing = standing::check(&self.standing, &step);
        let stops = self.stop.iter().map(|stop| stop.check(&step));
        // The one that broke says most; otherwise any stands for the others.
        step.stop = stops.min_by_key(|outcome| outcome.passed);
        step.bottleneck = Some(verdict::judge(&step, self.run.steps.last()));
        step.marks = verdict::marks(&step, self.quantile, self.live.was_interrupted());
        step.marks.extend(self.resumed.take());
        step.marks.extend(self.live.finish_restarts());
        step.marks.extend(self.events.as_mut().and_then(EventLog::settle));
        step
    }

    pub(crate) fn finish(mut self, course: &Course) -> Result<Exit, Failure> {
        self.live.clear();
        self.run.verdict.capacity = course.capacity();
        if self.run.scenario == "saturate" {
            self.run.verdict.levels = results::levels::levels(&self.run.steps);
            self.run.verdict.bottleneck = verdict::held_back(&self.run.steps, &self.run.verdict.levels);
        }
        let exit = self.exit();
        if let Some(events) = self.events.take() {
            events.finish(self.args.quiet);
        }
        self.live.finish_exports(&self.run);
        self.sink.finish(&self.run)?;
        self.live.rest(Duration::from_nanos(self.args.cooldown.unwrap_or(0)));
        Ok(exit)
    }

    fn exit(&self) -> Exit {
        if self.live.was_interrupted() {
            return Exit::Interrupted;
        }
        if self.args.strict && conclusion::is_untrusted(&self.run) {
            return Exit::Untrusted;
        }
        match conclusion::conclude(&self.run).outcome {
            Outcome::Broken => Exit::LimitBroken,
            Outcome::Held | Outcome::Nothing => Exit::Fine,
        }
    }
}

/// Colours on a terminal, unless the user has had enough of them (no-color.org).
fn wants_colour() -> bool {
    io::stdout().is_terminal() && allows_colour()
}

fn allows_colour() -> bool {
    env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

fn as_warmup(step: &Step) -> Warmup {
    Warmup {
        clients: step.clients,
        duration_ns: step.duration_ns,
        sent: step.counts.sent,
        received: step.counts.received,
    }
}

/// Not one client could connect: there is nothing to report but why.
fn unreachable(run: &Run) -> Failure {
    let errors = &run.steps[0].errors;
    let main = errors.iter().max_by_key(|(_, error)| error.count);
    let why = main.map_or_else(
        || "no client became usable".to_owned(),
        |(kind, error)| {
            format!("{kind}: {} ({} of {} clients)", error.example, error.count, run.steps[0].clients)
        },
    );
    Failure::could_not(format!("reach {}", run.target.url), why)
}
