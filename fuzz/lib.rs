//! What the targets share: a driver without a network, and the two ways to feed a session.

use wire::{Io, StreamId};

/// Output kept, randomness fixed: the same input must do the same each time.
#[derive(Default)]
pub struct Fake {
    /// What was sent.
    pub out: Vec<u8>,
}

impl Io for Fake {
    fn out(&mut self, _: StreamId) -> &mut Vec<u8> {
        &mut self.out
    }

    fn random_u64(&mut self) -> u64 {
        0x9e37_79b9_7f4a_7c15
    }

    fn open_stream(&mut self, _: StreamId) {}

    fn close_stream(&mut self, _: StreamId) {}
}

/// Splits the fuzzer's input: the first byte is the size of the portions in which the rest is fed.
pub fn split(data: &[u8]) -> Option<(usize, &[u8])> {
    let (&step, rest) = data.split_first()?;
    Some((usize::from(step).max(1), rest))
}

/// Checks that input fed whole and in portions of `step` comes to the same.
pub fn check_portions<T: PartialEq + std::fmt::Debug>(
    bytes: &[u8],
    step: usize,
    run: impl Fn(&[&[u8]]) -> T,
) {
    let portions: Vec<&[u8]> = bytes.chunks(step).collect();
    assert_eq!(run(&[bytes]), run(&portions), "in portions of {step}");
}

/// Small limits, so that the fuzzer reaches them.
pub fn limits() -> wire::Limits {
    wire::Limits {
        head_bytes_max: 512,
        headers_max: 8,
        body_bytes_max: 256,
        frame_bytes_max: 512,
        message_bytes_max: 1024,
        fragments_max: 8,
    }
}
