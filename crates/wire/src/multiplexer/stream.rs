//! One client's stream: what waits to go out, and what its answer says.

use std::borrow::Cow;

use codec::http2::connection::{CLIENT_WINDOW, Connection};
use codec::http2::credit::{Receiving, Sending};
use codec::http2::frame::{self, flag, kind};
use codec::http2::head;
use codec::http2::hpack::Decoder;
use codec::ws::upgrade::{self, Key};
use codec::{Error, Http2Reason, Limits};

use super::event::StreamEvent;
use crate::failure::Failure;
use crate::outgoing::Outgoing;

/// A stream that the client has opened.
#[derive(Debug)]
pub(super) struct Stream {
    pub(super) id: u32,
    pub(super) client: u32,
    state: State,
    pub(super) sending: Sending,
    pub(super) receiving: Receiving,
    /// Output of the client that is not out yet.
    said: Outgoing,
    /// More of that waits than is kept. For good: a client whose server does not read is given up for it.
    pub(super) is_overfull: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    /// The request is sent; the client waits for an answer to this key, if it asks for an upgrade.
    Asked(Option<Key>),
    Open,
    /// The server says no more.
    Ended,
}

/// The meaning of a head.
pub(super) enum Heard {
    /// A final head follows.
    Interim,
    /// The final head, as the client would have it over HTTP/1.1.
    Head(Vec<u8>),
    /// Fields behind all data.
    Trailer,
    /// It ends the stream.
    Failed(Failure),
}

impl Stream {
    /// A stream whose request is out.
    pub(super) fn new(id: u32, client: u32, key: Option<Key>, window: u32) -> Stream {
        Stream {
            id,
            client,
            state: State::Asked(key),
            sending: Sending::new(window),
            receiving: Receiving::new(CLIENT_WINDOW),
            said: Outgoing::default(),
            is_overfull: false,
        }
    }

    /// Returns whether the request has been answered, and the answer goes on.
    pub(super) fn is_open(&self) -> bool {
        self.state == State::Open
    }

    /// Returns whether the server says no more.
    pub(super) fn is_ended(&self) -> bool {
        self.state == State::Ended
    }

    /// Returns whether this side has ended: it has asked, and says no more.
    pub(super) fn has_said_all(&self, only_asks: bool) -> bool {
        only_asks && self.said.left().is_empty()
    }

    /// Returns whether something waits for room in the server's windows.
    pub(super) fn is_held(&self, only_asks: bool) -> bool {
        self.may_send(only_asks) && !self.said.left().is_empty()
    }

    /// Returns whether data may go out: behind an upgrade that is granted, or behind any other request.
    fn may_send(&self, only_asks: bool) -> bool {
        match self.state {
            State::Open => true,
            State::Asked(_) => only_asks,
            State::Ended => false,
        }
    }

    /// Adds what `write` appends to what the client says.
    pub(super) fn write<T>(&mut self, write: impl FnOnce(&mut Vec<u8>) -> T) -> T {
        let (result, fits) = self.said.add(write);
        self.is_overfull |= !fits;
        result
    }

    /// Sends what waits, as far as the server has room for it.
    pub(super) fn flush(&mut self, connection: &mut Connection, only_asks: bool, out: &mut Vec<u8>) {
        if !self.may_send(only_asks) {
            return;
        }
        loop {
            let left = self.said.left();
            let room = connection.sending.left().min(self.sending.left());
            let bytes = room.min(connection.settings.payload_bytes_max).min(left.len());
            if bytes == 0 {
                // No room, or nothing to send: the rest waits for the server's next frame.
                return;
            }
            let flags = if only_asks && bytes == left.len() { flag::END_STREAM } else { 0 };
            frame::put(out, kind::DATA, flags, self.id, &left[..bytes]);
            connection.sending.spend(bytes);
            self.sending.spend(bytes);
            self.said.spend(bytes);
        }
    }

    /// Appends that this side ends, too.
    pub(super) fn put_end(&self, out: &mut Vec<u8>) {
        frame::put(out, kind::DATA, flag::END_STREAM, self.id, b"");
    }

    /// The event of bytes for the client.
    pub(super) fn hear<'a>(&mut self, bytes: Cow<'a, [u8]>, ends: bool) -> StreamEvent<'a> {
        if ends {
            self.state = State::Ended;
        }
        StreamEvent::Input { client: self.client, bytes, ends }
    }

    /// The event of its failure.
    pub(super) fn failed<'a>(&self, failure: Failure) -> StreamEvent<'a> {
        StreamEvent::Failed { client: self.client, failure }
    }

    /// Judges a head of the answer, or what stands behind all data.
    pub(super) fn handle_head(
        &mut self,
        decoder: &mut Decoder,
        limits: &Limits,
        block: &[u8],
    ) -> Result<Heard, Failure> {
        let State::Asked(key) = self.state else {
            let is_good = head::judge_trailer(decoder, block, limits)?;
            return Ok(match is_good && self.state == State::Open {
                true => Heard::Trailer,
                false => Heard::Failed(Http2Reason::Field.into()),
            });
        };
        let mut fields = Vec::new();
        let answer = head::judge_answer(decoder, block, limits, &mut |(), name, value| {
            // There is no key in a CONNECT, and no answer to one (RFC 8441 §5): the client is told the one it
            // waits for.
            let is_agreed = name.starts_with(b"sec-websocket-") && name != b"sec-websocket-accept";
            if is_agreed || name == b"set-cookie" || key.is_none() {
                fields.extend([name, b": ", value, b"\r\n"].concat());
            }
        })?;
        let Some(answer) = answer else { return Ok(Heard::Failed(Http2Reason::Field.into())) };
        let told = match (answer.status, key) {
            // There is no other protocol to switch to (RFC 9113 §8.6).
            (101, _) => return Ok(Heard::Failed(Http2Reason::Field.into())),
            (100..200, _) => return Ok(Heard::Interim),
            (status, None) => [format!("HTTP/1.1 {status} \r\n").as_bytes(), &fields, b"\r\n"].concat(),
            (200..300, Some(key)) => told_as_upgrade(&key, &fields),
            (status, Some(_)) => return Ok(Heard::Failed(Failure::Codec(Error::HttpStatus(status)))),
        };
        self.state = State::Open;
        Ok(Heard::Head(told))
    }
}

/// The answer to an upgrade that says what was agreed on.
fn told_as_upgrade(key: &Key, agreed: &[u8]) -> Vec<u8> {
    let start = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ";
    [start, &upgrade::accept_of(key)[..], b"\r\n", agreed, b"\r\n"].concat()
}
