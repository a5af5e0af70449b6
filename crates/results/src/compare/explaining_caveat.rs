//! Caveats that may explain a difference between two sides.
//!
//! Rules. A caveat speaks against a difference only if it is about the metric, and as large as the
//! difference. What both sides have alike explains none: it is the excess of one side over the other that
//! counts. How much runs vary is in the interval already, and so are few samples.

use stats::Timed;

use crate::finding::Caveat;
use crate::limit::{Figure, Statistic};
use crate::rates::Rate;
use crate::step::Step;
use crate::verdict::{counts_from_due, others_percent};

/// One side of a comparison at a level: its runs' steps, and their value of a metric.
#[derive(Clone, Copy)]
pub(super) struct Side<'a> {
    pub(super) steps: &'a [&'a Step],
    pub(super) value: f64,
}

/// A caveat that may be why a metric differs between two sides; `None`: none is as large as the difference.
pub(super) fn explaining_caveat(figure: Figure, a: Side<'_>, b: Side<'_>) -> Option<Caveat> {
    let is_latency = matches!(figure, Figure::Timed(..));
    if !is_latency && !matches!(figure, Figure::Rate(Rate::Achieved | Rate::Received)) {
        return None;
    }
    let partial =
        |side| usual(side, |caveat| matches!(caveat, Caveat::CutShort { .. } | Caveat::LostAgents { .. }));
    if let Some(caveat) = partial(b.steps).or_else(|| partial(a.steps)) {
        return Some(caveat);
    }
    // On one side only, the pace is a difference of the servers: the other one made the generator wait.
    if let (Some(_), Some(caveat)) = (pace(a.steps), pace(b.steps)) {
        return Some(caveat);
    }
    // The worse side is the one that others may have slowed down.
    // More is worse of a latency, and better of a rate.
    let is_b_worse = (b.value > a.value) == is_latency;
    let (worse, better) = if is_b_worse { (b, a) } else { (a, b) };
    let difference = worse.value - better.value;
    let lag = |side: Side<'_>| mean(side.steps, |caveat| lag_ms(caveat, figure, side.value));
    if is_latency && lag(worse) - lag(better) >= difference {
        return any(worse.steps, |caveat| lag_ms(caveat, figure, worse.value).is_some());
    }
    let is_between_clocks = matches!(figure, Figure::Timed(Timed::Delivery | Timed::Completion, _));
    if is_between_clocks && mean(a.steps, clock_error_ms) + mean(b.steps, clock_error_ms) >= difference {
        return any(worse.steps, |caveat| clock_error_ms(caveat).is_some());
    }
    // With half of the CPU, everything takes twice as long, and half as much is done.
    // At most 99%: what is left is divided by.
    let left = |side: Side<'_>| 1.0 - others_share(side.steps).min(0.99);
    let slowdown = if is_latency { worse.value / better.value } else { better.value / worse.value };
    let is_by_others = left(better) / left(worse) >= slowdown;
    // A caveat of contention names the others already, and stands alone then.
    let names_others = |caveat: &Caveat| matches!(caveat, Caveat::Others { .. } | Caveat::Contention { .. });
    is_by_others.then(|| any(worse.steps, names_others)).flatten()
}

/// A caveat of any step of a side.
fn any(side: &[&Step], is_so: impl Fn(&Caveat) -> bool) -> Option<Caveat> {
    side.iter().flat_map(|step| &step.caveats).find(|caveat| is_so(caveat)).cloned()
}

/// A caveat that at least half of a side's steps have.
fn usual(side: &[&Step], is_so: impl Fn(&Caveat) -> bool) -> Option<Caveat> {
    let count = side.iter().filter(|step| step.caveats.iter().any(&is_so)).count();
    any(side, is_so).filter(|_| 2 * count >= side.len())
}

/// The caveat that the generator or the machine set the pace of a side's loop, which waits for answers.
fn pace(side: &[&Step]) -> Option<Caveat> {
    let is_loop = side.iter().all(|step| step.rates.asked_per_s.is_none());
    usual(side, |caveat| matches!(caveat, Caveat::LimitedByGenerator | Caveat::LimitedByMachine))
        .filter(|_| is_loop)
}

/// The mean over a side's steps of the largest size that a caveat has in each; 0 where it has none.
fn mean(side: &[&Step], size: impl Fn(&Caveat) -> Option<f64>) -> f64 {
    let sizes = side.iter().map(|step| step.caveats.iter().filter_map(&size).fold(0.0, f64::max));
    sizes.sum::<f64>() / side.len().max(1) as f64
}

/// How much of a latency of `value` ms may be the generator's, or its waiting for a CPU: by a caveat about the
/// same figure, or about messages as well. Of a lower quantile than the caveat's, it is as large a share.
fn lag_ms(caveat: &Caveat, figure: Figure, value: f64) -> Option<f64> {
    let (Caveat::Contention { latency, metric, quantile, lag, .. }
    | Caveat::GeneratorLag { latency, metric, quantile, lag }) = caveat
    else {
        return None;
    };
    let Figure::Timed(timed, statistic) = figure else { return None };
    let about = Timed::named(metric)?;
    // Clients come back under the load: what makes its messages late makes these late, too.
    let is_about =
        about == timed || timed == Timed::Recovery || counts_from_due(about) && counts_from_due(timed);
    let lag_ms = lag.0 as f64 / 1e6;
    let is_lower = matches!(statistic, Statistic::Quantile(q) if q < quantile.0);
    let share = lag.0 as f64 / latency.0.max(1) as f64;
    is_about.then(|| if is_lower { lag_ms.min(value * share) } else { lag_ms })
}

fn clock_error_ms(caveat: &Caveat) -> Option<f64> {
    match caveat {
        Caveat::Clocks { error } => Some(error.0 as f64 / 1e6),
        _ => None,
    }
}

/// The mean share of the machine that other programs used in a side's steps, whichever caveat names them.
fn others_share(side: &[&Step]) -> f64 {
    let percents = side.iter().map(|step| others_percent(step).unwrap_or(0.0));
    percents.sum::<f64>() / 100.0 / side.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::Finding;
    use crate::finding::quantity::{Ns, Percent, Quantile};
    use crate::resources::{GeneratorUse, MachineUse};

    const P95: Figure = Figure::Timed(Timed::Rtt, Statistic::Quantile(0.95));
    const RATE: Figure = Figure::Rate(Rate::Achieved);

    fn with(caveats: Vec<Caveat>) -> Step {
        Step { caveats, ..Step::default() }
    }

    fn why(figure: Figure, steps: [&Step; 2], [of_a, of_b]: [f64; 2]) -> Option<&'static str> {
        let [a, b] = steps.each_ref().map(std::slice::from_ref);
        let (a, b) = (Side { steps: a, value: of_a }, Side { steps: b, value: of_b });
        explaining_caveat(figure, a, b).map(|caveat| caveat.key())
    }

    fn late(ms: u64) -> Step {
        with(vec![Caveat::Contention {
            latency: Ns(100_000_000),
            metric: "rtt".into(),
            quantile: Quantile(0.95),
            lag: Ns(ms * 1_000_000),
            stolen: None,
            programs: None,
        }])
    }

    /// A step beside programs that used this much of the machine, and what says so.
    fn beside(percent: f64, step: Step) -> Step {
        let machine = MachineUse {
            cores: Some(4),
            idle_percent_mean: Some(100.0 - percent),
            same_host: Some(false),
            ..MachineUse::default()
        };
        let generator = GeneratorUse { cpu_percent_mean: Some(0.0), ..GeneratorUse::default() };
        Step { machine: Some(machine), generator: Some(generator), ..step }
    }

    fn busy(percent: f64) -> Step {
        beside(percent, with(vec![Caveat::Others { others: Percent(percent), programs: None }]))
    }

    #[test]
    fn lag_explains_no_more_than_it_is() {
        let quiet = Step::default();
        assert_eq!(why(P95, [&quiet, &late(12)], [10.0, 20.0]), Some("caveat.contention"));
        assert_eq!(why(P95, [&quiet, &late(12)], [10.0, 35.0]), None);
        assert_eq!(why(P95, [&late(12), &late(13)], [10.0, 20.0]), None, "both were late");
        assert_eq!(why(P95, [&late(12), &quiet], [20.0, 10.0]), Some("caveat.contention"), "A was");
        assert_eq!(why(RATE, [&quiet, &late(12)], [100.0, 50.0]), None);
    }

    #[test]
    fn lag_of_messages_explains_no_handshake() {
        let why = |timed, q, values| {
            let figure = Figure::Timed(timed, Statistic::Quantile(q));
            why(figure, [&Step::default(), &late(12)], values)
        };
        assert_eq!(why(Timed::Handshake, 0.95, [3.0, 6.0]), None);
        assert_eq!(why(Timed::Delivery, 0.95, [10.0, 20.0]), Some("caveat.contention"));
        assert_eq!(why(Timed::Recovery, 0.95, [10.0, 20.0]), Some("caveat.contention"));
        assert_eq!(why(Timed::Rtt, 0.99, [10.0, 20.0]), Some("caveat.contention"));
        assert_eq!(why(Timed::Rtt, 0.5, [10.0, 20.0]), None, "2.4 ms of 20 ms");
        assert_eq!(why(Timed::Rtt, 0.5, [18.0, 20.0]), Some("caveat.contention"));
    }

    #[test]
    fn others_explain_what_the_cpu_they_took_makes() {
        let quiet = Step::default();
        assert_eq!(why(P95, [&quiet, &busy(60.0)], [10.0, 20.0]), Some("caveat.others"));
        assert_eq!(why(P95, [&quiet, &busy(60.0)], [10.0, 30.0]), None, "2.5 times at the most");
        assert_eq!(why(P95, [&busy(96.0), &busy(96.0)], [10.0, 900.0]), None, "both had as little");
        assert_eq!(why(RATE, [&quiet, &busy(60.0)], [100.0, 45.0]), Some("caveat.others"));
        assert_eq!(why(RATE, [&busy(60.0), &quiet], [100.0, 45.0]), None, "B had more");
    }

    #[test]
    fn contention_counts_as_the_cpu_it_took() {
        let (quiet, late) = (Step::default(), beside(60.0, late(12)));
        assert_eq!(why(RATE, [&quiet, &late], [100.0, 45.0]), Some("caveat.contention"));
        assert_eq!(why(RATE, [&quiet, &late], [100.0, 30.0]), None, "more than they took");
        assert_eq!(why(RATE, [&late, &late], [100.0, 45.0]), None, "both had as little");
    }

    #[test]
    fn few_samples_are_in_the_interval_already() {
        let few = with(vec![Caveat::Samples { quantile: Quantile(0.95), samples: 160, needed: 200 }]);
        assert_eq!(why(P95, [&few, &few], [1.0, 90.0]), None);
    }

    #[test]
    fn generator_bound_rates_tell_nothing_of_servers() {
        let paced = with(vec![Caveat::LimitedByGenerator]);
        assert_eq!(why(RATE, [&paced, &paced], [100.0, 50.0]), Some("caveat.limited_by_generator"));
        assert_eq!(why(RATE, [&Step::default(), &paced], [100.0, 50.0]), None);
        let missing = Figure::Counted(crate::limit::Counted::Errors);
        assert_eq!(why(missing, [&paced, &paced], [1.0, 50.0]), None);
    }
}
