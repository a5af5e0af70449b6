//! A circle of 2³² positions that is cut into arcs: what has a share of something gets as much of the circle.

/// 2³² divided by the golden ratio, to the next odd number: the multiples of no other number are spread more
/// evenly.
pub(super) const GOLDEN: u32 = 0x9E37_79B9;

/// The arcs of a circle of 2³² positions.
#[derive(Clone, Debug, Default)]
pub(super) struct Arcs {
    /// The last position of each; one without any has the last of the one before.
    lasts: Vec<u32>,
    /// For each of the parts of equal length into which the circle is cut, the arc in which it begins.
    starts: Vec<u32>,
    /// The number of bits by which a position is shifted to give its part.
    shift: u32,
}

impl Arcs {
    /// Arcs as long as these shares, of a whole that is whatever they add up to.
    pub(super) fn new(shares: &[f64]) -> Arcs {
        let whole: f64 = shares.iter().sum();
        let mut sum = 0.0;
        let mut lasts: Vec<u32> = shares
            .iter()
            .map(|share| {
                sum += share;
                // From the sum and not from arc to arc, so that rounding does not add up.
                ((sum / whole * 4_294_967_296.0) as u64).clamp(1, 1 << 32).wrapping_sub(1) as u32
            })
            .collect();
        // Rounding must not leave positions at the end that are in no arc.
        if let Some(last) = lasts.last_mut() {
            *last = u32::MAX;
        }
        // About as many parts as arcs: one look into the table, and hardly any comparisons behind it.
        let bits = shares.len().next_power_of_two().ilog2();
        let shift = u32::BITS - bits;
        let start = |part: u64| lasts.partition_point(|&last| u64::from(last) < part << shift) as u32;
        let starts = (0..1 << bits).map(start).collect();
        Arcs { lasts, starts, shift }
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.lasts.len()
    }

    /// The arc that has this position.
    #[inline]
    pub(super) fn at(&self, position: u32) -> u32 {
        let part = (u64::from(position) >> self.shift) as usize;
        let first = self.starts[part] as usize;
        // The arc in which the next part begins may have begun in this one.
        let end = self.starts.get(part + 1).map_or(self.lasts.len(), |&next| next as usize + 1);
        let within = self.lasts[first..end].partition_point(|&last| last < position);
        (first + within) as u32
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Against looking at all of them.
        #[test]
        fn first_arc_reaching_the_position_counts(
            shares in proptest::collection::vec(0.0001f64..10.0, 1..300),
            positions in proptest::collection::vec(0..u32::MAX, 20),
        ) {
            let arcs = Arcs::new(&shares);
            prop_assert_eq!((arcs.count(), arcs.lasts.is_sorted()), (shares.len(), true));
            let edges = arcs.lasts.iter().flat_map(|&last| [last, last.wrapping_add(1)]);
            for position in positions.into_iter().chain(edges).chain([0, u32::MAX]) {
                let expected = arcs.lasts.iter().position(|&last| position <= last).unwrap();
                prop_assert_eq!(arcs.at(position) as usize, expected);
            }
        }
    }
}
