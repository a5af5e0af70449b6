//! What is wrong with a step, as plain sentences.

use stats::Histogram;

use super::{Bottleneck, LAG_NS_MIN, LAG_SHARE_MAX, OTHERS_PERCENT_MAX, is_missed};
use crate::step::Step;

/// A larger share of the median delivery that clocks may be apart is said.
const CLOCK_SHARE_MAX: f64 = 0.1;

/// The figure a step is judged by: the rtt, or the handshake where nothing is exchanged.
pub(super) fn main_figure(step: &Step) -> &Histogram {
    if step.figures.rtt.is_empty() { &step.figures.handshake } else { &step.figures.rtt }
}

/// How far the generator fell behind its schedule at worst, when that shows in the rtt's tail.
pub(super) fn fell_behind_ns(step: &Step) -> Option<u64> {
    let worst_ns = step.figures.send_lag.max_ns();
    let shows = worst_ns as f64 > LAG_SHARE_MAX * step.figures.rtt.max_ns() as f64;
    (worst_ns > LAG_NS_MIN && shows).then_some(worst_ns)
}

/// What neither server nor generator accounts for of the generator's machine, when it is much: 0 to 100.
pub fn others_percent(step: &Step) -> Option<f64> {
    let machine = step.machine.as_ref()?;
    let all = 100.0 * f64::from(machine.cores?);
    let busy = all * (1.0 - machine.idle_percent_mean? / 100.0);
    let generator = step.generator.as_ref()?.cpu_percent_mean?;
    let server = if machine.same_host? { step.server.as_ref()?.cpu_percent_mean? } else { 0.0 };
    let others = 100.0 * (busy - generator - server) / all;
    (others > OTHERS_PERCENT_MAX).then_some(others)
}

/// What is wrong with the step. `quantile` is the one its limit looks at, such as 0.95; `interrupted` says that the
/// user stopped it early. The bottleneck must have been judged.
pub fn marks(step: &Step, quantile: f64, interrupted: bool) -> Vec<String> {
    let counts = &step.counts;
    let rtt = main_figure(step);
    let found = [
        interrupted.then(|| "interrupted: the figures are of what ran".into()),
        limited(step),
        lost_agents(step),
        clocks_apart(step),
        fell_behind_ns(step).map(|worst| {
            format!("the generator fell behind its schedule by up to {:.1} ms", worst as f64 / 1e6)
        }),
        others_percent(step)
            .map(|others| format!("other processes used {others:.0}% of the generator's machine")),
        rate_missed(step),
        unusable(step),
        (counts.disconnects > 0).then(|| {
            let their = if counts.disconnects == 1 { "its" } else { "their" };
            format!("{} lost {their} connection", counted(counts.disconnects, "client"))
        }),
        not_back(step),
        wrong_answers(step),
        (!rtt.is_empty() && rtt.is_marked(quantile)).then(|| {
            let needed = (10.0 / (1.0 - quantile)).round();
            format!("p{} rests on {}; {needed} are needed", percent(quantile), counted(rtt.count(), "sample"))
        }),
        (rtt.clamped() > 0)
            .then(|| format!("{} samples were longer than 10 min and count as 10 min", rtt.clamped())),
        counts.check().err().map(|error| format!("the generator lost count: {error}")),
    ];
    found.into_iter().flatten().collect()
}

/// An open schedule goes on however few there are to carry it.
fn unusable(step: &Step) -> Option<String> {
    let (connects, connected) = (step.counts.connects, step.counts.connected);
    let rest = if step.rates.asked_per_s.is_some() && step.counts.sent > 0 {
        "; the others carried the whole rate"
    } else {
        ""
    };
    let failed = connects.checked_sub(connected).filter(|&failed| failed > 0)?;
    Some(format!("{failed} of {connects} clients did not become usable{rest}"))
}

/// How late they will be nobody knows: what counts them is a lower bound.
fn not_back(step: &Step) -> Option<String> {
    let (not_back, lost) = (step.counts.not_back, step.figures.recovery.count());
    (not_back > 0).then(|| {
        format!("{not_back} of the {lost} clients that were lost were not back at the end: how long they take is not known")
    })
}

/// Plain requests whose answer was not the expected one: they may well be the faster ones.
fn wrong_answers(step: &Step) -> Option<String> {
    let wrong = step.errors.iter().filter(|(kind, _)| kind.starts_with("http_"));
    let wrong: u64 = wrong.map(|(_, error)| error.count).sum();
    let is_answer = step.counts.received > 0;
    (wrong > 0 && is_answer)
        .then(|| format!("{wrong} of {} answers were not as expected", step.counts.received))
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
        format!(
            "deliveries between agents are known to ± {:.3} ms: their clocks are no closer",
            error_ns as f64 / 1e6
        )
    })
}

fn limited(step: &Step) -> Option<String> {
    let finding = step.bottleneck.as_ref()?;
    (finding.bottleneck == Bottleneck::Generator)
        .then(|| "limited by the generator: the figures are not the server's".into())
}

fn rate_missed(step: &Step) -> Option<String> {
    let (asked, achieved) = (step.rates.asked_per_s?, step.rates.achieved_per_s?);
    let missed = 1.0 - achieved / asked;
    is_missed(achieved, asked)
        .then(|| format!("the rate was missed by {:.1}%: {achieved:.1}/s of {asked:.1}/s", missed * 100.0))
}

/// `1 client`, `2 clients`.
pub(super) fn counted(n: u64, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

/// 0.999 as `99.9`, without binary noise.
fn percent(quantile: f64) -> f64 {
    (quantile * 1e6).round() / 1e4
}
