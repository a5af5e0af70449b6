//! Answers whose bodies go out as far as the client's windows have room (RFC 9113 §5.2).
//!
//! ```text
//! begun --the first part--> open: the head is out --room--> what is there of the body goes out --the last part--> over, with END_STREAM
//! open --a part that breaks off, all before it out--> over, to be reset
//! begun, open --RST_STREAM--> over
//! ```

use std::collections::VecDeque;

use codec::Http2Reason;
use codec::http2::connection::{self, Settings};
use codec::http2::credit::Sending;
use codec::http2::frame::{self, flag, kind};
use codec::http2::{head, hpack};

use crate::io::AnswerPart;

/// Most fields of an answer of the server's own.
const FIELDS_MAX: usize = 32;

/// The answers of a connection that have more to say, oldest first.
#[derive(Debug, Default)]
pub(super) struct Replies {
    all: VecDeque<Reply>,
    /// Streams whose answers have broken off.
    broken: Vec<u32>,
    /// Bytes of all bodies that wait for the client's windows, as of the latest flush or removal.
    unsent_bytes: usize,
}

#[derive(Debug)]
struct Reply {
    stream: u32,
    has_head: bool,
    /// The body so far, from what is not out yet on.
    body: Vec<u8>,
    sent: usize,
    /// The kind of the latest part.
    then: AnswerPart,
    sending: Sending,
}

impl Replies {
    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    /// Returns whether a session goes on with one of them.
    pub(super) fn are_open(&self) -> bool {
        self.all.iter().any(|reply| reply.then == AnswerPart::More)
    }

    /// Bytes of an answer that wait for the client's windows.
    pub(super) fn unsent_bytes(&self, stream: u32) -> usize {
        self.find(stream).map_or(0, |at| self.all[at].unsent().len())
    }

    /// Bytes of all answers that wait for the client's windows.
    pub(super) fn all_unsent_bytes(&self) -> usize {
        self.unsent_bytes
    }

    /// Begins an answer.
    pub(super) fn begin(&mut self, stream: u32, sending: Sending) {
        let (body, then) = (Vec::new(), AnswerPart::More);
        self.all.push_back(Reply { stream, has_head: false, body, sent: 0, then, sending });
    }

    /// Adds a part to an answer, which is written as one of HTTP/1.1, but not in chunks. False: there is no
    /// such answer any more.
    pub(super) fn extend(&mut self, stream: u32, part: &[u8], then: AnswerPart, out: &mut Vec<u8>) -> bool {
        let Some(at) = self.find(stream) else { return false };
        let reply = &mut self.all[at];
        reply.then = then;
        if then == AnswerPart::Aborted {
            reply.body.clear();
            reply.sent = 0;
            return true;
        }
        // What is out is not kept, however long the answer lasts.
        reply.body.drain(..std::mem::take(&mut reply.sent));
        if reply.has_head || part.is_empty() {
            reply.body.extend_from_slice(part);
            return true;
        }
        reply.has_head = true;
        reply.put_head(part, out);
        if reply.is_over() {
            self.all.remove(at);
        }
        true
    }

    /// Sends what there is room for, and tells the streams of open answers that had to wait, and are at their end.
    pub(super) fn flush(
        &mut self,
        room: &mut Sending,
        settings: &Settings,
        out: &mut Vec<u8>,
        mut on_drained: impl FnMut(u32),
    ) {
        let (broken, unsent_bytes) = (&mut self.broken, &mut self.unsent_bytes);
        *unsent_bytes = 0;
        self.all.retain_mut(|reply| {
            let waited = !reply.unsent().is_empty();
            while room.left().min(reply.sending.left()) > 0 && !reply.unsent().is_empty() {
                reply.write_part(room, settings.payload_bytes_max, out);
            }
            let is_begun = reply.has_head || reply.then != AnswerPart::More;
            *unsent_bytes += reply.unsent().len();
            if !reply.unsent().is_empty() || !is_begun {
                return true;
            }
            match reply.then {
                AnswerPart::More if waited => on_drained(reply.stream),
                AnswerPart::More => {}
                // A part that came with its end has it in its last frame.
                AnswerPart::Last if waited => {}
                AnswerPart::Last => frame::put(out, kind::DATA, flag::END_STREAM, reply.stream, b""),
                AnswerPart::Broken | AnswerPart::Aborted => broken.push(reply.stream),
            }
            reply.then == AnswerPart::More
        });
    }

    /// A stream whose answer has broken off: it is to be reset.
    pub(super) fn poll_broken(&mut self) -> Option<u32> {
        self.broken.pop()
    }

    /// Grows the window of an answer; one whose window would be too large is to be removed.
    pub(super) fn grow(&mut self, stream: u32, more: i64) -> Result<(), Http2Reason> {
        self.find(stream).map_or(Ok(()), |at| self.all[at].sending.grow(more))
    }

    /// Grows the windows of all answers, or shrinks them.
    pub(super) fn grow_all(&mut self, more: i64) -> Result<(), Http2Reason> {
        self.all.iter_mut().try_for_each(|reply| reply.sending.grow(more))
    }

    /// Drops the answer on a stream. True if a session goes on with it.
    pub(super) fn remove(&mut self, stream: u32) -> bool {
        let Some(reply) = self.find(stream).and_then(|at| self.all.remove(at)) else { return false };
        self.unsent_bytes -= reply.unsent().len();
        reply.then == AnswerPart::More
    }

    fn find(&self, stream: u32) -> Option<usize> {
        self.all.iter().position(|reply| reply.stream == stream)
    }
}

impl Reply {
    fn unsent(&self) -> &[u8] {
        &self.body[self.sent..]
    }

    /// Returns whether the head was all there is.
    fn is_over(&self) -> bool {
        self.then == AnswerPart::Last && self.body.is_empty()
    }

    /// Writes the head that a first part begins with, and keeps the rest of it.
    fn put_head(&mut self, part: &[u8], out: &mut Vec<u8>) {
        let mut list = [httparse::EMPTY_HEADER; FIELDS_MAX];
        let mut parsed = httparse::Response::new(&mut list);
        let parsed_bytes = parsed.parse(part).expect("an answer of this server's own");
        self.body.extend_from_slice(&part[parsed_bytes.unwrap()..]);
        let status = parsed.code.unwrap_or(500).to_string();
        let fields = parsed.headers.iter().map(|field| (field.name.to_ascii_lowercase(), field.value));
        let fields: Vec<_> = fields.filter(|(name, value)| !head::is_foreign(name, value)).collect();
        let regular = fields.iter().map(|(name, value)| (name.as_str(), *value));
        let all = std::iter::once((":status", status.as_bytes())).chain(regular);
        connection::put_head(
            self.stream,
            self.is_over(),
            |out| hpack::write_once(all, secret::is_secret, out),
            out,
        );
    }

    fn write_part(&mut self, room: &mut Sending, payload_bytes_max: usize, out: &mut Vec<u8>) {
        let left = &self.body[self.sent..];
        let bytes = room.left().min(self.sending.left()).min(payload_bytes_max).min(left.len());
        let is_end = bytes == left.len() && self.then == AnswerPart::Last;
        frame::put(out, kind::DATA, if is_end { flag::END_STREAM } else { 0 }, self.stream, &left[..bytes]);
        room.spend(bytes);
        self.sending.spend(bytes);
        self.sent += bytes;
    }
}
