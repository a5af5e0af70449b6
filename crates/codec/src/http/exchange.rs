//! One stream's requests and their answers, one at a time: the client's side of a kept-alive connection (RFC
//! 9112 §9.3), for transports that live on plain requests.
//!
//! ```text
//! closed --request--> connecting: the stream is asked for, the request waits
//! connecting --handle_open--> idle, or busy with what waited
//! idle --request--> busy --the answer is whole--> idle, or closed if the server does not keep the connection
//! idle --eof, or the notice of a timeout--> closed
//! busy --eof that ends the answer--> closed
//! busy --the end before any of the answer, where an answer came before--> connecting: a message is sent again
//! busy --any other end--> a failure
//! ```
//!
//! A server may close a connection that idles just when a request is on its way (RFC 9112 §9.5): as browsers
//! do, whatever the method, that request is sent again over another. One that asks for messages is made as
//! soon as the one before is answered: its connection never idles, and an end has a cause.

use super::cookies::Cookies;
use super::response::{ResponseEvent, Responses};
use crate::error::Error;
use crate::io::{Io, StreamId};
use crate::limits::Limits;

/// A stream that carries requests.
#[derive(Debug)]
pub struct Exchange {
    stream: StreamId,
    state: State,
    keep_alive: bool,
    responses: Responses,
    /// The request that waits for the connection.
    waiting: Vec<u8>,
    /// Its requests carry messages, and idle between them.
    is_of_messages: bool,
    /// The connection has carried an answer.
    is_proven: bool,
    /// The request under way over such a one, until something of its answer is in.
    again: Vec<u8>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Closed,
    Connecting,
    Idle,
    Busy,
}

impl Exchange {
    /// A stream that has not been asked for.
    pub fn new(stream: StreamId) -> Exchange {
        Exchange {
            stream,
            state: State::Closed,
            keep_alive: false,
            responses: Responses::default(),
            waiting: Vec::new(),
            is_of_messages: false,
            is_proven: false,
            again: Vec::new(),
        }
    }

    /// An exchange whose requests carry messages.
    pub fn of_messages(stream: StreamId) -> Exchange {
        Exchange { is_of_messages: true, ..Exchange::new(stream) }
    }

    /// A stream that the driver is connecting of its own accord: the first.
    pub fn connecting(stream: StreamId) -> Exchange {
        Exchange { state: State::Connecting, ..Exchange::new(stream) }
    }

    /// Returns whether the connection stands.
    #[inline]
    pub fn is_open(&self) -> bool {
        matches!(self.state, State::Idle | State::Busy)
    }

    /// Returns whether a request is under way: the next has to wait for the end of its answer.
    #[inline]
    pub fn is_busy(&self) -> bool {
        self.state == State::Busy || !self.waiting.is_empty()
    }

    /// Sends the request that `write` appends, connecting first if need be.
    ///
    /// # Panics
    /// If another is under way.
    pub fn request(&mut self, io: &mut impl Io, write: impl FnOnce(&mut Vec<u8>)) {
        assert!(!self.is_busy(), "one request at a time");
        match self.state {
            State::Idle => {
                let out = io.out(self.stream);
                let start = out.len();
                write(out);
                if self.is_proven && self.is_of_messages {
                    self.again.extend_from_slice(&out[start..]);
                }
                self.state = State::Busy;
            }
            State::Connecting => write(&mut self.waiting),
            State::Closed | State::Busy => {
                io.open_stream(self.stream);
                self.state = State::Connecting;
                write(&mut self.waiting);
            }
        }
    }

    /// The connection stands.
    pub fn handle_open(&mut self, io: &mut impl Io) {
        // What the last connection left half read is no part of what this one says.
        self.responses = Responses::default();
        self.is_proven = false;
        self.state = State::Idle;
        if !self.waiting.is_empty() {
            io.out(self.stream).append(&mut self.waiting);
            self.waiting = Vec::new();
            self.state = State::Busy;
        }
    }

    /// The next part of the answer in `input`, which it is taken off; `None` when more bytes are needed. A
    /// body is handed on as it comes, however long it is in all, and cookies are set. Bytes without a request
    /// are a failure.
    pub fn next<'a>(
        &mut self,
        limits: &Limits,
        input: &mut &'a [u8],
        cookies: &mut Cookies,
        io: &mut impl Io,
    ) -> Result<Option<ResponseEvent<'a>>, Error> {
        match self.state {
            State::Busy if input.is_empty() => {}
            State::Busy if !self.again.is_empty() && is_timeout_notice(input) => {
                io.close_stream(self.stream);
                self.handle_eof(io)?;
                return Ok(None);
            }
            State::Busy => self.again = Vec::new(),
            State::Idle if self.is_proven && is_timeout_notice(input) => {
                self.close(io);
                return Ok(None);
            }
            // Nothing was asked, so nothing may be answered: it could only be taken for the next request's
            // answer.
            State::Idle if !input.is_empty() => return Err(Error::unasked(self.is_proven)),
            _ => return Ok(None),
        }
        // An answer may last as long as its session: what has a limit is each message in it, and the
        // protocols keep that.
        let limits = Limits { body_bytes_max: u64::MAX, ..limits.clone() };
        let got = self.responses.next_with(&limits, false, input, |fields| cookies.handle_all(fields))?;
        match got {
            Some(ResponseEvent::Head { keep_alive, .. }) => self.keep_alive = keep_alive,
            Some(ResponseEvent::End) if self.keep_alive => (self.state, self.is_proven) = (State::Idle, true),
            Some(ResponseEvent::End) => self.close(io),
            _ => {}
        }
        Ok(got)
    }

    /// Handles the server's close of the connection. Returns whether that ended an answer;
    /// [`Error::EofBeforeAnswer`] in the middle of one.
    pub fn handle_eof(&mut self, io: &mut impl Io) -> Result<bool, Error> {
        let was_busy = self.state == State::Busy;
        self.state = State::Closed;
        if was_busy && !self.again.is_empty() {
            self.waiting = std::mem::take(&mut self.again);
            io.open_stream(self.stream);
            self.state = State::Connecting;
            return Ok(false);
        }
        match self.responses.handle_eof()? {
            // Between answers for the reader of answers, but not for us: one was owed.
            false if was_busy => Err(Error::EofBeforeAnswer),
            ends => Ok(ends),
        }
    }

    /// Handles the loss of the connection. Returns whether it does no harm: a server that closes a connection
    /// with a request unread resets it.
    pub fn handle_lost(&mut self, io: &mut impl Io) -> bool {
        let is_idle = self.state == State::Idle && self.is_proven;
        if !is_idle && self.again.is_empty() {
            return false;
        }
        io.close_stream(self.stream);
        self.handle_eof(io).is_ok()
    }

    /// Gives the connection up, and the answer under way.
    pub fn close(&mut self, io: &mut impl Io) {
        if self.state != State::Closed {
            io.close_stream(self.stream);
            self.state = State::Closed;
        }
        self.responses = Responses::default();
        self.waiting = Vec::new();
        self.again = Vec::new();
    }
}

/// Returns whether this says that nothing was asked for too long: some balancers say so before they close.
pub fn is_timeout_notice(input: &[u8]) -> bool {
    input.starts_with(b"HTTP/1.1 408 ") || input.starts_with(b"HTTP/1.0 408 ")
}
