//! One WebSocket, seen frame by frame: pings, closes and the parts of a message are what a data sheet is about.

use std::time::{Duration, Instant};

use codec::Limits;
use codec::ws::frame::{self, Accepts, Header, Opcode};
use codec::ws::mask::Key;
use codec::ws::{End, close};

use super::channel::{Channel, Lost, Way};
use super::closing::Closing;
use super::row::NotTried;
use super::site::Tester;
use super::upgrade::{self, Head, Offer, Refusal};

/// Time for the answer to an upgrade, a ping or a close.
pub(super) const ANSWER_MAX: Duration = Duration::from_secs(3);
/// Bytes kept of a message, from its beginning.
const KEPT_BYTES: usize = 256;
/// Taken bytes that may lie before others: to move these at each frame would take quadratic time.
const TAKEN_BYTES_MAX: usize = 1 << 20;
/// Statuses by which a server says that there were too many requests (RFC 6585 §4, RFC 9110 §15.6.4).
const TOO_MANY: [u16; 2] = [429, 503];
/// Waits before a refused client tries again.
const RETRIES: [Duration; 3] =
    [Duration::from_millis(500), Duration::from_millis(1100), Duration::from_millis(2500)];

/// An event of a WebSocket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Heard {
    Message(Message),
    Ping,
    /// A pong, and its payload.
    Pong(Vec<u8>),
    /// Nothing by the deadline.
    Nothing,
}

/// A message of the server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Message {
    pub(super) bytes: u64,
    pub(super) frames: u64,
    /// Its beginning.
    pub(super) start: Vec<u8>,
}

/// The longest text between messages in one frame.
const SEPARATOR_BYTES_MAX: usize = 8;

impl Message {
    /// Counts the copies of a text in it, whatever stands between them; 0 if it begins with something else.
    pub(super) fn copies(&self, text: &[u8]) -> u64 {
        let Some(rest) = self.start.strip_prefix(text) else {
            // Of a text that is longer than what is kept, the beginning is all that can be compared.
            let is_begun = text.len() > KEPT_BYTES && text.starts_with(&self.start);
            return if is_begun { self.bytes / text.len() as u64 } else { 0 };
        };
        let is_next = |&bytes: &usize| rest.get(bytes..).is_some_and(|rest| rest.starts_with(text));
        let separator = (0..=SEPARATOR_BYTES_MAX).find(is_next).unwrap_or_default() as u64;
        (self.bytes + separator) / (text.len() as u64 + separator)
    }
}

/// A WebSocket that is open.
pub(super) struct WebSocket<'a> {
    pub(super) channel: Channel<'a>,
    /// The answer to the upgrade.
    pub(super) head: Head,
    /// False: pings are left without a pong.
    pub(super) answers: bool,
    /// The largest frame that is read: a server that announces more and goes on sending would fill the memory.
    frame_bytes_max: u64,
    /// Received bytes that have been taken.
    taken: usize,
    partial: Message,
    /// Code and reason of the server's close frame.
    closed: Option<(u16, String)>,
    has_closed: bool,
    /// The protocol's answers to its heartbeats.
    heartbeat: fn(&[u8]) -> Option<&'static str>,
}

impl<'a> WebSocket<'a> {
    /// Connects as clients do, and says what the protocol opens with. A server that refuses because there were too many
    /// before is asked again: that has a row of its own.
    pub(super) fn open(tester: &'a Tester<'a>, offer: &Offer) -> Result<WebSocket<'a>, Refusal> {
        for wait in RETRIES {
            match WebSocket::open_once(tester, offer) {
                Err(Refusal::Status(head)) if TOO_MANY.contains(&head.status) => {
                    tester.site.pause(wait).map_err(|_| Lost::Interrupted)?;
                }
                opened => return opened,
            }
        }
        WebSocket::open_once(tester, offer)
    }

    /// The same without a second try.
    pub(super) fn open_once(tester: &'a Tester<'a>, offer: &Offer) -> Result<WebSocket<'a>, Refusal> {
        let request = upgrade::request(tester, offer)?;
        let tls = tester.site.tls(Some("http/1.1"), None).map_err(|NotTried(why)| Refusal::Request(why))?;
        let way = Way { tls: tls.as_ref(), resumes: false, receive_bytes: offer.receive_bytes };
        let mut channel = Channel::open(tester, &way)?;
        let until = Instant::now() + ANSWER_MAX;
        channel.send(&request, until)?;
        let head = upgrade::read_head(&mut channel, until)?;
        if head.status != 101 {
            return Err(Refusal::Status(head));
        }
        let service = tester.site.service;
        // An echo is as long as its message, with what the server puts around it.
        let echo_bytes_max = tester.site.bounds.message_bytes.saturating_mul(2);
        let heartbeat = service.map_or((|_: &[u8]| None) as fn(&[u8]) -> _, |service| service.heartbeat());
        let mut socket = WebSocket {
            channel,
            head,
            answers: true,
            frame_bytes_max: echo_bytes_max.max(Limits::default().frame_bytes_max),
            taken: 0,
            partial: Message::default(),
            closed: None,
            has_closed: false,
            heartbeat,
        };
        // Servers turn away who does not open in time, which would look like an idle timeout.
        if let Some(opening) = service.and_then(|service| service.opening()) {
            socket.say(opening.as_bytes()).map_err(Refusal::Closed)?;
        }
        Ok(socket)
    }

    /// Returns whether nothing accepts connections any more, or a proxy says so (RFC 9110 §15.6.3).
    pub(super) fn has_no_server(tester: &Tester<'_>) -> bool {
        match WebSocket::open_once(tester, &Offer::default()) {
            Err(Refusal::Lost(lost)) => lost == Lost::Refused,
            Err(Refusal::Status(head)) => head.status == 502,
            _ => false,
        }
    }

    /// Sends a text message.
    pub(super) fn say(&mut self, payload: &[u8]) -> Result<(), Closing> {
        self.send(&framed(Opcode::Text, payload), ANSWER_MAX)
    }

    /// Sends a ping.
    pub(super) fn ping(&mut self) -> Result<(), Closing> {
        self.send(&framed(Opcode::Ping, b""), ANSWER_MAX)
    }

    /// Waits for the pong to a ping: false if none comes in time.
    pub(super) fn is_answered(&mut self) -> Result<bool, Closing> {
        self.ping()?;
        let until = Instant::now() + ANSWER_MAX;
        loop {
            match self.hear(until)? {
                Heard::Pong(_) => return Ok(true),
                Heard::Nothing => return Ok(false),
                Heard::Ping | Heard::Message(_) => {}
            }
        }
    }

    /// Sends frames as they are.
    pub(super) fn send(&mut self, frames: &[u8], within: Duration) -> Result<(), Closing> {
        self.channel.send(frames, Instant::now() + within).map_err(|lost| self.ended(lost))
    }

    /// Sends a close frame with this code and waits for the end.
    pub(super) fn close(mut self, code: u16) -> Closing {
        self.has_closed = true;
        if let Err(closing) = self.send(&framed(Opcode::Close, &code.to_be_bytes()), ANSWER_MAX) {
            return closing;
        }
        self.await_close(ANSWER_MAX).unwrap_or(Closing {
            code: None,
            reason: String::new(),
            end: Lost::Silent,
        })
    }

    /// Waits for the server to close; `None`: it did not.
    pub(super) fn await_close(&mut self, within: Duration) -> Option<Closing> {
        let until = Instant::now() + within;
        loop {
            match self.hear(until) {
                Err(closing) => return Some(closing),
                Ok(Heard::Nothing) => return None,
                Ok(_) => {}
            }
        }
    }

    /// The next event by then. Pings are answered, and heartbeats of the protocol.
    pub(super) fn hear(&mut self, until: Instant) -> Result<Heard, Closing> {
        loop {
            if let Some(heard) = self.take()? {
                return Ok(heard);
            }
            match self.channel.receive(until) {
                Ok(true) => {}
                Ok(false) => return Ok(Heard::Nothing),
                Err(lost) => return Err(self.ended(lost)),
            }
        }
    }

    /// The connection has ended: a close frame may have come before.
    fn ended(&mut self, end: Lost) -> Closing {
        if end != Lost::Silent {
            self.channel.release();
        }
        let until = Instant::now();
        while self.closed.is_none() && !matches!(end, Lost::Interrupted | Lost::Silent) {
            match self.take() {
                Ok(Some(_)) => {}
                Err(closing) => return closing,
                // What the kernel has received before a reset can still be read.
                Ok(None) if matches!(self.channel.receive(until), Ok(true)) => {}
                Ok(None) => break,
            }
        }
        let (code, reason) = self.closed.take().unzip();
        Closing { code, reason: reason.unwrap_or_default(), end }
    }

    /// Takes frames off what was received up to an event.
    fn take(&mut self) -> Result<Option<Heard>, Closing> {
        let broken = |problem: String| Closing { code: None, reason: problem, end: Lost::Broken };
        loop {
            let received = &self.channel.received[self.taken..];
            let accepts = Accepts { end: End::Client, deflate: false };
            let parsed = Header::parse(received, accepts)
                .map_err(|reason| broken(format!("a frame that breaks RFC 6455: {reason:?}")))?;
            let Some((header, at)) = parsed else { return Ok(None) };
            if header.len > self.frame_bytes_max {
                return Err(broken(format!("a frame of {} bytes, which is not read", header.len)));
            }
            let Some(payload) = received.get(at..).and_then(|rest| rest.get(..header.len as usize)) else {
                return Ok(None);
            };
            let start = payload[..payload.len().min(KEPT_BYTES)].to_vec();
            let frame_bytes = at + payload.len();
            self.taken += frame_bytes;
            if self.taken == self.channel.received.len() || self.taken > TAKEN_BYTES_MAX {
                self.channel.received.drain(..self.taken);
                self.taken = 0;
            }
            match header.opcode {
                Opcode::Ping => {
                    if self.answers && !self.has_closed {
                        self.send(&framed(Opcode::Pong, &start), ANSWER_MAX)?;
                    }
                    return Ok(Some(Heard::Ping));
                }
                Opcode::Pong => return Ok(Some(Heard::Pong(start))),
                Opcode::Close => return Err(self.handle_close(&start)),
                Opcode::Continuation | Opcode::Text | Opcode::Binary => {
                    self.partial.bytes += header.len;
                    self.partial.frames += 1;
                    if self.partial.frames == 1 {
                        self.partial.start = start;
                    }
                    if header.fin {
                        let message = std::mem::take(&mut self.partial);
                        if let Some(answer) = (self.heartbeat)(&message.start).filter(|_| self.answers) {
                            self.say(answer.as_bytes())?;
                        }
                        return Ok(Some(Heard::Message(message)));
                    }
                }
            }
        }
    }

    /// Answers a close frame, and waits for the end of the connection, which is the server's to make (RFC 6455 §7.1.1).
    fn handle_close(&mut self, payload: &[u8]) -> Closing {
        let code = payload.first_chunk().map_or(close::NO_CODE, |code| u16::from_be_bytes(*code));
        let reason = String::from_utf8_lossy(payload.get(2..).unwrap_or_default());
        let reason = reason.chars().filter(|c| stats::is_shown(*c)).collect();
        self.closed = Some((code, reason));
        let until = Instant::now() + ANSWER_MAX;
        if !std::mem::replace(&mut self.has_closed, true) {
            // The server may have gone already.
            let _ = self.channel.send(&framed(Opcode::Close, payload.get(..2).unwrap_or_default()), until);
        }
        let end = loop {
            match self.channel.receive(until) {
                // Nothing counts behind a close frame (RFC 6455 §5.5.1).
                Ok(true) => {
                    self.channel.received.clear();
                    self.taken = 0;
                }
                Ok(false) => break Lost::Silent,
                Err(lost) => break lost,
            }
        };
        self.ended(end)
    }
}

/// A client's frame.
pub(super) fn framed(opcode: Opcode, payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(frame::HEADER_BYTES_MAX + payload.len());
    let start = frame::open(&mut out, End::Client);
    out.extend_from_slice(payload);
    frame::seal(&mut out, start, opcode, false, Some(Key::new(fastrand::u32(..).to_ne_bytes())));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_are_counted_across_separators() {
        let message = |text: &str| Message { bytes: text.len() as u64, frames: 1, start: text.into() };
        for (text, copies) in
            [("ab", 1), ("ab\nab\nab", 3), ("abab", 2), ("ab, ab", 2), ("cd", 0), ("abc", 1)]
        {
            assert_eq!(message(text).copies(b"ab"), copies, "{text}");
        }
        let long = [b'x'; 3 * KEPT_BYTES];
        let echo = Message { bytes: 2 * long.len() as u64, frames: 1, start: long[..KEPT_BYTES].to_vec() };
        assert_eq!((echo.copies(&long), echo.copies(&[b'y'; 3 * KEPT_BYTES])), (2, 0));
    }
}
