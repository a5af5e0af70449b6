//! Quantities for people: about three significant digits, and the unit that fits.

use std::collections::BTreeMap;

/// A duration: `850µs`, `9.12ms`, `47.1ms`, `252ms`, `6.73s`, `94.1s`, `113s`.
pub fn duration(ns: u64) -> String {
    duration_to(ns, 0)
}

/// The same, with so many more digits.
pub(crate) fn duration_to(ns: u64, more: usize) -> String {
    let ns = ns as f64;
    // The limits lie where rounding would add a digit: 9.996 ms is 10.0 ms.
    let (scale, unit) = match ns {
        _ if ns < 999_500.0 => (1e3, "µs"),
        _ if ns < 999_500_000.0 => (1e6, "ms"),
        _ => (1e9, "s"),
    };
    let value = ns / scale;
    let decimals = match value {
        _ if unit == "µs" && (value == 0.0 || value >= 9.95) => 0,
        _ if unit == "µs" => 1,
        _ if value < 9.995 => 2,
        _ if value < 99.95 => 1,
        _ => 0,
    };
    format!("{value:.0$}{unit}", decimals + more)
}

/// A whole number with thousands apart: `1,000,000`.
pub fn count(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (i, digit) in digits.char_indices() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number of something: `1 sample`, `4,000 samples`.
pub fn counted(value: u64, what: &str) -> String {
    format!("{} {what}{}", count(value), if value == 1 { "" } else { "s" })
}

/// A number of clients: `1 client`, `4,000 clients`.
pub fn clients(value: u64) -> String {
    counted(value, "client")
}

/// Cores, as the whole of a share: `a core`, `2 cores`, `0.5 cores`.
pub fn cores(value: f64) -> String {
    if value == 1.0 { "a core".into() } else { format!("{} cores", (value * 1e3).round() / 1e3) }
}

/// A rate of something per second, or of nothing named: `0.033/s`, `0.5/s`, `47.1 messages/s`, `49,976/s`.
pub fn rate(per_s: f64, of: &str) -> String {
    rate_to(per_s, of, 0)
}

/// The same, with so many more digits.
pub(crate) fn rate_to(per_s: f64, of: &str, more: usize) -> String {
    let number = match per_s {
        _ if per_s >= 99.95 && more == 0 => count(per_s.round() as u64),
        _ if per_s >= 99.95 => format!("{per_s:.more$}"),
        // Two digits: a message every 30 s is not none.
        _ if per_s > 0.0 && per_s < 0.995 => {
            let decimals = (1.0 - per_s.log10().floor()) as usize;
            let two = format!("{per_s:.0$}", decimals + more);
            two.trim_end_matches('0').to_owned()
        }
        _ => format!("{per_s:.0$}", 1 + more),
    };
    if of.is_empty() { format!("{number}/s") } else { format!("{number} {of}/s") }
}

/// A share of a whole: `45.6%`. It is cut to a tenth, so that neither what is missing looks like 100%, nor what broke a
/// limit as if it had kept it; some is never none.
pub fn share(percent: f64) -> String {
    format!("{:.1}%", cut_percent(percent))
}

/// A share of a whole in percent, cut to a tenth; some is at least a tenth.
pub(crate) fn cut_percent(percent: f64) -> f64 {
    // A tenth that binary cannot write is not cut to the one below.
    let cut = (percent * 10.0 + 1e-6).floor() / 10.0;
    if percent > 0.0 { cut.max(0.1) } else { cut }
}

/// A size: `512 B`, `32.2 KiB`, `1.50 GiB`.
pub fn bytes(value: f64) -> String {
    bytes_to(value, 0)
}

/// The same, with so many more digits.
pub(crate) fn bytes_to(value: f64, more: usize) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut scaled = value;
    let mut unit = 0;
    // Before it would be written with four digits: 1,000 KiB is 0.98 MiB.
    while scaled.abs() >= 999.5 && unit + 1 < UNITS.len() {
        scaled /= 1_024.0;
        unit += 1;
    }
    let decimals = match scaled.abs() {
        // There is no part of a byte.
        _ if unit == 0 => return format!("{scaled:.0} {}", UNITS[unit]),
        size if size < 9.995 => 2,
        size if size < 99.95 => 1,
        _ => 0,
    };
    format!("{scaled:.0$} {1}", decimals + more, UNITS[unit])
}

/// Text from outside with `·` for every character that does not show as what it is: a server must neither
/// write to the user's terminal nor turn its text around.
pub fn printable(text: &str) -> String {
    text.replace(|c| !stats::is_shown(c), "·")
}

/// The same of a text of several lines: its line feeds and tabs stay.
pub fn printable_lines(text: &str) -> String {
    text.replace(|c| !stats::is_shown(c) && !matches!(c, '\n' | '\t'), "·")
}

/// How many answers had which HTTP status, the lowest first: `200: 71,000; 404: 12`.
pub fn statuses(counts: &BTreeMap<u16, u64>) -> String {
    let each: Vec<_> = counts.iter().map(|(status, n)| format!("{status}: {}", count(*n))).collect();
    each.join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_from_outside_neither_steers_nor_turns() {
        assert_eq!(printable("a\u{1b}[31mb\u{202e}c é"), "a·[31mb·c é");
        assert_eq!(printable_lines("a\tb\n\u{9b}31mc\r\n"), "a\tb\n·31mc·\n");
    }

    #[test]
    fn shares_are_cut_to_a_tenth() {
        let shares = [
            (0.0, "0.0%"),
            (0.003, "0.1%"),
            (64.1, "64.1%"),
            (98.97, "98.9%"),
            (99.98, "99.9%"),
            (100.0, "100.0%"),
        ];
        for (percent, text) in shares {
            assert_eq!(share(percent), text);
        }
    }

    /// Quantities as the table has them; the script of the report's page is held against it, too.
    #[test]
    fn quantities_are_written_by_the_table() {
        let table: serde_json::Value = serde_json::from_str(include_str!("format.json")).unwrap();
        type Write = fn(f64) -> String;
        let write: [(&str, Write); 4] = [
            ("duration_ns", |ns| duration(ns as u64)),
            ("rate_per_s", |per_s| rate(per_s, "")),
            ("bytes", bytes),
            ("count", |value| count(value as u64)),
        ];
        for (name, write) in write {
            for pair in table[name].as_array().unwrap() {
                assert_eq!(Some(write(pair[0].as_f64().unwrap()).as_str()), pair[1].as_str(), "{pair}");
            }
        }
        assert_eq!(rate(0.0333, "messages"), "0.033 messages/s");
    }
}
