//! The caveats of a step.

use stats::error_kind;

use super::signs::waits_for_slots;
use super::{lag, machine};
use crate::finding::Caveat;
use crate::finding::quantity::{Ns, Percent, Quantile};
use crate::judgement::Bottleneck;
use crate::step::Step;

/// A larger share of the median delivery that clocks may be apart is said.
const CLOCK_SHARE_MAX: f64 = 0.1;
/// How far a push's clock is ahead at most that says nothing: many servers tell whole milliseconds, rounded.
const PUSH_LEAD_NS_MIN: u64 = 1_000_000;
/// The generator fell behind its schedule where that is more, and more than this share of the longest rtt.
const BEHIND_NS_MIN: u64 = 1_000_000;
const BEHIND_SHARE_MIN: f64 = 0.1;

/// How far the generator fell behind its schedule at worst, when that shows in the rtt's tail.
pub(super) fn fell_behind_ns(step: &Step) -> Option<u64> {
    let worst_ns = step.figures.send_lag.max_ns();
    let shows = worst_ns as f64 > BEHIND_SHARE_MIN * step.figures.rtt.max_ns() as f64;
    (worst_ns > BEHIND_NS_MIN && shows && !waits_for_slots(step)).then_some(worst_ns)
}

/// Caveats of the step's metrics. Losses and errors are no caveats but facts: limits say them. `quantile` is the one
/// its limit looks at, such as 0.95. The bottleneck must have been judged.
pub fn caveats(step: &Step, quantile: f64) -> Vec<Caveat> {
    let rtt = step.main_figure();
    let is_of_few = step.has_answers() && rtt.is_marked(quantile);
    let found = [
        step.was_interrupted().then_some(Caveat::Interrupted),
        limited(step),
        lost_agents(step),
        clocks_apart(step),
        pushes_ahead(step),
        lag::caveat(step),
        fell_behind_ns(step).map(|worst_ns| Caveat::GeneratorBehind { by: Ns(worst_ns) }),
        others(step),
        proxy(step),
        step.errors.get(error_kind::OTHER_RUN).map(|error| Caveat::OtherRun { messages: error.count }),
        is_of_few.then(|| Caveat::Samples {
            quantile: Quantile(quantile),
            samples: rtt.count(),
            // Ten samples above the quantile.
            needed: (10.0 / (1.0 - quantile)).round() as u64,
        }),
        (rtt.clamped() > 0).then(|| Caveat::Clamped { samples: rtt.clamped() }),
        step.counts.check().err().map(|error| Caveat::Miscounted { error: error.to_string() }),
    ];
    found.into_iter().flatten().collect()
}

/// Programs that most often pass on what others answer.
const PROXIES: [&str; 5] = ["haproxy", "nginx", "envoy", "traefik", "docker-proxy"];

/// A proxy's CPU and memory are not those of the server behind it.
fn proxy(step: &Step) -> Option<Caveat> {
    let server = step.server.as_ref()?;
    let name = server.name.clone().filter(|name| PROXIES.contains(&name.as_str()))?;
    Some(Caveat::Proxy { name, pid: server.pid?.to_string() })
}

/// A schedule that was kept was carried; what is in doubt then is how fast.
fn limited(step: &Step) -> Option<Caveat> {
    let is_carried = step.has_passed() && step.keeps_rate();
    Some(match step.bottleneck.as_ref()?.bottleneck {
        Bottleneck::Generator | Bottleneck::Machine if is_carried && lag::caveat(step).is_some() => {
            return None;
        }
        Bottleneck::Generator if is_carried => Caveat::GeneratorFull,
        Bottleneck::Machine if is_carried => Caveat::MachineFull,
        Bottleneck::Generator => Caveat::LimitedByGenerator,
        Bottleneck::Machine => Caveat::LimitedByMachine,
        _ => return None,
    })
}

/// Other programs on the machine, unless a caveat of lag names them already.
fn others(step: &Step) -> Option<Caveat> {
    let others = machine::others_percent(step).filter(|_| !lag::names_others(step))?;
    let programs = step.machine.as_ref().and_then(machine::programs);
    Some(Caveat::Others { others: Percent(others), programs })
}

fn lost_agents(step: &Step) -> Option<Caveat> {
    let lost =
        step.fleet.iter().filter_map(|agent| Some(format!("{}: {}", agent.name, agent.lost.as_ref()?)));
    let lost: Vec<String> = lost.collect();
    let (count, of) = (lost.len() as u64, step.fleet.len() as u64);
    (count > 0).then(|| Caveat::LostAgents { lost: count, of, which: lost.join("; ") })
}

/// Between two agents, a delivery may be wrong by both of their clocks' errors.
fn clocks_apart(step: &Step) -> Option<Caveat> {
    let delivery = &step.figures.delivery;
    let mut errors: Vec<u64> = step.fleet.iter().filter_map(|agent| agent.clock_error_ns).collect();
    errors.sort_unstable();
    let error_ns: u64 = errors.iter().rev().take(2).sum();
    let shows = !delivery.is_empty() && error_ns as f64 > CLOCK_SHARE_MAX * delivery.quantile_ns(0.5) as f64;
    shows.then_some(Caveat::Clocks { error: Ns(error_ns) })
}

fn pushes_ahead(step: &Step) -> Option<Caveat> {
    let (age, ahead) = (&step.figures.push_age, &step.figures.push_ahead);
    let of = age.count() + ahead.count();
    let shows = ahead.max_ns() >= PUSH_LEAD_NS_MIN;
    shows.then(|| Caveat::PushClock { ahead: ahead.count(), of, lead: Ns(ahead.max_ns()) })
}
