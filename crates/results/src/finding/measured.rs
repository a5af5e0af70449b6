//! Values of metrics beside the limits that they are held to, as sentences have them.

use std::fmt;

use crate::format::{self, count};
use crate::unit::Unit;

/// Digits beyond the usual ones with which a value is told from its bound: nanoseconds of a duration of seconds.
const DIGITS_MORE_MAX: usize = 7;

/// The value of a limit's metric: `6.40s`; `at least 9.00s` where some never came; `6.40s, up to 95% of it not
/// the server's` where the limit would have been kept without that.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Measured {
    /// The value, in `unit`.
    pub(crate) actual: f64,
    /// The unit of all of these.
    pub(crate) unit: Unit,
    /// The bound that it broke, to which it might be rounded.
    pub(crate) bound: Option<f64>,
    /// True where the value is a lower bound.
    pub(crate) at_least: bool,
    /// The best that it may be but for delays that are not the server's.
    pub(crate) without_lag: Option<f64>,
}

impl fmt::Display for Measured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let actual = self.apart(self.actual);
        match self.without_lag {
            // A time is shorter without lag, and a rate is higher.
            Some(without_lag) if without_lag < self.actual => {
                let percent = 100.0 * (1.0 - without_lag / self.actual);
                write!(f, "{actual}, up to {percent:.0}% of it not the server's")
            }
            Some(without_lag) => {
                let without_lag = self.apart(without_lag);
                write!(f, "{actual}, up to {without_lag} but for delays that are not the server's")
            }
            None if self.at_least => write!(f, "at least {actual}"),
            None => f.write_str(&actual),
        }
    }
}

impl Measured {
    /// Writes a value as ever, or with as many more digits as it takes to be told from the bound that it broke:
    /// rounded to that, it would read like a limit that was kept.
    fn apart(&self, value: f64) -> String {
        let written = |value: f64, more: usize| match self.unit {
            Unit::Ms => format::duration_to((value * 1e6).round() as u64, more),
            Unit::Percent => format!("{value:.0$}%", 2 + more),
            Unit::PerSecond => format::rate_to(value, "", more),
            Unit::Bytes => format::bytes_to(value, more),
            Unit::Count => count(value.round() as u64),
        };
        let is_apart =
            |more: &usize| self.bound.is_none_or(|bound| written(value, *more) != written(bound, *more));
        written(value, (0..=DIGITS_MORE_MAX).find(is_apart).unwrap_or(0))
    }
}
