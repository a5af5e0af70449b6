//! A client's frame, to be sent over and over under other masks.

use super::end::End;
use super::frame::{self, Opcode};
use super::mask::{self, Key};

/// How much more than a frame there must be of it, and of a copy: both are of whole blocks, the longest head
/// among them.
const SLACK_BYTES: usize = mask::BLOCK_BYTES;
/// Bytes that are copied at once: more than the longest head has.
const HEAD_BYTES: usize = 16;

/// Copies of a frame, at the end of what is to be sent; and behind them, until they are all written, the
/// frame, whose mask changes nothing.
pub(super) struct PreparedFrame {
    /// The start of the copies, and of the frame.
    copies: usize,
    frame: usize,
    /// Bytes of the frame.
    bytes: usize,
    /// The start of its payload within it.
    body: usize,
}

impl PreparedFrame {
    /// The frame of the message of this many bytes that `fill` appends, and room for its copies.
    pub(super) fn new(
        out: &mut Vec<u8>,
        count: u32,
        opcode: Opcode,
        payload_bytes: usize,
        fill: impl FnOnce(&mut Vec<u8>),
    ) -> PreparedFrame {
        let bytes = frame::client_bytes(payload_bytes);
        let (copies, copies_bytes) = (out.len(), count as usize * bytes + SLACK_BYTES);
        out.reserve(copies_bytes + bytes + SLACK_BYTES);
        out.resize(copies + copies_bytes, 0);
        let start = frame::open(out, End::Client);
        fill(out);
        let body = frame::seal(out, start, opcode, false, Some(Key::NONE)) - start;
        assert_eq!(out.len(), start + bytes, "a message of a series has its size");
        // The frame is read in whole blocks as well, so its last one has to be there.
        out.resize(start + bytes + SLACK_BYTES, 0);
        PreparedFrame { copies, frame: start, bytes, body }
    }

    /// Writes the copy of this number under this mask, and what is of no meaning behind it, where the next is
    /// to be: its payload.
    #[inline]
    pub(super) fn copy<'a>(&self, out: &'a mut [u8], number: u32, key: Key) -> &'a mut [u8] {
        let (copies, frame) = out.split_at_mut(self.frame);
        let copy = &mut copies[self.copies + number as usize * self.bytes..];
        // In this order: the fixed bytes of the head reach into the payload, and the last block of the
        // payload into the head of the next copy, which is written after this one.
        copy[..HEAD_BYTES].copy_from_slice(&frame[..HEAD_BYTES]);
        copy[self.body - size_of::<Key>()..self.body].copy_from_slice(&key.bytes());
        mask::copy(&mut copy[self.body..], &frame[self.body..], self.bytes - self.body, key);
        &mut copy[self.body..self.bytes]
    }

    /// Finishes when all copies are written: only the copies stay in `out`.
    pub(super) fn finish(self, out: &mut Vec<u8>) {
        out.truncate(self.frame - SLACK_BYTES);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_are_the_frame_masked_with_keys() {
        for len in [0, 1, 7, 8, 33, 125, 126, 200, 65_535, 65_536] {
            let payload: Vec<u8> = (0..len).map(|n: u32| n as u8).collect();
            let keys = [[1, 2, 3, 4], [9, 8, 7, 6], [0, 0, 0, 1]].map(Key::new);
            let (mut copied, mut sealed) = (b"before".to_vec(), b"before".to_vec());
            let prepared = PreparedFrame::new(&mut copied, 3, Opcode::Text, payload.len(), |out| {
                out.extend_from_slice(&payload);
            });
            for (number, key) in (0..).zip(keys) {
                assert_eq!(prepared.copy(&mut copied, number, key).len(), payload.len());
                let start = frame::open(&mut sealed, End::Client);
                sealed.extend_from_slice(&payload);
                frame::seal(&mut sealed, start, Opcode::Text, false, Some(key));
            }
            prepared.finish(&mut copied);
            assert!(copied == sealed, "{len} bytes");
        }
    }
}
