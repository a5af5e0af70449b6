//! The client's side: requests on one connection after the other, many at once.
//!
//! ```text
//! closed --send--> connecting --handle_open--> greeting: preface and settings go out
//! greeting --the server's settings--> open: what waits goes out, on as many streams as may be
//! greeting --anything else--> failed: the server does not speak HTTP/2
//! open --GOAWAY--> last: what the server has not looked at waits for the next connection (RFC 9113 §6.8)
//! last --its last answer--> closed
//! open, last --eof, a reset, a broken rule--> closed if the connection has given an answer before, else a failure
//! closed, with requests left--> connecting: they are sent again, if they may be
//! ```
//!
//! As with HTTP/1.1, a server may end a connection whenever it likes, and a client is lost when one gives no
//! answer at all. A request whose stream the server resets has no answer, and is not sent again: that a
//! server refuses is what is to be seen.

use std::collections::VecDeque;

use app::template::Filling;
use codec::http2::connection::{self, CLIENT_WINDOW, Connection, ConnectionEvent, PREFACE};
use codec::http2::frame::{self, Frame, FrameReader};
use codec::http2::head::{self, AnswerHeads};
use codec::http2::hpack::TableMode;
use codec::http2::past::PastStreams;
use codec::{Error, ErrorCode, Http2Reason, Stamp, StreamId};

use super::parts::Parts;
use super::streams::{Part, Stream, Streams, UnansweredRequest};
use crate::absent::NoClient;
use crate::asking::{BodyKind, REQUESTS_MAX};
use crate::carried::{MessageTemplate, ProtocolEvent, ProtocolHandler};
use crate::contract::HttpClientProtocol;
use crate::event::Event;
use crate::failure::Failure;
use crate::io::{Io, RequestOutcome, Sending};
use crate::link::HttpLink;

/// The byte stream of the connection.
const STREAM: StreamId = 0;

/// One client's side.
#[derive(Debug)]
pub(crate) struct Requests {
    state: State,
    /// A connection has been greeted: the client may speak.
    is_ready: bool,
    /// This connection has given a whole answer.
    has_answered: bool,
    frames: FrameReader,
    connection: Connection,
    heads: AnswerHeads<BodyKind>,
    tabling: TableMode,
    streams: Streams,
    past: PastStreams,
    /// Requests that are not under way, oldest first.
    waiting: VecDeque<UnansweredRequest>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Closed,
    Connecting,
    Greeting,
    Open,
    /// It serves the requests that are under way, and no others.
    Last,
}

impl State {
    fn has_connection(self) -> bool {
        matches!(self, State::Greeting | State::Open | State::Last)
    }
}

/// A request that has just been written.
struct Written {
    stamp: Stamp,
    is_first: bool,
    bytes: u32,
}

type Link<'a, I> = HttpLink<'a, Parts, I>;

impl Default for Requests {
    fn default() -> Requests {
        Requests {
            state: State::Closed,
            is_ready: false,
            has_answered: false,
            frames: FrameReader::default(),
            connection: Connection::client(),
            heads: AnswerHeads::default(),
            tabling: TableMode::Adds,
            streams: Streams::default(),
            past: PastStreams::default(),
            waiting: VecDeque::new(),
        }
    }
}

impl Requests {
    /// A client whose first connection the driver makes of its own accord.
    pub(crate) fn new() -> Requests {
        Requests { state: State::Connecting, ..Requests::default() }
    }

    /// Sends what may be sent, over a new connection if need be; what had to wait for that is told.
    fn flush<I: Io>(&mut self, link: &mut Link<'_, I>) {
        if self.state == State::Closed && !self.waiting.is_empty() {
            self.state = State::Connecting;
            link.io.open_stream(STREAM);
        }
        while let Some(Written { stamp, is_first, bytes }) = self.write_next(link) {
            if is_first {
                link.io.handle_request_outcome(stamp, RequestOutcome::Sent { bytes });
            }
        }
    }

    /// Returns whether it waits for streams: for its first, or with requests to send.
    fn lacks_streams(&self) -> bool {
        !self.is_ready || !self.waiting.is_empty()
    }

    /// The most requests under way: as many as the user asks for, or fewer if the server allows no more.
    fn streams_max<I: Io>(&self, link: &Link<'_, I>) -> usize {
        link.parts.http.pipelining.min(self.connection.settings.streams_max) as usize
    }

    /// Writes the next request, if another may be under way.
    fn write_next<I: Io>(&mut self, link: &mut Link<'_, I>) -> Option<Written> {
        if self.state != State::Open || self.streams.len() >= self.streams_max(link) {
            return None;
        }
        let UnansweredRequest { stamp, was_sent } = self.waiting.pop_front()?;
        // Sent now, but due when it was: the wait for a stream is part of its latency.
        let stamp = stamp.sent_at(link.now_ns);
        let request = UnansweredRequest { stamp, was_sent: true };
        // Requests that go out at once differ by their number in what they draw.
        let (parts, filling) = (link.parts, Filling { seq: stamp.seq, ..Filling::of(link.context()) });
        let own_body = parts.own_body(&filling);
        let stream = self.streams.open(request, own_body, self.connection.settings.window);
        let out = link.io.out(STREAM);
        let before = out.len();
        let tabling = self.tabling;
        // The first request fills the server's table, and all others refer to it.
        self.tabling = tabling.next();
        let write = |out: &mut Vec<u8>| {
            parts.blocks.write(tabling, out, |value, out| value.write(out, &filling, 0));
        };
        connection::put_head(stream.id, stream.body_left(&parts.body).is_empty(), write, out);
        stream.write_body(&parts.body, &mut self.connection, out);
        // There are no more numbers for streams (RFC 9113 §5.1.1): others need another connection.
        if self.streams.is_spent() {
            self.state = State::Last;
        }
        Some(Written { stamp, is_first: !was_sent, bytes: (out.len() - before) as u32 })
    }

    /// The server has room for more.
    fn write_bodies<I: Io>(&mut self, link: &mut Link<'_, I>) {
        let (body, out) = (&link.parts.body, link.io.out(STREAM));
        if link.parts.has_body() {
            for stream in self.streams.iter_mut() {
                stream.write_body(body, &mut self.connection, out);
            }
        }
    }

    fn handle_frame<I: Io>(
        &mut self,
        link: &mut Link<'_, I>,
        frame: Frame<'_>,
        on: &mut impl ProtocolHandler,
    ) -> Result<(), Failure> {
        let limits = &link.common.options().limits;
        match self.connection.handle_frame(frame, limits, link.now_ns, link.io.out(STREAM))? {
            ConnectionEvent::Settings { more } => self.handle_settings(link, more, on),
            ConnectionEvent::Head { stream, block, ends } => self.handle_head(link, stream, &block, ends, on),
            ConnectionEvent::Data { stream, data, taken, ends } => {
                self.handle_data(link, stream, ends, data, taken, on)
            }
            ConnectionEvent::Reset { stream, code } => {
                if let Some(at) = self.find(stream)? {
                    self.connection.welcome();
                    let request = self.streams.close(at).request;
                    link.io
                        .handle_request_outcome(request.stamp, RequestOutcome::Failed(Failure::Reset(code)));
                    self.leave_if_done(link);
                }
                Ok(())
            }
            ConnectionEvent::GoAway { last, code } => self.handle_goaway(link, last, code),
            ConnectionEvent::Room { stream: 0, .. } => {
                self.write_bodies(link);
                Ok(())
            }
            ConnectionEvent::Room { stream, more } => {
                if let Some(at) = self.find(stream)? {
                    let stream = self.streams.get_mut(at);
                    stream.sending.grow(more)?;
                    stream.write_body(&link.parts.body, &mut self.connection, link.io.out(STREAM));
                }
                Ok(())
            }
            ConnectionEvent::Nothing => Ok(()),
        }
    }

    /// The index of an open stream; `None` if it is closed; an idle stream is a protocol error.
    fn find(&self, stream: u32) -> Result<Option<usize>, Failure> {
        let at = self.streams.find(stream);
        if at.is_none() && !self.streams.has_opened(stream) {
            return Err(Http2Reason::Frame.into());
        }
        Ok(at)
    }

    /// Judges a part of an answer on a stream that is not open.
    fn judge_late(&self, stream: u32) -> Result<(), Failure> {
        self.find(stream)?;
        self.past.judge(stream).map_err(Failure::from)
    }

    fn handle_settings<I: Io>(
        &mut self,
        link: &mut Link<'_, I>,
        more: i64,
        on: &mut impl ProtocolHandler,
    ) -> Result<(), Failure> {
        for stream in self.streams.iter_mut() {
            stream.sending.grow(more)?;
        }
        let first = link.parts.blocks.first(self.connection.settings.table_bytes);
        if self.state == State::Greeting {
            self.state = State::Open;
            self.tabling = first;
        // A smaller table has lost its entries: none may be referred to any more.
        } else if first == TableMode::Avoids {
            self.tabling = first;
        }
        // A limit of 0 is there for a while (RFC 9113 §5.1.2), and nothing may be sent under it.
        if self.connection.settings.streams_max > 0 && !std::mem::replace(&mut self.is_ready, true) {
            on.handle(ProtocolEvent::Ready);
        }
        self.write_bodies(link);
        Ok(())
    }

    fn handle_head<I: Io>(
        &mut self,
        link: &mut Link<'_, I>,
        id: u32,
        block: &[u8],
        ends: bool,
        on: &mut impl ProtocolHandler,
    ) -> Result<(), Failure> {
        let (http, limits) = (&link.parts.http, &link.common.options().limits);
        let decoder = &mut self.connection.decoder;
        let Some(at) = self.streams.find(id) else {
            // The block of a discarded head is part of what follows, too: it may change the table.
            head::judge_trailer(decoder, block, limits)?;
            return self.judge_late(id);
        };
        let stream = self.streams.get_mut(at);
        stream.answer.add_wire_bytes(block.len() + frame::HEADER_BYTES);
        let part = if stream.has_head() {
            stream.handle_trailer(http, head::judge_trailer(decoder, block, limits)?, ends)
        } else {
            let part = match self.heads.judge(decoder, block, limits, &mut BodyKind::handle_field)? {
                Some(head) => stream.handle_head(http, head, ends),
                None => Err(Http2Reason::Field),
            };
            if let Some(rules) = link.parts.pieces.as_ref().filter(|_| stream.has_head()) {
                // A server that breaks off in the midst of an answer has answered.
                self.has_answered |= stream.begin_pieces(http, rules, on);
            }
            part
        };
        self.handle_part(link, at, part.map_err(Failure::from), on);
        Ok(())
    }

    fn handle_data<I: Io>(
        &mut self,
        link: &mut Link<'_, I>,
        id: u32,
        ends: bool,
        data: &[u8],
        taken: usize,
        on: &mut impl ProtocolHandler,
    ) -> Result<(), Failure> {
        let Some(at) = self.streams.find(id) else { return self.judge_late(id) };
        let stream = self.streams.get_mut(at);
        stream.answer.add_wire_bytes(taken + frame::HEADER_BYTES);
        let more = stream.receiving.take(taken)?;
        let mut part = stream.handle_data(&link.parts.http, data, ends).map_err(Failure::from);
        if let (Some(pieces), Some(rules)) = (&mut stream.pieces, &link.parts.pieces) {
            let limits = &link.common.options().limits;
            part = pieces.handle_data(rules, limits, link.now_ns, data, on).and(part);
        }
        // Nothing more comes in on a stream that has ended, so it needs no room.
        if let (Some(more), false) = (more, ends) {
            connection::put_room(id, more, link.io.out(STREAM));
        }
        self.handle_part(link, at, part, on);
        Ok(())
    }

    /// A part of an answer is in. One that breaks the rules is the end of its stream, and of no other
    /// (§5.4.2, §8.1.1).
    fn handle_part<I: Io>(
        &mut self,
        link: &mut Link<'_, I>,
        at: usize,
        part: Result<Part, Failure>,
        on: &mut impl ProtocolHandler,
    ) {
        let code = match part {
            Ok(Part::More) => return,
            // For the rest of a request's body, if there is one.
            Ok(Part::Whole) => ErrorCode::Cancel,
            Err(failure) => failure.goodbye_code().unwrap_or(ErrorCode::Cancel),
        };
        let mut stream = self.streams.close(at);
        // An answer may come before all of the request is out; the rest is not needed then (§8.1).
        if part.is_err() || !stream.body_left(&link.parts.body).is_empty() {
            self.past.add_reset(stream.id);
            connection::put_reset(stream.id, code, link.io.out(STREAM));
        }
        match part {
            Err(failure) => {
                link.io.handle_request_outcome(stream.request.stamp, RequestOutcome::Failed(failure))
            }
            Ok(_) => {
                self.has_answered = true;
                if let (Some(pieces), Some(rules)) = (&mut stream.pieces, &link.parts.pieces) {
                    pieces.finish(rules, on);
                }
                stream.answer.finish(&link.parts.http, stream.request.stamp, on);
            }
        }
        self.leave_if_done(link);
    }

    /// The server leaves: what it has not looked at, it has not done (§6.8), and is sent again whatever it
    /// is.
    fn handle_goaway<I: Io>(
        &mut self,
        link: &mut Link<'_, I>,
        last: u32,
        code: ErrorCode,
    ) -> Result<(), Failure> {
        while let Some(stream) = self.streams.close_after(last) {
            self.past.add_reset(stream.id);
            self.give_back(link, &stream, true);
        }
        // A server that leaves before it served anything would do so again and again.
        let serves_none = self.streams.is_empty() && self.lacks_streams() && !self.has_answered;
        if code != ErrorCode::NoError || serves_none {
            return Err(Failure::GoAway(code));
        }
        self.state = State::Last;
        self.leave_if_done(link);
        Ok(())
    }

    /// A connection that serves no other requests has served its last.
    fn leave_if_done<I: Io>(&mut self, link: &mut Link<'_, I>) {
        if self.state == State::Last && self.streams.is_empty() {
            link.io.close_stream(STREAM);
            self.handle_gone(link);
        }
    }

    /// The connection broke with requests under way: those that may not be sent again have no answer.
    fn handle_cut_off<I: Io>(&mut self, link: &mut Link<'_, I>) {
        while let Some(stream) = self.streams.close_after(0) {
            self.give_back(link, &stream, link.parts.http.is_idempotent());
        }
        self.handle_gone(link);
    }

    /// A request will have no answer over this connection: it waits for the next if it may be sent again.
    fn give_back<I: Io>(&mut self, link: &mut Link<'_, I>, stream: &Stream, may_repeat: bool) {
        // A streamed answer that has begun is what a user has seen: another would not be that one.
        match may_repeat && stream.pieces.is_none() {
            true => self.waiting.push_front(stream.request),
            false => link.io.handle_request_outcome(stream.request.stamp, RequestOutcome::Dropped),
        }
    }

    /// Handles the loss of the connection: requests that are unanswered wait for the next.
    fn handle_gone<I: Io>(&mut self, link: &mut Link<'_, I>) {
        let (waiting, is_ready) = (std::mem::take(&mut self.waiting), self.is_ready);
        *self = Requests { waiting, is_ready, ..Requests::default() };
        self.flush(link);
    }

    /// The connection is of no further use, and the server is told why: a failure, unless it did well before.
    fn handle_broken<I: Io>(
        &mut self,
        link: &mut Link<'_, I>,
        failure: Failure,
        on: &mut impl ProtocolHandler,
    ) -> Result<(), Failure> {
        if let Some(code) = failure.goodbye_code() {
            connection::put_goodbye(0, code, link.io.out(STREAM));
        }
        link.io.close_stream(STREAM);
        if !self.has_answered {
            return Err(failure);
        }
        on.handle(ProtocolEvent::Event(Event::Broken(failure)));
        self.handle_cut_off(link);
        Ok(())
    }
}

impl HttpClientProtocol for Requests {
    type Parts = Parts;
    type Socket = NoClient<Parts>;

    fn handle_open<I: Io>(&mut self, link: &mut Link<'_, I>, _stream: StreamId) {
        self.state = State::Greeting;
        let out = link.io.out(STREAM);
        out.extend_from_slice(PREFACE);
        connection::greet(&link.common.options().limits, CLIENT_WINDOW, None, out);
    }

    fn handle_input<I: Io>(
        &mut self,
        link: &mut Link<'_, I>,
        _stream: StreamId,
        bytes: &[u8],
        on: &mut impl ProtocolHandler,
    ) -> Result<(), Failure> {
        let mut input = bytes;
        // Apart, because a frame that came in pieces lies in there while it is handled.
        let mut frames = std::mem::take(&mut self.frames);
        while self.state.has_connection() {
            let frame = match frames.next(&mut input) {
                Ok(None) => {
                    self.frames = frames;
                    break;
                }
                Ok(Some(frame)) => self.handle_frame(link, frame, on),
                Err(error) => Err(error.into()),
            };
            if let Err(failure) = frame {
                return self.handle_broken(link, failure, on);
            }
        }
        self.flush(link);
        Ok(())
    }

    fn handle_eof<I: Io>(
        &mut self,
        link: &mut Link<'_, I>,
        _stream: StreamId,
        _on: &mut impl ProtocolHandler,
    ) -> Result<(), Failure> {
        let owes = self.state == State::Greeting || !self.streams.is_empty() || self.lacks_streams();
        // A connection that never gave an answer: the next would hardly do better.
        if owes && !self.has_answered {
            return Err(Failure::Codec(Error::EofBeforeAnswer));
        }
        self.handle_cut_off(link);
        Ok(())
    }

    fn handle_lost<I: Io>(&mut self, link: &mut Link<'_, I>, _stream: StreamId) -> bool {
        let goes_on = self.has_answered;
        if goes_on {
            link.io.close_stream(STREAM);
            self.handle_cut_off(link);
        }
        goes_on
    }

    fn is_ready(&self) -> bool {
        self.is_ready
    }

    fn withheld(&self) -> Option<Failure> {
        if self.state == State::Open && self.connection.settings.streams_max == 0 {
            return Some(Failure::NoStreams);
        }
        self.streams.has_held_body().then_some(Failure::NoWindow)
    }

    fn send<I: Io>(
        &mut self,
        link: &mut Link<'_, I>,
        _template: &MessageTemplate,
        filling: &Filling<'_>,
    ) -> Sending {
        let is_first = self.waiting.is_empty();
        let is_busy = self.streams.len() + self.waiting.len() >= self.streams_max(link);
        if self.waiting.len() < REQUESTS_MAX {
            self.waiting.push_back(UnansweredRequest { stamp: *filling.mark.stamp, was_sent: false });
            // Where none is before it, it goes out as it is, and there is nothing to tell.
            if is_first && self.write_next(link).is_some() {
                return Sending::Out;
            }
            self.flush(link);
        }
        Sending::Waits { is_busy }
    }

    /// Says goodbye, for which there is no answer.
    fn close<I: Io>(&mut self, link: &mut Link<'_, I>) {
        if self.state.has_connection() {
            connection::put_goodbye(0, ErrorCode::NoError, link.io.out(STREAM));
        }
        if self.state != State::Closed {
            link.io.close_stream(STREAM);
        }
        *self = Requests::default();
    }

    fn is_closed(&self) -> bool {
        self.state == State::Closed
    }
}
