//! A histogram in transit: only its occupied buckets, in a few hundred bytes, where the buckets of a
//! recording histogram take 168 KiB.
//!
//! The exact sums are beside them, so that nothing is lost between packing and adding.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize};

use super::buckets::{Buckets, US_MAX};
use super::encoding::{DecodeError, SAMPLES_MAX};
use super::pairs::{Pairs, Writer};
use super::{DURATION_NS_MAX, Histogram};

/// A histogram in transit, or kept for later: small, and only to be added to others.
#[derive(Clone, Default, PartialEq, Serialize)]
pub struct Packed {
    buckets: Pairs,
    sum_ns: u128,
    square_sum_ns: u128,
    min_ns: u64,
    max_ns: u64,
    clamped: u64,
}

impl Packed {
    /// Returns whether there is no sample.
    pub fn is_empty(&self) -> bool {
        self.buckets.0.is_empty()
    }

    /// The number of samples.
    pub fn count(&self) -> u64 {
        self.buckets.iter().map(|(_, samples)| samples).sum()
    }

    /// Adds all samples of `other`.
    pub fn merge(&mut self, other: &Packed) {
        if other.is_empty() {
            return;
        }
        if self.is_empty() {
            return self.clone_from(other);
        }
        let mut buckets = Writer::default();
        let (mut ours, mut theirs) = (self.buckets.iter().peekable(), other.buckets.iter().peekable());
        // A merge of two ascending lists: neither is unpacked, which would take 168 KiB for a few hundred
        // bytes.
        while let (Some(&(our_us, our_samples)), Some(&(their_us, their_samples))) =
            (ours.peek(), theirs.peek())
        {
            let (mut samples, us) = (0, our_us.min(their_us));
            if our_us == us {
                ours.next();
                samples += our_samples;
            }
            if their_us == us {
                theirs.next();
                samples += their_samples;
            }
            buckets.push(us, samples);
        }
        for (us, samples) in ours.chain(theirs) {
            buckets.push(us, samples);
        }
        self.buckets = buckets.finish();
        self.sum_ns += other.sum_ns;
        self.square_sum_ns += other.square_sum_ns;
        self.min_ns = self.min_ns.min(other.min_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
        self.clamped += other.clamped;
    }

    /// Refuses buckets and sums that cannot belong to one histogram: they may have come over a network.
    fn check(&self) -> Result<(), DecodeError> {
        let (mut samples, mut last_us) = (0u64, None);
        for pair in self.buckets.claimed() {
            let (us, more) = pair.ok_or(DecodeError::Format)?;
            samples = samples.saturating_add(more);
            if us > US_MAX || last_us.is_some_and(|last_us| us <= last_us) || more == 0 {
                return Err(DecodeError::Format);
            }
            last_us = Some(us);
        }
        if samples > SAMPLES_MAX {
            return Err(DecodeError::Format);
        }
        let n = u128::from(samples);
        // n samples lie between n times the smallest and n times the largest. Nothing overflows: their
        // number is bounded above.
        let possible = |min: u128, sum: u128, max: u128| min * n <= sum && sum <= max * n;
        let (min, max) = (u128::from(self.min_ns), u128::from(self.max_ns));
        let is_possible = self.max_ns <= DURATION_NS_MAX
            && self.clamped <= samples
            && possible(min, self.sum_ns, max)
            && possible(min * min, self.square_sum_ns, max * max);
        if is_possible { Ok(()) } else { Err(DecodeError::Sums) }
    }
}

impl From<&Histogram> for Packed {
    fn from(histogram: &Histogram) -> Self {
        if histogram.is_empty() {
            return Packed::default();
        }
        let buckets = histogram.buckets.pairs();
        let &Histogram { sum_ns, square_sum_ns, min_ns, max_ns, clamped, .. } = histogram;
        Packed { buckets, sum_ns, square_sum_ns, min_ns, max_ns, clamped }
    }
}

impl From<&Packed> for Histogram {
    fn from(packed: &Packed) -> Self {
        let mut histogram = Histogram::new();
        histogram.add(packed);
        histogram
    }
}

impl Histogram {
    /// Adds all samples of a packed histogram.
    pub fn add(&mut self, packed: &Packed) {
        if packed.is_empty() {
            return;
        }
        if self.is_empty() {
            (self.min_ns, self.max_ns) = (packed.min_ns, packed.max_ns);
        }
        match &mut self.buckets {
            // Packed buckets answer every question: nothing is unpacked before there is something to add up.
            ours @ Buckets::None => *ours = Buckets::of_pairs(packed.buckets.clone()),
            ours => {
                let ours = ours.dense();
                for (us, samples) in packed.buckets.iter() {
                    ours.saturating_record_n(us, samples);
                }
            }
        }
        self.sum_ns += packed.sum_ns;
        self.square_sum_ns += packed.square_sum_ns;
        self.min_ns = self.min_ns.min(packed.min_ns);
        self.max_ns = self.max_ns.max(packed.max_ns);
        self.clamped += packed.clamped;
    }
}

/// Shows the number of samples, not the bytes.
impl fmt::Debug for Packed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Packed({} samples in {} bytes)", self.count(), self.buckets.0.len())
    }
}

impl<'de> Deserialize<'de> for Packed {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        /// The fields of a packed histogram, unchecked.
        #[derive(Deserialize)]
        struct Claimed {
            buckets: Pairs,
            sum_ns: u128,
            square_sum_ns: u128,
            min_ns: u64,
            max_ns: u64,
            clamped: u64,
        }
        let Claimed { buckets, sum_ns, square_sum_ns, min_ns, max_ns, clamped } =
            Claimed::deserialize(deserializer)?;
        let packed = Packed { buckets, sum_ns, square_sum_ns, min_ns, max_ns, clamped };
        packed.check().map_err(serde::de::Error::custom)?;
        Ok(packed)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::pairs::MORE;
    use super::*;

    const MS: u64 = 1_000_000;

    fn of(values_ns: &[u64]) -> Histogram {
        let mut histogram = Histogram::new();
        for &ns in values_ns {
            histogram.record_ns(ns);
        }
        histogram
    }

    fn packed(values_ns: &[u64]) -> Packed {
        Packed::from(&of(values_ns))
    }

    proptest! {
        #[test]
        fn nothing_is_lost_on_the_way(
            one in prop::collection::vec(0..2 * DURATION_NS_MAX, 0..300),
            other in prop::collection::vec(0..DURATION_NS_MAX, 0..300),
        ) {
            let bytes = postcard::to_stdvec(&packed(&one)).unwrap();
            let mut arrived: Packed = postcard::from_bytes(&bytes).unwrap();
            prop_assert_eq!(Histogram::from(&arrived), of(&one));
            prop_assert_eq!(arrived.count(), one.len() as u64);
            let (mut whole, mut dense) = (of(&one), of(&one));
            whole.merge(&of(&other));
            dense.add(&packed(&other));
            prop_assert_eq!(&dense, &whole);
            arrived.merge(&packed(&other));
            prop_assert_eq!(Histogram::from(&arrived), whole);
        }

        #[test]
        fn damaged_bytes_never_panic(
            values in prop::collection::vec(0..DURATION_NS_MAX, 0..50),
            at in 0..200usize,
            flip in 1..=255u8,
        ) {
            let mut bytes = postcard::to_stdvec(&packed(&values)).unwrap();
            let at = at % bytes.len();
            bytes[at] ^= flip;
            if let Ok(damaged) = postcard::from_bytes::<Packed>(&bytes) {
                let mut histogram = of(&values);
                histogram.add(&damaged);
                let _ = (histogram.summary(), histogram.to_base64());
            }
        }
    }

    #[test]
    fn it_is_small() {
        assert!(postcard::to_stdvec(&Packed::default()).unwrap().len() < 10);
        let second: Vec<u64> = (1..=1_000).map(|i| i * MS / 10).collect();
        assert!(packed(&second).buckets.0.len() < 4_000, "{:?}", packed(&second));
    }

    #[test]
    fn impossible_histograms_are_refused() {
        let good = packed(&[MS, 2 * MS]);
        let refused = |packed: &Packed| packed.check().unwrap_err();
        assert_eq!(refused(&Packed { max_ns: MS, ..good.clone() }), DecodeError::Sums);
        assert_eq!(refused(&Packed { sum_ns: 0, ..good.clone() }), DecodeError::Sums);
        assert_eq!(refused(&Packed { clamped: 3, ..good.clone() }), DecodeError::Sums);
        for buckets in [vec![MORE], vec![1, 1, 0, 1], vec![1, 0], vec![0xff; 12], vec![1]] {
            assert_eq!(
                refused(&Packed { buckets: Pairs(buckets.into()), ..good.clone() }),
                DecodeError::Format
            );
        }
    }
}
