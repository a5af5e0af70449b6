//! A run from its first step to its exit code.

use crew::fleet::FarEyes;
use crew::{Broken, Crew, Scrape, ServerWatch};
use net::proc::Service;
use results::TrustNote;

use crate::args::RunArgs;
use crate::custom;
use crate::desk::Desk;
use crate::exit::{Exit, Failure};
use crate::preflight;
use crate::request::Request;
use crate::restarts::Restarts;
use crate::resume;
use crate::scrape;
use crate::verbs::child;
use crate::weight;

/// Runs all steps, printing and keeping each as it ends.
pub(crate) fn run(request: Request<'_>) -> Result<Exit, Failure> {
    run_restarting(request, Restarts::default())
}

/// The same, while servers are restarted.
pub(crate) fn run_restarting(mut request: Request<'_>, restarts: Restarts) -> Result<Exit, Failure> {
    custom::check_messages(&request.plan, request.scenario)?;
    net::reserve::keep().map_err(|error| Failure::could_not("keep memory for the end of the run", error))?;
    let fleet = request.args.gathering(request.shape.clients_max)?;
    request.check_flags()?;
    preflight::check(&mut request)?;
    let _lock = resume::lock(request.args)?;
    let earlier = resume::earlier(&mut request)?;
    let mut desk = Desk::new(&request)?;
    desk.go_on(earlier);
    desk.live.expect(restarts);
    let Request { args, plan, shape, mut course, server_pid, target, .. } = request;
    let watch = watch(args, server_pid)?;
    let crew = match &fleet {
        Some(wanted) => {
            let is_interrupted = || desk.live.was_interrupted();
            Crew::of_fleet(&plan, wanted, args.fleet.on_loss(), watch, &is_interrupted)
        }
        None => Crew::start(&plan, &shape, watch, child::command),
    };
    let mut crew = crew.map_err(|error| match desk.live.was_interrupted() {
        true => Failure::interrupted(),
        false => Failure::could_not("start the workers", error),
    })?;
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
    if desk.run.scenario == "idle" {
        weight::weigh(crew.watch(), &mut desk.run.verdict);
    }
    desk.run.verdict.trust.extend(crew.scrape().and_then(Scrape::trouble).map(TrustNote));
    match broken {
        None => crew.finish(&mut desk.live),
        Some(_) => drop(crew),
    }
    drop(target); // the built-in server may go now
    let exit = desk.finish(&course)?;
    match broken {
        // Who has asked for the end gets that, with what there is.
        Some(failure) if exit == Exit::Interrupted => _ = failure.report(),
        Some(failure) => return Err(failure),
        None => {}
    }
    Ok(exit)
}

/// What looks at the server: here, or through its target agent.
fn watch(args: &RunArgs, server: Option<Service>) -> Result<ServerWatch, Failure> {
    let Some((agent, nats)) = args.fleet.host()? else { return Ok(ServerWatch::new(server.as_ref())) };
    let eyes = FarEyes::open(&nats, agent).map_err(|error| Failure::could_not("watch the server", error))?;
    Ok(ServerWatch::of_agent(eyes, server.is_some()))
}
