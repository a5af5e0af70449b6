//! Frames to messages: the receiving state machine (RFC 6455 §5.4).
//!
//! ```text
//! between messages --a whole frame in the input--> its payload, borrowed; still between messages
//! between messages --anything else--> held: the parts so far, in a box
//! held --header whole--> a new message, or a continuation of the open one, or a control frame between
//! held --payload bytes--> unmasked and, if text, validated as they come
//! held --last byte of a control frame--> the control frame; the open message stays
//! held --last byte of a final frame--> the message; the box is dropped at the next call
//! ```
//!
//! A message may be interrupted by control frames but not by another message; a continuation needs a message
//! to continue. Limits are checked on the header, before its payload is waited for.

use super::frame::{Accepts, HEADER_BYTES_MAX, Header, MessageType, Opcode};
use super::mask::{self, Key};
use super::utf8::Validator;
use crate::error::{Error, Reason};
use crate::limits::Limits;

/// Payload bytes, still masked if there is a key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Payload<'a> {
    /// The bytes as they lie in memory.
    pub bytes: &'a [u8],
    /// The mask of the bytes.
    pub key: Option<Key>,
}

/// An item the reader assembled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Item<'a> {
    /// A whole message.
    Message {
        /// The type of the message.
        message_type: MessageType,
        /// The payload is compressed (RFC 7692 §6.2).
        compressed: bool,
        /// The text is known to be UTF-8.
        validated: bool,
        /// The payload of all fragments together.
        payload: Payload<'a>,
    },
    /// A control frame.
    Control(Opcode, Payload<'a>),
}

/// The most memory that is reserved for an announced frame before it has arrived: beyond that, memory grows
/// as bytes arrive.
const RESERVE_BYTES_MAX: u64 = 16 << 10;

/// Assembles messages from frames in whatever portions they come.
#[derive(Debug, Default)]
pub struct Reader {
    held: Option<Box<Held>>,
}

/// The part received of an unfinished frame or message.
#[derive(Debug, Default)]
struct Held {
    header: [u8; HEADER_BYTES_MAX],
    header_len: u8,
    /// The frame whose payload is being read, and how much of it is in.
    frame: Option<(Header, u64)>,
    /// The open message.
    message: Option<Open>,
    payload: Vec<u8>,
    control: Vec<u8>,
    /// True if the last call's result borrows from here.
    returned: bool,
}

#[derive(Debug)]
struct Open {
    message_type: MessageType,
    compressed: bool,
    fragments: u32,
    utf8: Validator,
}

/// Items whose last byte is in.
enum Whole {
    Control(Opcode),
    Message { message_type: MessageType, compressed: bool },
}

impl Reader {
    /// Returns whether nothing of a message or a frame is in.
    #[inline(always)]
    pub fn is_between(&self) -> bool {
        self.held.as_ref().is_none_or(|held| held.is_over())
    }

    /// The next message or control frame, taken off `input`; `None` when more bytes are needed.
    #[inline(always)]
    pub fn next<'s, 'i: 's>(
        &'s mut self,
        limits: &Limits,
        accepts: Accepts,
        input: &mut &'i [u8],
    ) -> Result<Option<Item<'s>>, Error> {
        if self.held.as_ref().is_some_and(|held| held.is_over()) {
            self.held = None;
        }
        if self.held.is_none() {
            if input.is_empty() {
                return Ok(None);
            }
            if let Some(item) = whole(limits, accepts, input)? {
                return Ok(Some(item));
            }
        }
        self.resume(limits, accepts, input)
    }

    #[cold]
    fn resume<'s>(
        &'s mut self,
        limits: &Limits,
        accepts: Accepts,
        input: &mut &[u8],
    ) -> Result<Option<Item<'s>>, Error> {
        let held = self.held.get_or_insert_default();
        if held.returned {
            held.control.clear();
            held.returned = false;
        }
        let Some(whole) = held.advance(limits, accepts, input)? else { return Ok(None) };
        held.returned = true;
        Ok(Some(match whole {
            Whole::Control(opcode) => Item::Control(opcode, Payload { bytes: &held.control, key: None }),
            Whole::Message { message_type, compressed } => {
                let payload = Payload { bytes: &held.payload, key: None };
                Item::Message { message_type, compressed, validated: !compressed, payload }
            }
        }))
    }
}

/// The item that lies whole at the start of the input, if one does.
#[inline(always)]
fn whole<'i>(limits: &Limits, accepts: Accepts, input: &mut &'i [u8]) -> Result<Option<Item<'i>>, Error> {
    let Some((header, at)) = Header::parse(input, accepts).map_err(Error::Protocol)? else {
        return Ok(None);
    };
    // Nothing has been taken off the input yet: `resume` parses this frame again, from its first byte.
    if !header.fin || header.opcode == Opcode::Continuation || header.len > (input.len() - at) as u64 {
        return Ok(None);
    }
    check_size(limits, header.len, 0)?;
    let (frame, rest) = input.split_at(at + header.len as usize);
    *input = rest;
    let payload = Payload { bytes: &frame[at..], key: header.key };
    Ok(Some(match header.opcode.message_type() {
        Some(message_type) => {
            Item::Message { message_type, compressed: header.compressed, validated: false, payload }
        }
        None => Item::Control(header.opcode, payload),
    }))
}

fn check_size(limits: &Limits, frame: u64, before: usize) -> Result<(), Error> {
    let message = (before as u64).saturating_add(frame);
    if frame > limits.frame_bytes_max || message > limits.message_bytes_max as u64 {
        return Err(Error::MessageTooLarge);
    }
    Ok(())
}

impl Held {
    /// Returns whether all of it has been returned.
    fn is_over(&self) -> bool {
        self.returned && self.message.is_none()
    }

    /// Reads on until an item is whole.
    fn advance(
        &mut self,
        limits: &Limits,
        accepts: Accepts,
        input: &mut &[u8],
    ) -> Result<Option<Whole>, Error> {
        loop {
            let (header, done) = match self.frame {
                Some(frame) => frame,
                None => {
                    let Some(header) = self.header(accepts, input).map_err(Error::Protocol)? else {
                        return Ok(None);
                    };
                    self.begin(limits, header)?;
                    (header, 0)
                }
            };
            let missing = header.len - done;
            let n = input.len().min(usize::try_from(missing).unwrap_or(usize::MAX));
            let (mine, rest) = input.split_at(n);
            *input = rest;
            self.take(header, done, mine)?;
            if n as u64 != missing {
                self.frame = Some((header, done + n as u64));
                return Ok(None);
            }
            self.frame = None;
            if header.opcode.is_control() {
                return Ok(Some(Whole::Control(header.opcode)));
            }
            if header.fin {
                let open = self.message.take().expect("a data frame has a message");
                open.utf8.finish().map_err(|_| Error::Protocol(Reason::BadUtf8))?;
                let Open { message_type, compressed, .. } = open;
                return Ok(Some(Whole::Message { message_type, compressed }));
            }
        }
    }

    /// The next frame's header, straight from the input or from the parts held; `None` when bytes are
    /// missing.
    fn header(&mut self, accepts: Accepts, input: &mut &[u8]) -> Result<Option<Header>, Reason> {
        if self.header_len == 0
            && let Some((header, at)) = Header::parse(input, accepts)?
        {
            *input = &input[at..];
            return Ok(Some(header));
        }
        // One byte at a time, so that no payload is taken with the header.
        while let Some((&byte, rest)) = input.split_first() {
            *input = rest;
            self.header[usize::from(self.header_len)] = byte;
            self.header_len += 1;
            if let Some((header, _)) = Header::parse(&self.header[..usize::from(self.header_len)], accepts)? {
                self.header_len = 0;
                return Ok(Some(header));
            }
        }
        Ok(None)
    }

    /// Judges a frame by its header and what came before it.
    fn begin(&mut self, limits: &Limits, header: Header) -> Result<(), Error> {
        match (header.opcode, &mut self.message) {
            (Opcode::Continuation, None) => return Err(Error::Protocol(Reason::StrayContinuation)),
            (Opcode::Continuation, Some(open)) => {
                open.fragments += 1;
                if open.fragments > limits.fragments_max {
                    return Err(Error::Protocol(Reason::TooManyFragments));
                }
            }
            (opcode, message) => {
                let Some(message_type) = opcode.message_type() else { return Ok(()) };
                if message.is_some() {
                    return Err(Error::Protocol(Reason::UnfinishedMessage));
                }
                let (compressed, utf8) = (header.compressed, Validator::default());
                *message = Some(Open { message_type, compressed, fragments: 1, utf8 });
            }
        }
        check_size(limits, header.len, self.payload.len())?;
        self.payload.reserve(header.len.min(RESERVE_BYTES_MAX) as usize);
        Ok(())
    }

    /// Takes payload bytes, which start `done` bytes into the frame's.
    fn take(&mut self, header: Header, done: u64, bytes: &[u8]) -> Result<(), Error> {
        let offset = (done % 4) as usize;
        if header.opcode.is_control() {
            mask::extend(&mut self.control, bytes, header.key, offset);
            return Ok(());
        }
        let start = self.payload.len();
        mask::extend(&mut self.payload, bytes, header.key, offset);
        let open = self.message.as_mut().expect("a data frame has a message");
        if open.message_type == MessageType::Text && !open.compressed {
            let checked = open.utf8.push(&self.payload[start..]);
            checked.map_err(|_| Error::Protocol(Reason::BadUtf8))?;
        }
        Ok(())
    }
}
