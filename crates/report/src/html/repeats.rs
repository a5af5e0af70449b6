//! A run that was repeated: the one in the middle stands for all, and the others say how far it can be relied on.

use results::conclusion::shown;
use results::{Run, Step};
use serde::Serialize;
use stats::{Histogram, Timed};

use super::curve::{FigureData, ms};
use super::page::{main_figure, main_timed};
use crate::reading;

/// Parts repeats of one measurement into the run whose median latency is in the middle, and the others. `None` without
/// any.
pub fn middle_repeat(mut repeats: Vec<Run>) -> Option<(Run, Vec<Run>)> {
    // A repeat without a latency, or with handshakes alone because nothing was sent, is not the fastest: it
    // stands for the others only where all are like it.
    let key = |run: &Run| {
        let Some(step) = run.steps.get(shown(run)).filter(|step| has_latency(step)) else { return (2, 0) };
        (u8::from(main_timed(step) == Timed::Handshake), main_figure(step).quantile_ns(0.5))
    };
    repeats.sort_by_key(key);
    let (best, _) = key(repeats.first()?);
    let alike = repeats.partition_point(|run| key(run).0 == best);
    // Of an even number, the better of the two in the middle.
    let at = (alike - 1) / 2;
    Some((repeats.remove(at), repeats))
}

/// Returns whether a step has the latency that a reader means.
fn has_latency(step: &Step) -> bool {
    step.is_latency(main_timed(step)) && !main_figure(step).is_empty()
}

/// The latencies of a run and of its other repeats, at the load that stands for the run.
pub(super) struct Repeats<'a>(Vec<&'a Step>);

impl<'a> Repeats<'a> {
    /// `None` without another repeat of the same load: a search ends at another number of clients each time.
    pub(super) fn of(run: &'a Run, others: &'a [Run]) -> Option<Self> {
        // Latencies at other loads, or of something else, are not repeats.
        let load = |step: &Step| (step.clients, step.rates.asked_per_s, main_timed(step));
        let step = |run: &'a Run| run.steps.get(shown(run));
        let stands = step(run)?;
        let same = others.iter().filter_map(step).filter(|other| load(other) == load(stands));
        let all: Vec<_> = [stands].into_iter().chain(same).filter(|step| has_latency(step)).collect();
        (all.len() > 1 && has_latency(stands)).then_some(Repeats(all))
    }

    /// The range over all repeats; an end is a bound where some messages never came.
    pub(super) fn range(&self, q: f64) -> String {
        let found =
            || self.0.iter().map(|one| (main_figure(one).quantile_ns(q), one.is_open(main_timed(one), q)));
        let [low, high] = [found().min(), found().max()].map(Option::unwrap_or_default);
        // Any repeat whose end is open may be the longest.
        let is_open = found().any(|(_, is_open)| is_open);
        let (low, high) = (reading::latency(low.0, low.1), reading::latency(high.0, is_open));
        format!("{low} to {high} in {} repeats", self.0.len())
    }

    /// Their data for charts.
    pub(super) fn data(&self) -> Option<RepeatsData> {
        let mut all = Histogram::new();
        for step in &self.0 {
            all.merge(main_figure(step));
        }
        let median = |step: &&Step| {
            (ms(main_figure(step).quantile_ns(0.5) as f64), step.is_open(main_timed(step), 0.5))
        };
        let sum =
            |of: fn(&Step, Timed) -> u64| self.0.iter().map(|step| of(step, main_timed(step))).sum::<u64>();
        let (open, lacking) = (sum(Step::open_samples), sum(Step::lacking_samples));
        let is_open = |q| stats::rank(all.count() + lacking, q) > all.count() - open;
        let medians = self.0.iter().map(median).collect();
        Some(RepeatsData { all: FigureData::of(&all, true, is_open)?, medians })
    }
}

/// All samples together, and each repeat's median in milliseconds, true if it is a lower bound.
#[derive(Serialize)]
pub(super) struct RepeatsData {
    all: FigureData,
    medians: Vec<(f64, bool)>,
}
