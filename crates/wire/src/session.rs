//! The server role: sessions that outlive a connection, for transports over plain requests.
//!
//! A request names its session. The server's driver keeps the sessions: it finds the one named, or makes it,
//! and lets it answer. A session may keep a request open, to answer when there is something to say; so there
//! are two streams it can write to:
//!
//! ```text
//! REQUEST   the connection whose request is in hand; Answer::Held keeps it open
//! HELD      the connection whose request was kept open; close_stream(HELD): its answer is whole now
//! ```

use std::fmt;

use codec::StreamId;
use codec::http::answer::AnswerHead;
use codec::http::date::DateField;

use crate::event::OnServerEvent;
use crate::gate::Form;
use crate::io::Io;
use crate::server_config::ServerConfig;

/// The connection whose request is in hand.
pub const REQUEST: StreamId = 0;
/// The connection whose request was kept open.
pub const HELD: StreamId = 1;

/// Most bytes that wait for a client to ask for them, of what others have said.
const OTHERS_BYTES_MAX: usize = 1 << 20;
/// Most bytes that wait for a client of what its own requests have brought about: answers to sixteen of the
/// largest that Socket.IO's clients send, which may all be under way before the first is asked for.
const OWN_BYTES_MAX: usize = 16 << 20;

/// Returns whether so much is not kept for a client that does not ask for it.
pub(crate) fn is_too_much(queued_bytes: usize, own_bytes: usize) -> bool {
    own_bytes > OWN_BYTES_MAX || queued_bytes - own_bytes > OTHERS_BYTES_MAX
}

/// The outcome of a request; `W` is a session's signal to a connection.
#[derive(Debug)]
pub enum Answer<W> {
    /// The request is answered.
    Whole,
    /// The request is kept open, in the place of one that was kept open before.
    Held,
    /// The request is answered, and there is a signal for
    /// [`Server::handle_answered`](crate::Server::handle_answered).
    Told(W),
    /// The request is answered with a signal, and from now on the session lasts as long as the connection:
    /// when the connection is gone, the session must be told.
    Taken(W),
}

impl<W> Answer<W> {
    /// Converts the signal.
    pub(crate) fn map<V>(self, form: impl FnOnce(W) -> V) -> Answer<V> {
        match self {
            Answer::Whole => Answer::Whole,
            Answer::Held => Answer::Held,
            Answer::Told(signal) => Answer::Told(form(signal)),
            Answer::Taken(signal) => Answer::Taken(form(signal)),
        }
    }
}

/// A request that concerns a session; `Q` is what its head says.
#[derive(Debug)]
pub(crate) struct SessionHead<Q> {
    /// Names the session among the sessions of all protocols.
    pub(crate) name: String,
    /// A session that is not there is made, not missed.
    pub(crate) opens: bool,
    /// The connection lives on after the answer.
    pub(crate) keep_alive: bool,
    pub(crate) question: Q,
}

/// The answer to a plain request; `S` is a request for a session.
#[derive(Debug)]
pub(crate) enum PlainAnswer<S> {
    /// An empty answer.
    Status(u16),
    /// An empty answer that names the methods there are: to any other method (405, RFC 9110 §15.5.6), or to
    /// OPTIONS (204, §9.3.7).
    Methods(u16, &'static str),
    /// An answer that is already written.
    Whole(Vec<u8>),
    /// The request's own body.
    Echo(Box<AnswerHead>, Vec<u8>),
    /// An answer of the request's session.
    OfSession(Box<S>),
    /// An answer that depends on its body, which is a form.
    OfForm(Box<Form>),
}

impl<S> PlainAnswer<S> {
    /// Converts the request for a session.
    pub(crate) fn map<T>(self, form: impl FnOnce(S) -> T) -> PlainAnswer<T> {
        match self {
            PlainAnswer::Status(status) => PlainAnswer::Status(status),
            PlainAnswer::Methods(status, methods) => PlainAnswer::Methods(status, methods),
            PlainAnswer::Whole(answer) => PlainAnswer::Whole(answer),
            PlainAnswer::Echo(head, body) => PlainAnswer::Echo(head, body),
            PlainAnswer::OfForm(form) => PlainAnswer::OfForm(form),
            PlainAnswer::OfSession(request) => PlainAnswer::OfSession(Box::new(form(*request))),
        }
    }
}

/// A protocol's reading of the head of a request for a session.
pub(crate) trait Question: fmt::Debug + Sized {
    /// The notice to its session that its body is on its way, where one that comes beside another has to be
    /// refused.
    fn beginning(&self) -> Option<Self> {
        None
    }

    /// Returns whether it only announces the body of another request.
    fn is_beginning(&self) -> bool {
        false
    }

    /// Returns whether its session is for it alone, and may be kept wherever it came in.
    fn is_alone(&self) -> bool {
        false
    }

    /// Notes that the session knows that the request's body was on its way.
    fn set_begun(&mut self) {}

    /// Sets the date of an answer that was made without a session, by code without a clock.
    fn set_date(&mut self, _date: DateField) {}

    /// Answers on [`REQUEST`] that there is no such session.
    fn refuse(self, body: &[u8], io: &mut impl Io);
}

/// The link that a protocol's session acts through.
pub(crate) struct SessionLink<'a, I> {
    pub(crate) now_ns: u64,
    pub(crate) io: &'a mut I,
}

/// A protocol's session.
pub(crate) trait ServerSession: fmt::Debug {
    /// A request, once its head is read.
    type Question: Question;
    /// The session's signal to a connection that asked, besides its output: a WebSocket may take the session
    /// over.
    type SessionSignal: fmt::Debug;

    /// The session that a request opens, which it is then to be given.
    fn new(question: &Self::Question, cfg: &ServerConfig) -> Self;

    /// A request came in; the first is the one that the session was made for.
    fn handle_request<I: Io>(
        &mut self,
        link: &mut SessionLink<'_, I>,
        question: Self::Question,
        body: &[u8],
        on: &mut impl OnServerEvent,
    ) -> Answer<Self::SessionSignal>;

    /// The connection that was held, or has taken the session, is gone.
    fn handle_lost<I: Io>(&mut self, link: &mut SessionLink<'_, I>, on: &mut impl OnServerEvent);

    /// Messages for everyone in a room, end to end as they were given to [`ServerEvent::Broadcast`].
    fn handle_broadcast<I: Io>(
        &mut self,
        link: &mut SessionLink<'_, I>,
        frames: &[u8],
        on: &mut impl OnServerEvent,
    );

    /// When to be woken.
    fn poll_timeout(&self) -> Option<u64>;

    /// The time has come.
    fn handle_timeout<I: Io>(&mut self, link: &mut SessionLink<'_, I>, on: &mut impl OnServerEvent);

    /// Bytes that wait for the client to ask for them.
    fn queued_bytes(&self) -> usize;

    /// Returns whether the reader of the answer held sets the pace: nothing is due while bytes wait to be
    /// sent to it.
    fn follows_reader(&self) -> bool {
        false
    }

    /// Handles that too many bytes wait: the session ends, and its client is told when it asks.
    fn give_up<I: Io>(&mut self, link: &mut SessionLink<'_, I>, on: &mut impl OnServerEvent);

    /// Returns whether it may be forgotten.
    fn is_over(&self) -> bool;
}
