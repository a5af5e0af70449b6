//! The requests under way on a connection, each on its stream (RFC 9113 §5.1).
//!
//! ```text
//! asked --an interim head--> asked --a final head--> answering --data--> answering --its end, or a trailer's--> over
//! asked, answering --RST_STREAM, or something that breaks the rules--> over, without an answer
//! ```

use std::collections::VecDeque;

use codec::http2::connection::{CLIENT_WINDOW, Connection};
use codec::http2::credit::{Receiving, Sending};
use codec::http2::frame::{self, flag, kind};
use codec::http2::head::AnswerHead;
use codec::{Http2Reason, Stamp};

use crate::asking::{Answer, BodyKind, HttpOptions, PieceRules, Pieces};
use crate::carried::ProtocolHandler;

/// The first stream of a client, and how far apart they are (§5.1.1).
const FIRST: u32 = 1;
const APART: u32 = 2;

/// A request without its answer.
#[derive(Clone, Copy, Debug)]
pub(super) struct UnansweredRequest {
    pub(super) stamp: Stamp,
    /// It has been sent before, on a connection that did not answer it.
    pub(super) was_sent: bool,
}

/// A request under way.
#[derive(Debug)]
pub(super) struct Stream {
    pub(super) id: u32,
    pub(super) request: UnansweredRequest,
    pub(super) answer: Answer,
    /// The head of the final answer.
    head: Option<AnswerHead<BodyKind>>,
    /// The pieces of the answer, where it comes in pieces: room that others need not have.
    pub(super) pieces: Option<Box<Pieces>>,
    /// Bytes of its body that are in.
    data_bytes: u64,
    pub(super) receiving: Receiving,
    /// The request's body, where it has one of its own.
    own_body: Option<Box<[u8]>>,
    /// Bytes of the body that are out.
    sent: usize,
    /// True if the rest of the body waits for room in the server's windows.
    is_held: bool,
    pub(super) sending: Sending,
}

/// States of a stream after a part of its answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Part {
    /// More of it is to come.
    More,
    /// The answer is whole.
    Whole,
}

impl Stream {
    /// The rest of the request's body, which is this one unless it has one of its own.
    pub(super) fn body_left<'a>(&'a self, shared: &'a [u8]) -> &'a [u8] {
        &self.own_body.as_deref().unwrap_or(shared)[self.sent..]
    }

    /// Writes as much of the body as the server has room for.
    pub(super) fn write_body(&mut self, shared: &[u8], connection: &mut Connection, out: &mut Vec<u8>) {
        let Connection { sending, settings, .. } = connection;
        while let left @ [_, ..] = self.body_left(shared) {
            let room = sending.left().min(self.sending.left()).min(settings.payload_bytes_max);
            let (part, rest) = left.split_at(room.min(left.len()));
            let flags = if rest.is_empty() { flag::END_STREAM } else { 0 };
            let bytes = part.len();
            if bytes > 0 {
                frame::put(out, kind::DATA, flags, self.id, part);
            }
            self.is_held = bytes == 0;
            if self.is_held {
                return;
            }
            sending.spend(bytes);
            self.sending.spend(bytes);
            self.sent += bytes;
        }
    }

    /// The final head is in of an answer that comes in pieces; returns whether these follow, as they do
    /// behind a good status.
    pub(super) fn begin_pieces(
        &mut self,
        http: &HttpOptions,
        rules: &PieceRules,
        on: &mut impl ProtocolHandler,
    ) -> bool {
        let head = self.head.filter(|head| http.is_expected(head.status));
        if let Some(AnswerHead { kept: body_kind, .. }) = head {
            self.pieces.insert(Box::default()).begin(rules, body_kind, self.request.stamp, on);
        }
        head.is_some()
    }

    /// A head is in, or a trailer where it is not the first.
    pub(super) fn handle_head(
        &mut self,
        http: &HttpOptions,
        head: AnswerHead<BodyKind>,
        ends: bool,
    ) -> Result<Part, Http2Reason> {
        match head.status {
            // There is no other protocol to switch to (§8.6), and an interim answer is not the last.
            101 => Err(Http2Reason::Field),
            100..200 if ends => Err(Http2Reason::Field),
            100..200 => Ok(Part::More),
            status => {
                self.answer.handle_status(http, status);
                self.head = Some(head);
                self.handle_part(http, ends)
            }
        }
    }

    /// Returns whether the final head is in: what follows is data or a trailer.
    pub(super) fn has_head(&self) -> bool {
        self.head.is_some()
    }

    /// The fields behind the body are in.
    pub(super) fn handle_trailer(
        &self,
        http: &HttpOptions,
        is_good: bool,
        ends: bool,
    ) -> Result<Part, Http2Reason> {
        if is_good && ends { self.handle_part(http, ends) } else { Err(Http2Reason::Field) }
    }

    /// A part of the body is in.
    pub(super) fn handle_data(
        &mut self,
        http: &HttpOptions,
        data: &[u8],
        ends: bool,
    ) -> Result<Part, Http2Reason> {
        if !self.has_head() {
            return Err(Http2Reason::Frame);
        }
        self.data_bytes += data.len() as u64;
        self.answer.handle_data(http, data);
        self.handle_part(http, ends)
    }

    /// Says whether the answer is whole or has more to come. Refuses a whole one whose body is not as long as
    /// its head says (§8.1.1); to HEAD, and with status 204 or 304, there must be no body, whatever it says.
    fn handle_part(&self, http: &HttpOptions, ends: bool) -> Result<Part, Http2Reason> {
        if !ends {
            return Ok(Part::More);
        }
        let Some(AnswerHead { status, length, .. }) = self.head else { return Err(Http2Reason::Frame) };
        // These may announce the length of a body that is not there (RFC 9113 §8.1.1).
        let has_none = http.method == "HEAD" || matches!(status, 204 | 304);
        let expected = if has_none { Some(0) } else { length };
        match expected.is_none_or(|bytes| bytes == self.data_bytes) {
            true => Ok(Part::Whole),
            false => Err(Http2Reason::ContentLength),
        }
    }
}

/// The streams of a connection, oldest first: their numbers grow, so that each is found without a table.
#[derive(Debug)]
pub(super) struct Streams {
    all: VecDeque<Stream>,
    next: u32,
}

impl Default for Streams {
    fn default() -> Streams {
        Streams { all: VecDeque::new(), next: FIRST }
    }
}

impl Streams {
    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Returns whether the connection has no more numbers for streams (§5.1.1).
    pub(super) fn is_spent(&self) -> bool {
        self.next > frame::STREAM_MAX
    }

    /// Returns whether a stream of this number has been opened, be it over or not.
    pub(super) fn has_opened(&self, id: u32) -> bool {
        id < self.next && id % APART == FIRST % APART
    }

    /// Opens the stream of a request.
    pub(super) fn open(
        &mut self,
        request: UnansweredRequest,
        own_body: Option<Vec<u8>>,
        window: u32,
    ) -> &mut Stream {
        self.all.push_back(Stream {
            id: self.next,
            request,
            answer: Answer::default(),
            head: None,
            pieces: None,
            data_bytes: 0,
            receiving: Receiving::new(CLIENT_WINDOW),
            own_body: own_body.map(Vec::into_boxed_slice),
            sent: 0,
            is_held: false,
            sending: Sending::new(window),
        });
        self.next += APART;
        self.all.back_mut().expect("just put there")
    }

    /// The index of a stream. Most answers are to the oldest requests.
    pub(super) fn find(&self, id: u32) -> Option<usize> {
        match self.all.front() {
            // Before the search, because most servers answer in order.
            Some(first) if first.id == id => Some(0),
            _ => self.all.binary_search_by_key(&id, |stream| stream.id).ok(),
        }
    }

    pub(super) fn get_mut(&mut self, at: usize) -> &mut Stream {
        &mut self.all[at]
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Stream> {
        self.all.iter_mut()
    }

    /// Returns whether the whole body of a request waits for room.
    pub(super) fn has_held_body(&self) -> bool {
        self.all.iter().any(|stream| stream.is_held && stream.sent == 0)
    }

    /// Removes a stream that is over.
    pub(super) fn close(&mut self, at: usize) -> Stream {
        self.all.remove(at).expect("it was found there")
    }

    /// Removes the newest stream if its number is above `last`.
    pub(super) fn close_after(&mut self, last: u32) -> Option<Stream> {
        self.all.back().filter(|stream| stream.id > last)?;
        self.all.pop_back()
    }
}
