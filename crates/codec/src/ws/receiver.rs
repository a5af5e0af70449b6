//! Bytes to messages, with control frames answered on the way.
//!
//! ```text
//! open --ping--> answered with a pong; open
//! open --close--> answered with a close, unless ours went first; closed
//! closed --anything--> discarded (RFC 6455 §5.5.1)
//! ```

use super::deflate::Inflater;
use super::end::End;
use super::frame::{Accepts, MessageType, Opcode};
use super::reader::{Item, Payload, Reader};
use super::sender::Sender;
use super::{close, mask, utf8};
use crate::error::{Error, Reason};
use crate::io::Io;
use crate::limits::Limits;

/// Frames received.
#[derive(Debug)]
pub enum Incoming<'a> {
    /// A whole message.
    Message(Message<'a>),
    /// A ping or pong, dealt with.
    Control,
    /// The peer's close frame, answered.
    Closed {
        /// The close frame's code; 1005 if it had none.
        code: u16,
    },
}

/// A whole message, decompressed.
#[derive(Debug)]
pub struct Message<'a> {
    /// The type of the message.
    pub message_type: MessageType,
    /// Payload bytes on the wire, all fragments together, as compressed.
    pub wire_bytes: u32,
    payload: Payload<'a>,
    validated: bool,
}

impl<'a> Message<'a> {
    /// The payload, when this end is a client. Text is UTF-8.
    #[inline]
    pub fn bytes(&self) -> Result<&'a [u8], Error> {
        debug_assert!(self.payload.key.is_none());
        self.check(self.payload.bytes)?;
        Ok(self.payload.bytes)
    }

    /// Appends the payload to `out`, at either end. Text is UTF-8; on an error `out` is as before.
    #[inline]
    pub fn append_to(&self, out: &mut Vec<u8>) -> Result<(), Error> {
        let start = out.len();
        mask::extend(out, self.payload.bytes, self.payload.key, 0);
        self.check(&out[start..]).inspect_err(|_| out.truncate(start))
    }

    #[inline]
    fn check(&self, plain: &[u8]) -> Result<(), Error> {
        if self.message_type == MessageType::Text && !self.validated {
            utf8::check(plain).map_err(|_| Error::Protocol(Reason::BadUtf8))?;
        }
        Ok(())
    }
}

/// The receiving side of one end.
#[derive(Debug)]
pub struct Receiver {
    end: End,
    closed: bool,
    reader: Reader,
    inflater: Option<Box<Inflater>>,
}

impl Receiver {
    /// The receiving side of a WebSocket just upgraded; with an `inflater`, messages may come compressed.
    pub fn new(end: End, inflater: Option<Box<Inflater>>) -> Receiver {
        Receiver { end, closed: false, reader: Reader::default(), inflater }
    }

    /// Returns whether what comes next begins a message, and comes as it is.
    #[inline(always)]
    pub fn begins_plain(&self) -> bool {
        self.inflater.is_none() && self.reader.is_between()
    }

    /// Returns whether the peer's close frame is in.
    #[inline]
    pub fn is_closed(&self) -> bool {
        self.closed
    }

    /// The next thing in `input`, which it is taken off; `None` when more bytes are needed. Answers pings and
    /// the close through `sender`. Inlined, with all that it goes through for a whole frame: a message is
    /// then never put down in memory and picked up again, for which processors wait longer than all of this
    /// takes.
    #[inline(always)]
    pub fn next<'s, 'i: 's>(
        &'s mut self,
        limits: &Limits,
        sender: &mut Sender,
        io: &mut impl Io,
        input: &mut &'i [u8],
    ) -> Result<Option<Incoming<'s>>, Error> {
        if self.closed {
            *input = &[];
            return Ok(None);
        }
        let accepts = Accepts { end: self.end, deflate: self.inflater.is_some() };
        if let Some(inflater) = &mut self.inflater {
            inflater.give_back();
        }
        let Some(item) = self.reader.next(limits, accepts, input)? else { return Ok(None) };
        match item {
            Item::Message { message_type, compressed, validated, payload } => {
                let wire_bytes = payload.bytes.len() as u32;
                let payload = match &mut self.inflater {
                    Some(inflater) if compressed => {
                        let bytes = inflater.message(payload.bytes, payload.key, limits.message_bytes_max)?;
                        Payload { bytes, key: None }
                    }
                    _ => payload,
                };
                Ok(Some(Incoming::Message(Message { message_type, wire_bytes, payload, validated })))
            }
            Item::Control(Opcode::Ping, payload) => {
                sender.pong(io, payload.bytes, payload.key);
                Ok(Some(Incoming::Control))
            }
            Item::Control(Opcode::Close, payload) => {
                let mut plain = Vec::new();
                mask::extend(&mut plain, payload.bytes, payload.key, 0);
                let code = close::parse(&plain).map_err(Error::Protocol)?;
                self.closed = true;
                io.handle_reason(plain.get(2..).unwrap_or_default());
                sender.close(io, code);
                Ok(Some(Incoming::Closed { code }))
            }
            Item::Control(..) => Ok(Some(Incoming::Control)),
        }
    }
}
