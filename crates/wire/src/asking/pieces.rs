//! An answer that comes in pieces, as it comes in.
//!
//! ```text
//! idle --a head with a good status, or a first message--> open --data, a message--> open: an event for each piece
//! open --the end mark--> marked --data--> marked: whatever comes is behind the end
//! open, marked --the end of the body, or of the connection; over a WebSocket, the mark itself--> idle
//! ```

mod rules;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

use codec::event_stream::{Reader, StreamEvent};
use codec::{Error, Limits, Stamp};

use super::streaming::StreamForm;
use crate::carried::{ProtocolEvent, ProtocolHandler};
use crate::event::{Event, Progress, WrongResponse};
use crate::failure::Failure;
pub(crate) use rules::{BodyKind, PieceRules};

/// The pieces of the answer that is coming in.
#[derive(Debug, Default)]
pub(crate) struct Pieces {
    course: Course,
    kind: BodyKind,
    /// The number of the request.
    request: u32,
    reader: Reader,
    /// A line, or an answer of one event, of which only the beginning is in.
    line: Vec<u8>,
    /// The latest read that brought a chunk.
    chunk_ns: u64,
}

/// The course of an answer so far.
#[derive(Debug, Default)]
struct Course {
    state: State,
    /// The latest number, one more than it: 0 is none yet.
    latest: u64,
    has_events: bool,
    /// True once the answer is known as a wrong one, which is told once.
    is_wrong: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Idle,
    Open,
    Marked,
}

impl Pieces {
    /// Returns whether an answer is coming in.
    pub(crate) fn is_open(&self) -> bool {
        self.course.state != State::Idle
    }

    /// Returns whether its end mark is in.
    pub(crate) fn is_marked(&self) -> bool {
        self.course.state == State::Marked
    }

    /// The head of a good answer to this request is in. A body that is encoded is a wrong one: its reads are
    /// its pieces. So is one that is no stream.
    pub(crate) fn begin(
        &mut self,
        rules: &PieceRules,
        kind: BodyKind,
        stamp: Stamp,
        on: &mut impl ProtocolHandler,
    ) {
        let course = Course { state: State::Open, ..Course::default() };
        *self = Pieces { course, kind, request: stamp.seq, ..Pieces::default() };
        let encoded = kind.coding.map(WrongResponse::Encoded);
        if let Some(wrong) = encoded.or_else(|| rules.misses(kind).map(WrongResponse::NotStream)) {
            self.course.miss(wrong, on);
        }
        tell(on, stamp.seq, Progress::Begun { stamp });
    }

    /// A part of the body is in, of a read at this time.
    pub(crate) fn handle_data(
        &mut self,
        rules: &PieceRules,
        limits: &Limits,
        now_ns: u64,
        mut data: &[u8],
        on: &mut impl ProtocolHandler,
    ) -> Result<(), Failure> {
        let Pieces { course, kind, request, reader, line, chunk_ns } = self;
        let BodyKind { media, coding, .. } = *kind;
        if course.state == State::Idle {
            return Ok(());
        }
        let mut handle = |kind: &[u8], data: &[u8]| course.handle_piece(rules, *request, kind, data, on);
        let form = rules.form.or(media).filter(|_| coding.is_none());
        match form.unwrap_or(StreamForm::Chunks) {
            StreamForm::Events => {
                while let Some(StreamEvent { kind, data, .. }) = reader.next(limits, &mut data)? {
                    handle(kind, data);
                }
            }
            StreamForm::Lines => {
                while let Some(whole) = take_line(limits, line, &mut data)? {
                    if let Some(text) = line_text(&whole) {
                        handle(b"", text);
                    }
                }
            }
            // One event, and known to be an error by its end alone.
            StreamForm::Chunks if rules.takes_whole(*kind) => {
                if line.len() + data.len() > limits.message_bytes_max {
                    return Err(Failure::Codec(Error::EventTooLarge));
                }
                line.extend_from_slice(data);
            }
            // Chunks that came together are one piece: what a user would see at once. Nothing is none.
            StreamForm::Chunks if *chunk_ns == now_ns || data.is_empty() => {}
            StreamForm::Chunks => {
                *chunk_ns = now_ns;
                handle(b"", data);
            }
        }
        Ok(())
    }

    /// A message of a WebSocket is in, which is an event whatever it holds.
    pub(crate) fn handle_message(
        &mut self,
        rules: &PieceRules,
        message: &[u8],
        on: &mut impl ProtocolHandler,
    ) {
        self.course.handle_piece(rules, self.request, b"", message, on);
    }

    /// The answer is whole, and with it its one event; a last line need not have an end.
    pub(crate) fn finish(&mut self, rules: &PieceRules, on: &mut impl ProtocolHandler) {
        if self.course.state == State::Idle {
            return;
        }
        let last = std::mem::take(&mut self.line);
        if let Some(last) = line_text(&last) {
            self.course.handle_piece(rules, self.request, b"", last, on);
        }
        // An end mark alone says that there was nothing to say.
        if !self.course.has_events && self.course.state != State::Marked {
            self.course.miss(WrongResponse::NoEvents, on);
        }
        let is_marked = self.course.state == State::Marked || rules.end.is_none();
        tell(on, self.request, Progress::Ended { is_marked });
        self.course.state = State::Idle;
    }
}

impl Course {
    /// Tells one piece of the answer to this request, unless it is the end mark and nothing else.
    fn handle_piece(
        &mut self,
        rules: &PieceRules,
        request: u32,
        kind: &[u8],
        data: &[u8],
        on: &mut impl ProtocolHandler,
    ) {
        if self.state == State::Marked {
            return tell(on, request, Progress::AfterEnd);
        }
        if let Some(counts) = rules.is_end(kind, data) {
            self.state = State::Marked;
            if !counts {
                return;
            }
        }
        if !self.is_wrong && rules.is_error(kind, data) {
            self.miss(WrongResponse::ErrorEvent, on);
        }
        let number = rules.number(data);
        let is_misordered = number.is_some_and(|number| number < self.latest);
        self.latest = self.latest.max(number.map_or(0, |number| number.saturating_add(1)));
        self.has_events = true;
        tell(on, request, Progress::Event { tokens: rules.tokens(data), is_misordered });
    }

    /// Tells that the answer is a wrong one, unless it is known.
    fn miss(&mut self, wrong: WrongResponse, on: &mut impl ProtocolHandler) {
        if !std::mem::replace(&mut self.is_wrong, true) {
            on.handle(ProtocolEvent::Event(Event::WrongResponse(wrong)));
        }
    }
}

/// Tells how the answer to this request has come on.
fn tell(on: &mut impl ProtocolHandler, request: u32, progress: Progress) {
    on.handle(ProtocolEvent::Event(Event::Progress { request, progress }));
}

/// The text of a line, without a record separator (RFC 7464); `None` if it is empty.
fn line_text(line: &[u8]) -> Option<&[u8]> {
    let line = line.trim_ascii();
    Some(line.strip_prefix(b"\x1e").unwrap_or(line)).filter(|text| !text.is_empty())
}

/// Takes a line off the input; `None` when more bytes are needed.
fn take_line<'a>(
    limits: &Limits,
    begun: &mut Vec<u8>,
    input: &mut &'a [u8],
) -> Result<Option<Cow<'a, [u8]>>, Failure> {
    let end = memchr::memchr(b'\n', input);
    let (mine, rest) = input.split_at(end.unwrap_or(input.len()));
    if begun.len() + mine.len() > limits.message_bytes_max {
        return Err(Failure::Codec(Error::EventTooLarge));
    }
    *input = rest.get(1..).unwrap_or_default();
    match (end, begun.is_empty()) {
        (None, _) => {
            begun.extend_from_slice(mine);
            Ok(None)
        }
        (Some(_), true) => Ok(Some(Cow::Borrowed(mine))),
        (Some(_), false) => {
            begun.extend_from_slice(mine);
            Ok(Some(Cow::Owned(std::mem::take(begun))))
        }
    }
}
