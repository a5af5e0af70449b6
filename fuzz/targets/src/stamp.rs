//! A search finds nothing but stamps, and finds the one that is there.

use codec::{Found, Stamp, stamp};

/// Feeds one input.
pub fn run(data: &[u8]) {
    if let Found::At { stamp, offset } = stamp::find(data) {
        assert_eq!(data[offset..offset + stamp::TEXT_BYTES], stamp.to_text());
    }
    if let Found::At { stamp, .. } = stamp::read_binary(data) {
        assert_eq!(data[..stamp::BINARY_BYTES], stamp.to_binary());
    }
    let Some((numbers, around)) = data.split_first_chunk::<16>() else { return };
    let word = |at: usize| u64::from_be_bytes(numbers[at..at + 8].try_into().expect("8 bytes"));
    let (a, b) = (word(0), word(8));
    let mark = Stamp::new(a as u16, (a >> 16) as u32 & 0xff_ffff, b as u32, b, b.saturating_add(a >> 32));
    let (before, after) = around.split_at(around.len() / 2);
    let bytes = [before, &mark.to_text(), after].concat();
    match stamp::find(&bytes) {
        Found::At { offset, stamp } => {
            assert!(offset <= before.len() && (offset < before.len() || stamp == mark))
        }
        other => panic!("{other:?}"),
    }
}
