//! A histogram as the few numbers that charts need, in milliseconds.

use serde::Serialize;
use stats::{Histogram, density};

/// Points of a percentile curve for each decade of 1 − q.
const POINTS_PER_DECADE: i32 = 8;
/// Decades: to 99.9999%.
const DECADES: i32 = 6;
/// The quantiles of a box and its whiskers.
const BOX: [f64; 5] = [0.01, 0.25, 0.5, 0.75, 0.99];
/// The statistics of a figure, each with the quantile that makes it a lower bound where what never came decides that.
const STATISTICS: [(&str, f64); 10] = [
    ("mean", 1.0),
    ("p1", 0.01),
    ("p25", 0.25),
    ("p50", 0.5),
    ("p75", 0.75),
    ("p90", 0.9),
    ("p95", 0.95),
    ("p99", 0.99),
    ("p999", 0.999),
    ("max", 1.0),
];

/// One timed figure of a step.
#[derive(Serialize)]
pub(super) struct FigureData {
    count: u64,
    mean: f64,
    max: f64,
    p50: f64,
    p90: f64,
    p95: f64,
    p99: f64,
    p999: f64,
    /// Whiskers and box: 1%, 25%, 50%, 75%, 99%.
    #[serde(rename = "box")]
    quartiles: [f64; 5],
    /// 1/(1 − q) and the value there, up to the last sample; empty where no chart asks for it.
    curve: Vec<(f64, f64)>,
    /// The distribution's bars ([`density::bars`]), likewise.
    bars: Vec<(u16, u64)>,
    /// The statistics that are lower bounds.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    at_least: Vec<&'static str>,
}

impl FigureData {
    /// `None` for a figure that does not apply. The curve and the bars are most of it. `is_open`: whether what never
    /// came decides a quantile.
    pub(super) fn of(histogram: &Histogram, has_curve: bool, is_open: impl Fn(f64) -> bool) -> Option<Self> {
        let summary = histogram.summary()?;
        let open = STATISTICS.into_iter().filter(|(_, q)| is_open(*q));
        Some(FigureData {
            count: summary.count,
            mean: ms(summary.mean_ns),
            max: ms(summary.max_ns as f64),
            p50: ms(summary.p50_ns as f64),
            p90: ms(summary.p90_ns as f64),
            p95: ms(summary.p95_ns as f64),
            p99: ms(summary.p99_ns as f64),
            p999: ms(summary.p999_ns as f64),
            quartiles: BOX.map(|q| ms(histogram.quantile_ns(q) as f64)),
            curve: if has_curve { curve(histogram) } else { Vec::new() },
            bars: if has_curve { density::bars(histogram) } else { Vec::new() },
            at_least: open.map(|(statistic, _)| statistic).collect(),
        })
    }
}

impl FigureData {
    /// Its curve alone.
    pub(super) fn into_curve(self) -> Vec<(f64, f64)> {
        self.curve
    }
}

/// Evenly spread on a logarithmic axis of 1/(1 − q), as HdrHistogram's own plots are. Where fewer than one sample is
/// left above a quantile, the maximum has been reached.
fn curve(histogram: &Histogram) -> Vec<(f64, f64)> {
    let samples = histogram.count() as f64;
    let mut points = Vec::new();
    for k in 0..=POINTS_PER_DECADE * DECADES {
        let rest = 10f64.powf(f64::from(k) / f64::from(POINTS_PER_DECADE));
        let value = ms(histogram.quantile_ns(1.0 - 1.0 / rest) as f64);
        if rest > samples {
            // Where the samples end, the curve does: it is not drawn on as a flat line.
            points.push((digits(samples.max(1.0)), ms(histogram.max_ns() as f64)));
            break;
        }
        points.push((digits(rest), value));
    }
    points
}

/// Nanoseconds as milliseconds, to as many digits as a chart can show.
pub(super) fn ms(ns: f64) -> f64 {
    digits(ns / 1e6)
}

/// Four significant digits.
pub(super) fn digits(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return 0.0;
    }
    let scale = 10f64.powi(3 - value.abs().log10().floor() as i32);
    // Dividing by a power of ten gives the shortest decimal; multiplying by its inverse does not.
    if scale >= 1.0 {
        (value * scale).round() / scale
    } else {
        (value * scale).round() * (1.0 / scale).round()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_digits_are_kept() {
        for (value, kept) in [(1.234567, 1.235), (0.000123456, 0.0001235), (123_456.0, 123_500.0), (0.0, 0.0)]
        {
            assert_eq!(digits(value), kept);
        }
    }

    #[test]
    fn curves_end_at_the_maximum() {
        let mut histogram = Histogram::new();
        for i in 1..=1_000u64 {
            histogram.record_ns(i * 1_000_000);
        }
        let points = curve(&histogram);
        assert_eq!(points.first().unwrap(), &(1.0, 1.0));
        assert!(
            points.contains(&(10.0, 900.4))
                || points.iter().any(|p| p.0 == 10.0 && (p.1 - 900.0).abs() < 1.0)
        );
        let last = points.last().unwrap();
        assert!(last.0 >= 999.0 && last.0 <= 1_000.0 && last.1 == 1_000.0, "{last:?}");
        assert!(points.is_sorted_by(|a, b| a.0 <= b.0 && a.1 <= b.1));
    }
}
