//! The client's side: questions on one connection after the other, one under way.
//!
//! ```text
//! closed --send--> connecting --handle_open--> opening --101, verified--> open: the oldest question goes out
//! open --a message--> open: an event of the answer
//! open --the end mark, and all that came with it--> open: the answer is whole, and the next question goes out
//! open --a close in peace behind an event--> closed: the answer is whole, and lacks its mark
//! open --another close, eof, a reset, a broken rule--> closed if the connection has begun an answer, else a failure
//! open, nothing asked yet --a close that is no refusal, eof, a reset--> closed
//! closed, with questions left--> connecting
//! open --close--> closing --the server's close--> closing, and the driver is told
//! ```
//!
//! A server may thus end a connection whenever it likes, and a client is lost when a connection gives its
//! questions no answer at all. No question is sent again: it is unknown what the server did with it.
//!
//! Messages in the same read as the end mark are behind it, as are those before the next question.

use std::collections::VecDeque;

use app::template::{Filling, Mark, PersonData};
use codec::http::cookies::Cookies;
use codec::ws::close::{GOING_AWAY, NO_CODE, NORMAL};
use codec::ws::receiver::{Incoming, Message};
use codec::{Error, Stamp, StreamId};

use super::parts::Parts;
use crate::absent::NoClient;
use crate::asking::{BodyKind, Pieces, REQUESTS_MAX};
use crate::carried::{MessageTemplate, ProtocolEvent, ProtocolHandler};
use crate::contract::HttpClientProtocol;
use crate::event::{Event, Progress, Role};
use crate::failure::Failure;
use crate::io::{Io, RequestOutcome, Sending};
use crate::link::HttpLink;
use crate::opening::{Opening, Socket};

const STREAM: StreamId = 0;

/// One client's side.
#[derive(Debug, Default)]
pub(crate) struct Questions {
    state: State,
    /// A connection has been upgraded: the client may speak.
    is_ready: bool,
    cookies: Cookies,
    exchange: Exchange,
    /// Questions that are not out, oldest first.
    waiting: VecDeque<Waiting>,
}

#[derive(Debug, Default)]
enum State {
    #[default]
    Closed,
    Connecting,
    Opening(Box<Opening>),
    Open(Box<Socket>),
    /// The goodbye is out.
    Closing(Box<Socket>),
}

/// A question that is not out.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    stamp: Stamp,
    /// The client that it is for, by its number in the run.
    client: u32,
}

/// A question that has just been written.
struct Written {
    stamp: Stamp,
    bytes: u32,
}

/// The question under way on a connection, and its answer.
#[derive(Debug, Default)]
struct Exchange {
    under_way: Option<Stamp>,
    pieces: Pieces,
    /// Payload bytes of the answer on the wire.
    wire_bytes: u32,
    /// The number of the question that was answered last.
    answered: Option<u32>,
    /// True if this connection has begun an answer.
    has_answered: bool,
}

impl Exchange {
    /// Handles a message: an event of the answer under way, or one behind the end of the last.
    fn handle_message(
        &mut self,
        parts: &Parts,
        message: &Message<'_>,
        on: &mut impl ProtocolHandler,
    ) -> Result<(), Failure> {
        let (data, bytes) = (message.bytes()?, message.wire_bytes);
        match (self.under_way, self.answered) {
            (Some(stamp), _) => {
                // A server that breaks off in the midst of an answer has answered.
                self.has_answered = true;
                self.wire_bytes = self.wire_bytes.saturating_add(bytes);
                let Some(rules) = &parts.rules else {
                    self.finish(parts, on);
                    return Ok(());
                };
                if !self.pieces.is_open() {
                    self.pieces.begin(rules, BodyKind::default(), stamp, on);
                }
                self.pieces.handle_message(rules, data, on);
            }
            (None, Some(request)) => {
                let progress = Progress::AfterEnd;
                on.handle(ProtocolEvent::Event(Event::Progress { request, progress }));
            }
            (None, None) => on.handle(ProtocolEvent::Event(Event::Foreign { bytes })),
        }
        Ok(())
    }

    /// Takes the answer under way as a whole one.
    fn finish(&mut self, parts: &Parts, on: &mut impl ProtocolHandler) {
        let Some(stamp) = self.under_way.take() else { return };
        if let Some(rules) = &parts.rules {
            self.pieces.finish(rules, on);
        }
        self.answered = Some(stamp.seq);
        let bytes = std::mem::take(&mut self.wire_bytes);
        on.handle(ProtocolEvent::Event(Event::Message { role: Role::Echo, stamp, bytes }));
    }
}

impl Questions {
    /// A client whose first connection the driver makes of its own accord.
    pub(crate) fn new() -> Questions {
        Questions { state: State::Connecting, ..Questions::default() }
    }

    /// Sends what may be sent, over a new connection if need be; what had to wait for that is told.
    fn flush<I: Io>(&mut self, link: &mut HttpLink<'_, Parts, I>) {
        if matches!(self.state, State::Closed) && !self.waiting.is_empty() {
            self.state = State::Connecting;
            link.io.open_stream(STREAM);
        }
        if let Some(Written { stamp, bytes }) = self.write_next(link) {
            link.io.handle_request_outcome(stamp, RequestOutcome::Sent { bytes });
        }
    }

    /// Writes the next question, if none is under way.
    fn write_next<I: Io>(&mut self, link: &mut HttpLink<'_, Parts, I>) -> Option<Written> {
        let State::Open(socket) = &mut self.state else { return None };
        if self.exchange.under_way.is_some() {
            return None;
        }
        let Waiting { stamp, client } = self.waiting.pop_front()?;
        // Sent now, but due when it was: the wait for its turn is part of its latency.
        let stamp = stamp.sent_at(link.now_ns);
        let identities = &link.common.identities;
        let mark = Mark { stamp: &stamp, unix_ns: identities.unix_ns(stamp.sent_ns()) };
        let context = identities.context(client, link.now_ns, link.kept);
        let filling = Filling { mark, seq: stamp.seq, ..Filling::of(context) };
        let before = link.io.out(STREAM).len();
        let parts = link.parts;
        socket.sender.message(link.io, parts.message_type, |out| parts.write(out, &filling));
        self.exchange.under_way = Some(stamp);
        Some(Written { stamp, bytes: (link.io.out(STREAM).len() - before) as u32 })
    }

    /// Returns whether the client outlives the end of this connection. After one that left a question without
    /// any answer, the next would hardly do better, and so on forever.
    fn goes_on(&self) -> bool {
        let is_idle = self.exchange.under_way.is_none() && self.waiting.is_empty();
        matches!(self.state, State::Open(_)) && (is_idle || self.exchange.has_answered)
    }

    /// Reads frames until none is whole, or the connection is over.
    fn handle_frames<I: Io>(
        &mut self,
        link: &mut HttpLink<'_, Parts, I>,
        mut input: &[u8],
        on: &mut impl ProtocolHandler,
    ) -> Result<(), Failure> {
        let limits = &link.common.options().limits;
        loop {
            let is_closing = matches!(self.state, State::Closing(_));
            let (State::Open(socket) | State::Closing(socket)) = &mut self.state else { return Ok(()) };
            let Socket { receiver, sender } = &mut **socket;
            let handled = match receiver.next(limits, sender, link.io, &mut input) {
                Ok(None) => break,
                Ok(Some(Incoming::Control)) => Ok(()),
                // A client that has said goodbye waits for nothing.
                Ok(Some(Incoming::Message(_))) if is_closing => Ok(()),
                Ok(Some(Incoming::Message(message))) => {
                    self.exchange.handle_message(link.parts, &message, on)
                }
                Ok(Some(Incoming::Closed { code })) => {
                    self.handle_closed(link, code, on);
                    return Ok(());
                }
                Err(error) => Err(error.into()),
            };
            if let Err(failure) = handled {
                sender.fail(link.io, failure.close_code());
                link.io.close_stream(STREAM);
                return self.handle_broken(link, failure, on);
            }
        }
        // Only now: what came with the end mark is behind it.
        if self.exchange.pieces.is_marked() {
            self.exchange.finish(link.parts, on);
        }
        self.flush(link);
        Ok(())
    }

    /// The server has closed, and has its answer to that.
    fn handle_closed<I: Io>(
        &mut self,
        link: &mut HttpLink<'_, Parts, I>,
        code: u16,
        on: &mut impl ProtocolHandler,
    ) {
        // The end of a client that has said goodbye; or of one whose next connection would hardly do better.
        let is_refused = !self.exchange.has_answered && !matches!(code, NORMAL | GOING_AWAY | NO_CODE);
        if is_refused || !self.goes_on() {
            return on.handle(ProtocolEvent::Event(Event::Closed { code }));
        }
        let is_peaceful = matches!(code, NORMAL | NO_CODE) && self.exchange.pieces.is_open();
        if is_peaceful || self.exchange.pieces.is_marked() {
            self.exchange.finish(link.parts, on);
        }
        // Another close between answers is as good as none: the next connection shows what the server means.
        if self.exchange.under_way.is_some() {
            on.handle(ProtocolEvent::Event(Event::Broken(Failure::Closed(code))));
        }
        link.io.close_stream(STREAM);
        self.handle_gone(link);
    }

    /// The connection is gone: the question under way has no answer, or not all of it.
    fn handle_gone<I: Io>(&mut self, link: &mut HttpLink<'_, Parts, I>) {
        if let Some(stamp) = std::mem::take(&mut self.exchange).under_way {
            link.io.handle_request_outcome(stamp, RequestOutcome::Dropped);
        }
        self.state = State::Closed;
        self.flush(link);
    }

    /// The connection is of no further use: a failure, unless it did well before.
    fn handle_broken<I: Io>(
        &mut self,
        link: &mut HttpLink<'_, Parts, I>,
        failure: Failure,
        on: &mut impl ProtocolHandler,
    ) -> Result<(), Failure> {
        if !self.exchange.has_answered {
            return Err(failure);
        }
        on.handle(ProtocolEvent::Event(Event::Broken(failure)));
        if self.exchange.pieces.is_marked() {
            self.exchange.finish(link.parts, on);
        }
        self.handle_gone(link);
        Ok(())
    }
}

impl HttpClientProtocol for Questions {
    type Parts = Parts;
    type Socket = NoClient<Parts>;

    fn handle_open<I: Io>(&mut self, link: &mut HttpLink<'_, Parts, I>, _stream: StreamId) {
        if self.cookies.is_empty() {
            self.cookies = link.kept.cookies.clone();
        }
        let context = link.context_with(&self.cookies);
        let asked = link.common.write_upgrade(link.io, context, |_| {}, "");
        self.state = State::Opening(Box::new(Opening::new(asked)));
    }

    fn handle_input<I: Io>(
        &mut self,
        link: &mut HttpLink<'_, Parts, I>,
        _stream: StreamId,
        bytes: &[u8],
        on: &mut impl ProtocolHandler,
    ) -> Result<(), Failure> {
        let mut input = bytes;
        if let State::Opening(opening) = &mut self.state {
            let opened = opening.handle_input(link.common, &mut self.cookies, &mut input)?;
            let Some(socket) = opened else { return Ok(()) };
            self.state = State::Open(Box::new(socket));
            // The connections that follow are none that a user waits for to be ready.
            if !std::mem::replace(&mut self.is_ready, true) {
                on.handle(ProtocolEvent::Event(Event::Upgraded));
                on.handle(ProtocolEvent::Ready);
            }
        }
        self.handle_frames(link, input, on)
    }

    fn handle_eof<I: Io>(
        &mut self,
        link: &mut HttpLink<'_, Parts, I>,
        _stream: StreamId,
        _on: &mut impl ProtocolHandler,
    ) -> Result<(), Failure> {
        match self.state {
            State::Opening(_) => Err(Failure::Codec(Error::EofBeforeAnswer)),
            _ if !self.goes_on() => Err(Failure::Eof),
            _ => {
                self.handle_gone(link);
                Ok(())
            }
        }
    }

    fn handle_lost<I: Io>(&mut self, link: &mut HttpLink<'_, Parts, I>, _stream: StreamId) -> bool {
        let goes_on = self.goes_on();
        if goes_on {
            link.io.close_stream(STREAM);
            self.handle_gone(link);
        }
        goes_on
    }

    fn cookies(&self) -> &Cookies {
        &self.cookies
    }

    fn is_ready(&self) -> bool {
        self.is_ready
    }

    fn send<I: Io>(
        &mut self,
        link: &mut HttpLink<'_, Parts, I>,
        _template: &MessageTemplate,
        filling: &Filling<'_>,
    ) -> Sending {
        let is_first = self.waiting.is_empty();
        let is_busy = !is_first || self.exchange.under_way.is_some();
        // Beyond it the question is lost: the caller learns from its answer that the client is busy.
        if self.waiting.len() < REQUESTS_MAX {
            let (stamp, client) = (*filling.mark.stamp, filling.context.client);
            self.waiting.push_back(Waiting { stamp, client });
            // Where none is before it, it goes out as it is, and there is nothing to tell.
            if is_first && self.write_next(link).is_some() {
                return Sending::Out;
            }
            self.flush(link);
        }
        Sending::Waits { is_busy }
    }

    fn close<I: Io>(&mut self, link: &mut HttpLink<'_, Parts, I>) {
        let state = std::mem::take(&mut self.state);
        *self = Questions { is_ready: self.is_ready, ..Questions::default() };
        match state {
            State::Open(mut socket) => {
                socket.sender.close(link.io, NORMAL);
                self.state = State::Closing(socket);
            }
            State::Connecting | State::Opening(_) => link.io.close_stream(STREAM),
            State::Closed | State::Closing(_) => {}
        }
    }

    fn is_closed(&self) -> bool {
        matches!(self.state, State::Closed)
    }
}
