//! The difference between two sides, in words.

use results::Unit;
use results::compare::{Comparison, Row};
use results::format;

/// The percentage from which people think in times.
const MANY_TIMES_PERCENT: f64 = 1_000.0;

/// The longest that is timed (METHODOLOGY "Quantiles"), in ms.
const LONGEST_MS: f64 = 600_000.0;

/// The count up to which hundredths matter.
const COUNT_OF_MEAN_MAX: f64 = 100.0;

pub(crate) fn signed_percent(percent: f64) -> String {
    format!("{percent:+.1}%").replace('-', "−")
}

/// The reason why B is told to be neither better than A nor as A is.
pub(crate) const BLIND: &str =
    "B did not hold the load that A held, or the generator set the pace on both sides";

/// The words behind a difference: it is a lower bound where a side's value is.
pub(crate) fn or_more(row: &Row) -> &'static str {
    if row.at_least.contains(&true) { " or more" } else { "" }
}

/// The level of a row: ` at 500 clients`, ` at 400/s to 50 clients` where the rows' rates differ; empty for a metric
/// of the whole run.
pub(crate) fn level(row: &Row, found: &Comparison) -> String {
    let Some(clients) = row.clients.map(format::clients) else { return String::new() };
    let asked = || found.rows.iter().filter(|other| other.clients.is_some()).map(|row| row.asked_per_s);
    match row.asked_per_s.filter(|_| asked().any(|other| other != row.asked_per_s)) {
        Some(per_s) => format!(" at {} to {clients}", format::rate(per_s, "")),
        None => format!(" at {clients}"),
    }
}

/// The bounds between which B − A lies, or why they are unknown: the text behind a colon.
pub(crate) fn open(row: &Row) -> String {
    let why = match &row.found {
        Some(found) => return between(row, found),
        None if row.at_least.contains(&true) => "a value is a lower bound",
        None if row.clients.is_none() => "a search did not tell it",
        None => "too few runs, or too short",
    };
    why.into()
}

fn between(row: &Row, found: &stats::compare::Comparison) -> String {
    let interval = found.percent().unwrap_or(found.difference);
    let bound = |bound: f64| match found.percent() {
        _ if !bound.is_finite() => "anything".into(),
        // Nobody reads +4,200% as what it is, 43 times.
        Some(_) if bound >= MANY_TIMES_PERCENT => {
            format!("{} times", format::count((1.0 + bound / 100.0).round() as u64))
        }
        Some(_) => signed_percent(bound),
        None => format!("{}{}", if bound < 0.0 { "−" } else { "+" }, show(row.unit, bound.abs())),
    };
    format!("between {} and {}", bound(interval.low), bound(interval.high))
}

pub(crate) fn show(unit: Unit, value: f64) -> String {
    match unit {
        // No sample is longer than that; a bound beyond it says that there is none.
        Unit::Ms if value > LONGEST_MS => "more than 10min".into(),
        Unit::Ms => format::duration((value.max(0.0) * 1e6).round() as u64),
        Unit::Percent => format!("{value:.1}%"),
        Unit::PerSecond => format::rate(value, ""),
        Unit::Bytes => format::bytes(value),
        // A mean over runs.
        Unit::Count if value.fract() != 0.0 && value < COUNT_OF_MEAN_MAX => format!("{value:.2}"),
        Unit::Count => format::count(value.round().max(0.0) as u64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_of_counts_are_not_rounded_away() {
        for (value, shown) in [(1.0 / 3.0, "0.33"), (3.0, "3"), (1_000.5, "1,001")] {
            assert_eq!(show(Unit::Count, value), shown);
        }
    }
}
