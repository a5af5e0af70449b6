//! The I/O of a session.

use codec::{Stamp, StreamId};

use crate::failure::Failure;

/// The driver's side of a session: more than bytes and randomness.
pub trait Io: codec::Io {
    /// The number of this client in the run. Its identity is a function of that, so that no session has to
    /// keep it.
    fn client(&self) -> u32 {
        0
    }
    /// Break off the answer on `stream` once everything written to it has been sent. Over HTTP/1.1, its
    /// connection ends with it.
    fn break_stream(&mut self, stream: StreamId) {
        self.close_stream(stream);
    }
    /// Returns whether the request in hand came in before the one that `stream` waits with: one that another
    /// thread has read is handed over later. `false` if that is not known.
    fn was_earlier(&mut self, _stream: StreamId) -> bool {
        false
    }
    /// Takes the outcome of a message that did not go out as it was sent ([`Sending::Waits`]), or will have
    /// no answer. Only plain requests have such.
    fn handle_request_outcome(&mut self, _stamp: Stamp, _outcome: RequestOutcome) {}
}

/// Parts of an answer, by their place in it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AnswerPart {
    /// Others follow.
    More,
    /// The answer is whole with it.
    Last,
    /// The answer breaks off behind it, once what was written is out.
    Broken,
    /// The answer breaks off, and what is not out yet is dropped.
    Aborted,
}

/// Results of sending a message through a session.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sending {
    /// The message is on its way.
    Out,
    /// The message waits within the session, which reports when it is sent.
    Waits {
        /// For the answer to another, as many as may be under way on its connection; not just for its
        /// connection.
        is_busy: bool,
    },
}

/// Outcomes of a message within a session: what came of a request that did not go out as it was sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RequestOutcome {
    /// The message has waited, and is sent now; its stamp shows when.
    Sent {
        /// Bytes on the wire.
        bytes: u32,
    },
    /// The message's connection ended before the answer, and the message may not be sent again: it is not
    /// idempotent (RFC 9110 §9.2.2).
    Dropped,
    /// The message will have no answer, and the connection serves others: its stream has failed (RFC 9113
    /// §5.4.2).
    Failed(Failure),
}
