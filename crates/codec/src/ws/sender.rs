//! Messages to frames: the sending side of either end.
//!
//! ```text
//! open --message, pong--> open
//! open --close--> closed: nothing is sent any more (RFC 6455 §5.5.1)
//! ```

use std::ops::Range;

use super::close;
use super::deflate::Deflater;
use super::end::End;
use super::frame::{self, CONTROL_BYTES_MAX, MessageType, Opcode};
use super::mask::{self, Key};
use super::prepared::PreparedFrame;
use crate::io::Io;

/// The sending side of one end, unfragmented.
#[derive(Debug)]
pub struct Sender {
    end: End,
    closed: bool,
    deflater: Option<Box<Deflater>>,
}

/// The bytes that differ in messages that are otherwise alike.
pub struct Differing<W> {
    /// Their range in the payload of each.
    pub at: Range<usize>,
    /// Payload bytes of each.
    pub bytes: usize,
    /// Writes it there, for the message of this number; the first has 0.
    pub write: W,
}

impl Sender {
    /// The sending side of a WebSocket just upgraded; with a `deflater`, messages go compressed.
    pub fn new(end: End, deflater: Option<Box<Deflater>>) -> Sender {
        Sender { end, closed: false, deflater }
    }

    /// Returns whether messages go as they are.
    #[inline]
    pub fn is_plain(&self) -> bool {
        self.deflater.is_none()
    }

    /// Returns whether the close frame has been sent.
    #[inline]
    pub fn is_closed(&self) -> bool {
        self.closed
    }

    /// Sends the message that `fill` appends. After a close, nothing.
    #[inline]
    pub fn message(&mut self, io: &mut impl Io, message_type: MessageType, fill: impl FnOnce(&mut Vec<u8>)) {
        if self.closed {
            return;
        }
        let key = self.key(io);
        let out = io.out(0);
        let start = frame::open(out, self.end);
        fill(out);
        self.seal(out, start, message_type, key);
    }

    /// Sends `messages` messages of a client that are alike but for a few bytes; `fill` appends one of them.
    /// Does nothing after a close. Not for compressed messages ([`is_plain`](Sender::is_plain)).
    #[inline]
    pub fn messages(
        &mut self,
        io: &mut impl Io,
        message_type: MessageType,
        messages: u32,
        fill: impl FnOnce(&mut Vec<u8>),
        differing: Differing<impl Fn(u32, &mut [u8])>,
    ) {
        debug_assert!(self.is_plain() && self.end == End::Client);
        if self.closed {
            return;
        }
        let prepared = PreparedFrame::new(io.out(0), messages, message_type.into(), differing.bytes, fill);
        for number in 0..messages {
            let key = Self::new_key(io);
            let there = &mut prepared.copy(io.out(0), number, key)[differing.at.clone()];
            (differing.write)(number, there);
            mask::apply(there, key, differing.at.start);
        }
        prepared.finish(io.out(0));
    }

    /// Seals a message opened by [`frame::open`] at `start`, compressing it first if so negotiated.
    #[inline]
    pub fn seal(&mut self, out: &mut Vec<u8>, start: usize, message_type: MessageType, key: Option<Key>) {
        if let Some(deflater) = &mut self.deflater {
            let body = start + if key.is_some() { 6 } else { 2 };
            deflater.replace(out, body);
        }
        frame::seal(out, start, message_type.into(), self.deflater.is_some(), key);
    }

    /// Answers a ping whose payload, masked by `mask` if at all, was this. After a close, does nothing.
    pub fn pong(&mut self, io: &mut impl Io, payload: &[u8], mask: Option<Key>) {
        if !self.closed {
            self.control(io, Opcode::Pong, |out| mask::extend(out, payload, mask, 0));
        }
    }

    /// Sends the close frame, unless it has been sent. [`close::NO_CODE`] sends an empty one.
    ///
    /// # Panics
    /// If the code may not be sent (RFC 6455 §7.4).
    pub fn close(&mut self, io: &mut impl Io, code: u16) {
        assert!(code == close::NO_CODE || close::may_be_sent(code), "close code {code}");
        if self.closed {
            return;
        }
        let code_bytes = code.to_be_bytes();
        let payload = if code == close::NO_CODE { &[][..] } else { &code_bytes };
        self.control(io, Opcode::Close, |out| out.extend_from_slice(payload));
        self.closed = true;
    }

    /// Sends the close frame with a reason in words, of at most 123 bytes, unless one has been sent.
    pub fn close_because(&mut self, io: &mut impl Io, code: u16, reason: &str) {
        debug_assert!(close::may_be_sent(code) && reason.len() <= CONTROL_BYTES_MAX - 2);
        if self.closed {
            return;
        }
        self.control(io, Opcode::Close, |out| {
            out.extend_from_slice(&code.to_be_bytes());
            out.extend_from_slice(reason.as_bytes());
        });
        self.closed = true;
    }

    /// Tells the peer why the connection fails (RFC 6455 §7.1.7), unless the error has no code
    /// ([`Error::close_code`](crate::Error::close_code)).
    #[inline]
    pub fn fail(&mut self, io: &mut impl Io, close_code: Option<u16>) {
        if let Some(code) = close_code {
            self.close(io, code);
        }
    }

    fn control(&mut self, io: &mut impl Io, opcode: Opcode, fill: impl FnOnce(&mut Vec<u8>)) {
        let key = self.key(io);
        let out = io.out(0);
        let start = frame::open(out, self.end);
        fill(out);
        let body = frame::seal(out, start, opcode, false, key);
        debug_assert!(out.len() - body <= CONTROL_BYTES_MAX);
    }

    #[inline]
    fn key(&self, io: &mut impl Io) -> Option<Key> {
        (self.end == End::Client).then(|| Self::new_key(io))
    }

    #[inline]
    fn new_key(io: &mut impl Io) -> Key {
        Key::new((io.random_u64() as u32).to_ne_bytes())
    }
}
