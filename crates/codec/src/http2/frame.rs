//! Frames (RFC 9113 §4.1): a header of nine bytes, and as many more as it says.

use crate::error::{Error, Http2Reason};

/// Bytes of a frame's header.
pub const HEADER_BYTES: usize = 9;
/// The most that a frame may have behind it, unless a setting says otherwise (§4.2). Ours never does.
pub const PAYLOAD_BYTES_MAX: usize = 1 << 14;

/// The kinds of frames (§6).
pub mod kind {
    /// A part of a body (§6.1).
    pub const DATA: u8 = 0x0;
    /// The block of a head or a trailer, or its first part (§6.2).
    pub const HEADERS: u8 = 0x1;
    /// A priority, which is deprecated (§6.3).
    pub const PRIORITY: u8 = 0x2;
    /// The end of a stream (§6.4).
    pub const RST_STREAM: u8 = 0x3;
    /// Settings, or their acknowledgement (§6.5).
    pub const SETTINGS: u8 = 0x4;
    /// An answer that nobody asked for (§6.6).
    pub const PUSH_PROMISE: u8 = 0x5;
    /// A question whether the peer is there, or its answer (§6.7).
    pub const PING: u8 = 0x6;
    /// The end of the connection (§6.8).
    pub const GOAWAY: u8 = 0x7;
    /// Room for more data (§6.9).
    pub const WINDOW_UPDATE: u8 = 0x8;
    /// A further part of a block (§6.10).
    pub const CONTINUATION: u8 = 0x9;
}

/// Flags of frames, by kind.
pub mod flag {
    /// The last frame of its sender on the stream.
    pub const END_STREAM: u8 = 0x1;
    /// An acknowledgement: of SETTINGS and PING.
    pub const ACK: u8 = 0x1;
    /// The last part of the block.
    pub const END_HEADERS: u8 = 0x4;
    /// Padding behind the content.
    pub const PADDED: u8 = 0x8;
    /// A priority before the block.
    pub const PRIORITY: u8 = 0x20;
}

/// A whole frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Frame<'a> {
    /// Its [`kind`].
    pub kind: u8,
    /// Its [flags](flag).
    pub flags: u8,
    /// Its stream; 0: the connection.
    pub stream: u32,
    /// The bytes behind its header.
    pub payload: &'a [u8],
}

impl Frame<'_> {
    /// Returns whether this [`flag`] is set.
    #[inline]
    pub fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }
}

/// Finds frames in what comes in, in whatever portions. Holds a copy only of one that comes in pieces.
#[derive(Debug, Default)]
pub struct FrameReader {
    held: Vec<u8>,
    /// A frame has been read. The first is SETTINGS, or the peer does not speak HTTP/2 (§3.4).
    has_begun: bool,
}

impl FrameReader {
    /// The next frame, which the input is taken off; `None` when more bytes are needed.
    #[inline]
    pub fn next<'s, 'i: 's>(&'s mut self, input: &mut &'i [u8]) -> Result<Option<Frame<'s>>, Error> {
        if self.is_whole() {
            self.held.clear();
        }
        if self.held.is_empty() {
            let Some(bytes) = self.judge(input)?.filter(|&bytes| bytes <= input.len()) else {
                // Bounded: a header whose frame would be too long has been refused by now.
                self.held.extend_from_slice(std::mem::take(input));
                return Ok(None);
            };
            let (frame, rest) = input.split_at(bytes);
            *input = rest;
            return Ok(Some(self.begin(frame)));
        }
        // First the header, and then the rest that it tells of.
        for _ in 0..2 {
            let bytes = self.judge(&self.held)?.unwrap_or(HEADER_BYTES);
            let (missing, rest) = input.split_at(input.len().min(bytes - self.held.len()));
            *input = rest;
            self.held.extend_from_slice(missing);
        }
        if !self.is_whole() {
            return Ok(None);
        }
        self.has_begun = true;
        Ok(Some(frame_of(&self.held)))
    }

    /// Returns whether part of a frame is in.
    #[inline]
    pub fn is_partial(&self) -> bool {
        !self.held.is_empty() && !self.is_whole()
    }

    fn begin<'a>(&mut self, frame: &'a [u8]) -> Frame<'a> {
        self.has_begun = true;
        frame_of(frame)
    }

    /// Returns whether the frame held is one.
    fn is_whole(&self) -> bool {
        length_of(&self.held).is_some_and(|bytes| bytes == self.held.len())
    }

    /// How many bytes the frame has that begins here; `None` when more are needed to know it.
    fn judge(&self, bytes: &[u8]) -> Result<Option<usize>, Error> {
        let Some(length) = length_of(bytes) else { return Ok(None) };
        // An answer of HTTP/1.1 is told from a frame by this: its letters are no kind of frame that may come
        // first.
        if !self.has_begun && (bytes[3] != kind::SETTINGS || bytes[4] & flag::ACK != 0) {
            return Err(Error::NotHttp2);
        }
        // The smallest limit that a peer may be held to (§4.2): we announce no larger one.
        if length > HEADER_BYTES + PAYLOAD_BYTES_MAX {
            return Err(Error::BadHttp2(Http2Reason::FrameSize));
        }
        Ok(Some(length))
    }
}

/// How many bytes the frame has whose header this is.
fn length_of(bytes: &[u8]) -> Option<usize> {
    let header = bytes.first_chunk::<HEADER_BYTES>()?;
    Some(HEADER_BYTES + u32::from_be_bytes([0, header[0], header[1], header[2]]) as usize)
}

fn frame_of(bytes: &[u8]) -> Frame<'_> {
    let (header, payload) = bytes.split_first_chunk::<HEADER_BYTES>().expect("a whole frame");
    let [_, _, _, kind, flags, stream @ ..] = *header;
    Frame { kind, flags, stream: u32::from_be_bytes(stream) & STREAM_MAX, payload }
}

/// The last stream; the bit above is reserved (§4.1).
pub const STREAM_MAX: u32 = (1 << 31) - 1;

/// Appends a frame.
#[inline]
pub fn put(out: &mut Vec<u8>, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
    put_with(out, kind, flags, stream, |out| out.extend_from_slice(payload));
}

/// Appends a frame whose payload `write` appends.
pub fn put_with(out: &mut Vec<u8>, kind: u8, flags: u8, stream: u32, write: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    let [s0, s1, s2, s3] = stream.to_be_bytes();
    // The length is filled in behind the payload, which is thus written once and in its place.
    out.extend_from_slice(&[0, 0, 0, kind, flags, s0, s1, s2, s3]);
    write(out);
    let [_, l0, l1, l2] = ((out.len() - start - HEADER_BYTES) as u32).to_be_bytes();
    out[start..start + 3].copy_from_slice(&[l0, l1, l2]);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Kind, stream and payload of a frame.
    type Seen = (u8, u32, Vec<u8>);

    /// The frames, read in portions of `step`, and whether one is left half in.
    fn read(bytes: &[u8], step: usize) -> (Vec<Seen>, Result<bool, Error>) {
        let (mut reader, mut frames) = (FrameReader::default(), Vec::new());
        for portion in bytes.chunks(step) {
            let mut input = portion;
            loop {
                match reader.next(&mut input) {
                    Ok(Some(frame)) => frames.push((frame.kind, frame.stream, frame.payload.to_vec())),
                    Ok(None) => break,
                    Err(failure) => return (frames, Err(failure)),
                }
            }
        }
        (frames, Ok(reader.is_partial()))
    }

    #[test]
    fn frames_are_found_in_any_portions() {
        let mut bytes = Vec::new();
        put(&mut bytes, kind::SETTINGS, 0, 0, b"");
        put(&mut bytes, kind::PING, 0, 0, b"12345678");
        put(&mut bytes, kind::DATA, 0, STREAM_MAX, &[7; 300]);
        let whole = bytes.len();
        bytes.extend_from_slice(&bytes.clone()[..11]);
        for step in 1..=bytes.len() {
            let (frames, left) = read(&bytes, step);
            let shown: Vec<_> =
                frames.iter().map(|(kind, stream, payload)| (*kind, *stream, payload.len())).collect();
            let expected = [
                (kind::SETTINGS, 0, 0),
                (kind::PING, 0, 8),
                (kind::DATA, STREAM_MAX, 300),
                (kind::SETTINGS, 0, 0),
            ];
            assert_eq!((&shown[..], left), (&expected[..], Ok(true)), "{step}");
            assert_eq!(read(&bytes[..whole], step).1, Ok(false), "{step}");
        }
    }

    #[test]
    fn peers_must_begin_with_settings() {
        for bytes in [
            &b"HTTP/1.1 400 Bad Request\r\n"[..],
            b"\x15\x03\x03\x00\x02\x02\x16\x00\x00\x00",
            b"\0\0\0\x04\x01\0\0\0\0",
            b"\0\0\x08\x06\0\0\0\0\0",
        ] {
            for step in [1, 9, bytes.len()] {
                assert_eq!(read(bytes, step).1, Err(Error::NotHttp2), "{}", bytes.escape_ascii());
            }
        }
    }

    #[test]
    fn oversized_frames_are_refused_by_header() {
        let bytes = b"\0\0\0\x04\0\0\0\0\0\0\x40\x01\0\0\0\0\0\x01";
        for step in [1, bytes.len()] {
            assert_eq!(read(bytes, step).1, Err(Error::BadHttp2(Http2Reason::FrameSize)));
        }
    }
}
