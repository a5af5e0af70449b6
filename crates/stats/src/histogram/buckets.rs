//! The buckets of a histogram: dense while it is recorded into, packed while it is kept.
//!
//! Dense buckets take 168 KiB, and a run keeps a dozen histograms for each step. Packed ones take a few
//! hundred bytes and answer the same questions. The first sample makes packed buckets dense again;
//! [`Buckets::shrink_to_fit`] makes dense ones packed.

use std::sync::OnceLock;

use hdrhistogram::Histogram as Hdr;

use super::pairs::Pairs;

/// The longest duration, 10 minutes, in microseconds.
pub(super) const US_MAX: u64 = 600_000_000;
/// Digits that a value keeps: it is off by less than a thousandth.
pub(super) const SIGNIFICANT_DIGITS: u8 = 3;

/// None, dense or packed buckets of whole microseconds.
#[derive(Clone, Default)]
pub(super) enum Buckets {
    /// There is no sample yet, and no memory is in use.
    #[default]
    None,
    /// Dense buckets, ready to record samples.
    Dense(Hdr<u64>),
    /// The occupied buckets, and the number of samples in them.
    Packed(Pairs, u64),
}

impl Buckets {
    /// Packed buckets of these pairs; [`Buckets::None`] without samples.
    pub(super) fn of_pairs(pairs: Pairs) -> Self {
        match pairs.iter().map(|(_, samples)| samples).sum() {
            0 => Buckets::None,
            samples => Buckets::Packed(pairs, samples),
        }
    }

    /// Turns the buckets into dense ones, and gives them.
    #[inline]
    pub(super) fn dense(&mut self) -> &mut Hdr<u64> {
        if !matches!(self, Buckets::Dense(_)) {
            *self = Buckets::Dense(self.unpacked());
        }
        let Buckets::Dense(dense) = self else { unreachable!("they were made dense") };
        dense
    }

    /// Reduces the buckets to the occupied ones.
    pub(super) fn shrink_to_fit(&mut self) {
        if let Buckets::Dense(_) = self {
            *self = Self::of_pairs(self.pairs());
        }
    }

    /// The occupied buckets, packed.
    pub(super) fn pairs(&self) -> Pairs {
        match self {
            Buckets::Packed(pairs, _) => pairs.clone(),
            _ => self.iter().collect(),
        }
    }

    /// The upper edges (µs) of all buckets, in their order.
    pub(super) fn edges_us() -> &'static [u64] {
        static EDGES: OnceLock<Vec<u64>> = OnceLock::new();
        EDGES.get_or_init(|| {
            let dense = Buckets::None.unpacked();
            let next = |edge: &u64| Some(dense.highest_equivalent(edge + 1));
            let edges = std::iter::successors(Some(dense.highest_equivalent(0)), next);
            edges.take(dense.distinct_values()).map(|edge| edge.min(US_MAX)).collect()
        })
    }

    /// The number of samples.
    #[inline]
    pub(super) fn len(&self) -> u64 {
        match self {
            Buckets::None => 0,
            Buckets::Dense(dense) => dense.len(),
            Buckets::Packed(_, samples) => *samples,
        }
    }

    /// Removes all samples, and keeps the memory of dense buckets.
    pub(super) fn clear(&mut self) {
        match self {
            Buckets::Dense(dense) => dense.reset(),
            _ => *self = Buckets::None,
        }
    }

    /// The upper edge (µs) of the bucket that holds the sample of this rank, counted from 1.
    pub(super) fn value_us(&self, rank: u64) -> u64 {
        match self {
            // Half a rank below, as a fraction, the bucket walk cannot round to a neighbouring rank.
            Buckets::Dense(dense) => dense.value_at_quantile((rank as f64 - 0.5) / dense.len() as f64),
            _ => {
                let mut below = 0;
                let reaches_rank = |&(_, samples): &(u64, u64)| {
                    below += samples;
                    below >= rank
                };
                self.iter().find(reaches_rank).map_or(0, |(us, _)| us)
            }
        }
    }

    /// The occupied buckets from the smallest, as pairs of upper edge (µs) and samples.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let (dense, packed) = match self {
            Buckets::None => (None, None),
            Buckets::Dense(dense) => (Some(dense), None),
            Buckets::Packed(pairs, _) => (None, Some(pairs)),
        };
        let recorded = dense.into_iter().flat_map(Hdr::iter_recorded);
        // The last bucket reaches beyond the longest duration.
        let recorded = recorded
            .map(|bucket| (bucket.value_iterated_to().min(US_MAX), bucket.count_since_last_iteration()));
        recorded.chain(packed.into_iter().flat_map(Pairs::iter))
    }

    #[cold]
    fn unpacked(&self) -> Hdr<u64> {
        let mut dense =
            Hdr::new_with_bounds(1, US_MAX, SIGNIFICANT_DIGITS).expect("the bounds are constants");
        for (us, samples) in self.iter() {
            dense.saturating_record_n(us, samples);
        }
        dense
    }
}
