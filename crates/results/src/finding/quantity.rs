//! The numbers in a finding: what they are called in files, and how they read in a sentence.

use std::fmt;

use serde_json::{Map, Value, json};
use stats::Timed;

use crate::format;
use crate::resources::ProgramUse;
use crate::unit::Unit;

/// A kind of number: its unit, its form in the file, its text.
pub trait Quantity: Clone + PartialEq {
    /// The end of its name in files: `_ms`; empty where the name says all.
    const UNIT: &'static str = "";

    /// Its form in the file; `None` is left out.
    fn to_json(&self) -> Option<Value>;

    /// Reads what [`Quantity::to_json`] wrote; `None` is what was left out.
    fn from_json(value: Option<&Value>) -> Option<Self>;

    /// The number and its unit as they read: `("97", "%")`.
    fn words(&self) -> (String, &str);

    /// How a range of values reads, without its unit.
    fn range(low: &Self, high: &Self) -> String {
        let (low, high) = (low.words().0, high.words().0);
        if low == high { low } else { format!("{low} to {high}") }
    }

    /// Returns whether two values may belong to one finding of several steps: numbers may differ, text may not.
    fn is_alike(&self, other: &Self) -> bool {
        self == other || self.rank().is_some() && other.rank().is_some()
    }

    /// A value for an example.
    fn example() -> Self;

    /// By what the values of several steps are put in order; `None` for text, which is the same or a different finding.
    fn rank(&self) -> Option<f64> {
        None
    }
}

/// Declares a newtype around a number: its unit in files, its form there, and its words.
macro_rules! quantity {
    (
        $(#[$doc:meta])* $name:ident($inner:ty), $unit:literal, $example:literal,
        $self:ident => $json:expr, $from:expr, $words:expr
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub struct $name(pub $inner);

        impl Quantity for $name {
            const UNIT: &'static str = $unit;

            fn to_json(&$self) -> Option<Value> {
                Some(json!($json))
            }

            fn from_json(value: Option<&Value>) -> Option<Self> {
                let read: fn(&Value) -> Option<$inner> = $from;
                read(value?).map($name)
            }

            fn words(&$self) -> (String, &str) {
                $words
            }

            fn rank(&$self) -> Option<f64> {
                Some($self.0 as f64)
            }

            fn example() -> Self {
                $name($example)
            }
        }
    };
}

quantity!(
    /// A share of a whole, 0 to 100.
    Percent(f64), "_percent", 97.0, self => rounded(self.0), Value::as_f64, (percent(rounded(self.0)), "%")
);
quantity!(
    /// A share cut to a tenth, so that it stays below the limit that it broke.
    CutPercent(f64), "_percent", 97.0, self => rounded(self.0), Value::as_f64, (format!("{:.1}", rounded(self.0)), "%")
);
quantity!(
    /// A duration in nanoseconds; milliseconds in files.
    Ns(u64), "_ms", 20_000_000, self => self.0 as f64 / 1e6,
    // Rounded: cut, a duration could lose a nanosecond by way of the file.
    |value| value.as_f64().map(|ms| (ms * 1e6).round() as u64), (format::duration(self.0), "")
);
quantity!(
    /// A rate.
    PerS(f64), "_per_s", 250.0, self => rounded(self.0), Value::as_f64, (rate(rounded(self.0)), "/s")
);
quantity!(
    /// A size.
    Bytes(u64), "_bytes", 67_108_864, self => self.0, Value::as_u64, (format::bytes(self.0 as f64), "")
);
quantity!(
    /// CPUs: `1 core`, `0.5 cores`.
    Cores(f64), "", 2.0, self => rounded(self.0), Value::as_f64, (rounded(self.0).to_string(), if self.0 == 1.0 { " core" } else { " cores" })
);
quantity!(
    /// How many times something grew.
    Factor(f64), "_factor", 1.5, self => rounded(self.0), Value::as_f64, (format!("{:.1}", rounded(self.0)), "-fold")
);
quantity!(
    /// The name of a percentile: `p95` of 0.95.
    Quantile(f64), "", 0.99, self => self.0, Value::as_f64, (format!("p{}", (self.0 * 1e6).round() / 1e4), "")
);

quantity!(
    /// A number whose unit is another field.
    Number(f64), "", 250.0, self => self.0, Value::as_f64, (self.0.to_string(), "")
);

impl Quantity for Unit {
    fn example() -> Self {
        Unit::Ms
    }

    fn to_json(&self) -> Option<Value> {
        (*self != Unit::Count).then(|| json!(self.name()))
    }

    fn from_json(value: Option<&Value>) -> Option<Self> {
        value.map_or(Some(Unit::Count), |value| Unit::of_name(value.as_str()?))
    }

    fn words(&self) -> (String, &str) {
        (self.name().to_owned(), "")
    }
}

/// True; false is left out of files.
impl Quantity for bool {
    fn example() -> Self {
        true
    }

    fn to_json(&self) -> Option<Value> {
        self.then(|| json!(true))
    }

    fn from_json(value: Option<&Value>) -> Option<Self> {
        value.map_or(Some(false), Value::as_bool)
    }

    fn words(&self) -> (String, &str) {
        (self.to_string(), "")
    }
}

impl Quantity for u64 {
    fn example() -> Self {
        1_234
    }

    fn to_json(&self) -> Option<Value> {
        Some(json!(self))
    }

    fn from_json(value: Option<&Value>) -> Option<Self> {
        value?.as_u64()
    }

    fn words(&self) -> (String, &str) {
        (format::count(*self), "")
    }

    fn rank(&self) -> Option<f64> {
        Some(*self as f64)
    }
}

impl Quantity for String {
    fn example() -> Self {
        "…".to_owned()
    }

    fn to_json(&self) -> Option<Value> {
        Some(json!(self))
    }

    fn from_json(value: Option<&Value>) -> Option<Self> {
        value?.as_str().map(str::to_owned)
    }

    fn words(&self) -> (String, &str) {
        (self.clone(), "")
    }
}

/// Other programs, with the CPU that each used: percent of a core.
#[derive(Clone, Debug, PartialEq)]
pub struct Programs(pub Vec<ProgramUse>);

impl Quantity for Programs {
    fn example() -> Self {
        let program = |name: &str, cpu_percent| ProgramUse { name: name.into(), cpu_percent };
        Programs(vec![program("rustc", 140.0), program("cc1", 60.0)])
    }

    fn to_json(&self) -> Option<Value> {
        let each =
            |program: &ProgramUse| json!({"name": program.name, "cpu_percent": rounded(program.cpu_percent)});
        Some(self.0.iter().map(each).collect())
    }

    fn from_json(value: Option<&Value>) -> Option<Self> {
        let each = |program: &Value| {
            let name = program.get("name")?.as_str()?.to_owned();
            Some(ProgramUse { name, cpu_percent: program.get("cpu_percent")?.as_f64()? })
        };
        value?.as_array()?.iter().map(each).collect::<Option<_>>().map(Programs)
    }

    fn words(&self) -> (String, &str) {
        let named =
            self.0.iter().map(|program| format!("{} {:.0}%", program.name, rounded(program.cpu_percent)));
        (named.collect::<Vec<_>>().join(", "), " of a core")
    }

    fn rank(&self) -> Option<f64> {
        Some(self.0.iter().map(|program| program.cpu_percent).sum())
    }

    /// The programs that used most.
    fn range(_: &Self, high: &Self) -> String {
        high.words().0
    }
}

/// Errors by their kind, the most frequent first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kinds(pub Vec<(String, u64)>);

/// How many kinds are named in a sentence.
const KINDS_NAMED_MAX: usize = 3;

impl Kinds {
    /// Kinds with their counts, the most frequent first.
    pub(crate) fn sorted(mut kinds: Vec<(String, u64)>) -> Self {
        // Ties by name, so that equal counts make equal sentences.
        kinds.sort_by(|(a, one), (b, other)| other.cmp(one).then(a.cmp(b)));
        Kinds(kinds)
    }
}

impl Quantity for Kinds {
    fn example() -> Self {
        Kinds(vec![("connect_timeout".into(), 15), ("refused".into(), 10)])
    }

    fn to_json(&self) -> Option<Value> {
        let each = self.0.iter().map(|(kind, count)| (kind.clone(), json!(count)));
        (!self.0.is_empty()).then(|| Value::Object(each.collect()))
    }

    fn from_json(value: Option<&Value>) -> Option<Self> {
        let Some(value) = value else { return Some(Kinds::default()) };
        let each = |(kind, count): (&String, &Value)| Some((kind.clone(), count.as_u64()?));
        // A JSON object has no order of its own.
        value.as_object()?.iter().map(each).collect::<Option<_>>().map(Kinds::sorted)
    }

    /// The name alone, where there is but one.
    fn words(&self) -> (String, &str) {
        if let [(kind, _)] = &self.0[..] {
            return (kind.clone(), "");
        }
        let named = self.0.iter().take(KINDS_NAMED_MAX);
        let mut named: Vec<String> = named.map(|(kind, n)| format!("{kind} {}", format::count(*n))).collect();
        let others = self.0.iter().skip(KINDS_NAMED_MAX).map(|(_, n)| n).sum::<u64>();
        named.extend((others > 0).then(|| format!("others {}", format::count(others))));
        (named.join(", "), "")
    }
}

impl<T: Quantity> Quantity for Option<T> {
    const UNIT: &'static str = T::UNIT;

    fn example() -> Self {
        Some(T::example())
    }

    fn to_json(&self) -> Option<Value> {
        self.as_ref()?.to_json()
    }

    fn from_json(value: Option<&Value>) -> Option<Self> {
        match value {
            None => Some(None),
            some => T::from_json(some).map(Some),
        }
    }

    fn words(&self) -> (String, &str) {
        self.as_ref().map(T::words).unwrap_or_default()
    }

    fn range(low: &Self, high: &Self) -> String {
        match (low, high) {
            (Some(low), Some(high)) => T::range(low, high),
            _ => high.as_ref().map(|high| high.words().0).unwrap_or_default(),
        }
    }

    /// Returns whether two are alike but for their numbers; a number that a step does not know does not set it apart.
    fn is_alike(&self, other: &Self) -> bool {
        self.as_ref().zip(other.as_ref()).is_none_or(|(own, other)| own.is_alike(other))
    }

    fn rank(&self) -> Option<f64> {
        self.as_ref()?.rank()
    }
}

/// A number as it stands in a sentence: of one step, or the lowest and the highest of several.
pub(crate) struct Span<'a, T> {
    pub(super) low: &'a T,
    pub(super) high: &'a T,
}

/// `97%`, `5.1 to 22.3%`; with `#` without the unit.
impl<T: Quantity> fmt::Display for Span<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unit = if f.alternate() { "" } else { self.high.words().1 };
        write!(f, "{}{unit}", T::range(self.low, self.high))
    }
}

impl Span<'_, Ns> {
    /// The highest, behind "up to".
    pub(super) fn most(&self) -> String {
        self.high.words().0
    }
}

impl Span<'_, u64> {
    /// `3 of 300 clients`, `all 300 clients`, `the one client`.
    pub(super) fn part_of(&self, of: &Self, what: impl fmt::Display) -> String {
        match *of.high {
            1 => format!("the one {}", one_of(&what.to_string())),
            // The lowest is compared: a range that ends at all of them is not all.
            all if all == *self.low => format!("all {of} {what}"),
            _ => format!("{self} of {of} {what}"),
        }
    }

    /// `1 sample`, `20 to 160 samples`.
    pub(super) fn of(&self, what: &str) -> String {
        let only_one = *self.low == 1 && *self.high == 1;
        format!("{self} {what}{}", if only_one { "" } else { "s" })
    }

    /// `once`, `3 times`.
    pub(super) fn times(&self) -> String {
        if *self.high == 1 { "once".into() } else { format!("{self} times") }
    }
}

/// One of several: `copy` of `copies`, `push` of `pushes`, `attempt to connect` of `attempts to connect`.
fn one_of(several: &str) -> String {
    let (noun, rest) = several.split_at(several.find(' ').unwrap_or(several.len()));
    let one = match (noun.strip_suffix("ies"), noun.strip_suffix("hes")) {
        (Some(stem), _) => format!("{stem}y"),
        (None, Some(stem)) => format!("{stem}h"),
        (None, None) => noun.trim_end_matches('s').to_owned(),
    };
    one + rest
}

impl<'a> Span<'a, String> {
    /// The reports' name of the metric: `round trip` for `rtt`.
    pub(super) fn words(&self) -> &'a str {
        Timed::named(self.high).map_or(self.high, |timed| timed.words())
    }
}

impl Span<'_, Kinds> {
    /// ` (connect_timeout 15, refused 10)`, or nothing.
    pub(super) fn in_brackets(&self) -> String {
        if self.high.0.is_empty() { String::new() } else { format!(" ({self})") }
    }
}

impl<T: Quantity> Span<'_, Option<T>> {
    /// Its text between two others, or nothing.
    pub(super) fn within(&self, before: &str, after: &str) -> String {
        if self.high.is_some() { format!("{before}{self}{after}") } else { String::new() }
    }

    /// Its text behind another, or nothing.
    pub(super) fn behind(&self, before: &str) -> String {
        self.within(before, "")
    }
}

/// The number of two at which a range ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extreme {
    /// The lower one.
    Lowest,
    /// The higher one.
    Highest,
}

impl Extreme {
    pub(super) fn of<T: Quantity>(self, own: &T, other: &T) -> T {
        let is_other = match (own.rank(), other.rank()) {
            (Some(own), Some(other)) if self == Extreme::Lowest => other < own,
            (Some(own), Some(other)) => other > own,
            // A step that does not know the number leaves it to one that does.
            (own, other) => own.is_none() && other.is_some(),
        };
        if is_other { other.clone() } else { own.clone() }
    }
}

/// A field of a finding by its name in the file; `None` where there is nothing of it.
pub(super) fn entry<T: Quantity>(field: &str, value: &T) -> Option<(String, Value)> {
    value.to_json().map(|json| (name::<T>(field), json))
}

/// The fields that there are.
pub(super) fn named<const N: usize>(entries: [Option<(String, Value)>; N]) -> Map<String, Value> {
    entries.into_iter().flatten().collect()
}

/// Reads a field that [`entry`] wrote.
pub(super) fn take<T: Quantity>(numbers: &Map<String, Value>, field: &str) -> Option<T> {
    T::from_json(numbers.get(&name::<T>(field)))
}

fn name<T: Quantity>(field: &str) -> String {
    format!("{field}{}", T::UNIT)
}

/// Rounds to three decimals: a percentage or a rate has no more to say. Sentences take the number as the file
/// has it, so that one made of the file is the same.
fn rounded(value: f64) -> f64 {
    (value * 1e3).round() / 1e3
}

/// Rounds to one decimal near both ends, where it tells some from none and all but a few from all; else whole.
fn percent(value: f64) -> String {
    let rounded = (value * 10.0).round() / 10.0;
    let tenths = match value {
        _ if value > 0.0 && rounded == 0.0 => 0.1,
        _ if value < 100.0 && rounded == 100.0 => 99.9,
        _ => rounded,
    };
    let is_near_an_end = tenths < 10.0 || tenths > 98.5 && tenths < 100.0;
    if is_near_an_end && tenths.fract() != 0.0 { format!("{tenths:.1}") } else { format!("{value:.0}") }
}

fn rate(per_s: f64) -> String {
    format::rate(per_s, "").trim_end_matches("/s").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_never_rounded_to_none_or_all() {
        let shares = [(0.0, "0"), (0.02, "0.1"), (9.96, "10"), (50.4, "50"), (99.97, "99.9"), (100.0, "100")];
        for (value, text) in shares {
            assert_eq!(percent(value), text, "{value}");
        }
    }
}
