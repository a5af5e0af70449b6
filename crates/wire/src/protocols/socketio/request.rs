//! Questions of connections to the sessions that they name, and the replies.

use codec::http::answer::AnswerHead;
use codec::http::date::DateField;

use super::complaint::{self, Complaint, UNKNOWN_SESSION};
use super::service::Service;
use super::side::Side;
use super::version::Version;
use crate::io::Io;
use crate::session::{Question, REQUEST};

/// How long a WebSocket has to take a session over. engine.io gives it 10 seconds.
pub(crate) const UPGRADE_TIMEOUT_NS: u64 = 10_000_000_000;

/// Purposes of requests.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Verb {
    /// Receives.
    Poll,
    /// The request sends packets; its body is on its way.
    Begin,
    /// The request sends packets. `begun`: its body was announced before.
    Push { begun: bool },
    /// A WebSocket wants to take the session over, and is not granted yet.
    Enter,
    /// The WebSocket has shown that it works: polling must end.
    Probe,
    /// The WebSocket takes over.
    Take,
}

/// A request, as its head describes it.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) version: Version,
    pub(crate) service: Service,
    pub(crate) room: u64,
    pub(crate) verb: Verb,
    pub(crate) head: AnswerHead,
    pub(crate) sid: String,
}

/// A session's reply to a WebSocket.
#[derive(Debug)]
pub(crate) enum UpgradeReply {
    /// The WebSocket may go on.
    Admitted,
    /// The WebSocket may not go on: another one came before it.
    TurnedAway,
    /// The session is its own: the session, and packets that wait.
    Session(Box<Side>, Vec<u8>),
}

impl Question for Request {
    /// A connection whose body is not wanted ends with the answer.
    fn beginning(&self) -> Option<Request> {
        let announced = Request { verb: Verb::Begin, ..self.clone() };
        let head = AnswerHead { keep_alive: false, ..announced.head };
        matches!(self.verb, Verb::Push { .. }).then_some(Request { head, ..announced })
    }

    fn is_beginning(&self) -> bool {
        self.verb == Verb::Begin
    }

    fn set_begun(&mut self) {
        self.verb = Verb::Push { begun: true };
    }

    fn set_date(&mut self, date: DateField) {
        self.head.date = date;
    }

    fn refuse(self, _body: &[u8], io: &mut impl Io) {
        self.complain(io.out(REQUEST), UNKNOWN_SESSION);
    }
}

impl Request {
    /// Answers that something is wrong. A WebSocket that is granted already learns it from being told
    /// nothing.
    pub(crate) fn complain(&self, out: &mut Vec<u8>, complaint: Complaint) {
        match self.verb {
            Verb::Poll | Verb::Begin | Verb::Push { .. } => complaint::write(&self.head, out, 400, complaint),
            Verb::Enter => complaint::write_in_words(&self.head, out, 400, complaint),
            Verb::Probe | Verb::Take => {}
        }
    }
}
