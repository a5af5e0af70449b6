//! The frame header, read and written (RFC 6455 §5.2).

use super::end::End;
use super::mask::{self, Key};
use crate::error::Reason;

/// Kinds of frames (RFC 6455 §5.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Opcode {
    /// More of the message before.
    Continuation = 0,
    /// A text message, or its first part.
    Text = 1,
    /// A binary message, or its first part.
    Binary = 2,
    /// The last frame of this side.
    Close = 8,
    /// A ping, to be answered with a pong of the same payload.
    Ping = 9,
    /// The answer, or nothing in particular.
    Pong = 10,
}

/// Types of messages (RFC 6455 §5.6).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum MessageType {
    /// UTF-8.
    #[default]
    Text,
    /// Bytes.
    Binary,
}

impl From<MessageType> for Opcode {
    fn from(message_type: MessageType) -> Opcode {
        match message_type {
            MessageType::Text => Opcode::Text,
            MessageType::Binary => Opcode::Binary,
        }
    }
}

impl Opcode {
    fn from_bits(bits: u8) -> Result<Opcode, Reason> {
        Ok(match bits {
            0 => Opcode::Continuation,
            1 => Opcode::Text,
            2 => Opcode::Binary,
            8 => Opcode::Close,
            9 => Opcode::Ping,
            10 => Opcode::Pong,
            _ => return Err(Reason::ReservedOpcode),
        })
    }

    /// The type of the message that a frame of this kind begins; `None` if it begins none.
    #[inline]
    pub(super) fn message_type(self) -> Option<MessageType> {
        match self {
            Opcode::Text => Some(MessageType::Text),
            Opcode::Binary => Some(MessageType::Binary),
            _ => None,
        }
    }

    /// Close, ping and pong: short, whole, and allowed between the fragments of a message (§5.5).
    #[inline]
    pub fn is_control(self) -> bool {
        self as u8 >= 8
    }
}

/// Most bytes of a frame header.
pub const HEADER_BYTES_MAX: usize = 14;
/// Most payload bytes of a control frame (§5.5).
pub const CONTROL_BYTES_MAX: usize = 125;

const FIN: u8 = 0x80;
const RSV1: u8 = 0x40;
const RSV23: u8 = 0x30;
const MASKED: u8 = 0x80;

/// A frame's header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Header {
    /// The last frame of its message.
    pub fin: bool,
    /// The message is compressed (RFC 7692 §6).
    pub compressed: bool,
    /// The kind of the frame.
    pub opcode: Opcode,
    /// The mask of the payload.
    pub key: Option<Key>,
    /// Payload bytes.
    pub len: u64,
}

/// Frames that a reader accepts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Accepts {
    /// The end that reads: a server wants masks, a client wants none.
    pub end: End,
    /// True if permessage-deflate was negotiated, which gives RSV1 its meaning.
    pub deflate: bool,
}

impl Header {
    /// Reads the header at the start of `bytes`, and how many bytes it takes; `None` when there are too few
    /// yet. Fails on the first byte that breaks a rule, even when more are missing.
    #[inline(always)]
    pub fn parse(bytes: &[u8], accepts: Accepts) -> Result<Option<(Header, usize)>, Reason> {
        let Some(&first) = bytes.first() else { return Ok(None) };
        let opcode = Opcode::from_bits(first & 0x0f)?;
        let fin = first & FIN != 0;
        let compressed = first & RSV1 != 0;
        let may_compress = accepts.deflate && opcode.message_type().is_some();
        if first & RSV23 != 0 || (compressed && !may_compress) {
            return Err(Reason::ReservedBit);
        }
        // Control frames are whole, and short (§5.5).
        if opcode.is_control() && !fin {
            return Err(Reason::BadControl);
        }
        let Some(&second) = bytes.get(1) else { return Ok(None) };
        let masked = second & MASKED != 0;
        // Clients mask, and servers do not (§5.1).
        match accepts.end {
            End::Server if !masked => return Err(Reason::Unmasked),
            End::Client if masked => return Err(Reason::Masked),
            _ => {}
        }
        let short = second & 0x7f;
        if opcode.is_control() && usize::from(short) > CONTROL_BYTES_MAX {
            return Err(Reason::BadControl);
        }
        let Some((len, at)) = parse_len(bytes, short)? else { return Ok(None) };
        if !masked {
            return Ok(Some((Header { fin, compressed, opcode, key: None, len }, at)));
        }
        let Some(&key) = bytes[at..].first_chunk() else { return Ok(None) };
        Ok(Some((Header { fin, compressed, opcode, key: Some(Key::new(key)), len }, at + 4)))
    }
}

/// The payload length, which must be in its shortest form, and where it ends.
#[inline]
fn parse_len(bytes: &[u8], short: u8) -> Result<Option<(u64, usize)>, Reason> {
    match short {
        126 => {
            let Some(len) = bytes[2..].first_chunk::<2>() else { return Ok(None) };
            let len = u64::from(u16::from_be_bytes(*len));
            if len < 126 { Err(Reason::BadLength) } else { Ok(Some((len, 4))) }
        }
        127 => {
            if bytes.get(2).is_some_and(|top| top & 0x80 != 0) {
                return Err(Reason::BadLength);
            }
            let Some(len) = bytes[2..].first_chunk::<8>() else { return Ok(None) };
            let len = u64::from_be_bytes(*len);
            if len <= 0xffff { Err(Reason::BadLength) } else { Ok(Some((len, 10))) }
        }
        len => Ok(Some((u64::from(len), 2))),
    }
}

/// The start of the payload of a server's frame, from [`open`] until [`seal`].
pub const BODY: usize = 2;

/// Opens an unfragmented frame at the end of `out`: room for the shortest header. Append the payload, then
/// [`seal`] it with what this returns.
#[inline]
pub fn open(out: &mut Vec<u8>, end: End) -> usize {
    let start = out.len();
    match end {
        End::Client => out.extend_from_slice(&[0; 6]),
        End::Server => out.extend_from_slice(&[0; BODY]),
    }
    start
}

/// Seals the frame opened at `start`: writes its header, moving the payload when that takes more room, and
/// masks the payload if there is a `key`, as there must be for a client. Returns where the payload starts.
#[inline]
pub fn seal(out: &mut Vec<u8>, start: usize, opcode: Opcode, compressed: bool, key: Option<Key>) -> usize {
    let (masked, key_bytes) = if key.is_some() { (MASKED, 4) } else { (0, 0) };
    let len = out.len() - start - 2 - key_bytes;
    let more = length_bytes(len);
    let short = match more {
        0 => len as u8,
        2 => 126,
        _ => 127,
    };
    if more > 0 {
        write_long(out, start + 2, len, more);
    }
    let head = &mut out[start..start + 2];
    head[0] = FIN | if compressed { RSV1 } else { 0 } | opcode as u8;
    head[1] = masked | short;
    let body = start + 2 + more + key_bytes;
    if let Some(key) = key {
        out[body - 4..body].copy_from_slice(&key.bytes());
        mask::apply(&mut out[body..], key, 0);
    }
    body
}

/// Bytes of a client's frame with so much of a payload.
#[inline]
pub(super) fn client_bytes(payload_bytes: usize) -> usize {
    2 + length_bytes(payload_bytes) + size_of::<Key>() + payload_bytes
}

/// Bytes of a payload's length that do not fit into the shortest header.
#[inline]
fn length_bytes(len: usize) -> usize {
    match len {
        0..=125 => 0,
        126..=0xffff => 2,
        _ => 8,
    }
}

/// Appends a server's message, whose payload `fill` appends, for any number of readers: plain, since they
/// differ in their compression contexts.
#[inline]
pub fn put(out: &mut Vec<u8>, opcode: Opcode, fill: impl FnOnce(&mut Vec<u8>)) {
    let start = open(out, End::Server);
    fill(out);
    seal(out, start, opcode, false, None);
}

/// Puts a length that takes more room at `at`, before what stands there.
fn write_long(out: &mut Vec<u8>, at: usize, len: usize, bytes: usize) {
    let behind = at..out.len();
    let len = (len as u64).to_be_bytes();
    out.extend_from_slice(&[0; 8][..bytes]);
    out.copy_within(behind, at + bytes);
    out[at..at + bytes].copy_from_slice(&len[8 - bytes..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLIENT: Accepts = Accepts { end: End::Client, deflate: false };
    const SERVER: Accepts = Accepts { end: End::Server, deflate: false };
    const DEFLATE: Accepts = Accepts { end: End::Client, deflate: true };

    #[test]
    fn lengths_at_borders_round_trip() {
        for len in [0, 1, 125, 126, 127, 0xffff, 0x1_0000] {
            for (end, reader) in [(End::Client, SERVER), (End::Server, CLIENT)] {
                let key = (end == End::Client).then_some(Key::new([1, 2, 3, 4]));
                let payload: Vec<u8> = (0..len).map(|i| i as u8).collect();
                let mut out = b"before".to_vec();
                let start = open(&mut out, end);
                out.extend_from_slice(&payload);
                let body = seal(&mut out, start, Opcode::Binary, false, key);
                let (header, used) = Header::parse(&out[start..], reader).unwrap().unwrap();
                assert_eq!((header.len, start + used, header.key), (len as u64, body, key));
                if let Some(key) = key {
                    mask::apply(&mut out[body..], key, 0);
                }
                assert_eq!(&out[body..], payload);
                for cut in start..body {
                    assert_eq!(Header::parse(&out[start..cut], reader), Ok(None), "cut at {cut}");
                }
            }
        }
    }

    #[test]
    fn each_rule_fails_on_its_first_byte() {
        use Reason::*;
        for (bytes, accepts, reason) in [
            (&[0xc1][..], CLIENT, ReservedBit),
            (&[0xa1], DEFLATE, ReservedBit),
            (&[0x91], DEFLATE, ReservedBit),
            (&[0xc0], DEFLATE, ReservedBit), // RSV1 on a continuation: RFC 7692 §6.1
            (&[0xc9], DEFLATE, ReservedBit), // and on a ping
            (&[0x83], CLIENT, ReservedOpcode),
            (&[0x87], CLIENT, ReservedOpcode),
            (&[0x8b], CLIENT, ReservedOpcode),
            (&[0x8f], CLIENT, ReservedOpcode),
            (&[0x09], CLIENT, BadControl),
            (&[0x89, 126], CLIENT, BadControl),
            (&[0x88, 127], CLIENT, BadControl),
            (&[0x81, 0x05], SERVER, Unmasked),
            (&[0x81, 0x85], CLIENT, Masked),
            (&[0x82, 126, 0, 125], CLIENT, BadLength),
            (&[0x82, 127, 0, 0, 0, 0, 0, 0, 0xff, 0xff], CLIENT, BadLength),
            (&[0x82, 127, 0x80], CLIENT, BadLength),
        ] {
            assert_eq!(Header::parse(bytes, accepts), Err(reason), "{bytes:x?}");
            assert_eq!(Header::parse(&bytes[..bytes.len() - 1], accepts), Ok(None), "{bytes:x?}");
        }
    }
}
