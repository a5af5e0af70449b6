//! The client's side: requests on one connection after the other.
//!
//! ```text
//! closed --send--> connecting --handle_open--> open: what waits goes out, as many as may be under way
//! open --an answer is whole--> open, or closed if it was the connection's last
//! open --eof between answers--> closed
//! open --eof, a reset, a bad answer--> broken: closed if the connection has given an answer before, else a failure
//! closed, with requests left--> connecting: they are sent again, if they may be
//! ```
//!
//! A server may thus end a connection whenever it likes, and a client is lost when a connection gives no
//! answer at all. What was under way on a connection that broke is sent again only where its method is
//! idempotent (RFC 9110 §9.2.2): it is unknown what the server did with it. What followed an answer that was
//! said to be the last the server has not done (RFC 9112 §9.6).

use std::collections::VecDeque;

use app::template::{Filling, Mark, PersonData};
use codec::http::is_timeout_notice;
use codec::http::response::{ResponseEvent, Responses};
use codec::{Error, Stamp, StreamId};

use super::parts::Parts;
use crate::absent::NoClient;
use crate::asking::{Answer, BodyKind, Pieces, REQUESTS_MAX};
use crate::carried::{MessageTemplate, ProtocolEvent, ProtocolHandler};
use crate::contract::HttpClientProtocol;
use crate::event::Event;
use crate::failure::Failure;
use crate::io::{Io, RequestOutcome, Sending};
use crate::link::HttpLink;

const STREAM: StreamId = 0;

/// One client's side.
#[derive(Debug, Default)]
pub(crate) struct Requests {
    connection: Connection,
    /// True if this connection has given a whole answer.
    has_answered: bool,
    responses: Responses,
    answer: Answer,
    /// The pieces of the answer that is coming in, where answers come in pieces: room that others need not
    /// have.
    pieces: Option<Box<Pieces>>,
    /// The kind of its body: a head that repeats is not read again.
    body_kind: BodyKind,
    /// Requests without their answer, oldest first.
    waiting: VecDeque<Asking>,
    /// Number of these that are on the connection.
    under_way: usize,
    /// Number of requests sent: these, and what connections before it left.
    sent: usize,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Connection {
    #[default]
    Closed,
    Connecting,
    Open,
    /// The answer that is coming in is its last.
    Last,
}

/// A request without its answer.
#[derive(Clone, Copy, Debug)]
struct Asking {
    stamp: Stamp,
    /// The client that the request is for, by its number in the run.
    client: u32,
    /// The kind of request, by its number.
    kind: usize,
}

/// A request that has just been written.
struct Written {
    stamp: Stamp,
    /// It was not sent before.
    is_first: bool,
    bytes: u32,
}

impl Requests {
    /// A client whose first connection the driver makes of its own accord.
    pub(crate) fn new() -> Requests {
        Requests { connection: Connection::Connecting, ..Requests::default() }
    }

    /// Sends what may be sent, over a new connection if need be; what had to wait for that is told.
    fn flush<I: Io>(&mut self, link: &mut HttpLink<'_, Parts, I>) {
        match self.connection {
            Connection::Closed if !self.waiting.is_empty() => {
                self.connection = Connection::Connecting;
                link.io.open_stream(STREAM);
            }
            Connection::Open => {
                while let Some(Written { stamp, is_first, bytes }) = self.write_next(link) {
                    if is_first {
                        link.io.handle_request_outcome(stamp, RequestOutcome::Sent { bytes });
                    }
                }
            }
            _ => {}
        }
    }

    /// Writes the next request, if another may be under way.
    fn write_next<I: Io>(&mut self, link: &mut HttpLink<'_, Parts, I>) -> Option<Written> {
        let most = link.parts.http.pipelining as usize;
        let may = self.connection == Connection::Open && self.under_way < most;
        let Asking { stamp, client, kind } = self.waiting.get_mut(self.under_way).filter(|_| may)?;
        // Sent now, but due when it was: the wait for its turn is part of its latency.
        *stamp = stamp.sent_at(link.now_ns);
        let (stamp, identities) = (*stamp, &link.common.identities);
        let mark = Mark { stamp: &stamp, unix_ns: identities.unix_ns(stamp.sent_ns()) };
        let context = identities.context(*client, link.now_ns, link.kept);
        // By its sender, whichever connection it goes out on, and however often.
        let filling = Filling { mark, seq: stamp.seq, ..Filling::of(context) };
        let out = link.io.out(STREAM);
        let before = out.len();
        link.parts.write(out, &filling, *kind);
        let bytes = (out.len() - before) as u32;
        self.under_way += 1;
        let is_first = self.under_way > self.sent;
        // A request that is sent again is not counted as a new one.
        self.sent = self.sent.max(self.under_way);
        Some(Written { stamp, is_first, bytes })
    }

    /// The connection broke with requests under way: those that may not be sent again have no answer.
    fn handle_cut_off<I: Io>(&mut self, link: &mut HttpLink<'_, Parts, I>) {
        // A streamed answer that has begun is what a user has seen: another would not be that one.
        let has_begun = self.pieces.as_ref().is_some_and(|pieces| pieces.is_open());
        if has_begun || !link.parts.http.is_idempotent() {
            self.sent -= self.under_way;
            let cut_off = self.waiting.drain(..self.under_way);
            for asking in cut_off {
                link.io.handle_request_outcome(asking.stamp, RequestOutcome::Dropped);
            }
        }
        self.handle_gone(link);
    }

    /// The connection is gone. What it left unanswered is sent again (RFC 9112 §9.3.2).
    fn handle_gone<I: Io>(&mut self, link: &mut HttpLink<'_, Parts, I>) {
        self.connection = Connection::Closed;
        self.has_answered = false;
        self.responses = Responses::default();
        self.answer = Answer::default();
        self.pieces = None;
        self.under_way = 0;
        self.flush(link);
    }

    fn handle_got<I: Io>(
        &mut self,
        link: &mut HttpLink<'_, Parts, I>,
        got: ResponseEvent<'_>,
        on: &mut impl ProtocolHandler,
    ) -> Result<(), Failure> {
        let http = &link.parts.http;
        match got {
            ResponseEvent::Head { status, keep_alive } => {
                self.answer.handle_status(http, status);
                self.begin_pieces(link.parts, status, on);
                if !(keep_alive && http.keep_alive) {
                    // Either side may end it: the server by its head, the user by asking for a connection
                    // each.
                    self.connection = Connection::Last;
                }
            }
            ResponseEvent::Data(data) => {
                self.answer.handle_data(http, data);
                if let (Some(pieces), Some(rules)) = (&mut self.pieces, &link.parts.pieces) {
                    let limits = &link.common.options().limits;
                    pieces.handle_data(rules, limits, link.now_ns, data, on)?;
                }
            }
            ResponseEvent::End => {
                self.handle_end(link.parts, on);
                if self.connection == Connection::Last {
                    link.io.close_stream(STREAM);
                    self.handle_gone(link);
                }
            }
        }
        Ok(())
    }

    /// The head of an answer is in: if it is a good one that comes in pieces, these follow.
    fn begin_pieces(&mut self, parts: &Parts, status: u16, on: &mut impl ProtocolHandler) {
        let (Some(pieces), Some(rules)) = (&mut self.pieces, &parts.pieces) else { return };
        if !parts.http.is_expected(status) {
            return;
        }
        // A server that breaks off in the midst of an answer has answered.
        self.has_answered = true;
        pieces.begin(rules, self.body_kind, self.waiting.front().expect("under way").stamp, on);
    }

    /// Takes a whole answer as the oldest request's.
    fn handle_end(&mut self, parts: &Parts, on: &mut impl ProtocolHandler) {
        let http = &parts.http;
        if let (Some(pieces), Some(rules)) = (&mut self.pieces, &parts.pieces) {
            pieces.finish(rules, on);
        }
        self.has_answered = true;
        self.under_way -= 1;
        self.sent -= 1;
        let Asking { stamp, .. } = self.waiting.pop_front().expect("under way");
        std::mem::take(&mut self.answer).finish(http, stamp, on);
    }

    /// The connection is of no further use: a failure, unless it did well before.
    fn handle_broken<I: Io>(
        &mut self,
        link: &mut HttpLink<'_, Parts, I>,
        failure: Failure,
        on: &mut impl ProtocolHandler,
    ) -> Result<(), Failure> {
        if !self.has_answered {
            return Err(failure);
        }
        on.handle(ProtocolEvent::Event(Event::Broken(failure)));
        self.handle_cut_off(link);
        Ok(())
    }

    fn next<'a, I>(
        &mut self,
        link: &HttpLink<'_, Parts, I>,
        input: &mut &'a [u8],
    ) -> Result<Option<ResponseEvent<'a>>, Failure> {
        match self.under_way {
            0 if input.is_empty() => Ok(None),
            // It was not asked for.
            0 => Err(Failure::Codec(Error::unasked(self.has_answered))),
            _ => {
                let (before, is_head) = (input.len(), link.parts.http.method == "HEAD");
                let limits = &link.common.options().limits;
                if link.parts.pieces.is_some() && self.pieces.is_none() {
                    self.pieces = Some(Box::default());
                }
                let got = self.responses.next_with(limits, is_head, input, |fields| {
                    // The fields of others need not be looked at.
                    if self.pieces.is_some() {
                        self.body_kind = BodyKind::default();
                        for field in &fields.list {
                            self.body_kind.handle_field(field.name.as_bytes(), field.value);
                        }
                    }
                    Ok(())
                });
                self.answer.add_wire_bytes(before - input.len());
                Ok(got?)
            }
        }
    }
}

impl HttpClientProtocol for Requests {
    type Parts = Parts;
    type Socket = NoClient<Parts>;

    fn handle_open<I: Io>(&mut self, link: &mut HttpLink<'_, Parts, I>, _stream: StreamId) {
        self.connection = Connection::Open;
        self.flush(link);
    }

    fn handle_input<I: Io>(
        &mut self,
        link: &mut HttpLink<'_, Parts, I>,
        _stream: StreamId,
        bytes: &[u8],
        on: &mut impl ProtocolHandler,
    ) -> Result<(), Failure> {
        if self.under_way == 0 && self.has_answered && is_timeout_notice(bytes) {
            link.io.close_stream(STREAM);
            self.handle_gone(link);
            return Ok(());
        }
        let mut input = bytes;
        while matches!(self.connection, Connection::Open | Connection::Last) {
            let handled = match self.next(link, &mut input) {
                Ok(None) => break,
                Ok(Some(got)) => self.handle_got(link, got, on),
                Err(failure) => Err(failure),
            };
            if let Err(failure) = handled {
                link.io.close_stream(STREAM);
                return self.handle_broken(link, failure, on);
            }
        }
        self.flush(link);
        Ok(())
    }

    fn handle_eof<I: Io>(
        &mut self,
        link: &mut HttpLink<'_, Parts, I>,
        _stream: StreamId,
        on: &mut impl ProtocolHandler,
    ) -> Result<(), Failure> {
        match self.responses.handle_eof() {
            Ok(true) => {
                self.handle_end(link.parts, on);
                self.handle_gone(link);
            }
            // A connection that never gave an answer: the next would hardly do better, and so on forever.
            Ok(false) if self.under_way > 0 && !self.has_answered => {
                return Err(Failure::Codec(Error::EofBeforeAnswer));
            }
            Ok(false) => self.handle_cut_off(link),
            Err(error) => return self.handle_broken(link, error.into(), on),
        }
        Ok(())
    }

    fn handle_lost<I: Io>(&mut self, link: &mut HttpLink<'_, Parts, I>, _stream: StreamId) -> bool {
        let goes_on = self.has_answered;
        if goes_on {
            link.io.close_stream(STREAM);
            self.handle_cut_off(link);
        }
        goes_on
    }

    fn is_ready(&self) -> bool {
        true
    }

    fn send<I: Io>(
        &mut self,
        link: &mut HttpLink<'_, Parts, I>,
        message_template: &MessageTemplate,
        filling: &Filling<'_>,
    ) -> Sending {
        let before = self.waiting.len();
        let is_busy = before >= link.parts.http.pipelining as usize;
        // Beyond it the request is lost: the caller learns from its answer that the client is busy.
        if before < REQUESTS_MAX {
            let (stamp, client) = (*filling.mark.stamp, filling.context.client);
            self.waiting.push_back(Asking { stamp, client, kind: message_template.number });
            // Where none is before it, it goes out as it is, and there is nothing to tell.
            if self.under_way == before && self.write_next(link).is_some() {
                return Sending::Out;
            }
            self.flush(link);
        }
        Sending::Waits { is_busy }
    }

    /// HTTP has no goodbye.
    fn close<I: Io>(&mut self, link: &mut HttpLink<'_, Parts, I>) {
        if self.connection != Connection::Closed {
            link.io.close_stream(STREAM);
        }
        *self = Requests::default();
    }

    fn is_closed(&self) -> bool {
        self.connection == Connection::Closed
    }
}
