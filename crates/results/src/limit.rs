//! Assertions on figures: `p95<250ms`, `rtt.p99<=1s`, `errors<1%`, `missing==0`, `rate>=500/s`.
//!
//! A limit is a figure, a comparison and a value. A bare percentile means the scenario's main figure. Counts
//! take a number, or a share of what they are part of, as [`Count`] has it. `rate` takes a
//! share of the rate that was asked: `rate>=99%`. What is of one kind of messages or of one role alone is
//! named with it: `say.line.delivery.p99<=50ms`, `role.speaker.missing==0`.

use std::fmt;

use stats::{Count, Timed};
use thiserror::Error;

use crate::rates::Rate;
use crate::scenario::Scenario;
use crate::spent::SlowTail;
use crate::unit::Unit;
use crate::units::{self, UnitError};

mod figure;
mod foreign;
mod part;

pub(crate) use figure::{Counted, Figure, Gauge, Statistic};
pub use part::Part;

/// One limit, as the user asked for it.
#[derive(Clone, Debug, PartialEq)]
pub struct Limit {
    text: String,
    pub(crate) of: StepFigure,
    comparison: Comparison,
    /// In the unit of [`Figure::read`]: ms, per second, percent, bytes, or a count.
    value: f64,
    pub(crate) as_share: bool,
}

/// A figure of a step, by the name under which limits know it: `rtt.p95`, `rate`, `missing`.
#[derive(Clone, Debug, PartialEq)]
pub struct StepFigure {
    pub(crate) part: Part,
    pub(crate) figure: Figure,
}

impl StepFigure {
    fn whole(figure: Figure) -> Self {
        Self { part: Part::Whole, figure }
    }

    /// The figure of that name in `scenario`.
    ///
    /// # Errors
    /// The scenario has no such figure.
    pub fn parse(name: &str, scenario: Scenario) -> Result<Self, LimitError> {
        let (part, of_it) = Part::split(name);
        let figure = Figure::parse(of_it, scenario).filter(|figure| part.has(*figure, scenario));
        let figure = figure.ok_or_else(|| match foreign::own_name(name, scenario) {
            Some(own) => LimitError::Foreign { figure: name.into(), scenario, own },
            None => LimitError::Figure {
                figure: name.into(),
                scenario,
                known: Figure::known(scenario) + Part::known(scenario),
            },
        })?;
        Ok(Self { part, figure })
    }

    /// Label for people: `round trip p99`.
    pub fn words(&self) -> String {
        match &self.part {
            Part::Whole => self.figure.words(),
            Part::Say(name) => format!("{} of {name} messages", self.figure.words()),
            Part::Role(name) => format!("{} of role {name}", self.figure.words()),
        }
    }

    /// Its unit.
    pub fn unit(&self) -> Unit {
        self.figure.unit(false)
    }

    /// Returns whether more of it is better: that is so for rates, and for what was delivered.
    pub fn more_is_better(&self) -> bool {
        self.figure.more_is_better()
    }
}

/// Requirements that a step is held to.
#[derive(Clone, Debug, PartialEq)]
pub enum Requirement {
    /// A limit on a figure, asked for or standing.
    Limit(Limit),
    /// The generator gets to the end of the step.
    Finished,
    /// Clients are there when the storm strikes.
    Storm,
    /// Something is sent.
    Load,
    /// A limit on a figure that this version of throng does not have, from a file.
    Unknown(String),
}

/// Requirements that no figure of a step is about, as files have them.
const OF_NO_FIGURE: [(&str, Requirement); 3] = [
    ("unfinished==0", Requirement::Finished),
    ("storm==1", Requirement::Storm),
    ("load==1", Requirement::Load),
];

impl Requirement {
    /// Reads what [`Display`](fmt::Display) wrote in a run of `scenario`.
    pub fn parse(text: &str, scenario: Scenario) -> Self {
        // Before limits, which read alike: `load==1` names no figure.
        let of_no_figure = OF_NO_FIGURE.into_iter().find(|(name, _)| *name == text);
        of_no_figure.map(|(_, requirement)| requirement).unwrap_or_else(|| {
            Limit::parse(text, scenario)
                .map_or_else(|_| Requirement::Unknown(text.to_owned()), Requirement::Limit)
        })
    }

    /// Reads the text of one that a file has, now that the scenario is known.
    pub(crate) fn settle(&mut self, scenario: Scenario) {
        if let Requirement::Unknown(text) = self {
            *self = Requirement::parse(text, scenario);
        }
    }

    /// The limit on a figure.
    pub fn limit(&self) -> Option<&Limit> {
        match self {
            Requirement::Limit(limit) => Some(limit),
            _ => None,
        }
    }

    /// The figure that it is about, of whatever part of the step.
    pub(crate) fn figure(&self) -> Option<Figure> {
        self.limit().map(|limit| limit.of.figure)
    }
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Requirement::Limit(limit) => limit.fmt(f),
            Requirement::Unknown(text) => f.write_str(text),
            Requirement::Finished | Requirement::Storm | Requirement::Load => {
                let name = OF_NO_FIGURE.iter().find(|(_, requirement)| requirement == self);
                f.write_str(name.map_or("", |(name, _)| name))
            }
        }
    }
}

/// The status of a requirement that was held against a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitStatus {
    /// It held.
    Passed,
    /// It did not hold, or its figure was not measured.
    Broken,
    /// Broken: `actual` is a lower bound, because the wait ended before all was there.
    AtLeast,
    /// Broken, and it would have held without lag: whether the server broke it cannot be told.
    Undecided,
}

impl LimitStatus {
    /// The status of a requirement whose figure is known.
    pub fn of(has_passed: bool) -> Self {
        if has_passed { LimitStatus::Passed } else { LimitStatus::Broken }
    }
}

/// A requirement held against one step or run.
#[derive(Clone, Debug, PartialEq)]
pub struct LimitOutcome {
    /// The requirement.
    pub of: Requirement,
    /// Its status: passed, or broken, and how.
    pub status: LimitStatus,
    /// The figure's value, in `unit`; `None` when it was not measured, which breaks the limit.
    pub actual: Option<f64>,
    /// The best that `actual` of a broken limit may be without the generator's and CPU contention's part of
    /// the time, where that part is known.
    pub without_lag: Option<f64>,
    /// The unit of `actual` and `without_lag`.
    pub unit: Unit,
}

impl LimitOutcome {
    /// The outcome where nothing was measured.
    pub fn unmeasured(of: Requirement) -> Self {
        let unit = of.limit().map(Limit::unit).unwrap_or_default();
        Self { of, status: LimitStatus::Broken, actual: None, without_lag: None, unit }
    }

    /// Returns whether the requirement held.
    pub fn passed(&self) -> bool {
        self.status == LimitStatus::Passed
    }

    /// Returns whether `actual` is a lower bound.
    pub fn is_at_least(&self) -> bool {
        self.status == LimitStatus::AtLeast
    }

    /// Returns whether it cannot be told that the server broke it.
    pub(crate) fn is_undecided(&self) -> bool {
        self.status == LimitStatus::Undecided
    }

    /// Returns whether its breaking is proof against the server, whatever CPU or chance did: a copy that came
    /// twice, corrupt or to the wrong client, or never to a client that was away. Missing copies are none: they
    /// may come after the wait for them.
    pub(crate) fn is_proof(&self) -> bool {
        match self.of.figure() {
            Some(Figure::Counted(Counted::Wrong)) => true,
            Some(Figure::Counted(Counted::Count(count))) => {
                let is_of_pushes = matches!(count, Count::PushSkipped | Count::PushDiffering);
                let is_lost =
                    count == Count::LostOffline || count.facts().is_defect && count != Count::Missing;
                is_of_pushes || is_lost
            }
            _ => false,
        }
    }

    /// The outcome of a limit in an echo, or in a run that has what that has not.
    #[cfg(test)]
    pub(crate) fn of_text(text: &str) -> Self {
        let scenarios = [Scenario::Echo, Scenario::Broadcast, Scenario::Storm, Scenario::Stream];
        let limits = scenarios.map(|scenario| Limit::parse(text, scenario));
        let limit = limits.into_iter().find_map(Result::ok).unwrap_or_else(|| panic!("{text}"));
        Self::unmeasured(Requirement::Limit(limit))
    }

    /// The limit's bound, in `unit`.
    pub fn bound(&self) -> Option<f64> {
        self.of.limit().map(|limit| limit.value)
    }

    /// Returns whether it is about the rate that was asked.
    pub(crate) fn is_of_rate(&self) -> bool {
        self.of.figure() == Some(Figure::Rate(Rate::Achieved))
    }
}

/// Why a text is not a limit.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum LimitError {
    /// There is no `<`, `<=`, `>`, `>=` or `==`.
    #[error("{0:?} is not a limit: write a metric, <, <=, >, >= or ==, and a value, such as p95<250ms")]
    Shape(String),
    /// The scenario has no such figure.
    #[error("there is no metric {figure:?} in {scenario}; there are {known}")]
    Figure {
        /// The figure asked for.
        figure: String,
        /// The scenario.
        scenario: Scenario,
        /// The figures that there are.
        known: String,
    },
    /// The scenario has it by another name.
    #[error("there is no metric {figure:?} in {scenario}: write {own}")]
    Foreign {
        /// The figure asked for.
        figure: String,
        /// The scenario.
        scenario: Scenario,
        /// Its name.
        own: String,
    },
    /// The value is not in the figure's unit.
    #[error("in the limit {limit:?}, {error}")]
    Value {
        /// The limit.
        limit: String,
        /// The error of its value.
        error: UnitError,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Comparison {
    Below,
    AtMost,
    Above,
    AtLeast,
    Equal,
}

/// The longer signs first: `<=` begins with `<`.
const COMPARISONS: [(&str, Comparison); 5] = [
    ("<=", Comparison::AtMost),
    (">=", Comparison::AtLeast),
    ("==", Comparison::Equal),
    ("<", Comparison::Below),
    (">", Comparison::Above),
];

impl Comparison {
    fn sign(self) -> &'static str {
        COMPARISONS.into_iter().find(|(_, comparison)| *comparison == self).map_or("", |(sign, _)| sign)
    }

    fn holds(self, actual: f64, value: f64) -> bool {
        match self {
            Comparison::Below => actual < value,
            Comparison::AtMost => actual <= value,
            Comparison::Above => actual > value,
            Comparison::AtLeast => actual >= value,
            Comparison::Equal => actual == value,
        }
    }
}

impl Limit {
    /// Reads a limit on a figure of `scenario`.
    ///
    /// # Errors
    /// No comparison, a figure that the scenario does not have, or a value in the wrong unit.
    pub fn parse(text: &str, scenario: Scenario) -> Result<Self, LimitError> {
        let text = text.trim();
        let (name, comparison, value) = split(text).ok_or_else(|| LimitError::Shape(text.into()))?;
        let of = StepFigure::parse(name, scenario)?;
        let as_share = of.figure.has_share() && value.ends_with('%');
        let value =
            read_value(of.figure, value).map_err(|error| LimitError::Value { limit: text.into(), error })?;
        Ok(Limit { text: text.into(), of, comparison, value, as_share })
    }

    /// The limit that a figure is nothing; where `percent` of what it is part of may be, at most that.
    pub(crate) fn at_most(figure: Figure, percent: f64) -> Self {
        if percent > 0.0 { Limit::of_share(figure, Comparison::AtMost, percent) } else { Limit::none(figure) }
    }

    /// The limit that a figure is this share of what it is part of, or more.
    pub(crate) fn at_least(figure: Figure, percent: f64) -> Self {
        Limit::of_share(figure, Comparison::AtLeast, percent)
    }

    fn none(figure: Figure) -> Self {
        let text = format!("{}{}0", figure.name(), Comparison::Equal.sign());
        Limit {
            text,
            of: StepFigure::whole(figure),
            comparison: Comparison::Equal,
            value: 0.0,
            as_share: false,
        }
    }

    fn of_share(figure: Figure, comparison: Comparison, percent: f64) -> Self {
        // 99 − 64.1 is 34.900000000000006 in binary, and nobody typed that.
        let value = (percent * 1e9).round() / 1e9;
        let text = format!("{}{}{value}%", figure.name(), comparison.sign());
        Limit { text, of: StepFigure::whole(figure), comparison, value, as_share: true }
    }

    /// The unit of its value.
    pub fn unit(&self) -> Unit {
        self.of.figure.unit(self.as_share)
    }

    /// The part of a step it is about.
    pub fn part(&self) -> &Part {
        &self.of.part
    }

    /// The rate of messages without which it is broken, where it names one: 1,000 of `rate>=1000`.
    pub fn rate_per_s_min(&self) -> Option<f64> {
        let is_of_rate = self.of.figure == Figure::Rate(Rate::Achieved) && !self.as_share;
        // An equality, too, is broken by any lower rate.
        let is_minimum =
            matches!(self.comparison, Comparison::AtLeast | Comparison::Above | Comparison::Equal);
        (is_of_rate && is_minimum).then_some(self.value)
    }

    /// Returns whether it is about how long answers take.
    pub fn is_of_round_trip(&self) -> bool {
        matches!(self.of.figure, Figure::Timed(Timed::Rtt | Timed::Service, _))
    }

    /// The figure it is about.
    pub(crate) fn figure(&self) -> Figure {
        self.of.figure
    }

    /// Returns whether a figure of this value keeps it.
    pub(crate) fn is_kept_by(&self, actual: f64) -> bool {
        self.comparison.holds(actual, self.value)
    }

    /// The messages that take too long by it, where their time is `accounted` for. `None`: it bounds none
    /// from above, or those of a part.
    pub(crate) fn slow_tail(&self, accounted: Timed) -> Option<SlowTail> {
        let quantile = match self.of.figure {
            Figure::Timed(timed, Statistic::Quantile(quantile)) if timed == accounted => quantile,
            Figure::Timed(timed, Statistic::Max) if timed == accounted => 1.0,
            _ => return None,
        };
        let is_upper = matches!(self.comparison, Comparison::Below | Comparison::AtMost);
        let from_ns = (self.value * 1e6) as u64;
        (is_upper && self.of.part == Part::Whole).then_some(SlowTail { from_ns, quantile })
    }

    /// Returns whether both are about the same figure, whatever they ask of it.
    pub(crate) fn is_about_the_same(&self, other: &Limit) -> bool {
        self.of == other.of
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

fn split(text: &str) -> Option<(&str, Comparison, &str)> {
    let at = text.find(['<', '>', '='])?;
    let (sign, comparison) = COMPARISONS.into_iter().find(|(sign, _)| text[at..].starts_with(sign))?;
    let (name, value) = (text[..at].trim(), text[at + sign.len()..].trim());
    (!name.is_empty() && !value.is_empty()).then_some((name, comparison, value))
}

fn read_value(figure: Figure, text: &str) -> Result<f64, UnitError> {
    match figure {
        Figure::Timed(..) => units::duration_ns(text).map(|ns| ns as f64 / 1e6),
        figure if figure.has_share() && text.ends_with('%') => units::percent(text),
        Figure::Counted(_) => units::count(text).map(|count| count as f64),
        Figure::Rate(Rate::SentBytes | Rate::ReceivedBytes) => units::bytes_per_s(text),
        Figure::Rate(_) => units::rate_per_s(text),
        Figure::Gauge(Gauge::ServerCpu | Gauge::GeneratorCpu | Gauge::Delivered) => units::percent(text),
        Figure::Gauge(Gauge::ServerRss | Gauge::GeneratorRss) => units::bytes(text).map(|bytes| bytes as f64),
        Figure::Gauge(Gauge::MessagesPerFrame) => units::number(text),
    }
}

#[cfg(test)]
mod tests;
