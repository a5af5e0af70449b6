//! A run from its first step to its exit code.

use std::env;
use std::io::{self, IsTerminal};
use std::time::Duration;

use crew::{Broken, Course, Crew, Observer, Scrape, ServerWatch, Shape};
use jiff::Timestamp;
use load::{Plan, StepOrder};
use net::machine::Machine;
use report::Style;
use results::limit::Limit;
use results::{Environment, Run, Step, TrustNote, Warmup, verdict};

use crate::args::RunArgs;
use crate::calibration::{Calibration, Work};
use crate::custom;
use crate::event_log::EventLog;
use crate::exit::{Exit, Failure};
use crate::exports::Exports;
use crate::processes;
use crate::progress::Live;
use crate::restarts::Restarts;
use crate::scrape;
use crate::screen::Screen;
use crate::sink::Sink;
use crate::target::Target;
use crate::verbs::child;

/// Everything a run needs to know.
pub(crate) struct Request<'a> {
    /// The flags, for what concerns output and limits.
    pub(crate) args: &'a RunArgs,
    /// The verb.
    pub(crate) scenario: &'static str,
    /// Its server.
    pub(crate) target: Target,
    /// What the workers do.
    pub(crate) plan: Plan,
    /// Processes and threads.
    pub(crate) shape: Shape,
    /// The levels of load.
    pub(crate) course: Course,
    /// Limits that end the course, or the level, but are no failure.
    pub(crate) stop: Vec<String>,
    /// The percentile that limits and the first line of a step look at.
    pub(crate) percentile: f64,
    /// The server's process, if it runs here.
    pub(crate) server_pid: Option<u32>,
}

/// Finds the server's process: as told, or by who listens at the address.
pub(crate) fn server_pid(args: &RunArgs, target: &Target) -> Result<Option<u32>, Failure> {
    match args.server_pid {
        Some(pid) if net::affinity::cpus_of(pid) == 0 => {
            Err(Failure::usage("--server-pid", format!("there is no process {pid}")))
        }
        Some(pid) => Ok(Some(pid)),
        None if target.built_in_pid().is_some() => Ok(target.built_in_pid()),
        None => {
            let listening = target.addrs().find_map(|addr| net::proc::pid_listening_on(&addr).ok().flatten());
            Ok(listening.map(net::proc::head_of))
        }
    }
}

/// Runs all steps, printing and keeping each as it ends.
pub(crate) fn run(request: Request<'_>) -> Result<Exit, Failure> {
    run_restarting(request, Restarts::default())
}

/// The same, while servers are restarted.
pub(crate) fn run_restarting(request: Request<'_>, restarts: Restarts) -> Result<Exit, Failure> {
    custom::check_messages(&request.plan, request.scenario)?;
    let fleet = request.args.gathering(request.shape.clients_max)?;
    let mut desk = Desk::new(&request)?;
    desk.live.expect(restarts);
    let Request { args, plan, shape, mut course, server_pid, target, .. } = request;
    let watch = ServerWatch::new(server_pid);
    let crew = match &fleet {
        Some(wanted) => Crew::of_fleet(&plan, wanted, args.fleet.on_loss(), watch),
        None => Crew::start(&plan, &shape, watch, child::command),
    };
    let mut crew = crew.map_err(|error| Failure::could_not("start the workers", error))?;
    desk.clients_max = crew.clients_max_of_fleet().unwrap_or(desk.clients_max);
    if let Some(events) = &desk.events {
        events.connect(&mut crew);
    }
    if let Some(source) = &request.args.scrape {
        crew.set_scrape(scrape::start(source, &request.args.scrape_only)?);
    }
    let mut broken = None;
    while let Some(order) = desk.poll(&mut course) {
        let outcome = match crew.measure(order, &mut desk.live) {
            Ok(step) => desk.handle(&mut course, &order, step),
            Err(Broken { error, step }) => desk.handle_broken(&order, *step, &error),
        };
        if let Err(failure) = outcome {
            // What was measured until then is still worth printing.
            broken = Some(failure);
            break;
        }
    }
    let memory = stats::fit::line(crew.watch().growth());
    desk.run.verdict.memory_per_client = memory.filter(|_| desk.run.scenario == "idle");
    desk.run.verdict.trust.extend(crew.scrape().and_then(Scrape::trouble).map(TrustNote));
    match broken {
        None => crew.finish(&mut desk.live),
        Some(_) => drop(crew),
    }
    drop(target); // the built-in server may go now
    let exit = desk.finish(&course)?;
    broken.map_or(Ok(exit), Err)
}

/// Where steps are judged, printed and kept.
struct Desk<'a> {
    args: &'a RunArgs,
    limits: Vec<Limit>,
    /// They end the course, but are no failure.
    stop: Vec<Limit>,
    quantile: f64,
    /// The most clients that the processes may have open.
    clients_max: u64,
    warmup: Option<Warmup>,
    work: Work,
    calibration: Option<Calibration>,
    sink: Sink,
    events: Option<EventLog>,
    live: Live,
    run: Run,
}

impl<'a> Desk<'a> {
    fn new(request: &Request<'a>) -> Result<Self, Failure> {
        let Request { args, scenario, .. } = *request;
        let limit =
            |flag, text: &str| Limit::parse(text, scenario).map_err(|error| Failure::usage(flag, error));
        let run = blank(request);
        let style = Style { percentile: request.percentile, ansi: wants_colour() };
        let screen = args.tui.then(|| Screen::new(&run, allows_colour())).transpose()?;
        Ok(Self {
            args,
            limits: args.limits.iter().map(|text| limit("--limit", text)).collect::<Result<_, _>>()?,
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
        })
    }

    /// The next step, unless something speaks against it.
    fn poll(&mut self, course: &mut Course) -> Option<StepOrder> {
        let order = course.poll().filter(|_| !self.live.is_interrupted())?;
        if u64::from(order.clients) <= self.clients_max {
            return Some(order);
        }
        self.run.verdict.trust.push(TrustNote(format!(
            "ended by the generator's limit of open files ({} clients), not by the server: pass {}",
            self.clients_max,
            if self.args.fleet.fleet.is_some() { "more --agents" } else { "--processes" }
        )));
        None
    }

    /// A step has been measured.
    fn handle(&mut self, course: &mut Course, order: &StepOrder, step: Step) -> Result<(), Failure> {
        self.live.clear();
        if order.warmup {
            self.warmup = Some(as_warmup(&step));
            course.handle(order, true);
            return Ok(());
        }
        let step = self.judged(order, step);
        let goes_on = step.stop.as_ref().is_none_or(|outcome| outcome.passed);
        course.handle(order, goes_on && step.limits.iter().all(|outcome| outcome.passed));
        let reached = step.counts.connected > 0 || !self.run.steps.is_empty();
        self.keep(step);
        if reached { Ok(()) } else { Err(unreachable(&self.run)) }
    }

    /// The generator broke in the midst of a step: what was measured until then is kept, and marked.
    fn handle_broken(&mut self, order: &StepOrder, step: Step, error: &crew::Error) -> Result<(), Failure> {
        self.live.clear();
        let mut step = self.judged(order, step);
        let lost = "what it measured in its last second is lost, and the load was not whole after it";
        step.marks.insert(0, format!("cut short: {error}; {lost}"));
        self.keep(step);
        Err(Failure::could_not("go on", error))
    }

    fn keep(&mut self, step: Step) {
        self.run.steps.push(step);
        self.run.verdict = verdict::conclude(&self.run.steps);
        self.live.handle_step(&self.run);
        self.sink.step(&self.run);
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
        let stops = self.stop.iter().map(|stop| stop.check(&step));
        // The one that broke says most; otherwise any stands for the others.
        step.stop = stops.min_by_key(|outcome| outcome.passed);
        step.bottleneck = Some(verdict::judge(&step, self.run.steps.last()));
        step.marks = verdict::marks(&step, self.quantile, self.live.was_interrupted());
        step.marks.extend(self.live.finish_restarts());
        step.marks.extend(self.events.as_mut().and_then(EventLog::settle));
        step
    }

    fn finish(mut self, course: &Course) -> Result<Exit, Failure> {
        self.live.clear();
        self.run.verdict.capacity = course.capacity();
        if self.run.scenario == "saturate" {
            self.run.verdict.levels = results::levels::levels(&self.run.steps);
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
        let verdict = &self.run.verdict;
        if self.live.was_interrupted() {
            Exit::Interrupted
        } else if self.args.strict && verdict::limited_by_generator(&self.run.steps) {
            Exit::Untrusted
        } else if verdict.capacity.is_none() && verdict.limits.iter().any(|outcome| !outcome.passed) {
            Exit::LimitBroken
        } else {
            Exit::Fine
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

/// The run before its first step.
fn blank(request: &Request<'_>) -> Run {
    let Request { args, scenario, target, plan, server_pid, .. } = request;
    let started_unix_ns = Timestamp::now().as_nanosecond().try_into().unwrap_or(0);
    Run {
        id: results::file::run_id(started_unix_ns, fastrand::u64(..)),
        started_unix_ns,
        throng: env!("CARGO_PKG_VERSION").into(),
        command: env::args().collect(),
        scenario: (*scenario).into(),
        dialect: plan.speech.dialect_name(),
        seed: Some(plan.seed),
        target: results::Target { name: target.name.clone(), url: target.url.clone(), version: None },
        environment: environment(args, server_pid.is_some()),
        ..Run::default()
    }
}

fn environment(args: &RunArgs, same_host: bool) -> Environment {
    let machine = Machine::read();
    Environment {
        cpu: machine.cpu_model,
        cores: Some(machine.cores as u32),
        memory_bytes: Some(machine.memory_bytes),
        kernel: Some(machine.kernel),
        fd_limit: Some(machine.fd_limit_soft),
        generator_cpus: args.pin.clone(),
        same_host: Some(same_host),
        ..Environment::default()
    }
}
