//! The room of each client, by its number in the run alone: the same at every worker, in every step.
//!
//! Rooms of equal size are consecutive numbers, so that their arithmetic is all there is. In rooms of unequal
//! size, a number's position on a circle (its multiple of the golden ratio: any first n numbers cover it
//! evenly, and so do any worker's) falls into the arc of one of the rooms, whose lengths follow Zipf's law.
//! The arcs are found with operations that IEEE 754 defines to the last bit, since machines with other
//! libraries must find the same.

use std::num::NonZero;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::arcs::{Arcs, GOLDEN};

/// How the people of a run are divided into rooms.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Division {
    /// Each `people` whose numbers follow each other have `rooms` rooms, as equal as can be.
    Even {
        /// The number of people; at least as many as `rooms`.
        people: NonZero<u32>,
        /// Rooms of these people.
        rooms: NonZero<u32>,
    },
    /// Rooms of unequal size: the k-th has a share of the people in proportion to 1/kˢ.
    Zipf {
        /// How many; at most [`ROOMS_MAX`](Self::ROOMS_MAX).
        rooms: NonZero<u32>,
        /// s, in thousandths; at most [`EXPONENT_MILLI_MAX`](Self::EXPONENT_MILLI_MAX).
        exponent_milli: NonZero<u32>,
    },
    /// As people's data has it.
    Listed {
        /// How many there are; at most [`ROOMS_MAX`](Self::ROOMS_MAX).
        rooms: NonZero<u32>,
        /// The room of each row: clients take the rows in turn, and their rooms with them.
        of_rows: Arc<[u32]>,
    },
}

impl Division {
    /// One room for all clients.
    pub const ONE: Division = Division::of_size(NonZero::<u32>::MAX);
    /// The most rooms of unequal size: each takes 8 bytes of a worker's memory, and its counts as much again.
    pub const ROOMS_MAX: u32 = 100_000;
    /// Beyond this, nearly all clients are in the first room: the second has a thousandth of it.
    pub const EXPONENT_MILLI_MAX: u32 = 10_000;

    /// Rooms of `people` users each.
    pub const fn of_size(people: NonZero<u32>) -> Division {
        Division::Even { people, rooms: NonZero::<u32>::MIN }
    }

    /// Returns whether it can be meant, wherever it comes from.
    pub fn is_sound(&self) -> bool {
        match self {
            Division::Even { people, rooms } => rooms <= people,
            Division::Zipf { rooms, exponent_milli } => {
                rooms.get() <= Self::ROOMS_MAX && exponent_milli.get() <= Self::EXPONENT_MILLI_MAX
            }
            Division::Listed { rooms, of_rows } => {
                rooms.get() <= Self::ROOMS_MAX
                    && !of_rows.is_empty()
                    && of_rows.iter().all(|room| *room < rooms.get())
            }
        }
    }
}

/// A division, prepared for finding a client's room.
#[derive(Clone, Debug)]
pub struct Layout {
    division: Division,
    arcs: Arc<Arcs>,
}

impl Layout {
    /// Lays out the rooms.
    pub fn new(division: &Division) -> Layout {
        let arcs = match division {
            Division::Even { .. } | Division::Listed { .. } => Arcs::default(),
            Division::Zipf { rooms, exponent_milli } => {
                Arcs::new(&zipf(rooms.get(), f64::from(exponent_milli.get()) / 1000.0))
            }
        };
        Layout { division: division.clone(), arcs: Arc::new(arcs) }
    }

    /// The room of a client, by its number in the run.
    #[inline]
    pub fn room(&self, number: u32) -> u32 {
        match &self.division {
            Division::Even { people, rooms } if rooms.get() == 1 => number / people.get(),
            Division::Even { people, rooms } => {
                // In 64 bits, which the product of two numbers of 32 bits needs.
                (u64::from(number) * u64::from(rooms.get()) / u64::from(people.get())) as u32
            }
            Division::Zipf { .. } => self.arcs.at(number.wrapping_mul(GOLDEN)),
            Division::Listed { of_rows, .. } => of_rows[number as usize % of_rows.len()],
        }
    }
}

/// The shares of rooms by Zipf's law, of a whole that is whatever they add up to.
fn zipf(rooms: u32, exponent: f64) -> Vec<f64> {
    (0..rooms).map(|room| exp(-exponent * ln(f64::from(room + 1)))).collect()
}

/// The natural logarithm of a number of at least 1.
fn ln(x: f64) -> f64 {
    const MANTISSA: u64 = (1 << 52) - 1;
    let exponent = (x.to_bits() >> 52) as i64 - 1023;
    let mantissa = f64::from_bits(x.to_bits() & MANTISSA | 1.0f64.to_bits());
    // ln(m) = 2·artanh(t), whose series converges faster than ln's own.
    let t = (mantissa - 1.0) / (mantissa + 1.0);
    let (mut term, mut sum) = (t, 0.0);
    // t is at most 1/3: what is left out is below 2⁻⁶⁰.
    for k in 0..19 {
        sum += term / f64::from(2 * k + 1);
        term *= t * t;
    }
    exponent as f64 * std::f64::consts::LN_2 + 2.0 * sum
}

/// e to the power of a number from -500 to 0.
fn exp(x: f64) -> f64 {
    let twos = (x / std::f64::consts::LN_2).floor();
    // Below ln 2, where the series of e is short.
    let rest = x - twos * std::f64::consts::LN_2;
    let (mut term, mut sum) = (1.0, 0.0);
    for k in 1..24 {
        sum += term;
        term *= rest / f64::from(k);
    }
    // The last term left out is below 2⁻⁸⁰. Two to the power of `twos` is exact: of -500, that is 2⁻⁷²².
    sum * f64::from_bits(((1023 + twos as i64) as u64) << 52)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn unequal(rooms: u32, exponent_milli: u32) -> Division {
        let (rooms, exponent_milli) = (rooms.try_into().unwrap(), exponent_milli.try_into().unwrap());
        Division::Zipf { rooms, exponent_milli }
    }

    fn counted(division: Division, people: u32) -> Vec<u32> {
        let layout = Layout::new(&division);
        let mut counts = Vec::new();
        for number in 0..people {
            let room = layout.room(number) as usize;
            counts.resize(counts.len().max(room + 1), 0);
            counts[room] += 1;
        }
        counts
    }

    #[test]
    fn shares_follow_zipfs_law_at_every_size() {
        for people in [1_000, 10_000, 100_000] {
            let counts = counted(unequal(50, 1100), people);
            let whole: f64 = (1..=50).map(|k| f64::from(k).powf(-1.1)).sum();
            for (k, &count) in (1..).zip(&counts) {
                let expected = f64::from(people) * f64::from(k).powf(-1.1) / whole;
                assert!(
                    (f64::from(count) - expected).abs() < 6.0,
                    "room {k} of {people}: {count}, {expected}"
                );
            }
        }
    }

    #[test]
    fn rooms_that_are_known_stay_what_they_are() {
        // Written down, so that another machine or a later version cannot put people elsewhere unnoticed.
        let layout = Layout::new(&unequal(1_000, 1100));
        let rooms: Vec<u32> = (0..12).map(|number| layout.room(number * 7_919)).collect();
        assert_eq!(rooms, [0, 1, 6, 32, 202, 0, 2, 9, 50, 349, 0, 3]);
    }

    #[test]
    fn members_of_equal_rooms_are_consecutive() {
        let division = Division::Even { people: 20.try_into().unwrap(), rooms: 3.try_into().unwrap() };
        let layout = Layout::new(&division);
        assert_eq!(counted(division, 20), [7, 7, 6]);
        assert!((0..100).is_sorted_by_key(|number| layout.room(number)));
    }

    #[test]
    fn repeated_rows_are_in_the_same_room() {
        let of_rows = [0, 1, 1, 2, 0].into();
        assert_eq!(counted(Division::Listed { rooms: 3.try_into().unwrap(), of_rows }, 12), [5, 5, 2]);
    }

    #[test]
    fn bounds_of_divisions_are_checked() {
        assert!(unequal(100_000, 10_000).is_sound() && Division::ONE.is_sound());
        assert!(!unequal(100_001, 1_000).is_sound() && !unequal(10, 10_001).is_sound());
        let more_rooms = Division::Even { people: 2.try_into().unwrap(), rooms: 3.try_into().unwrap() };
        assert!(!more_rooms.is_sound());
        let listed =
            |of_rows: &[u32]| Division::Listed { rooms: 2.try_into().unwrap(), of_rows: of_rows.into() };
        assert!(listed(&[1, 0]).is_sound() && !listed(&[]).is_sound() && !listed(&[2]).is_sound());
    }

    proptest! {
        #[test]
        fn powers_are_as_the_library_has_them(x in 1u32..100_000, exponent in 0.001f64..10.0) {
            let (own, known) = (exp(-exponent * ln(f64::from(x))), f64::from(x).powf(-exponent));
            prop_assert!((own / known - 1.0).abs() < 1e-12, "{} {}", own, known);
        }
    }
}
