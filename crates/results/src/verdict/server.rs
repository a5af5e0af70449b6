//! The signs of a server at its limit: it is gone, has no CPU left, falls behind, or waits for something else.

use stats::Timed;

use super::owners::{Owner, Owners};
use super::signs::{
    IDLE_CPU_PERCENT_MAX, OWNED_PERCENT_MIN, SERVER_CPU_PERCENT_MAX, THROTTLED_PERCENT_MAX,
    generator_had_time, is_missed, lost_clients, overflows, server_left_out, unreachable, worker_cpu,
};
use super::{caveats, lag, machine};
use crate::finding::Cause;
use crate::finding::quantity::{Cores, Factor, Ns, PerS, Percent};
use crate::limit::{Figure, LimitOutcome};
use crate::step::Step;

/// Share of an open loop's deliveries after the end of its schedule above which a queue was building up with the
/// server, though the generator was also late.
const LATE_SHARE_MAX: f64 = 0.1;
/// How much faster than the load latency must grow to be a sign.
const GROWTH_MIN: f64 = 1.5;
/// Growth of latency below which it is noise.
const GROWTH_NS_MIN: f64 = 1e6;
/// How many times its own CPU time an answer takes from a server that waits.
const WAIT_FACTOR_MIN: f64 = 4.0;
/// An answer that takes no longer is not waited for.
const WAIT_NS_MIN: f64 = 1e6;
/// A step that is shorter is over within a few ticks of the clock that counts CPU time.
const WAIT_STEP_NS_MIN: u64 = 500_000_000;
/// How many times the TCP connect an answer takes at most that is all network.
const FAR_FACTOR_MAX: f64 = 1.5;

/// A server whose process ended: no generator, however busy, ends another process. A storm may restart it on
/// purpose: then it is the end that counts if nobody was back.
pub(super) fn ended(step: &Step) -> Option<Cause> {
    let ended_ns = step.server.as_ref()?.ended_ns?;
    // Connections that throng drops are no `disconnects`, and end no process: those of a restart all are.
    let is_restart = step.counts.disconnects >= step.figures.recovery.count();
    let is_weathered = is_storm(step) && is_restart && step.back() > 0;
    (!is_weathered).then(|| match ended_ns.checked_sub(step.start_ns) {
        Some(after_ns) => Cause::ServerEnded { after: Ns(after_ns) },
        None => Cause::ServerEndedConnecting,
    })
}

fn is_storm(step: &Step) -> bool {
    !step.figures.recovery.is_empty()
}

/// A server that takes no client, throws its clients out, or never answers, unless it was out of reach: not
/// by the storm of the step, and not because the generator was too busy to answer it.
pub(super) fn gone(step: &Step) -> Option<Cause> {
    let counts = &step.counts;
    // Where the user ended it, some were still waiting for their turn.
    let decided = counts.connects.saturating_sub(counts.connecting);
    // Clients of earlier steps stay connected.
    if decided > 0 && step.connections() == 0 {
        return unreachable(step).or(Some(Cause::ServerTookNone { clients: decided }));
    }
    if is_storm(step) || !generator_had_time(step) {
        return None;
    }
    // More than half: a server that loses some goes on serving the others.
    if 2 * counts.disconnects > step.clients.max(step.connections()) {
        return Some(lost_clients(step));
    }
    // A broadcast has copies, and its sender may have been answered without any.
    let has_answered = counts.expected > counts.sent && !step.figures.service.is_empty();
    (counts.expected > 0 && step.came() == 0 && counts.missing > 0).then(|| match step.unpublished() {
        _ if 2 * counts.unended >= counts.missing => {
            Cause::ServerStreaming { answers: counts.unended, events: counts.events }
        }
        Some(example) => Cause::ServerPublishedNone { example: example.to_owned() },
        None if has_answered => Cause::ServerLeftOut { missing: counts.missing, due: counts.due() },
        None => Cause::ServerAnsweredNone {
            messages: if counts.sent > 0 { counts.sent } else { counts.expected },
        },
    })
}

/// Its CPU, one of its threads, or its quota at the limit.
pub(super) fn saturated(step: &Step) -> Option<Cause> {
    if let Some((share, cores)) = cpu_share(step).filter(|&(share, _)| share >= SERVER_CPU_PERCENT_MAX) {
        return Some(Cause::ServerCpu { cpu: Percent(share), cores });
    }
    let server = step.server.as_ref()?;
    if let Some(percent) = server.throttled_percent.filter(|&percent| percent >= THROTTLED_PERCENT_MAX) {
        return Some(Cause::ServerQuota { throttled: Percent(percent), cores: server.cores.map(Cores) });
    }
    let busiest = server.thread_use.iter().max_by(|a, b| a.cpu_percent().total_cmp(&b.cpu_percent()));
    let thread = busiest.filter(|thread| thread.cpu_percent() >= SERVER_CPU_PERCENT_MAX)?;
    Some(Cause::ServerThread { thread: thread.name.clone(), cpu: Percent(thread.cpu_percent()) })
}

/// Messages due did not come, came late, or took longer than the load explains.
pub(super) fn fell_behind(step: &Step, previous: Option<&Step>) -> Option<Cause> {
    let counts = &step.counts;
    if server_left_out(step) {
        return Some(Cause::ServerLeftOut { missing: counts.missing, due: counts.due() });
    }
    if let (Some(asked), Some(achieved)) = (step.due_per_s(), step.rates.achieved_per_s)
        && step.missed_percent().is_some()
        && is_missed(achieved, asked)
    {
        return Some(Cause::ServerRate { achieved: PerS(achieved), asked: PerS(asked) });
    }
    queued(step).or_else(|| grew(step, previous?))
}

/// The cause where pushes broke a limit that the generator heard in time.
pub(super) fn late_pushes(step: &Step) -> Option<Cause> {
    let is_of_pushes = |limit: &&LimitOutcome| {
        matches!(limit.of.figure(), Some(Figure::Timed(Timed::PushGap | Timed::PushAge, _)))
    };
    let broken = step.broken().find(is_of_pushes).filter(|_| lag::caveat(step).is_none())?;
    Some(Cause::ServerSaysLate { limit: broken.of.to_string() })
}

/// An open loop whose answers outlast its schedule: the server fell behind all along.
fn queued(step: &Step) -> Option<Cause> {
    step.missed_percent()?;
    let late = step.counts.late as f64 / step.counts.expected as f64;
    let is_on_time = caveats::fell_behind_ns(step).is_none() && lag::caveat(step).is_none();
    // A generator that was late has some late answers to its own account.
    let late_max = if is_on_time { 0.0 } else { LATE_SHARE_MAX };
    (late > late_max).then_some(Cause::ServerQueue { late: Percent(100.0 * late) })
}

/// Latency that grew faster than the load while the generator was idle and on time, and no other program had the CPU.
fn grew(step: &Step, previous: &Step) -> Option<Cause> {
    let idle = worker_cpu(step)? < IDLE_CPU_PERCENT_MAX && machine::others_percent(step).is_none();
    let (now, before) = (step.main_figure(), previous.main_figure());
    let on_time = caveats::fell_behind_ns(step).is_none();
    if !idle || !on_time || now.is_empty() || before.is_empty() {
        return None;
    }
    let (now_ns, before_ns) = (now.quantile_ns(0.95) as f64, before.quantile_ns(0.95) as f64);
    let (latency, load) = (now_ns / before_ns.max(1.0), load_growth(step, previous)?);
    // A step with less load than the one before says nothing of growth.
    (load > 1.0 && latency > GROWTH_MIN * load && now_ns - before_ns > GROWTH_NS_MIN)
        .then_some(Cause::ServerGrew { latency: Factor(latency), load: Factor(load) })
}

/// How many times the load of the previous step this one carried.
fn load_growth(step: &Step, previous: &Step) -> Option<f64> {
    let ratio = |now: f64, before: f64| (before > 0.0).then(|| now / before);
    let clients = ratio(step.clients as f64, previous.clients as f64)?;
    let asked =
        step.rates.asked_per_s.zip(previous.rates.asked_per_s).and_then(|(now, before)| ratio(now, before));
    Some(clients.max(asked.unwrap_or(0.0)))
}

/// A closed loop on one machine, where what is under way is with the server (Little's law: as many as the
/// rate times the time of an answer), and both CPUs are idle: it waits for something that is no CPU.
pub(super) fn waits(step: &Step) -> Option<Cause> {
    // Between the events of an answer a server that streams has nothing to do.
    if step.counts.events > 0 {
        return None;
    }
    let is_here = step.machine.as_ref()?.same_host == Some(true);
    let (service_ns, cpu_ns) = (closed_service_ns(step)?, cpu_ns_per_message(step)?);
    let threads = step.server.as_ref()?.thread_use.iter().map(|thread| thread.cpu_percent());
    let busiest = threads.fold(cpu_share(step)?.0, f64::max);
    let is_asleep =
        Owners::of_all(step).is_none_or(|owners| owners.percent(Owner::ServerAsleep) >= OWNED_PERCENT_MIN);
    (is_here
        && is_asleep
        && step.duration_ns >= WAIT_STEP_NS_MIN
        && busiest < IDLE_CPU_PERCENT_MAX
        && service_ns > WAIT_NS_MIN
        && service_ns > WAIT_FACTOR_MIN * cpu_ns)
        .then_some(Cause::ServerAsleep { service: Ns(service_ns as u64), cpu: Ns(cpu_ns as u64) })
}

/// No room in its queue for clients, where connecting is measured. The kernel drops
/// what begins a connection then, and sends it again after a second, and after two, and four.
pub(super) fn short_queue(step: &Step) -> Option<Cause> {
    let is_of_connecting = step.figures.rtt.is_empty() || !step.figures.recovery.is_empty();
    overflows(step).filter(|_| is_of_connecting).map(|overflows| Cause::ServerListenQueue { overflows })
}

/// A closed loop whose answers take as long as the way there and back.
pub(super) fn far(step: &Step) -> Option<Cause> {
    // Of a fleet's machines, none is known to be near or far.
    if !step.fleet.is_empty() || step.machine.as_ref()?.same_host == Some(true) {
        return None;
    }
    let (service_ns, tcp) = (closed_service_ns(step)?, &step.figures.tcp);
    let way_ns = tcp.quantile_ns(0.5) as f64;
    let is_far = !tcp.is_empty() && way_ns > WAIT_NS_MIN && service_ns < FAR_FACTOR_MAX * way_ns;
    is_far.then_some(Cause::NetworkFar { service: Ns(service_ns as u64), way: Ns(way_ns as u64) })
}

/// Mean time of an answer in a closed loop, while the generator was idle.
fn closed_service_ns(step: &Step) -> Option<f64> {
    let is_closed = step.rates.asked_per_s.is_none() && !step.figures.service.is_empty();
    let is_idle = worker_cpu(step).is_some_and(|cpu| cpu < IDLE_CPU_PERCENT_MAX);
    (is_closed && is_idle).then(|| step.figures.service.mean_ns())
}

fn cpu_ns_per_message(step: &Step) -> Option<f64> {
    let per_s = step.rates.achieved_per_s.filter(|&per_s| per_s > 0.0)?;
    Some(step.server.as_ref()?.cpu_percent_mean? / 100.0 * 1e9 / per_s)
}

/// The server's mean CPU as a share of the cores it may use, 0 to 100, and these: its own limit, or else all of the
/// machine that it shares with the generator.
pub(super) fn cpu_share(step: &Step) -> Option<(f64, Cores)> {
    let server = step.server.as_ref()?;
    let shared = || {
        let machine = step.machine.as_ref().filter(|machine| machine.same_host == Some(true))?;
        machine.cores.map(f64::from)
    };
    let cores = server.cores.or_else(shared)?;
    Some((server.cpu_percent_mean? / cores, Cores(cores)))
}
