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

use crate::dialects::{socketio, sockjs};
use crate::io::{Io, StreamId};
use crate::server::{ServerConfig, ServerEvent};

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
    Sockjs(sockjs::session::Request),
    Socketio(socketio::session::Request),
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
pub struct Word(pub(crate) socketio::session::Told);

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

    /// Answers that there is no such session.
    pub fn refuse(self, io: &mut impl Io) {
        match self.of {
            RequestOf::Sockjs(request) => request.refuse(&self.body, io),
            RequestOf::Socketio(request) => request.refuse(io),
        }
    }
}

/// One session.
#[derive(Debug)]
pub struct Session {
    state: State,
}

#[derive(Debug)]
enum State {
    Sockjs(sockjs::session::Session),
    Socketio(socketio::session::Session),
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

    /// Whether it may be forgotten.
    fn is_over(&self) -> bool;
}

impl Session {
    /// The session that a request [`opens`](SessionRequest::opens), which it is then to be given.
    pub fn new(request: &SessionRequest) -> Session {
        let state = match &request.of {
            RequestOf::Sockjs(request) => State::Sockjs(sockjs::session::Session::new(request)),
            RequestOf::Socketio(request) => State::Socketio(socketio::session::Session::new(request)),
        };
        Session { state }
    }

    /// Lets the session answer a request that names it.
    pub fn handle_request(
        &mut self,
        cfg: &ServerConfig,
        now_ns: u64,
        request: SessionRequest,
        io: &mut impl Io,
        on: &mut impl FnMut(ServerEvent<'_>),
    ) -> Answer {
        let link = &mut SessionLink { cfg, now_ns, io };
        match (&mut self.state, request.of) {
            (State::Sockjs(session), RequestOf::Sockjs(of)) => {
                session.handle_request(link, of, &request.body, on)
            }
            (State::Socketio(session), RequestOf::Socketio(of)) => {
                session.handle_request(link, of, &request.body, on)
            }
            _ => unreachable!("a session's name is of its dialect"),
        }
    }

    /// The connection held is gone before its answer was whole.
    pub fn handle_lost(
        &mut self,
        cfg: &ServerConfig,
        now_ns: u64,
        io: &mut impl Io,
        on: &mut impl FnMut(ServerEvent<'_>),
    ) {
        let link = &mut SessionLink { cfg, now_ns, io };
        match &mut self.state {
            State::Sockjs(session) => session.handle_lost(link, on),
            State::Socketio(session) => session.handle_lost(link, on),
        }
    }

    /// Broadcasts of a room that the session has joined: frames, end to end. What cannot be sent now is kept.
    pub fn handle_broadcast(&mut self, cfg: &ServerConfig, now_ns: u64, frames: &[u8], io: &mut impl Io) {
        let link = &mut SessionLink { cfg, now_ns, io };
        match &mut self.state {
            State::Sockjs(session) => session.handle_broadcast(link, frames),
            State::Socketio(session) => session.handle_broadcast(link, frames),
        }
    }

    /// When the session wants to be woken, if ever: nanoseconds on the clock of `now_ns`.
    pub fn poll_timeout(&self) -> Option<u64> {
        match &self.state {
            State::Sockjs(session) => session.poll_timeout(),
            State::Socketio(session) => session.poll_timeout(),
        }
    }

    /// The time named by [`poll_timeout`](Session::poll_timeout) has come.
    pub fn handle_timeout(
        &mut self,
        cfg: &ServerConfig,
        now_ns: u64,
        io: &mut impl Io,
        on: &mut impl FnMut(ServerEvent<'_>),
    ) {
        let link = &mut SessionLink { cfg, now_ns, io };
        match &mut self.state {
            State::Sockjs(session) => session.handle_timeout(link, on),
            State::Socketio(session) => session.handle_timeout(link, on),
        }
    }

    /// Whether it may be forgotten. Until then its name is taken.
    pub fn is_over(&self) -> bool {
        match &self.state {
            State::Sockjs(session) => session.is_over(),
            State::Socketio(session) => session.is_over(),
        }
    }
}
