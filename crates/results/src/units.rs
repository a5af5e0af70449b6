//! Durations, sizes, counts, rates and shares as people write them: `250ms`, `4KiB`, `1k`, `500/s`, `1%`.

use thiserror::Error;

/// Nanoseconds in each unit of time.
const TIME_UNITS: [(&str, f64); 9] = [
    ("ns", 1.0),
    ("us", 1e3),
    ("µs", 1e3),
    ("ms", 1e6),
    ("s", 1e9),
    ("min", 60e9),
    ("m", 60e9),
    ("h", 3_600e9),
    ("d", 86_400e9),
];

/// Multipliers of counts, and of bytes with a trailing `B`.
// A small m is a million, too: nobody counts in thousandths.
const COUNT_UNITS: [(&str, f64); 6] = [("", 1.0), ("k", 1e3), ("K", 1e3), ("M", 1e6), ("m", 1e6), ("G", 1e9)];

/// Multipliers of bytes.
const BYTE_UNITS: [(&str, f64); 12] = [
    ("", 1.0),
    ("B", 1.0),
    ("k", 1e3),
    ("kB", 1e3),
    ("KB", 1e3),
    ("KiB", 1_024.0),
    ("M", 1e6),
    ("MB", 1e6),
    ("MiB", 1_048_576.0),
    ("G", 1e9),
    ("GB", 1e9),
    ("GiB", 1_073_741_824.0),
];

/// Text that is not the quantity asked for.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{text:?} is not {expected}")]
pub struct UnitError {
    /// The text given.
    pub text: String,
    /// The expected form, with an example.
    pub expected: &'static str,
}

/// A duration in nanoseconds: a number and a unit, or several of them (`1m30s`), as Go writes durations. A bare
/// `0` needs no unit.
///
/// # Errors
/// No number, no unit, an unknown unit, or too long for 64 bits.
pub fn duration_ns(text: &str) -> Result<u64, UnitError> {
    let error = || wrong(text, "a duration: a number with ns, us, ms, s, m or h, such as 250ms or 1m30s");
    let mut rest = text.trim();
    if rest == "0" {
        return Ok(0);
    }
    let mut total = 0.0;
    loop {
        let (number, unit, after) = split(rest).ok_or_else(error)?;
        total += number * lookup(&TIME_UNITS, unit).ok_or_else(error)?;
        if after.is_empty() {
            return whole(total).ok_or_else(error);
        }
        rest = after;
    }
}

/// A time on a command line or in an app file: as [`duration_ns`], and a bare number is seconds. Limits and histories
/// need the unit: a bare `p95<250` may be meant in milliseconds, and a history's number is of messages.
///
/// # Errors
/// As of [`duration_ns`].
pub fn time_ns(text: &str) -> Result<u64, UnitError> {
    let is_bare = text.trim().ends_with(|c: char| c.is_ascii_digit() || c == '.');
    if is_bare && split(text.trim()).is_some_and(|(_, unit, _)| unit.is_empty()) {
        return duration_ns(&format!("{}s", text.trim()));
    }
    duration_ns(text)
}

/// A time between two moments on a command line, which is longer than 0.
///
/// # Errors
/// In words: as of [`time_ns`], or 0.
pub fn interval_ns(text: &str) -> Result<u64, String> {
    match time_ns(text) {
        Ok(0) => Err("must be longer than 0".into()),
        interval => interval.map_err(|error| error.to_string()),
    }
}

/// A count: `500`, `1k`, `1.5M`.
///
/// # Errors
/// No number, an unknown suffix, or not a whole number.
pub fn count(text: &str) -> Result<u64, UnitError> {
    single(text, &COUNT_UNITS)
        .filter(|value| value.fract() == 0.0)
        .and_then(whole)
        .ok_or_else(|| wrong(text, "a whole number, such as 500, 1k or 1.5M"))
}

/// A size in bytes: `512`, `4KiB`, `1MB`.
///
/// # Errors
/// No number, an unknown unit, or not a whole number of bytes.
pub fn bytes(text: &str) -> Result<u64, UnitError> {
    single(text, &BYTE_UNITS)
        .filter(|value| value.fract() == 0.0)
        .and_then(whole)
        .ok_or_else(|| wrong(text, "a size: a number with B, kB, KiB, MB, MiB, GB or GiB, such as 4KiB"))
}

/// A rate per second: `500`, `500/s`, `1.5k/s`, `30/min`.
///
/// # Errors
/// No number, or an unknown suffix.
pub fn rate_per_s(text: &str) -> Result<f64, UnitError> {
    per_s(text, &COUNT_UNITS)
        .ok_or_else(|| wrong(text, "a rate per second, such as 500, 500/s, 1.5k/s or 30/min"))
}

/// Bytes per second: `1MB/s`, `64KiB`.
///
/// # Errors
/// No number, or an unknown unit.
pub fn bytes_per_s(text: &str) -> Result<f64, UnitError> {
    per_s(text, &BYTE_UNITS)
        .ok_or_else(|| wrong(text, "a rate of bytes per second, such as 500kB/s or 1MiB/s"))
}

/// A share: `1%` is 0.01.
///
/// # Errors
/// No number, or no percent sign.
pub fn share(text: &str) -> Result<f64, UnitError> {
    percent(text).map(|percent| percent / 100.0)
}

/// A share in percent: `29%` is 29, which a hundred times its [`share`] is not in binary.
///
/// # Errors
/// No number, or no percent sign.
pub fn percent(text: &str) -> Result<f64, UnitError> {
    let number = text.trim().strip_suffix('%').and_then(|number| single(number, &[("", 1.0)]));
    number.ok_or_else(|| wrong(text, "a share, such as 1%"))
}

/// A plain number: `5`, `1.5`.
///
/// # Errors
/// No number.
pub fn number(text: &str) -> Result<f64, UnitError> {
    single(text, &[("", 1.0)]).ok_or_else(|| wrong(text, "a number, such as 5 or 1.5"))
}

fn wrong(text: &str, expected: &'static str) -> UnitError {
    UnitError { text: text.into(), expected }
}

/// The leading number, the letters after it, and what follows them.
fn split(text: &str) -> Option<(f64, &str, &str)> {
    let number_end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, after) = text.split_at(number_end);
    // A unit ends where the next number begins, as in 1m30s.
    let unit_end = after.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(after.len());
    let (unit, after) = after.split_at(unit_end);
    Some((number.parse().ok()?, unit.trim(), after))
}

fn single(text: &str, units: &[(&str, f64)]) -> Option<f64> {
    let (number, unit, after) = split(text.trim())?;
    if after.is_empty() { Some(number * lookup(units, unit)?) } else { None }
}

/// A number for each of a unit of time, which is a second if none is named.
fn per_s(text: &str, units: &[(&str, f64)]) -> Option<f64> {
    let (number, time) = text.trim().split_once('/').unwrap_or((text, "s"));
    let (number, time_ns) = single(number, units).zip(lookup(&TIME_UNITS, time.trim()))?;
    Some(number / (time_ns / 1e9))
}

fn lookup(units: &[(&str, f64)], unit: &str) -> Option<f64> {
    units.iter().find(|(name, _)| *name == unit).map(|&(_, factor)| factor)
}

/// Rounds away what binary fractions leave (1.1 × 10⁹ is not whole); `None` beyond 64 bits.
fn whole(value: f64) -> Option<u64> {
    (value < u64::MAX as f64).then(|| value.round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations() {
        for (text, ns) in [
            ("250ms", 250_000_000),
            ("1.5s", 1_500_000_000),
            ("1m30s", 90_000_000_000),
            ("5m", 300_000_000_000),
            ("2h", 7_200_000_000_000),
            ("10 s", 10_000_000_000),
            ("33us", 33_000),
            ("33µs", 33_000),
            ("1.1s", 1_100_000_000),
            ("0", 0),
        ] {
            assert_eq!(duration_ns(text), Ok(ns), "{text}");
        }
        for text in ["", "250", "ms", "-1s", "1x", "1s5", "1e3s", "1..5s", "99999999999h", "s1"] {
            assert!(duration_ns(text).is_err(), "{text}");
        }
        let message = duration_ns("250").unwrap_err().to_string();
        assert_eq!(
            message,
            "\"250\" is not a duration: a number with ns, us, ms, s, m or h, such as 250ms or 1m30s"
        );
    }

    #[test]
    fn bare_times_are_seconds() {
        for (text, ns) in [("3", 3_000_000_000), ("0.5", 500_000_000), ("0", 0), ("250ms", 250_000_000)] {
            assert_eq!(time_ns(text), Ok(ns), "{text}");
        }
        for text in ["", "-3", "1s5", "3x", "inf", "1e3", "99999999999999"] {
            assert!(time_ns(text).is_err(), "{text}");
        }
    }

    #[test]
    fn counts() {
        for (text, value) in
            [("500", 500), ("1k", 1_000), ("1.5M", 1_500_000), ("2m", 2_000_000), ("20_000", 0)]
        {
            assert_eq!(count(text).unwrap_or(0), value, "{text}");
        }
        assert!(
            count("0.5").is_err() && count("1KiB").is_err() && count("-1").is_err() && count("1k1").is_err()
        );
        assert_eq!(count("1.1k"), Ok(1_100));
    }

    #[test]
    fn sizes() {
        for (text, value) in [("512", 512), ("4KiB", 4_096), ("1MB", 1_000_000), ("1.5GiB", 1_610_612_736)] {
            assert_eq!(bytes(text), Ok(value), "{text}");
        }
        assert!(bytes("4kib").is_err() && bytes("KiB").is_err());
    }

    #[test]
    fn rates_and_shares() {
        assert_eq!(rate_per_s("1.5k/s"), Ok(1_500.0));
        assert_eq!(rate_per_s("0.5"), Ok(0.5));
        assert_eq!(rate_per_s("30/min"), Ok(0.5));
        assert_eq!(bytes_per_s("1MiB/s"), Ok(1_048_576.0));
        for text in ["5/", "5/x", "/s", "5/10s", "5MB/s"] {
            assert!(rate_per_s(text).is_err(), "{text}");
        }
        assert_eq!(share("1%"), Ok(0.01));
        assert!(share("1").is_err() && share("%").is_err());
    }

    #[test]
    fn percentages_are_the_numbers_typed() {
        for tenths in 0..=1_000 {
            let number = f64::from(tenths) / 10.0;
            assert_eq!(percent(&format!("{number}%")), Ok(number));
        }
    }
}
