//! A row of a comparison: a figure at a level, on both sides.

use stats::compare::{self, Better, Change, REPEATS_MIN, ToTell};
use stats::{Count, Interval, Timed};

use crate::finding::{Caveat, Note};
use crate::limit::{Counted, Figure, Gauge, Part, Statistic};
use crate::rates::Rate;
use crate::scenario::Scenario;
use crate::unit::Unit;

/// One figure at one level, on both sides.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Clients of the level; `None` for a figure of the whole run.
    pub clients: Option<u64>,
    /// The rate that was asked for; `None` in a closed loop, or where nothing is sent.
    pub asked_per_s: Option<f64>,
    /// The figure as limits name it: `rtt.p99`, `rate`, `role.speaker.rtt.p99`; or `capacity`.
    pub figure: String,
    /// The unit of `a` and `b`.
    pub unit: Unit,
    /// The direction in which a change is an improvement.
    pub better: Better,
    /// A's value; the mean over its repeats.
    pub a: f64,
    /// B's value; the mean over its repeats.
    pub b: f64,
    /// True if the values are lower bounds, as where clients never came back: a change is told only of a
    /// capacity that is certainly lower, and its size is a bound, too.
    pub at_least: [bool; 2],
    /// The comparison of both. `None`: too few seconds, too few runs, or a value that is not known.
    pub found: Option<compare::Comparison>,
    /// The change it shows, whatever else may be its cause ([`Row::told`]).
    pub change: Change,
    /// A latency or a rate that cannot be said to have stayed as it was: B did not hold this load, and A did;
    /// or in a loop that waits for answers, the generator or the machine set the pace on both sides.
    pub is_blind: bool,
    /// A caveat that may be why B differs from A: it is about this metric, and as large as the difference.
    pub caveat: Option<Caveat>,
}

impl Row {
    /// B − A as a share of A, in percent; `None` when A is 0.
    pub fn percent(&self) -> Option<f64> {
        (self.a != 0.0).then(|| 100.0 * (self.b - self.a) / self.a)
    }

    /// The change that can be told: none that a caveat may be the cause of; and where nobody could have seen
    /// that it got worse, neither that it got better nor that it stayed.
    pub fn told(&self) -> Change {
        match self.change {
            Change::Faster | Change::Slower if self.caveat.is_some() => Change::CannotTell,
            Change::Faster | Change::NoDifference if self.is_blind => Change::CannotTell,
            change => change,
        }
    }

    /// The 99% interval of B − A.
    pub fn difference(&self) -> Option<Interval> {
        self.found.map(|found| found.difference)
    }

    /// How many runs of each side would tell whether B has changed by that share of A, about; a `share` of 0
    /// is the least that matters. Where a value is a bound, no number would.
    pub fn runs_to_tell(&self, share: f64) -> ToTell {
        match &self.found {
            _ if self.at_least.contains(&true) => ToTell::NoNumber,
            Some(found) => found.repeats_for(share),
            None => ToTell::Repeats(REPEATS_MIN),
        }
    }

    /// Returns whether it is not known how much runs vary among themselves: more may be needed than is said.
    pub fn is_of_single_runs(&self) -> bool {
        self.found.is_none_or(|found| found.is_of_single_runs())
    }

    /// Returns whether there is nothing on either side: no finding, but a bound on it is kept.
    pub fn is_nothing(&self) -> bool {
        self.a == 0.0 && self.b == 0.0
    }
}

/// Everything that could be compared.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Comparison {
    /// In the order of the levels of A.
    pub rows: Vec<Row>,
    /// Notes on the runs, to read before their difference is believed.
    pub notes: Vec<Note>,
}

/// Quantiles that are compared of everything timed.
const QUANTILES: [f64; 3] = [0.5, 0.95, 0.99];

/// Figures that are not timed.
const OTHERS: [Figure; 8] = [
    Figure::Rate(Rate::Achieved),
    Figure::Rate(Rate::Received),
    Figure::Rate(Rate::Connects),
    Figure::Counted(Counted::Count(Count::Missing)),
    Figure::Counted(Counted::Count(Count::NotBack)),
    Figure::Counted(Counted::Errors),
    Figure::Gauge(Gauge::ServerCpu),
    Figure::Gauge(Gauge::ServerRss),
];

/// The figures compared of such a part of a scenario's runs, its main figure first.
pub(super) fn figures(part: &Part, scenario: Scenario) -> Vec<Figure> {
    let main = scenario.main_figure();
    let others = [Timed::Rtt, Timed::Delivery].into_iter().chain(Timed::BY_ROOM_SIZE);
    let others = others.chain([Timed::Completion, Timed::Handshake]).filter(|timed| *timed != main);
    let timed = [main].into_iter().chain(others);
    let timed = timed.flat_map(|timed| QUANTILES.map(|q| Figure::Timed(timed, Statistic::Quantile(q))));
    let is_compared = |figure: &Figure| figure.is_of(scenario) && part.has(*figure, scenario);
    timed.chain(OTHERS).filter(is_compared).collect()
}
