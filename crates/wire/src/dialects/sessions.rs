//! A server's session over plain requests, whichever dialect it speaks.

use super::{socketio, sockjs};
use crate::config::ServerConfig;
use crate::event::ServerEvent;
use crate::io::Io;
use crate::session::{Answer, RequestOf, ServerSession, SessionLink, SessionRequest};

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

impl Session {
    /// The session that a request [`opens`](SessionRequest::opens), which it is then to be given.
    pub fn new(request: &SessionRequest) -> Session {
        let state = match &request.of {
            RequestOf::Sockjs(request) => State::Sockjs(sockjs::session::Session::new(request)),
            RequestOf::Socketio(request) => State::Socketio(socketio::session::Session::new(request)),
            RequestOf::Metrics(_) => panic!("opens no session"),
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

    /// Bytes that wait for the client to ask for them.
    pub fn queued_bytes(&self) -> usize {
        match &self.state {
            State::Sockjs(session) => session.queued_bytes(),
            State::Socketio(session) => session.queued_bytes(),
        }
    }

    /// They are too many: the session ends, and its client is told when it asks.
    pub fn give_up(&mut self, cfg: &ServerConfig, now_ns: u64, io: &mut impl Io) {
        let link = &mut SessionLink { cfg, now_ns, io };
        match &mut self.state {
            State::Sockjs(session) => session.give_up(link),
            State::Socketio(session) => session.give_up(link),
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
