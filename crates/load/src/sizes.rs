//! The sizes of messages that differ.

/// The most sizes between two ends, both included.
const SIZES_MAX: usize = 64;
/// The bytes that messages of all sizes may have together, about: every worker holds a message of each size.
const BYTES_MAX: usize = 16 << 20;
/// The golden ratio's fraction: its multiples, without their whole parts, are spread evenly from 0 to 1.
const SCATTER: f64 = 0.618_033_988_749_895;

/// Sizes from `min` to `max`, evenly spaced, in a scattered order: small and large sizes take turns.
pub(crate) fn spread(min: u32, max: u32) -> Vec<u32> {
    let (span, room) = ((max - min) as usize, BYTES_MAX / max.max(1) as usize);
    let steps = span.min(SIZES_MAX - 1).min(room.max(1));
    let size = |step: usize| min + (span * step).checked_div(steps).unwrap_or(0) as u32;
    let mut order: Vec<usize> = (0..=steps).collect();
    // By the fractions of the multiples of the golden ratio (a Weyl sequence): in any stretch of the order,
    // sizes are spread over the whole range.
    order.sort_by(|&a, &b| {
        let place = |step: usize| (step as f64 * SCATTER).fract();
        place(a).total_cmp(&place(b))
    });
    order.into_iter().map(size).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_even_and_mixed() {
        let sizes = spread(100, 730);
        assert!(!sizes.is_sorted() && sizes[..32].iter().any(|&size| size > 600), "{sizes:?}");
        let mut sorted = sizes;
        sorted.sort_unstable();
        assert_eq!(sorted, (0..64).map(|k| 100 + 10 * k).collect::<Vec<u32>>());
    }

    #[test]
    fn small_ranges_and_large_messages_have_few_sizes() {
        assert_eq!(spread(33, 33), [33]);
        assert_eq!(spread(0, 1).len(), 2);
        assert_eq!(spread(0, 16 << 20).len(), 2);
    }
}
