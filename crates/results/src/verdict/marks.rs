//! What is wrong with a step, as plain sentences.

use super::signs::{main_figure, percent};
use super::{lag, machine};
use crate::format::{counted, duration};
use crate::judgement::Bottleneck;
use crate::step::Step;

/// A larger share of the median delivery that clocks may be apart is said.
const CLOCK_SHARE_MAX: f64 = 0.1;
/// The generator fell behind its schedule where that is more, and more than this share of the longest rtt.
const BEHIND_NS_MIN: u64 = 1_000_000;
const BEHIND_SHARE_MIN: f64 = 0.1;

/// How far the generator fell behind its schedule at worst, when that shows in the rtt's tail.
pub(super) fn fell_behind_ns(step: &Step) -> Option<u64> {
    let worst_ns = step.figures.send_lag.max_ns();
    let shows = worst_ns as f64 > BEHIND_SHARE_MIN * step.figures.rtt.max_ns() as f64;
    (worst_ns > BEHIND_NS_MIN && shows).then_some(worst_ns)
}

/// What could make the step's figures other than the server's. What was lost or wrong is no doubt but a fact: limits say
/// it. `quantile` is the one its limit looks at, such as 0.95. The bottleneck must have been judged.
pub fn marks(step: &Step, quantile: f64) -> Vec<String> {
    let rtt = main_figure(step);
    let found = [
        step.was_interrupted().then(|| "interrupted: the figures are of what ran".into()),
        limited(step),
        lost_agents(step),
        clocks_apart(step),
        lag::mark(step),
        fell_behind_ns(step)
            .map(|worst| format!("the generator fell behind its schedule by up to {}", duration(worst))),
        others(step),
        (step.has_answers() && rtt.is_marked(quantile)).then(|| {
            let needed = (10.0 / (1.0 - quantile)).round();
            format!("p{} rests on {}; {needed} are needed", percent(quantile), counted(rtt.count(), "sample"))
        }),
        (rtt.clamped() > 0)
            .then(|| format!("{} samples were longer than 10 min and count as 10 min", rtt.clamped())),
        step.counts.check().err().map(|error| format!("the generator lost count: {error}")),
    ];
    found.into_iter().flatten().collect()
}

/// A schedule that was kept was carried; what is in doubt then is how fast.
fn limited(step: &Step) -> Option<String> {
    let is_carried = step.has_passed() && step.keeps_rate();
    Some(match step.bottleneck.as_ref()?.bottleneck {
        Bottleneck::Generator | Bottleneck::Machine if is_carried && lag::mark(step).is_some() => {
            return None;
        }
        Bottleneck::Generator if is_carried => {
            "the generator was at its limit: the server may be faster".into()
        }
        Bottleneck::Machine if is_carried => {
            "the machine was full: with one of its own, the server may be faster".into()
        }
        Bottleneck::Generator => "limited by the generator: the server may hold more than this".into(),
        Bottleneck::Machine => "limited by the machine: with one of its own, the server may hold more".into(),
        _ => return None,
    })
}

/// Where they are what the latency waited for, that has been said.
fn others(step: &Step) -> Option<String> {
    let others = machine::others_percent(step).filter(|_| !lag::names_others(step))?;
    let names = step.machine.as_ref().and_then(machine::programs).map(|names| format!(" ({names})"));
    Some(format!("other programs used {others:.0}% of the generator's machine{}", names.unwrap_or_default()))
}

fn lost_agents(step: &Step) -> Option<String> {
    let lost =
        step.fleet.iter().filter_map(|agent| Some(format!("{}: {}", agent.name, agent.lost.as_ref()?)));
    let lost: Vec<String> = lost.collect();
    (!lost.is_empty()).then(|| {
        let (n, of) = (lost.len(), step.fleet.len());
        format!("{n} of {of} agents lost, what they had reported is in the figures: {}", lost.join("; "))
    })
}

/// Between two agents, a delivery may be wrong by both of their clocks' errors.
fn clocks_apart(step: &Step) -> Option<String> {
    let delivery = &step.figures.delivery;
    let mut errors: Vec<u64> = step.fleet.iter().filter_map(|agent| agent.clock_error_ns).collect();
    errors.sort_unstable();
    let error_ns: u64 = errors.iter().rev().take(2).sum();
    let shows = !delivery.is_empty() && error_ns as f64 > CLOCK_SHARE_MAX * delivery.quantile_ns(0.5) as f64;
    shows.then(|| {
        format!("deliveries between agents are known to ± {}: their clocks are no closer", duration(error_ns))
    })
}
