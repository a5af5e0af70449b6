//! Positions of values on a line: a share of the way from one end of a chart to the other.

use results::Unit;
use results::format::{bytes, duration};

/// Figures of which the largest is more than so many times the smallest stand on a logarithmic axis, as points: a bar
/// that short could not be seen.
const LINEAR_SPREAD_MAX: f64 = 40.0;
/// How far beyond the best figures, as a multiple of them, intervals are shown.
const ROOM: f64 = 1.15;
/// Labels of a linear axis.
const TICKS: f64 = 4.0;

/// An axis.
pub(super) struct Axis {
    /// The ends; of a logarithmic axis, their logarithms.
    from: f64,
    to: f64,
    /// True if equal distances are equal quotients.
    pub(super) is_log: bool,
}

impl Axis {
    /// An axis from 0 for bars that are as long as their values; a logarithmic one where these are too unlike.
    pub(super) fn of_bars(values: &[f64]) -> Axis {
        let most = values.iter().copied().fold(0.0, f64::max);
        let least = values.iter().copied().filter(|value| *value > 0.0).fold(most, f64::min);
        if most > LINEAR_SPREAD_MAX * least {
            return Axis::decades(values);
        }
        Axis { from: 0.0, to: if most > 0.0 { most * ROOM } else { 1.0 }, is_log: false }
    }

    /// A logarithmic axis over whole decades that holds all values above 0.
    pub(super) fn decades(values: &[f64]) -> Axis {
        let logs = || values.iter().filter(|value| **value > 0.0).map(|value| value.log10());
        let from = logs().fold(f64::INFINITY, f64::min).floor();
        let to = logs().fold(f64::NEG_INFINITY, f64::max).ceil();
        // Without a value above 0 there is no logarithm: any axis will do, with no point on it.
        if !from.is_finite() {
            return Axis { from: 0.0, to: 1.0, is_log: true };
        }
        // At least one decade, as a single power of ten has no length.
        Axis { from, to: to.max(from + 1.0), is_log: true }
    }

    /// The position of a value, in percent of the way; at an end if it lies beyond.
    pub(super) fn at(&self, value: f64) -> f64 {
        (self.share(value).clamp(0.0, 1.0) * 1e4).round() / 1e2
    }

    /// Returns whether the value lies between the ends.
    pub(super) fn holds(&self, value: f64) -> bool {
        (0.0..=1.0).contains(&self.share(value))
    }

    fn share(&self, value: f64) -> f64 {
        // An interval may reach down to 0, and is shown to the edge.
        let value = if self.is_log { value.max(f64::MIN_POSITIVE).log10() } else { value };
        (value - self.from) / (self.to - self.from)
    }

    /// The values that have a label.
    pub(super) fn ticks(&self) -> Vec<f64> {
        if self.is_log {
            return (self.from as i32..=self.to as i32).map(|power| 10f64.powi(power)).collect();
        }
        let rough = self.to / TICKS;
        let power = rough.log10().floor() as i32;
        // Dividing by a power of ten gives the shortest decimal; multiplying by its inverse does not.
        let value = |k: f64| if power < 0 { k / 10f64.powi(-power) } else { k * 10f64.powi(power) };
        // Round labels, at most as many as there is room for.
        let step = [1.0, 2.0, 5.0].into_iter().find(|k| value(*k) >= rough).unwrap_or(10.0);
        (0..=(self.to / value(step)) as usize).map(|k| value(k as f64 * step)).collect()
    }
}

/// A round value, as an axis has it: `20k`, `500ms`.
pub(super) fn tick(value: f64, unit: Unit) -> String {
    match unit {
        Unit::Ms if value == 0.0 => "0".to_owned(),
        Unit::Ms => plain(&duration((value * 1e6).round() as u64)),
        Unit::Bytes => bytes(value),
        Unit::Percent => format!("{value}%"),
        _ if value >= 1e6 => format!("{}M", value / 1e6),
        _ if value >= 1e3 => format!("{}k", value / 1e3),
        _ => format!("{value}"),
    }
}

/// `5.00ms` as `5ms`.
fn plain(text: &str) -> String {
    let Some((number, unit)) = text.find(|c: char| c.is_alphabetic()).map(|at| text.split_at(at)) else {
        return text.to_owned();
    };
    let number =
        if number.contains('.') { number.trim_end_matches('0').trim_end_matches('.') } else { number };
    format!("{number}{unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_begin_at_zero() {
        let axis = Axis::of_bars(&[40.0, 100.0]);
        assert!(!axis.is_log && axis.at(0.0) == 0.0);
        assert_eq!((axis.at(57.5), axis.at(1_000.0)), (50.0, 100.0));
        assert_eq!(axis.ticks(), [0.0, 50.0, 100.0]);
    }

    #[test]
    fn very_unlike_values_stand_on_decades() {
        let axis = Axis::of_bars(&[0.08, 1_671.0]);
        assert!(axis.is_log);
        assert_eq!(axis.ticks().len(), 7, "10 µs to 10 s");
        assert_eq!((axis.at(0.01), axis.at(10_000.0), axis.at(0.0)), (0.0, 100.0, 0.0));
        assert_eq!(Axis::decades(&[]).ticks(), [1.0, 10.0]);
    }

    #[test]
    fn ticks_are_round() {
        let shown = [
            (0.01, Unit::Ms, "10µs"),
            (5.0, Unit::Ms, "5ms"),
            (10_000.0, Unit::Ms, "10s"),
            (20_000.0, Unit::Count, "20k"),
            (1.5e6, Unit::PerSecond, "1.5M"),
            (50.0, Unit::Percent, "50%"),
        ];
        for (value, unit, text) in shown {
            assert_eq!(tick(value, unit), text);
        }
        let small = Axis::of_bars(&[0.30, 0.25]).ticks().into_iter().map(|value| tick(value, Unit::Percent));
        assert_eq!(small.collect::<Vec<_>>(), ["0%", "0.1%", "0.2%", "0.3%"]);
    }
}
