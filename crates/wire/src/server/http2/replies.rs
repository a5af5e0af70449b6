//! Answers whose bodies go out as far as the client's windows have room (RFC 9113 §5.2).
//!
//! ```text
//! begun: the head is out --room--> part of the body goes out --the last part--> over, with END_STREAM
//! begun --RST_STREAM--> over
//! ```

use std::collections::VecDeque;

use crate::failure::Http2Reason;
use crate::http2::connection::{self, Settings};
use crate::http2::credit::Sending;
use crate::http2::frame::{self, flag, kind};
use crate::http2::{head, hpack};

/// Most fields of an answer of the server's own.
const FIELDS_MAX: usize = 32;

/// The answers of a connection that have more to say, oldest first.
#[derive(Debug, Default)]
pub(super) struct Replies {
    all: VecDeque<Reply>,
}

#[derive(Debug)]
struct Reply {
    stream: u32,
    body: Vec<u8>,
    sent: usize,
    sending: Sending,
}

impl Replies {
    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    /// Begins an answer that is written as one of HTTP/1.1. Its body is at hand, and so is not in chunks.
    pub(super) fn begin(&mut self, stream: u32, answer: &[u8], sending: Sending, out: &mut Vec<u8>) {
        let mut list = [httparse::EMPTY_HEADER; FIELDS_MAX];
        let mut parsed = httparse::Response::new(&mut list);
        let parsed_bytes = parsed.parse(answer).expect("an answer of this server's own");
        let body = &answer[parsed_bytes.unwrap()..];
        let status = parsed.code.unwrap_or(500).to_string();
        let fields = parsed.headers.iter().map(|field| (field.name.to_ascii_lowercase(), field.value));
        let fields: Vec<_> = fields.filter(|(name, value)| !head::is_foreign(name, value)).collect();
        let regular = fields.iter().map(|(name, value)| (name.as_str(), *value));
        let all = std::iter::once((":status", status.as_bytes())).chain(regular);
        connection::put_head(stream, body.is_empty(), |out| hpack::write_once(all, out), out);
        if !body.is_empty() {
            self.all.push_back(Reply { stream, body: body.to_vec(), sent: 0, sending });
        }
    }

    /// Sends what there is room for.
    pub(super) fn flush(&mut self, room: &mut Sending, settings: &Settings, out: &mut Vec<u8>) {
        self.all.retain_mut(|reply| {
            while room.left().min(reply.sending.left()) > 0 && !reply.is_over() {
                reply.write_part(room, settings.payload_bytes_max, out);
            }
            !reply.is_over()
        });
    }

    /// Grows the window of an answer; one whose window would be too large is over.
    pub(super) fn grow(&mut self, stream: u32, more: i64) -> Result<(), Http2Reason> {
        let Some(at) = self.find(stream) else { return Ok(()) };
        self.all[at].sending.grow(more).inspect_err(|_| self.remove(stream))
    }

    /// Grows the windows of all answers, or shrinks them.
    pub(super) fn grow_all(&mut self, more: i64) -> Result<(), Http2Reason> {
        self.all.iter_mut().try_for_each(|reply| reply.sending.grow(more))
    }

    /// Drops the answer on a stream, if there is one.
    pub(super) fn remove(&mut self, stream: u32) {
        if let Some(at) = self.find(stream) {
            self.all.remove(at);
        }
    }

    fn find(&self, stream: u32) -> Option<usize> {
        self.all.iter().position(|reply| reply.stream == stream)
    }
}

impl Reply {
    fn is_over(&self) -> bool {
        self.sent == self.body.len()
    }

    fn write_part(&mut self, room: &mut Sending, payload_bytes_max: usize, out: &mut Vec<u8>) {
        let left = &self.body[self.sent..];
        let bytes = room.left().min(self.sending.left()).min(payload_bytes_max).min(left.len());
        let flags = if bytes == left.len() { flag::END_STREAM } else { 0 };
        frame::put(out, kind::DATA, flags, self.stream, &left[..bytes]);
        room.spend(bytes);
        self.sending.spend(bytes);
        self.sent += bytes;
    }
}
