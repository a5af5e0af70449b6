//! Who held a step back: the server, the generator, the machine, the network, or nobody.
//!
//! Rules (METHODOLOGY "Verdict"), the first that holds decides, but for a server that lost most of its clients to a
//! generator with time to spare: what else is seen then comes of that.
//! 1. machine: one host for both, its CPUs all but idle, and the server using its part of them;
//! 2. generator: a worker's CPU at its limit, loop lag or send lag that shows in the rtt, or messages not sent in
//!    time while the server was idle;
//! 3. server: no client usable, its CPU or one of its threads at its limit, answers not given or only after the schedule's end, or
//!    latency that grew faster than the load while the generator was idle;
//! 4. network: a link at its limit, or segments sent again;
//! 5. none.
//!
//! The generator comes before the server: in doubt the figures are not the server's.

use crate::judgement::{Bottleneck, Finding};
use crate::step::Step;

mod conclude;
mod doubts;
mod marks;

pub use conclude::{conclude, held_back, lightest_broken, limited_by_generator};
pub use marks::{marks, others_percent};

/// CPU of the server, or of one of its threads, that counts as all of it.
pub const SERVER_CPU_PERCENT_MAX: f64 = 95.0;
/// CPU of a worker that counts as all of it.
pub const WORKER_CPU_PERCENT_MAX: f64 = 90.0;
/// Idle CPU of a machine below which there is none left.
pub const MACHINE_IDLE_PERCENT_MIN: f64 = 5.0;
/// The server's part of a busy machine below which it is not the one that fills it.
pub const SERVER_PART_PERCENT_MIN: f64 = 10.0;
/// Share of the generator's calibrated ceiling that counts as all of it.
pub const CEILING_PERCENT_MAX: f64 = 90.0;
/// Use of a network link that counts as all of it.
pub const NETWORK_PERCENT_MAX: f64 = 90.0;
/// Segments sent again that make a network the suspect.
pub const RETRANSMIT_PERCENT_MAX: f64 = 1.0;
/// Lag of the generator below which it never matters.
pub const LAG_NS_MIN: u64 = 1_000_000;
/// Lag of the generator, as a share of the rtt, above which it shows.
pub const LAG_SHARE_MAX: f64 = 0.1;
/// A rate missed by more than this share is missed.
pub const RATE_SHARE_MISSED: f64 = 0.01;
/// Share of an open loop's deliveries after the end of its schedule above which a queue was building up.
pub const LATE_SHARE_MAX: f64 = 0.1;
/// CPU below which the generator or the server is idle.
pub const IDLE_CPU_PERCENT_MAX: f64 = 50.0;
/// CPU of a machine that neither server nor generator accounts for, above which others are named. Interrupts of the
/// network, which belong to nobody, stay below it.
pub const OTHERS_PERCENT_MAX: f64 = 25.0;
/// How much faster than the load latency must grow to be a sign.
pub const GROWTH_MIN: f64 = 1.5;

/// Judges a step by what was used during it; `previous` is the step before it: only a lighter
/// one says anything.
pub fn judge(step: &Step, previous: Option<&Step>) -> Finding {
    let rules: [(Bottleneck, Option<String>); 5] = [
        (Bottleneck::Server, lost(step)),
        (Bottleneck::Machine, machine(step)),
        (Bottleneck::Generator, generator(step)),
        (Bottleneck::Server, server(step, previous)),
        (Bottleneck::Network, network(step)),
    ];
    let found =
        rules.into_iter().find_map(|(bottleneck, reason)| Some(Finding { bottleneck, reason: reason? }));
    found.unwrap_or_else(|| Finding { bottleneck: Bottleneck::None, reason: nobody(step) })
}

/// A server that is gone, or throws its clients out: not by the storm of the step, and not because the generator was too
/// busy to answer it.
fn lost(step: &Step) -> Option<String> {
    let busiest = step.generator.as_ref().and_then(|generator| generator.worker_cpu_percent_max);
    let had_time = busiest.is_none_or(|cpu| cpu < WORKER_CPU_PERCENT_MAX);
    let (all, lost) = (step.clients, step.counts.disconnects);
    let is_storm = !step.figures.recovery.is_empty();
    (had_time && !is_storm && 2 * lost > all).then(|| format!("it lost {lost} of {all} clients"))
}

fn machine(step: &Step) -> Option<String> {
    let machine = step.machine.as_ref()?;
    let idle = machine.idle_percent_mean.filter(|&idle| idle < MACHINE_IDLE_PERCENT_MIN)?;
    let all_percent = 100.0 * f64::from(machine.cores?);
    let server_part =
        step.server.as_ref().and_then(|server| server.cpu_percent_mean).map(|cpu| 100.0 * cpu / all_percent);
    let shared = machine.same_host? && server_part.is_none_or(|part| part >= SERVER_PART_PERCENT_MIN);
    let others =
        marks::others_percent(step).map(|others| format!(", others used {others:.0}%")).unwrap_or_default();
    shared.then(|| format!("server and generator share a machine of which {idle:.0}% was idle{others}"))
}

fn generator(step: &Step) -> Option<String> {
    let generator = step.generator.as_ref()?;
    if let Some(cpu) = generator.worker_cpu_percent_max.filter(|&cpu| cpu >= WORKER_CPU_PERCENT_MAX) {
        return Some(format!("a worker's CPU was at {cpu:.0}%"));
    }
    let rtt_p99_ns = marks::main_figure(step).quantile_ns(0.99);
    for (lag, name) in [(&generator.loop_lag, "loop lag"), (&step.figures.send_lag, "send lag")] {
        let lag_p99_ns = lag.quantile_ns(0.99);
        if !lag.is_empty() && lag_p99_ns > LAG_NS_MIN && lag_p99_ns as f64 > LAG_SHARE_MAX * rtt_p99_ns as f64
        {
            let (lag_ms, rtt_ms) = (lag_p99_ns as f64 / 1e6, rtt_p99_ns as f64 / 1e6);
            return Some(format!("its {name} p99 of {lag_ms:.1} ms shows in the p99 of {rtt_ms:.1} ms"));
        }
    }
    if let Some(percent) = generator.ceiling_percent.filter(|&percent| percent >= CEILING_PERCENT_MAX)
        && generator.ceiling_at_least == Some(false)
    {
        return Some(format!("it did {percent:.0}% of what it can do here, by throng calibrate"));
    }
    let (asked, sent) = (step.rates.asked_per_s?, step.rates.sent_per_s?);
    let late = is_missed(sent, asked);
    (late && is_complete(step) && server_cpu_share(step).is_none_or(|cpu| cpu < IDLE_CPU_PERCENT_MAX))
        .then(|| format!("it sent {sent:.0} messages/s of {asked:.0} with the server idle"))
}

/// Whether a rate was missed by more than [`RATE_SHARE_MISSED`]. 1 − 0.99 is a hair above 0.01 in binary: the tolerance
/// lets 990 of 1,000 pass.
fn is_missed(achieved: f64, asked: f64) -> bool {
    1.0 - achieved / asked > RATE_SHARE_MISSED + 1e-9
}

/// Whether every client was there to send: what a missing one would have sent is not the generator's to answer for.
fn is_complete(step: &Step) -> bool {
    let counts = &step.counts;
    let fewest = step.series.iter().map(|second| second.clients).min();
    counts.connected == counts.connects
        && counts.disconnects == 0
        && fewest.is_none_or(|clients| clients >= step.clients)
}

fn server(step: &Step, previous: Option<&Step>) -> Option<String> {
    if step.counts.connects > 0 && step.counts.connected == 0 {
        return Some(format!("it took none of {} clients", step.counts.connects));
    }
    if let Some((cpu, cores)) = server_cpu_share(step).zip(server_cores(step))
        && cpu >= SERVER_CPU_PERCENT_MAX
    {
        return Some(format!(
            "its CPU was at {cpu:.0}% of {cores} core{}",
            if cores == 1.0 { "" } else { "s" }
        ));
    }
    let threads = step.server.iter().flat_map(|server| &server.thread_use);
    let busiest = threads.max_by(|a, b| a.cpu_percent().total_cmp(&b.cpu_percent()));
    if let Some(thread) = busiest.filter(|thread| thread.cpu_percent() >= SERVER_CPU_PERCENT_MAX) {
        return Some(format!("its thread {:?} was at {:.0}% of a core", thread.name, thread.cpu_percent()));
    }
    if let (Some(asked), Some(achieved)) = (step.rates.asked_per_s, step.rates.achieved_per_s)
        && step.counts.connected > 0
        && is_missed(achieved, asked)
    {
        return Some(format!("it completed {achieved:.0} of {asked:.0} messages/s"));
    }
    queued(step).or_else(|| grew(step, previous?))
}

/// An open loop whose answers outlast its schedule: the server fell behind all along.
fn queued(step: &Step) -> Option<String> {
    step.rates.asked_per_s?;
    let late = step.counts.late as f64 / step.counts.expected as f64;
    (late > LATE_SHARE_MAX)
        .then(|| format!("{:.0}% of its answers came after the schedule's end", 100.0 * late))
}

/// Latency that grew faster than the load while the generator was idle and on time.
fn grew(step: &Step, previous: &Step) -> Option<String> {
    let generator = step.generator.as_ref()?;
    let idle = generator.worker_cpu_percent_max? < IDLE_CPU_PERCENT_MAX;
    let (now, before) = (marks::main_figure(step), marks::main_figure(previous));
    let on_time = marks::fell_behind_ns(step).is_none();
    if !idle || !on_time || now.is_empty() || before.is_empty() {
        return None;
    }
    let (now_ns, before_ns) = (now.quantile_ns(0.95) as f64, before.quantile_ns(0.95) as f64);
    let (latency, load) = (now_ns / before_ns.max(1.0), load_growth(step, previous)?);
    (load > 1.0 && latency > GROWTH_MIN * load && now_ns - before_ns > LAG_NS_MIN as f64)
        .then(|| format!("p95 grew {latency:.1}-fold for {load:.1}-fold load while the generator was idle"))
}

/// How many times the load of the previous step this one carried.
fn load_growth(step: &Step, previous: &Step) -> Option<f64> {
    let ratio = |now: f64, before: f64| (before > 0.0).then(|| now / before);
    let clients = ratio(step.clients as f64, previous.clients as f64)?;
    let asked =
        step.rates.asked_per_s.zip(previous.rates.asked_per_s).and_then(|(now, before)| ratio(now, before));
    Some(clients.max(asked.unwrap_or(0.0)))
}

fn network(step: &Step) -> Option<String> {
    let machine = step.machine.as_ref()?;
    if let Some(used) = machine.network_percent.filter(|&used| used >= NETWORK_PERCENT_MAX) {
        return Some(format!("a link carried {used:.0}% of its speed"));
    }
    let again = machine.retransmit_percent.filter(|&again| again >= RETRANSMIT_PERCENT_MAX)?;
    Some(format!("{again:.1}% of the segments were sent again"))
}

fn nobody(step: &Step) -> String {
    if step.counts.connects > 0 && step.counts.connected == 0 {
        return "not one client got in".into();
    }
    let parts = [
        server_cpu_share(step).map(|cpu| format!("server CPU {cpu:.0}%")),
        step.generator
            .as_ref()
            .and_then(|g| g.worker_cpu_percent_max)
            .map(|cpu| format!("busiest worker {cpu:.0}%")),
    ];
    let known: Vec<_> = parts.into_iter().flatten().collect();
    if known.is_empty() {
        "nothing reached its limit".into()
    } else {
        format!("nothing reached its limit: {}", known.join(", "))
    }
}

/// The server's mean CPU as a share of the cores it may use: 0 to 100.
fn server_cpu_share(step: &Step) -> Option<f64> {
    Some(step.server.as_ref()?.cpu_percent_mean? / server_cores(step)?)
}

/// The cores the server may use: its own limit, or else all of the machine it shares with the generator.
fn server_cores(step: &Step) -> Option<f64> {
    let own = step.server.as_ref()?.cores;
    own.or_else(|| {
        let machine = step.machine.as_ref().filter(|machine| machine.same_host == Some(true))?;
        machine.cores.map(f64::from)
    })
}

#[cfg(test)]
mod tests;
