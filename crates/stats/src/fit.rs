//! A straight line through points, by least squares: memory per connection is its slope.

use crate::interval::{CONFIDENCE, Interval};
use crate::student;

/// y = intercept + slope · x.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Line {
    /// Increase of y per unit of x.
    pub slope: f64,
    /// y at x = 0.
    pub intercept: f64,
    /// Standard error of the slope.
    pub slope_se: f64,
    /// Points it was fitted to.
    pub points: usize,
}

impl Line {
    /// The 95% confidence interval of the slope.
    pub fn slope_interval(&self) -> Interval {
        Interval::around(self.slope, self.slope_half_width())
    }

    /// Half the width of [`Self::slope_interval`]: what stands after the ±.
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
    fn refuses_what_has_no_slope() {
        assert_eq!(line(&[(1.0, 1.0), (2.0, 2.0)]), None);
        assert_eq!(line(&[(1.0, 1.0), (1.0, 2.0), (1.0, 3.0)]), None);
    }
}
