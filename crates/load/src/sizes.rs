//! The sizes of messages that differ.

/// The most sizes between two ends, both included.
const SIZES_MAX: usize = 64;
/// The bytes that messages of all sizes may have together, about: every worker holds a message of each size.
const BYTES_MAX: usize = 16 << 20;

/// Sizes from `min` to `max`, evenly spaced.
pub(crate) fn spread(min: u32, max: u32) -> Vec<u32> {
    let (span, room) = ((max - min) as usize, BYTES_MAX / max.max(1) as usize);
    let steps = span.min(SIZES_MAX - 1).min(room.max(1));
    let size = |step: usize| min + (span * step).checked_div(steps).unwrap_or(0) as u32;
    (0..=steps).map(size).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_evenly_spaced() {
        assert_eq!(spread(100, 730), (0..64).map(|k| 100 + 10 * k).collect::<Vec<u32>>());
    }

    #[test]
    fn small_ranges_and_large_messages_have_few_sizes() {
        assert_eq!(spread(33, 33), [33]);
        assert_eq!(spread(0, 1).len(), 2);
        assert_eq!(spread(0, 16 << 20).len(), 2);
    }
}
