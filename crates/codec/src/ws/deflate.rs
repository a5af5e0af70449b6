//! permessage-deflate: messages in and out of raw DEFLATE (RFC 7692 §7.2).
//!
//! A stream that forgets its window after each message has nothing of its own between two, so that one serves
//! all connections of a thread. A stream that keeps its window is its connection's own, from its first
//! message on. Buffers are the thread's in either case: a connection at rest has none.

use std::cell::RefCell;
use std::mem;

use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};

use super::mask::{self, Key};
use crate::error::Error;

/// The end of a sync flush; not sent (§7.2.1), put back before inflating (§7.2.2).
const TAIL: [u8; 4] = [0x00, 0x00, 0xff, 0xff];
/// Buffers above this are given back after the message that needed them.
const KEPT_BYTES_MAX: usize = 64 << 10;
/// Output is produced in steps of at least this.
const STEP_BYTES: usize = 4 << 10;

thread_local! {
    static SHARED: RefCell<Shared> = const { RefCell::new(Shared::NOTHING) };
}

/// Buffers shared by the connections of a thread: memory, from which nothing can be told of the messages
/// before.
struct Shared {
    inflate: Option<Decompress>,
    /// A compressor for each form that peers have asked for: at most eight windows.
    deflate: Vec<(Form, Compress)>,
    /// A compressed message, unmasked, with its tail.
    input: Vec<u8>,
    output: Vec<u8>,
}

impl Shared {
    const NOTHING: Shared =
        Shared { inflate: None, deflate: Vec::new(), input: Vec::new(), output: Vec::new() };
}

/// Inflates messages.
#[derive(Debug)]
pub struct Inflater {
    no_context_takeover: bool,
    /// The window that is kept, once there is one.
    own: Option<Decompress>,
    /// The message in hand.
    output: Vec<u8>,
}

impl Inflater {
    /// An inflater for a peer that forgets its window after each message, or does not.
    pub fn new(no_context_takeover: bool) -> Inflater {
        Inflater { no_context_takeover, own: None, output: Vec::new() }
    }

    /// Inflates one message to at most `bytes_max` bytes; it is masked if there is a `key`.
    pub fn message(&mut self, bytes: &[u8], key: Option<Key>, bytes_max: usize) -> Result<&[u8], Error> {
        self.give_back();
        SHARED.with_borrow_mut(|shared| {
            let Shared { inflate: shared_stream, input, output, .. } = shared;
            self.output = mem::take(output);
            input.clear();
            mask::extend(input, bytes, key, 0);
            input.extend_from_slice(&TAIL);
            let stream = if self.no_context_takeover { shared_stream } else { &mut self.own };
            // 15 bits read what was written with any smaller window.
            let stream = stream.get_or_insert_with(|| Decompress::new_with_window_bits(false, 15));
            let inflated = inflate(stream, input, &mut self.output, bytes_max);
            if self.no_context_takeover {
                stream.reset(false);
            }
            input.shrink_to(KEPT_BYTES_MAX);
            inflated
        })?;
        Ok(&self.output)
    }

    /// The message is done with: its memory is for the next, whose ever that is.
    #[inline]
    pub fn give_back(&mut self) {
        if self.output.capacity() > 0 {
            let mut output = mem::take(&mut self.output);
            output.clear();
            output.shrink_to(KEPT_BYTES_MAX);
            SHARED.with_borrow_mut(|shared| shared.output = output);
        }
    }
}

/// Appends what `input` inflates to, which may be at most `bytes_max` bytes.
fn inflate(
    stream: &mut Decompress,
    mut input: &[u8],
    output: &mut Vec<u8>,
    bytes_max: usize,
) -> Result<(), Error> {
    // What is behind it is room that has been made already: however many blocks there are, it is made once.
    let mut filled = output.len();
    let inflated = loop {
        if filled > bytes_max {
            break Err(Error::MessageTooLarge);
        }
        // One byte above the limit shows the breach; no bomb gets further. Room is what is said here, however
        // much memory the buffer has come to: what a message comes to must not depend on those before it.
        let room = (input.len() * 2).max(STEP_BYTES).min(bytes_max + 1 - filled);
        if output.len() < filled + room {
            output.resize(filled + room, 0);
        }
        let (read, written) = (stream.total_in(), stream.total_out());
        let status = stream.decompress(input, &mut output[filled..filled + room], FlushDecompress::Sync);
        let read = (stream.total_in() - read) as usize;
        let written = (stream.total_out() - written) as usize;
        filled += written;
        let Ok(status) = status else { break Err(Error::Deflate) };
        input = &input[read..];
        let has_room = written < room;
        match status {
            // A final block (§7.2.3.5): what follows is a new stream.
            Status::StreamEnd => stream.reset(false),
            // No progress in spite of room: all has been read, or what is left is no deflate.
            _ if read == 0 && written == 0 && has_room => {
                break if input.is_empty() { Ok(()) } else { Err(Error::Deflate) };
            }
            _ => {}
        }
        if input.is_empty() && has_room {
            break if filled > bytes_max { Err(Error::MessageTooLarge) } else { Ok(()) };
        }
    };
    output.truncate(filled);
    inflated
}

/// Deflates messages.
#[derive(Debug)]
pub struct Deflater {
    form: Form,
    no_context_takeover: bool,
    /// The window that is kept, once there is one.
    own: Option<Compress>,
}

/// How a stream is deflated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Form {
    level: u8,
    window_bits: u8,
}

impl Form {
    fn stream(self) -> Compress {
        // zlib has no raw streams of 8 bits. Level 0 stores, and stored blocks refer to no window at all.
        let level = if self.window_bits < 9 { 0 } else { self.level.min(9) };
        let level = Compression::new(u32::from(level));
        Compress::new_with_window_bits(level, false, self.window_bits.max(9))
    }
}

impl Deflater {
    /// A deflater of that level (0–9), with a window of `window_bits` (8–15) that is forgotten after each
    /// message, or is not.
    pub fn new(level: u8, window_bits: u8, no_context_takeover: bool) -> Deflater {
        Deflater { form: Form { level, window_bits }, no_context_takeover, own: None }
    }

    /// Replaces the message that starts at `start` of `out` and goes to its end by its compressed form.
    pub fn replace(&mut self, out: &mut Vec<u8>, start: usize) {
        SHARED.with_borrow_mut(|shared| {
            let Shared { deflate: shared_streams, output, .. } = shared;
            if self.no_context_takeover {
                let stream = of_form(shared_streams, self.form);
                deflate(stream, &out[start..], output);
                stream.reset();
            } else {
                deflate(self.own.get_or_insert_with(|| self.form.stream()), &out[start..], output);
            }
            out.truncate(start);
            match output.strip_suffix(&TAIL) {
                Some(message) if !message.is_empty() => out.extend_from_slice(message),
                // An empty message may leave nothing to flush: an empty stored block stands for it
                // (§7.2.3.6).
                _ => out.push(0),
            }
            output.clear();
            output.shrink_to(KEPT_BYTES_MAX);
        });
    }
}

/// The stream of that form, made if there is none yet.
fn of_form(streams: &mut Vec<(Form, Compress)>, form: Form) -> &mut Compress {
    let known = streams.iter().position(|&(of, _)| of == form);
    let at = known.unwrap_or_else(|| {
        streams.push((form, form.stream()));
        streams.len() - 1
    });
    &mut streams[at].1
}

/// Appends what `input` deflates to, with the tail.
fn deflate(stream: &mut Compress, mut input: &[u8], output: &mut Vec<u8>) {
    loop {
        output.reserve(input.len() / 2 + STEP_BYTES);
        let read = stream.total_in();
        let status = stream.compress_vec(input, output, FlushCompress::Sync);
        status.expect("a deflate stream takes any bytes");
        input = &input[(stream.total_in() - read) as usize..];
        // A flush that fills its room may have more to say (zlib's manual on `avail_out`).
        if input.is_empty() && output.len() < output.capacity() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inflate(inflater: &mut Inflater, bytes: &[u8]) -> Result<Vec<u8>, Error> {
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
    fn deflated_bytes_inflate_with_any_window() {
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
    fn deflate_bombs_stop_at_the_limit() {
        let mut deflater = Deflater::new(9, 15, true);
        let mut bomb = vec![0; 4 << 20];
        deflater.replace(&mut bomb, 0);
        assert!(bomb.len() < 5 << 10);
        let mut inflater = Inflater::new(true);
        assert_eq!(inflater.message(&bomb, None, 1 << 20), Err(Error::MessageTooLarge));
        assert!(inflater.output.capacity() <= 2 << 20);
        let mut inflater = Inflater::new(true);
        assert_eq!(inflater.message(&bomb, None, 4 << 20).map(<[u8]>::len), Ok(4 << 20));
        assert_eq!(inflater.message(&bomb, None, (4 << 20) - 1), Err(Error::MessageTooLarge));
    }

    #[test]
    fn compressed_size_ignores_earlier_messages() {
        let deflated = |text: &[u8]| {
            let mut out = text.to_vec();
            Deflater::new(9, 15, true).replace(&mut out, 0);
            out
        };
        // Beyond the limit, and broken behind that.
        let bad = [&deflated(&[b'a'; 5_000])[..], b"\x07"].concat();
        let refused = || Inflater::new(true).message(&bad, None, 1024).map(<[u8]>::len);
        assert_eq!(refused(), Err(Error::MessageTooLarge));
        let large = deflated(&vec![b'a'; KEPT_BYTES_MAX]);
        assert_eq!(inflate(&mut Inflater::new(true), &large).map(|text| text.len()), Ok(KEPT_BYTES_MAX));
        assert_eq!(refused(), Err(Error::MessageTooLarge));
    }

    #[test]
    fn invalid_deflate_leaves_nothing_behind() {
        for bytes in [&b"\xff\xff\xff"[..], b"\xf2\x48\xcd\xc9\xc9\x07\x07garbage", b"\x05"] {
            for forgets in [false, true] {
                assert_eq!(inflate(&mut Inflater::new(forgets), bytes), Err(Error::Deflate));
                let hello = inflate(&mut Inflater::new(forgets), b"\xf2\x48\xcd\xc9\xc9\x07\x00");
                assert_eq!(hello, Ok(b"Hello".to_vec()));
            }
        }
    }

    #[test]
    fn interleaved_connections_are_independent() {
        let ends = |bits, forgets| (Deflater::new(1, bits, forgets), Inflater::new(forgets));
        let mut all = [ends(15, true), ends(15, false), ends(9, true), ends(15, true), ends(15, false)];
        for turn in 0..3 {
            for (number, (deflater, inflater)) in all.iter_mut().enumerate() {
                let text = format!("{number} says in turn {turn}: the same to everybody").into_bytes();
                let mut out = text.clone();
                deflater.replace(&mut out, 0);
                assert_eq!(inflate(inflater, &out), Ok(text));
            }
        }
    }

    #[test]
    fn only_kept_windows_are_per_connection() {
        for forgets in [false, true] {
            let (mut deflater, mut inflater) = (Deflater::new(1, 15, forgets), Inflater::new(forgets));
            assert!(deflater.own.is_none() && inflater.own.is_none(), "nothing was said yet");
            let mut out = b"Hello".to_vec();
            deflater.replace(&mut out, 0);
            assert_eq!(inflater.message(&out, None, 99), Ok(&b"Hello"[..]));
            inflater.give_back();
            assert_eq!((deflater.own.is_none(), inflater.own.is_none()), (forgets, forgets));
            assert_eq!(inflater.output.capacity(), 0);
        }
    }
}
