//! Frames and settings of a whole connection, in either role (RFC 9113 §6).
//!
//! ```text
//! greeting --the peer's first SETTINGS--> open
//! open --HEADERS without END_HEADERS--> continuing --CONTINUATION with it--> open
//! continuing --any other frame--> failed
//! open --a frame that breaks a rule--> failed: GOAWAY says why
//! ```
//!
//! Settings and pings are answered here. Whatever else a frame says is passed on.

use std::borrow::Cow;

use super::credit::{Receiving, Sending, WINDOW_FIRST, WINDOW_MAX};
use super::frame::{self, Frame, PAYLOAD_BYTES_MAX, STREAM_MAX, flag, kind};
use super::hpack::Decoder;
use crate::error::{Error, ErrorCode, Http2Reason};
use crate::limits::Limits;

/// The preface that a client sends first (§3.4).
pub const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Bytes a server may send ahead to us, on a stream and in all: as much as to h2load. What comes in is not
/// kept.
pub const CLIENT_WINDOW: u32 = (1 << 30) - 1;
/// Bytes a client may send ahead to us: as much as to Go's server. More would wait in the client, which has
/// its bounds, too.
pub const SERVER_WINDOW: u32 = 1 << 20;

/// Most frames in a row, within [`CALM_NS`], that only make work: settings and pings (CVE-2019-9512, -9515),
/// empty data (-9518), resets of streams that are over. A request that is reset at once (CVE-2023-44487) makes
/// as much work here for its sender.
const IDLE_FRAMES_MAX: u32 = 1000;
/// The time over which these are counted: a peer that asks every second whether the other is there is no
/// flood, and a connection may idle for hours with nothing but pings.
const CALM_NS: u64 = 1_000_000_000;
/// Most frames that continue one block (CVE-2024-27316). The block's bytes are bounded as well, like any
/// head's.
const CONTINUATIONS_MAX: u32 = 32;

/// The settings that matter here (§6.5.2).
mod setting {
    pub(super) const HEADER_TABLE_SIZE: u16 = 0x1;
    pub(super) const ENABLE_PUSH: u16 = 0x2;
    pub(super) const MAX_CONCURRENT_STREAMS: u16 = 0x3;
    pub(super) const INITIAL_WINDOW_SIZE: u16 = 0x4;
    pub(super) const MAX_FRAME_SIZE: u16 = 0x5;
    pub(super) const MAX_HEADER_LIST_SIZE: u16 = 0x6;
    /// RFC 8441 §3.
    pub(super) const ENABLE_CONNECT_PROTOCOL: u16 = 0x8;
}

/// Frames received.
#[derive(Debug)]
pub enum ConnectionEvent<'a> {
    /// The peer's settings, with the change of what may go out on each stream.
    Settings {
        /// Bytes; negative where the peer takes room away.
        more: i64,
    },
    /// A whole block of fields.
    Head {
        /// Its stream.
        stream: u32,
        /// The block, whole.
        block: Cow<'a, [u8]>,
        /// True if the stream ends with it.
        ends: bool,
    },
    /// A part of a body, and how much of the windows it took.
    Data {
        /// Its stream.
        stream: u32,
        /// The part.
        data: &'a [u8],
        /// Bytes of the windows, padding included.
        taken: usize,
        /// True if the stream ends with it.
        ends: bool,
    },
    /// The peer has ended a stream.
    Reset {
        /// The stream.
        stream: u32,
        /// The peer's reason.
        code: ErrorCode,
    },
    /// The peer will do nothing with streams after this one.
    GoAway {
        /// The last stream that it deals with.
        last: u32,
        /// The peer's reason.
        code: ErrorCode,
    },
    /// More may go out on a stream; on all, where it is 0.
    Room {
        /// The stream, or 0.
        stream: u32,
        /// Bytes.
        more: i64,
    },
    /// Nothing of concern.
    Nothing,
}

/// The peer's settings.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// The least that it was: a table that was smaller for a moment has lost its entries (RFC 7541 §4.2).
    pub table_bytes: u32,
    /// Most streams at a time.
    pub streams_max: u32,
    /// Bytes that a new stream may send ahead.
    pub window: u32,
    /// Most bytes of a frame behind its header.
    pub payload_bytes_max: usize,
    /// A stream may be a tunnel for another protocol, such as WebSocket (RFC 8441 §3).
    pub has_tunnels: bool,
}

/// The state of a connection.
#[derive(Debug)]
pub struct Connection {
    /// The peer's settings, or the defaults before they come.
    pub settings: Settings,
    /// This side is the client: the server may not announce that it pushes (§6.5.2).
    is_client: bool,
    /// How much may go out on all streams.
    pub sending: Sending,
    receiving: Receiving,
    /// Reads blocks of fields: one for all streams, because they share its table.
    pub decoder: Decoder,
    continued: Option<Continued>,
    idle_frames: u32,
    /// Since when these are counted.
    idle_since_ns: u64,
}

/// A block of fields whose rest is to come.
#[derive(Debug)]
struct Continued {
    stream: u32,
    ends: bool,
    block: Vec<u8>,
    parts: u32,
}

impl Connection {
    /// The client's side of one.
    pub fn client() -> Connection {
        Connection::new(CLIENT_WINDOW, true)
    }

    /// The server's side of one.
    pub fn server() -> Connection {
        Connection::new(SERVER_WINDOW, false)
    }

    /// `window` bytes may come in ahead, on each stream and in all.
    fn new(window: u32, is_client: bool) -> Connection {
        Connection {
            settings: Settings {
                table_bytes: 4096,
                streams_max: u32::MAX,
                window: WINDOW_FIRST,
                payload_bytes_max: PAYLOAD_BYTES_MAX,
                has_tunnels: false,
            },
            is_client,
            sending: Sending::new(WINDOW_FIRST),
            receiving: Receiving::new(window),
            decoder: Decoder::default(),
            continued: None,
            idle_frames: 0,
            idle_since_ns: 0,
        }
    }
}

/// Appends our settings and the window of the connection: what a client says behind the preface, and a server
/// first.
pub fn greet(limits: &Limits, window: u32, streams_max: Option<u32>, out: &mut Vec<u8>) {
    let head_bytes_max = u32::try_from(limits.head_bytes_max).unwrap_or(u32::MAX);
    // A server may not send `ENABLE_PUSH` as a client does (§6.5.2), and a client has no streams to limit
    // without it.
    let own = match streams_max {
        Some(most) => (setting::MAX_CONCURRENT_STREAMS, most),
        None => (setting::ENABLE_PUSH, 0),
    };
    let all = [own, (setting::INITIAL_WINDOW_SIZE, window), (setting::MAX_HEADER_LIST_SIZE, head_bytes_max)];
    frame::put_with(out, kind::SETTINGS, 0, 0, |out| {
        for (name, value) in all {
            out.extend_from_slice(&name.to_be_bytes());
            out.extend_from_slice(&value.to_be_bytes());
        }
    });
    // Settings change the windows of streams, but not the connection's (§6.9.2).
    put_room(0, window - WINDOW_FIRST, out);
}

/// Appends that the peer may send so much more.
pub fn put_room(stream: u32, more: u32, out: &mut Vec<u8>) {
    frame::put(out, kind::WINDOW_UPDATE, 0, stream, &more.to_be_bytes());
}

/// Appends that a stream is over.
pub fn put_reset(stream: u32, code: ErrorCode, out: &mut Vec<u8>) {
    frame::put(out, kind::RST_STREAM, 0, stream, &(code as u32).to_be_bytes());
}

/// Appends that this is the end, and which of the peer's streams was the last that was looked at.
pub fn put_goodbye(last: u32, code: ErrorCode, out: &mut Vec<u8>) {
    frame::put_with(out, kind::GOAWAY, 0, 0, |out| {
        out.extend_from_slice(&last.to_be_bytes());
        out.extend_from_slice(&(code as u32).to_be_bytes());
    });
}

/// Appends a head in as many frames as it takes (§4.3).
pub fn put_head(stream: u32, ends: bool, write: impl FnOnce(&mut Vec<u8>), out: &mut Vec<u8>) {
    let flags = if ends { flag::END_STREAM } else { 0 };
    let start = out.len();
    frame::put_with(out, kind::HEADERS, flags | flag::END_HEADERS, stream, write);
    if out.len() - start - frame::HEADER_BYTES <= PAYLOAD_BYTES_MAX {
        return;
    }
    // Written once more, because its length was not known before: such heads are rare.
    let block = out.split_off(start + frame::HEADER_BYTES);
    out.truncate(start);
    let mut parts = block.chunks(PAYLOAD_BYTES_MAX).peekable();
    let mut kind_and_flags = (kind::HEADERS, flags);
    while let Some(part) = parts.next() {
        let (kind, flags) = kind_and_flags;
        let end = if parts.peek().is_none() { flag::END_HEADERS } else { 0 };
        frame::put(out, kind, flags | end, stream, part);
        kind_and_flags = (kind::CONTINUATION, 0);
    }
}

impl Connection {
    /// Judges a frame, and answers it where it concerns the connection alone. After an error the connection
    /// is of no further use.
    pub fn handle_frame<'a>(
        &mut self,
        frame: Frame<'a>,
        limits: &Limits,
        now_ns: u64,
        out: &mut Vec<u8>,
    ) -> Result<ConnectionEvent<'a>, Error> {
        if now_ns.saturating_sub(self.idle_since_ns) > CALM_NS {
            self.idle_frames = 0;
            self.idle_since_ns = now_ns;
        }
        let Frame { kind, stream, payload, .. } = frame;
        // Nothing of any stream may come between the parts of a block (§6.10): the decoder's table would be
        // in doubt.
        if self.continued.is_some() != (kind == kind::CONTINUATION) {
            return Err(bad(Http2Reason::Frame));
        }
        match kind {
            kind::DATA | kind::HEADERS | kind::PRIORITY | kind::RST_STREAM if stream == 0 => {
                Err(bad(Http2Reason::Frame))
            }
            kind::SETTINGS | kind::PING | kind::GOAWAY if stream != 0 => Err(bad(Http2Reason::Frame)),
            kind::DATA => self.handle_data(frame, out),
            kind::HEADERS => self.handle_head(frame, limits),
            kind::CONTINUATION => self.handle_continuation(frame, limits),
            // Deprecated (§5.3.2), but part of the protocol: it has to have its form, and means nothing.
            kind::PRIORITY => {
                exactly::<5>(payload)?;
                self.tolerate(ConnectionEvent::Nothing)
            }
            kind::RST_STREAM => {
                let code = u32::from_be_bytes(exactly(payload)?);
                self.tolerate(ConnectionEvent::Reset { stream, code: ErrorCode::of(code) })
            }
            kind::SETTINGS => self.handle_settings(frame, out),
            // It is switched off (§8.4).
            kind::PUSH_PROMISE => Err(bad(Http2Reason::Frame)),
            kind::PING => {
                let opaque: [u8; 8] = exactly(payload)?;
                if !frame.has(flag::ACK) {
                    frame::put(out, kind::PING, flag::ACK, 0, &opaque);
                }
                self.tolerate(ConnectionEvent::Nothing)
            }
            kind::GOAWAY => {
                let (&[l0, l1, l2, l3, c0, c1, c2, c3], _) =
                    payload.split_first_chunk().ok_or(bad(Http2Reason::FrameSize))?;
                let last = u32::from_be_bytes([l0, l1, l2, l3]) & STREAM_MAX;
                Ok(ConnectionEvent::GoAway {
                    last,
                    code: ErrorCode::of(u32::from_be_bytes([c0, c1, c2, c3])),
                })
            }
            kind::WINDOW_UPDATE => self.handle_room(frame),
            // Extensions that were not asked for are ignored (§5.5).
            _ => self.tolerate(ConnectionEvent::Nothing),
        }
    }

    /// Notes that the last frame was waited for, and made no work of its own.
    pub fn welcome(&mut self) {
        self.idle_frames = 0;
    }

    /// A frame that only makes work, if there are many of them in a row.
    fn tolerate<'a>(&mut self, got: ConnectionEvent<'a>) -> Result<ConnectionEvent<'a>, Error> {
        self.idle_frames += 1;
        if self.idle_frames > IDLE_FRAMES_MAX { Err(bad(Http2Reason::Flood)) } else { Ok(got) }
    }

    fn handle_data<'a>(&mut self, frame: Frame<'a>, out: &mut Vec<u8>) -> Result<ConnectionEvent<'a>, Error> {
        let (taken, ends) = (frame.payload.len(), frame.has(flag::END_STREAM));
        // The window is of whole payloads, padding included (§6.9.1), whatever becomes of their streams.
        if let Some(more) = self.receiving.take(taken).map_err(bad)? {
            put_room(0, more, out);
        }
        let data = unpadded(frame, frame.payload)?;
        let got = ConnectionEvent::Data { stream: frame.stream, data, taken, ends };
        if data.is_empty() && !ends {
            return self.tolerate(got);
        }
        self.idle_frames = 0;
        Ok(got)
    }

    fn handle_head<'a>(&mut self, frame: Frame<'a>, limits: &Limits) -> Result<ConnectionEvent<'a>, Error> {
        let (stream, ends) = (frame.stream, frame.has(flag::END_STREAM));
        let mut block = unpadded(frame, frame.payload)?;
        if frame.has(flag::PRIORITY) {
            // The priority stands before the block: a stream to depend on, and a weight (§6.2).
            block = block.split_first_chunk::<5>().ok_or(bad(Http2Reason::FrameSize))?.1;
        }
        if block.len() > limits.head_bytes_max {
            // As it is coded; what it decodes to has a bound of its own.
            return Err(Error::HeadTooLarge);
        }
        if !frame.has(flag::END_HEADERS) {
            self.continued = Some(Continued { stream, ends, block: block.to_vec(), parts: 0 });
            return Ok(ConnectionEvent::Nothing);
        }
        self.idle_frames = 0;
        Ok(ConnectionEvent::Head { stream, block: Cow::Borrowed(block), ends })
    }

    fn handle_continuation<'a>(
        &mut self,
        frame: Frame<'a>,
        limits: &Limits,
    ) -> Result<ConnectionEvent<'a>, Error> {
        let Some(mut whole) = self.continued.take().filter(|of| of.stream == frame.stream) else {
            return Err(bad(Http2Reason::Frame));
        };
        whole.parts += 1;
        if whole.parts > CONTINUATIONS_MAX {
            return Err(bad(Http2Reason::Flood));
        }
        if whole.block.len() + frame.payload.len() > limits.head_bytes_max {
            return Err(Error::HeadTooLarge);
        }
        whole.block.extend_from_slice(frame.payload);
        if !frame.has(flag::END_HEADERS) {
            self.continued = Some(whole);
            return Ok(ConnectionEvent::Nothing);
        }
        self.idle_frames = 0;
        Ok(ConnectionEvent::Head { stream: whole.stream, block: Cow::Owned(whole.block), ends: whole.ends })
    }

    fn handle_settings<'a>(
        &mut self,
        frame: Frame<'a>,
        out: &mut Vec<u8>,
    ) -> Result<ConnectionEvent<'a>, Error> {
        let (settings, rest) = frame.payload.as_chunks::<6>();
        if !rest.is_empty() || (frame.has(flag::ACK) && !settings.is_empty()) {
            return Err(bad(Http2Reason::FrameSize));
        }
        if frame.has(flag::ACK) {
            return self.tolerate(ConnectionEvent::Nothing);
        }
        let before = self.settings.window;
        for &[n0, n1, v0, v1, v2, v3] in settings {
            let value = u32::from_be_bytes([v0, v1, v2, v3]);
            match u16::from_be_bytes([n0, n1]) {
                setting::HEADER_TABLE_SIZE => {
                    self.settings.table_bytes = self.settings.table_bytes.min(value);
                }
                setting::MAX_CONCURRENT_STREAMS => self.settings.streams_max = value,
                // Zero is all that a server may say, and a client one as well.
                setting::ENABLE_PUSH if value > u32::from(!self.is_client) => {
                    return Err(bad(Http2Reason::Setting));
                }
                setting::INITIAL_WINDOW_SIZE if value > WINDOW_MAX => {
                    return Err(bad(Http2Reason::FlowControl));
                }
                setting::INITIAL_WINDOW_SIZE => self.settings.window = value,
                // The bounds are the standard's (§6.5.2): the least that all take, and what three bytes can
                // say.
                setting::MAX_FRAME_SIZE if !(1 << 14..1 << 24).contains(&value) => {
                    return Err(bad(Http2Reason::Setting));
                }
                setting::MAX_FRAME_SIZE => self.settings.payload_bytes_max = value as usize,
                setting::ENABLE_CONNECT_PROTOCOL if value > 1 => return Err(bad(Http2Reason::Setting)),
                setting::ENABLE_CONNECT_PROTOCOL => self.settings.has_tunnels = value == 1,
                // Settings of extensions are to be ignored (§6.5.2).
                _ => {}
            }
        }
        // Once all of them apply, in the order they came (§6.5.3).
        frame::put(out, kind::SETTINGS, flag::ACK, 0, b"");
        self.tolerate(ConnectionEvent::Settings { more: i64::from(self.settings.window) - i64::from(before) })
    }

    fn handle_room<'a>(&mut self, frame: Frame<'a>) -> Result<ConnectionEvent<'a>, Error> {
        let more = i64::from(u32::from_be_bytes(exactly(frame.payload)?) & STREAM_MAX);
        // An increment of nothing is an error, of its stream or of the connection (§6.9).
        if more == 0 {
            return Err(bad(Http2Reason::NoRoom));
        }
        if frame.stream == 0 {
            self.sending.grow(more).map_err(bad)?;
        }
        Ok(ConnectionEvent::Room { stream: frame.stream, more })
    }
}

/// The payload without its padding (§6.1).
fn unpadded<'a>(frame: Frame<'a>, payload: &'a [u8]) -> Result<&'a [u8], Error> {
    if !frame.has(flag::PADDED) {
        return Ok(payload);
    }
    let (&padding, rest) = payload.split_first().ok_or(bad(Http2Reason::FrameSize))?;
    // More padding than there are bytes is an error (§6.1): it would reach into the next frame.
    let bytes = rest.len().checked_sub(usize::from(padding)).ok_or(bad(Http2Reason::Padding))?;
    Ok(&rest[..bytes])
}

/// The payload of a kind of frame that always has `BYTES` bytes.
fn exactly<const BYTES: usize>(payload: &[u8]) -> Result<[u8; BYTES], Error> {
    payload.try_into().map_err(|_| bad(Http2Reason::FrameSize))
}

/// The failure of a connection whose peer broke this rule.
fn bad(reason: Http2Reason) -> Error {
    Error::BadHttp2(reason)
}
