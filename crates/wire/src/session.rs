//! The server role: sessions that outlive a connection, for transports over plain requests.
//!
//! A request names its session. Whoever drives the server keeps the sessions: it finds the one named, or makes it,
//! and lets it answer. A session may keep a request open, to answer when there is something to say; so there are two
//! streams it can write to:
//!
//! ```text
//! REQUEST   the connection whose request is in hand; Answer::Held keeps it open
//! HELD      the connection whose request was kept open; close_stream(HELD): its answer is whole now
//! ```

use std::hash::{DefaultHasher, Hash, Hasher};

use crate::config::ServerConfig;
use crate::dialects::socketio::request as socketio;
use crate::dialects::sockjs::request as sockjs;
use crate::event::ServerEvent;
use crate::http::answer::AnswerHead;
use crate::io::{Io, StreamId};

/// The connection whose request is in hand.
pub const REQUEST: StreamId = 0;
/// The connection whose request was kept open.
pub const HELD: StreamId = 1;

/// A whole request that concerns a session.
#[derive(Debug)]
pub struct SessionRequest {
    /// Names the session among those of all dialects.
    pub(crate) name: String,
    /// A session that is not there is made, not missed.
    pub(crate) opens: bool,
    /// The connection lives on after the answer.
    pub(crate) keep_alive: bool,
    pub(crate) body: Vec<u8>,
    pub(crate) of: RequestOf,
}

/// What a dialect has read out of the head of a request.
#[derive(Debug)]
pub(crate) enum RequestOf {
    Sockjs(sockjs::Request),
    Socketio(socketio::Request),
    /// Of no session: whoever drives the server knows what it does.
    Metrics(AnswerHead),
}

/// What a plain request gets.
#[derive(Debug)]
pub(crate) enum PlainAnswer {
    /// An empty answer.
    Status(u16),
    /// This, already written.
    Whole(Vec<u8>),
    /// Whatever its session says.
    OfSession(Box<SessionRequest>),
}

/// What became of a request.
#[derive(Debug)]
pub enum Answer {
    /// It is answered.
    Whole,
    /// It is kept open, in the place of whichever was before.
    Held,
    /// It is answered, and there is a word for [`Server::handle_answered`](crate::Server::handle_answered).
    Told(Word),
}

/// What a session has for the connection that asked, besides what it wrote: a WebSocket may take it over.
#[derive(Debug)]
pub struct Word(pub(crate) socketio::Told);

impl SessionRequest {
    /// Names the session among those of all dialects.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether a session that is not there is to be made.
    pub fn opens(&self) -> bool {
        self.opens
    }

    /// Which of `of` equals keeps the session, from 0: the same for every request that names it.
    pub fn keeper(&self, of: usize) -> usize {
        let mut hasher = DefaultHasher::new();
        self.name.hash(&mut hasher);
        (hasher.finish() % of as u64) as usize
    }

    /// What tells its session that its body is on its way, where one that comes beside another has to be refused.
    pub(crate) fn beginning(&self) -> Option<SessionRequest> {
        let RequestOf::Socketio(request) = &self.of else { return None };
        let of = RequestOf::Socketio(request.beginning()?);
        let (name, body) = (self.name.clone(), Vec::new());
        Some(SessionRequest { name, opens: false, keep_alive: false, body, of })
    }

    /// Its session knows that its body was on its way.
    pub(crate) fn set_begun(&mut self) {
        if let RequestOf::Socketio(request) = &mut self.of {
            request.verb = socketio::Verb::Push { begun: true };
        }
    }

    /// Whether it only announces the body of another request.
    pub fn is_beginning(&self) -> bool {
        matches!(&self.of, RequestOf::Socketio(request) if request.verb == socketio::Verb::Begin)
    }

    /// Whether it wants to know what the server does, and so concerns no session: [`answer_metrics`](Self::answer_metrics).
    pub fn is_for_metrics(&self) -> bool {
        matches!(self.of, RequestOf::Metrics(_))
    }

    /// Writes the answer to such a request: metrics in the text format of Prometheus.
    ///
    /// # Panics
    /// If it is none.
    pub fn answer_metrics(&self, metrics: &str, out: &mut Vec<u8>) {
        let RequestOf::Metrics(head) = &self.of else { panic!("a request of a session") };
        head.write_whole(out, 200, Some("text/plain; version=0.0.4"), metrics.as_bytes());
    }

    /// Answers that there is no such session.
    pub fn refuse(self, io: &mut impl Io) {
        match self.of {
            RequestOf::Sockjs(request) => request.refuse(&self.body, REQUEST, io),
            RequestOf::Socketio(request) => request.refuse(REQUEST, io),
            RequestOf::Metrics(head) => head.write_whole(io.out(REQUEST), 404, None, b""),
        }
    }
}

/// What a dialect's session acts through.
pub(crate) struct SessionLink<'a, I> {
    pub(crate) cfg: &'a ServerConfig,
    pub(crate) now_ns: u64,
    pub(crate) io: &'a mut I,
}

/// A dialect's session.
pub(crate) trait ServerSession {
    /// What a request is, once its head is read.
    type Request;

    /// A request came in; the first is the one that the session was made for.
    fn handle_request<I: Io>(
        &mut self,
        link: &mut SessionLink<'_, I>,
        request: Self::Request,
        body: &[u8],
        on: &mut impl FnMut(ServerEvent<'_>),
    ) -> Answer;

    /// The connection that was held is gone.
    fn handle_lost<I: Io>(&mut self, link: &mut SessionLink<'_, I>, on: &mut impl FnMut(ServerEvent<'_>));

    /// Messages for everyone in a room, end to end as they were given to [`ServerEvent::Broadcast`].
    fn handle_broadcast<I: Io>(&mut self, link: &mut SessionLink<'_, I>, frames: &[u8]);

    /// When to be woken.
    fn poll_timeout(&self) -> Option<u64>;

    /// The time has come.
    fn handle_timeout<I: Io>(&mut self, link: &mut SessionLink<'_, I>, on: &mut impl FnMut(ServerEvent<'_>));

    /// Bytes that wait for the client to ask for them.
    fn queued_bytes(&self) -> usize;

    /// They are too many: the session ends, and its client is told when it asks.
    fn give_up<I: Io>(&mut self, link: &mut SessionLink<'_, I>);

    /// Whether it may be forgotten.
    fn is_over(&self) -> bool;
}
