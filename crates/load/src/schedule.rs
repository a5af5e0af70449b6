//! How fast: a rate, or rates that follow one another.

use serde::{Deserialize, Serialize};

const NS_PER_S: f64 = 1e9;
/// The most pieces of a schedule: with a bound, a schedule stays a plain value that is copied.
pub const PIECES_MAX: usize = 6;

/// Messages per second over time: pieces in which the rate goes from one value to another in a straight line,
/// and then one rate without an end.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Schedule {
    pieces: [Piece; PIECES_MAX],
    length: u8,
    /// The rate after the last piece.
    rest_per_s: f64,
}

/// A stretch of a schedule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Piece {
    /// Messages per second at the start of the piece.
    pub from_per_s: f64,
    /// Messages per second at the end of the piece.
    pub to_per_s: f64,
    /// The length of the piece in time.
    pub duration_ns: u64,
}

impl Schedule {
    /// A constant rate without an end.
    ///
    /// # Panics
    /// If it is not positive and finite.
    pub fn constant(rate_per_s: f64) -> Self {
        assert!(rate_per_s > 0.0 && rate_per_s.is_finite(), "a rate is positive and finite");
        Self { pieces: Default::default(), length: 0, rest_per_s: rate_per_s }
    }

    /// One piece after another; the last one's final rate goes on.
    ///
    /// # Panics
    /// If there are no pieces or more than [`PIECES_MAX`], if a rate is negative or not finite, or if a rate
    /// is 0 at both ends of a piece.
    pub fn of(pieces: &[Piece]) -> Self {
        let rest_per_s = pieces.last().expect("a schedule has a piece").to_per_s;
        let mut schedule = Self { pieces: Default::default(), length: pieces.len() as u8, rest_per_s };
        for (slot, piece) in schedule.pieces.iter_mut().zip(pieces) {
            let Piece { from_per_s, to_per_s, .. } = *piece;
            let sound = |rate: f64| rate >= 0.0 && rate.is_finite();
            assert!(sound(from_per_s) && sound(to_per_s) && from_per_s + to_per_s > 0.0, "{piece:?}");
            *slot = *piece;
        }
        assert!(pieces.len() <= PIECES_MAX, "{} pieces", pieces.len());
        schedule
    }

    /// Returns whether the schedule could have been made by the constructors, with no rate above
    /// `rate_per_s_max`: it may have come over a network.
    pub fn is_sound(&self, rate_per_s_max: f64) -> bool {
        let is_rate = |rate: f64| (0.0..=rate_per_s_max).contains(&rate);
        let is_piece = |piece: &Piece| {
            is_rate(piece.from_per_s) && is_rate(piece.to_per_s) && piece.from_per_s + piece.to_per_s > 0.0
        };
        let is_whole = usize::from(self.length) <= PIECES_MAX;
        let lengths = self.pieces.iter().map(|piece| piece.duration_ns);
        is_whole
            && self.pieces().iter().all(is_piece)
            // `due_ns` adds them up without looking.
            && lengths.fold(0, u64::saturating_add) < u64::MAX
            && is_rate(self.rest_per_s)
            && (self.length > 0 || self.rest_per_s > 0.0)
    }

    /// Multiplies every rate by `factor`.
    pub fn times(mut self, factor: f64) -> Self {
        for piece in &mut self.pieces {
            piece.from_per_s *= factor;
            piece.to_per_s *= factor;
        }
        Self { rest_per_s: self.rest_per_s * factor, ..self }
    }

    /// How long the pieces take together; 0 for a constant rate.
    pub fn duration_ns(&self) -> u64 {
        self.pieces().iter().map(|piece| piece.duration_ns).sum()
    }

    /// Messages per second, on average over the first `window_ns`.
    pub fn mean_per_s(&self, window_ns: u64) -> f64 {
        if self.length == 0 {
            return self.rest_per_s;
        }
        self.messages_until(window_ns) * NS_PER_S / window_ns as f64
    }

    /// The number of messages due until `at_ns`, with a fraction.
    pub(crate) fn messages_until(&self, at_ns: u64) -> f64 {
        let (mut left_ns, mut messages) = (at_ns, 0.0);
        for piece in self.pieces() {
            let t_ns = left_ns.min(piece.duration_ns);
            messages += piece.messages_until(t_ns);
            left_ns -= t_ns;
        }
        messages + self.rest_per_s * left_ns as f64 / NS_PER_S
    }

    /// When message `number`, counting from 0, is due: the moment until which `number` messages were due.
    pub(crate) fn due_ns(&self, number: f64) -> u64 {
        let (mut left, mut start_ns) = (number, 0);
        for piece in self.pieces() {
            let whole = piece.messages_until(piece.duration_ns);
            // Piece by piece, as the integral is: the number is what is left of it behind the pieces before.
            if left < whole {
                return start_ns + piece.due_ns(left);
            }
            left -= whole;
            start_ns += piece.duration_ns;
        }
        // After a ramp down to 0: never.
        start_ns.saturating_add((left * NS_PER_S / self.rest_per_s).round() as u64)
    }

    fn pieces(&self) -> &[Piece] {
        &self.pieces[..usize::from(self.length)]
    }
}

impl Piece {
    /// The integral of a straight line: a·t + (b − a)·t²/2D.
    fn messages_until(&self, t_ns: u64) -> f64 {
        let (t, d) = (t_ns as f64 / NS_PER_S, self.duration_ns as f64 / NS_PER_S);
        // A piece of no length (a jump) is asked for 0 only, and has no slope.
        let slope = if t_ns == 0 { 0.0 } else { (self.to_per_s - self.from_per_s) / d };
        (self.from_per_s + slope * t / 2.0) * t
    }

    /// The inverse of [`messages_until`](Piece::messages_until), in the form that loses no digits where the
    /// rate hardly changes.
    fn due_ns(&self, number: f64) -> u64 {
        if number <= 0.0 {
            return 0;
        }
        let a = self.from_per_s;
        let slope = (self.to_per_s - a) * NS_PER_S / self.duration_ns as f64;
        // The root of a·t + slope·t²/2 = number as 2n/(a + √…): (√… − a)/slope would cancel, and divide by 0
        // on a flat piece.
        let root = (a * a + 2.0 * slope * number).max(0.0).sqrt();
        (2.0 * number * NS_PER_S / (a + root)) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const S: u64 = 1_000_000_000;

    fn piece(from_per_s: f64, to_per_s: f64, seconds: u64) -> Piece {
        Piece { from_per_s, to_per_s, duration_ns: seconds * S }
    }

    #[test]
    fn a_ramp_is_the_area_under_its_line() {
        let schedule = Schedule::of(&[piece(100.0, 500.0, 4)]);
        assert_eq!(schedule.messages_until(4 * S), 1_200.0, "4 s at 300/s on average");
        assert_eq!(schedule.messages_until(2 * S), 400.0, "2 s at 200/s");
        assert_eq!(schedule.messages_until(5 * S), 1_700.0, "then its last rate");
        assert_eq!((schedule.duration_ns(), schedule.mean_per_s(4 * S)), (4 * S, 300.0));
        assert_eq!(
            (schedule.due_ns(0.0), schedule.due_ns(400.0), schedule.due_ns(1_700.0)),
            (0, 2 * S, 5 * S)
        );
    }

    #[test]
    fn pieces_follow_one_another() {
        let schedule = Schedule::of(&[piece(0.0, 100.0, 2), piece(100.0, 100.0, 1), piece(100.0, 0.0, 2)]);
        assert_eq!(schedule.messages_until(5 * S), 300.0);
        assert_eq!(schedule.due_ns(100.0), 2 * S);
        assert_eq!(schedule.due_ns(200.0), 3 * S);
        assert_eq!(schedule.due_ns(25.0), S, "half of the time of a ramp from 0 is a quarter of it");
    }

    #[test]
    fn a_share_of_it_has_the_same_shape() {
        let schedule = Schedule::of(&[piece(100.0, 500.0, 4)]).times(0.1);
        assert_eq!((schedule.messages_until(4 * S), schedule.duration_ns()), (120.0, 4 * S));
    }

    proptest! {
        #[test]
        fn due_is_the_inverse_of_how_many(
            rates in prop::collection::vec(1.0f64..1e5, 2..=PIECES_MAX),
            seconds in 1u64..100,
            number in 0.0f64..1e5,
        ) {
            let pieces: Vec<Piece> = rates.windows(2).map(|r| piece(r[0], r[1], seconds)).collect();
            let schedule = Schedule::of(&pieces);
            let back = schedule.messages_until(schedule.due_ns(number));
            prop_assert!((back - number).abs() < 1e-3, "{number} at {back}");
        }
    }
}
