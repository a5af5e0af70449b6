//! A run from its first step to its exit code.

use std::env;
use std::io::{self, IsTerminal};

use crew::{Course, Crew, Observer, ServerWatch, Shape};
use jiff::Timestamp;
use load::Plan;
use net::machine::Machine;
use report::Style;
use results::limit::Limit;
use results::{Environment, Run, Step, TrustNote, Warmup, verdict};

use crate::args::LoadArgs;
use crate::exit::{Exit, Failure};
use crate::progress::Live;
use crate::sink::Sink;
use crate::target::Target;
use crate::verbs::child;

/// Everything a run needs to know.
pub(crate) struct Request<'a> {
    /// The flags, for what concerns output and limits.
    pub(crate) args: &'a LoadArgs,
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
    /// Whether the course ends at `--limit-rtt`.
    pub(crate) stops_at_rtt: bool,
    /// The server's process, if it runs here.
    pub(crate) server_pid: Option<u32>,
}

/// Finds the server's process: as told, or by who listens at the address.
pub(crate) fn server_pid(args: &LoadArgs, target: &Target) -> Result<Option<u32>, Failure> {
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
    let Request { args, scenario, ref target, ref plan, ref shape, stops_at_rtt, server_pid, .. } = request;
    let limits = limits(args, scenario)?;
    let stop = Limit::parse(&format!("p{}<={}ns", args.limit_percentile, args.limit_rtt), scenario)
        .map_err(|error| Failure::usage("--limit-rtt", error))?;
    let style = Style { percentile: args.limit_percentile, ansi: wants_colour() };
    let mut sink = Sink::new(args.format, style, args.out.clone())?;
    let mut live = Live::new(args.quiet)?;
    let mut run = blank(args, scenario, target, plan, server_pid);
    let mut course = request.course;
    let watch = ServerWatch::new(server_pid);
    let mut crew = Crew::start(plan, shape, watch, child::command)
        .map_err(|e| Failure::could_not("start the workers", e))?;
    let mut warmup = None;
    let clients_max = crate::plan::clients_per_process()? * u64::from(shape.processes);
    let mut out_of_files = false;
    while let Some(order) = course.poll().filter(|_| !live.is_interrupted()) {
        out_of_files = u64::from(order.clients) > clients_max;
        if out_of_files {
            break;
        }
        let step = crew.measure(order, &mut live).map_err(|e| Failure::could_not("go on", e))?;
        live.clear();
        if order.warmup {
            warmup = Some(as_warmup(&step));
            course.handle(&order, true);
            continue;
        }
        let step = judged(
            step,
            warmup.take(),
            run.steps.last(),
            &limits,
            args.limit_percentile,
            live.was_interrupted(),
        );
        let kept_rtt = !stops_at_rtt || stop.check(&step).passed;
        let passed = kept_rtt && step.limits.iter().all(|outcome| outcome.passed);
        let reached = step.counts.connected > 0 || step.clients == 0 || !run.steps.is_empty();
        course.handle(&order, passed && reached);
        run.steps.push(step);
        run.verdict = verdict::conclude(&run.steps);
        if !reached {
            return Err(unreachable(&run));
        }
        sink.step(&run, run.steps.last().expect("just pushed"));
        if sink.is_closed() {
            live.stop();
        }
    }
    crew.finish(&mut live);
    live.clear();
    run.verdict.capacity = course.capacity();
    if out_of_files {
        run.verdict.trust.push(TrustNote(format!(
            "ended by the generator's limit of open files ({clients_max} clients), not by the server: pass --processes"
        )));
    }
    sink.finish(&run)?;
    Ok(exit(args, &run, live.was_interrupted(), course.capacity().is_some()))
}

/// Colours on a terminal, unless the user has had enough of them (no-color.org).
fn wants_colour() -> bool {
    io::stdout().is_terminal() && env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

fn limits(args: &LoadArgs, scenario: &str) -> Result<Vec<Limit>, Failure> {
    let parse =
        |text: &String| Limit::parse(text, scenario).map_err(|error| Failure::usage("--limit", error));
    args.limits.iter().map(parse).collect()
}

/// The step with limits, bottleneck and marks.
fn judged(
    mut step: Step,
    warmup: Option<Warmup>,
    previous: Option<&Step>,
    limits: &[Limit],
    percentile: f64,
    interrupted: bool,
) -> Step {
    step.warmup = warmup;
    step.limits = limits.iter().map(|limit| limit.check(&step)).collect();
    step.bottleneck = Some(verdict::judge(&step, previous));
    step.marks = verdict::marks(&step, percentile / 100.0, interrupted);
    step
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

fn exit(args: &LoadArgs, run: &Run, interrupted: bool, searched: bool) -> Exit {
    if interrupted {
        Exit::Interrupted
    } else if args.strict && verdict::limited_by_generator(&run.steps) {
        Exit::Untrusted
    } else if !searched && run.verdict.limits.iter().any(|outcome| !outcome.passed) {
        Exit::LimitBroken
    } else {
        Exit::Fine
    }
}

fn blank(
    args: &LoadArgs,
    scenario: &'static str,
    target: &Target,
    plan: &Plan,
    server_pid: Option<u32>,
) -> Run {
    let started_unix_ns = Timestamp::now().as_nanosecond().try_into().unwrap_or(0);
    Run {
        id: results::file::run_id(started_unix_ns, fastrand::u64(..)),
        started_unix_ns,
        throng: env!("CARGO_PKG_VERSION").into(),
        command: env::args().collect(),
        scenario: scenario.into(),
        dialect: plan.speech.dialect.clone(),
        seed: Some(plan.seed),
        target: results::Target { name: target.name.clone(), url: target.url.clone(), version: None },
        environment: environment(args, server_pid.is_some()),
        ..Run::default()
    }
}

fn environment(args: &LoadArgs, same_host: bool) -> Environment {
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
