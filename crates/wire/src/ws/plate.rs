//! A client's frame, to be sent over and over under other masks.

use super::end::End;
use super::frame::{self, Opcode};
use super::mask::{self, Key};

/// Bytes that are copied at once: more than the longest head has.
const HEAD_BYTES: usize = 16;

/// A sealed frame whose mask changes nothing, and room behind it.
pub(super) struct Plate {
    frame: Vec<u8>,
    /// Of the frame.
    bytes: usize,
    /// Where its payload starts.
    body: usize,
}

impl Plate {
    /// How much room there must be behind a copy, which is written in blocks.
    pub(super) const SLACK_BYTES: usize = mask::BLOCK_BYTES;

    /// The frame of the message that `fill` appends, of so many bytes.
    pub(super) fn new(opcode: Opcode, bytes: usize, fill: impl FnOnce(&mut Vec<u8>)) -> Plate {
        let mut frame = Vec::with_capacity(HEAD_BYTES + bytes + Self::SLACK_BYTES);
        let start = frame::open(&mut frame, End::Client);
        fill(&mut frame);
        let body = frame::seal(&mut frame, start, opcode, false, Some(Key::NONE));
        let bytes = frame.len();
        frame.resize(bytes + Self::SLACK_BYTES, 0);
        Plate { frame, bytes, body }
    }

    /// Bytes of the frame.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Puts a copy under this mask at the start of `room`, and what is of no meaning behind it; its payload.
    #[inline]
    pub(super) fn copy_to<'a>(&self, room: &'a mut [u8], key: Key) -> &'a mut [u8] {
        room[..HEAD_BYTES].copy_from_slice(&self.frame[..HEAD_BYTES]);
        room[self.body - size_of::<Key>()..self.body].copy_from_slice(&key.bytes());
        mask::copy(&mut room[self.body..], &self.frame[self.body..], self.bytes - self.body, key);
        &mut room[self.body..self.bytes]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_is_the_frame_sealed_with_its_key() {
        let key = Key::new([1, 2, 3, 4]);
        for len in [0, 1, 7, 8, 33, 125, 126, 200, 65_535, 65_536] {
            let payload: Vec<u8> = (0..len).map(|n: u32| n as u8).collect();
            let plate = Plate::new(Opcode::Text, payload.len(), |out| out.extend_from_slice(&payload));
            let mut room = vec![9; plate.bytes() + Plate::SLACK_BYTES];
            plate.copy_to(&mut room, key);
            let mut sealed = Vec::new();
            let start = frame::open(&mut sealed, End::Client);
            sealed.extend_from_slice(&payload);
            frame::seal(&mut sealed, start, Opcode::Text, false, Some(key));
            assert!(room[..plate.bytes()] == sealed, "{len} bytes");
        }
    }
}
