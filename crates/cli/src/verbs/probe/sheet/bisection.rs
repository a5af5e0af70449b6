//! The search for the greatest size that a server takes: pure.

/// Growth of the sizes while none is refused.
const GROWTH: u64 = 4;
/// A limit is known when accepted and refused sizes differ by one part in this many.
const PARTS: u64 = 200;

/// Bounds of the limit: a size below, a size above.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bisection {
    /// The greatest size that was accepted.
    pub(super) accepted: u64,
    /// The least that was refused.
    pub(super) refused: Option<u64>,
    max: u64,
}

impl Bisection {
    /// A search up to `max`, where `accepted` is known to be.
    pub(super) fn new(accepted: u64, max: u64) -> Bisection {
        Bisection { accepted, refused: None, max }
    }

    /// The size to try next; `None`: the limit is known.
    pub(super) fn next(&self) -> Option<u64> {
        let Bisection { accepted, refused, max } = *self;
        // Growth before halving: most limits are small, and a large message costs most.
        let Some(refused) = refused else {
            return (accepted < max).then(|| accepted.saturating_mul(GROWTH).min(max));
        };
        if refused - accepted <= 1 {
            return None;
        }
        // People set round limits: one is tried, and the size behind it, before halves are.
        if round().any(|size| size == accepted) {
            return Some(accepted + 1);
        }
        if let Some(round) = round().filter(|&size| accepted < size && size < refused).max() {
            return Some(round);
        }
        (refused - accepted > accepted / PARTS).then_some(accepted + (refused - accepted) / 2)
    }

    /// Takes note of a try.
    pub(super) fn note(&mut self, size: u64, is_accepted: bool) {
        if is_accepted {
            self.accepted = self.accepted.max(size);
        } else {
            self.refused = Some(self.refused.map_or(size, |refused| refused.min(size)));
        }
    }
}

/// Powers of two, and 1, 2 and 5 with zeros behind them.
fn round() -> impl Iterator<Item = u64> {
    let binary = (0..u64::BITS).map(|bits| 1 << bits);
    let decimal = (0..=18).flat_map(|zeros| [1, 2, 5].map(|digit| digit * 10u64.pow(zeros)));
    binary.chain(decimal)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(limit: u64, max: u64) -> (Bisection, usize) {
        let mut search = Bisection::new(16, max);
        let mut tries = 0;
        while let Some(size) = search.next() {
            search.note(size, size <= limit);
            tries += 1;
        }
        (search, tries)
    }

    #[test]
    fn limits_are_found_in_few_tries() {
        const MAX: u64 = 64 << 20;
        for limit in [17, 125, 1024, 65_535, 65_536, 100_000, 102_400, 1 << 20, 1_000_000, 16 << 20, MAX - 1]
        {
            let (Bisection { accepted, refused, .. }, tries) = found(limit, MAX);
            let refused = refused.unwrap();
            assert!(
                accepted <= limit && limit < refused && tries < 40,
                "{limit}: {accepted} {refused} {tries}"
            );
            assert!(refused - accepted <= 1 + accepted / PARTS, "{limit}: {accepted} {refused}");
        }
        for round in [1024, 65_536, 1_000_000, 16 << 20] {
            assert_eq!(found(round, MAX).0.accepted, round);
        }
        assert_eq!(found(u64::MAX, MAX).0, Bisection { accepted: MAX, refused: None, max: MAX });
    }
}
