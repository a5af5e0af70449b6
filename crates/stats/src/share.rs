//! The share of a part in a whole, over units that differ in size and whose elements resemble each other.

use crate::interval::{CONFIDENCE, Interval};
use crate::student;

/// A whole and a part of it, added up over units: of what is due in an absence, what is lost. What is in one
/// unit has much in common, so that the units are the sample, and not what is in them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Share {
    /// The number of units.
    pub units: u64,
    /// Σ wholes.
    pub whole: u64,
    /// Σ parts.
    pub part: u64,
    /// Σ wholes².
    pub whole_squares: u64,
    /// Σ parts².
    pub part_squares: u64,
    /// Σ wholes · parts.
    pub products: u64,
}

impl Share {
    /// Adds a unit.
    pub fn add(&mut self, whole: u64, part: u64) {
        self.merge(&Share {
            units: 1,
            whole,
            part,
            whole_squares: whole.saturating_mul(whole),
            part_squares: part.saturating_mul(part),
            products: whole.saturating_mul(part),
        });
    }

    /// Adds the units of another share.
    pub fn merge(&mut self, other: &Share) {
        for (sum, more) in [
            (&mut self.units, other.units),
            (&mut self.whole, other.whole),
            (&mut self.part, other.part),
            (&mut self.whole_squares, other.whole_squares),
            (&mut self.part_squares, other.part_squares),
            (&mut self.products, other.products),
        ] {
            // Saturating, because another machine's sums may be anything.
            *sum = sum.saturating_add(more);
        }
    }

    /// The share of the rest, which is not the part.
    pub fn rest(&self) -> Share {
        let Share { units, whole, part, whole_squares, part_squares, products } = *self;
        Share {
            units,
            whole,
            part: whole.saturating_sub(part),
            whole_squares,
            // Σ(whole − part)², and below Σ whole·(whole − part), multiplied out.
            part_squares: whole_squares
                .saturating_add(part_squares)
                .saturating_sub(products.saturating_mul(2)),
            products: whole_squares.saturating_sub(products),
        }
    }

    /// The share, from 0 to 1; `None` if the whole is 0.
    pub fn value(&self) -> Option<f64> {
        (self.whole > 0).then(|| self.part as f64 / self.whole as f64)
    }

    /// The 95% interval (the ratio estimator; Cochran, Sampling Techniques, 6.4). Where no unit has any part,
    /// or none any rest, the share of such units in the limit: 1 − 0.05^(1/n) (Clopper and Pearson). `None`
    /// with fewer than 2 units.
    pub fn interval(&self) -> Option<Interval> {
        let (value, n) = (self.value()?, self.units as f64);
        if self.units < 2 {
            return None;
        }
        let unseen = 1.0 - (1.0 - CONFIDENCE).powf(1.0 / n);
        if self.part == 0 {
            return Some(Interval { low: 0.0, high: unseen });
        }
        if self.part >= self.whole {
            return Some(Interval { low: 1.0 - unseen, high: 1.0 });
        }
        let [wholes, parts, products] =
            [self.whole_squares, self.part_squares, self.products].map(|sum| sum as f64);
        // Σ(part − value·whole)², multiplied out, so that sums are enough and no list of units is kept.
        let residuals = (parts - 2.0 * value * products + value * value * wholes).max(0.0);
        let deviation = (residuals * n / (n - 1.0)).sqrt() / self.whole as f64;
        let half_width = student::t(CONFIDENCE, n - 1.0) * deviation;
        Some(Interval { low: (value - half_width).max(0.0), high: (value + half_width).min(1.0) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(units: &[(u64, u64)]) -> Share {
        units.iter().fold(Share::default(), |mut share, &(whole, part)| {
            share.add(whole, part);
            share
        })
    }

    #[test]
    fn the_interval_is_the_textbook_s() {
        // R = 12/40; residuals y − 0.3·x: 1, −1, 1, −1; s² = 4/3; v(R) = 4 · (4/3) / 40²; t₃ = 3.1824.
        let share = of(&[(10, 4), (10, 2), (10, 4), (10, 2)]);
        let interval = share.interval().unwrap();
        let half_width = 3.1824 * (4.0_f64 * 4.0 / 3.0).sqrt() / 40.0;
        assert_eq!(share.value(), Some(0.3));
        assert!((interval.high - (0.3 + half_width)).abs() < 1e-4, "{interval:?}");
        assert!((interval.low - (0.3 - half_width)).abs() < 1e-4, "{interval:?}");
        assert_eq!(of(&[(10, 4)]).interval(), None);
        assert_eq!((Share::default().value(), Share::default().interval()), (None, None));
    }

    #[test]
    fn unseen_events_have_an_upper_bound() {
        let none = of(&[(10, 0); 59]);
        assert!((none.interval().unwrap().high - 0.0495).abs() < 1e-4, "three in sixty");
        assert_eq!(none.rest().interval().unwrap().high, 1.0);
        assert!((none.rest().interval().unwrap().low - 0.9505).abs() < 1e-4);
    }

    #[test]
    fn the_rest_is_what_the_part_is_not() {
        let units = [(10, 4), (7, 0), (12, 12), (3, 1)];
        assert_eq!(of(&units).rest(), of(&units.map(|(whole, part)| (whole, whole - part))));
        let mut halves = of(&units[..2]);
        halves.merge(&of(&units[2..]));
        assert_eq!(halves, of(&units));
    }

    #[test]
    fn intervals_cover_shares_of_uniform_units() {
        let mut random = fastrand::Rng::with_seed(5);
        let covered = (0..1_000)
            .filter(|_| {
                let mut share = Share::default();
                for _ in 0..100 {
                    let whole = random.u64(20..60);
                    share.add(whole, if random.f64() < 0.3 { whole } else { 0 });
                }
                share.interval().unwrap().contains(0.3)
            })
            .count();
        assert!((920..=970).contains(&covered), "{covered} of 1,000");
    }
}
