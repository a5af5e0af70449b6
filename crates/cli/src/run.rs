//! A run from its first step to its exit code.

mod agenda;
mod event_log;
mod judge;
pub(crate) mod next;
mod resume;
mod run_recorder;
mod sink;
mod weight;

use crew::{Broken, Crew, Scrape, ServerWatch};
use fleet::{AgentSelection, RemoteServerReader};
use net::proc::Service;
use net::socket::Addr;
use results::Scenario;

use agenda::{Agenda, Next};
use judge::Judge;
use run_recorder::RunRecorder;

use crate::app_file;
use crate::exit::{Exit, Failure, variant};
use crate::flags::{compression, flap, scrape};
use crate::hidden;
use crate::preflight;
use crate::request::Request;
use crate::restarts::Restarts;
use crate::stderr;

/// Runs all steps, printing and keeping each as it ends.
pub(crate) fn run(request: Request<'_>) -> Result<Exit, Failure> {
    run_restarting(request, Restarts::default())
}

/// Runs all steps while servers are restarted.
pub(crate) fn run_restarting(mut request: Request<'_>, restarts: Restarts) -> Result<Exit, Failure> {
    // What can be refused is refused before any client connects.
    app_file::check_messages(&request.plan, request.scenario)?;
    app_file::check_visits(&request.plan, request.scenario)?;
    net::reserve::keep()
        .map_err(|error| Failure::of_generator("keep_memory", "keep memory for the end of the run", error))?;
    let fleet = request.args.gathering(request.shape.clients)?;
    let limits = request.limits()?;
    let keeps_windows = request.args.compression.keeps_windows();
    let clients_max = request.plan.clients_max.map(u64::from);
    let windows = compression::cost(request.plan.client_spec.deflate, clients_max);
    if let Some(cost) = windows.filter(|_| !request.args.quiet) {
        stderr::line(format_args!("throng: {cost}"));
    }
    preflight::check(&mut request)?;
    let _lock = resume::lock(request.args)?;
    let earlier = resume::earlier(&mut request)?;

    let mut judge = Judge::new(&request, limits);
    let mut recorder = RunRecorder::new(&request, earlier)?;
    recorder.live.expect(restarts);
    let mut crew = start_crew(&request, fleet.as_ref(), &recorder)?;
    let Request { args, plan, course, shape, target, .. } = request;
    let mut agenda = Agenda::new(course, args, &shape, plan.links(), crew.clients_max_of_fleet())?;
    recorder.begin(&mut crew)?;

    // An error waits: what was measured before it is concluded, printed and kept first.
    let measured = measure(&mut agenda, &mut crew, &mut judge, &mut recorder);

    let held =
        recorder.run.steps.last().and_then(|step| Some(step.usable?.saturating_sub(step.counts.disconnects)));
    if recorder.run.scenario == Scenario::Idle && recorder.run.steps.iter().any(|step| step.usable > Some(0))
    {
        weight::weigh(crew.watch(), held.unwrap_or(0), keeps_windows, &mut recorder.run.verdict);
    }
    if plan.flap.is_some() {
        recorder.run.verdict.caveats.extend(flap::why_nothing_is_said(&recorder.run.steps).map(Into::into));
    }
    recorder.run.verdict.caveats.extend(crew.scrape().and_then(Scrape::trouble).map(Into::into));
    match &measured {
        Ok(()) => crew.finish(&mut recorder.live),
        // Workers that have failed are not asked to close their connections in good order.
        Err(_) => drop(crew),
    }
    drop(target); // the built-in server may go now
    recorder.live.clear();
    judge::conclude(&mut recorder.run, agenda.course());
    let exit = Exit::of(&recorder.run, args.strict);
    let was_interrupted = match (recorder.finish(), &measured) {
        (Ok(was_interrupted), _) => was_interrupted,
        // Both are told, and the exit code is that of what broke the run.
        (Err(unkept), Err(_)) => {
            unkept.report();
            false
        }
        (Err(unkept), Ok(())) => return Err(unkept),
    };
    match measured {
        // A user who interrupts gets the end, with what there is.
        Err(failure) if was_interrupted => _ = failure.report(),
        measured => measured?,
    }
    let exit = if was_interrupted { Exit::Interrupted } else { exit };
    exit.tell();
    Ok(exit)
}

/// Starts the workers, here or on the agents of a fleet, and connects the target's metrics.
fn start_crew(
    request: &Request<'_>,
    fleet: Option<&AgentSelection>,
    recorder: &RunRecorder<'_>,
) -> Result<Crew, Failure> {
    let Request { args, plan, shape, .. } = request;
    let watch = watch(request)?;
    let is_interrupted = || recorder.live.was_interrupted();
    let crew = match fleet {
        Some(wanted) => fleet::start_crew(plan, wanted, args.fleet.on_loss(), watch, &is_interrupted)
            .map_err(without_workers),
        None => Crew::start(plan, shape, watch, hidden::child).map_err(without_workers),
    };
    let mut crew = crew.map_err(|failure| if is_interrupted() { Failure::interrupted() } else { failure })?;
    if let Some(source) = &args.scrape {
        crew.set_scrape(scrape::start(source, &args.scrape_only)?);
    }
    Ok(crew)
}

/// The failure to start workers, by a crew's or a fleet's error.
fn without_workers(error: impl std::error::Error) -> Failure {
    let reason = variant(&error);
    Failure::of_generator("start_workers", "start the workers", error).because(reason)
}

/// Measures, judges and keeps step after step. What was kept before an error is still worth printing.
fn measure(
    agenda: &mut Agenda,
    crew: &mut Crew,
    judge: &mut Judge,
    recorder: &mut RunRecorder<'_>,
) -> Result<(), Failure> {
    loop {
        let order = match agenda.poll(recorder.live.is_stopping()) {
            Next::Step(order) => order,
            Next::Over(note) => {
                recorder.handle_over(note);
                return Ok(());
            }
            Next::Interrupted => return Ok(()),
        };
        let (step, error) = match crew.measure(order, &mut recorder.live) {
            Ok(step) => (step, None),
            Err(Broken { error, step }) => (*step, Some(error)),
        };
        // It is neither judged nor kept, and no export counts it.
        let is_warmup = error.is_none() && order.warmup;
        recorder.handle_measured(&step, is_warmup);
        if is_warmup {
            judge.handle_warmup(&step);
            agenda.handle_warmup(&order);
            continue;
        }
        let step = judge.judge(step, &order, recorder.run.steps.last());
        if let Some(error) = error {
            recorder.keep_cut_short(judge::cut_short(step, &error));
            let reason = variant(&error);
            return Err(Failure::of_generator("go_on", "go on", error).because(reason));
        }
        // Of a step that the user ended, nothing follows for the next.
        if !step.was_interrupted() {
            agenda.handle(&order, &step);
        }
        recorder.keep(step)?;
    }
}

/// Watches the server: here, or through its target agent.
fn watch(request: &Request<'_>) -> Result<ServerWatch, Failure> {
    let (args, server) = (request.args, request.server_pid.as_ref());
    let is_here = request.target.is_here(server);
    if let Some((agent, nats)) = args.fleet.host()? {
        let reader = RemoteServerReader::open(&nats, agent).map_err(|error| {
            let reason = variant(&error);
            Failure::of_generator("watch_server", "watch the server", error).because(reason)
        })?;
        return Ok(ServerWatch::of_agent(reader, is_here));
    }
    let mut watch = ServerWatch::new(server, is_here);
    if server.is_some() && args.server_pid.is_none() {
        let addrs: Vec<Addr> = request.target.addrs().collect();
        // A server that restarts has another process.
        watch.look_again(move || Service::listening_on(addrs.iter().cloned()).ok().flatten());
    }
    Ok(watch)
}
