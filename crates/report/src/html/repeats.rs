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
    repeats.sort_by_key(|run| run.steps.get(shown(run)).map(|step| main_figure(step).quantile_ns(0.5)));
    // Of an even number, the better of the two in the middle.
    let at = repeats.len().checked_sub(1)? / 2;
    Some((repeats.remove(at), repeats))
}

/// The latencies of a run and of its other repeats, at the load that stands for the run.
pub(super) struct Repeats<'a>(Vec<&'a Step>);

impl<'a> Repeats<'a> {
    /// `None` without another repeat of the same load: a search ends at another number of clients each time.
    pub(super) fn of(run: &'a Run, others: &'a [Run]) -> Option<Self> {
        // Latencies at other loads are not repeats.
        let load = |step: &Step| (step.clients, step.rates.asked_per_s);
        let step = |run: &'a Run| run.steps.get(shown(run));
        let stands = step(run)?;
        let same = others.iter().filter_map(step).filter(|other| load(other) == load(stands));
        let all: Vec<_> = [stands].into_iter().chain(same).collect();
        (all.len() > 1 && all.iter().all(|one| !main_figure(one).is_empty())).then_some(Repeats(all))
    }

    /// The range over all repeats, open at its end where some never came.
    pub(super) fn range(&self, q: f64) -> String {
        let found = || {
            self.0.iter().map(|one| {
                let figure = main_timed(one);
                (one.figures.get(figure).quantile_ns(q), reading::quantile(one, figure, q))
            })
        };
        let [low, high] = [found().min(), found().max()].map(|found| found.unwrap_or_default().1);
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
