//! When a comparison fails a job: `p99 slower by 5%`, `rate worse`, `server.rss worse by 10%`.

use stats::compare::{Change, Ruling};
use thiserror::Error;

use super::capacity;
use super::row::{self, Comparison, Row};
use crate::limit::{Figure, Part};
use crate::scenario::Scenario;
use crate::units;

/// A rule, as the user asked for it. It compares B with A: it is broken where the interval says that B has changed that
/// way, and the change is at least as large; kept where the interval says that it is not; and otherwise it cannot be
/// told.
#[derive(Clone, Debug, PartialEq)]
pub struct Rule {
    text: String,
    figure: String,
    change: Change,
    share: f64,
}

/// The outcome of a rule at one level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ruled<'a> {
    /// The figure it is about.
    pub row: &'a Row,
    /// The outcome, which a caveat may leave open.
    pub ruling: Ruling,
    /// The ruling if there were no caveat; `None` if no caveat hides it.
    pub without_caveat: Option<Ruling>,
}

/// Why a text is not a rule.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum RuleError {
    /// Not of the form.
    #[error(
        "{0:?} is not a rule: write a metric, slower, worse, faster or better, and by how much: 'p99 slower by 5%'"
    )]
    Shape(String),
    /// The scenario has no such figure.
    #[error("there is no metric {figure:?} to compare in {scenario}; there are capacity, {known}")]
    Figure {
        /// The figure asked for.
        figure: String,
        /// The scenario.
        scenario: Scenario,
        /// The figures that there are.
        known: String,
    },
}

impl Rule {
    /// Reads a rule on a figure of `scenario`; a bare percentile is of its main figure, also in a
    /// part.
    ///
    /// # Errors
    /// Not of the form; a figure that is not compared.
    pub fn parse(text: &str, scenario: Scenario) -> Result<Self, RuleError> {
        let shape = || RuleError::Shape(text.into());
        let words: Vec<&str> = text.split_whitespace().collect();
        let (name, change, share) = match words[..] {
            [name, change] => (name, change, 0.0),
            [name, change, "by", share] => (name, change, units::share(share).map_err(|_| shape())?),
            _ => return Err(shape()),
        };
        let change = match change {
            "slower" | "worse" => Change::Slower,
            "faster" | "better" => Change::Faster,
            _ => return Err(shape()),
        };
        let (part, of_it) = Part::split(name);
        let of_main = format!("{}.{of_it}", scenario.main_figure());
        let known = row::figures(&part, scenario).into_iter().map(Figure::name);
        let known: Vec<_> = known.chain((part == Part::Whole).then_some(capacity::NAME.into())).collect();
        let is_known = |name: &&str| known.iter().any(|known| known == name);
        let figure = [of_it, &of_main].into_iter().find(is_known);
        let figure = figure.map(|figure| format!("{part}{figure}")).ok_or_else(|| {
            let of_whole: Vec<_> =
                row::figures(&Part::Whole, scenario).into_iter().map(Figure::name).collect();
            let known = of_whole.join(", ") + Part::known(scenario);
            RuleError::Figure { figure: name.into(), scenario, known }
        })?;
        Ok(Rule { text: text.trim().into(), figure, change, share })
    }

    /// As it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Its claim of the figure: `slower by 5%`.
    pub fn claim(&self) -> &str {
        self.text.split_once(char::is_whitespace).map_or("", |(_, claim)| claim.trim())
    }

    /// The share of A that it is about: 0.05 of `p99 slower by 5%`; 0 where none is given.
    pub fn share(&self) -> f64 {
        self.share
    }

    /// Its outcome at each level. Empty if the figure was not measured at a level that both sides have.
    pub fn check<'a>(&self, comparison: &'a Comparison) -> Vec<Ruled<'a>> {
        let of_figure = comparison.rows.iter().filter(|row| row.figure == self.figure);
        of_figure
            .map(|row| {
                let ruling = match &row.found {
                    Some(found) => found.ruling(self.change, self.share),
                    // Nothing on either side, such as errors: there is no change to look for.
                    None if row.is_nothing() => Ruling::Kept,
                    None => Ruling::CannotTell,
                };
                let has_caveat = match ruling {
                    Ruling::Broken => row.told() == Change::CannotTell,
                    // What nobody could have seen does not acquit: a rule that passes is believed.
                    Ruling::Kept => row.is_blind,
                    Ruling::CannotTell => false,
                };
                let without_caveat = has_caveat.then_some(ruling);
                Ruled { row, ruling: if has_caveat { Ruling::CannotTell } else { ruling }, without_caveat }
            })
            .collect()
    }
}
