//! permessage-deflate: messages in and out of raw DEFLATE (RFC 7692 §7.2).

use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};

use super::mask::{self, Key};
use crate::failure::Failure;

/// What a sync flush ends with; not sent (§7.2.1), put back before inflating (§7.2.2).
const TAIL: [u8; 4] = [0x00, 0x00, 0xff, 0xff];
/// Buffers above this are given back after the message that needed them.
const KEPT_BYTES_MAX: usize = 64 << 10;
/// Output is produced in steps of at least this.
const STEP_BYTES: usize = 4 << 10;

/// Inflates messages.
#[derive(Debug)]
pub struct Inflater {
    stream: Decompress,
    no_context_takeover: bool,
    /// The compressed message, unmasked, with its tail.
    input: Vec<u8>,
    output: Vec<u8>,
}

impl Inflater {
    /// An inflater for a peer that forgets its window after each message, or does not.
    pub fn new(no_context_takeover: bool) -> Inflater {
        // 15 bits read what was written with any smaller window.
        let stream = Decompress::new_with_window_bits(false, 15);
        Inflater { stream, no_context_takeover, input: Vec::new(), output: Vec::new() }
    }

    /// Inflates one message to at most `bytes_max` bytes; it is masked if there is a `key`.
    pub fn message(&mut self, bytes: &[u8], key: Option<Key>, bytes_max: usize) -> Result<&[u8], Failure> {
        self.output.clear();
        self.output.shrink_to(KEPT_BYTES_MAX);
        self.input.clear();
        self.input.shrink_to(KEPT_BYTES_MAX);
        mask::extend(&mut self.input, bytes, key, 0);
        self.input.extend_from_slice(&TAIL);
        self.inflate(bytes_max)?;
        if self.no_context_takeover {
            self.stream.reset(false);
        }
        Ok(&self.output)
    }

    fn inflate(&mut self, bytes_max: usize) -> Result<(), Failure> {
        let mut input = &self.input[..];
        loop {
            if self.output.len() > bytes_max {
                return Err(Failure::MessageTooLarge);
            }
            // One byte above the limit shows the breach; no bomb gets further.
            let room = (input.len() * 2).max(STEP_BYTES).min(bytes_max + 1 - self.output.len());
            self.output.reserve(room);
            let (read, written) = (self.stream.total_in(), self.stream.total_out());
            let status = self.stream.decompress_vec(input, &mut self.output, FlushDecompress::Sync);
            let status = status.map_err(|_| Failure::Deflate)?;
            let read = (self.stream.total_in() - read) as usize;
            let written = (self.stream.total_out() - written) as usize;
            input = &input[read..];
            let has_room = self.output.len() < self.output.capacity();
            match status {
                // A final block (§7.2.3.5): what follows is a new stream.
                Status::StreamEnd => self.stream.reset(false),
                _ if read == 0 && written == 0 && has_room => {
                    return if input.is_empty() { Ok(()) } else { Err(Failure::Deflate) };
                }
                _ => {}
            }
            if input.is_empty() && has_room {
                return if self.output.len() > bytes_max { Err(Failure::MessageTooLarge) } else { Ok(()) };
            }
        }
    }
}

/// Deflates messages.
#[derive(Debug)]
pub struct Deflater {
    stream: Compress,
    no_context_takeover: bool,
    output: Vec<u8>,
}

impl Deflater {
    /// A deflater of that level (0–9), with a window of `window_bits` (8–15) that is forgotten after each
    /// message, or is not.
    pub fn new(level: u8, window_bits: u8, no_context_takeover: bool) -> Deflater {
        // zlib has no raw streams of 8 bits. Level 0 stores, and stored blocks refer to no window at all.
        let level = if window_bits < 9 { 0 } else { level.min(9) };
        let level = Compression::new(u32::from(level));
        let stream = Compress::new_with_window_bits(level, false, window_bits.max(9));
        Deflater { stream, no_context_takeover, output: Vec::new() }
    }

    /// Replaces the message that starts at `start` of `out` and goes to its end by its compressed form.
    pub fn replace(&mut self, out: &mut Vec<u8>, start: usize) {
        self.output.clear();
        self.output.shrink_to(KEPT_BYTES_MAX);
        let mut input = &out[start..];
        loop {
            self.output.reserve(input.len() / 2 + STEP_BYTES);
            let read = self.stream.total_in();
            let status = self.stream.compress_vec(input, &mut self.output, FlushCompress::Sync);
            status.expect("a deflate stream takes any bytes");
            input = &input[(self.stream.total_in() - read) as usize..];
            if input.is_empty() && self.output.len() < self.output.capacity() {
                break;
            }
        }
        if self.no_context_takeover {
            self.stream.reset();
        }
        out.truncate(start);
        match self.output.strip_suffix(&TAIL) {
            Some(message) if !message.is_empty() => out.extend_from_slice(message),
            // An empty message may leave nothing to flush: an empty stored block stands for it (§7.2.3.6).
            _ => out.push(0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inflate(inflater: &mut Inflater, bytes: &[u8]) -> Result<Vec<u8>, Failure> {
        inflater.message(bytes, None, 1 << 20).map(<[u8]>::to_vec)
    }

    #[test]
    fn the_vectors_of_rfc_7692() {
        let hello = Ok(b"Hello".to_vec());
        let mut inflater = Inflater::new(false);
        // §7.2.3.1 one block, §7.2.3.2 the same with the window kept.
        assert_eq!(inflate(&mut inflater, b"\xf2\x48\xcd\xc9\xc9\x07\x00"), hello);
        assert_eq!(inflate(&mut inflater, b"\xf2\x00\x11\x00\x00"), hello);
        for one_message in [
            &b"\x00\x05\x00\xfa\xff\x48\x65\x6c\x6c\x6f\x00"[..], // §7.2.3.3 no compression
            b"\xf3\x48\xcd\xc9\xc9\x07\x00\x00",                  // §7.2.3.4 a final block
            b"\xf2\x48\x05\x00\x00\x00\xff\xff\xca\xc9\xc9\x07\x00", // §7.2.3.5 two blocks
        ] {
            assert_eq!(inflate(&mut Inflater::new(false), one_message), hello);
        }
        // §7.2.3.6 an empty message.
        assert_eq!(inflate(&mut inflater, b"\x00"), Ok(vec![]));
    }

    #[test]
    fn what_is_deflated_inflates_whatever_the_window() {
        let texts: Vec<Vec<u8>> = vec![
            b"Hello".to_vec(),
            b"Hello".to_vec(),
            Vec::new(),
            Vec::new(),
            b"Hello Hello".to_vec(),
            (0..12_000u32).flat_map(|i| i.wrapping_mul(2_654_435_761).to_be_bytes()).collect(),
            vec![b'a'; 100_000],
        ];
        for bits in [8, 9, 12, 15] {
            for forgets in [false, true] {
                for level in [0, 1, 9] {
                    let mut deflater = Deflater::new(level, bits, forgets);
                    let mut inflater = Inflater::new(forgets);
                    for text in &texts {
                        let mut out = [b"before", &text[..]].concat();
                        deflater.replace(&mut out, 6);
                        assert_eq!(inflate(&mut inflater, &out[6..]).as_ref(), Ok(text));
                    }
                }
            }
        }
    }

    #[test]
    fn a_bomb_stops_at_the_limit_and_a_message_of_just_the_limit_passes() {
        let mut deflater = Deflater::new(9, 15, true);
        let mut bomb = vec![0; 4 << 20];
        deflater.replace(&mut bomb, 0);
        assert!(bomb.len() < 5 << 10);
        let mut inflater = Inflater::new(true);
        assert_eq!(inflater.message(&bomb, None, 1 << 20), Err(Failure::MessageTooLarge));
        assert!(inflater.output.capacity() <= 2 << 20);
        let mut inflater = Inflater::new(true);
        assert_eq!(inflater.message(&bomb, None, 4 << 20).map(<[u8]>::len), Ok(4 << 20));
        assert_eq!(inflater.message(&bomb, None, (4 << 20) - 1), Err(Failure::MessageTooLarge));
    }

    #[test]
    fn what_does_not_inflate_is_refused() {
        for bytes in [&b"\xff\xff\xff"[..], b"\xf2\x48\xcd\xc9\xc9\x07\x07garbage", b"\x05"] {
            assert_eq!(inflate(&mut Inflater::new(false), bytes), Err(Failure::Deflate));
        }
    }
}
