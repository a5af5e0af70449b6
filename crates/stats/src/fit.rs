//! A straight line through points, by least squares: memory per connection is its slope.

use crate::interval::{CONFIDENCE, Interval};
use crate::student;

/// The factor above the slope from which growth is reported: a process that does nothing grows by a few pages,
/// too.
const EXCESS_MIN: f64 = 1.05;

/// A line y = intercept + slope · x.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Line {
    /// Increase of y per unit of x.
    pub slope: f64,
    /// The value of y at x = 0.
    pub intercept: f64,
    /// Standard error of the slope.
    pub slope_se: f64,
    /// The number of points to which the line was fitted.
    pub points: usize,
}

impl Line {
    /// The 95% confidence interval of the slope.
    pub fn slope_interval(&self) -> Interval {
        Interval::around(self.slope, self.slope_half_width())
    }

    /// `y` above the intercept for each of `x`, if that is more than the interval of the slope allows, and
    /// by more than a twentieth.
    pub fn exceeded_by(&self, x: f64, y: f64) -> Option<f64> {
        let per_x = (y - self.intercept) / x;
        (x > 0.0 && per_x > self.slope_interval().high && per_x > EXCESS_MIN * self.slope).then_some(per_x)
    }

    /// Half the width of [`Self::slope_interval`], to be shown after the ±.
    pub fn slope_half_width(&self) -> f64 {
        student::t(CONFIDENCE, self.points as f64 - 2.0) * self.slope_se
    }
}

/// Fits a line to (x, y). `None` with fewer than 3 points, or when all x are equal.
pub fn line(points: &[(f64, f64)]) -> Option<Line> {
    if points.len() < 3 {
        return None;
    }
    let n = points.len() as f64;
    let mean_x = points.iter().map(|p| p.0).sum::<f64>() / n;
    let mean_y = points.iter().map(|p| p.1).sum::<f64>() / n;
    // Sums about the means: memory in bytes squared would cancel otherwise.
    let xx: f64 = points.iter().map(|p| (p.0 - mean_x).powi(2)).sum();
    let xy: f64 = points.iter().map(|p| (p.0 - mean_x) * (p.1 - mean_y)).sum();
    if xx == 0.0 {
        return None;
    }
    let slope = xy / xx;
    let intercept = mean_y - slope * mean_x;
    let residuals: f64 = points.iter().map(|p| (p.1 - intercept - slope * p.0).powi(2)).sum();
    let slope_se = (residuals / (n - 2.0) / xx).sqrt();
    Some(Line { slope, intercept, slope_se, points: points.len() })
}

/// The past of a server before its connections were counted from 0: memory that it freed since then, it may
/// use again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Before {
    /// The most connections that the server may have had at once; 0: no number that matters.
    pub connections: u64,
    /// The most memory that the server has had; 0: not known.
    pub bytes: u64,
}

/// Results of fitting readings of memory, in pages.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Growth {
    /// Fewer than 3 readings, or all at the same number of connections.
    Unknown,
    /// Over all connections, the memory grew by less than a page: that may be anything from nothing to a
    /// page.
    Unseen,
    /// There were no more connections than there had been before, when all of these were gone.
    Reconnected,
    /// There was no more memory than there had been before.
    Reused,
    /// The line; its ± is at least one page over all connections, which is as fine as such readings are.
    Seen(Line),
}

/// Fits a line to (connections, bytes), of which the bytes were read in whole pages: to those readings that
/// are beyond what the server had been, in connections and in bytes (METHODOLOGY "Memory").
pub fn growth(points: &[(f64, f64)], page_bytes: f64, before: Before) -> Growth {
    if line(points).is_none() {
        return Growth::Unknown;
    }
    let (more, grown) = (before.connections as f64, before.bytes as f64);
    let connected: Vec<_> = points.iter().copied().filter(|point| more == 0.0 || point.0 > more).collect();
    if line(&connected).is_none() {
        return Growth::Reconnected;
    }
    let new: Vec<_> = connected.iter().copied().filter(|point| grown == 0.0 || point.1 > grown).collect();
    let Some(fit) = line(&new) else {
        return if rise(&connected) < page_bytes { Growth::Unseen } else { Growth::Reused };
    };
    let (low, high) = new.iter().fold((f64::MAX, f64::MIN), |(low, high), p| (p.0.min(low), p.0.max(high)));
    // Readings are whole pages: over all connections the slope is uncertain by one, however well the points
    // lie on a line.
    let finest = page_bytes / (high - low);
    if fit.slope < finest {
        return Growth::Unseen;
    }
    // The standard error is what is kept, so the page is turned into one by the factor that makes it the ±
    // again.
    let per_se = student::t(CONFIDENCE, fit.points as f64 - 2.0);
    Growth::Seen(Line { slope_se: fit.slope_se.max(finest / per_se), ..fit })
}

/// The rise of y along the line through the points, over all their x.
fn rise(points: &[(f64, f64)]) -> f64 {
    let (low, high) =
        points.iter().fold((f64::MAX, f64::MIN), |(low, high), p| (p.0.min(low), p.0.max(high)));
    line(points).map_or(0.0, |fit| fit.slope * (high - low))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_an_exact_line() {
        let points: Vec<_> =
            (0..10).map(|i| (f64::from(i) * 1_000.0, 5e6 + 40_960.0 * f64::from(i))).collect();
        let fit = line(&points).unwrap();
        assert!((fit.slope - 40.96).abs() < 1e-9);
        assert!((fit.intercept - 5e6).abs() < 1e-6);
        assert!(fit.slope_se < 1e-9);
    }

    #[test]
    fn gives_the_textbook_standard_error() {
        // Worked by hand: x̄ = 3, ȳ = 4, Sxx = 10, Sxy = 6, residuals 2.4, se = √(2.4/3/10).
        let fit = line(&[(1.0, 2.0), (2.0, 4.0), (3.0, 5.0), (4.0, 4.0), (5.0, 5.0)]).unwrap();
        assert!((fit.slope - 0.6).abs() < 1e-12);
        assert!((fit.intercept - 2.2).abs() < 1e-12);
        assert!((fit.slope_se - 0.08_f64.sqrt()).abs() < 1e-12);
        let interval = fit.slope_interval();
        assert!((interval.high - 0.6 - 3.182_446 * 0.08_f64.sqrt()).abs() < 1e-4, "{interval:?}");
    }

    #[test]
    fn later_points_off_the_line_are_told() {
        let fit = Line { slope: 100.0, intercept: 5_000.0, slope_se: 1.0, points: 100 };
        assert_eq!(fit.exceeded_by(50.0, 5_000.0 + 50.0 * 240.0), Some(240.0));
        assert_eq!(fit.exceeded_by(50.0, 5_000.0 + 50.0 * 101.0), None, "within the interval");
        assert_eq!(fit.exceeded_by(50.0, 5_000.0 + 50.0 * 104.0), None, "a few pages");
        assert_eq!(fit.exceeded_by(0.0, 9_000.0), None);
    }

    #[test]
    fn readings_in_steps_are_no_finer_than_these() {
        let of = |ys: [f64; 4]| {
            let points: Vec<_> = ys.iter().enumerate().map(|(i, &y)| (100.0 * i as f64, y)).collect();
            growth(&points, 4096.0, Before::default())
        };
        assert_eq!(of([8e6; 4]), Growth::Unseen, "not a page");
        assert_eq!(of([8e6, 8e6, 8e6, 8e6 + 1.0]), Growth::Unseen);
        assert_eq!(
            of([8e6, 8e6 - 8192.0, 8e6 - 8192.0, 8e6 - 8192.0]),
            Growth::Unseen,
            "it gave memory back"
        );
        let Growth::Seen(exact) = of([0.0, 40960.0, 81920.0, 122_880.0]) else { panic!("ten pages a step") };
        assert!((exact.slope - 409.6).abs() < 1e-9);
        assert!((exact.slope_half_width() - 4096.0 / 300.0).abs() < 1e-9, "{exact:?}");
        let rough = [(0.0, 0.0), (100.0, 90_000.0), (200.0, 20_000.0), (300.0, 150_000.0)];
        assert_eq!(
            growth(&rough, 4096.0, Before::default()),
            Growth::Seen(line(&rough).unwrap()),
            "the residuals say more"
        );
        assert_eq!(growth(&[(1.0, 1.0); 3], 4096.0, Before::default()), Growth::Unknown);
    }

    /// A server that needs 50 MB and 24 KiB a connection, and gives back nothing: connections beyond the
    /// `held` that it had before are new memory, the others cost it `again`.
    fn warm(held: u64, again: f64, before: Before) -> Growth {
        let bytes = |n: u64| {
            let new = n.saturating_sub(held);
            50e6 + 24_576.0 * (held + new) as f64 + again * (n - new) as f64
        };
        let points: Vec<_> = (1..=20).map(|k| 500 * k).map(|n| (n as f64, bytes(n))).collect();
        growth(&points, 4096.0, before)
    }

    #[test]
    fn reused_memory_is_none_of_a_connection() {
        let before = |connections, held: u64| Before { connections, bytes: 50_000_000 + 24_576 * held };
        let Growth::Seen(fresh) = warm(0, 0.0, before(0, 0)) else { panic!("a fresh server") };
        assert!((fresh.slope - 24_576.0).abs() < 1.0, "{fresh:?}");
        // The same 10,000 once more: 4.4 KiB each of what had not been freed. The table of descriptors has
        // room for 16,384.
        assert_eq!(warm(10_000, 4_500.0, before(16_384, 10_000)), Growth::Reconnected);
        assert_eq!(warm(10_000, 0.0, before(16_384, 10_000)), Growth::Reconnected);
        // More than ever: the new ones tell.
        let Growth::Seen(more) = warm(2_000, 1_000.0, before(2_048, 2_000)) else { panic!("8,000 are new") };
        assert!((more.slope - 24_576.0).abs() < 1.0 && more.points == 16, "{more:?}");
        // Too few connections before to know of them: the curve is flat, then rises.
        let Growth::Seen(after) = warm(3_000, 0.0, before(0, 3_000)) else { panic!("7,000 are new") };
        assert!((after.slope - 24_576.0).abs() < 1.0, "{after:?}");
        assert_eq!(warm(10_000, 0.0, before(0, 10_000)), Growth::Unseen);
        let shrunk = Before { connections: 0, bytes: 900_000_000 };
        assert_eq!(warm(0, 0.0, shrunk), Growth::Reused, "it had needed more for something else");
        assert_eq!(warm(0, 0.0, before(9_000, 0)), Growth::Reconnected, "two readings are beyond");
    }

    #[test]
    fn refuses_what_has_no_slope() {
        assert_eq!(line(&[(1.0, 1.0), (2.0, 2.0)]), None);
        assert_eq!(line(&[(1.0, 1.0), (1.0, 2.0), (1.0, 3.0)]), None);
    }
}
