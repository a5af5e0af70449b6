//! Scaling of flags' values by `--scale`.

use std::fmt;

use results::units;

/// In which a time is told, the largest first that it is a multiple of; others are told in nanoseconds.
const TIMES: [(&str, u64); 3] = [("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000)];

/// A flag that is not as the suite asks for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shortened {
    /// Its name, without dashes.
    pub flag: String,
    /// Its value in the suite.
    pub from: String,
    /// Its value in this shootout.
    pub to: String,
}

impl fmt::Display for Shortened {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} instead of {}", self.flag, self.to, self.from)
    }
}

/// A time or a number, as a flag writes it, multiplied; of a list, that share of its entries. What is
/// something stays so.
pub(super) fn shorten(value: &str, scale: f64) -> String {
    if scale == 1.0 {
        return value.to_owned();
    }
    if value.contains(',') {
        return thin_out(value, scale);
    }
    // Not 0, unless it was: without clients or time, there is no measurement.
    let shortened = |number: f64| ((number * scale).round() as u64).max(u64::from(number > 0.0));
    // A bare number is a count, even 0; `5m` are minutes, and no millions.
    if let Ok(count) = value.parse::<u64>() {
        return shortened(count as f64).to_string();
    }
    match (units::duration_ns(value), units::count(value)) {
        (Ok(ns), _) => {
            let ns = shortened(ns as f64);
            let (unit, size) =
                TIMES.into_iter().find(|(_, size)| ns.is_multiple_of(*size)).unwrap_or(("ns", 1));
            format!("{}{unit}", ns / size)
        }
        (_, Ok(count)) => shortened(count as f64).to_string(),
        _ => value.to_owned(), // the command line says what is wrong with it
    }
}

/// Thins out a list to that share of its entries, evenly spread, the last among them.
fn thin_out(list: &str, scale: f64) -> String {
    let entries: Vec<&str> = list.split(',').collect();
    let kept = ((entries.len() as f64 * scale).round() as usize).clamp(1, entries.len());
    // The last of each part, so that the heaviest of a rising list is among them.
    let last_of_part = |part: usize| ((part + 1) * entries.len()).div_ceil(kept) - 1;
    (0..kept).map(|part| entries[last_of_part(part)]).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_numbers_and_lists_are_shortened_alike() {
        for (value, scale, expected) in [
            ("5m", 0.1, "30s"),
            ("5s", 0.3, "1500ms"),
            ("1ms", 0.1, "100us"),
            ("700us", 0.5, "350us"),
            ("25us", 0.01, "250ns"),
            ("1ns", 0.1, "1ns"),
            ("20k", 0.1, "2000"),
            ("3", 0.1, "1"),
            ("0", 0.1, "0"),
            ("0s", 0.1, "0s"),
            ("5m", 1.0, "5m"),
            ("25,50,100,200,500,1000,2000", 1.0, "25,50,100,200,500,1000,2000"),
            ("25,50,100,200,500,1000,2000", 0.3, "200,2000"),
            ("25,50,100,200,500,1000,2000", 0.01, "2000"),
            ("soon", 0.1, "soon"),
        ] {
            assert_eq!(shorten(value, scale), expected, "{value} at {scale}");
        }
    }
}
