//! Answers of sessions on their way to the connection of a request, or to its stream of HTTP/2.

use wire::{Answer, AnswerPart};

use super::input::Call;
use super::output::Slow;
use super::{Buffers, Worker};

/// The place of a request: the key of the connection that it came by, and its stream there (0 over HTTP/1.1).
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub(super) connection: usize,
    pub(super) stream: u32,
}

impl Worker {
    /// Sends what a session has said to the connection whose request it holds.
    pub(super) fn answer_held(&mut self, place: Place, output: Vec<u8>, then: AnswerPart) {
        match (place.stream, then) {
            (0, AnswerPart::More) => self.answer(place, output, Answer::Held),
            (0, _) => self.answer(place, output, Answer::Whole),
            _ => self.answer_part(place, output, then),
        }
    }

    /// Sends a part of an answer on a stream of HTTP/2.
    fn answer_part(&mut self, place: Place, output: Vec<u8>, then: AnswerPart) {
        let Place { connection: key, stream } = place;
        // Clients may keep their windows shut over a thousand answers each, or over one on each of a thousand
        // connections. Their bytes are held like others that are not taken.
        let (is_full, token) = (self.held.is_full(), self.token_of(key));
        if is_full && !output.is_empty() && self.connections[key].session.all_unsent_bytes() > 0 {
            self.drop_slow_stream(place, Slow::Crowd);
        } else {
            if then != AnswerPart::More {
                self.connections[key].take_stream(stream);
            }
            self.call(key, Call::Part(stream, &output, then));
            let is_left = |worker: &Worker| worker.connections[key].session.unsent_bytes(stream) > 0;
            if is_full && self.find(token).is_some() && is_left(self) {
                self.drop_slow_stream(place, Slow::Crowd);
            }
        }
        self.buffers.output = Buffers::reuse(output);
    }

    /// Sends a session's output to a connection, which goes on to its next request if the output completes
    /// the answer.
    pub(super) fn answer(&mut self, place: Place, output: Vec<u8>, answer: Answer) {
        let key = place.connection;
        if place.stream != 0 {
            let then = if matches!(answer, Answer::Held) { AnswerPart::More } else { AnswerPart::Last };
            return self.answer_part(place, output, then);
        }
        let token = self.token_of(key);
        self.send_output(key, &output);
        self.buffers.output = Buffers::reuse(output);
        let is_bound = matches!(answer, Answer::Taken(_));
        let word = match answer {
            Answer::Held => return,
            Answer::Whole => None,
            Answer::Told(word) | Answer::Taken(word) => Some(word),
        };
        if self.find(token).is_some() {
            self.connections[key].held_by.take_if(|_| !is_bound);
            self.call(key, Call::Answered(word));
        }
    }

    /// Resets a stream that is not kept more for: the others of its connection may well be read.
    pub(super) fn drop_slow_stream(&mut self, place: Place, why: Slow) {
        let Place { connection: key, stream } = place;
        self.count_slow_drop(why);
        self.bereft.extend(self.connections[key].take_stream(stream));
        self.call(key, Call::Part(stream, b"", AnswerPart::Aborted));
    }
}
