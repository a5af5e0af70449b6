//! What a connection asks of the session that it names, and what it is told.

use super::complaint::{self, UNKNOWN_SESSION};
use super::service::Service;
use super::side::Side;
use super::version::Version;
use crate::http::answer::AnswerHead;
use crate::io::{Io, StreamId};

/// How long a WebSocket has to take a session over. engine.io gives it 10 seconds.
pub(crate) const UPGRADE_TIMEOUT_NS: u64 = 10_000_000_000;

/// What a request is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Verb {
    /// To receive.
    Poll,
    /// To send; the body is on its way.
    Begin,
    /// To send; whether the body was announced.
    Push { begun: bool },
    /// A WebSocket wants to take the session over.
    Enter,
    /// It has shown that it works: polling is to come to an end.
    Probe,
    /// It takes over.
    Take,
}

/// A request, as its head has it.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) version: Version,
    pub(crate) service: Service,
    pub(crate) verb: Verb,
    pub(crate) head: AnswerHead,
    pub(crate) sid: String,
}

/// What a WebSocket is told that asked.
#[derive(Debug)]
pub(crate) enum Told {
    /// It may go on.
    Admitted,
    /// The session is its own: the session, and packets that wait.
    Session(Box<Side>, Vec<u8>),
}

impl Request {
    /// What announces its body, if it has one. A connection whose body is not wanted ends with the answer.
    pub(crate) fn beginning(&self) -> Option<Request> {
        let announced = Request { verb: Verb::Begin, ..self.clone() };
        let head = AnswerHead { keep_alive: false, ..announced.head };
        matches!(self.verb, Verb::Push { .. }).then_some(Request { head, ..announced })
    }

    /// Answers that there is no such session. A WebSocket learns it from being told nothing.
    pub(crate) fn refuse(self, stream: StreamId, io: &mut impl Io) {
        if matches!(self.verb, Verb::Poll | Verb::Begin | Verb::Push { .. }) {
            complaint::write(&self.head, io.out(stream), 400, UNKNOWN_SESSION);
        }
    }
}
